//! A client's end of one connection, and what it makes of the bytes that come.
//!
//! It reads only while something is expected of it: a slow reader is a client
//! that expects nothing for a while.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWriteExt, ReadBuf};

use crate::message::{Received, State};
use crate::scene::{Expected, Message};
use crate::stream::AnyStream;
use crate::world::World;

const READ_BYTES: usize = 16 << 10;

/// One connection of a client.
pub(crate) struct Connection {
    io: AnyStream,
    world: World,
    /// What has come and has not been accounted for.
    pub(crate) input: Vec<u8>,
    /// Whether the other side has closed.
    pub(crate) ended: bool,
    /// The methods of the requests that are not yet answered.
    pub(crate) methods: VecDeque<String>,
    /// How much of the first message's body was looked at already.
    pub(crate) body_seen: usize,
}

impl Connection {
    pub(crate) fn new(io: AnyStream, world: World) -> Self {
        let methods = VecDeque::new();
        Self { io, world, input: Vec::new(), ended: false, methods, body_seen: 0 }
    }

    /// Sends bytes; returns whether they were all taken.
    pub(crate) async fn send(&mut self, bytes: &[u8]) -> bool {
        let mut left = bytes;
        while !left.is_empty() {
            let world = self.world.clone();
            match world.patiently(self.io.write(left)).await {
                Some(Ok(written)) if written > 0 => {
                    world.moved();
                    left = &left[written..];
                }
                _ => return false,
            }
        }
        true
    }

    /// Sends no more.
    pub(crate) async fn shut(&mut self) {
        let world = self.world.clone();
        // An end that is gone already can't be shut; what follows will show it.
        let _ = world.patiently(self.io.shutdown()).await;
        world.moved();
    }

    /// Reads what is there; ready once something came, or the end did.
    pub(crate) fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.ended {
            return Poll::Ready(());
        }
        let mut space = [0; READ_BYTES];
        let mut buffer = ReadBuf::new(&mut space);
        let polled = Pin::new(&mut self.io).poll_read(context, &mut buffer);
        match polled {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                self.input.extend_from_slice(buffer.filled());
            }
            Poll::Ready(_) => self.ended = true,
        }
        self.world.moved();
        Poll::Ready(())
    }

    /// Takes note of an end, or of bytes, that lie ready.
    pub(crate) async fn look(&mut self) {
        poll_fn(|context| {
            while !self.ended && self.poll_read(context).is_ready() {}
            Poll::Ready(())
        })
        .await;
    }

    /// The first message that has not been accounted for.
    pub(crate) fn message(&self) -> Result<Option<Received>, String> {
        let method = self.methods.front().map_or("GET", String::as_str);
        Received::response(&self.input, method, self.ended)
    }

    /// Whether enough has come to judge an expectation.
    pub(crate) fn can_judge(&self, expected: &Expected) -> bool {
        if self.ended {
            return true;
        }
        let awaits_message = expected.status.is_some() || expected.goes_on || expected.cut;
        let has_message = match self.message() {
            Err(_) => return true,
            Ok(None) => false,
            Ok(Some(message)) if expected.unfinished => {
                let wanted = expected.body.as_ref().map_or(0, Vec::len);
                message.body.len() >= self.body_seen + wanted
            }
            Ok(Some(message)) => message.state != State::Unfinished,
        };
        (has_message || !awaits_message) && !expected.closed
    }

    /// Accounts for the first message, as far as it has come.
    pub(crate) fn account(&mut self, message: &Received) {
        match message.state {
            State::Unfinished => self.body_seen = message.body.len(),
            State::Cut => {
                self.input.clear();
                self.methods.pop_front();
                self.body_seen = 0;
            }
            State::Whole(bytes) => {
                self.input.drain(..bytes);
                self.body_seen = 0;
                if message.status >= 200 {
                    self.methods.pop_front();
                }
            }
        }
    }
}

/// Writes a request as its client sends it.
pub(crate) fn render_request(
    world: &World,
    method: &str,
    target: &str,
    request: &Message,
) -> Vec<u8> {
    let version = if request.http10 { "HTTP/1.0" } else { "HTTP/1.1" };
    let mut text = format!("{method} {} {version}\r\n", world.render(target));
    let adds = |name: &str| {
        !request.fields.iter().any(|(other, _)| other.eq_ignore_ascii_case(name))
            && !request.without.iter().any(|other| other.eq_ignore_ascii_case(name))
    };
    if adds("Host") {
        text.push_str(&format!("Host: {}\r\n", world.host));
    }
    for (name, value) in &request.fields {
        text.push_str(&format!("{name}: {}\r\n", world.render(value)));
    }
    let body = request.body.as_deref().unwrap_or_default();
    if request.chunked {
        text.push_str("Transfer-Encoding: chunked\r\n");
    } else if request.body.is_some() && adds("Content-Length") {
        text.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    text.push_str("\r\n");
    let mut bytes = text.into_bytes();
    if !request.chunked {
        bytes.extend_from_slice(body);
        return bytes;
    }
    // In two chunks where there is anything to cut, so that both ends of one are crossed.
    let (first, second) = body.split_at(body.len() / 2);
    for chunk in [first, second].into_iter().filter(|chunk| !chunk.is_empty()) {
        bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        bytes.extend_from_slice(chunk);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\n");
    for (name, value) in &request.trailers {
        bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes
}
