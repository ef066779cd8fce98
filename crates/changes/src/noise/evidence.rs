//! Evidence: how often which kind of change was seen with probes of which class.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::burst::Burst;
use super::overheard::Overheard;
use super::{Persona, SIGNATURES_MAX};
use crate::Signature;

/// Noise was seen so often at least…
const SEEN_MIN: u32 = 3;
/// …and so often with probes that were not the first of their burst.
const LATER_MIN: u32 = 2;
/// The most classes of addresses that are counted.
const CLASSES_MAX: usize = 512;
/// From so many probes on a class counts half of what it did, so that the past fades.
const PROBES_MAX: u32 = 64;

/// Probes of one class of addresses by one persona.
type Class = (String, Persona);

/// All that the probes have shown.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    probes: BTreeMap<Class, u32>,
    seen: BTreeMap<Signature, Seen>,
}

/// How often one kind of change was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Seen {
    by_class: Vec<(Class, Count)>,
    looks: u32,
    is_proved: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Count {
    probes: u32,
    later: u32,
}

impl Evidence {
    /// Takes a burst into account, if it proves something.
    pub(super) fn add(&mut self, burst: Burst) {
        if !burst.counts() {
            return;
        }
        let times = burst.probes.iter().flat_map(|probe| &probe.seen);
        let times: BTreeSet<_> = times.filter(|it| it.tells_only_when()).cloned().collect();
        for (index, probe) in burst.probes.into_iter().enumerate() {
            self.count((burst.class.clone(), probe.persona), probe.seen, index > 0);
        }
        self.count((burst.class, Persona::Any), times, true);
        self.judge();
    }

    /// Counts what one probe did.
    fn count(&mut self, class: Class, seen: BTreeSet<Signature>, is_later: bool) {
        if self.probes.len() >= CLASSES_MAX && !self.probes.contains_key(&class) {
            return;
        }
        self.fade(&class);
        *self.probes.entry(class.clone()).or_default() += 1;
        for signature in seen {
            if self.seen.len() >= SIGNATURES_MAX && !self.seen.contains_key(&signature) {
                continue;
            }
            let count = self.seen.entry(signature).or_default().of(&class);
            count.probes += 1;
            count.later += u32::from(is_later);
        }
    }

    /// Halves a class that has been counted for long.
    fn fade(&mut self, class: &Class) {
        let Some(probes) = self.probes.get_mut(class).filter(|probes| **probes >= PROBES_MAX)
        else {
            return;
        };
        *probes /= 2;
        for seen in self.seen.values_mut() {
            let count = seen.of(class);
            *count = Count { probes: count.probes.div_ceil(2), later: count.later.div_ceil(2) };
        }
    }

    /// Noise is what at least half of the probes of a class are followed by.
    fn judge(&mut self) {
        for seen in self.seen.values_mut() {
            seen.is_proved = seen.by_class.iter().any(|(class, count)| {
                let all = self.probes.get(class).copied().unwrap_or(u32::MAX);
                count.probes >= SEEN_MIN
                    && count.later >= LATER_MIN
                    && u64::from(count.probes) * 2 >= u64::from(all)
            });
        }
    }

    pub(super) fn has_probed(&self, class: &str) -> bool {
        self.probes.contains_key(&(class.to_owned(), Persona::Fresh))
    }

    pub(super) fn proves(&self, signature: &Signature) -> bool {
        self.seen.get(signature).is_some_and(|seen| seen.is_proved)
    }

    pub(super) fn proved(&self) -> impl Iterator<Item = &Signature> {
        self.seen.iter().filter(|(_, seen)| seen.is_proved).map(|(signature, _)| signature)
    }

    /// Pages were looked at after a change of this kind, and were as before.
    pub(super) fn looked(&mut self, signature: &Signature) {
        if self.seen.len() < SIGNATURES_MAX || self.seen.contains_key(signature) {
            let looks = &mut self.seen.entry(signature.clone()).or_default().looks;
            *looks = looks.saturating_add(1);
        }
    }

    pub(super) fn looks(&self, signature: &Signature) -> u32 {
        self.seen.get(signature).map_or(0, |seen| seen.looks)
    }
}

impl Seen {
    fn of(&mut self, class: &Class) -> &mut Count {
        let known = self.by_class.iter().position(|(own, _)| own == class);
        let index = known.unwrap_or_else(|| {
            self.by_class.push((class.clone(), Count::default()));
            self.by_class.len() - 1
        });
        &mut self.by_class[index].1
    }
}

/// What a learner has learned, in a form that can be written down.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    probes: Vec<(Class, u32)>,
    seen: Vec<(Signature, Seen)>,
    doubted: Vec<Signature>,
    barred: Vec<Signature>,
    #[serde(default)]
    unasked: Vec<Signature>,
    #[serde(default)]
    overheard: Overheard,
}

impl State {
    pub(super) fn new(
        evidence: &Evidence,
        doubted: &BTreeSet<Signature>,
        [barred, unasked]: [&BTreeSet<Signature>; 2],
        overheard: &Overheard,
    ) -> Self {
        let own = |(class, probes): (&Class, &u32)| (class.clone(), *probes);
        Self {
            probes: evidence.probes.iter().map(own).collect(),
            seen: evidence.seen.iter().map(|(one, seen)| (one.clone(), seen.clone())).collect(),
            doubted: doubted.iter().cloned().collect(),
            barred: barred.iter().cloned().collect(),
            unasked: unasked.iter().cloned().collect(),
            overheard: overheard.clone(),
        }
    }

    pub(super) fn into_parts(
        self,
    ) -> (Evidence, BTreeSet<Signature>, [BTreeSet<Signature>; 2], Overheard) {
        let probes = self.probes.into_iter().take(CLASSES_MAX).collect();
        let seen = self.seen.into_iter().take(SIGNATURES_MAX).collect();
        let bounded = |list: Vec<Signature>| list.into_iter().take(SIGNATURES_MAX).collect();
        let evidence = Evidence { probes, seen };
        let never = [bounded(self.barred), bounded(self.unasked)];
        (evidence, bounded(self.doubted), never, self.overheard.bounded())
    }
}
