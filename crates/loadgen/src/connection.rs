//! One request on one connection: written, answered, and its moments noted.

use std::cell::RefCell;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::Sleep;

use crate::dial::Stream;
use crate::response::{Answer, Memo, ResponseError, ResponseReader, Step, Witness};
use crate::tally::FailureKind;

/// What is read at a time.
const READ_BYTES: usize = 16 << 10;

thread_local! {
    /// What the connections of a thread read into, one after the other: a thousand buffers would
    /// be most of what a run needs, and none of them in the processor's cache.
    static DESK: RefCell<Desk> = RefCell::default();
}

/// What is read, and the head that was read last on any connection.
#[derive(Default)]
struct Desk {
    buffer: BytesMut,
    memo: Memo,
}

/// An open connection.
pub(crate) struct Line {
    stream: Box<dyn Stream>,
    /// What was read and can't be understood yet, such as half a head.
    rest: BytesMut,
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

/// When it was read, and what was understood; nothing at the connection's end.
type Received = (Instant, Option<Result<Step, ResponseError>>);

impl Line {
    pub(crate) fn new(stream: Box<dyn Stream>) -> Self {
        Self { stream, rest: BytesMut::new(), answers: 0 }
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
            let (now, step) = match self.receive(&mut reader, witness).await {
                Ok(received) => received,
                Err(error) => {
                    let is_unanswered = first_byte.is_none();
                    let failure = Failure::new(FailureKind::Receive, error);
                    return Err(Failure { is_unanswered, ..failure });
                }
            };
            let first_byte = *first_byte.get_or_insert(now);
            let Some(step) = step else {
                let answer = reader.end(&self.rest)?;
                return Ok(Exchanged { answer, first_byte, end: now });
            };
            if let Step::Whole(mut answer) = step? {
                // Nobody has asked for what follows: such a connection can't be trusted.
                answer.keeps &= self.rest.is_empty();
                self.answers += 1;
                return Ok(Exchanged { answer, first_byte, end: now });
            }
        }
    }
}

impl Line {
    /// Reads once, and has that understood.
    async fn receive(
        &mut self,
        reader: &mut ResponseReader,
        witness: &mut impl Witness,
    ) -> std::io::Result<Received> {
        std::future::poll_fn(|context| {
            DESK.with_borrow_mut(|desk| self.poll_receive(context, desk, reader, witness))
        })
        .await
    }

    fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        desk: &mut Desk,
        reader: &mut ResponseReader,
        witness: &mut impl Witness,
    ) -> Poll<std::io::Result<Received>> {
        let Desk { buffer, memo } = desk;
        buffer.clear();
        buffer.reserve(READ_BYTES);
        // What it didn't read is still there the next time.
        let read = ready!(pin!(self.stream.read_buf(buffer)).poll(context))?;
        let now = Instant::now();
        if read == 0 {
            return Poll::Ready(Ok((now, None)));
        }
        if self.rest.is_empty() {
            let step = reader.read(buffer, memo, witness);
            if !buffer.is_empty() {
                self.rest.extend_from_slice(buffer);
            }
            return Poll::Ready(Ok((now, Some(step))));
        }
        self.rest.extend_from_slice(buffer);
        let step = reader.read(&mut self.rest, memo, witness);
        if self.rest.is_empty() {
            self.rest = BytesMut::new();
        }
        Poll::Ready(Ok((now, Some(step))))
    }
}

/// A deadline for one thing after the other.
///
/// Setting a timer for each request and taking it back would cost as much as reading its
/// answer. Deadlines only move on, so one timer that rings too early and is set again will do;
/// and while it hasn't rung it need not be polled again, as all is awaited by one task.
pub(crate) struct Deadline {
    timer: Pin<Box<Sleep>>,
    /// It will wake the task when it rings.
    is_set: bool,
}

impl Deadline {
    pub(crate) fn new() -> Self {
        Self { timer: Box::pin(tokio::time::sleep(Duration::ZERO)), is_set: false }
    }

    /// What comes of `work`, if it comes before `moment`; to be awaited by one task only.
    ///
    /// The work lies with the caller: a future that is handed to another has room in both.
    pub(crate) async fn hold<T>(
        &mut self,
        moment: Instant,
        mut work: Pin<&mut impl Future<Output = T>>,
    ) -> Option<T> {
        let Self { timer, is_set } = self;
        std::future::poll_fn(move |context| {
            if let Poll::Ready(done) = work.as_mut().poll(context) {
                return Poll::Ready(Some(done));
            }
            if *is_set && !timer.is_elapsed() {
                return Poll::Pending;
            }
            while timer.as_mut().poll(context).is_ready() {
                *is_set = false;
                if Instant::now() >= moment {
                    return Poll::Ready(None);
                }
                timer.as_mut().reset(tokio::time::Instant::from_std(moment));
            }
            *is_set = true;
            Poll::Pending
        })
        .await
    }
}
