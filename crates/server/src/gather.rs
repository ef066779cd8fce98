//! A body taken whole, if it is not too large for that.

use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt, stream};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use tokio::time::{Instant, timeout_at};
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
