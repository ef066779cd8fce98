//! The same check for every app: strangers are served from memory, and nobody notices.
//!
//! Two Wicks serve one app: one as it comes, one with the cache switched off, who says
//! what the app itself shows. Strangers read the whole site in three rounds, each from an
//! address of their own with a jar that is empty at first; somebody logs in on a page from
//! memory; a guest does what guests do; a member sees their own pages.
//! Start at [`check`].

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::crawl::{crawl, is_same, words};
use crate::person::{self, GuestHands, Hands};
use crate::visitor::{Page, Visitor};
use crate::wick::Wick;

/// Whether the binary shares among strangers what apps send with cookies.
const IS_SHARED: bool = true;
/// The share of pages that has to come from memory from the second round on, in percent.
const FROM_MEMORY_MIN: usize = 95;
/// How long comparing copies in the background may take, for all pages together.
const PATIENCE: Duration = Duration::from_secs(15);
/// Pages that a member reads.
const MEMBER_PAGES: usize = 8;

/// An app, seen by those who visit it.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// Where the crawl begins.
    pub(crate) start: &'static [&'static str],
    /// How many pages are read, at most and at least.
    pub(crate) pages: [usize; 2],
    /// Pages that are each visitor's own, and therefore not read.
    pub(crate) own: &'static [&'static str],
    pub(crate) log_in: LogIn,
    /// How the same is done with Chromium.
    pub(crate) hands: Option<Hands>,
    /// What a guest does with Chromium.
    pub(crate) guest_hands: Option<GuestHands>,
    /// Where a guest begins who was never here before.
    pub(crate) guest_page: &'static str,
    /// What they do from there; it panics if that doesn't work.
    pub(crate) guest: fn(&Visitor, Page),
}

/// How somebody logs in by a form.
pub(crate) struct LogIn {
    /// The page with the form.
    pub(crate) page: &'static str,
    /// Whether the app lets this page be shared: what it says of this one page and not of
    /// the others is obeyed.
    pub(crate) is_shared: bool,
    /// Something that stands in this form and in no other.
    pub(crate) mark: &'static str,
    /// What a person fills in.
    pub(crate) fields: &'static [(&'static str, &'static str)],
    /// A page, and what it shows nobody else.
    pub(crate) known_on: &'static str,
    pub(crate) proof: &'static str,
}

/// Visits `site`, a folder or the address of an origin.
pub(crate) fn check(case: &Case, site: &str) {
    let (wick, origin) = (Wick::serve(site, true), Wick::serve(site, false));
    let base = wick.base.as_str();
    let of_origin = |visitor: Visitor| visitor.at(&origin.base);
    let mut pages = crawl(&of_origin(Visitor::new(base)), base, case.start, case.pages[0]);
    pages.retain(|path| !case.own.contains(&path.as_str()));
    assert!(pages.len() >= case.pages[1], "{}: too few pages: {pages:?}", case.name);
    // To somebody who was never here, and to somebody who reads one page after the other:
    // some apps list what a visitor has read.
    let reader = of_origin(Visitor::new(base));
    let shown =
        |path| [of_origin(Visitor::new(base)).get(path), reader.get(path)].map(|page| words(&page));
    let expected: Vec<_> = pages.iter().map(|path| (path, shown(path))).collect();

    let mut trouble = Vec::new();
    for round in 0..3 {
        let visitor = Visitor::new(base).from(&format!("127.0.0.{}", round + 2));
        let (from_memory, others) = read(&visitor, &expected, &mut trouble);
        if round > 0 && IS_SHARED {
            others.iter().for_each(|path| println!("  {path}: {}", why(&wick, path)));
        }
        let (all, name) = (pages.len(), case.name);
        println!("{name}: round {}: {from_memory} of {all} pages from memory", round + 1);
        if round > 0 && IS_SHARED && from_memory * 100 < all * FROM_MEMORY_MIN {
            trouble.push(format!("round {}: only {from_memory} of {all}", round + 1));
        }
        if round == 0 && IS_SHARED {
            settle(base, &pages);
        }
    }
    assert!(trouble.is_empty(), "{}: {:#?}", case.name, trouble);

    let member = Visitor::new(base).from("127.0.0.5");
    log_in(case, &wick, &member);
    let guest = Visitor::new(base).from("127.0.0.6");
    let page = open(&guest, &wick, case.guest_page, true);
    (case.guest)(&guest, page);
    if let Some(hands) = &case.hands {
        person::log_in(case.name, base, &case.log_in, hands);
    }
    if let Some(hands) = &case.guest_hands {
        person::visit(case.name, base, hands);
    }
    let at_origin = of_origin(Visitor::new(base)).from("127.0.0.5").with_cookies_of(&member);
    compare(case, &member, &at_origin, &pages);
    let stranger = Visitor::new(base).from("127.0.0.7").get(case.log_in.known_on);
    let text = stranger.text();
    assert!(!text.contains(case.log_in.proof), "{}: a member's page is theirs alone", case.name);
    wick.stop();
    origin.stop();
}

