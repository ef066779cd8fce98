//! Seeds: a forum with some habits, a cache before it that keeps pages by proofs, and what
//! its readers are given.
//!
//! An app that does what it did all the time must never have an old page served. One that
//! shows things all over must never have a page kept. One that changes its habit has old
//! pages served until a check finds one: how many is counted.

use std::collections::{BTreeSet, HashMap};

use super::*;

/// What the app shows, beside each thread's own text.
#[derive(Clone, Copy, Default)]
struct Habits {
    /// The number of all posts, on every page.
    counter: bool,
    /// The newest post, on every page.
    widget: bool,
    /// The number of its first author's posts, in each thread.
    author: bool,
    /// The forum's name, in each thread.
    forum: bool,
    /// The newest post on every page, from this act on.
    later: Option<usize>,
}

const THREADS: u64 = 60;
const FORUMS: u64 = 4;
const PERSONS: u64 = 12;
const ACTS: usize = 400;
/// Stories of each test.
const STORIES: u64 = 16;
/// What is asked for between two acts, about.
const READS: u64 = 30;

struct Forum {
    habits: Habits,
    texts: Vec<u64>,
    names: Vec<u64>,
    posts_of: Vec<u64>,
    posts: u64,
    act: usize,
}

impl Forum {
    fn page(&self, target: &str) -> String {
        let id = target.split_once('=').map_or(0, |(_, id)| id.parse().expect("a number"));
        let habits = self.habits;
        let mut page = match target.split('?').next() {
            Some("/thread") => {
                let mut page = format!("thread {id} text {}", self.texts[id]);
                if habits.author {
                    page += &format!(" author {}", self.posts_of[id % PERSONS as usize]);
                }
                if habits.forum {
                    page += &format!(" forum {}", self.names[id % FORUMS as usize]);
                }
                page
            }
            Some("/forum") => {
                let of = (0..THREADS as usize).filter(|thread| thread % FORUMS as usize == id);
                let of: Vec<u64> = of.map(|thread| self.texts[thread]).collect();
                format!("forum {} {of:?}", self.names[id])
            }
            _ => format!("front {:?}", self.texts),
        };
        if habits.counter || habits.widget || habits.later.is_some_and(|at| self.act >= at) {
            page += &format!(" newest {}", self.posts);
        }
        page
    }

    /// Does something, and tells which rows that were.
    fn act(&mut self, dice: &mut Dice) -> Batch {
        self.act += 1;
        let (thread, person) = (dice.below(THREADS), 1 + dice.below(PERSONS));
        let forum = thread % FORUMS;
        let mut batch = Batch::default();
        let mut note = |line: &str, columns: &[(&str, u64)]| {
            let sets: Vec<_> =
                columns.iter().map(|(name, value)| (*name, BTreeSet::from([value + 1]))).collect();
            batch.note(line, sets.iter().map(|(name, set)| ((*name).to_owned(), Some(set))));
        };
        match dice.below(10) {
            0..6 => {
                self.posts += 1;
                self.texts[thread as usize] += 1;
                self.posts_of[person as usize % PERSONS as usize] += 1;
                let post = self.posts;
                note("insert posts", &[("id", post), ("thread", thread), ("person", person)]);
                note("update threads (last)", &[("id", thread), ("forum", forum)]);
                note("update forums (posts)", &[("id", forum)]);
                note("update persons (posts)", &[("id", person)]);
            }
            6..9 => {
                self.texts[thread as usize] += 1;
                let post = dice.below(self.posts + 1);
                note("update posts (text)", &[("id", post), ("thread", thread)]);
            }
            _ => {
                self.names[forum as usize] += 1;
                note("update forums (name)", &[("id", forum)]);
            }
        }
        batch
    }
}

struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit
    }
}

#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    answers: u64,
    hits: u64,
    old: u64,
    proved: u64,
    refuted: u64,
}

struct Cached {
    made: u64,
    kept: u64,
    body: String,
}

/// Which page is asked for.
fn target(dice: &mut Dice) -> String {
    match dice.below(10) {
        0 => "/".to_owned(),
        1 => format!("/forum?id={}", dice.below(FORUMS)),
        // Some are asked for more than others.
        2..6 => format!("/thread?id={}", dice.below(THREADS / 4)),
        _ => format!("/thread?id={}", dice.below(THREADS)),
    }
}

/// Small numbers stand for themselves, so that ids of all tables collide.
fn route(spelled: &Spelled) -> Route {
    let hash =
        |text: &str| text.bytes().fold(7, |sum: u64, byte| sum.wrapping_mul(31) ^ u64::from(byte));
    spelled.route(hash, |text| text.parse().ok().map(|value: u64| value + 1))
}

