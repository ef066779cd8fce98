//! Deposits: what this node lays down, sealed, for the node to which a visitor comes next.
//!
//! They lie with NATS, each under its name, and nobody hears of them: who needs one asks for it.
//! So they outlive the node that laid them down, and cost the others nothing. They are a hint:
//! what is lost, late or too large is not found, and its visitor is answered as if there were no
//! other node. What must not get lost is waited for ([`Deposits::lay_down_surely`]).
//! Bounds: [`CONTENT_BYTES_MAX`] each, [`WAITING_BYTES_MAX`] that wait here, [`KEPT_BYTES`] with
//! NATS, for [`KEPT`]; the oldest give way.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::stream::{
    Config, DiscardPolicy, LastRawMessageErrorKind, RetentionPolicy, StorageType, Stream,
};
use base::complaint::complain;
use base::{Clock, Counter};
use bytes::Bytes;
use futures_util::future::try_join_all;
use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::link::{Failure, made, replicas, within};
use crate::node::Node;
use crate::seal::{Seal, hex, unhex};
use crate::settings::Settings;

/// For how long they are good, and what is told for an hour.
const KEPT: Duration = Duration::from_secs(24 * 3600);
const TOLD: Duration = Duration::from_secs(3600);
/// Larger ones are not laid down.
pub(crate) const CONTENT_BYTES_MAX: usize = 256 << 10;
/// Bytes that wait for NATS; past them the oldest are given up.
const WAITING_BYTES_MAX: usize = 4 << 20;
/// Bytes that all of them may take there.
const KEPT_BYTES: i64 = 256 << 20;
/// How many are on their way at once, and bytes of them: what makes pages old goes the same way.
const TOGETHER: usize = 64;
const TOGETHER_BYTES: usize = 512 << 10;
/// How long one is looked for: a visitor waits.
const PATIENCE: Duration = Duration::from_secs(1);
/// The name of what is told, which nothing that lies there has.
const TELLING: &[u8] = b"telling";
/// The rest after a failure. Nothing is looked for meanwhile.
const REST: Duration = Duration::from_secs(5);

/// What lies there, or whether anything does, can't be told now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what lies with NATS can't be told now")]
pub struct Untold;

/// What is laid down by one node, and found by it.
pub(crate) struct Deposits {
    pub(crate) seal: Arc<Seal>,
    clock: Clock,
    /// What stands before a name in the subject that it lies under.
    subjects: String,
    waiting: Mutex<Waiting>,
    /// How many were sent and aren't acknowledged.
    on_way: AtomicUsize,
    /// Something waits, or something failed.
    stirs: Notify,
    /// Where they lie; none: it isn't reached at this moment.
    place: Mutex<Option<Stream>>,
    /// Whether it was said that it isn't.
    is_told: AtomicBool,
    laid: Counter,
    found: Counter,
    missing: Counter,
    refused: Counter,
    lost: Counter,
}

/// What was laid down and found, since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DepositCounts {
    /// Laid down by this node.
    pub laid: u64,
    /// Looked for by this node and found.
    pub found: u64,
    /// Looked for and not there.
    pub missing: u64,
    /// Found and not opened: forged, of another secret, or too old.
    pub refused: u64,
    /// To be laid down, and too large, too many at once, or not taken by NATS.
    pub lost: u64,
    /// What waits to be laid down.
    pub waiting: usize,
}

/// What NATS has not taken yet.
#[derive(Default)]
struct Waiting {
    parcels: VecDeque<(String, Bytes)>,
    bytes: usize,
}

impl Deposits {
    /// Those of a node with these settings; none without a secret.
    pub(crate) fn of(settings: &Settings, clock: &Clock) -> Option<Self> {
        Some(Self {
            seal: Arc::new(Seal::new(settings.secret.as_deref()?, &settings.name)),
            clock: clock.clone(),
            subjects: settings.kept_subjects(),
            waiting: Mutex::default(),
            on_way: AtomicUsize::new(0),
            stirs: Notify::new(),
            place: Mutex::new(None),
            is_told: AtomicBool::new(false),
            laid: Counter::default(),
            found: Counter::default(),
            missing: Counter::default(),
            refused: Counter::default(),
            lost: Counter::default(),
        })
    }

    pub(crate) fn lay_down(&self, name: &[u8], content: &[u8]) {
        if content.len() > CONTENT_BYTES_MAX {
            return self.lost.bump();
        }
        let name = self.seal.name(name);
        let Some(parcel) = self.seal.close(&name, content, self.clock.now().unix_seconds()) else {
            return self.lost.bump();
        };
        let given_up = self.waiting.lock().put(name, parcel.into());
        self.lost.add(given_up);
        self.stirs.notify_one();
    }

