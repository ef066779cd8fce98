//! Words with a condition on where they stand: in a row, near each other, in order.
//!
//! Each slot is the union of its terms' postings; the slots are intersected, and where all
//! are in one document their positions decide. Invariant: a slot's positions are sorted.

use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::{Postings, SegmentPostings};
use tantivy::query::{Bm25Weight, EmptyScorer, EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet, Score, SegmentReader, TERMINATED, TantivyError, Term};

use super::plan::Slot;

/// What is asked of the places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// At the slots' offsets.
    Row,
    /// Fewer words than this in between, in any order.
    Near(u32),
    /// One behind the other.
    Before,
}

/// How the groups of slots of a field must stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Manner {
    pub(crate) order: Order,
    /// Among the first so many words.
    pub(crate) within: Option<u32>,
    /// From the first word of the field on.
    pub(crate) is_first: bool,
    /// Up to the last one; the last slot is the end mark's.
    pub(crate) is_last: bool,
}

/// Groups of slots of one field. The slots of a group stand in a row.
#[derive(Debug, Clone)]
pub(crate) struct Spans {
    field: Field,
    groups: Vec<Vec<Slot>>,
    manner: Manner,
}

impl Spans {
    pub(crate) fn new(field: Field, groups: Vec<Vec<Slot>>, manner: Manner) -> Self {
        Self { field, groups, manner }
    }
}

impl Query for Spans {
    fn weight(&self, scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(self.weigh(scoring)?))
    }
}

impl Spans {
    pub(super) fn weigh(&self, scoring: EnableScoring<'_>) -> tantivy::Result<SpansWeight> {
        let first = |slot: &Slot| slot.terms.first().map(|term| self.term(&term.text));
        let terms: Vec<Term> = self.groups.iter().flatten().filter_map(first).collect();
        let bm25 = match scoring {
            EnableScoring::Enabled { statistics_provider, .. } if !terms.is_empty() => {
                Some(Bm25Weight::for_terms(statistics_provider, &terms)?)
            }
            _ => None,
        };
        Ok(SpansWeight { spans: self.clone(), bm25 })
    }

    fn term(&self, text: &str) -> Term {
        Term::from_field_text(self.field, text)
    }
}

pub(super) struct SpansWeight {
    spans: Spans,
    bm25: Option<Bm25Weight>,
}

impl SpansWeight {
    /// No document is given more.
    pub(super) fn score_max(&self) -> Score {
        self.bm25.as_ref().map_or(1.0, Bm25Weight::max_score)
    }

    /// What looks through one part of the index and stands nowhere yet; none, where not all words
    /// are there.
    pub(super) fn open(
        &self,
        reader: &SegmentReader,
        boost: Score,
    ) -> tantivy::Result<Option<SpansScorer>> {
        let terms = reader.inverted_index(self.spans.field)?;
        let mut slots = Vec::new();
        for slot in self.spans.groups.iter().flatten() {
            let mut postings = Vec::new();
            for term in &slot.terms {
                let term = self.spans.term(&term.text);
                postings
                    .extend(terms.read_postings(&term, IndexRecordOption::WithFreqsAndPositions)?);
            }
            if postings.is_empty() {
                return Ok(None);
            }
            slots.push(Union { postings, positions: Vec::new() });
        }
        if slots.is_empty() {
            return Ok(None);
        }
        let norms = match &self.bm25 {
            Some(_) => Some(reader.get_fieldnorms_reader(self.spans.field)?),
            None => None,
        };
        let bm25 = self.bm25.as_ref().map(|bm25| bm25.boost_by(boost));
        let spans = self.spans.clone();
        Ok(Some(SpansScorer { spans, slots, bm25, norms, doc: 0, count: 0 }))
    }
}

impl Weight for SpansWeight {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        let Some(mut scorer) = self.open(reader, boost)? else {
            return Ok(Box::new(EmptyScorer));
        };
        let first = scorer.slots.iter().map(Union::doc).max().unwrap_or(TERMINATED);
        scorer.go_to(first);
        Ok(Box::new(scorer))
    }

    fn explain(&self, _: &SegmentReader, _: DocId) -> tantivy::Result<Explanation> {
        Err(TantivyError::SystemError("spans explain nothing".to_owned()))
    }
}

struct Union {
    postings: Vec<SegmentPostings>,
    positions: Vec<u32>,
}

impl Union {
    fn doc(&self) -> DocId {
        self.postings.iter().map(DocSet::doc).min().unwrap_or(TERMINATED)
    }

    fn seek(&mut self, target: DocId) -> DocId {
        for one in &mut self.postings {
            if one.doc() < target {
                one.seek(target);
            }
        }
        self.doc()
    }

    fn read(&mut self, doc: DocId) {
        self.positions.clear();
        let mut sources = 0;
        for one in &mut self.postings {
            if one.doc() == doc {
                one.append_positions_with_offset(0, &mut self.positions);
                sources += 1;
            }
        }
        if sources > 1 {
            self.positions.sort_unstable();
            self.positions.dedup();
        }
    }
}

pub(super) struct SpansScorer {
    spans: Spans,
    /// Of all groups, one behind the other.
    slots: Vec<Union>,
    bm25: Option<Bm25Weight>,
    norms: Option<FieldNormReader>,
    doc: DocId,
    count: u32,
}

