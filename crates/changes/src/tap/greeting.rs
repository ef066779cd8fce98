//! Greetings: how a conversation begins, and what both sides agree on.
//!
//! Law: the handshake of the client/server protocol 4.1, with MariaDB's addition.

use std::sync::Arc;

use crate::binlog::bytes::Bytes;

/// What both sides agree on, by its bit.
pub(super) mod ability {
    /// Set by MySQL; MariaDB leaves it out and says more elsewhere.
    pub(in super::super) const MYSQL: u64 = 1;
    pub(in super::super) const DATABASE: u64 = 1 << 3;
    pub(in super::super) const COMPRESSION: u64 = 1 << 5;
    pub(in super::super) const PROTOCOL_41: u64 = 1 << 9;
    pub(in super::super) const TLS: u64 = 1 << 11;
    pub(in super::super) const SECURE_LOGIN: u64 = 1 << 15;
    pub(in super::super) const SEVERAL_STATEMENTS: u64 = 1 << 16;
    pub(in super::super) const PACKED_LOGIN: u64 = 1 << 21;
    /// Results end in an OK packet.
    pub(in super::super) const NO_EOF: u64 = 1 << 24;
    pub(in super::super) const ZSTD: u64 = 1 << 26;
    /// Statements come with named values before their text.
    pub(in super::super) const ATTRIBUTES: u64 = 1 << 27;
    /// MariaDB: columns that the client has already aren't sent again.
    pub(in super::super) const KEPT_COLUMNS: u64 = 1 << (32 + 4);
}

/// Reads the server's first packet: what it is able to, and how it stands.
pub(super) fn read_server(body: &[u8]) -> Option<(u64, u16)> {
    const VERSION: u8 = 10;
    let mut bytes = Bytes(body);
    if bytes.byte()? != VERSION {
        return None;
    }
    text(&mut bytes)?;
    bytes.take(4 + 8 + 1)?;
    let low = bytes.number(2)?;
    bytes.take(1)?;
    let status = u16::try_from(bytes.number(2)?).ok()?;
    let high = bytes.number(2)?;
    bytes.take(1 + 6)?;
    let more = bytes.number(4)?;
    let abilities = low | high << 16;
    let is_mysql = abilities & ability::MYSQL != 0;
    Some((abilities | if is_mysql { 0 } else { more << 32 }, status))
}

/// What a client answers to the greeting.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Login {
    pub(super) abilities: u64,
    pub(super) database: Arc<str>,
    /// Whether a backslash may be the second byte of a letter.
    pub(super) has_odd_letters: bool,
}

/// Reads the client's first packet. Where the database can't be made out it is empty.
pub(super) fn read_client(body: &[u8]) -> Option<Login> {
    let mut bytes = Bytes(body);
    let low = bytes.number(4)?;
    bytes.take(4)?;
    let letters = bytes.number(1)?;
    bytes.take(19)?;
    let more = bytes.number(4)?;
    let is_mysql = low & ability::MYSQL != 0;
    let abilities = low | if is_mysql { 0 } else { more << 32 };
    let database = database(abilities, bytes).unwrap_or_default();
    Some(Login { abilities, database, has_odd_letters: is_odd(letters) })
}

fn database(abilities: u64, mut bytes: Bytes<'_>) -> Option<Arc<str>> {
    text(&mut bytes)?;
    if abilities & ability::PACKED_LOGIN != 0 {
        let length = bytes.packed()?;
        bytes.take(length)?;
    } else if abilities & ability::SECURE_LOGIN != 0 {
        bytes.counted(1)?;
    } else {
        text(&mut bytes)?;
    }
    if abilities & ability::DATABASE == 0 {
        return None;
    }
    name(text(&mut bytes)?)
}

/// The database and the letters of who logs in anew on the same connection.
pub(super) fn read_change(abilities: u64, body: &[u8]) -> (Arc<str>, bool) {
    let mut bytes = Bytes(body);
    let mut read = || {
        text(&mut bytes)?;
        if abilities & ability::SECURE_LOGIN != 0 {
            bytes.counted(1)?;
        } else {
            text(&mut bytes)?;
        }
        let database = name(text(&mut bytes)?)?;
        Some((database, bytes.number(2).is_some_and(is_odd)))
    };
    read().unwrap_or((Arc::default(), true))
}

/// A database's name, if its letters are ours.
pub(super) fn name(bytes: &[u8]) -> Option<Arc<str>> {
    std::str::from_utf8(bytes).ok().map(Into::into)
}

/// Text up to a zero, or to the end.
fn text<'a>(bytes: &mut Bytes<'a>) -> Option<&'a [u8]> {
    let end = bytes.0.iter().position(|byte| *byte == 0);
    let text = bytes.take(end.unwrap_or(bytes.0.len()))?;
    bytes.take(usize::from(end.is_some()))?;
    Some(text)
}

/// Big5, SJIS, EUC, GB2312, GBK, CP932, GB18030, by the numbers of their collations.
fn is_odd(letters: u64) -> bool {
    matches!(letters, 1 | 12 | 13 | 19 | 24 | 28 | 84..=88 | 91 | 95..=98 | 248..=250)
        // Those of MariaDB that don't pad are 1024 further.
        || letters > 1024 && is_odd(letters - 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_are_read() {
        let server = [
            b"\x0a5.5.5-10.11\0".as_slice(),
            &[0; 13],
            &[0xfe, 0xf7, 33, 2, 0, 0xff, 0x81, 21],
            &[0; 6],
            &[0x1d, 0, 0, 0],
        ]
        .concat();
        assert_eq!(read_server(&server), Some((0x1d_81ff_f7fe, 2)));
        let abilities = ability::DATABASE | ability::SECURE_LOGIN | ability::MYSQL;
        let client = [
            &u32::try_from(abilities).expect("small").to_le_bytes()[..],
            &[0, 0, 0, 1, 28],
            &[0; 23],
            b"app\0\x03abcsite\0mysql_native_password\0",
        ]
        .concat();
        let login = read_client(&client).expect("a login");
        assert_eq!((&*login.database, login.has_odd_letters), ("site", true));
        assert_eq!(login.abilities, abilities);
        let change = read_change(abilities, b"app\0\x03abcsite\0\x2d\0");
        assert_eq!(change, ("site".into(), false));
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let body: Vec<u8> = (0..=255).cycle().skip(10).take(600).collect();
        for end in 0..body.len() {
            let _ = (read_server(&body[..end]), read_client(&body[..end]));
            let _ = (read_client(&body[end..]), read_change(1 << 15, &body[..end]));
        }
    }
}
