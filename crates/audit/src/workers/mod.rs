//! Workers of an audit in other processes, which pull what is to be asked for.
//!
//! The coordinator keeps the book and the pace of each site; a worker fetches and tests. A page
//! is handed over only to who asks for work at that moment, so that a site's pace is kept to
//! over all workers together.
//! Invariants: 1. what was handed over is counted once: whoever comes after the end of its lease
//! is turned away, and the page is given anew. 2. a lease ends with the connection over which it
//! was taken, or after [`LEASE`]; that of a queue when the queue has lost it. 3. nobody is given work without the token, nor in another
//! version. 4. a site on the coordinator's own machine is asked from there alone.
//! Workers come by HTTP ([`Door`], [`Worker`]) or by a queue ([`Desk`], [`Hands`]), which is
//! somebody else's.
//! Start at [`Crew`]; its listener is `door.rs`, who joins is `join.rs`.

mod desk;
mod door;
mod hands;
mod join;
mod token;

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;

use crate::errand::{Manner, Outcome};
use crate::fetch::FetchError;

pub use desk::{Desk, Errand};
pub use door::{Door, DoorError};
pub use hands::{Hands, Welcome};
pub use join::{JoinError, Worker};
pub use token::{TokenError, WorkersToken};

/// A page takes at most 30 s to come and some to be tested; whoever has it for longer is gone,
/// or so slow that another does it sooner.
const LEASE: Duration = Duration::from_secs(120);
/// What waits in a queue for workers is nobody's yet; who lost it is known by the [`Desk`].
const PATIENT: Duration = Duration::from_secs(365 * 24 * 3600);
/// Pages that a worker has at once.
const HANDS: usize = 16;
/// What both sides have to have in common: the version, and what counts up when the messages
/// change.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "/3");
/// The fields by which a worker tells who it is.
const VERSION_FIELD: &str = "wick-audit-version";
const MACHINE_FIELD: &str = "wick-audit-machine";
const WORKER_FIELD: &str = "wick-audit-worker";

/// What a worker elsewhere is told that has nothing to do.
const ELSEWHERE: &str = "a site of this audit is on the coordinator's own machine, and from another \
                         its address leads elsewhere: audit it by the address that others know it by";

/// What a worker of another version is told.
fn another_version() -> String {
    format!(
        "the coordinator is wick {VERSION}, and this worker is not: run the same version on both \
         machines"
    )
}

/// What is handed to a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Handed {
    /// By what its outcome is known.
    lease: u64,
    /// What to ask for.
    url: String,
    /// Where: its name was looked up once, by the coordinator.
    addresses: Vec<SocketAddr>,
    /// How, and what to hold it against.
    manner: Manner,
}

/// A worker's request for work that waits.
struct Poll {
    give: oneshot::Sender<Handed>,
    is_here: bool,
    /// How long what comes of it is waited for.
    lease: Duration,
}

/// The workers of an audit, as the coordinator sees them.
#[derive(Default)]
pub struct Crew {
    polls: Mutex<VecDeque<Poll>>,
    freed: Notify,
    leases: Mutex<HashMap<u64, oneshot::Sender<Outcome>>>,
    /// Connections by the name of their worker.
    joined: Mutex<HashMap<String, usize>>,
    /// Whether a site can be asked from the coordinator's machine alone.
    is_local: AtomicBool,
    is_over: AtomicBool,
    over: Notify,
    late: AtomicU64,
}

impl std::fmt::Debug for Crew {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Crew").field("workers", &self.workers()).finish_non_exhaustive()
    }
}

