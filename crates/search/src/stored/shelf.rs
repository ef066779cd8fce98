//! Where kept queries are, and by which terms and documents they are come by.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use parking_lot::Mutex;

use super::{Answer, FeedKind, Only, Topic, is_only};
use crate::query::{Key, Keys, Reading, Terms};
use crate::text::Language;
use crate::{Document, Query};

/// Queries that want no term in particular: each document is held against all of them.
const OPEN_MAX: usize = 64;
/// When there is no room, one of so many goes.
const GOING_SHARE: usize = 16;
/// About how many bytes an entry takes beside its query; it shows up to twenty documents.
const ENTRY_BYTES: usize = 1500;

/// Of the other terms that a query wants, the hashes of so many can stand beside its place.
const ALSO_MAX: usize = 6;

/// Where a query is found, and what is looked at first: most have one term of a document and
/// lack another, and to find that in their readings is a dozen places of memory away.
#[derive(Clone, Copy)]
struct Listed {
    at: u32,
    /// One of these marks must be on the document.
    also: [Mark; ALSO_MAX],
}

type Mark = u16;

/// Which every document bears.
const ANY: Mark = 0;

fn mark_of(key: Key) -> Mark {
    // The lowest bits choose the place in a map as well; they are as good as others.
    key as Mark
}

impl Listed {
    fn new(at: u32, also: Option<&[Key]>) -> Self {
        let mut marks = [ANY; ALSO_MAX];
        if let Some(also) = also.filter(|also| also.len() <= ALSO_MAX)
            && let Some(first) = also.first()
        {
            marks.fill(mark_of(*first));
            marks.iter_mut().zip(also).for_each(|(mark, key)| *mark = mark_of(*key));
        }
        Self { at, also: marks }
    }
}

/// The marks of a document's terms: one of a hundred others is there by chance.
struct Marks(Box<[u64]>);

impl Marks {
    fn new() -> Self {
        let mut marks = Self(vec![0; (1 << Mark::BITS) / 64].into());
        marks.add(ANY);
        marks
    }

    fn add(&mut self, mark: Mark) {
        self.0[usize::from(mark) / 64] |= 1 << (mark % 64);
    }

    fn has(&self, mark: Mark) -> bool {
        self.0[usize::from(mark) / 64] >> (mark % 64) & 1 == 1
    }
}

/// One kept query.
pub(super) struct Entry {
    topic: Topic,
    query: Query,
    only: Only,
    reading: Reading,
    /// By what it is come by; none: by every document.
    keys: Option<Keys>,
    asked: AtomicU64,
    concerned: AtomicU64,
    /// The number that was told to whoever wants to know what has changed.
    told: AtomicU64,
    /// In which forms it was asked for, a bit each.
    wanted: AtomicU8,
    pub(super) answers: Mutex<[Option<Answer>; 2]>,
    /// The documents that its last answer showed.
    shows: Vec<u64>,
}

impl Entry {
    pub(super) fn new(topic: Topic, query: Query, only: Only, reading: Reading, tick: u64) -> Self {
        Self {
            topic,
            query,
            only,
            reading,
            keys: None,
            asked: AtomicU64::new(tick),
            concerned: AtomicU64::new(0),
            told: AtomicU64::new(0),
            wanted: AtomicU8::new(0),
            answers: Mutex::default(),
            shows: Vec::new(),
        }
    }

    pub(super) fn concern(&self, number: u64) {
        self.concerned.fetch_max(number, Ordering::SeqCst);
    }

    pub(super) fn concerned(&self) -> u64 {
        self.concerned.load(Ordering::SeqCst)
    }

    pub(super) fn note_asked(&self, tick: u64) {
        self.asked.store(tick, Ordering::Relaxed);
    }

    /// Somebody asks for it in this form.
    pub(super) fn want(&self, kind: FeedKind) {
        self.wanted.fetch_or(1 << kind as u8, Ordering::Relaxed);
    }

