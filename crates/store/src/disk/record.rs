//! How a page lies in a segment, and what a segment ends with. Pure: bytes in, bytes out.
//!
//! ```text
//! record: magic 4 | length 4 | sum 8 | sequence 8 | hash 8 | floor 8 | fingerprint 4 | key length 4 | key | payload
//! footer: entries of 40 bytes | sum 8 | count 4 | segment 4 | magic 8
//! ```
//! Numbers are little-endian; lengths are of all of the record. Sums are xxh3 with a secret
//! seed, so that nobody who may write a page's body can write a record into it that is taken
//! for one when the true one around it is damaged.
//! Invariants: 1. what is read is what was written, or nothing. 2. no input panics or makes
//! the reader reserve more than the input is long.

use xxhash_rust::xxh3::xxh3_64_with_seed;

const MAGIC: [u8; 4] = *b"WkP1";
const FOOTER_MAGIC: [u8; 8] = *b"WkEnds_1";
pub(super) const HEAD_BYTES: usize = 48;
const ENTRY_BYTES: usize = 40;
pub(super) const TRAILER_BYTES: usize = 24;

/// What is told about a record without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The hash of its key.
    pub hash: u64,
    /// Its number: no other record ever has it.
    pub sequence: u64,
    /// The number of the last event that it is known to be good after; the writer's own scale.
    pub floor: u64,
    /// Where it begins in its segment.
    pub offset: u32,
    /// How long it is.
    pub length: u32,
    /// Which variant of its key it is, as far as that can be told by a number.
    pub fingerprint: u32,
}

/// A record that was read and found whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Its number.
    pub sequence: u64,
    /// The hash of its key.
    pub hash: u64,
    /// See [`Entry::floor`].
    pub floor: u64,
    /// See [`Entry::fingerprint`].
    pub fingerprint: u32,
    /// Its key.
    pub key: &'a [u8],
    /// What was stored under it.
    pub payload: &'a [u8],
}

/// What the checksums of a record and of other things are kept apart by.
pub(super) fn sum(secret: u64, salt: u64, bytes: &[u8]) -> u64 {
    xxh3_64_with_seed(bytes, secret ^ salt.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

pub(super) fn sum_of_note(secret: u64, bytes: &[u8]) -> u64 {
    sum(secret, u64::MAX, bytes)
}

/// Appends a record whose payload `write` appends; its length, or none if it is too long.
pub fn write_record(
    out: &mut Vec<u8>,
    secret: u64,
    entry: &Entry,
    key: &[u8],
    write: impl FnOnce(&mut Vec<u8>),
) -> Option<u32> {
    let start = out.len();
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&[0; 12]);
    out.extend_from_slice(&entry.sequence.to_le_bytes());
    out.extend_from_slice(&entry.hash.to_le_bytes());
    out.extend_from_slice(&entry.floor.to_le_bytes());
    out.extend_from_slice(&entry.fingerprint.to_le_bytes());
    out.extend_from_slice(&u32::try_from(key.len()).ok()?.to_le_bytes());
    out.extend_from_slice(key);
    write(out);
    let Ok(length) = u32::try_from(out.len() - start) else {
        out.truncate(start);
        return None;
    };
    out[start + 4..start + 8].copy_from_slice(&length.to_le_bytes());
    let sum = sum(secret, length.into(), &out[start + 16..]);
    out[start + 8..start + 16].copy_from_slice(&sum.to_le_bytes());
    Some(length)
}

/// The record that `bytes` begin with, and how long it is; none if it is not whole and sound.
#[must_use]
pub fn read_record(bytes: &[u8], secret: u64) -> Option<(Record<'_>, usize)> {
    let length = u32_at(bytes, 4)?;
    let all = bytes.get(..length as usize)?;
    (all.len() >= HEAD_BYTES && all[..4] == MAGIC).then_some(())?;
    (u64_at(all, 8)? == sum(secret, length.into(), &all[16..])).then_some(())?;
    let key_length = u32_at(all, 44)? as usize;
    let (key, payload) = all[HEAD_BYTES..].split_at_checked(key_length)?;
    let record = Record {
        sequence: u64_at(all, 16)?,
        hash: u64_at(all, 24)?,
        floor: u64_at(all, 32)?,
        fingerprint: u32_at(all, 40)?,
        key,
        payload,
    };
    Some((record, all.len()))
}

/// The records of a segment without a footer, one by one; behind what is damaged the next
/// sound one is looked for.
pub fn scan(bytes: &[u8], secret: u64) -> Vec<Entry> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if let Some((record, length)) = read_record(&bytes[at..], secret) {
            found.push(Entry {
                hash: record.hash,
                sequence: record.sequence,
                floor: record.floor,
                // A segment is shorter than what 32 bits count; one that isn't was not ours.
                offset: u32::try_from(at).unwrap_or(u32::MAX),
                length: u32::try_from(length).unwrap_or(u32::MAX),
                fingerprint: record.fingerprint,
            });
            at += length;
            continue;
        }
        match memchr::memmem::find(&bytes[at + 1..], &MAGIC) {
            Some(next) => at += 1 + next,
            None => break,
        }
    }
    found
}

