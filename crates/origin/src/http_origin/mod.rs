//! Another HTTP server as the origin: HTTP/1.1 over kept connections.
//!
//! Law: RFC 9110 §9.2.2 (what may be sent again), RFC 9112 §9.3.
//! Invariants: 1. A request is sent a second time only if the origin can't have
//! seen it, or if it is idempotent, without a body, and met a kept connection
//! that closed without a byte. 2. Connections never outnumber the slots.
//! Start at [`HttpOrigin::send`].

mod address;
mod convert;
mod download;
mod upload;

use std::sync::Arc;
use std::time::Duration;

use http::{Method, StatusCode};
use http_body::Body as _;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use parking_lot::Mutex;
use wire::{Body, BodyError, RequestHead, ResponseHead};

pub use address::AddressError;

use crate::pool::Pool;
use crate::slots::{SlotLimits, Slots};
use crate::timeouts::{seconds, within};
use crate::{Answer, Call, Counters, Dial, EarlySink, OriginError, Timeouts};
use download::{Download, Lease};
use upload::{Progress, Upload};

/// The most bytes that the head of an answer may have.
const HEAD_BYTES_MAX: usize = 256 * 1024;

/// One kept connection, as hyper hands it out.
type Connection = SendRequest<Upload>;

/// How an HTTP origin is used.
#[derive(Clone, Copy, Debug)]
pub struct HttpOptions {
    /// Waiting times.
    pub timeouts: Timeouts,
    /// Connections at once and the queue before them.
    pub limits: SlotLimits,
    /// How long an unused connection is kept; zero: not at all.
    pub keep: Duration,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            timeouts: Timeouts::default(),
            limits: SlotLimits { slots: 256, queue: 4096, queue_timeout: Duration::from_secs(30) },
            // Below the five seconds after which widely used servers hang up.
            keep: Duration::from_secs(4),
        }
    }
}

/// An HTTP server and the connections to it.
pub struct HttpOrigin {
    dial: Dial,
    /// For requests that name no host.
    authority: String,
    options: HttpOptions,
    slots: Slots,
    pool: Pool<Connection>,
    counters: Arc<Counters>,
}

type SharedSink = Arc<Mutex<EarlySink>>;

impl HttpOrigin {
    /// The origin at `http://HOST[:PORT]`, with the default options.
    ///
    /// # Errors
    /// The text is something else; the message holds the cure.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        Self::parse_with(text, HttpOptions::default())
    }

    /// The origin at `http://HOST[:PORT]`.
    ///
    /// # Errors
    /// The text is something else; the message holds the cure.
    pub fn parse_with(text: &str, options: HttpOptions) -> Result<Self, AddressError> {
        let (dial, authority) = address::parse(text)?;
        Ok(Self { authority, ..Self::new(dial, options) })
    }

    /// The origin behind `dial`.
    #[must_use]
    pub fn new(dial: Dial, options: HttpOptions) -> Self {
        let counters = Arc::new(Counters::default());
        Self {
            authority: "localhost".to_owned(),
            slots: Slots::new(options.limits, counters.clone()),
            pool: Pool::new(options.keep),
            dial,
            options,
            counters,
        }
    }

    pub(crate) fn retire(&self) {
        self.pool.close();
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The address, for messages.
    #[must_use]
    pub fn address(&self) -> String {
        self.dial.to_string()
    }

    pub(crate) async fn send(&self, call: Call) -> Result<Answer, OriginError> {
        self.counters.requests.bump();
        let slot = self.slots.take().await?;
        let is_repeatable = is_idempotent(&call.head.method) && !call.has_body();
        let length = if call.body.is_some() { call.body_length } else { None };
        let early = call.early.map(|sink| Arc::new(Mutex::new(sink)));
        let mut outgoing = Outgoing { head: call.head, length, early, body: call.body };
        if let Some(connection) = self.kept().await {
            self.counters.reuses.bump();
            match self.exchange(connection, outgoing.take()).await {
                Ok(got) => return self.answer(got, slot, &outgoing.head),
                Err(failure) if failure.is_stale && (failure.is_unsent || is_repeatable) => {
                    self.counters.stale_retries.bump();
                    outgoing.body = failure.body;
                }
                Err(failure) => return Err(failure.error),
            }
        }
        let connection = self.connect().await?;
        let got = self.exchange(connection, outgoing.take()).await.map_err(|f| f.error)?;
        self.answer(got, slot, &outgoing.head)
    }
}

/// A request that may have to be sent twice.
struct Outgoing {
    head: RequestHead,
    length: Option<u64>,
    early: Option<SharedSink>,
    body: Option<Body>,
}

