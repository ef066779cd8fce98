//! The files of an archive: of a zip, as wheels are, or of a gzipped tar, as sources are.

use std::io::{self, Read};

use flate2::read::{DeflateDecoder, GzDecoder};

const TAR_BLOCK: usize = 512;

/// The files that are wanted, with their names; longer ones are cut.
pub(super) fn files(
    bytes: &[u8],
    is_wanted: impl Fn(&str) -> bool,
    bytes_max: u64,
) -> io::Result<Vec<(String, Vec<u8>)>> {
    if bytes.starts_with(b"PK") {
        zipped(bytes, is_wanted, bytes_max)
    } else {
        tarred(bytes, is_wanted, bytes_max)
    }
}

fn zipped(
    bytes: &[u8],
    is_wanted: impl Fn(&str) -> bool,
    bytes_max: u64,
) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut files = Vec::new();
    for entry in entries(bytes).unwrap_or_default() {
        if is_wanted(&entry.name) {
            let mut data = Vec::new();
            DeflateDecoder::new(entry.packed).take(bytes_max).read_to_end(&mut data)?;
            files.push((entry.name, data));
        }
    }
    Ok(files)
}

fn tarred(
    bytes: &[u8],
    is_wanted: impl Fn(&str) -> bool,
    bytes_max: u64,
) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut files = Vec::new();
    let mut unpacked = GzDecoder::new(bytes);
    let mut head = [0; TAR_BLOCK];
    // Two empty blocks are the end, and what is cut off ends there.
    while unpacked.read_exact(&mut head).is_ok() && head[0] != 0 {
        let text = |from: usize, length: usize| {
            let field = &head[from..from + length];
            let end = field.iter().position(|byte| *byte == 0).unwrap_or(length);
            String::from_utf8_lossy(&field[..end]).into_owned()
        };
        let name = text(0, 100);
        let size = u64::from_str_radix(text(124, 12).trim(), 8).map_err(io::Error::other)?;
        let rest = size.next_multiple_of(TAR_BLOCK as u64) - size;
        let mut data = Vec::new();
        let is_file = matches!(head[156], b'0' | 0);
        if is_file && is_wanted(&name) {
            unpacked.by_ref().take(size.min(bytes_max)).read_to_end(&mut data)?;
            let behind = size - size.min(bytes_max) + rest;
            io::copy(&mut unpacked.by_ref().take(behind), &mut io::sink())?;
            files.push((name, data));
        } else {
            io::copy(&mut unpacked.by_ref().take(size + rest), &mut io::sink())?;
        }
    }
    Ok(files)
}

struct Entry<'a> {
    name: String,
    packed: &'a [u8],
}

/// The entries of a zip archive that are deflated, by its directory at the end.
fn entries(bytes: &[u8]) -> Option<Vec<Entry<'_>>> {
    let number = |at: usize, length: usize| {
        let field = bytes.get(at..at + length)?;
        Some(field.iter().rev().fold(0_usize, |sum, byte| sum << 8 | usize::from(*byte)))
    };
    let end = bytes.windows(4).rposition(|four| four == b"PK\x05\x06")?;
    let count = number(end + 10, 2)?;
    let mut at = number(end + 16, 4)?;
    let mut all = Vec::new();
    for _ in 0..count {
        let (method, size) = (number(at + 10, 2)?, number(at + 20, 4)?);
        let (name_size, extra, comment) =
            (number(at + 28, 2)?, number(at + 30, 2)?, number(at + 32, 2)?);
        let name = String::from_utf8_lossy(bytes.get(at + 46..at + 46 + name_size)?).into_owned();
        let own = number(at + 42, 4)?;
        let begin = own + 30 + number(own + 26, 2)? + number(own + 28, 2)?;
        if method == 8 {
            all.push(Entry { name, packed: bytes.get(begin..begin + size)? });
        }
        at += 46 + name_size + extra + comment;
    }
    Some(all)
}
