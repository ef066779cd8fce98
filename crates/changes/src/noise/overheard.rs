//! Overheard: what a visitor's reading wrote, while nobody else asked for anything.
//!
//! A member who reads marks a topic as read, and the time of the last visit; no probe of Wick's
//! ever writes that. What is overheard proves less than a probe does, as a link may publish or
//! delete: so only pages count that strangers are given too, by an address that they share, and
//! what often comes with reading is only suspected until pages were looked at after it, among
//! them the one that was read, and were the same but for what differs at every look. Even then it
//! is noise only while somebody reads and nobody writes.
//! Where rows are told apart by a name, each member's row would be a kind. They are one if each
//! visitor's reading changes one row only, always the same, and other visitors' others: then they
//! are their own (`lastactive` among users).
//! Bounds: [`CLASSES_MAX`], [`KINDS_MAX`], [`VISITORS_MAX`].

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Deserialize, Serialize};

use crate::{Column, KeyClass, Operation, Rows, Signature};

/// Suspected is what came with so many readings of one class of addresses at least…
const SEEN_MIN: u32 = 8;
/// …with one in so many of them…
const ONE_IN: u32 = 4;
/// …and with readings of so many addresses.
const ADDRESSES_MIN: usize = 4;
/// So many looks in a row have to find nothing changed…
const LOOKS_MIN: u32 = 3;
/// …and after so many in all none is made any more.
const TRIES_MAX: u32 = 24;
/// From so many readings on a class counts half of what it did, so that the past fades.
const READINGS_MAX: u32 = 256;
const CLASSES_MAX: usize = 128;
const KINDS_MAX: usize = 256;
/// Rows are their visitors' own once so many visitors have changed theirs twice.
const OWN_MIN: usize = 3;
/// Visitors whose rows are remembered, of one kind of change.
const VISITORS_MAX: usize = 64;
/// The key under which visitors' own rows are one kind.
const ANYBODYS: &str = "*";

/// A visitor reads a page, and nobody else does anything.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) url: String,
    class: String,
    /// What tells its visitor from others.
    who: u64,
    pub(super) seen: BTreeSet<Signature>,
    /// Whether the answer is there, to its last byte.
    pub(super) is_over: bool,
}

impl Reading {
    pub(super) fn new(url: &str, class: &str, who: u64) -> Self {
        let (url, class) = (url.to_owned(), class.to_owned());
        Self { url, class, who, seen: BTreeSet::new(), is_over: false }
    }
}

/// All that was overheard.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Overheard {
    readings: Vec<(String, u32)>,
    kinds: Vec<(Signature, Kind)>,
    /// Of kinds whose rows are told apart by names: whose rows they are.
    #[serde(default)]
    owners: Vec<(Signature, Owners)>,
}

/// Who has changed which row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Owners {
    /// The row of each visitor, and how often it was that.
    rows: BTreeMap<u64, (KeyClass, u32)>,
    /// Somebody's reading changed two.
    is_refuted: bool,
}

impl Owners {
    fn note(&mut self, who: u64, key: &KeyClass) {
        let has_room = self.rows.len() < VISITORS_MAX;
        match self.rows.get_mut(&who) {
            Some((own, times)) if own == key => *times = times.saturating_add(1),
            Some(_) => self.is_refuted = true,
            None if has_room => drop(self.rows.insert(who, (key.clone(), 1))),
            None => {}
        }
    }

    fn are_proved(&self) -> bool {
        let twice = self.rows.values().filter(|(_, times)| *times >= 2);
        let keys: BTreeSet<&KeyClass> = twice.map(|(key, _)| key).collect();
        !self.is_refuted && keys.len() >= OWN_MIN
    }
}

/// What is known of one kind of change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Kind {
    by_class: BTreeMap<String, u32>,
    addresses: BTreeSet<u64>,
    looks: u32,
    tries: u32,
    #[serde(default)]
    is_refuted: bool,
}

impl Overheard {
    /// Takes a reading into account that is over.
    pub(super) fn add(&mut self, reading: Reading) {
        let Reading { url, class, who, mut seen, .. } = reading;
        let Some(readings) = entry(&mut self.readings, &class, CLASSES_MAX) else { return };
        if *readings >= READINGS_MAX {
            *readings /= 2;
            let counts =
                self.kinds.iter_mut().filter_map(|(_, kind)| kind.by_class.get_mut(&class));
            counts.for_each(|count| *count /= 2);
        }
        *readings += 1;
        let address = hash_of(&url);
        let named: Vec<_> = seen.iter().filter_map(|one| Some((one, anybodys(one)?))).collect();
        for (signature, anybodys) in &named {
            if let Some(owners) = entry(&mut self.owners, anybodys, KINDS_MAX) {
                owners.note(who, &signature.rows.key);
            }
        }
        let anybodys: Vec<_> = named.into_iter().map(|(_, anybodys)| anybodys).collect();
        seen.extend(anybodys);
        for signature in seen {
            let Some(kind) = entry(&mut self.kinds, &signature, KINDS_MAX) else { continue };
            *kind.by_class.entry(class.clone()).or_default() += 1;
            if kind.addresses.len() < ADDRESSES_MIN {
                kind.addresses.insert(address);
            }
        }
    }