/// Whatever was done under a lock leaves the maps whole.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Crew {
    /// How many workers have joined, and are still there.
    #[must_use]
    pub fn workers(&self) -> usize {
        locked(&self.joined).len()
    }

    /// Outcomes that came after the end of their lease, and weren't counted.
    #[must_use]
    pub fn late(&self) -> u64 {
        self.late.load(Ordering::Relaxed)
    }

    /// A site is on this machine: from another its address would lead elsewhere.
    pub(crate) fn stay_here(&self) {
        self.is_local.store(true, Ordering::SeqCst);
        locked(&self.polls).retain(|poll| poll.is_here);
    }

    /// Waits for a worker that asks for work.
    pub(crate) async fn slot(self: &Arc<Self>) -> Slot {
        loop {
            // Who listens before looking can't miss it.
            let freed = self.freed.notified();
            if let Some(poll) = self.pop() {
                return Slot { crew: Arc::clone(self), poll };
            }
            freed.await;
        }
    }

    fn pop(&self) -> Option<Poll> {
        let mut polls = locked(&self.polls);
        let fits = |poll: &Poll| !poll.give.is_closed() && !self.refuses(poll.is_here);
        let first = polls.iter().position(fits)?;
        polls.drain(..first);
        polls.pop_front()
    }

    /// A worker waits for work.
    fn ask(&self, is_here: bool) -> oneshot::Receiver<Handed> {
        self.poll(is_here, LEASE)
    }

    /// A worker waits for work by way of a queue of this machine's, which knows whom to give what.
    fn ask_for_long(&self) -> oneshot::Receiver<Handed> {
        self.poll(true, PATIENT)
    }

    fn poll(&self, is_here: bool, lease: Duration) -> oneshot::Receiver<Handed> {
        let (give, given) = oneshot::channel();
        let mut polls = locked(&self.polls);
        polls.retain(|poll| !poll.give.is_closed());
        polls.push_back(Poll { give, is_here, lease });
        drop(polls);
        self.freed.notify_one();
        given
    }

    fn refuses(&self, is_here: bool) -> bool {
        !is_here && self.is_local.load(Ordering::SeqCst)
    }

    fn has_leased(&self, lease: u64) -> bool {
        locked(&self.leases).contains_key(&lease)
    }

    /// Whether an outcome is counted: its lease hasn't ended.
    fn done(&self, lease: u64, outcome: Outcome) -> bool {
        let tell = locked(&self.leases).remove(&lease);
        let is_told = tell.is_some_and(|tell| tell.send(outcome).is_ok());
        if !is_told {
            self.late.fetch_add(1, Ordering::Relaxed);
        }
        is_told
    }

    /// What was handed over is given anew.
    fn end(&self, lease: u64) {
        locked(&self.leases).remove(&lease);
    }

    fn join(&self, name: &str) {
        *locked(&self.joined).entry(name.to_owned()).or_default() += 1;
    }

    fn leave(&self, name: &str) {
        let mut joined = locked(&self.joined);
        if let Some(count) = joined.get_mut(name) {
            *count -= 1;
            if *count == 0 {
                joined.remove(name);
            }
        }
    }

    /// There is no more to do.
    pub fn close(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        self.over.notify_waiters();
    }

    fn is_closed(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    /// Waits for the end.
    pub async fn closed(&self) {
        let over = self.over.notified();
        if !self.is_closed() {
            over.await;
        }
    }
}

/// A worker that waits for work.
pub(crate) struct Slot {
    crew: Arc<Crew>,
    poll: Poll,
}

impl Slot {
    /// Hands an address over, and waits for what comes of it.
    pub(crate) async fn run(
        self,
        url: String,
        addresses: Vec<SocketAddr>,
        manner: Manner,
    ) -> Outcome {
        let (tell, told) = oneshot::channel();
        let patience = self.poll.lease;
        let lease = Lease { number: rand::random(), crew: &self.crew };
        locked(&self.crew.leases).insert(lease.number, tell);
        let handed = Handed { lease: lease.number, url, addresses, manner };
        if self.poll.give.send(handed).is_err() {
            return Err(FetchError::Lost);
        }
        let told = timeout(patience, told).await;
        told.ok().and_then(Result::ok).unwrap_or(Err(FetchError::Lost))
    }
}

/// Ends with whoever waits for the outcome.
struct Lease<'a> {
    number: u64,
    crew: &'a Crew,
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        self.crew.end(self.number);
    }
}

/// What tells this machine, and its network, from others: by it the same loopback is known.
fn machine() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let net = std::fs::read_link("/proc/self/ns/net").unwrap_or_default();
    let told = format!("{} {}", boot.trim(), net.display());
    format!("{:016x}", xxhash_rust::xxh3::xxh3_64(told.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errand::Taken;
    use crate::kind::Tests;

    const MANNER: Manner = Manner { tests: Tests::ALL, store_first: false };

    fn outcome(status: u16) -> Outcome {
        Ok(Taken { status, ..Taken::default() })
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_slower_than_the_lease_is_not_counted_and_the_page_is_given_anew() {
        let crew = Arc::new(Crew::default());
        let slow = crew.ask(true);
        let lost = crew.slot().await.run("http://a.test/".to_owned(), Vec::new(), MANNER);
        let (lost, handed) = tokio::join!(lost, slow);
        assert_eq!(lost, Err(FetchError::Lost));
        let (slot, again) = (crew.slot(), crew.ask(true));
        let run = slot.await.run("http://a.test/".to_owned(), Vec::new(), MANNER);
        let answered = async {
            let again = again.await.unwrap();
            let late = crew.done(handed.unwrap().lease, outcome(500));
            assert!(!late && crew.late() == 1);
            assert!(crew.done(again.lease, outcome(200)));
            assert!(!crew.done(again.lease, outcome(500)), "it counts once");
        };
        let (counted, ()) = tokio::join!(run, answered);
        assert_eq!(counted.map(|taken| taken.status), Ok(200));
    }

    #[tokio::test]
    async fn who_has_hung_up_is_handed_nothing_and_who_is_elsewhere_nothing_of_this_machine() {
        let crew = Arc::new(Crew::default());
        drop(crew.ask(true));
        let elsewhere = crew.ask(false);
        let here = crew.ask(true);
        crew.stay_here();
        assert!(elsewhere.await.is_err() && crew.refuses(false) && !crew.refuses(true));
        let run = crew.slot().await.run("http://a.test/".to_owned(), Vec::new(), MANNER);
        let answered = async { crew.done(here.await.unwrap().lease, outcome(200)) };
        let (counted, is_told) = tokio::join!(run, answered);
        assert!(is_told && counted.is_ok());
        assert!(locked(&crew.leases).is_empty() && locked(&crew.polls).is_empty());
    }
}
