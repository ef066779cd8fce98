//! Where the text of a site is kept: in an index of our own, or in a search engine elsewhere.
//!
//! What both can is here; what only the index can (queries of feeds, sources of rows, counts of
//! visits, sitemaps) asks for [`Kept::own`].

use std::collections::HashSet;

use ::search::{
    Document, Engine, EngineError, Found, Fragment, Index, Query, Search, Shape, Snippets,
};

/// Cheap to clone; all clones are one.
#[derive(Clone)]
pub(crate) enum Kept {
    Own(Index),
    Engine(Engine),
}

impl Kept {
    pub(super) fn own(&self) -> Option<&Index> {
        match self {
            Self::Own(index) => Some(index),
            Self::Engine(_) => None,
        }
    }

    pub(super) fn put(&self, document: Document) {
        match self {
            Self::Own(index) => index.put(document),
            Self::Engine(engine) => engine.put(document),
        }
    }

    pub(super) fn remove(&self, id: u64) {
        match self {
            Self::Own(index) => index.remove(id),
            Self::Engine(engine) => engine.remove(id),
        }
    }

    /// A document, with its attributes at least. Whoever calls may wait.
    pub(super) fn get(&self, id: u64) -> Result<Option<Document>, EngineError> {
        match self {
            Self::Own(index) => Ok(index.get(id)),
            Self::Engine(engine) => engine.get(id),
        }
    }

    /// Which of these it has. Whoever calls may wait.
    pub(super) fn known(&self, ids: &[u64]) -> Result<HashSet<u64>, EngineError> {
        match self {
            Self::Own(index) => {
                Ok(ids.iter().copied().filter(|id| index.get(*id).is_some()).collect())
            }
            Self::Engine(engine) => engine.known(ids),
        }
    }

    /// Whoever calls may wait.
    pub(super) fn search(&self, search: &Search) -> Result<Found, String> {
        match self {
            Self::Own(index) => index.search(search).map_err(|error| error.to_string()),
            Self::Engine(engine) => engine.search(search).map_err(|error| error.to_string()),
        }
    }

    pub(super) fn excerpt(
        &self,
        text: &str,
        field: usize,
        query: &Query,
        wish: &Snippets,
    ) -> Vec<Fragment> {
        match self {
            Self::Own(index) => index.excerpt(text, field, query, wish),
            Self::Engine(engine) => engine.excerpt(text, field, query, wish),
        }
    }

    pub(super) fn shape(&self) -> &Shape {
        match self {
            Self::Own(index) => index.shape(),
            Self::Engine(engine) => engine.shape(),
        }
    }

    /// How many documents there are, without anybody's being asked.
    pub(super) fn documents(&self) -> u64 {
        match self {
            Self::Own(index) => index.documents(),
            Self::Engine(engine) => engine.documents(),
        }
    }

    /// Writes what was put. Whoever calls may wait.
    pub(super) fn commit(&self) {
        match self {
            Self::Own(index) => index.commit(),
            Self::Engine(engine) => engine.commit(),
        }
    }

    /// Whether all sources are to be read again. Once told, it is so no longer.
    pub(super) fn takes_wish_for_sources(&self) -> bool {
        match self {
            Self::Own(index) => index.takes_wish_for_sources(),
            Self::Engine(engine) => engine.takes_wish_for_sources(),
        }
    }

    /// Why it can't be asked at the moment.
    pub(super) fn trouble(&self) -> Option<EngineError> {
        match self {
            Self::Own(_) => None,
            Self::Engine(engine) => engine.trouble(),
        }
    }
}