impl SpansScorer {
    /// Goes to the first document from here on that fits.
    fn go_to(&mut self, mut target: DocId) {
        loop {
            if target >= TERMINATED {
                self.doc = TERMINATED;
                return;
            }
            let mut highest = target;
            for slot in &mut self.slots {
                highest = highest.max(slot.seek(highest));
                if highest >= TERMINATED {
                    self.doc = TERMINATED;
                    return;
                }
            }
            if highest > target {
                target = highest;
                continue;
            }
            self.slots.iter_mut().for_each(|slot| slot.read(target));
            self.count = self.fits();
            if self.count > 0 {
                self.doc = target;
                return;
            }
            target += 1;
        }
    }

    /// What a document is given, and no other is looked at. They are asked for in order.
    pub(super) fn score_at(&mut self, doc: DocId) -> Score {
        if !self.slots.iter_mut().all(|slot| slot.seek(doc) == doc) {
            return 0.0;
        }
        self.slots.iter_mut().for_each(|slot| slot.read(doc));
        (self.doc, self.count) = (doc, self.fits());
        if self.count > 0 { self.score() } else { 0.0 }
    }

    /// How often it fits here.
    fn fits(&self) -> u32 {
        let mut slots = self.slots.iter();
        let groups: Vec<Vec<(u32, u32)>> = (self.spans.groups.iter())
            .map(|group| {
                let unions = slots.by_ref().take(group.len());
                let places = group.iter().zip(unions);
                let places: Vec<(u32, &[u32])> =
                    places.map(|(slot, union)| (slot.offset, &*union.positions)).collect();
                occurrences(&places)
            })
            .collect();
        self.spans.manner.count(&groups)
    }
}

impl Manner {
    /// How often groups stand so, each by the first and the last place of where it stands.
    pub(crate) fn count(&self, groups: &[Vec<(u32, u32)>]) -> u32 {
        let is_fit = |from: u32, to: u32| {
            // The end mark is no word.
            let to = if self.is_last { to.saturating_sub(1) } else { to };
            self.within.is_none_or(|within| to < within) && (!self.is_first || from == 0)
        };
        match self.order {
            Order::Row => {
                let count = groups.iter().flatten().filter(|(from, to)| is_fit(*from, *to)).count();
                u32::try_from(count).unwrap_or(u32::MAX)
            }
            Order::Near(distance) => near(groups, distance, &is_fit),
            Order::Before => before(groups, &is_fit),
        }
    }
}

/// Where the slots of a group stand in a row: first and last place. In: how far each is from
/// the first, and where it stands, sorted.
pub(crate) fn occurrences(slots: &[(u32, &[u32])]) -> Vec<(u32, u32)> {
    let [(first, begins), rest @ ..] = slots else { return Vec::new() };
    let length = slots.last().map_or(0, |(last, _)| last - first);
    (begins.iter())
        .filter(|from| {
            rest.iter().all(|(offset, positions)| {
                let wanted = from.saturating_add(offset - first);
                positions.binary_search(&wanted).is_ok()
            })
        })
        .map(|from| (*from, from.saturating_add(length)))
        .collect()
}

fn near(groups: &[Vec<(u32, u32)>], distance: u32, is_fit: &dyn Fn(u32, u32) -> bool) -> u32 {
    let mut at = vec![0; groups.len()];
    let mut count = 0;
    loop {
        let mut chosen = Vec::with_capacity(groups.len());
        for (group, place) in groups.iter().zip(&at) {
            let Some(one) = group.get(*place) else { return count };
            chosen.push(*one);
        }
        let from = chosen.iter().map(|(from, _)| *from).min().unwrap_or(0);
        let to = chosen.iter().map(|(_, to)| *to).max().unwrap_or(0);
        let words: u32 = chosen.iter().map(|(from, to)| to - from + 1).sum();
        if (to - from + 1).saturating_sub(words) < distance.max(1) && is_fit(from, to) {
            count += 1;
        }
        // Only the one that stands first can make the span shorter.
        let Some(first) = (0..chosen.len()).min_by_key(|place| chosen[*place].0) else {
            return count;
        };
        at[first] += 1;
    }
}

fn before(groups: &[Vec<(u32, u32)>], is_fit: &dyn Fn(u32, u32) -> bool) -> u32 {
    let mut begin = None;
    let mut behind = 0;
    for group in groups {
        let Some((from, to)) = group.iter().find(|(from, _)| *from >= behind) else { return 0 };
        begin.get_or_insert(*from);
        behind = to.saturating_add(1);
    }
    u32::from(is_fit(begin.unwrap_or(0), behind.saturating_sub(1)))
}

impl DocSet for SpansScorer {
    fn advance(&mut self) -> DocId {
        if self.doc < TERMINATED {
            self.go_to(self.doc + 1);
        }
        self.doc
    }

    fn seek(&mut self, target: DocId) -> DocId {
        if self.doc < target {
            self.go_to(target);
        }
        self.doc
    }

    fn doc(&self) -> DocId {
        self.doc
    }

    fn size_hint(&self) -> u32 {
        let sizes = self
            .slots
            .iter()
            .map(|slot| slot.postings.iter().map(DocSet::size_hint).fold(0, u32::saturating_add));
        sizes.min().unwrap_or(0)
    }

    fn cost(&self) -> u64 {
        // Positions are dear.
        u64::from(self.size_hint()) * 10
    }
}

impl Scorer for SpansScorer {
    fn score(&mut self) -> Score {
        match (&self.bm25, &self.norms) {
            (Some(bm25), Some(norms)) => bm25.score(norms.fieldnorm_id(self.doc), self.count),
            _ => 1.0,
        }
    }
}
