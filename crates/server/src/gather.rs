//! A body taken whole, if it is not too large for that.

use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt, stream};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
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
            let first = stream::iter([Ok(Frame::data(taken.freeze()))]);
            let rest = stream::unfold(body, |mut body| async move {
                body.frame().await.map(|frame| (frame, body))
            });
            return Ok(Gathered::Larger(StreamBody::new(first.chain(rest)).boxed_unsync()));
        }
    }
    Ok(Gathered::Whole(taken.freeze()))
}

#[cfg(test)]
mod tests {
    use super::*;

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
