//! Connections that several slots share, each with one request at a time: of HTTP/2 and HTTP/3.
//!
//! Invariant: a connection is dialled once for all slots that share it, and anew when one of
//! them found it broken.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{COOKIE, HeaderMap, HeaderName, HeaderValue};
use tokio::sync::Mutex;

use crate::connection::{Exchanged, Failure};
use crate::dial::DialError;
use crate::plan::Protocol;
use crate::request::Request;
use crate::response::Witness;
use crate::tally::FailureKind;
use crate::worker::Floor;
use crate::{http2, http3};

/// Slots that share a connection; servers allow a hundred streams or more.
const SLOTS_OF_A_LINE: usize = 100;

/// The connections of a thread that are shared.
pub(crate) enum Lines {
    Http2(Vec<SharedLine<http2::Send>>),
    Http3(Vec<SharedLine<http3::Send>>),
}

/// A connection, if it is open.
pub(crate) struct SharedLine<S>(Mutex<Option<Open<S>>>);

/// An open one: what sends on it, and its number.
#[derive(Clone)]
pub(crate) struct Open<S> {
    pub(crate) send: S,
    pub(crate) number: u64,
}

impl Lines {
    /// As many as so many slots need; none where each slot has its own.
    pub(crate) fn new(protocol: Protocol, slots: usize) -> Option<Self> {
        let count = slots.div_ceil(SLOTS_OF_A_LINE);
        match protocol {
            Protocol::Http1 => None,
            Protocol::Http2 => {
                Some(Self::Http2((0..count).map(|_| SharedLine::default()).collect()))
            }
            Protocol::Http3 => {
                Some(Self::Http3((0..count).map(|_| SharedLine::default()).collect()))
            }
        }
    }

    /// Sends a slot's request and reads its answer: with what opening the connection took, and
    /// when it was sent.
    pub(crate) async fn ask(
        &self,
        place: usize,
        floor: &Floor,
        request: &Request,
        cookies: Option<String>,
        witness: &mut impl Witness,
    ) -> Result<(Exchanged, Duration, Instant), Failure> {
        match self {
            Self::Http2(lines) => {
                let line = &lines[place % lines.len()];
                http2::ask(floor, line, request, cookies, witness).await
            }
            Self::Http3(lines) => {
                let line = &lines[place % lines.len()];
                http3::ask(floor, line, request, cookies, witness).await
            }
        }
    }
}

impl<S> Default for SharedLine<S> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<S: Clone> SharedLine<S> {
    /// The connection, and how long it took to open it if it wasn't.
    pub(crate) async fn open(
        &self,
        floor: &Floor,
        dial: impl AsyncFnOnce(&Floor) -> Result<S, Failure>,
    ) -> Result<(Open<S>, Duration), Failure> {
        let mut place = self.0.lock().await;
        if let Some(open) = &*place {
            return Ok((open.clone(), Duration::ZERO));
        }
        let begun = Instant::now();
        // Elsewhere: each request would have room for what one in many needs.
        let send = Box::pin(dial(floor)).await?;
        let number = {
            let mut tally = floor.tally.borrow_mut();
            tally.connections += 1;
            tally.connections
        };
        let open = Open { send, number };
        *place = Some(open.clone());
        Ok((open, begun.elapsed()))
    }

    /// Has the next one dial, unless somebody else has found out already.
    pub(crate) async fn forget(&self, number: u64) {
        let mut place = self.0.lock().await;
        if place.as_ref().is_some_and(|open| open.number == number) {
            *place = None;
        }
    }
}

impl From<DialError> for Failure {
    fn from(error: DialError) -> Self {
        match error {
            DialError::Connect(why) => Self::new(FailureKind::Connect, why),
            DialError::Tls(why) => Self::new(FailureKind::Tls, why),
        }
    }
}

/// The request without its body. What may not be sent in these versions was refused when it
/// was made.
pub(crate) fn message(
    floor: &Floor,
    request: &Request,
    cookies: Option<String>,
) -> Result<http::Request<()>, Failure> {
    let wrong = |why: String| Failure::new(FailureKind::Malformed, why);
    let target = &floor.plan.target;
    let host = request.wanted.fields.iter().find(|(name, _)| name.eq_ignore_ascii_case("host"));
    let authority = host.map_or(&target.authority, |(_, value)| value);
    let scheme = if target.is_tls { "https" } else { "http" };
    let uri = format!("{scheme}://{authority}{}", request.wanted.path);
    let mut message = http::Request::builder()
        .method(request.wanted.method.as_str())
        .uri(uri)
        .header("user-agent", concat!("wick-bench/", env!("CARGO_PKG_VERSION")))
        .header("accept", "*/*")
        .body(())
        .map_err(|error| wrong(error.to_string()))?;
    let fields = message.headers_mut();
    for (name, value) in &request.wanted.fields {
        let read = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value));
        let (Ok(name), Ok(value)) = read else {
            return Err(wrong(format!("{name} can't be sent in this version of HTTP")));
        };
        match name.as_str() {
            "host" => {}
            "user-agent" | "accept" => drop(fields.insert(name, value)),
            _ => drop(fields.append(name, value)),
        }
    }
    if let Some(value) = cookies.and_then(|cookies| HeaderValue::from_str(&cookies).ok()) {
        fields.append(COOKIE, value);
    }
    Ok(message)
}

/// The request's body.
pub(crate) fn body(request: &Request) -> Bytes {
    Bytes::copy_from_slice(&request.wanted.body)
}

/// What the fields would take written out: what they took on the way isn't told.
pub(crate) fn head_bytes(fields: &HeaderMap) -> u64 {
    fields.iter().map(|(name, value)| (name.as_str().len() + value.len() + 4) as u64).sum()
}

/// Shows a witness the fields.
pub(crate) fn show(fields: &HeaderMap, witness: &mut impl Witness) {
    let fields: Vec<_> = fields
        .iter()
        .map(|(name, value)| httparse::Header { name: name.as_str(), value: value.as_bytes() })
        .collect();
    witness.fields(&fields);
}
