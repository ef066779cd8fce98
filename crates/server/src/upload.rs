//! A request's body on its way from the connection to the origin.
//!
//! The connection owns the socket, so it reads the body itself while it waits for
//! the answer, and hands the pieces over a short channel. A slow origin thereby
//! slows the client down, and nothing larger than [`PIECES_MAX`] reads is held.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http_body::{Frame, SizeHint};
use tokio::sync::mpsc;
use wire::BodyError;
use wire::h1::{Chunk, Chunks, Length};

/// Pieces that may wait for the origin.
const PIECES_MAX: usize = 4;

/// The origin's end: a body that yields what the connection reads.
pub(crate) struct Upload {
    pieces: mpsc::Receiver<Result<Bytes, BodyError>>,
    left: Option<u64>,
    whole: Arc<AtomicBool>,
}

/// The connection's end: where it is in the body, and whom it hands pieces to.
pub(crate) struct Pump {
    pieces: Option<mpsc::Sender<Result<Bytes, BodyError>>>,
    /// Read, and not handed over yet: it must survive a wait for room that is given up.
    waiting: Option<Bytes>,
    stage: Stage,
    /// Set before the channel is closed if the body came to its proper end.
    whole: Arc<AtomicBool>,
    taken_bytes: u64,
    limit_bytes: u64,
}

enum Stage {
    Known { left: u64 },
    Chunked(Chunks),
    Done,
    Broken,
}

/// What the pump needs next.
pub(crate) enum Need {
    /// More bytes from the socket.
    Bytes,
    /// A place in the channel: [`Pump::hand_over`].
    Room,
    /// Nothing: the body is over.
    Nothing,
}

/// A channel for a body of this length, which may not exceed `limit_bytes`; a request
/// without a body needs none.
pub(crate) fn channel(length: Length, limit_bytes: u64) -> (Pump, Option<Upload>) {
    let (stage, left) = match length {
        Length::None => (Stage::Done, Some(0)),
        Length::Known(left) => (Stage::Known { left }, Some(left)),
        Length::Chunked => (Stage::Chunked(Chunks::new()), None),
    };
    let whole = Arc::new(AtomicBool::new(false));
    let mut pump = Pump { pieces: None, waiting: None, stage, whole, taken_bytes: 0, limit_bytes };
    if length == Length::None {
        return (pump, None);
    }
    let (sender, pieces) = mpsc::channel(PIECES_MAX);
    pump.pieces = Some(sender);
    let upload = Upload { pieces, left, whole: pump.whole.clone() };
    (pump, Some(upload))
}

impl Pump {
    /// Takes the next piece of body from the front of `input`.
    pub(crate) fn next(&mut self, input: &mut BytesMut) -> Need {
        if self.waiting.is_some() {
            return Need::Room;
        }
        let piece = match &mut self.stage {
            Stage::Done | Stage::Broken => return Need::Nothing,
            Stage::Known { left } => {
                if input.is_empty() {
                    return Need::Bytes;
                }
                let take = input.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= take as u64;
                let whole = *left == 0;
                let piece = input.split_to(take).freeze();
                if whole {
                    self.stage = Stage::Done;
                }
                piece
            }
            Stage::Chunked(chunks) => match chunks.next(input) {
                Ok(Chunk::Data(piece)) => piece,
                Ok(Chunk::Partial) => return Need::Bytes,
                Ok(Chunk::End(_)) => {
                    self.stage = Stage::Done;
                    self.close();
                    return Need::Nothing;
                }
                Err(error) => {
                    self.fail(BodyError::Client(error.to_string()));
                    return Need::Nothing;
                }
            },
        };
        self.taken_bytes += piece.len() as u64;
        if self.taken_bytes > self.limit_bytes {
            self.fail(BodyError::TooLarge { limit: self.limit_bytes });
            return Need::Nothing;
        }
        self.waiting = Some(piece);
        Need::Room
    }

    /// Ends the body badly; the origin learns why.
    pub(crate) fn fail(&mut self, error: BodyError) {
        self.stage = Stage::Broken;
        if let Some(pieces) = self.pieces.take() {
            // With a full channel the receiver sees it close before the body was whole: an error too.
            let _ = pieces.try_send(Err(error));
        }
    }

    /// Hands the waiting piece over once there is room; a receiver that left discards it.
    /// Giving up the wait loses nothing.
    pub(crate) async fn hand_over(&mut self) {
        let room = match &self.pieces {
            Some(pieces) => pieces.reserve().await.ok(),
            None => None,
        };
        let waiting = self.waiting.take();
        let is_wanted = room.is_some();
        if let (Some(room), Some(piece)) = (room, waiting) {
            room.send(Ok(piece));
        }
        if !is_wanted {
            self.pieces = None;
        }
        if matches!(self.stage, Stage::Done) {
            self.close();
        }
    }

    /// Ends the channel after the last piece of a whole body.
    fn close(&mut self) {
        self.whole.store(true, Ordering::Release);
        self.pieces = None;
    }

    /// Bytes of the body that have come so far.
    pub(crate) fn taken_bytes(&self) -> u64 {
        self.taken_bytes
    }

    /// Whether the whole body was read from the connection.
    pub(crate) fn is_done(&self) -> bool {
        self.waiting.is_none() && matches!(self.stage, Stage::Done)
    }

    /// Whether nothing more is to be read or handed over.
    pub(crate) fn is_over(&self) -> bool {
        self.waiting.is_none() && matches!(self.stage, Stage::Done | Stage::Broken)
    }

    /// Whether anybody still wants the body.
    pub(crate) fn is_wanted(&self) -> bool {
        self.pieces.as_ref().is_some_and(|pieces| !pieces.is_closed())
    }
}

impl http_body::Body for Upload {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if self.left == Some(0) {
            return Poll::Ready(None);
        }
        let Poll::Ready(piece) = self.pieces.poll_recv(context) else { return Poll::Pending };
        let whole = self.whole.load(Ordering::Acquire);
        Poll::Ready(match (piece, &mut self.left) {
            (Some(Ok(piece)), Some(left)) => {
                *left -= piece.len() as u64;
                Some(Ok(Frame::data(piece)))
            }
            (Some(Ok(piece)), None) => Some(Ok(Frame::data(piece))),
            (Some(Err(error)), _) => Some(Err(error)),
            (None, _) if whole => None,
            (None, _) => Some(Err(BodyError::Client("the connection closed".into()))),
        })
    }

    fn is_end_stream(&self) -> bool {
        self.left == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
