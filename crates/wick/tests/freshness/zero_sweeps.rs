//! What readings write sweeps nothing, an edit sweeps at once.
//!
//! Thousands of readings by a stranger, over all pages. Most are of pages in memory; one in
//! ten is a search for a word that nobody searched for, so that the app is asked, and writes
//! what it writes when it is read. Wick counts its sweeps, and a stranger meets them as pages
//! that have to be made again. Then somebody edits behind Wick's back. Where it is members whose
//! reading writes, a member reads round, and strangers' pages stay.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use libtest_mimic::Trial;

use crate::browser::Outcome;
use crate::client::{Answer, Client};
use crate::edits::SEEN_MAX;
use crate::figures::{Figures, ms};
use crate::site::{Followed, LOG, Site, explain, sweeps};
use crate::stranger::{self, PATIENCE, Stranger};
use crate::walk::Walk;
use crate::{amount, trial};

const TITLE: &str = "What readings write";
const COLUMNS: &[&str] = &[
    "specimen",
    "learned after",
    "reads",
    "asked the app",
    "from memory",
    "sweeps",
    "pages gone",
    "edit seen after",
];
const READS: usize = 5_000;
/// One reading in so many asks the app.
const ASKS_EACH: usize = 10;
/// Of a hundred readings, how many may have swept at most.
const SWEEPS_PERCENT_MAX: usize = 2;
/// Learning is over when so many readings in a row that asked the app swept nothing.
const QUIET_READINGS: usize = 20;
/// So often a member reads: what came later than this could be anybody's doing.
const READS_EACH: Duration = Duration::from_millis(700);
/// More than it takes to learn what comes with reading, over so many posts.
const VOTES: usize = 24;
const VOTED: usize = 6;
/// Readings of a member in a row that swept nothing.
const QUIET_READS: usize = 8;
const MEMBERS_TITLE: &str = "What members' readings write";
const MEMBERS_COLUMNS: &[&str] = &["specimen", "learned after", "readings", "edit seen after"];
const LEARNING_MAX: Duration = Duration::from_secs(180);
/// Strangers' pages are all made anew between two readings of a member.
const MEMBERS_LEARNING_MAX: Duration = Duration::from_secs(600);

/// A specimen, and what somebody does behind Wick's back.
struct Case {
    specimen: &'static str,
    edit: &'static str,
    page: &'static str,
    shown: &'static str,
}

const fn case(specimen: &'static str) -> Case {
    Case {
        specimen,
        edit: "UPDATE posts SET title = 'A wick of another kind' WHERE id = 3",
        page: "/post/3",
        shown: "A wick of another kind",
    }
}

const CASES: [Case; 6] = [
    case("view-counter"),
    case("sessions-in-table"),
    case("online-list"),
    Case {
        edit: "UPDATE settings SET value = 'Lamps for ever' WHERE name = 'title'",
        page: "/about",
        shown: "Lamps for ever",
        ..case("transients")
    },
    case("search-log"),
    case("poor-mans-cron"),
];

pub(crate) fn trials(figures: &Arc<Figures>) -> Vec<Trial> {
    let name = |case: &Case| format!("zero_sweeps::{}", case.specimen);
    let trials = CASES.into_iter();
    let trials =
        trials.map(|case| trial(figures, name(&case), move |figures| check(&case, figures)));
    let members = trial(figures, "zero_sweeps::read-marks".to_owned(), check_members);
    trials.chain([members]).collect()
}

fn check(case: &Case, figures: &Figures) -> Outcome<()> {
    let site = Site::start(case.specimen, LOG, Followed::ByLog)?;
    let told = |error: String| {
        let (said, complaints) = (explain(&site.wick, case.page), site.wick.complaints());
        format!("{}: {error}\n{said}\nwick said:\n{complaints}", case.specimen)
    };
    let mut reading = Reading::new(&site);
    let learned = reading.learn().map_err(told)?;
    let swept_before = sweeps(&site.wick)?;
    let reads = reading.read_on(amount("FRESHNESS_READS", READS)).map_err(told)?;
    let swept = sweeps(&site.wick)? - swept_before;
    reading.stranger.until_kept(case.page).map_err(told)?;
    site.ask(case.edit);
    let shows = |answer: &Answer| answer.body.contains(case.shown);
    let seen = reading.stranger.until(case.page, Instant::now(), SEEN_MAX, shows).map_err(told)?;
    figures.add(
        TITLE,
        COLUMNS,
        vec![
            case.specimen.to_owned(),
            format!("{} s", learned.as_secs()),
            reads.all.to_string(),
            reads.asked.to_string(),
            reads.from_memory.to_string(),
            swept.to_string(),
            reads.losses.to_string(),
            ms(seen.after),
        ],
    );
    // What Wick counts as one may be met twice, and a sweep may meet nobody.
    match swept.max(reads.losses) * 100 <= reads.all * SWEEPS_PERCENT_MAX {
        true => Ok(()),
        false => Err(told(format!("{swept} sweeps: {reads:?}"))),
    }
}

