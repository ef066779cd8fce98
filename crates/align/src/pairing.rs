//! Pairing: which chunk of one copy corresponds to which of the other.
//!
//! Equal ends are trimmed; of what is between, chunks that occur once on either side are
//! anchors, as many as keep their order; between two anchors it begins again. Where there
//! are no anchors, skeletons decide: if their rows are equal chunk pairs with chunk, else
//! the longest common runs do (`blocks.rs`). Whatever is left has no partner.
//! Limits: [`DEPTH_MAX`] levels, [`GAP_CELLS_MAX`] for a gap without anchors, and
//! [`WORK_MAX`] steps for everything together.

use std::cell::OnceCell;
use std::hash::BuildHasher;
use std::ops::Range;

use hashbrown::{DefaultHashBuilder, HashMap, HashSet};

use crate::blocks::{Budget, matching_blocks};
use crate::compare::TooDifferent;
use crate::document::Document;
use crate::fields;
use crate::skeleton;

/// Deeper gaps go without anchors.
const DEPTH_MAX: u32 = 50;
/// A gap without anchors whose sides multiply to more is left unpaired.
const GAP_CELLS_MAX: usize = 4_000_000;
/// About ten milliseconds; two copies of one page take a few thousand steps.
const WORK_MAX: usize = 4_000_000;

/// The outcome. Chunks that are equal and paired are not mentioned.
#[derive(Debug, Default)]
pub(crate) struct Pairing {
    /// Pairs that differ: (old, new), in order.
    pub(crate) pairs: Vec<(u32, u32)>,
    /// Old chunks without a partner, in order.
    pub(crate) only_old: Vec<u32>,
    /// New chunks without a partner, in order, each with the old chunk before which it
    /// stands.
    pub(crate) only_new: Vec<(u32, u32)>,
}

/// Pairs the chunks of two copies.
pub(crate) fn pair(old: &Document, new: &Document) -> Result<Pairing, TooDifferent> {
    let (a, b) = (old.chunks().len(), new.chunks().len());
    let mut equal = 0;
    while equal < a.min(b) && is_same(old, equal, new, equal) {
        equal += 1;
    }
    let (mut a_end, mut b_end) = (a, b);
    while a_end > equal && b_end > equal && is_same(old, a_end - 1, new, b_end - 1) {
        a_end -= 1;
        b_end -= 1;
    }
    let mut pairer = Pairer::new(old, new, equal..a_end, equal..b_end);
    pairer.gap(0..a_end - equal, 0..b_end - equal, 0)?;
    let mut pairing = pairer.pairing;
    // Gaps are visited from left to right, so everything is in order already; the offset
    // is that of the trimmed start.
    let shift = equal as u32;
    pairing.pairs.iter_mut().for_each(|(a, b)| (*a, *b) = (*a + shift, *b + shift));
    pairing.only_old.iter_mut().for_each(|a| *a += shift);
    pairing.only_new.iter_mut().for_each(|(b, a)| (*b, *a) = (*b + shift, *a + shift));
    Ok(pairing)
}

fn is_same(old: &Document, a: usize, new: &Document, b: usize) -> bool {
    let (a, b) = (old.chunks()[a], new.chunks()[b]);
    a.kind == b.kind && old.bytes(a) == new.bytes(b)
}

/// How often a text occurs in the gap at hand, and where last.
#[derive(Clone, Copy, Default)]
struct Occurrence {
    old_count: u32,
    new_count: u32,
    new_at: u32,
}

struct Pairer<'a> {
    old: &'a Document,
    new: &'a Document,
    old_start: usize,
    new_start: usize,
    /// The texts of the chunks as numbers: equal numbers, equal chunks.
    old_texts: Vec<u32>,
    new_texts: Vec<u32>,
    /// By text; all zero between two gaps.
    occurrences: Vec<Occurrence>,
    /// Skeletons are compared by their hash; two that shared one would be paired wrongly.
    hasher: DefaultHashBuilder,
    /// Looked for in both whole copies, once there is a gap without anchors.
    common_names: OnceCell<HashSet<&'a [u8]>>,
    budget: Budget,
    pairing: Pairing,
}