/// Appends the footer of the segment with this number.
pub fn write_footer(out: &mut Vec<u8>, secret: u64, segment: u32, entries: &[Entry]) {
    let start = out.len();
    for entry in entries {
        for number in [entry.hash, entry.sequence, entry.floor] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        for number in [entry.offset, entry.length, entry.fingerprint, 0] {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }
    let sum = sum(secret, u64::from(segment) << 32, &out[start..]);
    out.extend_from_slice(&sum.to_le_bytes());
    // A segment has far fewer records than bytes.
    out.extend_from_slice(&u32::try_from(entries.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend_from_slice(&segment.to_le_bytes());
    out.extend_from_slice(&FOOTER_MAGIC);
}

/// How many bytes the footer takes that ends with this trailer, itself included.
#[must_use]
pub fn footer_bytes(trailer: &[u8; TRAILER_BYTES], segment: u32) -> Option<u64> {
    let is_ours = trailer[16..] == FOOTER_MAGIC && u32_at(trailer, 12)? == segment;
    let count = u64::from(u32_at(trailer, 8)?);
    is_ours.then_some(count * ENTRY_BYTES as u64 + TRAILER_BYTES as u64)
}

/// The entries of a whole footer, if it is sound.
#[must_use]
pub fn read_footer(footer: &[u8], secret: u64, segment: u32) -> Option<Vec<Entry>> {
    let (entries, trailer) = footer.split_last_chunk::<TRAILER_BYTES>()?;
    (footer_bytes(trailer, segment)? == footer.len() as u64).then_some(())?;
    let sum = sum(secret, u64::from(segment) << 32, entries);
    (u64_at(trailer, 0)? == sum).then_some(())?;
    entries
        .chunks_exact(ENTRY_BYTES)
        .map(|entry| {
            Some(Entry {
                hash: u64_at(entry, 0)?,
                sequence: u64_at(entry, 8)?,
                floor: u64_at(entry, 16)?,
                offset: u32_at(entry, 24)?,
                length: u32_at(entry, 28)?,
                fingerprint: u32_at(entry, 32)?,
            })
        })
        .collect()
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|number| u32::from_le_bytes(*number))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|number| u64::from_le_bytes(*number))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: u64 = 0x1234_5678_9abc_def0;

    /// A segment of three records and where each begins.
    fn segment() -> (Vec<u8>, Vec<Entry>) {
        let (mut bytes, mut entries) = (Vec::new(), Vec::new());
        for number in 1..=3u64 {
            let mut entry = Entry {
                hash: number * 1000,
                sequence: number,
                floor: number + 7,
                offset: bytes.len() as u32,
                length: 0,
                fingerprint: number as u32 * 3,
            };
            let key = format!("http|a.test|/{number}");
            let payload = vec![number as u8; 20 + number as usize];
            let write = |out: &mut Vec<u8>| out.extend_from_slice(&payload);
            let length = write_record(&mut bytes, SECRET, &entry, key.as_bytes(), write);
            entry.length = length.expect("it is short");
            entries.push(entry);
        }
        (bytes, entries)
    }

    #[test]
    fn a_flipped_bit_loses_the_record_that_holds_it_and_no_other() {
        let (bytes, entries) = segment();
        assert_eq!(scan(&bytes, SECRET), entries);
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << bit;
                let mut expected = entries.clone();
                let is_there = |entry: &Entry| {
                    (entry.offset..entry.offset + entry.length).contains(&(at as u32))
                };
                expected.retain(|entry| !is_there(entry));
                assert_eq!(scan(&damaged, SECRET), expected, "byte {at}, bit {bit}");
            }
        }
    }

    #[test]
    fn a_cut_loses_what_lies_behind_it() {
        let (bytes, entries) = segment();
        for end in 0..bytes.len() {
            let mut expected = entries.clone();
            expected.retain(|entry| (entry.offset + entry.length) as usize <= end);
            assert_eq!(scan(&bytes[..end], SECRET), expected, "cut at {end}");
        }
    }

    #[test]
    fn a_record_within_a_page_is_none_for_whoever_does_not_know_the_secret() {
        let mut forged = Vec::new();
        let entry = Entry { hash: 1, sequence: 9, floor: 0, offset: 0, length: 0, fingerprint: 0 };
        write_record(&mut forged, SECRET + 1, &entry, b"http|a.test|/admin", |_| {});
        let mut bytes = Vec::new();
        let write = |out: &mut Vec<u8>| out.extend_from_slice(&forged);
        write_record(&mut bytes, SECRET, &entry, b"http|a.test|/upload", write);
        bytes[9] ^= 1;
        assert_eq!(scan(&bytes, SECRET), []);
    }

    #[test]
    fn a_footer_is_read_as_it_was_written_or_not_at_all() {
        let (_, entries) = segment();
        let mut footer = Vec::new();
        write_footer(&mut footer, SECRET, 5, &entries);
        assert_eq!(read_footer(&footer, SECRET, 5), Some(entries));
        assert_eq!(read_footer(&footer, SECRET, 6), None, "it is another segment's");
        for at in 0..footer.len() {
            let mut damaged = footer.clone();
            damaged[at] ^= 1;
            assert_eq!(read_footer(&damaged, SECRET, 5), None, "byte {at}");
            assert_eq!(read_footer(&footer[..at], SECRET, 5), None, "cut at {at}");
            assert_eq!(read_footer(&footer[at + 1..], SECRET, 5), None, "begun behind {at}");
        }
    }
}
