//! Values as a statement writes them.
//!
//! Invariants: 1. nothing that a client sent stands in a statement as it was sent: numbers are
//! digits, bytes are hexadecimal, and a text of any letter but a few is hexadecimal too. So no
//! statement of many rows needs placeholders, of which a server takes only so many. 2. a
//! number larger than its column is written as the largest that fits, where it is set; where
//! it is added the server refuses the row, and nothing is lost unseen.

use super::contract::{Dialect, Times};

/// A value of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Nothing,
    Number(u64),
    Bytes(Vec<u8>),
    Text(String),
    /// Unix seconds, to be written as the contract writes times.
    Time(u32),
}

impl Value {
    /// Writes it; a number is no larger than `max`.
    pub(crate) fn write(&self, dialect: Dialect, times: Times, max: u64, into: &mut String) {
        match self {
            // Without a type it would be a text there; only numbers are ever nothing.
            Self::Nothing if dialect == Dialect::Postgres => into.push_str("NULL::bigint"),
            Self::Nothing => into.push_str("NULL"),
            Self::Number(number) => into.push_str(&fit(*number, dialect, max).to_string()),
            Self::Bytes(bytes) => write_bytes(bytes, dialect, into),
            Self::Text(text) if text.bytes().all(is_plain) => {
                into.push('\'');
                into.push_str(text);
                into.push('\'');
            }
            Self::Text(text) => write_text(text, dialect, into),
            Self::Time(seconds) if times == Times::Unix => into.push_str(&seconds.to_string()),
            Self::Time(seconds) => {
                into.push('\'');
                into.push_str(&utc(*seconds));
                into.push('\'');
            }
        }
    }

    /// The same as what SQLite binds to a place in a statement.
    pub(crate) fn bound(self, times: Times, max: u64) -> rusqlite::types::Value {
        use rusqlite::types::Value as Bound;
        let number = |number| i64::try_from(fit(number, Dialect::Sqlite, max)).unwrap_or(i64::MAX);
        match self {
            Self::Nothing => Bound::Null,
            Self::Number(value) => Bound::Integer(number(value)),
            Self::Bytes(bytes) => Bound::Blob(bytes),
            Self::Text(text) => Bound::Text(text),
            Self::Time(seconds) if times == Times::Unix => Bound::Integer(seconds.into()),
            Self::Time(seconds) => Bound::Text(utc(seconds)),
        }
    }
}

/// The number as it is written: the largest that fits, where it doesn't.
fn fit(number: u64, dialect: Dialect, max: u64) -> u64 {
    // The other two have no unsigned numbers.
    let most = if dialect == Dialect::MySql { u64::MAX } else { i64::MAX as u64 };
    number.min(max).min(most)
}

/// Letters that no server reads as anything but themselves.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.: ".contains(&byte)
}

fn write_hex(bytes: &[u8], into: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        into.push(char::from(DIGITS[usize::from(byte >> 4)]));
        into.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}

fn write_bytes(bytes: &[u8], dialect: Dialect, into: &mut String) {
    let (before, after) = match dialect {
        Dialect::MySql | Dialect::Sqlite => ("X'", "'"),
        Dialect::Postgres => ("'\\x", "'::bytea"),
    };
    into.push_str(before);
    write_hex(bytes, into);
    into.push_str(after);
}

fn write_text(text: &str, dialect: Dialect, into: &mut String) {
    let (before, after) = match dialect {
        Dialect::MySql => ("X'", "'"),
        Dialect::Sqlite => ("CAST(X'", "' AS TEXT)"),
        Dialect::Postgres => ("convert_from('\\x", "'::bytea, 'UTF8')"),
    };
    into.push_str(before);
    write_hex(text.as_bytes(), into);
    into.push_str(after);
}

/// A name of a table or a column. A dot parts the database from the table.
pub(crate) fn quoted(name: &str, dialect: Dialect) -> String {
    let quote = if dialect == Dialect::MySql { "`" } else { "\"" };
    let part = |part: &str| format!("{quote}{}{quote}", part.replace(quote, &quote.repeat(2)));
    name.split('.').map(part).collect::<Vec<_>>().join(".")
}

/// `2026-11-22 19:44:00` of unix seconds.
pub(crate) fn utc(seconds: u32) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Years that begin in March have their odd day last; 719,468 days lie between year 0
    // and 1970.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let from_march = (5 * day + 2) / 153;
    let day = day - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year + era * 400 + u32::from(month <= 2);
    let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: Value, dialect: Dialect, expected: &str) {
        let mut written = String::new();
        value.write(dialect, Times::Utc, 1_000, &mut written);
        assert_eq!(written, expected);
    }

    #[test]
    fn values_are_written_so_that_nothing_in_them_is_read_as_sql() {
        use Dialect::{MySql, Postgres, Sqlite};
        check(Value::Nothing, MySql, "NULL");
        check(Value::Number(7), MySql, "7");
        check(Value::Number(70_000), MySql, "1000");
        check(Value::Text("-TR4050-".into()), MySql, "'-TR4050-'");
        check(Value::Text("a'\\b".into()), MySql, "X'61275c62'");
        check(Value::Text("a'".into()), Sqlite, "CAST(X'6127' AS TEXT)");
        check(Value::Text("a'".into()), Postgres, "convert_from('\\x6127'::bytea, 'UTF8')");
        check(Value::Bytes(vec![0, 255]), MySql, "X'00ff'");
        check(Value::Bytes(vec![0, 255]), Postgres, "'\\x00ff'::bytea");
        check(Value::Time(1_795_376_640), MySql, "'2026-11-22 19:44:00'");
    }

    #[test]
    fn days_are_counted_over_leap_years() {
        for (seconds, expected) in [
            (0, "1970-01-01 00:00:00"),
            (951_782_400, "2000-02-29 00:00:00"),
            (951_868_799, "2000-02-29 23:59:59"),
            (1_709_251_200, "2024-03-01 00:00:00"),
            (4_102_444_799, "2099-12-31 23:59:59"),
            (4_107_542_400, "2100-03-01 00:00:00"),
        ] {
            assert_eq!(utc(seconds), expected);
        }
    }
}
