//! From a FastCGI connection to an answer's body.
//!
//! A child is expensive and a visitor may be slow; so PHP is read ahead of the
//! visitor, up to [`PIECES_AHEAD`] pieces, and the child is free once it has said
//! everything. Whoever drops the body closes the connection and so stops the script.
//! PHP sends in pieces of 8 kB and little time passes between those of a page that is
//! made already; so a body gets a moment to arrive whole ([`Pump::gather`]), and then
//! leaves in one piece, with its length, without a task of its own.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use tokio::sync::mpsc;
use wire::fastcgi::{End, Kind};
use wire::{Body, BodyError, body};

use super::exchange::{Connection, Exchange, Step};
use crate::Log;
use crate::pool::Pool;
use crate::slots::Slot;
use crate::timeouts::{seconds, within};

/// Pieces of at most 32 kB or a record that are read ahead.
const PIECES_AHEAD: usize = 16;

/// How long a body may take to arrive whole, and how large it may be for that.
const GATHER: Duration = Duration::from_millis(3);
const GATHERED_BYTES_MAX: usize = 64 * 1024;

type Piece = Result<Bytes, BodyError>;

/// Everything that reading the rest of an answer takes.
pub(crate) struct Pump {
    pub(crate) exchange: Exchange,
    pub(crate) pool: Pool<Connection>,
    pub(crate) log: Log,
    pub(crate) idle: Duration,
    /// How many bytes the head announced, if it did, less those that came.
    pub(crate) left: Option<u64>,
    /// After the exchange, so that its connection is back or closed when the slot is free.
    pub(crate) slot: Slot,
}

/// How far an answer has come.
pub(crate) enum Progress {
    Going,
    Ended,
}

impl Pump {
    /// The body, begun by `first`; what comes whole within a moment needs no task.
    pub(crate) async fn into_body(mut self, first: Bytes) -> (Body, Option<u64>) {
        let announced = self.left;
        let (mut first, progress) = self.gather(first).await;
        self.limit(&mut first);
        // Who stores it shall hold no more than its length says.
        let first = Bytes::from(first.into_boxed_slice());
        let is_whole = match self.left {
            Some(left) => left == 0,
            None => matches!(progress, Ok(Progress::Ended)),
        };
        if is_whole {
            let length = first.len() as u64;
            match progress {
                Ok(Progress::Ended) => self.give_back(),
                Ok(Progress::Going) => self.discard(),
                Err(_) => {}
            }
            return (body::full(first), Some(length));
        }
        let (sender, pieces) = mpsc::channel(PIECES_AHEAD);
        // A new channel has room for two pieces.
        let _ = if first.is_empty() { Ok(()) } else { sender.try_send(Ok(first)) };
        match progress {
            Ok(Progress::Ended) => drop(sender.try_send(Err(short()))),
            Ok(Progress::Going) => drop(tokio::spawn(self.run(sender))),
            Err(error) => drop(sender.try_send(Err(error))),
        }
        (ReadAhead { pieces, left: announced }.boxed_unsync(), announced)
    }

    /// What comes of a body within a moment.
    async fn gather(&mut self, first: Bytes) -> (Vec<u8>, Result<Progress, BodyError>) {
        let announced = self.left.map(|left| usize::try_from(left).unwrap_or(usize::MAX));
        let is_small = announced.is_none_or(|bytes| bytes <= GATHERED_BYTES_MAX);
        let enough = announced.unwrap_or(GATHERED_BYTES_MAX);
        let mut gathered = Vec::with_capacity(match announced {
            Some(bytes) if is_small => bytes,
            _ => first.len(),
        });
        gathered.extend_from_slice(&first);
        drop(first);
        let mut progress =
            drain(&mut self.exchange, &self.log, &mut gathered).map_err(BodyError::Origin);
        if is_small && gathered.len() < enough && matches!(progress, Ok(Progress::Going)) {
            let rest = async {
                loop {
                    match self.advance(&mut gathered).await {
                        Ok(Progress::Going) if gathered.len() < enough => {}
                        progress => return progress,
                    }
                }
            };
            progress = within(GATHER, rest).await.unwrap_or(Ok(Progress::Going));
        }
        (gathered, progress)
    }

