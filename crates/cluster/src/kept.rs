//! What all nodes keep together: a value for each key, in a bucket that outlives every node.
//!
//! Nobody is told here that a value is another one: who keeps it tells it. The bucket's leader
//! answers, so whoever hears that something was kept, and asks for it then, is given that or what
//! was kept later.
//! Bounds: [`VALUE_BYTES_MAX`] a value, [`ANSWER`] for each step; there are as many values as the
//! callers have names for.

use std::time::Duration;

use async_nats::jetstream;
use tokio::time::timeout;

use crate::link;
use crate::node::Node;

/// Bytes of a value: NATS takes a million.
const VALUE_BYTES_MAX: usize = 512 << 10;
/// How long one answer of NATS is waited for.
const ANSWER: Duration = Duration::from_secs(4);

/// Why something can't be kept, or asked for, now. It may be tried again.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// Nobody was reached since the start.
    #[error("the NATS servers were not reached yet")]
    Unreached,
    /// They are gone.
    #[error("the NATS servers don't answer")]
    Silent,
    /// It is too large for them.
    #[error("{0} bytes are too many to be kept: {VALUE_BYTES_MAX} are the most")]
    TooLarge(usize),
    /// What they say.
    #[error("the NATS servers say: {0}")]
    Refused(String),
}

impl Node {
    /// Keeps a value for all nodes in the place of the one before. A key is of letters, digits,
    /// `-`, `_` and single dots within it.
    ///
    /// # Errors
    /// It isn't known whether it is kept.
    pub async fn keep(&self, key: &str, value: Vec<u8>) -> Result<(), KeepError> {
        if value.len() > VALUE_BYTES_MAX {
            return Err(KeepError::TooLarge(value.len()));
        }
        let bucket = self.bucket().await?;
        within(bucket.put(key, value.into())).await.map(drop)
    }

    /// What is kept under a key, if anything.
    ///
    /// # Errors
    /// It isn't known.
    pub async fn kept(&self, key: &str) -> Result<Option<Vec<u8>>, KeepError> {
        let bucket = self.bucket().await?;
        within(bucket.get(key)).await.map(|value| value.map(Into::into))
    }

    async fn bucket(&self) -> Result<jetstream::kv::Store, KeepError> {
        let client = self.client.lock().clone().ok_or(KeepError::Unreached)?;
        let context = jetstream::new(client);
        let name = self.settings.kept_bucket();
        within(link::bucket(&context, &name, link::replicas(self))).await
    }
}

async fn within<T, E: ToString>(step: impl Future<Output = Result<T, E>>) -> Result<T, KeepError> {
    match timeout(ANSWER, step).await {
        Ok(done) => done.map_err(|error| KeepError::Refused(error.to_string())),
        Err(_) => Err(KeepError::Silent),
    }
}
