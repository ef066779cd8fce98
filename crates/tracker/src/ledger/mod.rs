//! The books in memory: what announces add up to until a batch is made of it.

pub(crate) mod accounting;
pub(crate) mod chain;
mod climbs;
pub(crate) mod entry;
pub(crate) mod pending;

pub use accounting::Rule;
pub use entry::Entry;
