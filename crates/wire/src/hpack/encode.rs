//! Fields of answers: by the static table, or as they are, and never entered into a table.
//!
//! So a field is the same bytes wherever it stands, and writing one needs nothing but room.

use crate::hpack::parts::{push_number, push_text};
use crate::hpack::table;

/// Stands before the first head of a connection: what we write refers to no table, whatever
/// size of one the client allows (RFC 7541 §4.2).
pub const NO_TABLE: u8 = 0b0010_0000;

/// The first entry of the static table that is a status, and those that follow.
const STATUSES: [(u16, u8); 7] =
    [(200, 8), (204, 9), (206, 10), (304, 11), (400, 12), (404, 13), (500, 14)];
/// Longer names are not in the table.
const NAME_BYTES_MAX: usize = 32;
/// Whatever compresses a head again must not enter this either (RFC 7541 §7.1.3).
const NEVER_INDEXED: u8 = 0b0001_0000;

/// Appends the status of an answer, with which its head begins.
pub fn push_status(out: &mut Vec<u8>, status: u16) {
    if let Some((_, number)) = STATUSES.iter().find(|(known, _)| *known == status) {
        out.push(0b1000_0000 | number);
        return;
    }
    out.push(8);
    out.push(3);
    out.extend([status / 100 % 10, status / 10 % 10, status % 10].map(|digit| b'0' + digit as u8));
}

/// Appends a field; its name may be in any letter case, and is sent in lower case.
pub fn push_field(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    // Most names are in lower case, or in the table, or both.
    match number(name).or_else(|| number_in_any_case(name)) {
        Some(number) => {
            let kind = if number == SET_COOKIE { NEVER_INDEXED } else { 0 };
            push_number(out, kind, 4, usize::from(number));
        }
        None => {
            out.push(0);
            push_number(out, 0, 7, name.len());
            let start = out.len();
            out.extend_from_slice(name);
            out[start..].make_ascii_lowercase();
        }
    }
    push_text(out, value);
}

fn number_in_any_case(name: &[u8]) -> Option<u8> {
    if !name.iter().fold(false, |found, byte| found | byte.is_ascii_uppercase()) {
        return None;
    }
    let mut lower = [0; NAME_BYTES_MAX];
    let lower = lower.get_mut(..name.len())?;
    lower.copy_from_slice(name);
    lower.make_ascii_lowercase();
    number(lower)
}

const SET_COOKIE: u8 = 55;

/// The number of a name in the static table, as far as answers bear it.
fn number(name: &[u8]) -> Option<u8> {
    Some(match name {
        b"accept-ranges" => 18,
        b"access-control-allow-origin" => 20,
        b"age" => 21,
        b"allow" => 22,
        b"cache-control" => 24,
        b"content-disposition" => 25,
        b"content-encoding" => 26,
        b"content-language" => 27,
        b"content-length" => 28,
        b"content-location" => 29,
        b"content-range" => 30,
        b"content-type" => 31,
        b"date" => 33,
        b"etag" => 34,
        b"expires" => 36,
        b"last-modified" => 44,
        b"link" => 45,
        b"location" => 46,
        b"refresh" => 52,
        b"retry-after" => 53,
        b"server" => 54,
        b"set-cookie" => SET_COOKIE,
        b"strict-transport-security" => 56,
        b"vary" => 59,
        b"via" => 60,
        b"www-authenticate" => 61,
        _ => return None,
    })
}

// The table is read by who decodes; here its numbers are written out, and held against it.
const _: () = assert!(table::FIELDS.len() == 61);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hpack::{BlockError, Decoder};

    #[test]
    fn every_number_is_that_of_the_table() {
        let mut seen = 0;
        for (place, (name, _)) in table::FIELDS.iter().enumerate() {
            if let Some(number) = number(name.as_bytes()) {
                assert_eq!(usize::from(number), place + 1, "{name}");
                seen += 1;
            }
        }
        assert_eq!(seen, 26);
        for (status, number) in STATUSES {
            let expected = (":status", &*status.to_string());
            let (name, value) = table::FIELDS[usize::from(number) - 1];
            assert_eq!((name, value), expected);
        }
    }

    #[test]
    fn fields_come_back_in_lower_case_and_known_names_are_short() {
        let long = "y".repeat(70_000);
        for (name, value, bytes) in [
            ("Content-Type", "text/html", Some(2 + 1 + 9)),
            ("age", "", Some(2 + 1)),
            ("Set-Cookie", "a=b", Some(2 + 1 + 3)),
            ("a", "", Some(4)),
            ("X-A-Name-That-Is-Longer-Than-Those-Of-The-Table", "value", None),
            ("x", &long, None),
        ] {
            let mut block = Vec::new();
            push_field(&mut block, name.as_bytes(), value.as_bytes());
            if let Some(bytes) = bytes {
                assert!(block.len() <= bytes, "{name}: {value}");
            }
            assert_eq!(read(&block), [(name.to_lowercase(), value.to_owned())]);
        }
    }

    #[test]
    fn statuses_come_back() {
        for status in [100, 103, 200, 204, 206, 304, 307, 400, 404, 500, 599, 999] {
            let mut block = vec![NO_TABLE];
            push_status(&mut block, status);
            assert_eq!(read(&block), [(":status".to_owned(), status.to_string())]);
        }
    }

    fn read(block: &[u8]) -> Vec<(String, String)> {
        let mut seen = Vec::new();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
        let read: Result<(), BlockError<()>> =
            Decoder::default().decode(block, 1 << 20, |name, value| {
                seen.push((text(name), text(value)));
                Ok(())
            });
        assert_eq!(read, Ok(()));
        seen
    }
}
