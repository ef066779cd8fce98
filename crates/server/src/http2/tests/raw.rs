//! A client that writes frames by hand, as no well-made one would.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::time::timeout;

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const RST_STREAM: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PING: u8 = 6;
pub(super) const GOAWAY: u8 = 7;
pub(super) const CONTINUATION: u8 = 9;
pub(super) const END_STREAM: u8 = 1;
pub(super) const ACK: u8 = 1;
pub(super) const END_HEADERS: u8 = 4;

pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// What every request of a test bears unless it says otherwise.
pub(super) const USUAL: [(&str, &str); 4] =
    [(":method", "GET"), (":scheme", "http"), (":path", "/page"), (":authority", "example.test")];

pub(super) struct Raw {
    stream: DuplexStream,
}

/// A frame as it came.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) kind: u8,
    pub(super) stream: u32,
    pub(super) payload: Vec<u8>,
}

impl Raw {
    /// Sends the preface and empty settings, and acknowledges the server's.
    pub(super) async fn begin(mut stream: DuplexStream) -> Self {
        stream.write_all(PREFACE).await.expect("it is taken");
        let mut raw = Self { stream };
        raw.send(SETTINGS, 0, 0, b"").await;
        raw.send(SETTINGS, ACK, 0, b"").await;
        raw
    }

    /// A connection on which something was sent already.
    pub(super) fn over(stream: DuplexStream) -> Self {
        Self { stream }
    }

    pub(super) async fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        self.send_bytes(&frame(kind, flags, stream, payload)).await;
    }

    pub(super) async fn send_bytes(&mut self, bytes: &[u8]) {
        // What the server doesn't want to read any more is none of the test's concern.
        let _ = self.stream.write_all(bytes).await;
    }

    /// Asks for something without a body.
    pub(super) async fn ask(&mut self, stream: u32, fields: &[(&str, &str)]) {
        let block = block(fields);
        let mut pieces = block.chunks(16_000).peekable();
        let (mut kind, mut flags) = (HEADERS, END_STREAM);
        while let Some(piece) = pieces.next() {
            let last = if pieces.peek().is_none() { END_HEADERS } else { 0 };
            self.send(kind, flags | last, stream, piece).await;
            (kind, flags) = (CONTINUATION, 0);
        }
    }

    /// The next frame; none when the connection is closed, or silent for a second.
    pub(super) async fn next(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        let read = self.stream.read_exact(&mut head);
        timeout(Duration::from_secs(1), read).await.ok()?.ok()?;
        let length = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
        let mut payload = vec![0; length];
        self.stream.read_exact(&mut payload).await.expect("a whole frame");
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        Some(Frame { kind: head[3], stream, payload })
    }

    /// What becomes of a stream: `STATUS`, `reset CODE`, `goaway CODE`, or `nothing`.
    pub(super) async fn outcome(&mut self, stream: u32) -> String {
        while let Some(frame) = self.next().await {
            let code = |at: usize| {
                let bytes = frame.payload[at..at + 4].try_into().expect("four bytes");
                u32::from_be_bytes(bytes)
            };
            match frame.kind {
                HEADERS if frame.stream == stream => return status(&frame.payload),
                RST_STREAM if frame.stream == stream => return format!("reset {}", code(0)),
                GOAWAY => return format!("goaway {}", code(4)),
                _ => {}
            }
        }
        "nothing".to_owned()
    }

    /// Whether the connection is closed.
    pub(super) async fn is_closed(&mut self) -> bool {
        while self.next().await.is_some() {}
        timeout(Duration::from_secs(1), self.stream.read_u8()).await.is_ok_and(|read| read.is_err())
    }
}

pub(super) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind, flags];
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// Fields as literals that nobody has to remember (RFC 7541 §6.2.3).
pub(super) fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in fields {
        bytes.push(0x10);
        for text in [name, value] {
            push_length(&mut bytes, text.len());
            bytes.extend_from_slice(text.as_bytes());
        }
    }
    bytes
}

/// An integer with a prefix of seven bits (RFC 7541 §5.1).
fn push_length(bytes: &mut Vec<u8>, length: usize) {
    if length < 127 {
        bytes.push(length as u8);
        return;
    }
    bytes.push(127);
    let mut rest = length - 127;
    while rest >= 128 {
        bytes.push((rest % 128) as u8 | 128);
        rest /= 128;
    }
    bytes.push(rest as u8);
}

/// The status that begins a block: in the static table, or a literal after its name's index.
fn status(block: &[u8]) -> String {
    const TABLE: [&str; 7] = ["200", "204", "206", "304", "400", "404", "500"];
    match block[0] {
        indexed @ 0x88..=0x8e => TABLE[usize::from(indexed - 0x88)].to_owned(),
        // Three digits in Huffman's code are 15 to 18 bits, those of each digit known.
        _ => digits(&block[2..2 + usize::from(block[1] & 0x7f)]),
    }
}

/// Digits in Huffman's code (RFC 7541, appendix B): 0 to 2 have five bits, 3 to 9 six.
fn digits(bytes: &[u8]) -> String {
    let bits = bytes.iter().fold(0u64, |bits, byte| bits << 8 | u64::from(*byte));
    let (mut left, mut text) = (bytes.len() * 8, String::new());
    while text.len() < 3 {
        let five = (bits >> (left - 5)) & 31;
        if five < 3 {
            text.push(char::from(b'0' + five as u8));
            left -= 5;
        } else {
            let six = (bits >> (left - 6)) & 63;
            text.push(char::from(b'3' + (six - 0x19) as u8));
            left -= 6;
        }
    }
    text
}
