//! Records: the eight-byte header, its content and its padding.
//!
//! In: bytes as they arrive. Out: whole records, so that how the bytes were cut
//! can change nothing. Law: FastCGI §3.3, §5.
//! Invariant: the reader holds at most one unfinished record, 65,798 bytes, beyond
//! what its caller has not yet asked for.

use bytes::{Buf, Bytes, BytesMut};

/// The most that one record may carry.
pub const CONTENT_BYTES_MAX: usize = 65_535;

const HEADER_BYTES: usize = 8;
const VERSION: u8 = 1;
/// One request at a time is all that PHP knows, so it is always the first.
const REQUEST: u16 = 1;
const RESPONDER: u8 = 1;
const KEEP_CONNECTION: u8 = 1;

/// What a record is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A request begins.
    Begin,
    /// The web server gives up on a request.
    Abort,
    /// The answer is complete.
    End,
    /// Part of the environment.
    Params,
    /// Part of the request body.
    Stdin,
    /// Part of the answer: head, then body.
    Stdout,
    /// Part of what the application wants logged.
    Stderr,
    /// Anything else; a web server may skip it.
    Other(u8),
}

impl Kind {
    fn of(byte: u8) -> Self {
        match byte {
            1 => Self::Begin,
            2 => Self::Abort,
            3 => Self::End,
            4 => Self::Params,
            5 => Self::Stdin,
            6 => Self::Stdout,
            7 => Self::Stderr,
            other => Self::Other(other),
        }
    }

    fn byte(self) -> u8 {
        match self {
            Self::Begin => 1,
            Self::Abort => 2,
            Self::End => 3,
            Self::Params => 4,
            Self::Stdin => 5,
            Self::Stdout => 6,
            Self::Stderr => 7,
            Self::Other(byte) => byte,
        }
    }
}

/// One whole record without its padding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// What it is about.
    pub kind: Kind,
    /// The request it belongs to.
    pub request: u16,
    /// At most [`CONTENT_BYTES_MAX`] bytes.
    pub content: Bytes,
}

/// Bytes that are no FastCGI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The first byte of a record is not the one version there is.
    #[error("a FastCGI record of version {0}, not 1")]
    Version(u8),
    /// An END_REQUEST of fewer than eight bytes.
    #[error("a FastCGI end record of {0} bytes, not 8")]
    ShortEnd(usize),
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The exit status of the script.
    pub application_status: u32,
    /// 0 when complete; 1 cannot multiplex, 2 overloaded, 3 unknown role.
    pub protocol_status: u8,
}

impl End {
    /// Reads the content of an [`Kind::End`] record.
    ///
    /// # Errors
    /// The content is too short.
    pub fn parse(content: &[u8]) -> Result<Self, RecordError> {
        match content {
            [a, b, c, d, protocol_status, _, _, _, ..] => Ok(Self {
                application_status: u32::from_be_bytes([*a, *b, *c, *d]),
                protocol_status: *protocol_status,
            }),
            short => Err(RecordError::ShortEnd(short.len())),
        }
    }
}

/// Turns bytes into records.
#[derive(Debug, Default)]
pub struct RecordReader {
    buffer: BytesMut,
}

