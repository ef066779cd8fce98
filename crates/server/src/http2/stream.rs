//! The ends of a stream of HTTP/2, as what answers requests sees them.
//!
//! Law: RFC 9113 §5.2, §8.1. A page in memory is handed over without a copy.

use std::future::poll_fn;
use std::task::{Context, Poll};

use base::Now;
use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderMap, Response};

use crate::reply::{Payload, Reply};
use crate::streams::answer::{Answering, PIECE_BYTES, Rest};
use crate::streams::{Break, Gone, Incoming, Outgoing, Responder};

impl Incoming for RecvStream {
    fn poll_data(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, String>>> {
        let next = RecvStream::poll_data(self, context);
        next.map(|data| data.map(|data| data.map_err(|error| error.to_string())))
    }

    fn give_back(&mut self, bytes: usize) {
        // It fails only for more than was received.
        let released = self.flow_control().release_capacity(bytes);
        debug_assert!(released.is_ok());
    }
}

impl Answering<SendResponse<Bytes>> {
    /// Sends the head of a reply, and what can be sent with it, without waiting.
    pub(crate) fn begin_now(mut self, reply: Reply, now: Now) -> Option<Rest<SendStream<Bytes>>> {
        let (response, payload) = self.prepare(reply, now);
        let length = payload.length();
        let begun = begin(self.responder, response, payload);
        Rest::of(begun, length, self.server, self.takes_trailers, self.watched)
    }
}

impl Responder for SendResponse<Bytes> {
    type Outgoing = SendStream<Bytes>;

    async fn relay(&mut self, interim: Response<()>) {
        let _ = self.send_informational(interim);
    }

    async fn begin(
        self,
        head: Response<()>,
        payload: Payload,
    ) -> Option<(SendStream<Bytes>, Payload)> {
        begin(self, head, payload)
    }
}

fn begin(
    mut respond: SendResponse<Bytes>,
    head: Response<()>,
    payload: Payload,
) -> Option<(SendStream<Bytes>, Payload)> {
    let is_whole = matches!(payload, Payload::None);
    let mut stream = match respond.send_response(head, is_whole) {
        Ok(stream) => stream,
        Err(_) => {
            // The client is gone, or our fields are none: either way it ends here.
            respond.send_reset(Reason::INTERNAL_ERROR);
            return None;
        }
    };
    match payload {
        Payload::None => None,
        Payload::Whole(bytes) if fits(&mut stream, bytes.len()) => {
            // Who reset the stream wants nothing of it.
            let _ = stream.send_data(bytes, true);
            None
        }
        payload => Some((stream, payload)),
    }
}

impl Outgoing for SendStream<Bytes> {
    async fn send(&mut self, piece: &mut Bytes, is_last: bool) -> Result<(), Gone> {
        let room = match piece.len() {
            0 => 0,
            length => {
                self.reserve_capacity(length.min(PIECE_BYTES));
                match self.capacity() {
                    0 => wait_for_room(self).await?,
                    room => room,
                }
            }
        };
        let part = piece.split_to(room.min(piece.len()));
        self.send_data(part, is_last && piece.is_empty()).map_err(|_| Gone)
    }

    async fn send_trailers(&mut self, trailers: HeaderMap) -> Result<(), Gone> {
        SendStream::send_trailers(self, trailers).map_err(|_| Gone)
    }

    async fn unwanted(&mut self) {
        poll_fn(|context| self.poll_reset(context).map(|_| ())).await;
    }

    fn break_off(&mut self, why: Break) {
        self.send_reset(match why {
            Break::Late => Reason::CANCEL,
            Break::Ours => Reason::INTERNAL_ERROR,
        });
    }
}

async fn wait_for_room(stream: &mut SendStream<Bytes>) -> Result<usize, Gone> {
    poll_fn(|context| {
        loop {
            match stream.poll_capacity(context) {
                // It was taken away again.
                Poll::Ready(Some(Ok(0))) => {}
                Poll::Ready(Some(Ok(room))) => return Poll::Ready(Ok(room)),
                Poll::Ready(_) => return Poll::Ready(Err(Gone)),
                Poll::Pending => return Poll::Pending,
            }
        }
    })
    .await
}

/// Whether the client lets so much come at once.
fn fits(stream: &mut SendStream<Bytes>, bytes: usize) -> bool {
    bytes <= PIECE_BYTES && {
        stream.reserve_capacity(bytes);
        stream.capacity() >= bytes
    }
}
