//! What a piece of memory truly costs: allocators round sizes up.
//!
//! The classes are jemalloc's, four to each doubling; so at most a fifth of a
//! large piece is rounding, and a weight made of these sums is what the process
//! really holds.

/// The bytes that an allocation of `bytes` occupies, its rounding included.
#[must_use]
pub fn allocated_bytes(bytes: usize) -> usize {
    match bytes {
        0 => 0,
        1..=8 => 8,
        9..=16 => 16,
        _ => {
            let doubling = usize::BITS - 1 - (bytes - 1).leading_zeros();
            let step = (1usize << (doubling - 2)).max(16);
            bytes.checked_next_multiple_of(step).unwrap_or(usize::MAX)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::allocated_bytes;

    #[test]
    fn sizes_are_rounded_to_four_classes_a_doubling() {
        for (asked, given) in [
            (0, 0),
            (1, 8),
            (9, 16),
            (17, 32),
            (33, 48),
            (65, 80),
            (128, 128),
            (129, 160),
            (9_435, 10_240),
            (10_240, 10_240),
            (10_241, 12_288),
            (34_600, 40_960),
            (1 << 20, 1 << 20),
            ((1 << 20) + 1, 5 << 18),
            (usize::MAX, usize::MAX),
        ] {
            assert_eq!(allocated_bytes(asked), given, "{asked}");
        }
    }
}
