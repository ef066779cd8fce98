//! Message bodies: a stream of byte chunks that may end badly.

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Full, combinators::UnsyncBoxBody};

/// A body on its way, with trailers if there are any.
pub type Body = UnsyncBoxBody<Bytes, BodyError>;

/// Why a body ended before it was whole; the variant says whose fault it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// The visitor closed, or broke the framing of its request body.
    #[error("the client's request body ended early: {0}")]
    Client(String),
    /// The visitor stopped sending in the middle of its request body.
    #[error("the client sent nothing of its request body for {seconds} s")]
    ClientIdle {
        /// How long it was waited for.
        seconds: u64,
    },
    /// The visitor sent more than the site accepts.
    #[error("the request body is larger than {limit} bytes")]
    TooLarge {
        /// The most that the site accepts, in bytes.
        limit: u64,
    },
    /// The origin closed, reset, or broke the framing of its answer.
    #[error("the origin's response body ended early: {0}")]
    Origin(String),
    /// The origin was silent for too long in the middle of its answer.
    #[error("the origin stopped sending for {seconds} s")]
    OriginIdle {
        /// How long it was waited for.
        seconds: u64,
    },
    /// A limit or a file of our own failed.
    #[error("{0}")]
    Ours(String),
}

/// A body of no bytes.
#[must_use]
pub fn empty() -> Body {
    Empty::new().map_err(|never| match never {}).boxed_unsync()
}

/// A body that is here already.
#[must_use]
pub fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}
