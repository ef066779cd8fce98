//! One request on one connection: written, answered, and its moments noted.

use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::Sleep;

use crate::dial::Stream;
use crate::response::{Answer, ResponseError, ResponseReader, Step, Witness};
use crate::tally::FailureKind;

/// What is read at a time.
const READ_BYTES: usize = 16 << 10;

/// An open connection.
pub(crate) struct Line {
    stream: Box<dyn Stream>,
    buffer: BytesMut,
    /// Answers that it has carried.
    pub(crate) answers: u64,
}

/// An answer with its moments.
pub(crate) struct Exchanged {
    pub(crate) answer: Answer,
    pub(crate) first_byte: Instant,
    pub(crate) end: Instant,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) kind: FailureKind,
    pub(crate) why: String,
    /// Whether the connection ended before anything was answered.
    pub(crate) is_unanswered: bool,
}

impl Failure {
    pub(crate) fn new(kind: FailureKind, why: impl ToString) -> Self {
        Self { kind, why: why.to_string(), is_unanswered: false }
    }
}

impl From<ResponseError> for Failure {
    fn from(error: ResponseError) -> Self {
        let kind = match error {
            ResponseError::Malformed(_) => FailureKind::Malformed,
            ResponseError::BrokenOff | ResponseError::Nothing => FailureKind::Receive,
        };
        let is_unanswered = error == ResponseError::Nothing;
        Self { kind, why: error.to_string(), is_unanswered }
    }
}

impl Line {
    pub(crate) fn new(stream: Box<dyn Stream>) -> Self {
        Self { stream, buffer: BytesMut::with_capacity(READ_BYTES), answers: 0 }
    }

    /// Sends a request and reads its answer to the end.
    pub(crate) async fn exchange(
        &mut self,
        request: &[u8],
        is_head: bool,
        witness: &mut impl Witness,
    ) -> Result<Exchanged, Failure> {
        let sent = match self.stream.write_all(request).await {
            Ok(()) => self.stream.flush().await,
            Err(error) => Err(error),
        };
        if let Err(error) = sent {
            let failure = Failure::new(FailureKind::Send, error);
            return Err(Failure { is_unanswered: true, ..failure });
        }
        let mut reader = ResponseReader::new(is_head);
        let mut first_byte = None;
        loop {
            self.buffer.reserve(READ_BYTES);
            let read = match self.stream.read_buf(&mut self.buffer).await {
                Ok(read) => read,
                Err(error) => {
                    let is_unanswered = first_byte.is_none();
                    let failure = Failure::new(FailureKind::Receive, error);
                    return Err(Failure { is_unanswered, ..failure });
                }
            };
            let now = Instant::now();
            let first_byte = *first_byte.get_or_insert(now);
            if read == 0 {
                let answer = reader.end(&self.buffer)?;
                return Ok(Exchanged { answer, first_byte, end: now });
            }
            if let Step::Whole(mut answer) = reader.read(&mut self.buffer, witness)? {
                // Nobody has asked for what follows: such a connection can't be trusted.
                answer.keeps &= self.buffer.is_empty();
                self.answers += 1;
                return Ok(Exchanged { answer, first_byte, end: now });
            }
        }
    }
}

/// A deadline for one thing after the other.
///
/// Setting a timer for each request and taking it back would cost as much as reading its
/// answer. Deadlines only move on, so one timer that rings too early and is set again will do.
pub(crate) struct Deadline {
    timer: Pin<Box<Sleep>>,
}

impl Deadline {
    pub(crate) fn new() -> Self {
        Self { timer: Box::pin(tokio::time::sleep(Duration::ZERO)) }
    }

    /// What comes of `work`, if it comes before `moment`.
    pub(crate) async fn hold<T>(
        &mut self,
        moment: Instant,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let mut work = std::pin::pin!(work);
        let timer = &mut self.timer;
        std::future::poll_fn(move |context| {
            if let Poll::Ready(done) = work.as_mut().poll(context) {
                return Poll::Ready(Some(done));
            }
            while timer.as_mut().poll(context).is_ready() {
                if Instant::now() >= moment {
                    return Poll::Ready(None);
                }
                timer.as_mut().reset(tokio::time::Instant::from_std(moment));
            }
            Poll::Pending
        })
        .await
    }
}
