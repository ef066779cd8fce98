//! The book: what was purged of a site, and when, as numbers.
//!
//! Bounds: [`MARKED_MAX`] names, [`BANS_MAX`] beginnings and patterns; past either more is
//! purged than was asked for.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use policy::purge::{Mode, UrlPattern};

use super::marks::{Marks, host_of};

/// Pages, tags and hosts that were purged by name.
pub(crate) const MARKED_MAX: usize = 1_000_000;
/// Beginnings and patterns: each is tried on every page that is looked up after it.
pub(super) const BANS_MAX: usize = 64;

/// A beginning or a pattern.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ban {
    Exactly(String),
    Beginning(String),
    Pattern(UrlPattern),
}

/// All of it.
#[derive(Default)]
pub(crate) struct Book {
    pub(crate) whole: Purged,
    /// The number of the last change that was heard of.
    pub(crate) changed: u64,
    pub(crate) marked: HashMap<u64, Purged, BuildHasherDefault<AsItIs>>,
    pub(crate) bans: Vec<Banned>,
}

/// The numbers of the last purges of something.
#[derive(Clone, Copy, Default)]
pub(crate) struct Purged {
    pub(crate) hard: u64,
    pub(crate) soft: u64,
}

/// A ban and its number.
pub(crate) struct Banned {
    pub(crate) generation: u64,
    pub(crate) mode: Mode,
    /// None: any.
    pub(crate) host: Option<String>,
    pub(crate) ban: Ban,
}

/// What a page comes to that is held against the book.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) is_gone: bool,
    pub(super) is_softened: bool,
    pub(super) is_swept: bool,
}

impl Book {
    /// How a page stands that bears these marks and lies under this key.
    pub(super) fn hold(&self, marks: &Marks, hash: u64, text: &[u8]) -> Held {
        const GONE: Held = Held { is_gone: true, is_softened: false, is_swept: false };
        let born = marks.born;
        let mut is_softened = self.whole.soft > born;
        if self.whole.hard > born {
            return GONE;
        }
        if !self.marked.is_empty() {
            for mark in marks.all().chain([hash]) {
                let Some(purged) = self.marked.get(&mark) else { continue };
                if purged.hard > born {
                    return GONE;
                }
                is_softened |= purged.soft > born;
            }
        }
        let since = born.max(marks.checked_generation());
        for banned in self.bans.iter().filter(|banned| banned.generation > since) {
            if banned.is_found_in(text) {
                match banned.mode {
                    Mode::Hard => return GONE,
                    Mode::Soft => is_softened = true,
                }
            }
        }
        Held { is_gone: false, is_softened, is_swept: self.changed > born && !marks.is_by_content }
    }

    /// Purges what bears any of these marks; false if there was no room for all of them, and
    /// everything is purged instead.
    pub(crate) fn purge_marked(
        &mut self,
        generation: u64,
        marks: &[u64],
        mode: Mode,
        marked_max: usize,
    ) -> bool {
        for &mark in marks {
            if self.marked.len() >= marked_max && !self.marked.contains_key(&mark) {
                self.purge_all(generation, Mode::Hard);
                return false;
            }
            self.marked.entry(mark).or_default().note(generation, mode);
        }
        true
    }

    /// Purges what a ban is found in; false if an older one had to be made wider for it.
    pub(crate) fn ban(&mut self, banned: Banned) -> bool {
        let is_same = |old: &Banned| {
            old.ban == banned.ban && old.host == banned.host && old.mode == banned.mode
        };
        // What comes from the journal may come in any order.
        let last = self.bans.iter().filter(|old| is_same(old)).map(|old| old.generation).max();
        self.bans.retain(|old| !is_same(old));
        let banned = Banned { generation: banned.generation.max(last.unwrap_or(0)), ..banned };
        let has_room = self.bans.len() < BANS_MAX;
        if !has_room {
            let oldest = self.bans.remove(0);
            self.whole.note(oldest.generation, oldest.mode);
        }
        self.bans.push(banned);
        has_room
    }

    /// Takes in what was purged before all that stands here.
    pub(crate) fn take_in(&mut self, older: Self, marked_max: usize) {
        self.whole.note(older.whole.hard, Mode::Hard);
        self.whole.note(older.whole.soft, Mode::Soft);
        self.changed = self.changed.max(older.changed);
        for (mark, purged) in older.marked {
            for (generation, mode) in [(purged.hard, Mode::Hard), (purged.soft, Mode::Soft)] {
                if generation > 0 {
                    self.purge_marked(generation, &[mark], mode, marked_max);
                }
            }
        }
        let newer = std::mem::take(&mut self.bans);
        for banned in older.bans.into_iter().chain(newer) {
            self.ban(banned);
        }
    }

    pub(crate) fn purge_all(&mut self, generation: u64, mode: Mode) {
        self.whole.note(generation, mode);
        if mode == Mode::Hard {
            // All of these are older, but for what comes from the journal.
            self.marked.retain(|_, purged| purged.hard.max(purged.soft) > generation);
            self.marked.shrink_to_fit();
            self.bans.retain(|banned| banned.generation > generation);
        }
    }
}

impl Purged {
    pub(crate) fn note(&mut self, generation: u64, mode: Mode) {
        let last = match mode {
            Mode::Hard => &mut self.hard,
            Mode::Soft => &mut self.soft,
        };
        *last = generation.max(*last);
    }
}

impl Banned {
    /// The key is `scheme|host|target`.
    fn is_found_in(&self, key: &[u8]) -> bool {
        let Some((host, target)) = host_of(key) else { return true };
        self.host.as_ref().is_none_or(|own| own.as_bytes() == host)
            && match &self.ban {
                Ban::Exactly(whole) => whole.as_bytes() == target,
                Ban::Beginning(beginning) => target.starts_with(beginning.as_bytes()),
                Ban::Pattern(pattern) => pattern.is_found_in(target),
            }
    }
}

/// Marks are hashes already, of a seed that nobody knows.
#[derive(Default)]
pub(crate) struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        // Never called: the keys are whole numbers. It must be right all the same.
        bytes.iter().for_each(|&byte| self.0 = self.0.rotate_left(8) ^ u64::from(byte));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}
