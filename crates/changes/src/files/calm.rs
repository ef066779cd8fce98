//! Calm: a file that is written again and again is told of now and then.
//!
//! In: what was done to a file, and when. Out: what is to be told now.
//! Invariants: 1. What is seen of a file for the first time within [`CALM`] is told at
//! once; what comes again is told once more, after the last of it, when that time is
//! over or the file is closed. 2. So one file is told of at most eight times in that time.
//! 3. No reading of a clock.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::time::{Duration, Instant};

use crate::Operation;

/// How long one file's changes of one kind are one.
pub(super) const CALM: Duration = Duration::from_millis(100);
/// The most files that are remembered so; what happens to others is told each time.
const FILES_MAX: usize = 16_384;
const KINDS: [Operation; 3] = [Operation::Insert, Operation::Update, Operation::Delete];

/// Files that something happened to just now.
#[derive(Debug)]
pub(super) struct Calm<K> {
    files: HashMap<K, Noted>,
    /// Each file once, by the end of its time.
    ends: VecDeque<(Instant, K)>,
}

/// Which kinds of change were told, and which wait, in the order of [`KINDS`].
#[derive(Debug, Default)]
struct Noted {
    told: [bool; 3],
    waits: [bool; 3],
    was_closed: bool,
}

/// What the end of a writing means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closed {
    /// There is something to tell.
    Tell,
    /// All has been told, or will be.
    Nothing,
    /// Nobody was heard writing.
    Unheard,
}

impl<K: Clone + Eq + Hash> Calm<K> {
    pub(super) fn new() -> Self {
        Self { files: HashMap::new(), ends: VecDeque::new() }
    }

    /// Something was done to a file: whether it is told at once.
    pub(super) fn saw(&mut self, file: &K, operation: Operation, now: Instant) -> bool {
        let Some(kind) = KINDS.iter().position(|kind| *kind == operation) else { return true };
        let is_full = self.files.len() >= FILES_MAX;
        let noted = match self.files.entry(file.clone()) {
            Entry::Occupied(noted) => noted.into_mut(),
            Entry::Vacant(_) if is_full => return true,
            Entry::Vacant(place) => {
                self.ends.push_back((now + CALM, file.clone()));
                place.insert(Noted::default())
            }
        };
        match operation {
            // Nothing of what was done before can be read there any more.
            Operation::Delete => noted.waits = [false; 3],
            // A new file is about to be filled.
            Operation::Update => noted.told[kind] |= noted.told[0],
            _ => {}
        }
        let is_first = !noted.told[kind];
        noted.told[kind] = true;
        noted.waits[kind] = !is_first;
        is_first
    }

    /// Somebody who could write to a file has closed it.
    pub(super) fn closed(&mut self, file: &K) -> Closed {
        let Some(noted) = self.files.get_mut(file) else { return Closed::Unheard };
        if !noted.waits[1] || noted.was_closed {
            return Closed::Nothing;
        }
        noted.was_closed = true;
        noted.waits[1] = false;
        Closed::Tell
    }

    /// What has waited long enough.
    pub(super) fn due(&mut self, now: Instant) -> Vec<(K, Operation)> {
        let mut due = Vec::new();
        while self.ends.front().is_some_and(|(end, _)| *end <= now) {
            let Some((_, file)) = self.ends.pop_front() else { break };
            let Some(noted) = self.files.remove(&file) else { continue };
            let waits = noted.waits;
            if waits.contains(&true) {
                self.files.insert(file.clone(), Noted { told: waits, ..Noted::default() });
                self.ends.push_back((now + CALM, file.clone()));
            }
            let kinds = KINDS.into_iter().zip(waits).filter(|(_, waits)| *waits);
            due.extend(kinds.map(|(kind, _)| (file.clone(), kind)));
        }
        due
    }

    /// When something may have waited long enough.
    pub(super) fn next(&self) -> Option<Instant> {
        self.ends.front().map(|(end, _)| *end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is told in a story of times and acts: `0+a` made, `5~a` written, `9-a` gone,
    /// `12.a` closed. A closing that nobody wrote before is told as `.`.
    fn told(story: &str) -> String {
        let start = Instant::now();
        let mut calm = Calm::new();
        let mut told = Vec::new();
        let sign = |kind| match kind {
            Operation::Insert => '+',
            Operation::Update => '~',
            _ => '-',
        };
        let until = |calm: &mut Calm<String>, told: &mut Vec<String>, at: u64| {
            while let Some(end) =
                calm.next().filter(|end| *end <= start + Duration::from_millis(at))
            {
                let at = (end - start).as_millis();
                told.extend(
                    calm.due(end).iter().map(|(file, kind)| format!("{at}{}{file}", sign(*kind))),
                );
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
            let is_told = match act {
                "+" => calm.saw(&file, Operation::Insert, now),
                "~" => calm.saw(&file, Operation::Update, now),
                "-" => calm.saw(&file, Operation::Delete, now),
                _ => match calm.closed(&file) {
                    Closed::Tell => {
                        told.push(format!("{at}~{file}"));
                        false
                    }
                    Closed::Unheard => true,
                    Closed::Nothing => false,
                },
            };
            if is_told {
                told.push(word.to_owned());
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
            ("0+a 1~a 2.a", "0+a 2~a"),
            ("0+a 1.a", "0+a"),
            // A file that stays open.
            ("0~a 10~a 20~a", "0~a 100~a"),
            ("0~a 10~a 150~a 300~a", "0~a 100~a 200~a 300~a"),
            // One that is saved in a loop.
            ("0~a 1.a 2~a 3.a 4~a 5.a 6~a 7.a", "0~a 3~a 100~a"),
            ("0~a 100~a 200~a", "0~a 100~a 200~a"),
            // A lock.
            ("0+l 1-l 2+l 3-l 4+l 5-l", "0+l 1-l 100-l"),
            ("0-a 1+a 2~a 3.a", "0-a 1+a 3~a"),
            // What was written is gone with its name.
            ("0+t 1~t 2-t 2+a", "0+t 2-t 2+a"),
            ("0~a 1~b", "0~a 1~b"),
            ("0.a 1~a", "0.a 1~a"),
        ] {
            assert_eq!(told(story), expected, "{story}");
        }
    }

    #[test]
    fn a_file_in_a_storm_is_told_of_eight_times_in_its_time() {
        let story: String = (0..99).map(|at| format!("{at}+a {at}~a {at}.a {at}-a ")).collect();
        let count = told(&story).split(' ').count();
        assert!((4..=8).contains(&count), "{count}");
    }

    #[test]
    fn more_files_than_are_remembered_are_told_each_time() {
        let mut calm = Calm::new();
        let now = Instant::now();
        for file in 0..FILES_MAX + 10 {
            assert!(calm.saw(&file, Operation::Update, now));
        }
        assert_eq!(calm.files.len(), FILES_MAX);
        assert!(calm.saw(&(FILES_MAX + 1), Operation::Update, now));
        assert!(!calm.saw(&1, Operation::Update, now));
    }
}