    /// What it is of, and in which forms it was asked for.
    pub(super) fn feeds(&self) -> (Topic, Vec<FeedKind>) {
        let wanted = self.wanted.load(Ordering::Relaxed);
        let is_wanted = |kind: &FeedKind| wanted >> *kind as u8 & 1 == 1;
        let kinds = [FeedKind::Rss, FeedKind::Atom].into_iter().filter(is_wanted);
        (self.topic.clone(), kinds.collect())
    }

    /// Whether something that is seen by now has concerned it since this was last asked.
    pub(super) fn takes_change(&self, seen: u64) -> bool {
        let concerned = self.concerned();
        concerned <= seen && self.told.fetch_max(concerned, Ordering::SeqCst) < concerned
    }

    /// What concerns it so far is no change.
    pub(super) fn tell_nothing(&self) {
        self.told.fetch_max(self.concerned(), Ordering::SeqCst);
    }

    pub(super) fn asked_at(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    fn bytes(&self) -> usize {
        let written = self.topic.address.len() + 2 * self.topic.query.len();
        let keys = self.keys.as_ref().map_or(0, |keys| keys.all.len() * 32);
        ENTRY_BYTES + written + keys + self.reading.bytes()
    }
}

/// All of them.
#[derive(Default)]
pub(super) struct Shelf {
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
    by_topic: HashMap<Topic, u32>,
    by_key: HashMap<Key, Vec<Listed>>,
    open: Vec<u32>,
    /// How many have a key of a word's beginning.
    begins: usize,
    showing: HashMap<u64, Vec<u32>>,
    bytes: usize,
    ticks: AtomicU64,
    /// That the readings are for.
    pub(super) languages: Arc<[Language]>,
}

impl Shelf {
    pub(super) fn is_empty(&self) -> bool {
        self.by_topic.is_empty()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Rises each time that anything is asked for.
    pub(super) fn tick(&self) -> u64 {
        self.ticks.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().flatten()
    }

    pub(super) fn entry(&self, at: u32) -> Option<&Entry> {
        self.entries.get(at as usize)?.as_ref()
    }

    pub(super) fn find(&self, topic: &Topic) -> Option<&Entry> {
        self.entry(*self.by_topic.get(topic)?)
    }

    /// Those that a document fits.
    pub(super) fn fitting<'a>(
        &'a self,
        document: &'a Document,
        terms: &'a Terms,
    ) -> impl Iterator<Item = &'a Entry> {
        let (mut lists, mut marks) = (Vec::new(), Marks::new());
        terms.each_key(self.begins > 0, |key| {
            marks.add(mark_of(key));
            lists.extend(self.by_key.get(&key));
        });
        let listed = lists.into_iter().flatten();
        let may_fit = listed.filter(|one| one.also.iter().any(|mark| marks.has(*mark)));
        let mut found: Vec<u32> = may_fit.map(|one| one.at).collect();
        found.sort_unstable();
        found.dedup();
        found.extend(&self.open);
        let fits = |entry: &&Entry| is_only(&entry.only, document) && entry.reading.fits(terms);
        found.into_iter().filter_map(|at| self.entry(at)).filter(fits)
    }

    /// Those whose last answer showed a document.
    pub(super) fn showing(&self, id: u64) -> impl Iterator<Item = &Entry> {
        self.showing.get(&id).into_iter().flatten().filter_map(|at| self.entry(*at))
    }

