//! Calm: a file that stays open and is written again and again is told of now and then.
//!
//! In: what was done to a file, and when. Out: whether to tell of a writing now.
//! Invariants: 1. The first writing is told at once; of those that follow within [`CALM`]
//! one is told, after the last, when that time is over or the file is closed. 2. So
//! whoever opens, writes and closes a file is told of each time, at once: who learns what
//! each reading does must see it with each. 3. No reading of a clock.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::time::{Duration, Instant};

/// How long the writings of one file are one.
pub(super) const CALM: Duration = Duration::from_millis(100);
/// The most files that are remembered so; writings of others are told each time.
const FILES_MAX: usize = 16_384;

/// Files that were written just now.
#[derive(Debug)]
pub(super) struct Calm<K> {
    /// Whether something waits to be told.
    files: HashMap<K, bool>,
    /// Each file once, by the end of its time.
    ends: VecDeque<(Instant, K)>,
}

/// What the end of a writing means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closed {
    /// There is something to tell.
    Tell,
    /// All has been told.
    Nothing,
    /// Nobody was heard writing.
    Unheard,
}

impl<K: Clone + Eq + Hash> Calm<K> {
    pub(super) fn new() -> Self {
        Self { files: HashMap::new(), ends: VecDeque::new() }
    }

    /// A file was made, and is about to be filled: its being closed is worth more than
    /// its first writing.
    pub(super) fn made(&mut self, file: &K, now: Instant) {
        self.note(file, now);
    }

    /// A file was written: whether that is told at once.
    pub(super) fn written(&mut self, file: &K, now: Instant) -> bool {
        if let Some(waits) = self.files.get_mut(file) {
            *waits = true;
            return false;
        }
        self.note(file, now);
        true
    }

    /// Somebody who could write to a file has closed it.
    pub(super) fn closed(&mut self, file: &K) -> Closed {
        match self.files.get_mut(file).map(std::mem::take) {
            None => Closed::Unheard,
            Some(true) => Closed::Tell,
            Some(false) => Closed::Nothing,
        }
    }

    /// A name is gone: nothing of what was written can be read by it.
    pub(super) fn gone(&mut self, file: &K) {
        if let Some(waits) = self.files.get_mut(file) {
            *waits = false;
        }
    }

    /// The files whose last writing has waited long enough.
    pub(super) fn due(&mut self, now: Instant) -> Vec<K> {
        let mut due = Vec::new();
        while self.ends.front().is_some_and(|(end, _)| *end <= now) {
            let Some((_, file)) = self.ends.pop_front() else { break };
            if self.files.remove(&file) == Some(true) {
                self.note(&file, now);
                due.push(file);
            }
        }
        due
    }

    /// When something may have waited long enough.
    pub(super) fn next(&self) -> Option<Instant> {
        self.ends.front().map(|(end, _)| *end)
    }

    fn note(&mut self, file: &K, now: Instant) {
        let is_full = self.files.len() >= FILES_MAX;
        if let Entry::Vacant(place) = self.files.entry(file.clone())
            && !is_full
        {
            place.insert(false);
            self.ends.push_back((now + CALM, file.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is told in a story of times and acts: `0+a` made, `5~a` written, `9-a` gone,
    /// `12.a` closed. A closing that nobody wrote before is told as `.`.
    fn told(story: &str) -> String {
        let start = Instant::now();
        let mut calm: Calm<String> = Calm::new();
        let mut told = Vec::new();
        let until = |calm: &mut Calm<String>, told: &mut Vec<String>, at: u64| {
            let last = start + Duration::from_millis(at);
            while let Some(end) = calm.next().filter(|end| *end <= last) {
                let at = (end - start).as_millis();
                told.extend(calm.due(end).iter().map(|file| format!("{at}~{file}")));
            }
        };
        for word in story.split_whitespace() {
            let cut = word.find(|letter: char| !letter.is_ascii_digit()).expect("a sign");
            let (at, rest) = word.split_at(cut);
            let (act, file) = rest.split_at(1);
            let at: u64 = at.parse().expect("a time");
            until(&mut calm, &mut told, at);
            let now = start + Duration::from_millis(at);
            let file = file.to_owned();
            match act {
                "+" => calm.made(&file, now),
                "-" => calm.gone(&file),
                "~" if calm.written(&file, now) => told.push(word.to_owned()),
                "~" => {}
                _ => match calm.closed(&file) {
                    Closed::Tell => told.push(format!("{at}~{file}")),
                    Closed::Unheard => told.push(word.to_owned()),
                    Closed::Nothing => {}
                },
            }
        }
        until(&mut calm, &mut told, u64::MAX >> 20);
        assert!(calm.files.is_empty() && calm.ends.is_empty(), "{story} leaves something behind");
        told.join(" ")
    }

    #[test]
    fn what_comes_first_is_told_at_once_and_the_last_after_all() {
        for (story, expected) in [
            ("0~a", "0~a"),
            // One saving is told as one.
            ("0~a 1.a", "0~a"),
            ("0~a 1~a 2.a", "0~a 2~a"),
            ("0+a 1~a 2~a 3.a", "3~a"),
            ("0+a 1.a", ""),
            // A file that stays open.
            ("0~a 10~a 20~a", "0~a 100~a"),
            ("0+a 10~a 20~a", "100~a"),
            ("0~a 10~a 150~a 300~a", "0~a 100~a 200~a 300~a"),
            ("0~a 100~a 200~a", "0~a 100~a 200~a"),
            // Readers one after the other: each is told.
            ("0~a 1.a 20~a 21.a 40~a 41.a", "0~a 21~a 41~a"),
            // What was written is gone with its name.
            ("0+t 1~t 2-t", ""),
            ("0~t 1~t 2-t", "0~t"),
            ("0~a 1~b", "0~a 1~b"),
            ("0.a 1~a", "0.a 1~a"),
        ] {
            assert_eq!(told(story), expected, "{story}");
        }
    }

    #[test]
    fn more_files_than_are_remembered_are_told_each_time() {
        let mut calm = Calm::new();
        let now = Instant::now();
        for file in 0..FILES_MAX + 10 {
            assert!(calm.written(&file, now));
        }
        assert_eq!((calm.files.len(), calm.ends.len()), (FILES_MAX, FILES_MAX));
        assert!(calm.written(&(FILES_MAX + 1), now));
        assert!(!calm.written(&1, now));
    }
}