impl<'a> Pairer<'a> {
    fn new(old: &'a Document, new: &'a Document, a: Range<usize>, b: Range<usize>) -> Self {
        let mut texts = HashMap::with_capacity(a.len() + b.len() / 4);
        let mut numbers = |document: &'a Document, range: &Range<usize>| -> Vec<u32> {
            let chunks = document.chunks()[range.clone()].iter();
            chunks
                .map(|chunk| {
                    let next = texts.len() as u32;
                    *texts.entry((chunk.kind, document.bytes(*chunk))).or_insert(next)
                })
                .collect()
        };
        let (old_texts, new_texts) = (numbers(old, &a), numbers(new, &b));
        Self {
            old,
            new,
            old_start: a.start,
            new_start: b.start,
            old_texts,
            new_texts,
            occurrences: vec![Occurrence::default(); texts.len()],
            hasher: DefaultHashBuilder::default(),
            common_names: OnceCell::new(),
            budget: Budget::new(WORK_MAX),
            pairing: Pairing::default(),
        }
    }

    fn gap(
        &mut self,
        mut a: Range<usize>,
        mut b: Range<usize>,
        depth: u32,
    ) -> Result<(), TooDifferent> {
        self.budget.spend(a.len() + b.len() + 1)?;
        while !a.is_empty() && !b.is_empty() && self.is_equal(a.start, b.start) {
            a.start += 1;
            b.start += 1;
        }
        while !a.is_empty() && !b.is_empty() && self.is_equal(a.end - 1, b.end - 1) {
            a.end -= 1;
            b.end -= 1;
        }
        if a.is_empty() || b.is_empty() {
            self.leave(a, b);
            return Ok(());
        }
        let anchors = if depth < DEPTH_MAX { self.anchors(&a, &b) } else { Vec::new() };
        if anchors.is_empty() {
            return self.by_skeleton(a, b);
        }
        let (mut a_at, mut b_at) = (a.start, b.start);
        for (a_anchor, b_anchor) in anchors {
            self.gap(a_at..a_anchor, b_at..b_anchor, depth + 1)?;
            (a_at, b_at) = (a_anchor + 1, b_anchor + 1);
        }
        self.gap(a_at..a.end, b_at..b.end, depth + 1)
    }

    fn is_equal(&self, a: usize, b: usize) -> bool {
        self.old_texts[a] == self.new_texts[b]
    }

    /// Chunks that occur once on either side, as many as are in the same order.
    fn anchors(&mut self, a: &Range<usize>, b: &Range<usize>) -> Vec<(usize, usize)> {
        for &text in &self.old_texts[a.clone()] {
            self.occurrences[text as usize].old_count += 1;
        }
        for (at, &text) in b.clone().zip(&self.new_texts[b.clone()]) {
            let occurrence = &mut self.occurrences[text as usize];
            occurrence.new_count += 1;
            occurrence.new_at = at as u32;
        }
        let once = a.clone().filter_map(|at| {
            let found = self.occurrences[self.old_texts[at] as usize];
            (found.old_count == 1 && found.new_count == 1).then_some((at, found.new_at as usize))
        });
        let anchors = longest_increasing_run(&once.collect::<Vec<_>>());
        for &text in self.old_texts[a.clone()].iter().chain(&self.new_texts[b.clone()]) {
            self.occurrences[text as usize] = Occurrence::default();
        }
        anchors
    }

    fn by_skeleton(&mut self, a: Range<usize>, b: Range<usize>) -> Result<(), TooDifferent> {
        let old_row = self.skeletons_of(self.old, self.old_start, &a);
        let new_row = self.skeletons_of(self.new, self.new_start, &b);
        if old_row == new_row {
            self.pairing.pairs.extend(a.zip(b).map(|(a, b)| (a as u32, b as u32)));
            return Ok(());
        }
        if old_row.len().saturating_mul(new_row.len()) > GAP_CELLS_MAX {
            self.leave(a, b);
            return Ok(());
        }
        let (mut a_at, mut b_at) = (a.start, b.start);
        for block in matching_blocks(&old_row, &new_row, &mut self.budget)? {
            let (a_block, b_block) = (a.start + block.old, b.start + block.new);
            self.leave(a_at..a_block, b_at..b_block);
            for step in 0..block.length {
                if !self.is_equal(a_block + step, b_block + step) {
                    self.pairing.pairs.push(((a_block + step) as u32, (b_block + step) as u32));
                }
            }
            (a_at, b_at) = (a_block + block.length, b_block + block.length);
        }
        self.leave(a_at..a.end, b_at..b.end);
        Ok(())
    }

    fn skeletons_of(&self, of: &Document, start: usize, range: &Range<usize>) -> Vec<u64> {
        let names = self.common_names.get_or_init(|| fields::common_names(self.old, self.new));
        let mut skeleton = Vec::new();
        let chunks = &of.chunks()[start + range.start..start + range.end];
        chunks
            .iter()
            .map(|&chunk| {
                skeleton.clear();
                skeleton::write(chunk.kind, of.bytes(chunk), names, &mut skeleton);
                self.hasher.hash_one(&skeleton)
            })
            .collect()
    }

    fn leave(&mut self, a: Range<usize>, b: Range<usize>) {
        let before = a.end as u32;
        self.pairing.only_old.extend(a.map(|at| at as u32));
        self.pairing.only_new.extend(b.map(|at| (at as u32, before)));
    }
}

