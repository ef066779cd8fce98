//! A leak hunt in a site's search: pages become private and public again at random, by writings and
//! purges, and nothing that a stranger isn't given at that moment may show in any answer.
//!
//! The same of rows that a source names: once a change of it was read, nothing of what it says no
//! more shows.
//!
//! Each text of a page has a word of its own, by which a leak is seen wherever it shows. `SEED=N`
//! plays one story again.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::origin::Origin;
use crate::search::{Page as Words, Pages, found, paths, serve, set, site, visit};
use crate::wick::{ask, open_folder, until};

const PAGES: usize = 48;
/// Rows of a source, which are numbered behind the pages; the origin has none of their addresses.
const ROWS: usize = 16;
const ROUNDS: usize = 100;
/// Who looks for something at one time, and how often each does before the next change.
const HUNTERS: usize = 4;
const LOOKS: usize = 25;
/// What all secrets begin with, and nothing else.
const MARK: &str = "zqx";
/// Also those that stand in an address.
const PLACE: &str = "zqp";

/// How a page is given to strangers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Public,
    Gone,
    Refused,
    LogIn,
    Noindex,
    NoindexField,
    /// Stored, and for those only who bear a cookie.
    ByCookie,
}

const PRIVATE: [Way; 6] =
    [Way::Gone, Way::Refused, Way::LogIn, Way::Noindex, Way::NoindexField, Way::ByCookie];

/// How Wick comes to know of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    WrittenToIt,
    WrittenElsewhere,
    Purged,
}

#[derive(Clone, Copy, Debug)]
struct Page {
    way: Way,
    version: usize,
}

/// The origin's pages, and what the next writing makes of one.
#[derive(Default)]
struct Truth {
    pages: Vec<Page>,
    next: Option<(usize, Page)>,
}

fn letters(mut number: usize, length: usize) -> String {
    let mut out = String::new();
    for _ in 0..length {
        out.push(char::from(b'a' + u8::try_from(number % 17).expect("a letter")));
        number /= 17;
    }
    out
}

