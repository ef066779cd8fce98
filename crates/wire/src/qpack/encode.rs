//! Fields as a block that anybody can read: by the static table, or as they are.
//!
//! Texts are not coded: that would save a quarter of a head and cost more than sending it.

use crate::qpack::table;

const STATUS: &str = ":status";

/// Appends a block with these fields.
pub fn encode<'a>(fields: impl Iterator<Item = (&'a str, &'a [u8])>, out: &mut Vec<u8>) {
    // Nothing of the dynamic table is needed.
    out.extend_from_slice(&[0, 0]);
    for (name, value) in fields {
        let Some(first) = first_entry(name) else {
            number(out, 0b0010_0000, 3, name.len());
            out.extend_from_slice(name.as_bytes());
            text(out, value);
            continue;
        };
        // All of one name stand together, but for statuses.
        let is_status = name == STATUS;
        let near = table::FIELDS[first..].iter().take_while(|entry| is_status || entry.0 == name);
        let mut known = near.map(|(other, known)| (*other, known.as_bytes()));
        match known.position(|known| known == (name, value)) {
            Some(place) => number(out, 0b1100_0000, 6, first + place),
            None => {
                number(out, 0b0101_0000, 4, first);
                text(out, value);
            }
        }
    }
}

/// Where the static table begins to name what answers bear.
fn first_entry(name: &str) -> Option<usize> {
    Some(match name {
        STATUS => 24,
        "age" => 2,
        "content-disposition" => 3,
        "content-length" => 4,
        "date" => 6,
        "etag" => 7,
        "last-modified" => 10,
        "link" => 11,
        "location" => 12,
        "set-cookie" => 14,
        "accept-ranges" => 32,
        "access-control-allow-origin" => 35,
        "cache-control" => 36,
        "content-encoding" => 42,
        "content-type" => 44,
        "strict-transport-security" => 56,
        "vary" => 59,
        "x-content-type-options" => 61,
        "x-xss-protection" => 62,
        "alt-svc" => 83,
        "content-security-policy" => 85,
        "server" => 92,
        "x-frame-options" => 97,
        _ => return None,
    })
}

fn text(out: &mut Vec<u8>, text: &[u8]) {
    number(out, 0, 7, text.len());
    out.extend_from_slice(text);
}

/// A number in the last bits of a byte of which the others are given, and what follows it.
fn number(out: &mut Vec<u8>, first: u8, bits: u32, value: usize) {
    let most = (1usize << bits) - 1;
    if value < most {
        out.push(first | value as u8);
        return;
    }
    out.push(first | most as u8);
    let mut left = value - most;
    while left >= 0x80 {
        out.push(left as u8 | 0x80);
        left >>= 7;
    }
    out.push(left as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qpack::{BlockError, decode};

    #[test]
    fn every_entry_is_named_as_the_table_names_it() {
        for (place, (name, _)) in table::FIELDS.iter().enumerate() {
            if let Some(first) = first_entry(name) {
                assert_eq!(table::FIELDS[first].0, *name);
                assert!(place >= first, "{name}");
            }
        }
    }

    #[test]
    fn fields_come_back_and_known_ones_are_short() {
        let long = "y".repeat(70_000);
        for (name, value, bytes) in [
            (":status", "200", Some(1)),
            (":status", "204", Some(2)),
            (":status", "999", Some(6)),
            ("content-type", "text/html; charset=utf-8", Some(1)),
            ("content-type", "text/other", None),
            ("x-frame-options", "sameorigin", Some(2)),
            ("a", "", Some(3)),
            ("a-name-of-some-length", "value", None),
            ("x", &long, None),
        ] {
            let mut block = Vec::new();
            encode([(name, value.as_bytes())].into_iter(), &mut block);
            if let Some(bytes) = bytes {
                assert_eq!(block.len(), 2 + bytes, "{name}: {value}");
            }
            let mut seen = Vec::new();
            let read: Result<(), BlockError<()>> = decode(&block, 1 << 20, |name, value| {
                seen.push((name.to_vec(), value.to_vec()));
                Ok(())
            });
            assert_eq!(read, Ok(()));
            assert_eq!(seen, [(name.as_bytes().to_vec(), value.as_bytes().to_vec())]);
        }
    }
}
