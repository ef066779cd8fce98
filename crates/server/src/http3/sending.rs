//! What a request's stream takes: the answer's head, then its body as the client lets it come.
//!
//! Law: RFC 9114 §4.1. A page in memory is handed to QUIC without a copy, as far as its window
//! for what the client has not acknowledged goes.
//! Invariant: an answer is over when the client has all of it; so nothing is lost at a stop.

use std::sync::Arc;

use bytes::Bytes;
use quinn::{SendStream, VarInt, WriteError};
use tokio::time::timeout;
use wire::h3::{Code, frame, push_frame};
use wire::qpack;

use crate::http3::Hall;
use crate::reply::Payload;
use crate::streams::allowance::Excess;
use crate::streams::answer::PIECE_BYTES;
use crate::streams::{Break, Coding, Gone, Outgoing, Responder};

/// The end of a request's stream that takes its answer.
pub(crate) struct Sending {
    send: SendStream,
    hall: Arc<Hall>,
    is_over: bool,
}

impl Sending {
    pub(crate) fn new(send: SendStream, hall: Arc<Hall>) -> Self {
        Self { send, hall, is_over: false }
    }

    /// Nothing was or will be sent, and nobody waits for it.
    pub(crate) fn give_up(self) {
        self.reset(Code::RequestCancelled);
    }

    /// Ends the stream so that nobody takes for whole what was sent of it.
    pub(crate) fn reset(mut self, code: Code) {
        self.end_with(code);
    }

    fn end_with(&mut self, code: Code) {
        self.is_over = true;
        if self.send.reset(VarInt::from_u32(code.number())).is_ok() {
            self.hall.server().counters.streams_reset.bump();
        }
    }

    async fn write(&mut self, chunks: &mut [Bytes]) -> Result<(), Gone> {
        self.send.write_all_chunks(chunks).await.map_err(|error| {
            if matches!(error, WriteError::Stopped(_)) {
                self.hall.note(Excess::Resets);
            }
            Gone
        })
    }

    /// The same for what must not wait long.
    async fn write_in_time(&mut self, chunks: &mut [Bytes]) -> Result<(), Gone> {
        let patience = self.hall.server().limits().write_timeout;
        timeout(patience, self.write(chunks)).await.unwrap_or(Err(Gone))
    }

    /// Ends the stream, and waits until the client has all of it.
    async fn finish(&mut self) -> Result<(), Gone> {
        self.send.finish().map_err(|_| Gone)?;
        self.is_over = true;
        match self.send.stopped().await {
            Ok(None) => Ok(()),
            Ok(Some(_)) => {
                self.hall.note(Excess::Resets);
                Err(Gone)
            }
            Err(_) => Err(Gone),
        }
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        if !self.is_over {
            self.end_with(Code::Internal);
        }
    }
}

/// A head as it is sent: its block behind its frame's beginning.
fn framed(block: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(block.len() + 16);
    push_frame(&mut out, frame::HEADERS, block.len());
    out.extend_from_slice(block);
    out
}

impl Coding for Sending {
    fn begin(out: &mut Vec<u8>) {
        out.extend_from_slice(&qpack::NO_TABLE);
    }

    fn status(out: &mut Vec<u8>, status: u16) {
        let mut digits = Vec::with_capacity(3);
        policy::digits::push(&mut digits, u64::from(status));
        qpack::push_field(out, b":status", &digits);
    }

    fn field(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
        qpack::push_field(out, &name.to_ascii_lowercase(), value);
    }
}

impl Responder for Sending {
    type Outgoing = Self;

    async fn relay(&mut self, interim: Vec<u8>) {
        let _ = self.write_in_time(&mut [framed(&interim).into()]).await;
    }

    async fn begin(mut self, head: Vec<u8>, payload: Payload) -> Option<(Self, Payload)> {
        let mut out = framed(&head);
        let (body, rest) = match payload {
            Payload::Whole(bytes) if bytes.len() <= PIECE_BYTES && !bytes.is_empty() => {
                push_frame(&mut out, frame::DATA, bytes.len());
                (bytes, Payload::Whole(Bytes::new()))
            }
            Payload::None => (Bytes::new(), Payload::Whole(Bytes::new())),
            payload => (Bytes::new(), payload),
        };
        self.write_in_time(&mut [out.into(), body]).await.ok()?;
        Some((self, rest))
    }
}

impl Outgoing for Sending {
    async fn send(&mut self, piece: &mut Bytes, is_last: bool) -> Result<(), Gone> {
        if !piece.is_empty() {
            let part = piece.split_to(piece.len().min(PIECE_BYTES));
            let mut before = Vec::with_capacity(8);
            push_frame(&mut before, frame::DATA, part.len());
            self.write(&mut [before.into(), part]).await?;
        }
        match is_last && piece.is_empty() {
            true => self.finish().await,
            false => Ok(()),
        }
    }

    async fn send_trailers(&mut self, trailers: Vec<u8>) -> Result<(), Gone> {
        self.write(&mut [framed(&trailers).into()]).await?;
        self.finish().await
    }

    async fn unwanted(&mut self) {
        // It was not finished yet, so this is the client, or the end of the connection.
        if matches!(self.send.stopped().await, Ok(Some(_))) {
            self.hall.note(Excess::Resets);
        }
    }

    fn break_off(&mut self, why: Break) {
        self.end_with(match why {
            Break::Late => Code::RequestCancelled,
            Break::Ours => Code::Internal,
        });
    }
}
