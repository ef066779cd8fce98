//! The way of a whole search.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tantivy::{DocAddress, Searcher};

use super::collect::{Candidate, Collected, KEYS_MAX, collect};
use super::columns::{Values, check, unfit};
use super::compile::Compiler;
use super::relax::{Step, did_you_mean};
use super::snippet::Marker;
use super::tree::{Form, Query};
use super::words::count_words;
use crate::index::{Inner, Parts};
use crate::{
    AttributeKind, Facet, Found, GroupBy, Hit, Search, SearchError, Shape, SortKey, Value,
};

/// More hits than this are never in order.
const MATCHES_MAX: usize = 100_000;
/// Words that stand together within so many others count more.
const TOGETHER_WITHIN: u32 = 8;

/// Answers a search.
pub(crate) fn run(
    index: &Inner,
    searcher: &Searcher,
    parts: &Parts,
    search: &Search,
) -> Result<Found, SearchError> {
    check_places(&index.shape, search)?;
    // The files are read where they lie: what is damaged in them may show as anything.
    let answer = catch_unwind(AssertUnwindSafe(|| look(index, searcher, parts, search)));
    let reason = match answer {
        Ok(Ok(found)) => return Ok(found),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "reading it failed".to_owned(),
    };
    index.note_damage(&reason);
    Err(SearchError::Damaged { name: index.shape.name.clone(), reason })
}

fn look(
    index: &Inner,
    searcher: &Searcher,
    parts: &Parts,
    search: &Search,
) -> tantivy::Result<Found> {
    let compiler = Compiler::new(index, searcher, parts, search.field_weights.as_deref());
    let mut limited = search.clone();
    limited.max_matches = search.max_matches.min(MATCHES_MAX);
    let mut asked = search.query.clone();
    let mut collected = collect_query(&compiler, &limited, &asked)?;
    let mut found = Found::default();
    if collected.total_found == 0 && search.relax {
        found.did_you_mean = did_you_mean(&compiler, &search.query);
        for step in Step::LADDER {
            let Some(relaxed) = step.relax(&search.query) else { continue };
            collected = collect_query(&compiler, &limited, &relaxed)?;
            if collected.total_found > 0 {
                found.relaxed = Some(step.told().to_owned());
                asked = relaxed;
                break;
            }
        }
    }
    found.total_found = collected.total_found;
    found.total = collected.total_found.min(limited.max_matches);
    found.is_partial = collected.is_partial;
    found.facets = (search.facets.iter().zip(std::mem::take(&mut collected.facets)))
        .map(|(wish, values)| Facet { attribute: wish.attribute, values })
        .collect();
    if search.has_words {
        found.words = count_words(&compiler, &search.query)?;
    }
    found.hits = hits(&compiler, &limited, &asked, &collected)?;
    Ok(found)
}

fn collect_query(
    compiler: &Compiler<'_>,
    search: &Search,
    query: &Query,
) -> tantivy::Result<Collected> {
    let is_ranked =
        search.sort.is_empty() || search.sort.iter().any(|sort| sort.key == SortKey::Relevance);
    let near = match together(query).filter(|_| is_ranked && search.ranking.has_proximity) {
        Some(near) => compiler.near(&near),
        None => Vec::new(),
    };
    let looking = compiler.compile(&query.clone().widened(&search.synonyms));
    collect(compiler.searcher, &compiler.index.shape, search, looking.as_ref(), &near)
}

/// A query's words near each other, which are better.
fn together(query: &Query) -> Option<Query> {
    let Query::And(parts) = query else { return None };
    let words: Vec<Query> = (parts.iter())
        .filter(|part| match part {
            Query::Word(word) => matches!(word.form, Form::Any | Form::Exact),
            _ => false,
        })
        .take(4)
        .cloned()
        .collect();
    (words.len() > 1).then_some(Query::Near { parts: words, distance: TOGETHER_WITHIN })
}

