//! Request bodies in chunks (RFC 9112 §7.1), read strictly.
//!
//! In: bytes as they come. Out: data, then the end with its trailers.
//! Invariants: 1. every line ends in CRLF. 2. a chunk extension is skipped but
//! bounded, and may hold no control character. 3. the same data comes out
//! however the bytes were cut.

use bytes::{Buf, Bytes, BytesMut};

use crate::Fields;

/// The longest chunk-size line with its extension.
const LINE_BYTES_MAX: usize = 1024;
/// All trailers together.
const TRAILER_BYTES_MAX: usize = 8 << 10;

/// What the next bytes of a chunked body are.
#[derive(Debug, PartialEq)]
pub enum Chunk {
    /// Some data; never empty.
    Data(Bytes),
    /// The body is over; what remains in the buffer is the next request's.
    End(Fields),
    /// More bytes are needed.
    Partial,
}

/// A chunked body that breaks the rules; its connection must be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ChunkError(pub &'static str);

/// The state of reading one chunked body.
#[derive(Debug, Default)]
pub struct Chunks {
    state: State,
    trailers: Fields,
    trailer_bytes: usize,
}

#[derive(Debug, Default, PartialEq, Clone, Copy)]
enum State {
    #[default]
    Size,
    Data(u64),
    DataEnd,
    Trailers,
}

impl Chunks {
    /// A body of which nothing was read yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next piece from the front of `buffer`.
    ///
    /// # Errors
    /// The framing is broken; nothing after it can be trusted.
    pub fn next(&mut self, buffer: &mut BytesMut) -> Result<Chunk, ChunkError> {
        loop {
            match self.state {
                State::Size => {
                    let Some(line) = take_line(buffer, LINE_BYTES_MAX)? else {
                        return Ok(Chunk::Partial);
                    };
                    self.state = match size(&line)? {
                        0 => State::Trailers,
                        bytes => State::Data(bytes),
                    };
                }
                State::Data(left) => {
                    if buffer.is_empty() {
                        return Ok(Chunk::Partial);
                    }
                    let take = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                    let left = left - take as u64;
                    self.state = if left == 0 { State::DataEnd } else { State::Data(left) };
                    return Ok(Chunk::Data(buffer.split_to(take).freeze()));
                }
                State::DataEnd => {
                    if !b"\r\n".starts_with(&buffer[..buffer.len().min(2)]) {
                        return Err(ChunkError("a chunk is longer than its size"));
                    }
                    if buffer.len() < 2 {
                        return Ok(Chunk::Partial);
                    }
                    buffer.advance(2);
                    self.state = State::Size;
                }
                State::Trailers => {
                    let Some(line) = take_line(buffer, TRAILER_BYTES_MAX)? else {
                        return Ok(Chunk::Partial);
                    };
                    if line.is_empty() {
                        return Ok(Chunk::End(std::mem::take(&mut self.trailers)));
                    }
                    self.add_trailer(&line)?;
                }
            }
        }
    }

    fn add_trailer(&mut self, line: &[u8]) -> Result<(), ChunkError> {
        self.trailer_bytes += line.len();
        if self.trailer_bytes > TRAILER_BYTES_MAX {
            return Err(ChunkError("the trailers are too long"));
        }
        let wrong = ChunkError("a trailer is not a field");
        let colon = line.iter().position(|&b| b == b':').ok_or(wrong)?;
        self.trailers.try_push(&line[..colon], &line[colon + 1..]).map_err(|_| wrong)
    }
}

/// Takes a line up to its CRLF, or tells that it isn't whole yet.
fn take_line(buffer: &mut BytesMut, limit: usize) -> Result<Option<BytesMut>, ChunkError> {
    let Some(feed) = buffer.iter().take(limit + 1).position(|&b| b == b'\n') else {
        return if buffer.len() > limit {
            Err(ChunkError("a chunk line is too long"))
        } else {
            Ok(None)
        };
    };
    if feed == 0 || buffer[feed - 1] != b'\r' {
        return Err(ChunkError("a chunk line ends in a bare LF"));
    }
    let mut line = buffer.split_to(feed + 1);
    line.truncate(feed - 1);
    Ok(Some(line))
}

/// Reads `1*HEXDIG [extension]`.
fn size(line: &[u8]) -> Result<u64, ChunkError> {
    let end = line.iter().position(|b| !b.is_ascii_hexdigit()).unwrap_or(line.len());
    let (digits, extension) = line.split_at(end);
    if digits.is_empty() || digits.len() > 15 {
        return Err(ChunkError("a chunk size is not a hexadecimal number"));
    }
    let starts_well = matches!(crate::fields::trim(extension), [] | [b';', ..]);
    if !starts_well || extension.iter().any(|&b| (b < 0x20 && b != b'\t') || b == 0x7f) {
        return Err(ChunkError("a chunk extension is malformed"));
    }
    Ok(digits.iter().fold(0u64, |sum, &digit| {
        sum << 4 | u64::from(char::from(digit).to_digit(16).unwrap_or_default())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds `text` in pieces of `step` bytes; returns the data, the trailers, what is left.
    fn read(text: &str, step: usize) -> Result<Option<(Vec<u8>, Fields, usize)>, ChunkError> {
        let (mut chunks, mut buffer, mut data) = (Chunks::new(), BytesMut::new(), Vec::new());
        let mut pieces = text.as_bytes().chunks(step);
        loop {
            match chunks.next(&mut buffer)? {
                Chunk::Data(bytes) => data.extend_from_slice(&bytes),
                Chunk::End(trailers) => {
                    let left = buffer.len() + pieces.map(<[u8]>::len).sum::<usize>();
                    return Ok(Some((data, trailers, left)));
                }
                Chunk::Partial => match pieces.next() {
                    Some(piece) => buffer.extend_from_slice(piece),
                    None => return Ok(None),
                },
            }
        }
    }

    #[test]
    fn data_and_trailers_are_the_same_however_the_bytes_are_cut() {
        let text = "5;a=\"b\"\r\nhello\r\n00A\r\n, world!!!\r\n0\r\nX-Sum: 1\r\n\r\nGET /";
        for step in 1..=text.len() {
            let (data, trailers, left) = read(text, step).expect("valid").expect("whole");
            assert_eq!(data, b"hello, world!!!");
            assert_eq!(trailers.all_named("x-sum").collect::<Vec<_>>(), [b"1"]);
            assert_eq!(left, 5);
        }
    }

    #[test]
    fn broken_framing_is_refused() {
        for text in [
            "5\nhello\r\n0\r\n\r\n",
            "\r\n",
            "x\r\n",
            "-1\r\n",
            "0x5\r\nhello\r\n",
            "5 5\r\nhello",
            "5\r\nhello0\r\n\r\n",
            "5\r\nhello\n0\r\n\r\n",
            "ffffffffffffffff\r\n",
            "5;\x01\r\nhello",
            "0\r\nnot a field\r\n\r\n",
            "0\r\nA: b\nC: d\r\n\r\n",
        ] {
            for step in [1, 3, text.len()] {
                assert!(read(text, step).is_err(), "{text:?} by {step}");
            }
        }
        assert!(read(&"1".repeat(2000), 7).is_err());
        assert!(read(&format!("0\r\n{}", "a: b\r\n".repeat(3000)), 100).is_err());
    }

    #[test]
    fn a_body_that_stops_early_is_never_whole() {
        let text = "5\r\nhello\r\n0\r\n\r\n";
        for end in 0..text.len() {
            assert_eq!(read(&text[..end], 4), Ok(None), "cut at {end}");
        }
    }
}
