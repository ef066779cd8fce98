//! Queries that are kept because feeds of them are asked for: whether anything has changed that
//! they would tell.
//!
//! A feed's query is kept ([`Topic`]) with the version of its last answer. Each document that is
//! put is held against all of them, by way of the rarest term that each wants; what is removed or
//! replaced concerns those that show it. The others' answers stay as they are, and nobody
//! searches for them.
//! Order: puts and removals are numbered. An answer was made of what was committed up to a number
//! (`seen`); it holds as long as no later number concerns its query.
//! Invariants: 1. a query that is kept is concerned by everything numbered before it was. 2. what
//! a search would find concerns it. 3. [`crate::Limits::stored_bytes`] bounds what is kept; the
//! one that was asked for longest ago goes first.

mod shelf;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::RwLock;

use crate::query::{Keys, Planner, Reading, Terms};
use crate::text::Language;
use crate::{Document, Query, Value, read_query};
use shelf::{Entry, Shelf};

/// What a feed is of.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Topic {
    /// Where the search is that it is asked of, as in `https://example.org/search`.
    pub address: String,
    /// The query, as it was written.
    pub query: String,
}

/// In which form a feed is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedKind {
    /// RSS 2.0.
    Rss,
    /// RFC 4287.
    Atom,
}

/// By which one answer is told from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    /// The hash of its text.
    pub tag: u64,
    /// Since when it is so, in seconds since 1970: no two versions bear the same.
    pub since: i64,
}

/// Of which documents a kept query may be: those with this text in this attribute.
pub type Only = Option<(usize, String)>;

/// Up to which number documents were seen when a search began.
#[derive(Debug, Clone, Copy)]
pub struct Seen(u64);

/// What there is of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoredCounts {
    /// Kept queries.
    pub queries: usize,
    /// About how many bytes they take.
    pub bytes: usize,
    /// How often a document concerned one.
    pub matches: u64,
}

/// A version, and what it was made of.
#[derive(Debug, Clone, Copy)]
struct Answer {
    version: Version,
    seen: u64,
    made: Instant,
}

/// What is kept of a query.
pub(crate) struct Made {
    /// None where it is what the topic's text is read as.
    pub(crate) query: Option<Query>,
    pub(crate) only: Only,
    pub(crate) reading: Reading,
    pub(crate) keys: Option<Keys>,
}

/// The kept queries of one index.
#[derive(Default)]
pub(crate) struct Stored {
    shelf: RwLock<Shelf>,
    /// The number of the last change, and of the last that searches see.
    last: AtomicU64,
    seen: AtomicU64,
    matches: AtomicU64,
}