    /// Lays it down before all that waits; whether NATS has it for sure.
    pub(crate) async fn lay_down_surely(
        &self,
        context: &Context,
        name: &[u8],
        content: &[u8],
    ) -> bool {
        if self.place.lock().is_none() {
            return false;
        }
        let name = self.seal.name(name);
        let Some(parcel) = self.seal.close(&name, content, self.clock.now().unix_seconds()) else {
            return false;
        };
        let subject = self.subject(&name);
        let taken = async { context.publish(subject, parcel.into()).await?.await };
        match timeout(PATIENCE, taken).await {
            Ok(Ok(_)) => self.laid.bump(),
            _ => {
                self.note_out_of_reach();
                return false;
            }
        }
        true
    }

    /// What lies under a name, if anything does.
    ///
    /// # Errors
    /// That can't be told in time, or what lies there is none of this cluster's.
    pub(crate) async fn find(&self, name: &[u8]) -> Result<Option<Vec<u8>>, Untold> {
        let place = self.place.lock().clone().ok_or(Untold)?;
        let name = self.seal.name(name);
        let subject = self.subject(&name);
        let found = match timeout(PATIENCE, place.get_last_raw_message_by_subject(&subject)).await {
            Ok(Ok(found)) => found,
            Ok(Err(error)) if matches!(error.kind(), LastRawMessageErrorKind::NoMessageFound) => {
                self.missing.bump();
                return Ok(None);
            }
            _ => {
                self.note_out_of_reach();
                return Err(Untold);
            }
        };
        let now = self.clock.now().unix_seconds();
        let opened = self.seal.open_young(&name, &found.payload, now, KEPT);
        match opened {
            Some(_) => self.found.bump(),
            None => self.refused.bump(),
        }
        opened.map(Some).ok_or(Untold)
    }

    /// Others needn't wait for it, too.
    fn note_out_of_reach(&self) {
        *self.place.lock() = None;
        self.stirs.notify_one();
    }

    /// Closes what is told to other nodes by another way.
    pub(crate) fn seal(&self, content: &[u8]) -> Option<String> {
        let name = self.seal.name(TELLING);
        Some(hex(&self.seal.close(&name, content, self.clock.now().unix_seconds())?))
    }

    /// Opens what one of them closed so.
    pub(crate) fn open(&self, sealed: &str) -> Option<Vec<u8>> {
        let (name, parcel) = (self.seal.name(TELLING), unhex(sealed));
        let now = self.clock.now().unix_seconds();
        let opened = parcel.and_then(|parcel| self.seal.open_young(&name, &parcel, now, TOLD));
        if opened.is_none() {
            self.refused.bump();
        }
        opened
    }

    pub(crate) fn counts(&self) -> DepositCounts {
        let waiting = self.waiting.lock();
        let waiting = waiting.parcels.len() + self.on_way.load(Ordering::Relaxed);
        DepositCounts {
            waiting,
            laid: self.laid.read(),
            found: self.found.read(),
            missing: self.missing.read(),
            refused: self.refused.read(),
            lost: self.lost.read(),
        }
    }

    fn subject(&self, name: &str) -> String {
        format!("{}.{name}", self.subjects)
    }

    /// Hands on what waits, until something fails.
    async fn hand_on(&self, context: &Context) -> Failure {
        // What another connection took along.
        self.note_lost();
        loop {
            let next = {
                let mut waiting = self.waiting.lock();
                let next = waiting.take();
                self.on_way.store(next.len(), Ordering::Relaxed);
                next
            };
            if next.is_empty() {
                if self.place.lock().is_none() {
                    return "what was looked for didn't come in time".into();
                }
                self.stirs.notified().await;
                continue;
            }
            let taken = async {
                let mut sent = Vec::with_capacity(next.len());
                for (name, parcel) in next {
                    sent.push(context.publish(self.subject(&name), parcel).await?.into_future());
                }
                try_join_all(sent).await.map_err(Failure::from)
            };
            if let Err(error) = within("what is handed on", taken).await {
                self.note_lost();
                return error;
            }
            self.laid.add(self.on_way.swap(0, Ordering::Relaxed) as u64);
        }
    }

    /// Nobody knows what became of what was on its way.
    fn note_lost(&self) {
        self.lost.add(self.on_way.swap(0, Ordering::Relaxed) as u64);
    }
}

