//! One request over one connection, and what came of it.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use base::Phase;
use base::network::Block;
use http::{Method, StatusCode};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use parking_lot::Mutex;
use wire::{Body, BodyError, RequestHead, ResponseHead};

use super::upload::{Progress, Upload};
use super::{convert, explain, is_idempotent};
use crate::stopwatch::{Noted, timed};
use crate::timeouts::{seconds, within};
use crate::{Call, EarlySink, OriginError};

/// One kept connection, as hyper hands it out.
pub(crate) type Connection = SendRequest<Upload>;

type SharedSink = Arc<Mutex<EarlySink>>;

/// A request that may have to be sent twice.
pub(crate) struct Outgoing {
    pub(crate) head: RequestHead,
    /// Whether it may be sent again though it may have been seen.
    pub(crate) is_repeatable: bool,
    /// Whose it is, where others wait as well.
    pub(crate) visitor: Block,
    length: Option<u64>,
    early: Option<SharedSink>,
    pub(crate) phases: Noted,
    body: Option<Body>,
}

impl Outgoing {
    pub(crate) fn of(call: Call) -> Self {
        let is_repeatable = is_idempotent(&call.head.method) && !call.has_body();
        let length = if call.body.is_some() { call.body_length } else { None };
        let early = call.early.map(|sink| Arc::new(Mutex::new(sink)));
        let visitor = Block::of(call.peer.ip());
        let (head, phases, body) = (call.head, call.phases, call.body);
        Self { head, is_repeatable, visitor, length, early, phases, body }
    }

    /// A request of our own, without a body.
    pub(crate) fn own(head: RequestHead) -> Self {
        let visitor = Block::of(Ipv4Addr::LOCALHOST.into());
        let (length, early, phases, body) = (None, None, None, None);
        Self { head, is_repeatable: true, visitor, length, early, phases, body }
    }

    pub(crate) fn method(&self) -> &Method {
        &self.head.method
    }
}

/// What one attempt brought.
pub(crate) struct Got {
    pub(crate) response: http::Response<Incoming>,
    pub(crate) connection: Connection,
    pub(crate) progress: Arc<Progress>,
}

/// Why one attempt brought nothing.
pub(crate) struct Failure {
    pub(crate) error: OriginError,
    /// The connection closed without an answer: it may have been stale.
    pub(crate) is_stale: bool,
    /// Not a byte of the request was written; the body is where it was.
    pub(crate) is_unsent: bool,
}

impl Failure {
    /// No connection was had.
    pub(crate) fn unsent(error: OriginError) -> Self {
        Self { error, is_stale: false, is_unsent: true }
    }

    fn sent(error: OriginError) -> Self {
        Self { error, is_stale: false, is_unsent: false }
    }
}

/// Sends a request and waits for the head of its answer. The body goes with it, and comes
/// back if nothing was sent.
pub(crate) async fn exchange(
    mut connection: Connection,
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
        Ok(response) => Ok(Got { response, connection, progress }),
        Err(mut failed) => {
            let unsent = failed.take_message();
            let error = failed.into_error();
            let is_unsent = unsent.is_some();
            outgoing.body = unsent.map(|request| request.into_body().into_inner());
            let is_stale = !error.is_parse() && progress.error().is_none();
            Err(Failure { error: classify(&error, &progress), is_stale, is_unsent })
        }
    }
}

/// Waits for the head; the time runs anew whenever a piece of the request's body was sent.
async fn first_byte<F: Future>(
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
