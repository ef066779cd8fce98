//! Reports of a run: as text, as ab writes it, as JSON, as a page, as a log of histograms.
//!
//! Invariant: they show the same figures, which [`summary::Summary`] takes from the outcome.

mod ab;
mod comparison;
mod hdr;
mod html;
mod html_comparison;
pub mod summary;
mod text;

pub use ab::{AbLooks, ab, ab_percentages};
pub use comparison::{Compared, Comparison};
pub use hdr::hdr;
pub use html::html;
pub use html_comparison::html_of_comparison;
pub use summary::Summary;
pub use text::text;

#[cfg(test)]
pub(crate) mod samples;
