//! Suspects: kinds of change that swept while nobody did more than read.
//!
//! They may be noise: probes of the pages that were read then will show it. Bound:
//! [`SUSPECTS_MAX`].

use std::collections::BTreeMap;

use changes::{Learner, Signature};
use policy::strangers::shape;

const SUSPECTS_MAX: usize = 256;
/// Addresses that are remembered for one kind.
const TARGETS_MAX: usize = 4;
/// So often it must have been seen before anybody is troubled.
const SEEN_MIN: u32 = 2;
/// After so many bursts that proved nothing it is left alone until it was seen as often again.
const TRIES_MAX: u32 = 3;

/// Kinds of change that may be noise.
#[derive(Default)]
pub(crate) struct Suspects {
    all: BTreeMap<Signature, Suspect>,
}

#[derive(Default)]
struct Suspect {
    seen: u32,
    tries: u32,
    /// How often it must be seen before the next try.
    wanted: u32,
    targets: Vec<String>,
}

impl Suspects {
    /// A kind of change swept while these addresses were read, and nothing was written.
    pub(crate) fn note<'a>(
        &mut self,
        signature: &Signature,
        targets: impl Iterator<Item = &'a str>,
    ) {
        let mut targets = targets.peekable();
        // Nobody read: it is somebody's doing behind our back.
        if targets.peek().is_none()
            || !signature.is_telling()
            || self.all.len() >= SUSPECTS_MAX && !self.all.contains_key(signature)
        {
            return;
        }
        let suspect = self.all.entry(signature.clone()).or_default();
        suspect.seen = suspect.seen.saturating_add(1);
        for target in targets {
            let class = shape(target);
            if suspect.targets.len() < TARGETS_MAX
                && !suspect.targets.iter().any(|known| shape(known) == class)
            {
                suspect.targets.push(target.to_owned());
            }
        }
    }

    /// The addresses to probe now, if it is worth it.
    pub(crate) fn to_probe(&self) -> Vec<String> {
        let mut targets: Vec<String> = Vec::new();
        for suspect in self.all.values().filter(|suspect| suspect.is_due()) {
            for target in &suspect.targets {
                if !targets.contains(target) {
                    targets.push(target.clone());
                }
            }
        }
        targets
    }

    /// Whether this kind was noted before, or another of the same rows, where these are told apart
    /// from others of their table: a session that was begun is gone on with.
    pub(crate) fn knows(&self, signature: &Signature) -> bool {
        let rows = &signature.rows;
        self.all.contains_key(signature)
            || rows.key.tells_apart() && self.all.keys().any(|known| known.rows == *rows)
    }

    /// Whether probes have shown nothing about this kind, so that it is rare.
    pub(crate) fn was_probed(&self, signature: &Signature) -> bool {
        self.all.get(signature).is_some_and(|suspect| suspect.tries > 0)
    }

    /// A burst is over: what is noise now is none of ours any more.
    pub(crate) fn settle(&mut self, learner: &Learner) {
        self.all.retain(|signature, _| !learner.is_noise(signature));
        for suspect in self.all.values_mut().filter(|suspect| suspect.is_due()) {
            suspect.tries += 1;
            if suspect.tries % TRIES_MAX == 0 {
                suspect.wanted = suspect.seen.saturating_mul(2);
                suspect.targets.clear();
            }
        }
    }

    /// The kinds that are suspected, most often seen first, with how often.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Signature, u32)> {
        let mut all: Vec<_> =
            self.all.iter().map(|(signature, suspect)| (signature, suspect.seen)).collect();
        all.sort_by_key(|(_, seen)| std::cmp::Reverse(*seen));
        all.into_iter()
    }
}

impl Suspect {
    fn is_due(&self) -> bool {
        self.seen >= self.wanted.max(SEEN_MIN) && !self.targets.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use changes::{Column, KeyClass, Operation, Rows};

    use super::*;

    fn views(table: &str) -> Signature {
        Signature {
            rows: Rows { database: "site".into(), table: table.into(), key: KeyClass::Plain },
            operation: Operation::Update,
            columns: [Column::named("views")].into(),
        }
    }

    #[test]
    fn what_swept_twice_while_pages_were_read_is_probed_for_at_those_pages() {
        let mut suspects = Suspects::default();
        let read = ["/topic?id=1", "/topic?id=2", "/"];
        suspects.note(&views("posts"), read.into_iter());
        assert!(suspects.to_probe().is_empty(), "once is chance");
        suspects.note(&views("posts"), read.into_iter());
        assert_eq!(suspects.to_probe(), ["/topic?id=1", "/"], "one address of a class");
        suspects.note(&views("others"), std::iter::empty());
        assert_eq!(suspects.iter().count(), 1, "nobody read");
    }

    #[test]
    fn of_rows_that_are_told_apart_any_kind_is_known_with_one() {
        let of = |key: KeyClass, operation| Signature {
            rows: Rows { key, ..views("sessions").rows },
            operation,
            ..views("sessions")
        };
        let (sessions, names) = (KeyClass::Of("#".into()), KeyClass::Of("title".into()));
        let mut suspects = Suspects::default();
        for key in [&sessions, &KeyClass::Plain] {
            suspects.note(&of(key.clone(), Operation::Insert), ["/"].into_iter());
        }
        assert!(suspects.knows(&of(KeyClass::Plain, Operation::Insert)));
        assert!(suspects.knows(&of(sessions, Operation::Update)));
        assert!(!suspects.knows(&of(names, Operation::Update)));
        assert!(!suspects.knows(&of(KeyClass::Plain, Operation::Update)), "any row of a table");
    }

    #[test]
    fn what_probes_show_nothing_of_is_left_alone_until_it_was_seen_as_often_again() {
        let (mut suspects, learner) = (Suspects::default(), Learner::default());
        let kind = views("posts");
        let see = |suspects: &mut Suspects| suspects.note(&kind, ["/"].into_iter());
        see(&mut suspects);
        see(&mut suspects);
        assert!(!suspects.was_probed(&kind));
        for _ in 0..TRIES_MAX {
            assert!(!suspects.to_probe().is_empty());
            suspects.settle(&learner);
        }
        assert!(suspects.to_probe().is_empty());
        assert!(suspects.was_probed(&kind));
        see(&mut suspects);
        assert!(suspects.to_probe().is_empty());
        see(&mut suspects);
        assert_eq!(suspects.to_probe(), ["/"]);
    }
}
