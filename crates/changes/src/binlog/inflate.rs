//! MariaDB's compressed events: a byte that says how long the length is, the length, zlib.

use std::io::Read;

use flate2::read::ZlibDecoder;

/// The most that one event may become; a larger one counts as unreadable.
const INFLATED_BYTES_MAX: u64 = 32 << 20;

/// What was compressed, or nothing where that can't be told.
pub(super) fn inflate(packed: &[u8]) -> Option<Vec<u8>> {
    let width = usize::from(packed.first()? & 7);
    let mut inflated = Vec::new();
    let decoder = ZlibDecoder::new(packed.get(1 + width..)?);
    let length = decoder.take(INFLATED_BYTES_MAX + 1).read_to_end(&mut inflated).ok()?;
    (u64::try_from(length).ok()? <= INFLATED_BYTES_MAX).then_some(inflated)
}