    fn are_owned(&self, anybodys: &Signature) -> bool {
        self.owners.iter().any(|(own, owners)| own == anybodys && owners.are_proved())
    }

    /// The kind that this one is counted as: with others' own rows, if its rows are such.
    fn counted_as(&self, signature: &Signature) -> Option<Signature> {
        anybodys(signature).filter(|anybodys| self.are_owned(anybodys))
    }

    fn known(&self, signature: &Signature) -> Option<&Kind> {
        self.kinds.iter().find(|(own, _)| own == signature).map(|(_, kind)| kind)
    }

    /// Whether it comes with reading so often that pages are worth a look after it.
    pub(super) fn suspects(&self, signature: &Signature) -> bool {
        let counted_as = self.counted_as(signature);
        self.known(counted_as.as_ref().unwrap_or(signature))
            .is_some_and(|kind| kind.tries < TRIES_MAX && self.is_often(kind))
    }

    fn is_often(&self, kind: &Kind) -> bool {
        let readings = |class: &String| self.readings.iter().find(|(own, _)| own == class);
        !kind.is_refuted
            && kind.addresses.len() >= ADDRESSES_MIN
            && kind.by_class.iter().any(|(class, seen)| {
                let all = readings(class).map_or(u32::MAX, |(_, all)| *all);
                *seen >= SEEN_MIN && u64::from(*seen) * u64::from(ONE_IN) >= u64::from(all)
            })
    }

    /// Pages were looked at after a suspected kind; whether they were as before is what counts.
    pub(super) fn looked(&mut self, signature: &Signature, is_as_before: bool) {
        let counted_as = self.counted_as(signature).unwrap_or_else(|| signature.clone());
        if let Some(kind) = entry(&mut self.kinds, &counted_as, KINDS_MAX) {
            kind.tries = kind.tries.saturating_add(1);
            kind.looks = if is_as_before { kind.looks.saturating_add(1) } else { 0 };
        }
    }

    /// It came while no visitor read: others do it too, and a reading may have been there by chance.
    pub(super) fn refute(&mut self, signature: &Signature) {
        let anybodys = anybodys(signature);
        for signature in [signature].into_iter().chain(&anybodys) {
            if let Some((_, kind)) = self.kinds.iter_mut().find(|(own, _)| own == signature) {
                kind.is_refuted = true;
            }
        }
    }

    /// Whether it is proved, or updates only columns that proved updates of such rows do.
    pub(super) fn proves(&self, signature: &Signature) -> bool {
        let counted_as = self.counted_as(signature);
        let signature = counted_as.as_ref().unwrap_or(signature);
        let mut columns: BTreeSet<&Column> = signature.columns.iter().collect();
        let is_update = signature.operation == Operation::Update && !columns.is_empty();
        self.proved().any(|proved| {
            if is_update && proved.operation == Operation::Update && proved.rows == signature.rows {
                columns.retain(|column| !proved.columns.contains(*column));
            }
            proved == signature || is_update && columns.is_empty()
        })
    }

    pub(super) fn proved(&self) -> impl Iterator<Item = &Signature> {
        let is_proved = |signature: &Signature, kind: &Kind| {
            kind.looks >= LOOKS_MIN && self.is_often(kind) && !self.is_nobodys(signature)
        };
        let proved = self.kinds.iter().filter(move |(signature, kind)| is_proved(signature, kind));
        proved.map(|(signature, _)| signature)
    }

    /// Whether it stands for visitors' own rows, and these aren't.
    fn is_nobodys(&self, signature: &Signature) -> bool {
        signature.rows.key == KeyClass::Of(ANYBODYS.into()) && !self.are_owned(signature)
    }

    /// As it was written down, within the bounds.
    pub(super) fn bounded(mut self) -> Self {
        self.readings.truncate(CLASSES_MAX);
        self.kinds.truncate(KINDS_MAX);
        self.owners.truncate(KINDS_MAX);
        self
    }
}

/// What is listed under a key, or is from here on, while there is room.
fn entry<'a, K: Clone + PartialEq, V: Default>(
    list: &'a mut Vec<(K, V)>,
    key: &K,
    most: usize,
) -> Option<&'a mut V> {
    let index = list.iter().position(|(own, _)| own == key).unwrap_or(list.len());
    if index == list.len() && index < most {
        list.push((key.clone(), V::default()));
    }
    list.get_mut(index).map(|(_, value)| value)
}

/// The same kind, whosever row it is of; none where rows aren't told apart by names.
fn anybodys(signature: &Signature) -> Option<Signature> {
    let rows = Rows { key: KeyClass::Of(ANYBODYS.into()), ..signature.rows.clone() };
    signature.rows.key.tells_apart().then(|| Signature { rows, ..signature.clone() })
}

fn hash_of(url: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    url.hash(&mut hasher);
    hasher.finish()
}
