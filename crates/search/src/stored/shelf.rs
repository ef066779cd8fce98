//! Where kept queries are, and by which terms and documents they are come by.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use parking_lot::Mutex;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::{Answer, FeedKind, Only, Topic, is_only};
use crate::query::{Key, Keys, Reading, Terms};
use crate::text::Language;
use crate::{Document, Query};

/// Queries that want no term in particular: each document is held against all of them.
const OPEN_MAX: usize = 64;
/// When there is no room, one of so many goes.
const GOING_SHARE: usize = 16;
/// What the allocator takes beside each piece, about.
const PIECE_BYTES: usize = 16;
const ANSWER_BYTES: usize = size_of::<Answer>() + PIECE_BYTES;
/// What an entry takes in the lists of all: its place, and where it is found by its topic.
const PLACE_BYTES: usize = 40;
/// What a key, or a document that is shown, takes in the lists that are found by it.
const KEY_BYTES: usize = 64;
const SHOWN_BYTES: usize = 12;

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

impl Listing {
    fn of(keys: &Keys) -> Self {
        Self { keys: keys.all.as_slice().into(), has_begins: keys.has_begins }
    }
}

fn hash_of(topic: &Topic) -> u64 {
    xxh3_64_with_seed(topic.query.as_bytes(), xxh3_64(topic.address.as_bytes()))
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

/// A document that is shown, by a part of its id: of two that are alike in it, one concerns whom
/// the other concerns, and somebody searches in vain.
type Sign = u32;

#[expect(clippy::cast_possible_truncation, reason = "a part of a hash is meant")]
fn sign_of(id: u64) -> Sign {
    id as Sign
}

/// A query as it is kept, or the text that it is read from.
type Kept<'a> = Result<&'a Query, &'a str>;
type Planned = (Reading, Option<Keys>);

/// By what an entry is come by.
struct Listing {
    keys: Box<[Key]>,
    has_begins: bool,
}

/// One kept query. There may be a hundred thousand: what most lack takes a pointer's room.
pub(super) struct Entry {
    /// Of its topic. Most entries have one address.
    address: Arc<str>,
    written: Box<str>,
    /// None where it is what its text is read as.
    query: Option<Box<Query>>,
    only: Option<Arc<(usize, String)>>,
    reading: Reading,
    /// None: by every document.
    listing: Option<Listing>,
    asked: AtomicU64,
    concerned: AtomicU64,
    /// The number that was told to whoever wants to know what has changed.
    told: AtomicU64,
    /// In which forms it was asked for, a bit each.
    wanted: AtomicU8,
    pub(super) answers: Mutex<[Option<Box<Answer>>; 2]>,
    /// The documents that its last answer showed.
    shows: Box<[Sign]>,
}

impl Entry {
    pub(super) fn new(topic: &Topic, query: Option<Query>, reading: Reading, tick: u64) -> Self {
        Self {
            address: topic.address.as_str().into(),
            written: topic.query.as_str().into(),
            query: query.map(Box::new),
            only: None,
            reading,
            listing: None,
            asked: AtomicU64::new(tick),
            concerned: AtomicU64::new(0),
            told: AtomicU64::new(0),
            wanted: AtomicU8::new(0),
            answers: Mutex::default(),
            shows: Box::default(),
        }
    }

    fn is_of(&self, topic: &Topic) -> bool {
        *self.address == *topic.address && *self.written == *topic.query
    }

    fn topic(&self) -> Topic {
        Topic { address: (*self.address).to_owned(), query: (*self.written).to_owned() }
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
        (self.topic(), kinds.collect())
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

    /// About how many bytes it takes, with its places in the lists of all.
    fn bytes(&self) -> usize {
        let answers = self.answers.lock().iter().flatten().count();
        let keys = self.listing.as_ref().map_or(0, |listing| listing.keys.len());
        // The tree holds the words of its text, each in a piece of its own.
        let tree = self.query.as_ref().map_or(0, |_| 200 + 8 * self.written.len());
        PLACE_BYTES
            + size_of::<Self>()
            + self.address.len()
            + self.written.len()
            + tree
            + self.reading.bytes()
            + answers * ANSWER_BYTES
            + keys * (size_of::<Key>() + KEY_BYTES)
            + self.shows.len() * (size_of::<Sign>() + SHOWN_BYTES)
            // Itself, its text, its keys, what it shows, and what its reading holds.
            + 5 * PIECE_BYTES
    }
}

/// All of them.
#[derive(Default)]
pub(super) struct Shelf {
    entries: Vec<Option<Box<Entry>>>,
    free: Vec<u32>,
    /// By the hashes of topics.
    by_topic: HashMap<u64, u32>,
    /// What the last one had: most often the next has the same.
    address: Arc<str>,
    only: Option<Arc<(usize, String)>>,
    by_key: HashMap<Key, Vec<Listed>>,
    open: Vec<u32>,
    /// How many have a key of a word's beginning.
    begins: usize,
    showing: HashMap<Sign, Vec<u32>>,
    bytes: usize,
    /// As the last one was added.
    limit: usize,
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
        self.entries.iter().flatten().map(|entry| &**entry)
    }

    pub(super) fn entry(&self, at: u32) -> Option<&Entry> {
        self.entries.get(at as usize)?.as_deref()
    }

    pub(super) fn find(&self, topic: &Topic) -> Option<&Entry> {
        self.entry(*self.by_topic.get(&hash_of(topic))?).filter(|entry| entry.is_of(topic))
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
        let fits =
            |entry: &&Entry| is_only(entry.only.as_deref(), document) && entry.reading.fits(terms);
        found.into_iter().filter_map(|at| self.entry(at)).filter(fits)
    }

    /// Those whose last answer showed a document.
    pub(super) fn showing(&self, id: u64) -> impl Iterator<Item = &Entry> {
        self.showing.get(&sign_of(id)).into_iter().flatten().filter_map(|at| self.entry(*at))
    }

    /// Adds one, for which others go if need be; none if it is larger than all may be.
    pub(super) fn add(
        &mut self,
        mut entry: Entry,
        only: Only,
        keys: Option<Keys>,
        limit: usize,
    ) -> Option<u32> {
        let topic = hash_of(&entry.topic());
        entry.listing = keys.as_ref().map(Listing::of);
        let bytes = entry.bytes();
        // Another topic may have this hash: then this one isn't kept.
        if bytes > limit || self.by_topic.contains_key(&topic) {
            return None;
        }
        self.share(&mut entry, only);
        if entry.listing.is_none() && self.open.len() >= OPEN_MAX {
            let oldest = self.open.iter().copied().min_by_key(|at| self.asked(*at));
            oldest.into_iter().for_each(|at| self.drop(at));
        }
        self.limit = limit;
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
        self.by_topic.insert(topic, at);
        self.list(at, keys.as_ref());
        self.entries[at as usize] = Some(Box::new(entry));
        Some(at)
    }

    /// Has it hold what others hold as well.
    fn share(&mut self, entry: &mut Entry, only: Only) {
        if self.address != entry.address {
            self.address = entry.address.clone();
        }
        entry.address = self.address.clone();
        if self.only.as_deref() != only.as_ref() {
            self.only = only.map(Arc::new);
        }
        entry.only = self.only.clone();
    }

    /// These documents are what its last answer shows.
    pub(super) fn show(&mut self, topic: &Topic, shows: &[u64]) {
        let Some(at) = self.by_topic.get(&hash_of(topic)).copied() else { return };
        let Some(entry) = self.entries.get_mut(at as usize).and_then(Option::as_mut) else {
            return;
        };
        let shows: Box<[Sign]> = shows.iter().copied().map(sign_of).collect();
        if !entry.is_of(topic) || entry.shows == shows {
            return;
        }
        let before = entry.bytes();
        let hidden = std::mem::replace(&mut entry.shows, shows.clone());
        self.bytes = self.bytes + entry.bytes() - before;
        self.hide(at, &hidden);
        for sign in shows {
            self.showing.entry(sign).or_default().push(at);
        }
    }

    /// An answer more is noted, which takes room.
    pub(super) fn note_answer(&mut self) {
        self.bytes += ANSWER_BYTES;
        if self.bytes > self.limit {
            self.drop_oldest();
        }
    }

    /// Makes all readings and keys anew.
    pub(super) fn plan_again(&mut self, plan: &dyn Fn(Kept<'_>) -> Planned) {
        (self.by_key, self.open, self.begins, self.bytes) = (HashMap::new(), Vec::new(), 0, 0);
        let mut lists = Vec::new();
        for (at, entry) in (0..).zip(&mut self.entries) {
            if let Some(entry) = entry {
                let (reading, keys) = plan(entry.query.as_deref().ok_or(&*entry.written));
                entry.reading = reading;
                entry.listing = keys.as_ref().map(Listing::of);
                self.bytes += entry.bytes();
                lists.push((at, keys));
            }
        }
        for (at, keys) in lists {
            self.list(at, keys.as_ref());
        }
    }

    fn list(&mut self, at: u32, keys: Option<&Keys>) {
        let Some(keys) = keys else { return self.open.push(at) };
        self.begins += usize::from(keys.has_begins);
        for key in &keys.all {
            self.by_key.entry(*key).or_default().push(Listed::new(at, keys.also.as_deref()));
        }
    }

    fn hide(&mut self, at: u32, shows: &[Sign]) {
        for sign in shows {
            forget(&mut self.showing, sign, |other| *other == at);
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
        self.by_topic.remove(&hash_of(&entry.topic()));
        match &entry.listing {
            None => self.open.retain(|other| *other != at),
            Some(listing) => {
                self.begins -= usize::from(listing.has_begins);
                for key in &listing.keys {
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
