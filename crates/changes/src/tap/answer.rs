//! Answers: what a server says about a command, by the packet's first byte.
//!
//! Invariant: a packet is taken for an end only if it is too short to be a row.

use super::act::Doubt;
use super::greeting::ability;
use super::packets::Packet;
use crate::binlog::bytes::Bytes;

pub(super) const ERROR: u8 = 0xff;
const OK: u8 = 0;
const FILE: u8 = 0xfb;
const END: u8 = 0xfe;
/// The number of an error that is none, but says how far the server is.
const PROGRESS: u64 = 0xffff;
/// A row that begins like an end has at least a length of eight bytes after that…
const END_BYTES_MAX: usize = 8;
/// …and, where ends may be longer, is itself longer than this.
const LONG_END_BYTES_MAX: usize = 0xff_fffe;
/// A table has fewer columns; a larger number is no number of columns.
const COLUMNS_MAX: usize = 0xffff;

/// What a packet says, if it isn't part of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// It is done, and so many rows were changed.
    Ok(u64, Status),
    /// The end of a result.
    End(Status),
    Error,
    Progress,
    /// The client shall send a file.
    File,
}

/// How a connection stands after an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Status {
    /// Whether a transaction is open.
    pub(super) is_open: bool,
    /// Whether another answer to the same command follows.
    pub(super) has_more: bool,
    /// Whether the rows are fetched by commands of their own.
    pub(super) has_cursor: bool,
    pub(super) has_warnings: bool,
    pub(super) doubt: Doubt,
}

impl Status {
    fn of(flags: u64, warnings: u64) -> Self {
        let has = |flag| flags & flag != 0;
        Self {
            is_open: has(1),
            has_more: has(1 << 3),
            has_cursor: has(1 << 6),
            has_warnings: warnings > 0,
            doubt: Doubt {
                of_letters: false,
                of_backslashes: has(1 << 9),
                of_quotes: has(1 << 15),
            },
        }
    }
}

/// Reads a packet; none for a part of a result, and for what is cut short.
pub(super) fn read_answer(packet: Packet<'_>, abilities: u64) -> Option<Answer> {
    let mut bytes = Bytes(packet.kept);
    let has_long_ends = abilities & ability::NO_EOF != 0;
    match bytes.byte()? {
        OK => ok(bytes).map(|(rows, status)| Answer::Ok(rows, status)),
        ERROR if bytes.number(2) == Some(PROGRESS) => Some(Answer::Progress),
        ERROR => Some(Answer::Error),
        FILE => Some(Answer::File),
        END if packet.length == 5 => {
            let (warnings, flags) = (bytes.number(2)?, bytes.number(2)?);
            Some(Answer::End(Status::of(flags, warnings)))
        }
        END if has_long_ends && packet.length <= LONG_END_BYTES_MAX => {
            ok(bytes).map(|(_, status)| Answer::End(status))
        }
        // Before MySQL 5 an end had no more than this byte.
        END if packet.length <= END_BYTES_MAX => Some(Answer::End(Status::default())),
        _ => None,
    }
}

fn ok(mut bytes: Bytes<'_>) -> Option<(u64, Status)> {
    let rows = bytes.packed()? as u64;
    bytes.packed()?;
    let (flags, warnings) = (bytes.number(2)?, bytes.number(2)?);
    Some((rows, Status::of(flags, warnings)))
}

/// The number of columns that a result begins with, and that are sent: none where the
/// client has them already.
pub(super) fn columns(packet: Packet<'_>, abilities: u64) -> Option<u64> {
    let mut bytes = Bytes(packet.kept);
    let count = bytes.packed().filter(|count| (1..=COLUMNS_MAX).contains(count))?;
    let are_kept = abilities & ability::KEPT_COLUMNS != 0 && bytes.byte()? == 0;
    bytes.is_empty().then_some(if are_kept { 0 } else { count as u64 })
}
