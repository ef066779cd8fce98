//! One request over a connection of HTTP/1.1, and what came of it; what is the same for both
//! protocols is here as well.

use std::net::Ipv4Addr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use base::Phase;
use base::network::Block;
use bytes::Bytes;
use http::{Method, StatusCode};
use http_body::{Frame, SizeHint};
use parking_lot::Mutex;
use wire::{Body, BodyError, RequestHead, ResponseHead};

use super::http2::{Berth, Sending, Streamed};
use super::member::Single;
use super::upload::{Progress, Upload};
use super::{convert, explain, is_idempotent};
use crate::stopwatch::{Noted, timed};
use crate::timeouts::{seconds, within};
use crate::{Call, EarlySink, OriginError};

pub(crate) type SharedSink = Arc<Mutex<EarlySink>>;

/// A request that may have to be sent twice.
pub(crate) struct Outgoing {
    pub(crate) head: RequestHead,
    /// Whether it may be sent again though it may have been seen.
    pub(crate) is_repeatable: bool,
    /// Whose it is, where others wait as well.
    pub(crate) visitor: Block,
    /// It asks to go on in another protocol, which only HTTP/1.1 can.
    pub(crate) is_upgrade: bool,
    pub(crate) length: Option<u64>,
    pub(crate) early: Option<SharedSink>,
    pub(crate) phases: Noted,
    pub(crate) body: Option<Body>,
}

impl Outgoing {
    pub(crate) fn of(call: Call) -> Self {
        let is_repeatable = is_idempotent(&call.head.method) && !call.has_body();
        let length = if call.body.is_some() { call.body_length } else { None };
        let early = call.early.map(|sink| Arc::new(Mutex::new(sink)));
        let visitor = Block::of(call.peer.ip());
        let (head, phases, body) = (call.head, call.phases, call.body);
        let is_upgrade = false;
        Self { head, is_repeatable, visitor, is_upgrade, length, early, phases, body }
    }

    /// The same, to go on in another protocol.
    pub(crate) fn upgrading(call: Call) -> Self {
        Self { is_upgrade: true, ..Self::of(call) }
    }

    /// A request of our own, without a body.
    pub(crate) fn own(head: RequestHead) -> Self {
        let visitor = Block::of(Ipv4Addr::LOCALHOST.into());
        let (length, early, phases, body) = (None, None, None, None);
        let (is_repeatable, is_upgrade) = (true, false);
        Self { head, is_repeatable, visitor, is_upgrade, length, early, phases, body }
    }

    pub(crate) fn method(&self) -> &Method {
        &self.head.method
    }
}

/// What one attempt brought.
pub(crate) struct Got {
    pub(crate) response: http::Response<Incoming>,
    pub(crate) held: Held,
    pub(crate) progress: Arc<Progress>,
}

/// What an answer's body comes by, held until it has ended.
pub(crate) enum Held {
    /// A connection of its own.
    Single(Single),
    /// A place among others, and the rest of the request's body.
    Stream {
        #[allow(dead_code, reason = "what counts is when it is dropped")]
        berth: Berth,
        #[allow(dead_code, reason = "what counts is when it is dropped")]
        sending: Option<Sending>,
    },
}

/// An answer's body, whatever it comes by.
pub(crate) enum Incoming {
    /// HTTP/1.1.
    Single(hyper::body::Incoming),
    /// HTTP/2.
    Stream(Streamed),
}

impl http_body::Body for Incoming {
    type Data = Bytes;
    type Error = String;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, String>>> {
        match self.get_mut() {
            Self::Single(body) => {
                let polled = Pin::new(body).poll_frame(context);
                polled.map(|frame| frame.map(|frame| frame.map_err(|error| explain(&error))))
            }
            Self::Stream(body) => Pin::new(body).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Single(body) => body.is_end_stream(),
            Self::Stream(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Single(body) => body.size_hint(),
            Self::Stream(body) => body.size_hint(),
        }
    }
}

/// Why one attempt brought nothing.
pub(crate) struct Failure {
    pub(crate) error: OriginError,
    /// The connection closed without an answer: it may have been stale.
    pub(crate) is_stale: bool,
    /// Not a byte of the request was written, or the server says that it has done nothing
    /// about it; the body is where it was.
    pub(crate) is_unsent: bool,
    /// The server wants to be asked in HTTP/1.1.
    pub(crate) wants_http1: bool,
}

impl Failure {
    /// No connection was had.
    pub(crate) fn unsent(error: OriginError) -> Self {
        Self { error, is_stale: false, is_unsent: true, wants_http1: false }
    }

    /// It may have been seen.
    pub(crate) fn sent(error: OriginError) -> Self {
        Self { error, is_stale: false, is_unsent: false, wants_http1: false }
    }
}

/// Sends a request and waits for the head of its answer. The body goes with it, and comes
/// back if nothing was sent.
pub(crate) async fn exchange(
    mut connection: Single,
    outgoing: &mut Outgoing,
    authority: &str,
    first_byte_limit: Duration,
) -> Result<Got, Failure> {
    let (upload, progress) = Upload::new(outgoing.body.take());
    let mut request = convert::request(&outgoing.head, authority, outgoing.length, upload)
        .map_err(Failure::sent)?;
    if let Some(early) = outgoing.early.clone() {
        relay_early(&mut request, early);
    }
    let sent = connection.try_send_request(request);
    let answer = first_byte(sent, &progress, first_byte_limit);
    let answer = timed(&outgoing.phases, Phase::FirstByte, answer).await;
    match answer.map_err(Failure::sent)? {
        Ok(response) => {
            let response = response.map(Incoming::Single);
            Ok(Got { response, held: Held::Single(connection), progress })
        }
        Err(mut failed) => {
            let unsent = failed.take_message();
            let error = failed.into_error();
            let is_unsent = unsent.is_some();
            outgoing.body = unsent.map(|request| request.into_body().into_inner());
            let is_stale = !error.is_parse() && progress.error().is_none();
            let failure = Failure::sent(classify(&error, &progress));
            Err(Failure { is_stale, is_unsent, ..failure })
        }
    }
}

/// Waits for the head; the time runs anew whenever a piece of the request's body was sent.
pub(super) async fn first_byte<F: Future>(
    sent: F,
    progress: &Progress,
    limit: Duration,
) -> Result<F::Output, OriginError> {
    let mut sent = std::pin::pin!(sent);
    loop {
        let before = progress.pieces();
        if let Some(output) = within(limit, &mut sent).await {
            return Ok(output);
        }
        if progress.pieces() == before {
            return Err(OriginError::FirstByteTimeout { seconds: seconds(limit) });
        }
    }
}

/// Relays each 103; other interim answers concern this connection alone.
fn relay_early(request: &mut http::Request<Upload>, early: SharedSink) {
    hyper::ext::on_informational(request, move |response| {
        if response.status() == StatusCode::EARLY_HINTS {
            let fields = convert::fields(response.headers());
            (early.lock())(ResponseHead { status: 103, fields });
        }
    });
}

fn classify(error: &hyper::Error, progress: &Progress) -> OriginError {
    if let Some(broken) = progress.error() {
        return OriginError::Client(broken);
    }
    if error.is_parse() {
        return OriginError::Malformed(explain(error));
    }
    if error.is_user() {
        let body = BodyError::Client(explain(error));
        return OriginError::Client(body);
    }
    OriginError::Reset(explain(error))
}
