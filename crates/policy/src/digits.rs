//! Decimal numbers to bytes and back, without allocation and without surprises.

/// Appends a number in decimal digits.
#[inline]
pub fn push(out: &mut Vec<u8>, value: u64) {
    let mut digits = [0u8; 20];
    let (mut at, mut rest) = (digits.len(), value);
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Reads digits and nothing else; a number too large to hold is the largest.
pub fn read(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |sum, &byte| {
        byte.is_ascii_digit().then(|| sum.saturating_mul(10).saturating_add(u64::from(byte - b'0')))
    })
}

/// Reads a number of seconds as RFC 9111 §1.2.2 has it: past 2^31 it is 2^31.
pub fn read_seconds(text: &[u8]) -> Option<u32> {
    read(text).map(|seconds| seconds.min(1 << 31) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_the_way_there_and_back() {
        for value in [0, 1, 9, 10, 99, 100, 1_234_567_890, u64::MAX] {
            let mut out = Vec::new();
            push(&mut out, value);
            assert_eq!(out, value.to_string().as_bytes());
            assert_eq!(read(&out), Some(value));
        }
    }

    #[test]
    fn only_digits_are_a_number_and_too_large_is_the_largest() {
        for wrong in ["", " 1", "1 ", "-1", "+1", "1.5", "0x1", "1a", "١"] {
            assert_eq!(read(wrong.as_bytes()), None, "{wrong:?}");
        }
        assert_eq!(read(b"99999999999999999999999"), Some(u64::MAX));
        assert_eq!(read_seconds(b"2147483649"), Some(1 << 31));
        assert_eq!(read_seconds(b"007"), Some(7));
    }
}