    /// Adds one, for which others go if need be; none if it is larger than all may be.
    pub(super) fn add(&mut self, entry: Entry, keys: Option<Keys>, limit: usize) -> Option<u32> {
        let entry = Entry { keys, ..entry };
        let bytes = entry.bytes();
        if bytes > limit || self.by_topic.contains_key(&entry.topic) {
            return None;
        }
        if entry.keys.is_none() && self.open.len() >= OPEN_MAX {
            let oldest = self.open.iter().copied().min_by_key(|at| self.asked(*at));
            oldest.into_iter().for_each(|at| self.drop(at));
        }
        if self.bytes + bytes > limit {
            self.drop_oldest();
        }
        self.bytes += bytes;
        let at = match self.free.pop() {
            Some(at) => at,
            None => {
                self.entries.push(None);
                u32::try_from(self.entries.len() - 1).ok()?
            }
        };
        self.by_topic.insert(entry.topic.clone(), at);
        self.list(at, entry.keys.as_ref());
        self.entries[at as usize] = Some(entry);
        Some(at)
    }

    /// These documents are what its last answer shows.
    pub(super) fn show(&mut self, topic: &Topic, shows: &[u64]) {
        let Some(at) = self.by_topic.get(topic).copied() else { return };
        let Some(entry) = self.entries.get_mut(at as usize).and_then(Option::as_mut) else {
            return;
        };
        if entry.shows == shows {
            return;
        }
        let before = std::mem::replace(&mut entry.shows, shows.to_vec());
        self.hide(at, &before);
        for id in shows {
            self.showing.entry(*id).or_default().push(at);
        }
    }

    /// Makes all readings and keys anew.
    pub(super) fn plan_again(&mut self, plan: &dyn Fn(&Query) -> (Reading, Option<Keys>)) {
        (self.by_key, self.open, self.begins, self.bytes) = (HashMap::new(), Vec::new(), 0, 0);
        let mut lists = Vec::new();
        for (at, entry) in (0..).zip(&mut self.entries) {
            if let Some(entry) = entry {
                (entry.reading, entry.keys) = plan(&entry.query);
                self.bytes += entry.bytes();
                lists.push((at, entry.keys.take()));
            }
        }
        for (at, keys) in lists {
            self.list(at, keys.as_ref());
            if let Some(entry) = &mut self.entries[at as usize] {
                entry.keys = keys;
            }
        }
    }

    fn list(&mut self, at: u32, keys: Option<&Keys>) {
        let Some(keys) = keys else { return self.open.push(at) };
        self.begins += usize::from(keys.has_begins);
        for key in &keys.all {
            self.by_key.entry(*key).or_default().push(Listed::new(at, keys.also.as_deref()));
        }
    }

    fn hide(&mut self, at: u32, shows: &[u64]) {
        for id in shows {
            forget(&mut self.showing, id, |other| *other == at);
        }
    }

    fn asked(&self, at: u32) -> u64 {
        self.entry(at).map_or(0, |entry| entry.asked_at())
    }

    /// Lets go of those that were asked for longest ago.
    fn drop_oldest(&mut self) {
        let mut all: Vec<u32> = self.by_topic.values().copied().collect();
        all.sort_unstable_by_key(|at| self.asked(*at));
        let count = (all.len() / GOING_SHARE).max(1);
        all.into_iter().take(count).for_each(|at| self.drop(at));
    }

    fn drop(&mut self, at: u32) {
        let Some(entry) = self.entries.get_mut(at as usize).and_then(Option::take) else { return };
        self.free.push(at);
        self.bytes -= entry.bytes().min(self.bytes);
        self.by_topic.remove(&entry.topic);
        match &entry.keys {
            None => self.open.retain(|other| *other != at),
            Some(keys) => {
                self.begins -= usize::from(keys.has_begins);
                for key in &keys.all {
                    forget(&mut self.by_key, key, |other| other.at == at);
                }
            }
        }
        self.hide(at, &entry.shows);
    }
}

fn forget<K: std::hash::Hash + Eq, V>(
    lists: &mut HashMap<K, Vec<V>>,
    key: &K,
    is_it: impl Fn(&V) -> bool,
) {
    if let Some(list) = lists.get_mut(key) {
        list.retain(|other| !is_it(other));
        if list.is_empty() {
            lists.remove(key);
        }
    }
}
