//! The environment as name-value pairs, each length in one byte or in four.
//!
//! Law: FastCGI §3.4.

/// Appends one pair.
pub fn encode_param(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    if name.len() < 0x80 && value.len() < 0x80 {
        out.extend_from_slice(&[name.len() as u8, value.len() as u8]);
    } else {
        write_length(out, name.len());
        write_length(out, value.len());
    }
    out.extend_from_slice(name);
    out.extend_from_slice(value);
}

/// Reads pairs back; none if the bytes end in the middle of one.
#[must_use]
pub fn decode_params(mut bytes: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let mut pairs = Vec::new();
    while !bytes.is_empty() {
        let name_length = read_length(&mut bytes)?;
        let value_length = read_length(&mut bytes)?;
        let (name, rest) = bytes.split_at_checked(name_length)?;
        let (value, rest) = rest.split_at_checked(value_length)?;
        pairs.push((name, value));
        bytes = rest;
    }
    Some(pairs)
}

fn write_length(out: &mut Vec<u8>, length: usize) {
    if length < 0x80 {
        out.push(length as u8);
    } else {
        // The limit on message heads lies far below 2^31, so the top bit is free.
        out.extend_from_slice(&(length as u32 | 0x8000_0000).to_be_bytes());
    }
}

fn read_length(bytes: &mut &[u8]) -> Option<usize> {
    let (length, rest) = match **bytes {
        [short, ..] if short < 0x80 => (usize::from(short), &bytes[1..]),
        [a, b, c, d, ..] => (u32::from_be_bytes([a & 0x7f, b, c, d]) as usize, &bytes[4..]),
        _ => return None,
    };
    *bytes = rest;
    Some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_survive_the_trip_at_the_lengths_where_the_form_changes() {
        for length in [0, 1, 127, 128, 255, 70_000] {
            let value = vec![b'v'; length];
            let mut bytes = Vec::new();
            encode_param(&mut bytes, b"NAME", &value);
            encode_param(&mut bytes, &value, b"");
            let pairs = decode_params(&bytes);
            assert_eq!(pairs, Some(vec![(&b"NAME"[..], &value[..]), (&value[..], &b""[..])]));
            for cut in 1..bytes.len().min(300) {
                let shortened = decode_params(&bytes[..cut]);
                assert!(shortened.is_none_or(|pairs| pairs.len() == 1), "{length} cut at {cut}");
            }
        }
    }

    #[test]
    fn the_bytes_are_those_of_the_specification() {
        let mut bytes = Vec::new();
        encode_param(&mut bytes, b"AB", &[b'c'; 128]);
        assert_eq!(bytes[..7], [2, 0x80, 0, 0, 128, b'A', b'B']);
    }
}
