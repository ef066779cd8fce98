//! Rows of a site as torrents and users.
//!
//! In: rows in the order of [`Asked`]'s fields, the number first. Out: [`Found`].
//! Invariant: a row that can't be read stands for nothing, and is counted.

use wire::tracker::{InfoHash, Passkey};

use super::contract::{Dialect, Field, Times};
use super::figure::LookedUp;
use super::link::Row;
use super::shape::Asked;
use super::value::Value;
use crate::rights::{Torrent, TorrentId, User, UserId, Worth};

/// What a row stands for.
#[derive(Clone, Debug)]
pub(crate) enum Found<T> {
    There(T),
    /// The site has marked it as gone.
    Gone,
    /// It can't be read.
    Unreadable,
}

impl<T> Found<T> {
    pub(crate) fn map<U>(self, make: impl FnOnce(T) -> U) -> Found<U> {
        match self {
            Self::There(there) => Found::There(make(there)),
            Self::Gone => Found::Gone,
            Self::Unreadable => Found::Unreadable,
        }
    }
}

impl Asked {
    /// The question for rows with numbers above `after`, `many` of them.
    pub(crate) fn after(&self, after: u32, many: usize) -> String {
        let Self { table, id, .. } = self;
        format!("{} WHERE {id} > {after} ORDER BY {id} LIMIT {many}", self.question(table))
    }

    /// The question for rows with these numbers.
    pub(crate) fn of(&self, ids: &[u32]) -> String {
        let ids: Vec<String> = ids.iter().map(u32::to_string).collect();
        format!("{} WHERE {} IN ({})", self.question(&self.table), self.id, ids.join(","))
    }

    /// The question for rows with one of these in a field; none where the table hasn't got it.
    pub(crate) fn with(&self, field: Field, values: &[Value], dialect: Dialect) -> Option<String> {
        let (_, column) = self.fields.iter().find(|(known, _)| *known == field)?;
        let mut text = format!("{} WHERE {column} IN (", self.question(&self.table));
        for (at, value) in values.iter().enumerate() {
            text.push_str(if at > 0 { "," } else { "" });
            value.write(dialect, Times::Unix, u64::MAX, &mut text);
        }
        text.push(')');
        (!values.is_empty()).then_some(text)
    }

    fn question(&self, table: &str) -> String {
        let fields: String = self.fields.iter().map(|(_, sql)| format!(", {sql}")).collect();
        format!("SELECT {}{fields} FROM {table}", self.id)
    }

    fn at(&self, field: Field) -> Option<usize> {
        self.fields.iter().position(|(known, _)| *known == field).map(|at| at + 1)
    }

    fn number(&self, row: &Row, field: Field) -> Option<u64> {
        row.number(self.at(field)?)
    }

