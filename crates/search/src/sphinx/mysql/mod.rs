//! The server's side of MySQL's protocol, as much of it as SphinxQL needs.
//!
//! In: packets of a client. Out: packets in the forms that searchd 2.2.11 sends.
//! Law: the client/server protocol 4.1: a greeting, a login of whatever name and password,
//! commands, and results as text.
//! Invariants: 1. a packet of more than [`PACKET_BYTES_MAX`] bytes is not read. 2. numbers of
//! packets run on within an exchange, and begin anew with each command.

mod result;

pub use result::{Reply, write};

/// searchd's `max_packet_size`.
pub const PACKET_BYTES_MAX: usize = 8 << 20;
const PIECE_BYTES_MAX: usize = 0xff_ffff;
pub(crate) const HEAD_BYTES: usize = 4;
/// Clients take the part of the name before a dash for the version.
const VERSION: &str = "2.2.11-id64-wick";
/// Columns in UTF-8.
const LETTERS: u8 = 33;

/// What a client wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// It goes.
    Quit,
    /// A database is chosen: there is but one, under any name.
    Database,
    /// Whether anybody is there.
    Ping,
    /// A statement, or several.
    Query(&'a str),
    /// Statements are prepared by the client, or not at all.
    Prepare,
    /// A statement that isn't text.
    Unreadable,
    /// Anything else, by its number.
    Unknown(u8),
}

/// Reads a command from a packet's bytes.
#[must_use]
pub fn read(packet: &[u8]) -> Command<'_> {
    let Some((number, rest)) = packet.split_first() else { return Command::Unknown(0) };
    match number {
        1 => Command::Quit,
        2 => Command::Database,
        3 => std::str::from_utf8(rest).map_or(Command::Unreadable, Command::Query),
        14 => Command::Ping,
        22 => Command::Prepare,
        other => Command::Unknown(*other),
    }
}

/// How many bytes of a packet follow its head, and its number.
#[must_use]
pub fn read_head([low, middle, high, number]: [u8; HEAD_BYTES]) -> (usize, u8) {
    (u32::from_le_bytes([low, middle, high, 0]) as usize, number)
}

/// Whether a packet goes on in the next.
#[must_use]
pub fn goes_on(length: usize) -> bool {
    length == PIECE_BYTES_MAX
}

/// The first packet: who we are. What follows the salt says that no plugin is needed.
#[must_use]
pub fn greeting(connection: u32) -> Vec<u8> {
    // Protocol 4.1, a database on login, and logins of 20 bytes.
    const ABILITIES: u16 = 0x8208;
    const AUTOCOMMIT: u16 = 2;
    let mut body = vec![10];
    body.extend_from_slice(VERSION.as_bytes());
    body.push(0);
    body.extend_from_slice(&connection.to_le_bytes());
    body.extend_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8, 0]);
    body.extend_from_slice(&ABILITIES.to_le_bytes());
    body.push(LETTERS);
    body.extend_from_slice(&AUTOCOMMIT.to_le_bytes());
    body.extend_from_slice(&[0; 13]);
    body.extend_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0]);
    let mut packets = Packets::new(0);
    packets.add(&body);
    packets.out
}

/// An answer's packets as they grow.
#[derive(Debug)]
pub(crate) struct Packets {
    pub(crate) out: Vec<u8>,
    number: u8,
}

impl Packets {
    /// The first packet has `number`.
    pub(crate) fn new(number: u8) -> Self {
        Self { out: Vec::new(), number }
    }

    pub(crate) fn add(&mut self, body: &[u8]) {
        for piece in body.chunks(PIECE_BYTES_MAX) {
            self.piece(piece);
        }
        // A full piece is never the last, and an empty body is a piece as well.
        if body.len().is_multiple_of(PIECE_BYTES_MAX) {
            self.piece(&[]);
        }
    }

    fn piece(&mut self, piece: &[u8]) {
        let [low, middle, high, ..] = piece.len().to_le_bytes();
        self.out.extend_from_slice(&[low, middle, high, self.number]);
        self.out.extend_from_slice(piece);
        self.number = self.number.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_apart() {
        assert_eq!(read(b"\x03SELECT 1"), Command::Query("SELECT 1"));
        assert_eq!(read(b"\x03\xff"), Command::Unreadable);
        assert_eq!(read(b"\x16SELECT ?"), Command::Prepare);
        assert_eq!(read(b"\x0e"), Command::Ping);
        assert_eq!(read(b"\x02db"), Command::Database);
        assert_eq!(read(b"\x01"), Command::Quit);
        assert_eq!(read(b"\x09"), Command::Unknown(9));
        assert_eq!(read(b""), Command::Unknown(0));
    }

    #[test]
    fn a_full_piece_is_followed_by_another() {
        let mut packets = Packets::new(1);
        packets.add(&vec![7; PIECE_BYTES_MAX]);
        assert_eq!(packets.out.len(), PIECE_BYTES_MAX + 8);
        assert!(packets.out.ends_with(&[0, 0, 0, 2]));
        packets.add(b"x");
        assert!(packets.out.ends_with(&[1, 0, 0, 3, b'x']));
    }
}
