//! Which pages are vouched for: that they are what is in the index.
//!
//! Bound: [`BYTES_MAX`]; past it somebody's is forgotten, and that page is asked for again before
//! it is shown.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use server::{PageMark, Server, Vouch};

use super::refilling::place_of;
use super::{Place, keep_latest, unpoisoned};

const BYTES_MAX: usize = 4 << 20;
/// Addresses of which the last notice is known.
const NOTICES_MAX: usize = 8192;
/// Pages that are renewed before others.
const FIRST_MAX: usize = 16;
/// Where there are no more pages than this, each has its turn at once.
const FEW: usize = 256;
/// Pages that never change are renewed in one minute of 64.
const CALM_MAX: u8 = 6;
/// Vouches that are looked at under one lock.
const LOOKS_AT_ONCE: usize = 256;
/// What an entry takes in the map, and what the allocator takes beside it and its vouch's pieces.
const ENTRY_BYTES: usize = 64;
/// Hosts of which the name is kept once; of more, each page keeps its own.
const HOSTS_MAX: usize = 64;
/// What was asked for less often since it was written down isn't written down again.
const VISITS_MIN: i64 = 8;
/// What something was written to since, and what couldn't be read again for so long, isn't taken
/// for what it was.
const BELIEVED_FOR: Duration = Duration::from_secs(86_400);
/// What changed nothing but what any reading changes has a page read again after this: something
/// else may have been changed beside it.
const READING_AGAIN: Duration = Duration::from_secs(60);

/// The pages that are vouched for, by the ids of their documents.
#[derive(Default)]
pub(super) struct Standings {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    entries: HashMap<u64, Box<Entry>>,
    /// By which hosts pages were read.
    hosts: Vec<Arc<str>>,
    bytes: usize,
    /// The number of the last notice of an address, and of which page it was.
    notices: HashMap<u64, (u64, Option<PageMark>)>,
    /// How many notices there were, and how many of them are forgotten.
    number: u64,
    forgotten: u64,
    /// The pages whose text changed last, or that somebody looked at who may have changed them;
    /// the latest at the end.
    first: VecDeque<u64>,
    /// The pages that somebody looked at who may have written to them, until they were read again;
    /// the latest at the end.
    looked_at: VecDeque<u64>,
    /// How often pages were asked for since that was written down.
    visits: HashMap<u64, i64>,
    /// How often in a row pages were read again and had the same text.
    calm: HashMap<u64, u8>,
}

struct Entry {
    vouch: Vouch,
    /// Of the text that it vouches for.
    sum: i64,
    /// By which host it was read: another may be shown another page.
    host: Arc<str>,
    /// By which it is known how often it was asked for, as long as it is in memory: what this holds
    /// of a page takes room.
    mark: Option<PageMark>,
    /// How much of that is in [`Inner::visits`].
    counted: u32,
    /// How often it was asked for, as the index has it.
    hits: i64,
    read: Instant,
    /// Whether it couldn't be read again: that is somebody else's to try.
    is_left: bool,
}

impl Entry {
    fn bytes(&self) -> usize {
        size_of::<Self>() - size_of::<Vouch>() + self.vouch.bytes() + ENTRY_BYTES
    }
}

