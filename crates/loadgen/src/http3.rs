//! Requests over HTTP/3: several slots share a connection of QUIC, each with one stream at a time.
//!
//! QUIC is `quinn`'s, what is said on it the `h3` crate's: others than those that Wick's own
//! server has, so that both don't share a misunderstanding.

use std::future::poll_fn;
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes};
use h3::client::SendRequest;
use h3::error::StreamError;
use tokio::task::spawn_local;

use crate::connection::{Exchanged, Failure};
use crate::line::{SharedLine, body, head_bytes, message, show};
use crate::request::Request;
use crate::response::{Answer, Witness};
use crate::tally::FailureKind;
use crate::worker::Floor;

/// What sends on a connection.
pub(crate) type Send = SendRequest<h3_quinn::OpenStreams, Bytes>;

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
            let (is_of_stream, kind) = match &error {
                StreamError::ConnectionError { .. } => (false, FailureKind::Receive),
                StreamError::RemoteTerminate { .. } => (true, FailureKind::Receive),
                _ => (false, FailureKind::Malformed),
            };
            // Only what concerns this stream alone leaves the connection good.
            if !is_of_stream {
                line.forget(open.number).await;
            }
            Err(Failure::new(kind, error))
        }
    }
}

async fn dial(floor: &Floor) -> Result<Send, Failure> {
    let (endpoint, quic) = floor.dialer.dial_quic().await?;
    let connection = h3_quinn::Connection::new(quic);
    let (mut driver, send) = h3::client::new(connection)
        .await
        .map_err(|error| Failure::new(FailureKind::Malformed, error))?;
    // How it ends is told to each stream on it. The socket goes with it.
    spawn_local(async move {
        poll_fn(|context| driver.poll_close(context)).await;
        drop(endpoint);
    });
    Ok(send)
}

async fn exchange(
    mut send: Send,
    message: http::Request<()>,
    body: Bytes,
    witness: &mut impl Witness,
) -> Result<Exchanged, StreamError> {
    let mut stream = send.send_request(message).await?;
    if !body.is_empty() {
        stream.send_data(body).await?;
    }
    stream.finish().await?;
    let (head, ()) = stream.recv_response().await?.into_parts();
    let first_byte = Instant::now();
    let mut answer = Answer {
        status: head.status.as_u16(),
        head_bytes: head_bytes(&head.headers),
        body_bytes: 0,
        keeps: true,
    };
    show(&head.headers, witness);
    while let Some(mut data) = stream.recv_data().await? {
        while data.has_remaining() {
            let bytes = data.chunk();
            let length = bytes.len();
            witness.body(bytes);
            answer.body_bytes += length as u64;
            data.advance(length);
        }
    }
    Ok(Exchanged { answer, first_byte, end: Instant::now() })
}
