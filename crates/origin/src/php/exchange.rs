//! One request on one FastCGI connection: sending and receiving at the same time.
//!
//! PHP may answer before it has read the whole request, and may stop reading it at
//! all; so neither direction ever waits for the other.
//! Invariant: a connection is used again only if the request was sent whole, the
//! answer ended as the protocol says, and not a byte came after it.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use wire::fastcgi::{
    Kind, Record, RecordError, RecordReader, close_stream, write_begin, write_stream,
};

use super::spool::Stored;
use crate::dial::Stream;

/// How much is read from a connection or a spooled body at once.
const READ_BYTES: usize = 32 * 1024;

/// An open FastCGI connection.
pub(crate) struct Connection {
    stream: Stream,
    reader: RecordReader,
}

impl Connection {
    pub(crate) fn new(stream: Stream) -> Self {
        Self { stream, reader: RecordReader::default() }
    }

    /// Whether an unused connection was closed, or has something to say unasked.
    pub(crate) fn is_stale(&mut self) -> bool {
        let mut byte = [0];
        let mut buffer = ReadBuf::new(&mut byte);
        let mut context = Context::from_waker(std::task::Waker::noop());
        Pin::new(&mut self.stream).poll_read(&mut context, &mut buffer).is_ready()
    }
}

/// A request under way.
pub(crate) struct Exchange {
    connection: Connection,
    unsent: Vec<u8>,
    sent: usize,
    source: Option<tokio::fs::File>,
    /// The connection takes no more, but may still hold an answer.
    is_write_closed: bool,
    is_keep: bool,
    has_read: bool,
}

/// What one step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Wrote,
    Read,
    Closed,
}

impl Exchange {
    /// Prepares a request; nothing is sent before the first step.
    pub(crate) fn new(
        connection: Connection,
        environment: &[u8],
        body: Stored,
        keep: bool,
    ) -> Self {
        let mut unsent = Vec::with_capacity(environment.len() + 64);
        write_begin(&mut unsent, keep);
        write_stream(&mut unsent, Kind::Params, environment);
        close_stream(&mut unsent, Kind::Params);
        let source = match body {
            Stored::Memory(bytes) => {
                write_stream(&mut unsent, Kind::Stdin, &bytes);
                close_stream(&mut unsent, Kind::Stdin);
                None
            }
            Stored::File { file, .. } => Some(file),
        };
        Self {
            connection,
            unsent,
            sent: 0,
            source,
            is_write_closed: false,
            is_keep: keep,
            has_read: false,
        }
    }

    /// Waits until bytes have moved one way or the other.
    pub(crate) async fn step(&mut self) -> io::Result<Step> {
        let mut has_waited = false;
        poll_fn(|context| {
            let wrote = self.poll_send(context)?;
            let buffer = self.connection.reader.buffer_mut();
            buffer.reserve(READ_BYTES);
            let read = pin!(self.connection.stream.read_buf(buffer)).poll(context);
            match read {
                Poll::Ready(Ok(0)) => Poll::Ready(Ok(Step::Closed)),
                Poll::Ready(Ok(_)) => {
                    self.has_read = true;
                    Poll::Ready(Ok(Step::Read))
                }
                Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
                // Who waits for an answer counts from the last byte sent. What all went at
                // the first look took no time, so the same wait may go on.
                Poll::Pending if wrote && (has_waited || !self.is_sent()) => {
                    Poll::Ready(Ok(Step::Wrote))
                }
                Poll::Pending => {
                    has_waited = true;
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// The next record that has arrived whole.
    pub(crate) fn next_record(&mut self) -> Result<Option<Record>, RecordError> {
        self.connection.reader.next_record()
    }

    /// Whether any byte of an answer has come.
    pub(crate) fn has_read(&self) -> bool {
        self.has_read
    }

    /// The connection, if it can carry another request now that the answer has ended.
    pub(crate) fn into_kept(self) -> Option<Connection> {
        let is_clean = self.is_sent() && !self.is_write_closed && self.connection.reader.is_empty();
        (self.is_keep && is_clean).then_some(self.connection)
    }

    fn is_sent(&self) -> bool {
        self.sent == self.unsent.len() && self.source.is_none()
    }

    /// Sends as much as the connection takes; whether any of it went.
    fn poll_send(&mut self, context: &mut Context<'_>) -> io::Result<bool> {
        let mut wrote = false;
        while !self.is_write_closed {
            if self.sent == self.unsent.len() && !self.poll_refill(context)? {
                break;
            }
            let stream = Pin::new(&mut self.connection.stream);
            match stream.poll_write(context, &self.unsent[self.sent..]) {
                Poll::Pending => break,
                Poll::Ready(Ok(bytes)) if bytes > 0 => {
                    self.sent += bytes;
                    wrote = true;
                }
                // The answer may have come before the request was read whole: what
                // there is to read decides whether this was an error.
                Poll::Ready(_) => self.is_write_closed = true,
            }
        }
        Ok(wrote)
    }

    /// Takes the next piece from the spooled body; whether there is something to send.
    fn poll_refill(&mut self, context: &mut Context<'_>) -> io::Result<bool> {
        let Some(source) = &mut self.source else { return Ok(false) };
        let mut piece = [0; READ_BYTES];
        let mut buffer = ReadBuf::new(&mut piece);
        match Pin::new(source).poll_read(context, &mut buffer) {
            Poll::Pending => return Ok(false),
            Poll::Ready(read) => read?,
        }
        self.unsent.clear();
        self.sent = 0;
        if buffer.filled().is_empty() {
            close_stream(&mut self.unsent, Kind::Stdin);
            self.source = None;
        } else {
            write_stream(&mut self.unsent, Kind::Stdin, buffer.filled());
        }
        Ok(true)
    }
}
