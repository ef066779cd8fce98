//! What readings write sweeps nothing, an edit sweeps at once.
//!
//! Thousands of readings by a stranger, over all pages. Most are of pages in memory; one in
//! ten is a search for a word that nobody searched for, so that the app is asked, and writes
//! what it writes when it is read. Wick counts its sweeps, and a stranger meets them as pages
//! that have to be made again. Then somebody edits behind Wick's back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use libtest_mimic::Trial;

use crate::browser::Outcome;
use crate::edits::SEEN_MAX;
use crate::figures::{Figures, ms};
use crate::site::{Followed, LOG, Site, explain, sweeps};
use crate::stranger::{self, PATIENCE, Stranger};
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
const LEARNING_MAX: Duration = Duration::from_secs(180);

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
    trials.map(|case| trial(figures, name(&case), move |figures| check(&case, figures))).collect()
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
    let shows = |answer: &crate::client::Answer| answer.body.contains(case.shown);
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
