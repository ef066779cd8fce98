//! Requests over HTTP/2: several slots share a connection, each with one stream at a time.
//!
//! By prior knowledge where there is no TLS, by ALPN where there is. What happens on a connection
//! is the `h2` crate's.

use std::time::{Duration, Instant};

use bytes::Bytes;
use h2::client::SendRequest;
use tokio::task::spawn_local;

use crate::connection::{Exchanged, Failure};
use crate::line::{SharedLine, body, head_bytes, message, show};
use crate::request::Request;
use crate::response::{Answer, Witness};
use crate::tally::FailureKind;
use crate::worker::Floor;

/// What a server may send of one answer, and of all of a connection, before it has to wait.
const STREAM_WINDOW_BYTES: u32 = 1 << 20;
const WINDOW_BYTES: u32 = 8 << 20;
/// A head that is larger is refused.
const HEAD_BYTES_MAX: u32 = 64 << 10;

/// What sends on a connection.
pub(crate) type Send = SendRequest<Bytes>;

/// Sends a request and reads its answer: with what opening the connection took, and when it was
/// sent.
pub(crate) async fn ask(
    floor: &Floor,
    line: &SharedLine<Send>,
    request: &Request,
    cookies: Option<String>,
    witness: &mut impl Witness,
) -> Result<(Exchanged, Duration, Instant), Failure> {
    let message = message(floor, request, cookies)?;
    let (open, connect) = line.open(floor, dial).await?;
    let sent = Instant::now();
    match exchange(open.send, message, body(request), witness).await {
        Ok(exchanged) => Ok((exchanged, connect, sent)),
        Err(error) => {
            // Only what concerns this stream alone leaves the connection good.
            if !error.is_reset() {
                line.forget(open.number).await;
            }
            let kind = if error.is_io() { FailureKind::Receive } else { FailureKind::Malformed };
            Err(Failure::new(kind, error))
        }
    }
}

async fn dial(floor: &Floor) -> Result<Send, Failure> {
    let stream = floor.dialer.dial().await?;
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
    Ok(send)
}

async fn exchange(
    send: Send,
    message: http::Request<()>,
    body: Bytes,
    witness: &mut impl Witness,
) -> Result<Exchanged, h2::Error> {
    let mut send = send.ready().await?;
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
    show(&head.headers, witness);
    while let Some(bytes) = body.data().await {
        let bytes = bytes?;
        body.flow_control().release_capacity(bytes.len())?;
        answer.body_bytes += bytes.len() as u64;
        witness.body(&bytes);
    }
    Ok(Exchanged { answer, first_byte, end: Instant::now() })
}