impl Waiting {
    /// How many were given up for it.
    fn put(&mut self, name: String, parcel: Bytes) -> u64 {
        self.bytes += parcel.len();
        self.parcels.push_back((name, parcel));
        let mut given_up = 0;
        while self.bytes > WAITING_BYTES_MAX
            && let Some((_, oldest)) = self.parcels.pop_front()
        {
            self.bytes -= oldest.len();
            given_up += 1;
        }
        given_up
    }

    /// Those that go together.
    fn take(&mut self) -> Vec<(String, Bytes)> {
        let (mut taken, mut bytes) = (Vec::new(), 0);
        while taken.len() < TOGETHER
            && bytes < TOGETHER_BYTES
            && let Some((name, parcel)) = self.parcels.pop_front()
        {
            bytes += parcel.len();
            taken.push((name, parcel));
        }
        self.bytes -= bytes;
        taken
    }
}

/// Keeps the place where deposits lie in reach, and brings them there. It doesn't end.
pub(crate) async fn carry(node: &Node, context: &Context) {
    let Some(deposits) = &node.deposits else { return std::future::pending().await };
    loop {
        let error = match within("where it lies", place(node, context)).await {
            Ok(place) => {
                *deposits.place.lock() = Some(place);
                deposits.is_told.store(false, Ordering::Relaxed);
                deposits.hand_on(context).await
            }
            Err(error) => error,
        };
        *deposits.place.lock() = None;
        if !deposits.is_told.swap(true, Ordering::Relaxed) {
            complain(format_args!(
                "cluster: what strangers were given isn't handed on ({error}); until it is, each \
                 must write to the node that they read from"
            ));
        }
        sleep(REST).await;
    }
}

/// The stream that they lie in; made by the node that comes first.
async fn place(node: &Node, context: &Context) -> Result<Stream, Failure> {
    let settings = &node.settings;
    let with = |num_replicas| Config {
        name: settings.kept_stream(),
        subjects: vec![format!("{}.*", settings.kept_subjects())],
        retention: RetentionPolicy::Limits,
        discard: DiscardPolicy::Old,
        storage: StorageType::File,
        max_messages_per_subject: 1,
        max_age: KEPT,
        max_bytes: KEPT_BYTES,
        num_replicas,
        ..Config::default()
    };
    made(context, with, replicas(node)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(secret: Option<&str>) -> Option<Deposits> {
        let settings = Settings::new("a.test", "c", "a", Duration::from_secs(1), None);
        let mut settings = settings.expect("they are good");
        settings.secret = secret.map(str::to_owned);
        Deposits::of(&settings, &Clock::manual(0))
    }

    #[tokio::test]
    async fn without_a_secret_or_out_of_reach_nothing_is_found() {
        assert!(node(None).is_none());
        let deposits = node(Some("a-secret-of-many-letters")).expect("there is a secret");
        deposits.lay_down(b"a", b"content");
        assert_eq!(deposits.find(b"a").await, Err(Untold));
        assert_eq!(deposits.waiting.lock().parcels.len(), 1, "it goes when NATS is there");
    }

    #[test]
    fn what_waits_is_bounded_and_the_newest_stays() {
        let deposits = node(Some("a-secret-of-many-letters")).expect("there is a secret");
        deposits.lay_down(b"large", &vec![0; CONTENT_BYTES_MAX + 1]);
        assert_eq!((deposits.counts().lost, deposits.waiting.lock().bytes), (1, 0));
        for at in 0..40u8 {
            deposits.lay_down(&[at], &vec![at; CONTENT_BYTES_MAX]);
        }
        let waiting = std::mem::take(&mut *deposits.waiting.lock()).parcels;
        let names: Vec<_> = waiting.iter().map(|(name, _)| name.clone()).collect();
        assert_eq!(names.last(), Some(&deposits.seal.name(&[39])));
        let bytes: usize = waiting.iter().map(|(_, parcel)| parcel.len()).sum();
        assert!((WAITING_BYTES_MAX / 2..=WAITING_BYTES_MAX).contains(&bytes), "{bytes}");
        assert_eq!(deposits.counts().lost, 1 + 40 - names.len() as u64);
    }

    #[test]
    fn many_go_together_and_not_all() {
        let mut waiting = Waiting::default();
        for at in 0..=TOGETHER {
            assert_eq!(waiting.put(at.to_string(), Bytes::from_static(b"x")), 0);
        }
        let mut counts = || (waiting.take().len(), waiting.take().len(), waiting.bytes);
        assert_eq!(counts(), (TOGETHER, 1, 0));
        let mut waiting = Waiting::default();
        for at in 0..4 {
            waiting.put(at.to_string(), Bytes::from(vec![0; TOGETHER_BYTES / 2]));
        }
        assert_eq!((waiting.take().len(), waiting.bytes), (2, TOGETHER_BYTES));
    }
}
