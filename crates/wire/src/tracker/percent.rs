//! Percent-decoding as clients of BitTorrent need it: of bytes, not of text.
//!
//! Law: RFC 3986 §2.1. Letters in a hexadecimal number may be large or small, what need not be
//! escaped may stand as it is, and `+` is a plus.

/// What a sign of a hexadecimal number is worth.
fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

/// The bytes of a text, one by one; an error for an escape that is none.
fn bytes(mut text: &[u8]) -> impl Iterator<Item = Option<u8>> {
    std::iter::from_fn(move || {
        let (&first, rest) = text.split_first()?;
        if first != b'%' {
            text = rest;
            return Some(Some(first));
        }
        match rest {
            [high, low, beyond @ ..] => {
                text = beyond;
                Some(digit(*high).zip(digit(*low)).map(|(high, low)| high << 4 | low))
            }
            _ => {
                text = &[];
                Some(None)
            }
        }
    })
}

/// Decodes into a place of a fixed length; how many bytes it came to, or none if these are too
/// many or an escape is none.
pub(super) fn decode(text: &[u8], into: &mut [u8]) -> Option<usize> {
    let mut length = 0;
    for byte in bytes(text) {
        *into.get_mut(length)? = byte?;
        length += 1;
    }
    Some(length)
}

/// The twenty bytes that a text stands for, if it is those.
pub(super) fn twenty(text: &[u8]) -> Option<[u8; 20]> {
    let mut into = [0; 20];
    (decode(text, &mut into)? == into.len()).then_some(into)
}

/// A number that tells two texts apart, of any length and with any bytes in them.
pub(super) fn hash(text: &[u8]) -> u64 {
    bytes(text).fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        // What can't be decoded still differs from what can.
        (sum ^ byte.map_or(0x100, u64::from)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_decoded_and_what_is_no_escape_is_none() {
        for (text, expected) in [
            (&b"abc"[..], Some(&b"abc"[..])),
            (b"%41%6a%6A", Some(b"Ajj")),
            (b"a+b", Some(b"a+b")),
            (b"(!*')", Some(b"(!*')")),
            (b"%00%ff%FF", Some(b"\x00\xff\xff")),
            (b"%2541", Some(b"%41")),
            (b"", Some(b"")),
            (b"%", None),
            (b"%4", None),
            (b"%4g", None),
            (b"%%41", None),
            (b"123456789", None),
        ] {
            let mut into = [0; 8];
            let found = decode(text, &mut into).map(|length| &into[..length]);
            assert_eq!(found, expected, "{}", text.escape_ascii());
        }
    }

    #[test]
    fn an_info_hash_is_twenty_bytes_however_they_are_written() {
        assert_eq!(twenty(b"aaaaaaaaaaaaaaaaaaaa"), Some([b'a'; 20]));
        assert_eq!(twenty(&b"%61".repeat(20)), Some([b'a'; 20]));
        assert_eq!(twenty(&b"a".repeat(19)), None);
        assert_eq!(twenty(&b"a".repeat(21)), None);
    }

    #[test]
    fn a_hash_is_of_what_is_meant() {
        assert_eq!(hash(b"%41b"), hash(b"Ab"));
        assert_ne!(hash(b"ab"), hash(b"ba"));
        assert_ne!(hash(b"%"), hash(b""));
    }
}