fn hits(
    compiler: &Compiler<'_>,
    search: &Search,
    query: &Query,
    collected: &Collected,
) -> tantivy::Result<Vec<Hit>> {
    let shown = collected.best.iter().skip(search.offset).take(search.limit);
    let widened = query.clone().widened(&search.synonyms);
    let marker = search.snippets.as_ref().map(|wish| Marker::new(compiler, &widened, wish));
    let mut columns =
        Columns { compiler, wanted: search.attributes.as_deref(), opened: Vec::new() };
    let mut hits = Vec::new();
    for one in shown {
        let mut hit = columns.hit(one, search)?;
        if marker.is_some() || search.has_fields {
            let place = DocAddress::new(one.segment, one.doc);
            let document = compiler.parts.read(compiler.searcher, place);
            if let (Some(marker), Some(document)) = (&marker, &document) {
                hit.snippets = marker.snippets(document, compiler.index.language_of(document));
            }
            if let (true, Some(document)) = (search.has_fields, document) {
                hit.fields = document.fields;
                for (field, shape) in hit.fields.iter_mut().zip(&compiler.index.shape.fields) {
                    if !shape.is_stored {
                        field.clear();
                    }
                }
            }
        }
        hits.push(hit);
    }
    Ok(hits)
}

/// The attributes of the parts that hits lie in, opened when the first needs them.
struct Columns<'a> {
    compiler: &'a Compiler<'a>,
    /// By their places; none: all.
    wanted: Option<&'a [usize]>,
    opened: Vec<(u32, Vec<Values>)>,
}

impl Columns<'_> {
    fn hit(&mut self, one: &Candidate, search: &Search) -> tantivy::Result<Hit> {
        let at = match self.opened.iter().position(|(segment, _)| *segment == one.segment) {
            Some(at) => at,
            None => self.open(one.segment)?,
        };
        let (_, columns) = &self.opened[at];
        let group_key = match &search.group {
            Some(group) => self.group_key(columns, one, group.by),
            None => None,
        };
        Ok(Hit {
            id: one.id,
            score: one.score,
            attributes: columns.iter().map(|values| values.value(one.doc)).collect(),
            group_key,
            group_count: one.group_count,
            snippets: Vec::new(),
            fields: Vec::new(),
        })
    }

    fn open(&mut self, segment: u32) -> tantivy::Result<usize> {
        let shape = &self.compiler.index.shape;
        let reader = self.compiler.searcher.segment_reader(segment);
        let columns = (0..shape.attributes.len())
            .map(|at| match self.wanted.is_none_or(|wanted| wanted.contains(&at)) {
                true => Values::of(reader, shape, Some(at)),
                false => Ok(Values::None(shape.attributes[at].kind)),
            })
            .collect::<tantivy::Result<_>>()?;
        self.opened.push((segment, columns));
        Ok(self.opened.len() - 1)
    }

    fn group_key(&self, columns: &[Values], one: &Candidate, by: GroupBy) -> Option<Value> {
        let at = match by {
            GroupBy::Attribute(at) => at,
            _ => return Some(Value::Int(one.group_number())),
        };
        let kind = self.compiler.index.shape.attributes.get(at)?.kind;
        Some(match kind {
            AttributeKind::Text | AttributeKind::Float => columns.get(at)?.value(one.doc),
            _ => Value::Int(one.group_number()),
        })
    }
}

/// All places that a search names are there and of the right kind.
fn check_places(shape: &Shape, search: &Search) -> Result<(), SearchError> {
    search.filters.iter().try_for_each(|filter| check(shape, filter))?;
    let kind = |at: usize| {
        let found = shape.attributes.get(at).map(|attribute| attribute.kind);
        found.ok_or_else(|| SearchError::Unfit(format!("there is no attribute {at}")))
    };
    let mut orders = vec![&search.sort];
    if let Some(group) = &search.group {
        orders.push(&group.within);
        match group.by {
            GroupBy::Attribute(at) => drop(kind(at)?),
            GroupBy::Day(at) | GroupBy::Week(at) | GroupBy::Month(at) | GroupBy::Year(at) => {
                if matches!(kind(at)?, AttributeKind::Text | AttributeKind::Float) {
                    return Err(unfit(&shape.attributes[at].name, "is no timestamp"));
                }
            }
        }
    }
    for order in orders {
        if order.len() > KEYS_MAX {
            return Err(unfit("an order", &format!("has more than {KEYS_MAX} keys")));
        }
        for sort in order {
            if let SortKey::Attribute(at) = sort.key {
                kind(at)?;
            }
        }
    }
    let boosts = [
        search.ranking.freshness.map(|one| one.attribute),
        search.ranking.popularity.map(|one| one.attribute),
    ];
    let facets = search.facets.iter().map(|facet| facet.attribute);
    facets.chain(boosts.into_iter().flatten()).try_for_each(|at| kind(at).map(drop))
}
