//! Fields as a block that anybody can read: by the static table, or as they are.
//!
//! Nothing is entered into a table, so a field is the same bytes wherever it stands.

use crate::hpack::parts::{push_number, push_text};
use crate::qpack::table;

const STATUS: &[u8] = b":status";

/// What a block begins with: nothing of the dynamic table is needed.
pub const NO_TABLE: [u8; 2] = [0, 0];

/// Appends a block with these fields.
pub fn encode<'a>(fields: impl Iterator<Item = (&'a str, &'a [u8])>, out: &mut Vec<u8>) {
    out.extend_from_slice(&NO_TABLE);
    for (name, value) in fields {
        push_field(out, name.as_bytes(), value);
    }
}

/// Appends a field, whose name is in lower case.
pub fn push_field(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    let Some(first) = first_entry(name) else {
        push_number(out, 0b0010_0000, 3, name.len());
        out.extend_from_slice(name);
        push_text(out, value);
        return;
    };
    // All of one name stand together, but for statuses.
    let is_status = name == STATUS;
    let near = table::FIELDS[first..].iter();
    let near = near.take_while(|entry| is_status || entry.0.as_bytes() == name);
    let mut known = near.map(|(other, known)| (other.as_bytes(), known.as_bytes()));
    match known.position(|known| known == (name, value)) {
        Some(place) => push_number(out, 0b1100_0000, 6, first + place),
        None => {
            push_number(out, 0b0101_0000, 4, first);
            push_text(out, value);
        }
    }
}

/// Where the static table begins to name what answers bear.
fn first_entry(name: &[u8]) -> Option<usize> {
    Some(match name {
        STATUS => 24,
        b"age" => 2,
        b"content-disposition" => 3,
        b"content-length" => 4,
        b"date" => 6,
        b"etag" => 7,
        b"last-modified" => 10,
        b"link" => 11,
        b"location" => 12,
        b"set-cookie" => 14,
        b"accept-ranges" => 32,
        b"access-control-allow-origin" => 35,
        b"cache-control" => 36,
        b"content-encoding" => 42,
        b"content-type" => 44,
        b"strict-transport-security" => 56,
        b"vary" => 59,
        b"x-content-type-options" => 61,
        b"x-xss-protection" => 62,
        b"alt-svc" => 83,
        b"content-security-policy" => 85,
        b"server" => 92,
        b"x-frame-options" => 97,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qpack::{BlockError, decode};

    #[test]
    fn every_entry_is_named_as_the_table_names_it() {
        for (place, (name, _)) in table::FIELDS.iter().enumerate() {
            if let Some(first) = first_entry(name.as_bytes()) {
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
