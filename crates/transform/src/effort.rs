//! How much time and memory is spent on a body.
//!
//! The levels were chosen by `cargo run --release -p server --example levels`; its table
//! stands in `docs/decisions/compression.md`.

use wire::Coding;

/// How hard to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effort {
    /// Somebody waits: about a millisecond for 64 kB.
    Quick,
    /// Once, for many: a tenth of a second and more.
    Best,
}

/// Brotli's last two levels cost ten times as much as those before; a large page does without.
const BROTLI_HARDEST_BYTES_MAX: usize = 256 << 10;

/// What one [`crate::Encoder`] holds; measured as the resident size of a hundred.
#[must_use]
pub fn stream_bytes(coding: Coding) -> usize {
    match coding {
        Coding::Zstd | Coding::Gzip => 384 << 10,
        Coding::Brotli => 896 << 10,
    }
}

/// The level of a coder for a body of this length.
pub(crate) fn level(coding: Coding, effort: Effort, bytes: usize) -> i32 {
    match (coding, effort) {
        (Coding::Gzip, Effort::Quick) => 4,
        (Coding::Gzip, Effort::Best) => 9,
        (Coding::Brotli, Effort::Quick) => 4,
        (Coding::Brotli, Effort::Best) if bytes > BROTLI_HARDEST_BYTES_MAX => 9,
        (Coding::Brotli, Effort::Best) => 11,
        (Coding::Zstd, Effort::Quick) => 3,
        (Coding::Zstd, Effort::Best) => 19,
    }
}

/// The window of a coder for a body of this length: as large as the body, so that memory
/// follows it, and no larger than a small machine can spare. Every reader has room for eight
/// times as much (RFC 9659).
pub(crate) fn window_bits(bytes: usize) -> u32 {
    (usize::BITS - bytes.saturating_sub(1).leading_zeros()).clamp(16, 20)
}

/// About how much memory is held while a body of this length is coded, the result included.
#[must_use]
pub fn working_bytes(coding: Coding, effort: Effort, bytes: usize) -> usize {
    let window = 1 << window_bits(bytes);
    let tables = match (coding, effort) {
        (Coding::Gzip, _) => 512 << 10,
        (_, Effort::Quick) => 2 * window + (1 << 20),
        // Hash chains, binary trees and the nodes of the best parsing.
        (_, Effort::Best) => 16 * window + (4 << 20),
    };
    tables + bytes
}