/// The word that only this text of this page has.
fn secret(page: usize, version: usize) -> String {
    // Words that are like no other.
    let mixed = (page * 1000 + version + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
    format!("{MARK}{}", letters(mixed, 8))
}

fn path(page: usize) -> String {
    format!("/{PLACE}{}/", letters(page, 2))
}

fn number(path: &str) -> Option<usize> {
    (0..PAGES).find(|page| self::path(*page) == path)
}

fn origin(truth: &Arc<Mutex<Truth>>) -> Origin {
    let (truth, sessions) = (truth.clone(), AtomicU64::new(1));
    Origin::new(move |head, stream| {
        let mut line = head.lines().next().unwrap_or("").split(' ');
        let (method, path) = (line.next().unwrap_or(""), line.next().unwrap_or(""));
        let is_member = head.to_ascii_lowercase().contains("cookie: member=");
        let (status, fields, text) = {
            let mut truth = truth.lock().expect("no test panics here");
            match (method, number(path)) {
                ("POST", _) => {
                    if let Some((page, now)) = truth.next.take() {
                        truth.pages[page] = now;
                    }
                    ("204 No Content", "", String::new())
                }
                (_, Some(page)) => answer(truth.pages[page], page, is_member),
                _ => ("404 Not Found", "", "nothing".to_owned()),
            }
        };
        let session = sessions.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
        let fields = match number(path).is_some_and(has_session) && fields.starts_with(LONG) {
            true => format!("Set-Cookie: sid={session:032x}; path=/\r\n{}", &fields[LONG.len()..]),
            false => fields.to_owned(),
        };
        let length = text.len();
        // A visitor who went away is the test's affair.
        let _ = write!(
            stream,
            "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\n{fields}\
             Content-Length: {length}\r\nConnection: close\r\n\r\n{text}"
        );
    })
}

const LONG: &str = "Cache-Control: max-age=600\r\n";

/// Whether a page is given with a session and without a lifetime of its own: then a writing anywhere
/// ends it. Of others a writing ends that page alone (RFC 9111 §4.4).
fn has_session(number: usize) -> bool {
    number.is_multiple_of(2)
}

fn answer(page: Page, number: usize, is_member: bool) -> (&'static str, &'static str, String) {
    let html = |head: &str| {
        let (secret, common) = (secret(number, page.version), letters(number % 5, 1));
        format!(
            "<html lang=en><head><title>{secret} harbours</title>{head}</head><body><main>\
             <h1>Of {secret}</h1><p>All harbours of {secret} and kind{common} boats</main>"
        )
    };
    match page.way {
        Way::Public => ("200 OK", LONG, html("")),
        Way::Gone => ("404 Not Found", "", html("")),
        Way::Refused if is_member => ("200 OK", LONG, html("")),
        Way::Refused => ("403 Forbidden", "", "refused".to_owned()),
        Way::LogIn => ("302 Found", "Location: /login\r\n", "log in".to_owned()),
        Way::Noindex => ("200 OK", LONG, html("<meta name=robots content=noindex>")),
        Way::NoindexField => {
            ("200 OK", "Cache-Control: max-age=600\r\nX-Robots-Tag: none\r\n", html(""))
        }
        Way::ByCookie => {
            let fields = "Cache-Control: max-age=600\r\nVary: Cookie\r\n";
            let text = if is_member { html("") } else { "for members".to_owned() };
            ("200 OK", fields, text)
        }
    }
}

/// A connection that goes on.
struct Hunter {
    stream: BufReader<TcpStream>,
    host: String,
    /// By what feeds were told that were asked for before.
    tags: HashMap<String, String>,
}

impl Hunter {
    fn new(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("somebody listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time-out can be set");
        let (stream, host) = (BufReader::new(stream), address.to_string());
        Self { stream, host, tags: HashMap::new() }
    }

    /// Status and body. Who had it before says so.
    fn ask(&mut self, target: &str) -> (u16, String) {
        let tag = self.tags.get(target).map(|tag| format!("If-None-Match: {tag}\r\n"));
        let request = format!(
            "GET {target} HTTP/1.1\r\nHost: {}\r\nUser-Agent: Mozilla/5.0\r\n{}\r\n",
            self.host,
            tag.unwrap_or_default()
        );
        self.stream.get_mut().write_all(request.as_bytes()).expect("the request is taken");
        let (mut status, mut length) = (0, 0);
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).expect("the answer comes");
            let line = line.trim_end();
            if let Some(rest) = line.strip_prefix("HTTP/1.1 ") {
                status = rest[..3].parse().expect("a status");
            } else if let Some((name, value)) = line.split_once(": ")
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.parse().expect("a length");
            } else if let Some((name, value)) = line.split_once(": ")
                && name.eq_ignore_ascii_case("etag")
            {
                self.tags.insert(target.to_owned(), value.to_owned());
            } else if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; if status == 304 { 0 } else { length }];
        self.stream.read_exact(&mut body).expect("the body comes");
        (status, String::from_utf8_lossy(&body).into_owned())
    }
}

/// All words of an answer that begin like this.
fn words<'a>(text: &'a str, mark: &'a str) -> impl Iterator<Item = &'a str> {
    text.match_indices(mark).map(|(at, _)| {
        let rest = &text[at..];
        let end = rest.find(|one: char| !one.is_ascii_alphanumeric()).unwrap_or(rest.len());
        &rest[..end]
    })
}

/// What may be shown at a moment: secrets and places.
struct Shown {
    secrets: BTreeSet<String>,
    places: BTreeSet<String>,
}

impl Shown {
    fn of(truth: &Truth) -> Self {
        // Strangers have a page of their own there, without its secret.
        let of = |ways: &'static [Way]| {
            let all = truth.pages.iter().enumerate();
            all.filter(|(_, page)| ways.contains(&page.way))
        };
        let place = |(at, _)| path(at).trim_matches('/').to_owned();
        Self {
            secrets: of(&[Way::Public]).map(|(at, page)| secret(at, page.version)).collect(),
            places: of(&[Way::Public, Way::ByCookie]).map(place).collect(),
        }
    }

    /// What shows in an answer and mustn't. What was asked is told again.
    fn leaks(&self, asked: &str, answer: &str) -> Vec<String> {
        let secrets = words(answer, MARK).filter(|it| *it != asked && !self.secrets.contains(*it));
        let places = words(answer, PLACE).filter(|it| *it != asked && !self.places.contains(*it));
        secrets.chain(places).map(str::to_owned).collect()
    }
}

