//! A queue of work, with NATS: one gives, as many as there are take, and what comes of each piece
//! of work comes back to who gave it. What it is about is bytes to this crate.
//!
//! ```text
//! giver ─→ any, here ─→ takers ─→ brought ─→ giver
//!     ↑____ hello ________│
//! ```
//!
//! One JetStream stream holds both ways until they are acknowledged. Work whose taker says nothing
//! for [`SILENCE`] is given to another; what is brought has its work's number for a name, so that
//! NATS takes it once from whoever is first, and only then is the work acknowledged.
//! Invariants: 1. nobody reads or makes what goes through NATS without the queue's secret.
//! 2. there is one giver: who comes later makes the stream anew, so that nothing that was given by
//! another is taken any more, and an earlier one that isn't gone finds that it was put off.
//! 3. who takes asks the giver first what it may take.
//! Bounds: [`CONTENT_BYTES_MAX`] what is brought, sealed; [`KEPT_BYTES`] in the stream.
//! Start at [`Giver`]; who takes is `taker.rs`, what is too large for one message `pieces.rs`.

mod giver;
mod pieces;
mod taker;

use std::time::Duration;

use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy, StorageType};
use async_nats::jetstream::{self, Context};
use async_nats::{Client, HeaderMap};
use bytes::Bytes;
use tokio::time::{Instant, sleep, timeout};

use crate::link::{self, Failure};
use crate::seal::Seal;
use crate::settings::Settings;

pub use giver::{Arrival, Giver, Question};
pub use taker::{Taken, Taker};

/// Whoever has work says so more often than that; else another has it.
const SILENCE: Duration = Duration::from_secs(6);
/// How often it is said.
const SAYING: Duration = Duration::from_secs(2);
/// How long one answer is waited for.
const ANSWER: Duration = Duration::from_secs(2);
/// How long NATS servers that are gone are tried again.
const PATIENCE: Duration = Duration::from_secs(60);
const AGAIN_AFTER: Duration = Duration::from_millis(250);
/// Bytes of what is given or brought, sealed.
pub(crate) const CONTENT_BYTES_MAX: usize = 17 << 20;
/// Bytes that may lie in the stream; beyond them whoever gives or brings waits.
const KEPT_BYTES: i64 = 512 << 20;
/// The field that has the number of a piece of work.
const NUMBER: &str = "Wick-Number";

/// Where work lies: what anybody may take, and what only takers that are beside the giver may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corner {
    /// For all.
    Any,
    /// For those beside the giver.
    Here,
}

impl Corner {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Here => "here",
        }
    }
}

/// Why a queue can't be used.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// No NATS server is reached, or none any more.
    #[error("the NATS servers at {0} can't be reached: {1}; see that they run, with JetStream")]
    Unreached(String, String),
    /// Somebody else gives work by this name.
    #[error("somebody gives work through the queue {0} already; wait for its end, or name another")]
    Taken(String),
    /// Somebody else took the queue over.
    #[error("the queue {0} was taken over by who began later, or NATS lost it")]
    PutOff(String),
    /// The one who gives has another secret.
    #[error("the queue's secret is another than here")]
    Secret,
    /// It can't be sealed, or is too large.
    #[error("{0} bytes can't be sent: {CONTENT_BYTES_MAX} are the most")]
    TooLarge(usize),
}

/// Both ends' way to the queue.
struct Place {
    settings: Settings,
    seal: Seal,
    client: Client,
    context: Context,
}

impl Place {
    async fn reach(settings: Settings, secret: &str) -> Result<Self, QueueError> {
        let client = match link::connect(&settings).await {
            Ok(client) => client,
            Err(error) => return Err(unreached(&settings, error)),
        };
        let seal = Seal::new(secret, &format!("work {}", settings.name));
        Ok(Self { seal, context: jetstream::new(client.clone()), client, settings })
    }

    fn stream(&self) -> String {
        format!("WICKWORK_{}", self.settings.name)
    }

    fn subject(&self, what: &str) -> String {
        format!("wickwork.{}.{what}", self.settings.name)
    }

    /// A name that nothing else has.
    fn fresh(&self) -> String {
        self.client.new_inbox().rsplit('.').next().unwrap_or_default().to_owned()
    }

    fn config(&self, num_replicas: usize) -> Config {
        Config {
            name: self.stream(),
            subjects: ["any", "here", BROUGHT].map(|what| self.subject(what)).to_vec(),
            retention: RetentionPolicy::WorkQueue,
            discard: DiscardPolicy::New,
            storage: StorageType::File,
            max_bytes: KEPT_BYTES,
            duplicate_window: Duration::from_secs(600),
            num_replicas,
            ..Config::default()
        }
    }

    fn unreached(&self, error: impl ToString) -> QueueError {
        unreached(&self.settings, error)
    }

    /// Sends a message until the stream has it. It is the same message each time, by its name.
    async fn send(
        &self,
        what: &str,
        name: &str,
        headers: &[(&str, String)],
        content: Bytes,
    ) -> Result<(), QueueError> {
        let begin = Instant::now();
        loop {
            let mut all = HeaderMap::new();
            all.insert("Nats-Msg-Id", name);
            for (field, value) in headers {
                all.insert(*field, value.as_str());
            }
            let taken = async {
                let sent =
                    self.context.publish_with_headers(self.subject(what), all, content.clone());
                sent.await?.await.map_err(Failure::from)
            };
            let error = match timeout(ANSWER, taken).await {
                Ok(Ok(_)) => return Ok(()),
                Ok(Err(error)) => error.to_string(),
                Err(_) => "no answer".to_owned(),
            };
            if begin.elapsed() > PATIENCE {
                return Err(self.unreached(error));
            }
            sleep(AGAIN_AFTER).await;
        }
    }
}

/// What is brought lies under this, and is read by the consumer of this name and the run's.
const BROUGHT: &str = "brought";
/// Who takes asks under this, beside the stream.
const HELLO: &str = "hello";

fn unreached(settings: &Settings, error: impl ToString) -> QueueError {
    QueueError::Unreached(settings.shown(), error.to_string())
}

/// What a piece of work, or what came of it, is sealed for.
fn purpose(what: &str, number: u64) -> String {
    format!("{what} {number}")
}

fn number(headers: Option<&HeaderMap>) -> Option<u64> {
    headers?.get(NUMBER)?.as_str().parse().ok()
}
