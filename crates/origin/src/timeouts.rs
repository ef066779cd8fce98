//! How long an origin may take.

use std::future::Future;
use std::time::Duration;

/// Waiting times; every wait for an origin is under one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection to be made.
    pub connect: Duration,
    /// From the last byte of the request to the head of the answer.
    pub first_byte: Duration,
    /// Between two pieces of the answer's body.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            first_byte: Duration::from_secs(60),
            idle: Duration::from_secs(60),
        }
    }
}

/// Waits for `future` no longer than `limit`; none when the time is up.
pub(crate) async fn within<F: Future>(limit: Duration, future: F) -> Option<F::Output> {
    tokio::time::timeout(limit, future).await.ok()
}

/// Whole seconds for a message; a fraction counts as one.
pub(crate) fn seconds(limit: Duration) -> u64 {
    limit.as_secs() + u64::from(limit.subsec_nanos() > 0)
}