/// What one looks for, of all that there is and was.
fn question(dice: &mut StdRng, truth: &[Page]) -> String {
    let page = dice.random_range(0..truth.len());
    let version = truth[page].version;
    let own = secret(page, version);
    match dice.random_range(0..40) {
        0 => "harbours".to_owned(),
        1..3 => format!("kind{}", letters(dice.random_range(0..5), 1)),
        3..7 => secret(page, version.saturating_sub(1)),
        // The beginning of one, and one with a letter wrong.
        7..11 => own[..own.len() - 2].to_owned(),
        11..13 => format!("{}yy", &own[..own.len() - 1]),
        13..17 => path(page).trim_matches('/').to_owned(),
        _ => own,
    }
}

fn target(dice: &mut StdRng, query: &str) -> String {
    match dice.random_range(0..12) {
        0..3 => format!("/search?q={query}"),
        3 => format!("/search?q={query}&sort=newest&lang=en"),
        4..7 => format!("/search.json?q={query}"),
        7 => format!("/search.json?q={query}*"),
        8 => format!("/search.json?q={query}~&age=day"),
        9 => format!("/search.suggest.json?q={query}"),
        10 => format!("/search.rss?q={query}"),
        _ => format!("/search.atom?q={query}"),
    }
}

/// What one hunter saw.
#[derive(Default)]
struct Seen {
    lookups: usize,
    /// Feeds that were told to be as they were.
    unchanged: usize,
    shown: usize,
    leaks: Vec<String>,
}

fn hunt(hunter: &mut Hunter, seed: u64, pages: &[Page], may: &Shown) -> Seen {
    let mut dice = StdRng::seed_from_u64(seed);
    let mut seen = Seen::default();
    for _ in 0..LOOKS {
        let query = question(&mut dice, pages);
        let target = target(&mut dice, &query);
        let (status, answer) = hunter.ask(&target);
        assert!(matches!(status, 200 | 304 | 503), "{target}: {status} {answer}");
        seen.lookups += 1;
        seen.unchanged += usize::from(status == 304);
        seen.shown += usize::from(words(&answer, MARK).any(|it| may.secrets.contains(it)));
        let leaks = may.leaks(&query, &answer);
        let around = |leak: &String| {
            let at = answer.find(leak).unwrap_or(0);
            let from = answer.floor_char_boundary(at.saturating_sub(200));
            let to = answer.floor_char_boundary((at + 100).min(answer.len()));
            format!("{leak} at {target}: {}", &answer[from..to])
        };
        seen.leaks.extend(leaks.iter().map(around));
    }
    seen
}

/// What the source says: rows that are public, some that say that they aren't, and of others nothing.
fn write_rows(file: &Path, pages: &[Page]) {
    let rows = pages.iter().enumerate().skip(PAGES).filter(|(_, page)| page.way != Way::Gone);
    let lines = rows.map(|(at, page)| {
        let (secret, public) = (secret(at, page.version), page.way == Way::Public);
        let (address, common) = (path(at), letters(at % 5, 1));
        format!(
            "{{\"address\":\"{address}\",\"title\":\"{secret} harbours\",\"text\":\"All harbours of \
             {secret} and kind{common} boats\",\"public\":{public}}}\n"
        )
    });
    let whole = file.with_extension("new");
    fs::write(&whole, lines.collect::<String>()).expect("the folder takes files");
    fs::rename(whole, file).expect("the folder takes files");
}

