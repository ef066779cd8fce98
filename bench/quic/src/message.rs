//! A request as HTTP/3 sends it, and how long the body of an answer is.
//!
//! Law: RFC 9114 §4.1, §6.2.1, §7.2; RFC 9204 §4.5 (the static table's numbers, Appendix A).

/// A control stream with settings that say nothing.
pub(crate) const CONTROL: &[u8] = &[0x00, 0x04, 0x00];
/// How a connection ends in good order.
pub(crate) const NO_ERROR: u32 = 0x100;

const DATA: u64 = 0x00;
const HEADERS: u64 = 0x01;

/// A GET of this path: a HEADERS frame and nothing else.
pub(crate) fn request(authority: &str, path: &str) -> Vec<u8> {
    // No dynamic table; `:method: GET` is 17 of the static one, `:scheme: https` 23.
    let mut block = vec![0x00, 0x00, 0xc0 | 17, 0xc0 | 23];
    // `:authority` is 0 and `:path` 1, with a value behind it.
    for (name, value) in [(0x50, authority), (0x51, path)] {
        block.push(name);
        push_length(&mut block, value.len());
        block.extend_from_slice(value.as_bytes());
    }
    let mut frame = vec![HEADERS as u8];
    // Two bytes hold up to 16,383.
    frame.extend_from_slice(&(0x4000 | block.len() as u16).to_be_bytes());
    frame.extend_from_slice(&block);
    frame
}

/// A length with seven bits in its first byte (RFC 7541 §5.1).
fn push_length(out: &mut Vec<u8>, length: usize) {
    if length < 0x7f {
        return out.push(length as u8);
    }
    out.push(0x7f);
    let mut rest = length - 0x7f;
    while rest >= 0x80 {
        out.push(0x80 | (rest & 0x7f) as u8);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// The bytes of all DATA frames; none if the frames are not whole, or there is no head.
pub(crate) fn body_bytes(mut answer: &[u8]) -> Option<usize> {
    let (mut sum, mut has_head) = (0, false);
    while !answer.is_empty() {
        let kind = number(&mut answer)?;
        let length = usize::try_from(number(&mut answer)?).ok()?;
        answer = answer.split_at_checked(length)?.1;
        match kind {
            HEADERS => has_head = true,
            DATA => sum += length,
            _ => {}
        }
    }
    has_head.then_some(sum)
}

/// A number of one, two, four or eight bytes (RFC 9000 §16).
fn number(text: &mut &[u8]) -> Option<u64> {
    let first = *text.first()?;
    let (bytes, rest) = text.split_at_checked(1 << (first >> 6))?;
    *text = rest;
    let start = u64::from(first & 0x3f);
    Some(bytes[1..].iter().fold(start, |sum, &byte| sum << 8 | u64::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_the_sum_of_its_frames() {
        for (answer, expected) in [
            (&[1, 1, 0, 0, 2, 7, 7, 0, 1, 7][..], Some(3)),
            (&[1, 0, 0x21, 1, 9, 0, 0], Some(0)),
            (&[0, 1, 7], None),
            (&[1, 0, 0, 2, 7], None),
            (&[1, 0, 0x40, 0x01, 7], Some(0)),
        ] {
            assert_eq!(body_bytes(answer), expected, "{answer:?}");
        }
    }

    #[test]
    fn a_request_names_what_it_wants() {
        let expected = b"\x01\x40\x09\x00\x00\xd1\xd7\x50\x01a\x51\x01/".to_vec();
        let mut expected = expected;
        expected[2] = (expected.len() - 3) as u8;
        assert_eq!(request("a", "/"), expected);
    }
}