impl Outgoing {
    /// What the next attempt needs; the body goes with it.
    fn take(&mut self) -> Attempt<'_> {
        Attempt {
            head: &self.head,
            length: self.length,
            early: self.early.clone(),
            body: self.body.take(),
        }
    }
}

struct Attempt<'a> {
    head: &'a RequestHead,
    length: Option<u64>,
    early: Option<SharedSink>,
    body: Option<Body>,
}

/// What one attempt brought.
struct Got {
    response: http::Response<Incoming>,
    connection: Connection,
    progress: Arc<Progress>,
}

/// Why one attempt brought nothing.
struct Failure {
    error: OriginError,
    /// The connection closed without an answer: it may have been stale.
    is_stale: bool,
    /// Not a byte of the request was written; `body` is as it was.
    is_unsent: bool,
    body: Option<Body>,
}

impl From<OriginError> for Failure {
    fn from(error: OriginError) -> Self {
        Self { error, is_stale: false, is_unsent: false, body: None }
    }
}

impl HttpOrigin {
    /// A kept connection that is ready for a request.
    async fn kept(&self) -> Option<Connection> {
        while let Some(mut connection) = self.pool.take() {
            // Ready as soon as its task has seen the end of the last answer; a task
            // that finds the connection closed says so instead of becoming ready.
            let ready = within(self.options.timeouts.connect, connection.ready()).await;
            if matches!(ready, Some(Ok(()))) {
                return Some(connection);
            }
        }
        None
    }

    async fn connect(&self) -> Result<Connection, OriginError> {
        let stream = self.dial.connect(&self.options.timeouts, false).await?;
        self.counters.connects.bump();
        let (connection, task) = http1::Builder::new()
            .max_headers(convert::FIELDS_MAX)
            .max_buf_size(HEAD_BYTES_MAX)
            .handshake(hyper_util::rt::TokioIo::new(stream))
            .await
            .map_err(|error| OriginError::Unreachable(explain(&error)))?;
        // Its errors reach whoever uses the connection; alone they mean that it is gone.
        drop(tokio::spawn(async move { drop(task.await) }));
        Ok(connection)
    }

    async fn exchange(
        &self,
        mut connection: Connection,
        attempt: Attempt<'_>,
    ) -> Result<Got, Failure> {
        let (upload, progress) = Upload::new(attempt.body);
        let mut request = convert::request(attempt.head, &self.authority, attempt.length, upload)?;
        if let Some(early) = attempt.early {
            relay_early(&mut request, early);
        }
        let sent = connection.try_send_request(request);
        let response = match self.first_byte(sent, &progress).await? {
            Ok(response) => response,
            Err(mut failed) => {
                let unsent = failed.take_message();
                let error = failed.into_error();
                return Err(Failure {
                    is_stale: !error.is_parse() && progress.error().is_none(),
                    is_unsent: unsent.is_some(),
                    body: unsent.map(|request| request.into_body().into_inner()),
                    error: classify(&error, &progress),
                });
            }
        };
        match response.status() {
            StatusCode::SWITCHING_PROTOCOLS => Err(OriginError::Upgrade.into()),
            _ => Ok(Got { response, connection, progress }),
        }
    }

    /// Waits for the head; the time runs anew whenever a piece of the request's body was sent.
    async fn first_byte<F: Future>(
        &self,
        sent: F,
        progress: &Progress,
    ) -> Result<F::Output, OriginError> {
        let limit = self.options.timeouts.first_byte;
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

    fn answer(
        &self,
        got: Got,
        slot: crate::slots::Slot,
        head: &RequestHead,
    ) -> Result<Answer, OriginError> {
        let (parts, incoming) = got.response.into_parts();
        let fields = convert::fields(&parts.headers);
        let length = match head.method {
            Method::HEAD => Some(0),
            _ => incoming.size_hint().exact(),
        };
        let pool = self.pool.clone();
        let lease = Lease { connection: got.connection, pool, progress: got.progress, slot };
        let body = Download::new(incoming, lease, self.options.timeouts.idle).boxed_unsync();
        let head = ResponseHead { status: parts.status.as_u16(), fields };
        Ok(Answer { head, body, length, file: None })
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

/// An error with its causes in one sentence.
fn explain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}

/// RFC 9110 §9.2.2.
pub(crate) fn is_idempotent(method: &Method) -> bool {
    is_safe(method) || matches!(*method, Method::PUT | Method::DELETE)
}

/// RFC 9110 §9.2.1.
pub(crate) fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE)
}

#[cfg(test)]
mod tests;
