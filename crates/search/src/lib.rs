//! A site's public text, found by words.
//!
//! In: documents of one [`Shape`], put as they come, and a [`Search`]. Out: [`Found`].
//! An [`Index`] is derived data in a folder of its own: what is damaged or of another
//! format is begun anew, and [`Opened`] says that the sources are to be read again.
//! Invariants: 1. one analysis makes the terms of documents and of queries. 2. A person's
//! query is never an error. 3. What was put is found after at most
//! [`Limits::commit_after`]; a process that is killed loses no more than that.
//! Start at [`Index::open`]; the way of a query is `query/run.rs`.

mod database;
mod document;
mod engine;
mod index;
mod query;
pub mod rows;
mod search;
mod shape;
pub mod site;
pub mod sphinx;
mod stored;
pub mod text;

pub use document::{Document, Value};
pub use engine::{Engine, EngineAddress, EngineError, NoEngineAddress, try_engine};
pub use index::{Counts, Former, Index, IndexError, Limits, Opened};
pub use query::{Form, Query, QueryError, SphinxMode, Word, read_query, read_sphinx};
pub use search::{
    Facet, FacetWish, Filter, FilterKind, Found, Fragment, Freshness, Group, GroupBy, Hit,
    Popularity, Ranking, Search, SearchError, Snippet, Snippets, Sort, SortKey, Suggestion,
    Synonyms, WordCount,
};
pub use shape::{AttributeKind, AttributeShape, FieldShape, Shape};
pub use stored::{FeedKind, Only, Seen, StoredCounts, Topic, Version};