/// Makes one row another, and waits until Wick has read it.
fn change_row(dice: &mut StdRng, truth: &Arc<Mutex<Truth>>, file: &Path, address: SocketAddr) {
    let number = PAGES + dice.random_range(0..ROWS);
    let (before, now) = {
        let mut truth = truth.lock().expect("no test panics here");
        let before = truth.pages[number];
        let way = match before.way {
            Way::Public => [Way::Gone, Way::Refused, Way::Public][dice.random_range(0..3)],
            _ => Way::Public,
        };
        truth.pages[number] = Page { way, version: before.version + 1 };
        write_rows(file, &truth.pages);
        (before, truth.pages[number])
    };
    let shows = |page: Page| paths(address, &secret(number, page.version)).contains(&path(number));
    until("the rows are read", || !shows(before) && shows(now) == (now.way == Way::Public));
}

/// Makes one page another, and has Wick told of it.
fn change(dice: &mut StdRng, truth: &Arc<Mutex<Truth>>, address: SocketAddr) -> (usize, Told) {
    let number = dice.random_range(0..PAGES);
    let told = match dice.random_range(0..3) {
        0 => Told::Purged,
        1 if has_session(number) => Told::WrittenElsewhere,
        _ => Told::WrittenToIt,
    };
    {
        let mut truth = truth.lock().expect("no test panics here");
        let Page { way, version } = truth.pages[number];
        let way = match way {
            Way::Public if dice.random_range(0..5) > 0 => {
                PRIVATE[dice.random_range(0..PRIVATE.len())]
            }
            _ => Way::Public,
        };
        let now = Page { way, version: version + 1 };
        match told {
            Told::Purged => truth.pages[number] = now,
            _ => truth.next = Some((number, now)),
        }
    }
    let (order, expected) = match told {
        Told::Purged => (format!("PURGE {}", path(number)), "HTTP/1.1 200 "),
        Told::WrittenToIt => (format!("POST {}\nContent-Length: 0", path(number)), "HTTP/1.1 204 "),
        Told::WrittenElsewhere => ("POST /admin\nContent-Length: 0".to_owned(), "HTTP/1.1 204 "),
    };
    let answer = ask(address, &order);
    assert!(answer.starts_with(expected), "{order}: {answer}");
    (number, told)
}

#[test]
fn a_leak_is_seen() {
    let truth = Truth {
        pages: vec![Page { way: Way::Public, version: 3 }, Page { way: Way::Gone, version: 1 }],
        next: None,
    };
    let may = Shown::of(&truth);
    let (open, closed) = (secret(0, 3), secret(1, 1));
    assert_eq!(may.leaks("x", &format!("<a href={}>{open}</a>", path(0))), [""; 0]);
    assert_eq!(may.leaks("x", &format!("about <mark>{closed}</mark>")), [closed.as_str()]);
    assert_eq!(may.leaks(&closed, &format!("nothing of {closed}")), [""; 0]);
    assert_eq!(may.leaks("x", &secret(0, 2)), [secret(0, 2)], "an older text");
    assert_eq!(may.leaks("x", &path(1)), [path(1).trim_matches('/')]);
}

#[test]
fn a_word_of_a_private_page_is_not_proposed_where_a_public_one_is_like_it() {
    let pages = Pages::default();
    set(&pages, "/open", Words::Public("Open harbourlane of boats".into()));
    set(&pages, "/closed", Words::Public("Closed harbourline of boats".into()));
    let origin = site(&pages);
    let serving = serve(&origin, "search_crawl = false\n");
    let proposed = || found(serving.address, "harbourlinne")["did_you_mean"].clone();
    visit(serving.address, "/open", "");
    visit(serving.address, "/closed", "");
    until("it is proposed", || proposed() == "harbourline");
    set(&pages, "/closed", Words::Gone);
    ask(serving.address, "PURGE /closed");
    assert_ne!(proposed(), "harbourline");
    serving.wick.stop();
}

/// The pages and then the rows, as they are before anything happens.
fn beginning() -> Vec<Page> {
    let page = |number: usize| match number % 4 {
        3 => PRIVATE[number / 4 % PRIVATE.len()],
        _ => Way::Public,
    };
    let row = |number: usize| [Way::Public, Way::Public, Way::Refused, Way::Gone][number % 4];
    let ways = (0..PAGES).map(page).chain((0..ROWS).map(row));
    ways.map(|way| Page { way, version: 1 }).collect()
}