    fn bytes<'a>(&self, row: &'a Row, field: Field) -> Option<&'a [u8]> {
        row.bytes(self.at(field)?)
    }

    fn small(&self, row: &Row, field: Field) -> Option<u32> {
        Some(u32::try_from(self.number(row, field)?).unwrap_or(u32::MAX))
    }

    fn is_gone(&self, row: &Row) -> bool {
        self.number(row, Field::Gone).is_some_and(|gone| gone != 0)
    }

    fn worth(&self, row: &Row) -> Worth {
        let hundredths = |field| {
            let told = self.number(row, field)?;
            Some(u16::try_from(told).unwrap_or(u16::MAX))
        };
        let usual = Worth::default();
        Worth {
            uploaded: hundredths(Field::WorthUploaded).unwrap_or(usual.uploaded),
            downloaded: hundredths(Field::WorthDownloaded).unwrap_or(usual.downloaded),
        }
    }

    /// The row's number; none beyond what a number may be.
    pub(crate) fn id(&self, row: &Row) -> Option<u32> {
        u32::try_from(row.number(0)?).ok()
    }

    pub(crate) fn torrent(&self, row: &Row) -> Found<Torrent> {
        if self.is_gone(row) {
            return Found::Gone;
        }
        let first = self.bytes(row, Field::InfoHash).and_then(info_hash);
        let second = self.bytes(row, Field::InfoHashV2).and_then(info_hash);
        let (Some(id), Some(hash)) = (self.id(row), first.or(second)) else {
            return Found::Unreadable;
        };
        Found::There(Torrent {
            id: TorrentId(id),
            info_hash: hash,
            info_hash_v2: second.filter(|second| *second != hash),
            completed: self.small(row, Field::Completed).unwrap_or(0),
            worth: self.worth(row),
            bytes: self.number(row, Field::Bytes).filter(|bytes| *bytes > 0),
            made: self.small(row, Field::Made).unwrap_or(0),
        })
    }

    pub(crate) fn user(&self, row: &Row) -> Found<User> {
        if self.is_gone(row) {
            return Found::Gone;
        }
        let Some(id) = self.id(row) else { return Found::Unreadable };
        let small = |field| {
            let told = self.number(row, field).unwrap_or(0);
            u16::try_from(told).unwrap_or(u16::MAX)
        };
        Found::There(User {
            id: UserId(id),
            passkey: self.bytes(row, Field::Passkey).and_then(passkey),
            passkey_version: self.small(row, Field::PasskeyVersion).unwrap_or(0),
            may_leech: self.number(row, Field::MayLeech) != Some(0),
            wait_seconds: self.small(row, Field::WaitSeconds).unwrap_or(0),
            peers_max: small(Field::PeersMax),
            torrents_max: small(Field::TorrentsMax),
            worth: self.worth(row),
        })
    }

    /// What a peer's row is made of, beside the credit; `torrent` is a row of the other table.
    pub(crate) fn looked_up(&self, user: &Row, torrents: &Self, torrent: &Row) -> Option<LookedUp> {
        let first = torrents.bytes(torrent, Field::InfoHash).and_then(info_hash);
        let second = || torrents.bytes(torrent, Field::InfoHashV2).and_then(info_hash);
        Some(LookedUp {
            passkey: self.bytes(user, Field::Passkey).and_then(passkey)?,
            info_hash: first.or_else(second)?,
            poster: torrents.small(torrent, Field::Poster),
            kind: torrents.small(torrent, Field::Kind).unwrap_or(0),
        })
    }
}

/// A passkey of a column; one of a fixed width ends in spaces or zeros.
fn passkey(bytes: &[u8]) -> Option<Passkey> {
    let end = bytes.iter().rposition(|byte| !matches!(byte, 0 | b' '))? + 1;
    Passkey::new(&bytes[..end])
}

/// 20 bytes, or the first 20 of 32, or either in hexadecimal.
pub(crate) fn info_hash(bytes: &[u8]) -> Option<InfoHash> {
    let decoded = match bytes.len() {
        40 | 64 => hexadecimal(bytes)?,
        20 | 32 => bytes.to_vec(),
        _ => return None,
    };
    decoded[..20].try_into().ok().map(InfoHash)
}

/// Bytes of hexadecimal digits, of either case.
pub(crate) fn hexadecimal(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pair = |pair: &[u8]| Some(digit(pair[0])? << 4 | digit(*pair.get(1)?)?);
    digits.chunks(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_bytes_or_digits_and_long_ones_are_cut() {
        let expected = Some(InfoHash([0xab; 20]));
        assert_eq!(info_hash(&[0xab; 20]), expected);
        assert_eq!(info_hash(&[0xab; 32]), expected);
        assert_eq!(info_hash("aB".repeat(20).as_bytes()), expected);
        assert_eq!(info_hash("ab".repeat(32).as_bytes()), expected);
        for wrong in [&b""[..], b"ab", &[b'g'; 40], &[0; 21]] {
            assert_eq!(info_hash(wrong), None);
        }
    }

    #[test]
    fn passkeys_lose_what_fills_their_column() {
        let shown = |bytes: &[u8]| passkey(bytes).map(|passkey| passkey.expose().to_vec());
        assert_eq!(shown(b"abc123   "), Some(b"abc123".to_vec()));
        assert_eq!(shown(b"abc\0\0"), Some(b"abc".to_vec()));
        assert_eq!(shown(b"    "), None);
        assert_eq!(shown(b"a b"), None);
    }
}
