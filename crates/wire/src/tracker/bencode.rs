//! Bencoding (BEP 3): written by hand where answers are made, read here.
//!
//! In: bytes. Out: a [`Value`] that borrows from them. Strict: keys are sorted and none comes
//! twice, numbers have one form, nothing is left over.
//! Bounds: [`DEPTH_MAX`]; nothing is allocated for more than the bytes hold.

/// Lists and dictionaries within each other.
const DEPTH_MAX: usize = 32;

/// Something that is bencoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// A whole number.
    Number(i64),
    /// Bytes.
    Bytes(&'a [u8]),
    /// One after the other.
    List(Vec<Value<'a>>),
    /// By key, in their order.
    Dictionary(Vec<(&'a [u8], Value<'a>)>),
}

impl<'a> Value<'a> {
    /// The value that all of these bytes are; none if they are none.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        let (value, rest) = value(bytes, DEPTH_MAX)?;
        rest.is_empty().then_some(value)
    }

    /// What a dictionary has under a key.
    #[must_use]
    pub fn of(&self, key: &str) -> Option<&Self> {
        let Self::Dictionary(entries) = self else { return None };
        entries.iter().find(|(own, _)| *own == key.as_bytes()).map(|(_, value)| value)
    }

    /// It, if it is a number.
    #[must_use]
    pub fn number(&self) -> Option<i64> {
        if let Self::Number(number) = self { Some(*number) } else { None }
    }

    /// They, if it is bytes.
    #[must_use]
    pub fn bytes(&self) -> Option<&'a [u8]> {
        if let Self::Bytes(bytes) = self { Some(bytes) } else { None }
    }

    /// Appends it as it is written.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Number(number) => out.extend_from_slice(format!("i{number}e").as_bytes()),
            Self::Bytes(bytes) => put_bytes(out, bytes),
            Self::List(values) => {
                out.push(b'l');
                values.iter().for_each(|value| value.write(out));
                out.push(b'e');
            }
            Self::Dictionary(entries) => {
                out.push(b'd');
                for (key, value) in entries {
                    put_bytes(out, key);
                    value.write(out);
                }
                out.push(b'e');
            }
        }
    }
}

/// Appends bytes with their length.
pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_digits(out, bytes.len() as u64);
    out.push(b':');
    out.extend_from_slice(bytes);
}

/// Appends a number's digits.
pub(super) fn put_digits(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

fn value(bytes: &[u8], depth: usize) -> Option<(Value<'_>, &[u8])> {
    let depth = depth.checked_sub(1)?;
    let (&first, rest) = bytes.split_first()?;
    match first {
        b'i' => {
            let (digits, rest) = rest.split_at_checked(memchr::memchr(b'e', rest)?)?;
            Some((Value::Number(number(digits)?), &rest[1..]))
        }
        b'l' => {
            let (mut values, mut rest) = (Vec::new(), rest);
            while *rest.first()? != b'e' {
                let (one, beyond) = value(rest, depth)?;
                values.push(one);
                rest = beyond;
            }
            Some((Value::List(values), &rest[1..]))
        }
        b'd' => {
            let (mut entries, mut rest) = (Vec::<(&[u8], Value<'_>)>::new(), rest);
            while *rest.first()? != b'e' {
                let (key, beyond) = string(rest)?;
                if entries.last().is_some_and(|(before, _)| *before >= key) {
                    return None;
                }
                let (one, beyond) = value(beyond, depth)?;
                entries.push((key, one));
                rest = beyond;
            }
            Some((Value::Dictionary(entries), &rest[1..]))
        }
        _ => string(bytes).map(|(bytes, rest)| (Value::Bytes(bytes), rest)),
    }
}

fn string(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = memchr::memchr(b':', bytes)?;
    let length = number(&bytes[..colon])?;
    bytes[colon + 1..].split_at_checked(usize::try_from(length).ok()?)
}

/// A number in its one form: no plus, no zeros before it, no negative nothing.
fn number(digits: &[u8]) -> Option<i64> {
    let unsigned = digits.strip_prefix(b"-").unwrap_or(digits);
    let is_plain = unsigned.first()?.is_ascii_digit()
        && (unsigned == b"0" || unsigned[0] != b'0')
        && digits != b"-0";
    is_plain.then(|| std::str::from_utf8(digits).ok()?.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_bencoded_is_read_and_written_as_it_was() {
        for text in ["i0e", "i-42e", "0:", "4:spam", "le", "de", "l4:spami7ee", "d1:ai1e1:bli2eee"]
        {
            let value = Value::read(text.as_bytes()).unwrap_or_else(|| panic!("{text}"));
            let mut out = Vec::new();
            value.write(&mut out);
            assert_eq!(String::from_utf8_lossy(&out), text);
        }
    }

    #[test]
    fn what_is_not_is_none() {
        for text in [
            "",
            "i",
            "ie",
            "i-0e",
            "i01e",
            "i+1e",
            "i1",
            "4:spa",
            "04:spam",
            "-1:",
            "l",
            "d",
            "d1:a",
            "d1:ae",
            "d1:bi1e1:ai1ee",
            "d1:ai1e1:ai1ee",
            "di1ei1ee",
            "i1ei1e",
            "99999999999999999999:",
        ] {
            assert_eq!(Value::read(text.as_bytes()), None, "{text}");
        }
        let deep = [vec![b'l'; DEPTH_MAX + 1], vec![b'e'; DEPTH_MAX + 1]].concat();
        assert_eq!(Value::read(&deep), None);
    }
}
