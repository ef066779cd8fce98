//! Bodies in content codings: whole, or piece by piece as they come.
//!
//! Pure: bytes go in, bytes come out. Which coding a client wants is for `policy` to say, and
//! where the bytes are kept for `server`.
//! Invariant: what comes out, decoded, is what went in, however the pieces were cut.
//! Start at [`compress`] and [`Encoder`].

mod effort;
mod encoder;

pub use effort::{Effort, stream_bytes, working_bytes};
pub use encoder::{Encoder, compress};

#[cfg(test)]
mod round_trip_tests;