/// Reads every page as one visitor; how many came from memory, and which did not.
fn read<'a>(
    visitor: &Visitor,
    expected: &[(&'a String, [String; 2])],
    trouble: &mut Vec<String>,
) -> (usize, Vec<&'a String>) {
    let (mut from_memory, mut others) = (0, Vec::new());
    for (path, [wanted, by_and_by]) in expected {
        let page = visitor.get(path);
        let status = page.field("cache-status");
        if page.status != 200 {
            trouble.push(format!("{path}: status {}; {status}", page.status));
        }
        let text = words(&page);
        let is_their_own = !page.is_from_memory() && is_same(&text, by_and_by);
        if !is_same(&text, wanted) && !is_their_own {
            let difference = difference(wanted, &text);
            trouble.push(format!("{path}: not as the app shows it: {difference}; {status}"));
        }
        if !page.is_from_memory() {
            others.push(*path);
            continue;
        }
        from_memory += 1;
        let cookies = page.cookies();
        if cookies.iter().any(|name| !name.starts_with("wick")) {
            trouble.push(format!("{path}: from memory with the cookies {cookies:?}"));
        }
    }
    (from_memory, others)
}

/// Waits until as many pages as must be are in memory; what is missing then shows later.
fn settle(base: &str, pages: &[String]) {
    let bound = Instant::now() + PATIENCE;
    let mut is_there: BTreeMap<&String, bool> = pages.iter().map(|path| (path, false)).collect();
    while Instant::now() < bound {
        for (path, is_there) in &mut is_there {
            // A visitor of their own for each: whoever gets a cookie is a stranger no more.
            *is_there =
                *is_there || Visitor::new(base).from("127.0.0.9").get(path).is_from_memory();
        }
        let there = is_there.values().filter(|&&is_there| is_there).count();
        if there * 100 >= pages.len() * FROM_MEMORY_MIN {
            return;
        }
    }
}

/// What Wick says of sharing a page.
fn why(wick: &Wick, path: &str) -> String {
    let told = wick.explain(path);
    let about = told.lines().find(|line| line.starts_with("sharing"));
    about.unwrap_or(&told).trim_start_matches("sharing").trim_start().to_owned()
}

/// Opens a page when it is in memory, if it is one that can be.
fn open(visitor: &Visitor, wick: &Wick, path: &str, is_shared: bool) -> Page {
    if IS_SHARED && is_shared {
        settle(&wick.base, &[path.to_owned()]);
    }
    let page = visitor.get(path);
    let is_as_wanted = page.is_from_memory() || !is_shared || !IS_SHARED;
    assert!(is_as_wanted, "not from memory: {}", wick.explain(path));
    page
}

fn log_in(case: &Case, wick: &Wick, visitor: &Visitor) {
    let LogIn { page, is_shared, mark, fields, known_on, proof } = case.log_in;
    let form = open(visitor, wick, page, is_shared).expect("the page with the form", mark);
    let answer = visitor.submit(&form, mark, fields);
    visitor.get(known_on).expect(&format!("a log-in, after {:#?}", answer.heads), proof);
}

/// A member sees through Wick what the app itself shows them.
fn compare(case: &Case, member: &Visitor, at_origin: &Visitor, pages: &[String]) {
    for path in pages.iter().map(String::as_str).take(MEMBER_PAGES).chain([case.log_in.known_on]) {
        let wanted = words(&at_origin.get(path));
        let page = member.get(path);
        let (text, status) = (words(&page), page.field("cache-status"));
        let (name, difference) = (case.name, difference(&wanted, &text));
        assert!(is_same(&wanted, &text), "{name}: {path} for a member: {difference}; {status}");
    }
}

/// Where two texts begin to differ.
fn difference(wanted: &str, found: &str) -> String {
    let pairs = wanted.chars().zip(found.chars());
    let same = pairs.take_while(|(one, other)| one == other).count();
    let from = |text: &str| text.chars().skip(same.saturating_sub(30)).take(90).collect::<String>();
    format!("«{}» instead of «{}»", from(found), from(wanted))
}
