//! A client's connection: heads and bodies, one after the other.
//!
//! The same messages, or the same refusal, however the bytes were cut; and what is
//! let through holds nothing that the next reader could take for something else.

use bytes::BytesMut;
use wire::h1::{Chunk, Chunks, Framing, HeadError, HeadLimits, Length, read_head};
use wire::{Fields, Name, RequestHead};

use crate::cuts::pieces;

/// What a connection brings.
#[derive(Debug, PartialEq)]
enum Message {
    Head { method: String, target: String, host: String, fields: Vec<u8>, framing: Framing },
    Body(Vec<u8>),
    Trailers(Vec<u8>),
    Refused(HeadError),
    BrokenBody(&'static str),
}

pub(crate) fn run(input: &[u8]) {
    let whole = read_connection([input]);
    assert_eq!(whole, read_connection(pieces(input)));
    whole.iter().for_each(check);
}

fn check(message: &Message) {
    match message {
        Message::Head { target, fields, framing, .. } => {
            assert!(target.starts_with('/') || target == "*", "{target}");
            assert!(target.bytes().all(|b| b > b' ' && b != 0x7f), "{target}");
            check_fields(fields);
            assert_ne!(framing.length, Length::Known(0));
        }
        Message::Trailers(fields) => check_fields(fields),
        Message::Refused(error) => assert!((400..=599).contains(&error.status())),
        Message::Body(_) | Message::BrokenBody(_) => {}
    }
}

/// No control byte hides in a line, and no line lacks its name.
fn check_fields(rendered: &[u8]) {
    for line in rendered.split(|&b| b == b'\n').filter(|line| !line.is_empty()) {
        let line = line.strip_suffix(b"\r").expect("each line ends in CRLF");
        assert!(line.iter().all(|&b| (b >= b' ' && b != 0x7f) || b == b'\t'), "{line:?}");
        let colon = line.iter().position(|&b| b == b':').expect("a field has a colon");
        assert!(colon > 0 && line[..colon].iter().all(|&b| wire::fields::is_token(b)));
    }
}

fn read_connection<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Vec<Message> {
    let mut connection = Connection::default();
    for part in parts {
        connection.buffer.extend_from_slice(part);
        while connection.advance() {}
    }
    connection.messages
}

#[derive(Default)]
struct Connection {
    buffer: BytesMut,
    scanned: usize,
    head: RequestHead,
    state: State,
    messages: Vec<Message>,
}

#[derive(Default)]
enum State {
    #[default]
    Head,
    Known {
        left: u64,
        persistent: bool,
    },
    Chunked {
        chunks: Chunks,
        persistent: bool,
    },
    Over,
}

impl Connection {
    /// Takes the next thing from the buffer; false when more bytes are needed.
    fn advance(&mut self) -> bool {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Over => false,
            State::Head => self.read_head(),
            State::Known { left, persistent } => {
                let take = self.buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                let data = self.buffer.split_to(take);
                self.add_data(&data);
                let left = left - take as u64;
                self.state = match left {
                    0 => after_body(persistent),
                    _ => State::Known { left, persistent },
                };
                left == 0
            }
            State::Chunked { chunks, persistent } => self.read_chunk(chunks, persistent),
        }
    }

    fn read_head(&mut self) -> bool {
        let limits = HeadLimits::default();
        match read_head(&self.buffer, &mut self.scanned, &mut self.head, &limits) {
            Ok(None) => {
                self.state = State::Head;
                false
            }
            Ok(Some((length, framing))) => {
                let _ = self.buffer.split_to(length);
                self.scanned = 0;
                self.check_host();
                self.messages.push(Message::Head {
                    method: self.head.method.to_string(),
                    target: self.head.target.clone(),
                    host: self.head.host.clone(),
                    fields: rendered(&self.head.fields),
                    framing,
                });
                let persistent = framing.persistent;
                if framing.length != Length::None {
                    self.messages.push(Message::Body(Vec::new()));
                }
                self.state = match framing.length {
                    Length::None => after_body(persistent),
                    Length::Known(left) => State::Known { left, persistent },
                    Length::Chunked => State::Chunked { chunks: Chunks::new(), persistent },
                };
                true
            }
            Err(error) => {
                self.messages.push(Message::Refused(error));
                false
            }
        }
    }

    fn read_chunk(&mut self, mut chunks: Chunks, persistent: bool) -> bool {
        match chunks.next(&mut self.buffer) {
            Ok(Chunk::Partial) => {
                self.state = State::Chunked { chunks, persistent };
                false
            }
            Ok(Chunk::Data(data)) => {
                assert!(!data.is_empty());
                self.add_data(&data);
                self.state = State::Chunked { chunks, persistent };
                true
            }
            Ok(Chunk::End(trailers)) => {
                self.messages.push(Message::Trailers(rendered(&trailers)));
                self.state = after_body(persistent);
                true
            }
            Err(error) => {
                self.messages.push(Message::BrokenBody(error.0));
                false
            }
        }
    }

    /// Pieces of a body are joined, since where they were cut must not matter.
    fn add_data(&mut self, data: &[u8]) {
        if let Some(Message::Body(body)) = self.messages.last_mut() {
            body.extend_from_slice(data);
        }
    }

    /// Two readings of one request's host must not exist; `a:` names no port, and so does `a`.
    fn check_host(&self) {
        let mut named = self.head.fields.all(Name::Host);
        let first = named.next().unwrap_or_default();
        let first = first.strip_suffix(b":").unwrap_or(first);
        assert!(first.eq_ignore_ascii_case(self.head.host.as_bytes()), "{}", self.head.host);
        assert_eq!(named.next(), None);
    }
}

fn after_body(persistent: bool) -> State {
    if persistent { State::Head } else { State::Over }
}

fn rendered(fields: &Fields) -> Vec<u8> {
    let mut out = Vec::new();
    fields.render(&mut out);
    out
}
