//! A client that says exactly what it is told to, frame by frame.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use wire::hpack::{BlockError, Decoder, push_field};

use crate::wick::PATIENCE;

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const PRIORITY: u8 = 2;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;
pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// A head that is whole; a body may follow it.
pub(crate) fn head(stream: u32, fields: &[(&str, &str)], ends_stream: bool) -> Vec<u8> {
    let flags = END_HEADERS | if ends_stream { END_STREAM } else { 0 };
    frame(HEADERS, flags, stream, &block(fields))
}

pub(crate) fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        // Unlike `push_field` it keeps names as they are.
        block.push(0);
        let mut text = Vec::new();
        push_field(&mut text, b"x", name.as_bytes());
        block.extend_from_slice(&text[3..]);
        text.clear();
        push_field(&mut text, b"x", value.as_bytes());
        block.extend_from_slice(&text[3..]);
    }
    block
}

pub(crate) fn window(stream: u32, bytes: u32) -> Vec<u8> {
    frame(WINDOW_UPDATE, 0, stream, &bytes.to_be_bytes())
}

/// The only setting that matters here.
pub(crate) fn first_window(bytes: u32) -> Vec<u8> {
    frame(SETTINGS, 0, 0, &[&[0, 4][..], &bytes.to_be_bytes()].concat())
}

/// What has come on one stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) status: String,
    pub(crate) bytes: usize,
    pub(crate) is_over: bool,
    pub(crate) reset: Option<u32>,
}

/// A connection on which the preface was said.
pub(crate) struct Raw {
    socket: TcpStream,
    decoder: Decoder,
    pub(crate) streams: HashMap<u32, Seen>,
    /// Why the server has ended it; 0 if it didn't say.
    pub(crate) end: Option<u32>,
}

impl Raw {
    pub(crate) fn connect(address: SocketAddr, first: &[u8]) -> Self {
        let socket = TcpStream::connect(address).expect("a connection");
        socket.set_read_timeout(Some(PATIENCE)).expect("a time");
        let mut raw =
            Self { socket, decoder: Decoder::default(), streams: HashMap::new(), end: None };
        raw.say(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        raw.say(first);
        raw
    }

    /// Who has been shown out may not be able to say anything.
    pub(crate) fn say(&mut self, bytes: &[u8]) {
        let _ = self.socket.write_all(bytes);
    }

    /// Reads frames until this holds, or the connection has ended.
    pub(crate) fn read_until(&mut self, mut holds: impl FnMut(&Self) -> bool) {
        while self.end.is_none() && !holds(self) {
            if self.read_frame().is_err() {
                self.end = Some(0);
            }
        }
    }

    /// What came of a stream: status and bytes, or how it or the connection ended.
    pub(crate) fn outcome(&mut self, stream: u32) -> String {
        self.read_until(|raw| {
            raw.streams.get(&stream).is_some_and(|seen| seen.is_over || seen.reset.is_some())
        });
        let seen = self.streams.get(&stream).cloned().unwrap_or_default();
        match (seen.reset, self.end) {
            _ if seen.is_over => format!("{} {}", seen.status, seen.bytes),
            (Some(code), _) => format!("reset {code}"),
            (_, Some(code)) => format!("end {code}"),
            _ => unreachable!("it was waited for"),
        }
    }

    /// Waits until all that was said has been read: pings come back in their order.
    pub(crate) fn settle(&mut self) {
        self.say(&frame(PING, 0, 0, b"have you"));
        while self.end.is_none() {
            match self.read_frame() {
                Ok((PING, payload)) if payload == b"have you" => return,
                Ok(_) => {}
                Err(_) => self.end = Some(0),
            }
        }
    }

    fn read_frame(&mut self) -> std::io::Result<(u8, Vec<u8>)> {
        let mut first = [0; 9];
        self.socket.read_exact(&mut first)?;
        let [a, b, c, kind, flags, d, e, f, g] = first;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        self.socket.read_exact(&mut payload)?;
        let stream = u32::from_be_bytes([d, e, f, g]);
        let number = |at: usize| {
            payload.get(at..at + 4).map_or(0, |bytes| {
                bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
            })
        };
        match kind {
            HEADERS => {
                let seen = self.streams.entry(stream).or_default();
                let read: Result<(), BlockError<()>> =
                    self.decoder.decode(&payload, 1 << 20, |name, value| {
                        if name == b":status" {
                            seen.status = String::from_utf8_lossy(value).into_owned();
                        }
                        Ok(())
                    });
                assert_eq!(read, Ok(()));
                seen.is_over |= flags & END_STREAM != 0;
            }
            DATA => {
                let seen = self.streams.entry(stream).or_default();
                seen.bytes += payload.len();
                seen.is_over |= flags & END_STREAM != 0;
            }
            RST_STREAM => self.streams.entry(stream).or_default().reset = Some(number(0)),
            GOAWAY => self.end = Some(number(4)),
            _ => {}
        }
        Ok((kind, payload))
    }
}
