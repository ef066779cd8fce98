//! Distinct pages: page N has a size and a body that both ends can tell from N.

use std::fmt::Write;

const FILLER_BYTES: usize = 2 << 20;

/// How long page N is.
#[derive(Clone, Copy)]
pub(crate) enum Sizes {
    /// All alike, in bytes.
    Same(usize),
    /// Spread evenly over the powers of two from 1 KiB to 64 KiB, and one page in
    /// 512 sixteen times as long: about 16 KiB on average, 1 MiB at most.
    Mixed,
}

impl Sizes {
    /// The body length of page `number`, in bytes.
    pub(crate) fn of(self, number: u64) -> usize {
        let Self::Mixed = self else {
            let Self::Same(bytes) = self else { return 0 };
            return bytes;
        };
        let mixed = mix(number);
        let power = 1024usize << (mixed % 6);
        let within = (mixed >> 8) as usize % power;
        let long = if (mixed >> 40).is_multiple_of(512) { 16 } else { 1 };
        (power + within) * long
    }
}

/// The first line of page `number`: enough to know a wrong page by.
pub(crate) fn first_line(number: u64, body_bytes: usize) -> String {
    let mut line = String::with_capacity(32);
    let _ = writeln!(line, "page {number} {body_bytes}");
    line.truncate(body_bytes);
    line
}

/// Text that neither repeats nor compresses to nothing.
pub(crate) fn filler() -> Vec<u8> {
    let mut filler = Vec::with_capacity(FILLER_BYTES);
    let mut number = 0;
    while filler.len() < FILLER_BYTES {
        number += 1;
        let mut word = mix(number);
        for _ in 0..16 {
            filler.push(b"0123456789abcdef"[(word & 15) as usize]);
            word >>= 4;
        }
    }
    filler
}

/// Appends the body of page `number`: its first line, then filler from a place
/// of its own.
pub(crate) fn append_body(out: &mut Vec<u8>, filler: &[u8], number: u64, body_bytes: usize) {
    let line = first_line(number, body_bytes);
    out.extend_from_slice(line.as_bytes());
    let mut rest = body_bytes - line.len();
    let mut start = mix(number) as usize % filler.len();
    while rest > 0 {
        let piece = rest.min(filler.len() - start);
        out.extend_from_slice(&filler[start..start + piece]);
        rest -= piece;
        start = 0;
    }
}

/// SplitMix64's finisher: neighbours in, strangers out.
fn mix(number: u64) -> u64 {
    let mut word = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixed_sizes_are_as_the_table_says() {
        let sizes: Vec<usize> = (1..=200_000).map(|number| Sizes::Mixed.of(number)).collect();
        let mean = sizes.iter().sum::<usize>() / sizes.len();
        assert!((15_000..18_500).contains(&mean), "mean {mean}");
        assert!(sizes.iter().all(|&bytes| (1024..=1 << 20).contains(&bytes)));
        assert!(sizes.iter().any(|&bytes| bytes > 500_000));
    }

    #[test]
    fn bodies_have_their_length_and_differ() {
        let filler = filler();
        let body = |number, bytes| {
            let mut out = Vec::new();
            append_body(&mut out, &filler, number, bytes);
            out
        };
        for bytes in [0, 3, 100, 10_000, 3 << 20] {
            assert_eq!(body(7, bytes).len(), bytes);
        }
        assert_ne!(body(7, 10_000)[20..], body(8, 10_000)[20..]);
        assert!(body(7, 100).starts_with(b"page 7 100\n"));
    }
}
