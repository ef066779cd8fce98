//! A body taken whole, if it is not too large for that.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::{FutureExt, StreamExt, stream};
use http_body::{Frame, SizeHint};
use http_body_util::{BodyExt, StreamBody};
use tokio::time::{Instant, timeout, timeout_at};
use wire::{Body, BodyError};

/// What came of it.
pub(crate) enum Gathered {
    /// All of it; trailers are not kept.
    Whole(Bytes),
    /// There is more than that; it can still be read from its start.
    Larger(Body),
}

/// Reads a body to its end, or until it is larger than `bytes_max`.
pub(crate) async fn gather(mut body: Body, bytes_max: usize) -> Result<Gathered, BodyError> {
    let mut taken = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        taken.extend_from_slice(&data);
        if taken.len() > bytes_max {
            return Ok(Gathered::Larger(joined(taken, body)));
        }
    }
    Ok(Gathered::Whole(taken.freeze()))
}

/// A body that has begun, or why it never did: what breaks off before its first byte is no
/// answer. After `patience` nobody waits for that byte any more, and without any only what
/// is at hand is looked at.
pub(crate) async fn begun(
    mut body: Body,
    length: Option<u64>,
    patience: Duration,
) -> Result<Body, BodyError> {
    let first = match body.frame().now_or_never() {
        Some(first) => first,
        None if patience.is_zero() => return Ok(body),
        None => match timeout(patience, body.frame()).await {
            Ok(first) => first,
            Err(_) => return Ok(body),
        },
    };
    match first {
        Some(first) => Ok(Begun { first: Some(first?), rest: body }.boxed_unsync()),
        None if length.is_some_and(|length| length > 0) => {
            Err(BodyError::Origin("it ended before it began".into()))
        }
        None => Ok(wire::body::full(Bytes::new())),
    }
}

/// A body whose first frame is here already.
struct Begun {
    first: Option<Frame<Bytes>>,
    rest: Body,
}

impl http_body::Body for Begun {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let own = self.get_mut();
        match own.first.take() {
            Some(first) => Poll::Ready(Some(Ok(first))),
            None => Pin::new(&mut own.rest).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_none() && self.rest.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let here =
            self.first.as_ref().and_then(Frame::data_ref).map_or(0, |data| data.len() as u64);
        let rest = self.rest.size_hint();
        let mut hint = SizeHint::new();
        if let Some(upper) = rest.upper() {
            hint.set_upper(upper.saturating_add(here));
        }
        hint.set_lower(rest.lower().saturating_add(here));
        hint
    }
}

/// What was taken of a body, and the rest of it behind.
fn joined(taken: BytesMut, rest: Body) -> Body {
    let first = stream::iter([Ok(Frame::data(taken.freeze()))]);
    let rest =
        stream::unfold(
            rest,
            |mut rest| async move { rest.frame().await.map(|frame| (frame, rest)) },
        );
    StreamBody::new(first.chain(rest)).boxed_unsync()
}

/// Reads a body to its end, if that comes before `until` and within `bytes_max`; either way
/// it can still be read from its start, trailers and faults included. True: it has ended.
pub(crate) async fn peek_end(mut body: Body, bytes_max: usize, until: Instant) -> (Body, bool) {
    let mut taken = BytesMut::new();
    while taken.len() <= bytes_max {
        let Ok(next) = timeout_at(until, body.frame()).await else { break };
        match next {
            None => return (wire::body::full(taken.freeze()), true),
            Some(Ok(frame)) => match frame.into_data() {
                Ok(data) => taken.extend_from_slice(&data),
                Err(trailers) => return (followed_by(taken, Ok(trailers), body), true),
            },
            Some(Err(error)) => return (followed_by(taken, Err(error), body), true),
        }
    }
    (joined(taken, body), false)
}

