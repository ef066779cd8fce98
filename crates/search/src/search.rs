//! A search and what it found: plain data, for whoever asks.

use std::sync::Arc;
use std::time::Instant;

use crate::{Query, Value};

/// What is looked for, and how it is to be shown.
#[derive(Debug, Clone)]
pub struct Search {
    /// The words.
    pub query: Query,
    /// Words that mean the same: each list is one meaning.
    pub synonyms: Synonyms,
    /// What documents must be like besides; all of it.
    pub filters: Vec<Filter>,
    /// The order of the hits; by relevance where it is empty. What is equal comes by id.
    pub sort: Vec<Sort>,
    /// One hit of each group.
    pub group: Option<Group>,
    /// How many hits are left out at the beginning.
    pub offset: usize,
    /// How many hits are shown.
    pub limit: usize,
    /// Behind this many hits nothing is shown, and no order is known.
    pub max_matches: usize,
    /// A weight for each field, instead of the shape's.
    pub field_weights: Option<Vec<f32>>,
    /// What makes one hit better than another.
    pub ranking: Ranking,
    /// Attributes whose values are to be counted.
    pub facets: Vec<FacetWish>,
    /// Whether hits come with an excerpt of what was found.
    pub snippets: Option<Snippets>,
    /// Whether hits come with their stored fields.
    pub has_fields: bool,
    /// The attributes that hits come with, by their places, others being empty; none: all.
    pub attributes: Option<Vec<usize>>,
    /// Whether [`Found::words`] is wanted: it costs as much again.
    pub has_words: bool,
    /// Where nothing is found, look for less, and say so.
    pub relax: bool,
    /// What was found until then is the answer.
    pub deadline: Option<Instant>,
}

impl Default for Search {
    fn default() -> Self {
        Self {
            query: Query::All,
            synonyms: Synonyms::default(),
            filters: Vec::new(),
            sort: Vec::new(),
            group: None,
            offset: 0,
            limit: 20,
            max_matches: 1000,
            field_weights: None,
            ranking: Ranking::default(),
            facets: Vec::new(),
            snippets: None,
            has_fields: false,
            attributes: None,
            has_words: false,
            relax: false,
            deadline: None,
        }
    }
}

/// Lists of words that mean the same. What is looked for is one word; what is found instead of it
/// may be several in a row.
pub type Synonyms = Arc<[Vec<String>]>;

/// A condition on an attribute.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    /// The attribute's place; `None` is the id.
    pub attribute: Option<usize>,
    /// The condition.
    pub kind: FilterKind,
    /// What meets it is left out.
    pub is_excluded: bool,
}

/// What an attribute may be. Of several values (`Multi`) one is enough.
#[derive(Debug, Clone, PartialEq)]
pub enum FilterKind {
    /// One of these numbers.
    In(Vec<i64>),
    /// Not below the first and not above the second.
    Range(i64, i64),
    /// The same, for fractions.
    FloatRange(f64, f64),
    /// One of these strings.
    TextIn(Vec<String>),
}

/// One key of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sort {
    /// What is compared.
    pub key: SortKey,
    /// The largest first.
    pub is_descending: bool,
}

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SortKey {
    /// How well it fits.
    Relevance,
    /// The id.
    Id,
    /// An attribute, by its place.
    Attribute(usize),
    /// How many documents the hit's group has.
    GroupCount,
    /// What the hit's group has in common.
    GroupKey,
}

/// One hit of each group.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// What a group has in common.
    pub by: GroupBy,
    /// Which of a group is shown; by relevance where it is empty.
    pub within: Vec<Sort>,
}

/// What a group has in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupBy {
    /// An attribute's value.
    Attribute(usize),
    /// The day (UTC) of a timestamp, as YYYYMMDD.
    Day(usize),
    /// The day on which its week begins, as the year and that day's number in it.
    Week(usize),
    /// The month, as YYYYMM.
    Month(usize),
    /// The year.
    Year(usize),
}

/// What makes one hit better than another.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    /// Words that stand together count more.
    pub has_proximity: bool,
    /// What is new counts more.
    pub freshness: Option<Freshness>,
    /// What is asked for often counts more.
    pub popularity: Option<Popularity>,
}

