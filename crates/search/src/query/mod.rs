//! Queries: two languages, one tree, and how it is run.
//!
//! `site.rs` reads what a person writes, `sphinx.rs` what Sphinx's clients send; both
//! make a [`Query`]. `plan.rs` says what must stand where, `compile.rs` turns that into what
//! looks into the index, and `run.rs` is the way of a whole search. `fitting.rs` holds one
//! document against a plan.

mod collect;
mod columns;
mod compile;
mod expand;
mod fitting;
mod plan;
mod relax;
mod run;
mod site;
mod snippet;
mod spans;
mod sphinx;
mod statistics;
mod suggest;
mod tree;
mod words;

pub(crate) use columns::group_number;
pub(crate) use compile::Compiler;
pub(crate) use fitting::{Key, Keys, Reading, Terms};
pub(crate) use plan::Planner;
pub(crate) use run::run;
pub use site::read_query;
pub(crate) use snippet::Marker;
pub use sphinx::{SphinxMode, read_sphinx};
pub(crate) use suggest::suggest;
pub use tree::{Form, Query, QueryError, Word};