fn followed_by(taken: BytesMut, next: Result<Frame<Bytes>, BodyError>, rest: Body) -> Body {
    let first = stream::iter([Ok(Frame::data(taken.freeze())), next]);
    let rest =
        stream::unfold(
            rest,
            |mut rest| async move { rest.frame().await.map(|frame| (frame, rest)) },
        );
    StreamBody::new(first.chain(rest)).boxed_unsync()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_body_that_was_peeked_at_is_whole() {
        let until = || Instant::now() + std::time::Duration::from_millis(50);
        let pieces = |end: Option<Result<Frame<Bytes>, BodyError>>| {
            let pieces = ["ab", "cd"].map(|piece| Ok(Frame::data(Bytes::from(piece))));
            StreamBody::new(stream::iter(pieces.into_iter().chain(end))).boxed_unsync()
        };
        for (bytes_max, expected) in [(4, true), (3, false)] {
            let (body, has_ended) = peek_end(pieces(None), bytes_max, until()).await;
            assert_eq!(has_ended, expected);
            assert_eq!(&body.collect().await.expect("nothing fails").to_bytes()[..], b"abcd");
        }
        let broken = Some(Err(BodyError::Ours("broken".into())));
        let (body, has_ended) = peek_end(pieces(broken), 9, until()).await;
        assert!(has_ended && body.collect().await.is_err());
        let endless = stream::iter([Ok(Frame::data(Bytes::from("ab")))]).chain(stream::pending());
        let (mut body, has_ended) =
            peek_end(StreamBody::new(endless).boxed_unsync(), 9, until()).await;
        assert!(!has_ended && body.frame().await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_has_begun_unless_it_breaks_off_before_its_first_byte() {
        type Piece = Result<Frame<Bytes>, BodyError>;
        /// Pieces, the length that was announced, and the whole; none where it never began.
        type Case = (Vec<Piece>, Option<u64>, Option<&'static [u8]>);
        let piece = || Ok(Frame::data(Bytes::from("ab")));
        let broken = || Err(BodyError::Ours("broken".into()));
        let cases: [Case; 5] = [
            (vec![piece(), piece()], None, Some(b"abab")),
            (vec![], Some(0), Some(b"")),
            (vec![], None, Some(b"")),
            (vec![], Some(2), None),
            (vec![broken()], Some(2), None),
        ];
        for (pieces, length, expected) in cases {
            let body = StreamBody::new(stream::iter(pieces)).boxed_unsync();
            let whole = match begun(body, length, Duration::ZERO).await {
                Ok(body) => Some(body.collect().await.expect("nothing fails").to_bytes()),
                Err(_) => None,
            };
            assert_eq!(whole.as_deref(), expected);
        }
        // What is late is not waited for without patience, nor for longer than that.
        let second = Duration::from_secs(1);
        for (patience, is_known) in [(Duration::ZERO, false), (second, false), (3 * second, true)] {
            let late = stream::once(async move {
                tokio::time::sleep(2 * second).await;
                broken()
            });
            let body = StreamBody::new(Box::pin(late)).boxed_unsync();
            assert_eq!(begun(body, None, patience).await.is_err(), is_known, "{patience:?}");
        }
    }

    #[tokio::test]
    async fn what_is_larger_can_still_be_read_whole() {
        let pieces = || {
            let pieces = ["ab", "cd", "ef"].map(|piece| Ok(Frame::data(Bytes::from(piece))));
            StreamBody::new(stream::iter(pieces)).boxed_unsync()
        };
        match gather(pieces(), 6).await {
            Ok(Gathered::Whole(bytes)) => assert_eq!(&bytes[..], b"abcdef"),
            _ => panic!("six bytes fit"),
        }
        match gather(pieces(), 3).await {
            Ok(Gathered::Larger(body)) => {
                let bytes = body.collect().await.expect("nothing fails").to_bytes();
                assert_eq!(&bytes[..], b"abcdef");
            }
            _ => panic!("six bytes don't fit in three"),
        }
    }
}