impl RecordReader {
    /// Takes bytes as they came.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The buffer itself, to be read into; only append to it.
    pub fn buffer_mut(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// Whether no byte of an unfinished record is here.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// The next whole record; none if more bytes are needed.
    ///
    /// # Errors
    /// What is here is no FastCGI; the connection is of no further use.
    pub fn next_record(&mut self) -> Result<Option<Record>, RecordError> {
        match self.buffer.first() {
            None => return Ok(None),
            Some(&VERSION) => {}
            Some(&other) => return Err(RecordError::Version(other)),
        }
        let [_, kind, id_high, id_low, length_high, length_low, padding, _, ..] = self.buffer[..]
        else {
            return Ok(None);
        };
        let content = usize::from(u16::from_be_bytes([length_high, length_low]));
        let whole = HEADER_BYTES + content + usize::from(padding);
        if self.buffer.len() < whole {
            self.buffer.reserve(whole - self.buffer.len());
            return Ok(None);
        }
        let mut record = self.buffer.split_to(whole).freeze();
        record.advance(HEADER_BYTES);
        record.truncate(content);
        let request = u16::from_be_bytes([id_high, id_low]);
        Ok(Some(Record { kind: Kind::of(kind), request, content: record }))
    }
}

/// Appends the record that begins a request; `keep` asks for the connection to stay open.
pub fn write_begin(out: &mut Vec<u8>, keep: bool) {
    let flags = if keep { KEEP_CONNECTION } else { 0 };
    write_record(out, Kind::Begin, &[0, RESPONDER, flags, 0, 0, 0, 0, 0]);
}

/// Appends `bytes` as records of a stream; no bytes give no record.
pub fn write_stream(out: &mut Vec<u8>, kind: Kind, bytes: &[u8]) {
    // A multiple of eight below the maximum, so that only the last record needs padding.
    for piece in bytes.chunks(CONTENT_BYTES_MAX - 7) {
        write_record(out, kind, piece);
    }
}

/// Appends the empty record that ends a stream.
pub fn close_stream(out: &mut Vec<u8>, kind: Kind) {
    write_record(out, kind, &[]);
}

/// Appends the record that ends an answer; what an application sends.
pub fn write_end(out: &mut Vec<u8>, end: End) {
    let [a, b, c, d] = end.application_status.to_be_bytes();
    write_record(out, Kind::End, &[a, b, c, d, end.protocol_status, 0, 0, 0]);
}

fn write_record(out: &mut Vec<u8>, kind: Kind, content: &[u8]) {
    let [id_high, id_low] = REQUEST.to_be_bytes();
    let [length_high, length_low] = (content.len() as u16).to_be_bytes();
    let padding = content.len().wrapping_neg() % 8;
    out.extend_from_slice(&[
        VERSION,
        kind.byte(),
        id_high,
        id_low,
        length_high,
        length_low,
        padding as u8,
        0,
    ]);
    out.extend_from_slice(content);
    out.extend_from_slice(&[0; 8][..padding]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(reader: &mut RecordReader) -> Vec<Record> {
        std::iter::from_fn(|| reader.next_record().expect("the bytes are FastCGI")).collect()
    }

    fn sample() -> Vec<u8> {
        let mut bytes = Vec::new();
        write_begin(&mut bytes, true);
        write_stream(&mut bytes, Kind::Stdout, b"hello");
        write_stream(&mut bytes, Kind::Stderr, b"eight by");
        close_stream(&mut bytes, Kind::Stdout);
        write_end(&mut bytes, End { application_status: 7, protocol_status: 0 });
        bytes
    }

    #[test]
    fn records_are_the_same_wherever_the_bytes_are_cut() {
        let bytes = sample();
        let mut reader = RecordReader::default();
        reader.push(&bytes);
        let whole = all(&mut reader);
        assert_eq!(whole.len(), 5);
        assert_eq!(whole[1].content, "hello");
        assert_eq!(End::parse(&whole[4].content).map(|end| end.application_status), Ok(7));
        for cut in 0..=bytes.len() {
            let mut reader = RecordReader::default();
            reader.push(&bytes[..cut]);
            let mut pieces = all(&mut reader);
            reader.push(&bytes[cut..]);
            pieces.extend(all(&mut reader));
            assert_eq!(pieces, whole, "cut at {cut}");
            assert!(reader.is_empty());
        }
    }

    #[test]
    fn a_long_stream_is_split_and_every_record_is_padded_to_eight() {
        let body = vec![b'x'; 200_001];
        let mut bytes = Vec::new();
        write_stream(&mut bytes, Kind::Stdin, &body);
        assert_eq!(bytes.len() % 8, 0);
        let mut reader = RecordReader::default();
        reader.push(&bytes);
        let records = all(&mut reader);
        assert_eq!(records.len(), 4);
        assert_eq!(records.iter().map(|r| r.content.len()).sum::<usize>(), body.len());
        assert!(records.iter().all(|r| r.kind == Kind::Stdin && r.request == 1));
    }

    #[test]
    fn what_is_no_fastcgi_is_an_error_at_its_first_byte() {
        let mut reader = RecordReader::default();
        reader.push(b"HTTP/1.1 200 OK");
        assert_eq!(reader.next_record(), Err(RecordError::Version(b'H')));
        assert_eq!(End::parse(b"short"), Err(RecordError::ShortEnd(5)));
    }
}
