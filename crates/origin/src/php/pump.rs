//! From a FastCGI connection to an answer's body.
//!
//! A child is expensive and a visitor may be slow; so PHP is read ahead of the
//! visitor, up to [`PIECES_AHEAD`] pieces, and the child is free once it has said
//! everything. Whoever drops the body closes the connection and so stops the script.

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
    /// The body, begun by `first`; what has ended already needs no task.
    pub(crate) fn into_body(mut self, first: Bytes, progress: Progress) -> (Body, Option<u64>) {
        let announced = self.left;
        let first = self.limit(first);
        match progress {
            Progress::Ended if self.left.unwrap_or(0) == 0 => {
                let length = first.len() as u64;
                self.give_back();
                (body::full(first), Some(length))
            }
            progress => {
                let (sender, pieces) = mpsc::channel(PIECES_AHEAD);
                let left = announced;
                // A new channel has room for the first piece.
                let _ = if first.is_empty() { Ok(()) } else { sender.try_send(Ok(first)) };
                match progress {
                    Progress::Ended => drop(sender.try_send(Err(short()))),
                    Progress::Going => drop(tokio::spawn(self.run(sender))),
                }
                (ReadAhead { pieces, left }.boxed_unsync(), announced)
            }
        }
    }

    /// Reads the rest of an answer whose body nobody may see.
    pub(crate) fn discard(mut self, progress: Progress) {
        self.left = None;
        match progress {
            Progress::Ended => self.give_back(),
            Progress::Going => drop(tokio::spawn(async move {
                loop {
                    match self.advance().await {
                        Ok((_, Progress::Going)) => {}
                        Ok((_, Progress::Ended)) => return self.give_back(),
                        Err(_) => return,
                    }
                }
            })),
        }
    }

    async fn run(mut self, sender: mpsc::Sender<Piece>) {
        loop {
            let advanced = tokio::select! {
                biased;
                () = sender.closed() => return,
                advanced = self.advance() => advanced,
            };
            let (piece, progress) = match advanced {
                Ok(advanced) => advanced,
                Err(error) => {
                    drop(self);
                    let _ = sender.send(Err(error)).await;
                    return;
                }
            };
            let piece = self.limit(piece);
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

    /// Waits for bytes and gives what they hold of the body.
    async fn advance(&mut self) -> Result<(Bytes, Progress), BodyError> {
        match within(self.idle, self.exchange.step()).await {
            None => Err(BodyError::OriginIdle { seconds: seconds(self.idle) }),
            Some(Err(error)) => Err(BodyError::Origin(error.to_string())),
            Some(Ok(Step::Closed)) => Err(BodyError::Origin("PHP closed the connection".into())),
            Some(Ok(Step::Wrote)) => Ok((Bytes::new(), Progress::Going)),
            Some(Ok(Step::Read)) => {
                let mut piece = Vec::new();
                let progress =
                    drain(&mut self.exchange, &self.log, &mut piece).map_err(BodyError::Origin)?;
                Ok((piece.into(), progress))
            }
        }
    }

    /// Cuts off what goes beyond the announced length, as a client would.
    fn limit(&mut self, mut piece: Bytes) -> Bytes {
        if let Some(left) = &mut self.left {
            piece.truncate(usize::try_from(*left).unwrap_or(usize::MAX));
            *left -= piece.len() as u64;
        }
        piece
    }

    fn give_back(self) {
        if let Some(connection) = self.exchange.into_kept() {
            self.pool.put(connection);
        }
        drop(self.slot);
    }
}

/// Appends what the records that have arrived hold of STDOUT; logs their STDERR.
pub(crate) fn drain(
    exchange: &mut Exchange,
    log: &Log,
    stdout: &mut Vec<u8>,
) -> Result<Progress, String> {
    while let Some(record) = exchange.next_record().map_err(|error| error.to_string())? {
        match record.kind {
            Kind::Stdout => stdout.extend_from_slice(&record.content),
            Kind::Stderr => log.text("php", &record.content),
            Kind::End => {
                let end = End::parse(&record.content).map_err(|error| error.to_string())?;
                return match end.protocol_status {
                    0 => Ok(Progress::Ended),
                    status => Err(format!("PHP refused the request with status {status}")),
                };
            }
            _ => {}
        }
    }
    Ok(Progress::Going)
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