fn check_members(figures: &Figures) -> Outcome<()> {
    let case = case("read-marks");
    let site = Site::start(case.specimen, LOG, Followed::ByLog)?;
    let told = |error: String| {
        let (said, complaints) = (explain(&site.wick, case.page), site.wick.complaints());
        format!("{}: {error}\n{said}\nwick said:\n{complaints}", case.specimen)
    };
    let mut reading = Reading::new(&site);
    reading.keep_all().map_err(told)?;
    let client = Client::new(site.wick.port, Ipv4Addr::new(127, 0, 1, 1), stranger::AGENT);
    let mut member = Walk::new(client, &site.specimen);
    member.log_in().map_err(told)?;
    let begun = Instant::now();
    let reads = learn_of_member(&site, &mut reading, &mut member).map_err(told)?;
    let learned = begun.elapsed();
    vote(&mut reading.stranger, &mut member).map_err(told)?;
    reading.stranger.until_kept(case.page).map_err(told)?;
    site.ask(case.edit);
    let shows = |answer: &Answer| answer.body.contains(case.shown);
    let seen = reading.stranger.until(case.page, Instant::now(), SEEN_MAX, shows).map_err(told)?;
    figures.add(
        MEMBERS_TITLE,
        MEMBERS_COLUMNS,
        vec![
            case.specimen.to_owned(),
            format!("{} s", learned.as_secs()),
            reads.to_string(),
            ms(seen.after),
        ],
    );
    Ok(())
}

/// A member reads round until that sweeps no more; how many readings it took.
fn learn_of_member(site: &Site, reading: &mut Reading, member: &mut Walk<'_>) -> Outcome<usize> {
    let begun = Instant::now();
    let (mut reads, mut quiet) = (0, 0);
    while quiet < QUIET_READS {
        if begun.elapsed() > MEMBERS_LEARNING_MAX {
            return Err("a member's readings sweep and sweep".to_owned());
        }
        reading.keep_all()?;
        let swept_before = sweeps(&site.wick)?;
        member.read(&reading.pages[reads % reading.pages.len()])?;
        reads += 1;
        // What was written may be heard a little later.
        std::thread::sleep(READS_EACH);
        match sweeps(&site.wick)? > swept_before {
            true => quiet = 0,
            false => quiet += 1,
        }
    }
    Ok(reads - QUIET_READS)
}

/// Who votes reads as well, by addresses that strangers know too; and each vote shows at once.
fn vote(stranger: &mut Stranger, member: &mut Walk<'_>) -> Outcome<()> {
    for number in 0..VOTES {
        let page = format!("/post/{}", number % VOTED + 1);
        let (vote, votes) = (format!("{page}?up=1"), number / VOTED + 1);
        stranger.until_kept(&page)?;
        stranger.until_kept(&vote)?;
        std::thread::sleep(READS_EACH);
        member.read(&vote)?;
        let shows = |answer: &Answer| answer.body.contains(&format!(">{votes} votes<"));
        stranger.until(&page, Instant::now(), SEEN_MAX, shows)?;
    }
    Ok(())
}

/// A stranger who goes round, and now and then asks for what nobody asked for.
pub(crate) struct Reading {
    pub(crate) stranger: Stranger,
    pages: Vec<String>,
    words: usize,
}

/// What a stranger met.
#[derive(Clone, Copy, Debug, Default)]
struct Reads {
    all: usize,
    /// Searches, which the app answers.
    asked: usize,
    from_memory: usize,
    /// Times that pages which had been in memory were gone.
    losses: usize,
}

impl Reading {
    pub(crate) fn new(site: &Site) -> Self {
        let stranger = Stranger::new(site.wick.port);
        Self { stranger, pages: site.specimen.crawl.clone(), words: 0 }
    }

    /// Reads until readings sweep no more; how long that took.
    pub(crate) fn learn(&mut self) -> Outcome<Duration> {
        let begun = Instant::now();
        self.keep_all()?;
        let mut quiet = 0;
        while quiet < QUIET_READINGS {
            if begun.elapsed() > LEARNING_MAX {
                return Err("readings sweep and sweep".to_owned());
            }
            self.search()?;
            match self.has_swept()? {
                true => quiet = 0,
                false => quiet += 1,
            }
            if quiet == 0 {
                self.keep_all()?;
            }
        }
        Ok(begun.elapsed())
    }

    /// So many readings, of which one in [`ASKS_EACH`] asks the app.
    fn read_on(&mut self, count: usize) -> Outcome<Reads> {
        let mut reads = Reads::default();
        self.keep_all()?;
        let mut has_asked = true;
        while reads.all < count {
            reads.all += 1;
            if reads.all % ASKS_EACH == 0 {
                self.search()?;
                reads.asked += 1;
                has_asked = true;
                continue;
            }
            let page = &self.pages[reads.all % self.pages.len()];
            if stranger::is_kept(&self.stranger.read(page)?) {
                reads.from_memory += 1;
                continue;
            }
            // All other pages went with this one.
            reads.losses += usize::from(std::mem::replace(&mut has_asked, false));
        }
        Ok(reads)
    }

    /// Searches for a word that nobody searched for.
    pub(crate) fn search(&mut self) -> Outcome<()> {
        self.words += 1;
        let answer = self.stranger.read(&format!("/search?q=word{}", self.words))?;
        match answer.is_from_memory() {
            false => Ok(()),
            true => Err(format!("a first search was served from memory: {}", answer.head)),
        }
    }

    /// Whether a page that was in memory is there no more.
    fn has_swept(&mut self) -> Outcome<bool> {
        // What was written may be heard a little later.
        std::thread::sleep(stranger::EACH);
        Ok(!stranger::is_kept(&self.stranger.read(&self.pages[0])?))
    }

    /// Waits until all pages are in memory at once.
    fn keep_all(&mut self) -> Outcome<()> {
        let mut missing = String::new();
        let kept = stranger::each(PATIENCE, || {
            missing.clear();
            for page in &self.pages {
                let answer = self.stranger.read(page)?;
                if !stranger::is_kept(&answer) {
                    // A person takes longer; what has to be made is made meanwhile.
                    std::thread::sleep(stranger::EACH);
                    missing.push_str(&format!("\n{page}: {}", answer.field("cache-status")));
                }
            }
            Ok(missing.is_empty().then_some(()))
        })?;
        kept.ok_or_else(|| format!("the pages are never all in memory for long:{missing}"))
    }
}