impl Standings {
    /// A page of this text was read, by this host.
    pub(super) fn put(
        &self,
        id: u64,
        vouch: Vouch,
        sum: i64,
        host: &str,
        (mark, hits): (Option<PageMark>, i64),
    ) {
        // What it was asked for before belongs to whoever read it then.
        let counted = mark.as_ref().map_or(0, PageMark::asked);
        let (read, is_left) = (Instant::now(), false);
        let mut inner = unpoisoned(&self.inner);
        inner.remove(id);
        let host = inner.host(host);
        let entry = Entry { vouch, sum, host, mark, counted, hits, read, is_left };
        inner.bytes += entry.bytes();
        inner.entries.insert(id, Box::new(entry));
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

    /// Whether it was read, and nothing was told of it since; nor was anything written to the site
    /// that may show on it, unless it was read not long ago.
    pub(super) fn is_believed(&self, server: &Server, id: u64) -> bool {
        let inner = unpoisoned(&self.inner);
        inner.entries.get(&id).is_some_and(|entry| {
            entry.read.elapsed() < BELIEVED_FOR || !server.is_touched(&entry.vouch)
        })
    }

    /// It couldn't be read again, and is tried by whoever looks into doubts.
    pub(super) fn leave(&self, id: u64) {
        if let Some(entry) = unpoisoned(&self.inner).entries.get_mut(&id) {
            entry.is_left = true;
        }
    }

    /// The pages that were asked for most since it was written down how often, and how often that
    /// was; at most so many. They are taken to be written down.
    pub(super) fn take_visits(&self, max: usize) -> Vec<(u64, i64)> {
        let all: Vec<u64> = unpoisoned(&self.inner).entries.keys().copied().collect();
        let mut grown = Vec::new();
        for some in all.chunks(LOOKS_AT_ONCE) {
            let mut inner = unpoisoned(&self.inner);
            grown.extend(some.iter().filter_map(|&id| inner.grown(id)));
        }
        grown.sort_unstable_by_key(|(_, visits)| std::cmp::Reverse(*visits));
        grown.truncate(max);
        let mut inner = unpoisoned(&self.inner);
        for (id, _) in &grown {
            inner.visits.remove(id);
        }
        grown
    }

    /// How often a page was asked for is written down.
    pub(super) fn note_hits(&self, id: u64, hits: i64) {
        if let Some(entry) = unpoisoned(&self.inner).entries.get_mut(&id) {
            entry.hits = hits;
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
        let mut inner = unpoisoned(&self.inner);
        inner.calm.remove(&id);
        keep_latest(&mut inner.first, id, FIRST_MAX);
    }

    /// Somebody looks at a page who may have changed it; whether something was written to it since
    /// it was read. Then it is tried again, whoever else tries.
    pub(super) fn note_look(&self, server: Option<&Server>, id: u64) -> bool {
        let mut inner = unpoisoned(&self.inner);
        let Some(entry) = inner.entries.get_mut(&id) else { return false };
        entry.is_left = false;
        keep_latest(&mut inner.first, id, FIRST_MAX);
        let has_fallen = server.is_some_and(|server| inner.has_fallen(server, id));
        if has_fallen {
            keep_latest(&mut inner.looked_at, id, FIRST_MAX);
        }
        has_fallen
    }

    /// The page that was looked at last of those that were written to.
    pub(super) fn looked_at(&self) -> Option<u64> {
        unpoisoned(&self.inner).looked_at.back().copied()
    }

    pub(super) fn is_looked_at(&self, id: u64) -> bool {
        unpoisoned(&self.inner).looked_at.contains(&id)
    }

    /// It was read again since it was looked at.
    pub(super) fn note_renewed(&self, id: u64) {
        unpoisoned(&self.inner).looked_at.retain(|&other| other != id);
    }

    /// The pages that are vouched for.
    pub(super) fn ids(&self) -> Vec<u64> {
        unpoisoned(&self.inner).entries.keys().copied().collect()
    }

    /// Where a page is that is vouched for.
    pub(super) fn place(&self, id: u64) -> Option<Place> {
        let inner = unpoisoned(&self.inner);
        inner.entries.get(&id)?.vouch.place().map(place_of)
    }

    /// The text of a page is the same as before.
    pub(super) fn note_calm(&self, id: u64) {
        let calm = &mut unpoisoned(&self.inner).calm;
        if calm.len() >= NOTICES_MAX {
            calm.clear();
        }
        let times = calm.entry(id).or_default();
        *times = (*times + 1).min(CALM_MAX);
    }

    /// The ids of pages that something was written to since, or may have been, at most so many
    /// of each kind: those that come first, the latest of them first, and others.
    ///
    /// Where there are many, a page that had the same text several times in a row has its turn in
    /// one minute of two, of four, and so on; `minute` counts them. Without one, all have.
    pub(super) fn fallen(
        &self,
        server: &Server,
        max: usize,
        minute: Option<u64>,
    ) -> (Vec<u64>, Vec<u64>) {
        let (first, all): (Vec<u64>, Vec<u64>) = {
            let inner = unpoisoned(&self.inner);
            (inner.first.iter().rev().copied().collect(), inner.entries.keys().copied().collect())
        };
        let mut others = Vec::new();
        // Whoever has something to tell waits for no more than some of them.
        for some in all.chunks(LOOKS_AT_ONCE) {
            let inner = unpoisoned(&self.inner);
            let is_due = |id: &&u64| {
                all.len() <= FEW || minute.is_none_or(|minute| inner.is_due(**id, minute))
            };
            let due = some.iter().filter(is_due).filter(|id| !first.contains(id));
            others.extend(due.filter(|id| inner.has_fallen(server, **id)));
            if others.len() >= max {
                others.truncate(max);
                break;
            }
        }
        let inner = unpoisoned(&self.inner);
        let first = first.into_iter().filter(|id| inner.has_fallen(server, *id));
        (first.take(max).collect(), others)
    }

    /// By which host a page was read that something was written to since.
    pub(super) fn fallen_host(&self, server: &Server, id: u64) -> Option<String> {
        let inner = unpoisoned(&self.inner);
        let entry = inner.entries.get(&id)?;
        server.is_touched(&entry.vouch).then(|| entry.host.to_string())
    }

    /// How many there are, and about how many bytes they take.
    pub(super) fn count(&self) -> (usize, usize) {
        let inner = unpoisoned(&self.inner);
        (inner.entries.len(), inner.bytes)
    }
}

impl Inner {
    /// A host's name, which most pages have in common.
    fn host(&mut self, host: &str) -> Arc<str> {
        if let Some(known) = self.hosts.iter().find(|known| ***known == *host) {
            return known.clone();
        }
        let own: Arc<str> = host.into();
        if self.hosts.len() < HOSTS_MAX {
            self.hosts.push(own.clone());
        }
        own
    }

    fn has_fallen(&self, server: &Server, id: u64) -> bool {
        let entry = self.entries.get(&id).filter(|entry| !entry.is_left);
        entry.is_some_and(|entry| {
            let is_read_lately = entry.read.elapsed() < READING_AGAIN;
            server.is_touched(&entry.vouch)
                && !(is_read_lately && server.is_touched_by_reading(&entry.vouch))
        })
    }

    /// How often a page was asked for since that was written down, if that is worth writing.
    fn grown(&mut self, id: u64) -> Option<(u64, i64)> {
        self.count_visits(id);
        let entry = self.entries.get(&id)?;
        let visits = self.visits.get(&id).copied()?;
        (visits >= VISITS_MIN.max(entry.hits / 2)).then_some((id, visits))
    }

    /// Adds what a page was asked for since that was last done.
    fn count_visits(&mut self, id: u64) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        let asked = entry.mark.as_ref().map_or(0, PageMark::asked);
        if entry.mark.as_ref().is_some_and(PageMark::is_gone) {
            entry.mark = None;
        }
        let more = asked.saturating_sub(entry.counted);
        if more > 0 {
            entry.counted = asked;
            if self.visits.len() >= NOTICES_MAX {
                self.visits.clear();
            }
            *self.visits.entry(id).or_default() += i64::from(more);
        }
    }

    fn is_due(&self, id: u64, minute: u64) -> bool {
        let every = 1 << self.calm.get(&id).copied().unwrap_or(0);
        id.wrapping_add(minute).is_multiple_of(every)
    }

    fn remove(&mut self, id: u64) {
        self.count_visits(id);
        if let Some(entry) = self.entries.remove(&id) {
            self.bytes -= entry.bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_changes_has_its_turn_ever_more_seldom() {
        let standings = Standings::default();
        let turns = |id: u64| {
            let inner = unpoisoned(&standings.inner);
            (0..128).filter(|minute| inner.is_due(id, *minute)).count()
        };
        for (times, expected) in [(0, 128), (1, 64), (2, 16), (9, 2)] {
            (0..times).for_each(|_| standings.note_calm(12_345));
            assert_eq!(turns(12_345), expected, "{times}");
        }
        standings.note_change(12_345);
        assert_eq!(turns(12_345), 128);
        assert_eq!(turns(7), 128, "of another nothing is known");
    }

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

    #[test]
    fn what_was_looked_at_last_comes_first_and_so_many_wait() {
        let mut pages = VecDeque::new();
        for id in (0..=FIRST_MAX as u64).chain([3]) {
            keep_latest(&mut pages, id, FIRST_MAX);
        }
        assert_eq!(pages.len(), FIRST_MAX);
        assert_eq!((pages.front(), pages.back()), (Some(&1), Some(&3)));
    }
}