    /// Reads the rest of an answer whose body nobody may see.
    pub(crate) fn discard(mut self) {
        let mut discarded = Vec::new();
        match drain(&mut self.exchange, &self.log, &mut discarded) {
            Ok(Progress::Ended) => self.give_back(),
            Ok(Progress::Going) => drop(tokio::spawn(async move {
                loop {
                    discarded.clear();
                    match self.advance(&mut discarded).await {
                        Ok(Progress::Going) => {}
                        Ok(Progress::Ended) => return self.give_back(),
                        Err(_) => return,
                    }
                }
            })),
            Err(_) => {}
        }
    }

    async fn run(mut self, sender: mpsc::Sender<Piece>) {
        loop {
            let mut piece = Vec::new();
            let advanced = tokio::select! {
                biased;
                () = sender.closed() => return,
                advanced = self.advance(&mut piece) => advanced,
            };
            let progress = match advanced {
                Ok(progress) => progress,
                Err(error) => {
                    drop(self);
                    let _ = sender.send(Err(error)).await;
                    return;
                }
            };
            self.limit(&mut piece);
            let piece = Bytes::from(piece);
            if let Progress::Ended = progress {
                let is_short = self.left.unwrap_or(0) > 0;
                self.give_back();
                if !piece.is_empty() {
                    let _ = sender.send(Ok(piece)).await;
                }
                if is_short {
                    let _ = sender.send(Err(short())).await;
                }
                return;
            }
            if !piece.is_empty() && sender.send(Ok(piece)).await.is_err() {
                return;
            }
        }
    }

    /// Waits for bytes and appends what they hold of the body.
    async fn advance(&mut self, piece: &mut Vec<u8>) -> Result<Progress, BodyError> {
        match within(self.idle, self.exchange.step()).await {
            None => Err(BodyError::OriginIdle { seconds: seconds(self.idle) }),
            Some(Err(error)) => Err(BodyError::Origin(error.to_string())),
            Some(Ok(Step::Closed)) => Err(BodyError::Origin("PHP closed the connection".into())),
            Some(Ok(Step::Wrote)) => Ok(Progress::Going),
            Some(Ok(Step::Read)) => {
                drain(&mut self.exchange, &self.log, piece).map_err(BodyError::Origin)
            }
        }
    }

    /// Cuts off what goes beyond the announced length, as a client would.
    fn limit(&mut self, piece: &mut Vec<u8>) {
        if let Some(left) = &mut self.left {
            piece.truncate(usize::try_from(*left).unwrap_or(usize::MAX));
            *left -= piece.len() as u64;
        }
    }

    fn give_back(self) {
        if let Some(connection) = self.exchange.into_kept() {
            self.pool.put(connection);
        }
        drop(self.slot);
    }
}

/// What has arrived.
pub(crate) enum Arrived {
    /// Bytes of STDOUT.
    Output(Bytes),
    /// The end of the answer.
    End,
    /// Nothing more for now.
    Nothing,
}

/// Takes the next that has arrived of STDOUT; logs the STDERR before it.
pub(crate) fn arrived(exchange: &mut Exchange, log: &Log) -> Result<Arrived, String> {
    while let Some(record) = exchange.next_record().map_err(|error| error.to_string())? {
        match record.kind {
            Kind::Stdout => return Ok(Arrived::Output(record.content)),
            Kind::Stderr => log.text("php", &record.content),
            Kind::End => {
                let end = End::parse(&record.content).map_err(|error| error.to_string())?;
                return match end.protocol_status {
                    0 => Ok(Arrived::End),
                    status => Err(format!("PHP refused the request with status {status}")),
                };
            }
            _ => {}
        }
    }
    Ok(Arrived::Nothing)
}

/// Appends all that has arrived of STDOUT; logs the STDERR.
fn drain(exchange: &mut Exchange, log: &Log, stdout: &mut Vec<u8>) -> Result<Progress, String> {
    loop {
        match arrived(exchange, log)? {
            Arrived::Output(bytes) => stdout.extend_from_slice(&bytes),
            Arrived::End => return Ok(Progress::Ended),
            Arrived::Nothing => return Ok(Progress::Going),
        }
    }
}

fn short() -> BodyError {
    BodyError::Origin("it is shorter than its Content-Length".to_owned())
}

struct ReadAhead {
    pieces: mpsc::Receiver<Piece>,
    left: Option<u64>,
}

impl http_body::Body for ReadAhead {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let piece = ready!(self.pieces.poll_recv(context));
        if let (Some(Ok(piece)), Some(left)) = (&piece, &mut self.left) {
            *left = left.saturating_sub(piece.len() as u64);
        }
        Poll::Ready(piece.map(|piece| piece.map(Frame::data)))
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
