//! Requests over HTTP/2: several slots share a connection, each with one stream at a time.
//!
//! By prior knowledge where there is no TLS, by ALPN where there is. What happens on a connection
//! is the `h2` crate's. Invariant: a connection is dialled once for all slots that share it, and
//! anew when one of them found it broken.

use std::time::{Duration, Instant};

use bytes::Bytes;
use h2::client::SendRequest;
use http::Version;
use http::header::{COOKIE, HeaderMap, HeaderName, HeaderValue};
use httparse::Header;
use tokio::sync::Mutex;
use tokio::task::spawn_local;

use crate::connection::{Exchanged, Failure};
use crate::dial::DialError;
use crate::request::Request;
use crate::response::{Answer, Witness};
use crate::tally::FailureKind;
use crate::worker::Floor;

/// Slots that share a connection; servers allow a hundred streams or more.
pub(crate) const SLOTS_OF_A_LINE: usize = 100;
/// What a server may send of one answer, and of all of a connection, before it has to wait.
const STREAM_WINDOW_BYTES: u32 = 1 << 20;
const WINDOW_BYTES: u32 = 8 << 20;
/// A head that is larger is refused.
const HEAD_BYTES_MAX: u32 = 64 << 10;

/// A connection, if it is open.
#[derive(Default)]
pub(crate) struct SharedLine(Mutex<Option<Open>>);

#[derive(Clone)]
struct Open {
    send: SendRequest<Bytes>,
    number: u64,
}

/// Sends a request and reads its answer: with what opening the connection took, and when it was
/// sent.
pub(crate) async fn ask(
    floor: &Floor,
    line: &SharedLine,
    request: &Request,
    cookies: Option<String>,
    witness: &mut impl Witness,
) -> Result<(Exchanged, Duration, Instant), Failure> {
    let (open, connect) = line.open(floor).await?;
    let sent = Instant::now();
    let number = open.number;
    let exchanged = exchange(floor, open, request, cookies, witness).await;
    match exchanged {
        Ok(exchanged) => Ok((exchanged, connect, sent)),
        Err(error) => {
            // Only what concerns this stream alone leaves the connection good.
            if !error.is_reset() {
                line.forget(number).await;
            }
            let kind = if error.is_io() { FailureKind::Receive } else { FailureKind::Malformed };
            Err(Failure::new(kind, error))
        }
    }
}

impl SharedLine {
    async fn open(&self, floor: &Floor) -> Result<(Open, Duration), Failure> {
        let mut place = self.0.lock().await;
        if let Some(open) = &*place {
            return Ok((open.clone(), Duration::ZERO));
        }
        let begun = Instant::now();
        let stream = floor.dialer.dial().await.map_err(|error| match error {
            DialError::Connect(why) => Failure::new(FailureKind::Connect, why),
            DialError::Tls(why) => Failure::new(FailureKind::Tls, why),
        })?;
        let (send, connection) = h2::client::Builder::new()
            .initial_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(WINDOW_BYTES)
            .max_header_list_size(HEAD_BYTES_MAX)
            .enable_push(false)
            .handshake(stream)
            .await
            .map_err(|error| Failure::new(FailureKind::Malformed, error))?;
        // How it ends is told to each stream on it.
        spawn_local(async move { drop(connection.await) });
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
    async fn forget(&self, number: u64) {
        let mut place = self.0.lock().await;
        if place.as_ref().is_some_and(|open| open.number == number) {
            *place = None;
        }
    }
}

async fn exchange(
    floor: &Floor,
    open: Open,
    request: &Request,
    cookies: Option<String>,
    witness: &mut impl Witness,
) -> Result<Exchanged, h2::Error> {
    let message = message(floor, request, cookies)?;
    let body = Bytes::copy_from_slice(&request.wanted.body);
    let mut send = open.send.ready().await?;
    let (response, mut out) = send.send_request(message, body.is_empty())?;
    if !body.is_empty() {
        out.send_data(body, true)?;
    }
    let (head, mut body) = response.await?.into_parts();
    let first_byte = Instant::now();
    let mut answer = Answer {
        status: head.status.as_u16(),
        head_bytes: head_bytes(&head.headers),
        body_bytes: 0,
        keeps: true,
    };
    let fields: Vec<_> = head
        .headers
        .iter()
        .map(|(name, value)| Header { name: name.as_str(), value: value.as_bytes() })
        .collect();
    witness.fields(&fields);
    while let Some(bytes) = body.data().await {
        let bytes = bytes?;
        body.flow_control().release_capacity(bytes.len())?;
        answer.body_bytes += bytes.len() as u64;
        witness.body(&bytes);
    }
    Ok(Exchanged { answer, first_byte, end: Instant::now() })
}

/// The request as `h2` takes it: what may not be sent in HTTP/2 was refused when it was made.
fn message(
    floor: &Floor,
    request: &Request,
    cookies: Option<String>,
) -> Result<http::Request<()>, h2::Error> {
    let target = &floor.plan.target;
    let host = request.wanted.fields.iter().find(|(name, _)| name.eq_ignore_ascii_case("host"));
    let authority = host.map_or(&target.authority, |(_, value)| value);
    let scheme = if target.is_tls { "https" } else { "http" };
    let uri = format!("{scheme}://{authority}{}", request.wanted.path);
    let mut message = http::Request::builder()
        .method(request.wanted.method.as_str())
        .uri(uri)
        .version(Version::HTTP_2)
        .header("user-agent", concat!("wick-bench/", env!("CARGO_PKG_VERSION")))
        .header("accept", "*/*")
        .body(())
        .map_err(|_| h2::Error::from(h2::Reason::PROTOCOL_ERROR))?;
    let fields = message.headers_mut();
    for (name, value) in &request.wanted.fields {
        let name = HeaderName::from_bytes(name.as_bytes());
        let value = HeaderValue::from_str(value);
        let (Ok(name), Ok(value)) = (name, value) else {
            return Err(h2::Reason::PROTOCOL_ERROR.into());
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

/// What the fields would take written out: what they took on the way isn't told.
fn head_bytes(fields: &HeaderMap) -> u64 {
    fields.iter().map(|(name, value)| (name.as_str().len() + value.len() + 4) as u64).sum()
}