impl Stored {
    /// The number of a change that is being made. Nothing may be committed meanwhile.
    pub(crate) fn number(&self) -> u64 {
        self.last.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// A document takes the place of another of its id, if there is one.
    pub(crate) fn put(
        &self,
        number: u64,
        document: &Document,
        language: Option<Language>,
        analyzer: &crate::text::Analyzer,
    ) {
        // What is kept from now on is concerned by this number anyway.
        if self.shelf.read().is_empty() {
            return;
        }
        let terms = Terms::of(document, language, analyzer);
        let shelf = self.shelf.read();
        let concerned = shelf.fitting(document, &terms).chain(shelf.showing(document.id));
        let count = concerned.map(|entry| entry.concern(number)).count();
        self.matches.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// A document is taken out.
    pub(crate) fn remove(&self, number: u64, id: u64) {
        let shelf = self.shelf.read();
        let count = shelf.showing(id).map(|entry| entry.concern(number)).count();
        self.matches.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// Something concerns all of them.
    pub(crate) fn all(&self, number: u64) {
        self.shelf.read().entries().for_each(|entry| entry.concern(number));
    }

    /// What has a number so far, to be committed.
    pub(crate) fn numbered(&self) -> u64 {
        self.last.load(Ordering::SeqCst)
    }

    /// Everything up to this number is seen from now on, and texts are in these languages.
    pub(crate) fn commit(&self, number: u64, planner: Planner<'_>, languages: &Arc<[Language]>) {
        let is_other = {
            let shelf = self.shelf.read();
            !shelf.is_empty() && *shelf.languages != **languages
        };
        if is_other {
            // Another language's stems are other words to look for.
            let mut shelf = self.shelf.write();
            shelf.languages = languages.clone();
            let none = |_: &str| 0;
            shelf.plan_again(&|query| {
                let plan = match query {
                    Ok(query) => planner.plan(query),
                    Err(written) => planner.plan(&read_query(written, planner.shape)),
                };
                (Reading::of(&plan), Keys::of(&plan, &none))
            });
            shelf.entries().for_each(|entry| entry.concern(number));
        }
        self.seen.fetch_max(number, Ordering::SeqCst);
    }

    pub(crate) fn version(
        &self,
        topic: &Topic,
        kind: FeedKind,
        holds: Duration,
    ) -> Option<Version> {
        let shelf = self.shelf.read();
        let entry = shelf.find(topic)?;
        entry.note_asked(shelf.tick());
        entry.want(kind);
        let answer = **(entry.answers.lock())[kind as usize].as_ref()?;
        let is_good = answer.seen >= entry.concerned() && answer.made.elapsed() < holds;
        is_good.then_some(answer.version)
    }

    /// Keeps a query, unless it is kept; what is seen now. It is planned for these languages,
    /// or for those that the others are planned for.
    pub(crate) fn keep(
        &self,
        topic: &Topic,
        limit: usize,
        languages: &Arc<[Language]>,
        make: impl FnOnce(&[Language]) -> Made,
    ) -> Seen {
        let is_kept = self.shelf.read().find(topic).is_some();
        if !is_kept {
            let mut shelf = self.shelf.write();
            if shelf.is_empty() {
                shelf.languages = languages.clone();
            }
            let Made { query, only, reading, keys } = make(&shelf.languages);
            let entry = Entry::new(topic, query, reading, shelf.tick());
            if let Some(at) = shelf.add(entry, only, keys, limit) {
                // It may be concerned by what was numbered before, and isn't seen yet.
                let number = self.numbered();
                if let Some(entry) = shelf.entry(at) {
                    entry.concern(number);
                    if number <= self.seen.load(Ordering::SeqCst) {
                        entry.tell_nothing();
                    }
                }
            }
        }
        Seen(self.seen.load(Ordering::SeqCst))
    }

    /// What was answered: its text's hash, and which documents it shows.
    pub(crate) fn note(
        &self,
        topic: &Topic,
        kind: FeedKind,
        seen: Seen,
        (tag, now): (u64, i64),
        shows: &[u64],
    ) -> Option<Version> {
        let mut shelf = self.shelf.write();
        shelf.show(topic, shows);
        let entry = shelf.find(topic)?;
        let mut answers = entry.answers.lock();
        let own = &mut answers[kind as usize];
        let since = match own.as_ref().map(|before| before.version) {
            Some(before) if before.tag == tag => before.since,
            Some(before) => now.max(before.since + 1),
            None => now,
        };
        let version = Version { tag, since };
        let answer = Box::new(Answer { version, seen: seen.0, made: Instant::now() });
        let is_first = own.replace(answer).is_none();
        drop(answers);
        if is_first {
            shelf.note_answer();
        }
        Some(version)
    }

    /// A feed is wanted in this form, if its query is kept.
    pub(crate) fn want(&self, topic: &Topic, kind: FeedKind) {
        self.shelf.read().find(topic).iter().for_each(|entry| entry.want(kind));
    }

    /// The feeds that something has concerned since this was last asked, as searches see it, at
    /// most so many; the others the next time.
    pub(crate) fn changed(&self, limit: usize) -> Vec<(Topic, Vec<FeedKind>)> {
        let seen = self.seen.load(Ordering::SeqCst);
        let shelf = self.shelf.read();
        let changed = shelf.entries().filter(|entry| entry.takes_change(seen));
        changed.take(limit).map(Entry::feeds).collect()
    }

    /// The feeds that are kept, those first that were asked for last.
    pub(crate) fn feeds(&self, limit: usize) -> Vec<(Topic, Vec<FeedKind>)> {
        let shelf = self.shelf.read();
        let mut all: Vec<&Entry> = shelf.entries().collect();
        all.sort_unstable_by_key(|entry| std::cmp::Reverse(entry.asked_at()));
        all.into_iter().take(limit).map(Entry::feeds).collect()
    }

    pub(crate) fn counts(&self) -> StoredCounts {
        let shelf = self.shelf.read();
        StoredCounts {
            queries: shelf.entries().count(),
            bytes: shelf.bytes(),
            matches: self.matches.load(Ordering::Relaxed),
        }
    }
}

fn is_only(only: Option<&(usize, String)>, document: &Document) -> bool {
    only.is_none_or(|(at, wanted)| match document.attributes.get(*at) {
        Some(Value::Text(text)) => text == wanted,
        _ => false,
    })
}
