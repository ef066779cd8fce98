//! Records: the values of a row, as they lie in a file.
//!
//! Law: SQLite's file format, §2.1.

use super::pages::{Astray, varint};

/// A value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    Null,
    Integer(i64),
    /// The bytes of a number that isn't whole.
    Real(&'a [u8]),
    Text(&'a [u8]),
    Blob(&'a [u8]),
}

/// The values of a row, in the order of its table's columns. There may be fewer of them than
/// columns: some were added since it was written.
pub(crate) fn values(record: &[u8]) -> Result<Vec<Value<'_>>, Astray> {
    let mut rest = record;
    let head_bytes = usize::try_from(varint(&mut rest)?).map_err(|_| Astray)?;
    let before = record.len() - rest.len();
    let types = head_bytes.checked_sub(before).ok_or(Astray)?;
    let (mut types, mut content) = rest.split_at_checked(types).ok_or(Astray)?;
    let mut values = Vec::new();
    while !types.is_empty() {
        let kind = varint(&mut types)?;
        let bytes = match kind {
            0 | 8 | 9 => 0,
            1..=4 => kind,
            5 => 6,
            6 | 7 => 8,
            12.. => (kind - 12) / 2,
            _ => return Err(Astray),
        };
        let bytes = usize::try_from(bytes).map_err(|_| Astray)?;
        let (own, behind) = content.split_at_checked(bytes).ok_or(Astray)?;
        content = behind;
        values.push(match kind {
            0 => Value::Null,
            1..=6 => Value::Integer(integer(own)),
            7 => Value::Real(own),
            8 | 9 => Value::Integer(kind - 8),
            _ if kind % 2 == 0 => Value::Blob(own),
            _ => Value::Text(own),
        });
    }
    Ok(values)
}

/// Two's complement, the largest byte first.
fn integer(bytes: &[u8]) -> i64 {
    let sign = if bytes.first().is_some_and(|first| first & 0x80 != 0) { -1 } else { 0 };
    bytes.iter().fold(sign, |number, byte| number << 8 | i64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_by_their_types() {
        let record = [
            &[9, 0, 1, 2, 5, 7, 8, 9, 17][..],
            &[0xff],
            &[1, 0],
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xfe],
            &[0; 8],
            b"ab",
        ]
        .concat();
        let expected = [
            Value::Null,
            Value::Integer(-1),
            Value::Integer(256),
            Value::Integer(-2),
            Value::Real(&[0; 8]),
            Value::Integer(0),
            Value::Integer(1),
            Value::Text(b"ab"),
        ];
        assert_eq!(values(&record).as_deref(), Ok(&expected[..]));
        for wrong in [&[][..], &[9], &[2, 1], &[2, 10], &[0], &[2, 17, b'a']] {
            assert_eq!(values(wrong), Err(Astray), "{wrong:?}");
        }
    }
}
