//! Which pages are vouched for: that they are what is in the index.
//!
//! Bound: [`BYTES_MAX`]; past it somebody's is forgotten, and that page is asked for again before
//! it is shown.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use server::{PageMark, Server, Vouch};

use super::unpoisoned;

const BYTES_MAX: usize = 4 << 20;
/// Addresses of which the last notice is known.
const NOTICES_MAX: usize = 8192;
/// Pages whose text changed last, which may soon change again.
const CHANGED_MAX: usize = 16;
/// What an entry takes beside its vouch.
const ENTRY_BYTES: usize = 64;

/// The pages that are vouched for, by the ids of their documents.
#[derive(Default)]
pub(super) struct Standings {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    entries: HashMap<u64, Entry>,
    bytes: usize,
    /// The number of the last notice of an address, and of which page it was.
    notices: HashMap<u64, (u64, Option<PageMark>)>,
    /// How many notices there were, and how many of them are forgotten.
    number: u64,
    forgotten: u64,
    /// The pages whose text changed last, the latest at the end.
    changed: VecDeque<u64>,
}

struct Entry {
    vouch: Vouch,
    /// Of the text that it vouches for.
    sum: i64,
    /// By which host it was read: another may be shown another page.
    host: Box<str>,
}

impl Entry {
    fn bytes(&self) -> usize {
        self.vouch.bytes() + self.host.len() + ENTRY_BYTES
    }
}

impl Standings {
    /// A page of this text was read, by this host.
    pub(super) fn put(&self, id: u64, vouch: Vouch, sum: i64, host: &str) {
        let entry = Entry { vouch, sum, host: host.into() };
        let mut inner = unpoisoned(&self.inner);
        inner.remove(id);
        inner.bytes += entry.bytes();
        inner.entries.insert(id, entry);
        while inner.bytes > BYTES_MAX {
            let Some(other) = inner.entries.keys().copied().find(|&other| other != id) else {
                return;
            };
            inner.remove(other);
        }
    }

    /// Something is told of a page: what was known isn't known any more. The notice's number.
    pub(super) fn notice(&self, id: u64, page: Option<PageMark>) -> u64 {
        let mut inner = unpoisoned(&self.inner);
        inner.remove(id);
        inner.number += 1;
        if inner.notices.len() >= NOTICES_MAX {
            inner.notices.clear();
            inner.forgotten = inner.number - 1;
        }
        let number = inner.number;
        inner.notices.insert(id, (number, page));
        number
    }

    /// The number of the last notice of any page.
    pub(super) fn number(&self) -> u64 {
        unpoisoned(&self.inner).number
    }

    /// Whether nothing was told of an address after this notice but of this very page: else
    /// whoever has it has what may be older than what is on its way.
    pub(super) fn is_newest(&self, id: u64, since: u64, page: Option<&PageMark>) -> bool {
        let inner = unpoisoned(&self.inner);
        match inner.notices.get(&id) {
            Some((number, _)) if *number <= since => true,
            Some((_, Some(last))) => page.is_some_and(|page| page.is(last)),
            Some((_, None)) => false,
            None => inner.forgotten <= since,
        }
    }

    /// It may not be what it was.
    pub(super) fn remove(&self, id: u64) {
        unpoisoned(&self.inner).remove(id);
    }

    /// Whether the page is what it was when it had this text, as this host shows it.
    pub(super) fn is_sure(&self, server: &Server, id: u64, sum: i64, host: &str) -> bool {
        let inner = unpoisoned(&self.inner);
        inner.entries.get(&id).is_some_and(|entry| {
            entry.sum == sum && *entry.host == *host && server.is_vouched(&entry.vouch)
        })
    }

    /// The text of a page is another than before.
    pub(super) fn note_change(&self, id: u64) {
        let changed = &mut unpoisoned(&self.inner).changed;
        changed.retain(|&other| other != id);
        if changed.len() >= CHANGED_MAX {
            changed.pop_front();
        }
        changed.push_back(id);
    }

    /// The ids of pages that nobody vouches for any more, at most so many of each kind: those
    /// whose text changed lately, the latest first, and others.
    pub(super) fn fallen(&self, server: &Server, max: usize) -> (Vec<u64>, Vec<u64>) {
        let inner = unpoisoned(&self.inner);
        let has_fallen = |entry: &Entry| !server.is_vouched(&entry.vouch);
        let lately = inner.changed.iter().rev().copied();
        let lately = lately.filter(|id| inner.entries.get(id).is_some_and(has_fallen));
        let others = inner
            .entries
            .iter()
            .filter(|(id, entry)| has_fallen(entry) && !inner.changed.contains(id));
        (lately.take(max).collect(), others.map(|(&id, _)| id).take(max).collect())
    }

    /// By which host a page was read that was vouched for and isn't any more.
    pub(super) fn fallen_host(&self, server: &Server, id: u64) -> Option<String> {
        let inner = unpoisoned(&self.inner);
        let entry = inner.entries.get(&id)?;
        (!server.is_vouched(&entry.vouch)).then(|| entry.host.to_string())
    }

    /// How many there are, and about how many bytes they take.
    pub(super) fn count(&self) -> (usize, usize) {
        let inner = unpoisoned(&self.inner);
        (inner.entries.len(), inner.bytes)
    }
}

impl Inner {
    fn remove(&mut self, id: u64) {
        if let Some(entry) = self.entries.remove(&id) {
            self.bytes -= entry.bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_told_of_an_address_since_outdates_what_was_read_before() {
        let standings = Standings::default();
        assert!(standings.is_newest(1, standings.number(), None));
        let since = standings.number();
        let told = standings.notice(1, None);
        assert!(!standings.is_newest(1, since, None));
        assert!(standings.is_newest(2, since, None), "of another nothing was told");
        assert!(standings.is_newest(1, told, None));
        let since = standings.number();
        for id in 0..=NOTICES_MAX as u64 {
            standings.notice(1000 + id, None);
        }
        assert!(!standings.is_newest(7, since, None), "what is forgotten may have been told");
        assert!(standings.is_newest(7, standings.number(), None));
    }
}