impl Default for Ranking {
    fn default() -> Self {
        Self { has_proximity: true, freshness: None, popularity: None }
    }
}

/// What is new counts more: up to `1 + weight` times, half of that after `half_life_seconds`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Freshness {
    /// The timestamp's place.
    pub attribute: usize,
    /// The present, in seconds since 1970.
    pub now: i64,
    /// After how long half of the advantage is gone.
    pub half_life_seconds: i64,
    /// The advantage of what is new.
    pub weight: f32,
}

/// What is asked for often counts more: `1 + weight × log10(1 + count)` times, a count being no
/// more than 9999.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Popularity {
    /// The count's place.
    pub attribute: usize,
    /// The advantage of each power of ten.
    pub weight: f32,
}

/// An attribute whose values are to be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FacetWish {
    /// Its place.
    pub attribute: usize,
    /// How many values are shown, the most frequent first.
    pub limit: usize,
}

/// How excerpts are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snippets {
    /// About how many characters one has in all.
    pub characters: usize,
    /// Of how many pieces it is at most.
    pub fragments: usize,
    /// From which fields: by their places; all where it is empty.
    pub fields: Vec<usize>,
}

impl Default for Snippets {
    fn default() -> Self {
        Self { characters: 240, fragments: 2, fields: Vec::new() }
    }
}

/// The excerpt of one field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snippet {
    /// The field's place.
    pub field: usize,
    /// Its pieces, in the order of the text.
    pub fragments: Vec<Fragment>,
}

/// A piece of a text, plain: whoever writes HTML escapes it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fragment {
    /// The text.
    pub text: String,
    /// What in it is to be marked: ranges of bytes, in order and apart.
    pub marks: Vec<(usize, usize)>,
    /// The text goes on before it.
    pub is_cut_before: bool,
    /// The text goes on behind it.
    pub is_cut_after: bool,
}

/// What a search found.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// The hits that were asked for.
    pub hits: Vec<Hit>,
    /// How many hits could be shown: at most `max_matches`.
    pub total: usize,
    /// How many documents fit, or groups where there are groups.
    pub total_found: usize,
    /// The query's words and how often they occur, where that was asked.
    pub words: Vec<WordCount>,
    /// The counted values.
    pub facets: Vec<Facet>,
    /// What was done without, where nothing was found otherwise.
    pub relaxed: Option<String>,
    /// A query that would find more.
    pub did_you_mean: Option<String>,
    /// The deadline came first.
    pub is_partial: bool,
}

/// One document that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Its id.
    pub id: u64,
    /// How well it fits; to be compared within one answer only.
    pub score: f32,
    /// Its attributes.
    pub attributes: Vec<Value>,
    /// What its group has in common.
    pub group_key: Option<Value>,
    /// How many documents its group has; 1 without groups.
    pub group_count: u64,
    /// Excerpts, where they were asked for.
    pub snippets: Vec<Snippet>,
    /// Its stored fields, where they were asked for: empty where one isn't stored.
    pub fields: Vec<String>,
}

/// How often a word occurs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordCount {
    /// The word, as it is looked for.
    pub word: String,
    /// In how many documents.
    pub documents: u64,
    /// How often in all.
    pub hits: u64,
}

/// The values of an attribute among all that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Facet {
    /// The attribute's place.
    pub attribute: usize,
    /// Values and how many documents have them, the most frequent first.
    pub values: Vec<(Value, u64)>,
}

/// A word as one might go on typing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    /// The whole query, its last word completed.
    pub text: String,
    /// In about how many documents that word is.
    pub documents: u64,
}

/// Why a search can't be answered.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// A place that the shape doesn't have, or a condition that doesn't fit its kind.
    #[error("{0}")]
    Unfit(String),
    /// The index's files can't be read; it is begun anew.
    #[error("the index {name} is damaged and is begun anew: {reason}")]
    Damaged {
        /// The index.
        name: String,
        /// What was wrong.
        reason: String,
    },
}
