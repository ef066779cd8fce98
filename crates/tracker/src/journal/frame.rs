//! Records with checksums, one behind the other, read past damage.
//!
//! ```text
//! checksum, 4 | length of the body, 2 | kind, 1 | body
//! ```

use std::io::{self, Read};

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The longest body. Short enough that garbage is searched quickly.
pub(crate) const BODY_BYTES_MAX: usize = 8192;
const HEAD_BYTES: usize = 7;
const BUFFER_BYTES: usize = 64 * 1024;
const SEED: u64 = 0x7769_636b_2074_7231;

/// What a record is. The numbers are on disks; 3 was a credit with less in it, and is damage now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Entry = 1,
    Shard = 2,
    Torrents = 4,
    Sessions = 5,
    Key = 6,
    Users = 7,
    Batch = 8,
    Standings = 9,
    End = 10,
    Others = 11,
    Credits = 12,
    Points = 13,
}

const KINDS: [Kind; 12] = [
    Kind::Entry,
    Kind::Shard,
    Kind::Torrents,
    Kind::Sessions,
    Kind::Key,
    Kind::Users,
    Kind::Batch,
    Kind::Standings,
    Kind::End,
    Kind::Others,
    Kind::Credits,
    Kind::Points,
];

/// Appends a record, whose body `fill` writes.
pub(crate) fn put(out: &mut Vec<u8>, kind: Kind, fill: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; HEAD_BYTES]);
    fill(out);
    let length = out.len() - start - HEAD_BYTES;
    debug_assert!(length <= BODY_BYTES_MAX, "{kind:?} of {length} bytes");
    out[start + 4..start + 6].copy_from_slice(&(length as u16).to_le_bytes());
    out[start + 6] = kind as u8;
    let checksum = xxh3_64_with_seed(&out[start + 4..], SEED) as u32;
    out[start..start + 4].copy_from_slice(&checksum.to_le_bytes());
}

/// Records of a file.
#[derive(Debug)]
pub(crate) struct Frames<R> {
    file: R,
    buffer: Vec<u8>,
    at: usize,
    is_over: bool,
    /// Bytes that belong to no good record.
    pub(crate) damaged_bytes: u64,
}

impl<R: Read> Frames<R> {
    pub(crate) fn new(file: R) -> Self {
        Self { file, buffer: Vec::new(), at: 0, is_over: false, damaged_bytes: 0 }
    }

    /// The next good record; none at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<(Kind, &[u8])>> {
        loop {
            if self.buffer.len() - self.at < HEAD_BYTES + BODY_BYTES_MAX && !self.is_over {
                self.fill()?;
            }
            let rest = &self.buffer[self.at..];
            if rest.is_empty() {
                return Ok(None);
            }
            if let Some((kind, length)) = good(rest) {
                let start = self.at + HEAD_BYTES;
                self.at = start + length;
                return Ok(Some((kind, &self.buffer[start..start + length])));
            }
            self.at += 1;
            self.damaged_bytes += 1;
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        self.buffer.drain(..self.at);
        self.at = 0;
        let wanted = (BUFFER_BYTES - self.buffer.len()) as u64;
        let came = Read::by_ref(&mut self.file).take(wanted).read_to_end(&mut self.buffer)?;
        self.is_over = (came as u64) < wanted;
        Ok(())
    }
}

/// Kind and length of the record that begins here, if it is whole.
fn good(bytes: &[u8]) -> Option<(Kind, usize)> {
    let head = bytes.get(..HEAD_BYTES)?;
    let kind = *KINDS.iter().find(|kind| **kind as u8 == head[6])?;
    let length = usize::from(u16::from_le_bytes([head[4], head[5]]));
    if length > BODY_BYTES_MAX {
        return None;
    }
    let covered = bytes.get(4..HEAD_BYTES + length)?;
    let checksum = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
    (xxh3_64_with_seed(covered, SEED) as u32 == checksum).then_some((kind, length))
}