fn play(seed: u64, habits: Habits, demands: Demands) -> Tally {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let zeros = |count: u64| vec![0; count as usize];
    let (texts, names, posts_of) = (zeros(THREADS), zeros(FORUMS), zeros(PERSONS));
    let mut forum = Forum { habits, texts, names, posts_of, posts: 0, act: 0 };
    let (mut proofs, mut ledger) = (Proofs::new(demands), Ledger::default());
    let (mut content, mut cache) = (0, HashMap::<String, Cached>::new());
    let mut tally = Tally::default();
    for _ in 0..ACTS {
        let (begin, batch) = (content, forum.act(&mut dice));
        content += 2;
        if let Some(past) = proofs.decide(begin, content, batch) {
            ledger.enter(past);
        }
        for _ in 0..dice.below(2 * READS) {
            let target = target(&mut dice);
            let spelled = Spelled::of("a.test", &target).expect("a route");
            let (route, truth) = (route(&spelled), forum.page(&target));
            let lot = target.bytes().fold(seed, |sum, byte| {
                (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
            });
            tally.answers += 1;
            if let Some(page) = cache.get_mut(&target) {
                let is_current = page.kept >= content
                    || ledger.kept(&route, lot, page.kept, content).is_some_and(|end| {
                        page.kept = end;
                        true
                    });
                if is_current {
                    tally.hits += 1;
                    tally.old += u64::from(page.body != truth);
                    continue;
                }
                let seen = if page.body == truth { Seen::Same } else { Seen::Changed };
                let past = ledger.between(page.made, content);
                let past = past.unwrap_or_default();
                match proofs.observe(&past, &spelled, &route, seen) {
                    Outcome::Nothing => {}
                    Outcome::Proved { .. } => tally.proved += 1,
                    Outcome::Refuted { .. } => {
                        tally.refuted += 1;
                        // Everything is swept.
                        content += 1;
                    }
                }
            }
            cache.insert(target, Cached { made: content, kept: content, body: truth });
        }
    }
    tally
}

fn many(habits: Habits, demands: Demands) -> Tally {
    let mut all = Tally::default();
    for seed in 1..=STORIES {
        let one = play(seed, habits, demands);
        all.answers += one.answers;
        all.hits += one.hits;
        all.old += one.old;
        all.proved += one.proved;
        all.refuted += one.refuted;
    }
    all
}

/// So much that nothing is ever proved.
const NEVER: Demands = Demands { batches: u32::MAX, same: 0, pages: 0, changed: 0, again: 0 };

#[test]
fn an_app_that_keeps_its_habits_has_no_old_page_served() {
    for habits in [Habits::default(), Habits { forum: true, ..Habits::default() }] {
        let (kept, swept) = (many(habits, Demands::default()), many(habits, NEVER));
        assert_eq!((kept.old, kept.refuted), (0, 0), "{kept:?}");
        assert!(kept.proved > 0 && kept.hits > swept.hits * 4 / 3, "{kept:?} {swept:?}");
    }
}

#[test]
fn what_is_shown_on_every_page_prevents_a_proof() {
    for habits in [
        Habits { counter: true, ..Habits::default() },
        Habits { widget: true, ..Habits::default() },
    ] {
        let tally = many(habits, Demands::default());
        assert_eq!((tally.old, tally.refuted), (0, 0), "{tally:?}");
    }
}

#[test]
fn what_is_shown_in_pages_of_the_same_author_prevents_a_proof() {
    let tally = many(Habits { author: true, ..Habits::default() }, Demands::default());
    assert_eq!(tally.old, 0, "{tally:?}");
}

#[test]
fn a_habit_that_changes_is_found_by_the_pages_that_are_swept_all_the_same() {
    let habits = Habits { later: Some(ACTS / 2), ..Habits::default() };
    let tally = many(habits, Demands::default());
    assert!(tally.refuted > 0 && tally.old > 0, "{tally:?}");
    // Of a story's 6,000 answers after the change.
    assert!(tally.old < STORIES * 150, "{tally:?}");
}

#[test]
fn one_who_believes_too_soon_is_seen() {
    let hasty = Demands { batches: 1, same: 1, pages: 1, changed: 1, again: 0 };
    let tally = many(Habits { forum: true, author: true, ..Habits::default() }, hasty);
    assert!(tally.old > 0, "{tally:?}");
}
