//! One request on a stream of a line, and what came of it.
//!
//! Law: RFC 9113 §8.1 (interim answers), §8.1.1 (malformed answers), §8.7 (what a server has
//! not seen).

use std::future::poll_fn;
use std::time::Duration;

use base::Phase;
use h2::client::ResponseFuture;
use h2::{Reason, RecvStream};
use http::{Method, Response, StatusCode, header};
use wire::ResponseHead;

use super::sending::Sending;
use super::{Berth, Streamed};
use crate::OriginError;
use crate::http_origin::exchange::{
    Failure, Got, Held, Incoming, Outgoing, SharedSink, first_byte,
};
use crate::http_origin::member::Road;
use crate::http_origin::upload::{Progress, Upload};
use crate::http_origin::{convert, explain};
use crate::stopwatch::timed;

/// Interim answers to one request; more are no hints any more.
const INTERIM_MAX: usize = 32;

/// Why no head came.
enum Broken {
    /// The stream ended.
    Stream(h2::Error),
    /// What came is no answer.
    Nonsense(String),
}

impl From<h2::Error> for Broken {
    fn from(error: h2::Error) -> Self {
        Self::Stream(error)
    }
}

/// Sends a request and waits for the head of its answer. The body goes with it, and comes
/// back if the server has seen nothing of it.
pub(crate) async fn exchange(
    berth: Berth,
    outgoing: &mut Outgoing,
    road: &Road,
    first_byte_limit: Duration,
) -> Result<Got, Failure> {
    let request = convert::request_on_stream(&outgoing.head, road, outgoing.length);
    let request = request.map_err(Failure::sent)?;
    let (upload, progress) = Upload::new(outgoing.body.take());
    let is_whole = http_body::Body::is_end_stream(&upload);
    let (response, stream) = match berth.sender().send_request(request, is_whole) {
        Ok(begun) => begun,
        Err(error) => {
            // It said goodbye, broke, or has no numbers for streams left.
            berth.retire();
            outgoing.body = Some(upload.into_inner());
            let error = OriginError::Reset(explain(&error));
            return Err(Failure { is_stale: true, ..Failure::unsent(error) });
        }
    };
    let sending = (!is_whole).then(|| Sending::start(upload, stream));
    let answer = head(response, outgoing.early.clone());
    let answer = first_byte(answer, &progress, first_byte_limit);
    let answer = timed(&outgoing.phases, Phase::FirstByte, answer).await;
    let answer = answer.map_err(|error| {
        berth.note_silence();
        Failure::sent(error)
    })?;
    let broken = match answer {
        Ok(response) => {
            berth.note_answer();
            let response = response.map(|stream| (stream, outgoing.method()));
            let response = with_body(response);
            return Ok(Got { response, held: Held::Stream { berth, sending }, progress });
        }
        Err(broken) => broken,
    };
    if is_unseen(&broken) {
        outgoing.body = match sending {
            None => Some(wire::body::empty()),
            Some(sending) => sending.reclaim().await,
        };
    }
    let is_unsent = is_unseen(&broken) && outgoing.body.is_some();
    let mut failure = Failure { is_unsent, ..classify(&broken, &progress) };
    if let Broken::Stream(error) = &broken {
        failure.wants_http1 = error.reason() == Some(Reason::HTTP_1_1_REQUIRED);
        if error.is_go_away() || error.is_io() {
            berth.retire();
        }
    }
    Err(failure)
}

/// Waits for the answer's head; hints that come before it are passed on.
async fn head(
    mut response: ResponseFuture,
    early: Option<SharedSink>,
) -> Result<Response<RecvStream>, Broken> {
    let mut interim = 0;
    while let Some(one) = poll_fn(|context| response.poll_informational(context)).await {
        let (one, ()) = one?.into_parts();
        interim += 1;
        if one.status == StatusCode::SWITCHING_PROTOCOLS || interim > INTERIM_MAX {
            let what = format!("{} where an answer to a request belongs", one.status);
            return Err(Broken::Nonsense(what));
        }
        if one.status == StatusCode::EARLY_HINTS
            && let Some(early) = &early
        {
            (early.lock())(ResponseHead { status: 103, fields: convert::fields(&one.headers) });
        }
    }
    let response = response.await?;
    match response.headers().len() {
        count if count > convert::FIELDS_MAX => {
            Err(Broken::Nonsense(format!("its head has {count} fields")))
        }
        _ => Ok(response),
    }
}

/// The same with its body, which has a length where its head says so.
fn with_body(response: Response<(RecvStream, &Method)>) -> Response<Incoming> {
    let (parts, (stream, method)) = response.into_parts();
    let has_none = *method == Method::HEAD
        || matches!(parts.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    let length = match parts.headers.get(header::CONTENT_LENGTH) {
        _ if has_none => Some(0),
        // h2 has seen that it is a number.
        length => length.and_then(|length| length.to_str().ok()?.parse().ok()),
    };
    Response::from_parts(parts, Incoming::Stream(Streamed::new(stream, length)))
}

/// Whether the server says that it has done nothing about the request. h2 ends a stream with
/// its peer's GOAWAY only if that names an earlier one as the last.
fn is_unseen(broken: &Broken) -> bool {
    let Broken::Stream(error) = broken else { return false };
    let is_refused = error.is_reset() && error.reason() == Some(Reason::REFUSED_STREAM);
    error.is_remote() && (error.is_go_away() || is_refused)
}

fn classify(broken: &Broken, progress: &Progress) -> Failure {
    if let Some(error) = progress.error() {
        return Failure::sent(OriginError::Client(error));
    }
    match broken {
        Broken::Nonsense(what) => Failure::sent(OriginError::Malformed(what.clone())),
        Broken::Stream(error) if error.is_library() => {
            let what = format!(
                "it breaks HTTP/2, by a malformed head or body, fields of a connection, or a head \
                 over 256 kB: {}",
                explain(error)
            );
            // Another answer on the same line may be to blame.
            let is_stale = error.is_go_away();
            Failure { is_stale, ..Failure::sent(OriginError::Malformed(what)) }
        }
        Broken::Stream(error) => {
            let is_stale = error.is_go_away() || error.is_io();
            Failure { is_stale, ..Failure::sent(OriginError::Reset(explain(error))) }
        }
    }
}