/// Of pairs in the order of their first members, as many as possible whose second members
/// increase as well (patience sorting).
fn longest_increasing_run(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // For each length, the pair that ends the run of this length with the least member.
    let mut ends: Vec<usize> = Vec::new();
    let mut before = Vec::with_capacity(pairs.len());
    for (at, pair) in pairs.iter().enumerate() {
        let length = ends.partition_point(|&end| pairs[end].1 < pair.1);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut run = Vec::with_capacity(ends.len());
    let mut next = ends.last().copied();
    while let Some(at) = next {
        run.push(pairs[at]);
        next = before[at];
    }
    run.reverse();
    run
}

#[cfg(test)]
mod tests {
    use wire::Fields;

    use super::*;
    use crate::document::Kind;

    /// Lines by words; the outcome as `old-new` for pairs that differ, `old-` and `-new`
    /// for those without a partner.
    fn check(old: &str, new: &str, expected: &str) {
        let document = |words: &str| {
            let body = words.replace(' ', "\n");
            Document::new(Kind::Text, &Fields::new(), body.as_bytes()).expect("short")
        };
        let pairing = pair(&document(old), &document(new)).expect("little work");
        let mut found: Vec<String> =
            pairing.pairs.iter().map(|(a, b)| format!("{a}-{b}")).collect();
        found.extend(pairing.only_old.iter().map(|a| format!("{a}-")));
        found.extend(pairing.only_new.iter().map(|(b, before)| format!("-{b}@{before}")));
        assert_eq!(found.join(" "), expected, "{old} / {new}");
    }

    #[test]
    fn equal_copies_leave_nothing_to_say() {
        check("a b a c", "a b a c", "");
        check("", "", "");
    }

    #[test]
    fn what_differs_in_place_is_paired_by_its_skeleton() {
        check("a tok1x b tok2x c", "a tok3x b tok4x c", "1-1 3-3");
        check("a 1 1 b", "a 2 2 b", "1-1 2-2");
    }

    #[test]
    fn what_one_copy_has_alone_has_no_partner() {
        check("a b c", "a c", "1-");
        check("a c", "a b c", "-1@1");
        check("a", "x a y", "-0@0 -2@1");
        check("a tok1x b", "a hello tok2x b", "1-2 -1@1");
    }

    #[test]
    fn anchors_keep_their_order() {
        check("a b c d", "a c b d", "1- -2@3");
    }

    #[test]
    fn a_longest_run_is_found() {
        let check = |seconds: &[usize], expected: &[usize]| {
            let pairs: Vec<_> = seconds.iter().copied().enumerate().collect();
            let found: Vec<_> =
                longest_increasing_run(&pairs).into_iter().map(|(_, second)| second).collect();
            assert_eq!(found, expected, "{seconds:?}");
        };
        check(&[], &[]);
        check(&[3, 1, 2], &[1, 2]);
        check(&[5, 1, 4, 2, 3], &[1, 2, 3]);
        check(&[4, 3, 2], &[2]);
    }

    #[test]
    fn copies_that_would_take_too_long_are_given_up() {
        // Two rows of the same few skeletons in changing order: every cell is a match.
        let lines = |seed: usize| -> String {
            (0..1900).map(|at| format!("{}\n", if at % seed == 0 { "b1" } else { "a1" })).collect()
        };
        let document = |body: String| {
            Document::new(Kind::Text, &Fields::new(), body.as_bytes()).expect("short")
        };
        let outcome = pair(&document(lines(7)), &document(lines(11)));
        assert!(matches!(outcome, Err(TooDifferent)));
    }
}
