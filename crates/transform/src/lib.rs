//! What becomes of bodies on their way out: content codings, whole or piece by piece as they
//! come; what is put into pages; and pages with holes, put together from parts ([`esi`]).
//!
//! Pure: bytes go in, bytes come out. Which coding a client wants is for `policy` to say, and
//! where the bytes are kept, and the parts come from, for `server`.
//! Invariant: what comes out, decoded, is what went in, however the pieces were cut.
//! Start at [`compress`] and [`Encoder`]; [`Inserter`] puts [`MarkNewItems`]'s element into a page;
//! [`esi::Compiler`] reads one with holes.

mod blocks;
mod effort;
mod encoder;
pub mod esi;
mod insert;
mod mark_new;

pub use blocks::Blocks;
pub use effort::{Effort, stream_bytes, working_bytes};
pub use encoder::{Encoder, compress};
pub use insert::Inserter;
pub use mark_new::{MarkNewItems, SCRIPT_HASH};

#[cfg(test)]
mod round_trip_tests;
