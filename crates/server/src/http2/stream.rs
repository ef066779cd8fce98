//! The ends of a stream of HTTP/2, as what answers requests sees them.
//!
//! Law: RFC 9113 §5.2, §8.1. A page in memory is handed over without a copy.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use base::Now;
use bytes::Bytes;
use wire::h2::Code;
use wire::hpack;

use crate::http2::hall::{Begun, Hall};
use crate::reply::{Payload, Reply};
use crate::streams::answer::{Answering, Rest};
use crate::streams::{Break, Coding, Gone, Incoming, Outgoing, Responder};

/// The end that brings a request's body.
pub(crate) struct Taker {
    hall: Arc<Hall>,
    id: u32,
}

impl Taker {
    /// Of a stream that was entered.
    pub(crate) fn new(hall: Arc<Hall>, id: u32) -> Self {
        Self { hall, id }
    }
}

impl Incoming for Taker {
    fn poll_data(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, String>>> {
        self.hall.poll_data(self.id, context)
    }

    fn give_back(&mut self, bytes: usize) {
        self.hall.give_back(self.id, bytes);
    }
}

impl Drop for Taker {
    fn drop(&mut self) {
        self.hall.drop_taker(self.id);
    }
}

/// The end that takes its answer.
pub(crate) struct Sender {
    hall: Arc<Hall>,
    id: u32,
    /// Whether all was said on a stream that was never entered.
    is_light: bool,
}

impl Sender {
    /// Of a stream that may have to be entered if it isn't answered at once.
    pub(crate) fn new(hall: Arc<Hall>, id: u32) -> Self {
        Self { hall, id, is_light: false }
    }

    fn start(mut self, block: &[u8], payload: Payload) -> Option<(Self, Payload)> {
        match self.hall.begin(self.id, block, payload) {
            Begun::Whole { is_light } => {
                self.is_light = is_light;
                None
            }
            Begun::Partly(payload) => Some((self, payload)),
            Begun::Gone => None,
        }
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        if !self.is_light {
            self.hall.drop_sender(self.id);
        }
    }
}

impl Answering<Sender> {
    /// Sends the head of a reply, and what can be sent with it, without waiting. `block` is
    /// for the head.
    pub(crate) fn begin_now(
        mut self,
        reply: Reply,
        now: Now,
        block: &mut Vec<u8>,
    ) -> Option<Rest<Sender>> {
        block.clear();
        let payload = self.prepare(reply, now, block);
        let length = payload.length();
        let begun = self.responder.start(block, payload);
        Rest::of(begun, length, self.server, self.takes_trailers, self.watched)
    }
}

impl Coding for Sender {
    fn begin(_: &mut Vec<u8>) {}

    fn status(out: &mut Vec<u8>, status: u16) {
        hpack::push_status(out, status);
    }

    fn field(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
        hpack::push_field(out, name, value);
    }
}

impl Responder for Sender {
    type Outgoing = Self;

    async fn relay(&mut self, interim: Vec<u8>) {
        let _ = self.hall.push_head(self.id, &interim, false);
    }

    async fn begin(self, head: Vec<u8>, payload: Payload) -> Option<(Self, Payload)> {
        self.start(&head, payload)
    }
}

impl Outgoing for Sender {
    async fn send(&mut self, piece: &mut Bytes, is_last: bool) -> Result<(), Gone> {
        poll_fn(|context| self.hall.poll_send(self.id, piece, is_last, context)).await
    }

    async fn send_trailers(&mut self, trailers: Vec<u8>) -> Result<(), Gone> {
        self.hall.push_head(self.id, &trailers, true)
    }

    async fn unwanted(&mut self) {
        poll_fn(|context| self.hall.poll_unwanted(self.id, context)).await;
    }

    fn break_off(&mut self, why: Break) {
        self.hall.reset(
            self.id,
            match why {
                Break::Late => Code::Cancel,
                Break::Ours => Code::Internal,
            },
        );
    }
}