#[test]
fn ten_thousand_lookups_show_nothing_that_strangers_are_not_given() {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let mut dice = StdRng::seed_from_u64(seed);
    let truth = Arc::new(Mutex::new(Truth { pages: beginning(), next: None }));
    let (folder, origin) = (open_folder(), origin(&truth));
    let rows = folder.path().join("rows.jsonl");
    write_rows(&rows, &truth.lock().expect("ours").pages);
    let source = format!(
        "search_crawl = false\n[[site.search_source]]\nfile = \"{}\"\nevery = \"100ms\"\n",
        rows.display()
    );
    let serving = serve(&origin, &source);
    let address = serving.address;
    // Strangers, and then members.
    for cookie in ["", "Cookie: member=1\n"] {
        (0..PAGES).for_each(|page| drop(visit(address, &path(page), cookie)));
    }
    for (page, Page { version, .. }) in
        (0..).zip(beginning()).filter(|(_, page)| page.way == Way::Public)
    {
        let secret = secret(page, version);
        until(&format!("page {page} is found"), || paths(address, &secret) == [path(page)]);
    }
    let mut hunters: Vec<Hunter> = (0..HUNTERS).map(|_| Hunter::new(address)).collect();
    let mut all = Seen::default();
    let mut deeds: HashMap<String, usize> = HashMap::new();
    for round in 0..ROUNDS {
        if round % 4 == 0 {
            change_row(&mut dice, &truth, &rows, address);
        }
        let (number, told) = change(&mut dice, &truth, address);
        let pages = truth.lock().expect("ours").pages.clone();
        *deeds.entry(format!("{told:?}")).or_default() += 1;
        *deeds.entry(format!("{:?}", pages[number].way)).or_default() += 1;
        let may = Shown::of(&truth.lock().expect("ours"));
        // Somebody comes by: a stranger, a member, or nobody.
        let cookie = [Some(""), Some("Cookie: member=1\n"), None][dice.random_range(0..3)];
        if let Some(cookie) = cookie {
            visit(address, &path(number), cookie);
        }
        let seen: Vec<Seen> = std::thread::scope(|scope| {
            let (pages, may) = (&pages, &may);
            let each = hunters.iter_mut().zip(0..).map(|(hunter, own): (_, u64)| {
                let seed = seed.wrapping_mul(1_000_003).wrapping_add(round as u64 * 8 + own);
                scope.spawn(move || hunt(hunter, seed, pages, may))
            });
            let each: Vec<_> = each.collect();
            each.into_iter().map(|one| one.join().expect("no hunter fails")).collect()
        });
        for one in seen {
            all.lookups += one.lookups;
            all.unchanged += one.unchanged;
            all.shown += one.shown;
            all.leaks.extend(one.leaks);
        }
        if round % 5 == 0 {
            map(address, &may, told, &mut all);
        }
    }
    let again = format!(
        "again: SEED={seed} cargo test -p wick --test command_line -- search_leaks; {deeds:?}"
    );
    let told: Vec<&String> = all.leaks.iter().take(5).collect();
    assert!(all.leaks.is_empty(), "{} leaks: {told:#?}\n{again}", all.leaks.len());
    assert!(all.unchanged > 0, "no feed was asked for again");
    assert!(all.lookups >= 10_000 && all.shown > all.lookups / 5, "{} {again}", all.shown);
    assert_eq!(deeds.len(), 3 + 1 + PRIVATE.len(), "something never happened; {again}");
    serving.wick.stop();
}

/// The sitemap: what was purged isn't in it, what something was written to not after it was read.
fn map(address: SocketAddr, may: &Shown, told: Told, all: &mut Seen) {
    let leaks = || may.leaks("", &visit(address, "/sitemap.xml", ""));
    all.lookups += 1;
    match told {
        Told::Purged => all.leaks.extend(leaks()),
        _ => until("what isn't public isn't named any more", || leaks().is_empty()),
    }
}
