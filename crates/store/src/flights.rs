//! Flights: of many who miss the same key at once, one fetches and the others join it.
//!
//! The first to ask leads; the rest wait for what the leader tells them. A leader may
//! [announce](Lead::announce) an outcome while it goes on, so that whoever comes until
//! the answer is stored still joins; [landing](Lead::land) ends the flight. A leader
//! that goes without a word (a panic, a cancelled task) wakes its waiters with
//! nothing, and the first of them to join again leads.
//!
//! Invariants: 1. A key has at most one leader. 2. A flight is over before its waiters
//! are woken by its end, so none of them can join it again.
//! Bounds: a flight is as large as its key; a waiter is a request that is already held
//! open, so the limit on connections limits waiters too.

use std::sync::Arc;

use hashbrown::HashTable;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::memory::Key;

/// All flights under way. Clones are the same set.
pub struct Flights<O> {
    table: Arc<Mutex<HashTable<Flight<O>>>>,
}

struct Flight<O> {
    hash: u64,
    text: Arc<[u8]>,
    /// Waiters listen to it; the leader holds the only sender.
    outcome: watch::Receiver<Option<O>>,
}

/// What somebody who joins is.
pub enum Role<O> {
    /// Nobody is fetching this: the caller does.
    Leader(Lead<O>),
    /// Somebody is: the caller waits for word.
    Waiter(Wait<O>),
}

/// The duty to fetch. Dropping it ends the flight.
pub struct Lead<O> {
    flights: Flights<O>,
    hash: u64,
    text: Arc<[u8]>,
    outcome: watch::Sender<Option<O>>,
}

/// A place in somebody else's flight.
pub struct Wait<O> {
    outcome: watch::Receiver<Option<O>>,
}

impl<O> Clone for Flights<O> {
    fn clone(&self) -> Self {
        Self { table: self.table.clone() }
    }
}

impl<O> Default for Flights<O> {
    fn default() -> Self {
        Self { table: Arc::default() }
    }
}

impl<O> Flights<O> {
    /// Joins the flight for `key`, or begins one.
    #[must_use]
    pub fn join(&self, key: &Key) -> Role<O> {
        let mut table = self.table.lock();
        let is_it = |flight: &Flight<O>| flight.hash == key.hash && *flight.text == *key.text;
        if let Some(flight) = table.find(key.hash, is_it) {
            return Role::Waiter(Wait { outcome: flight.outcome.clone() });
        }
        let text: Arc<[u8]> = Arc::from(key.text);
        let (sender, receiver) = watch::channel(None);
        let flight = Flight { hash: key.hash, text: text.clone(), outcome: receiver };
        table.insert_unique(key.hash, flight, |flight| flight.hash);
        Role::Leader(Lead { flights: self.clone(), hash: key.hash, text, outcome: sender })
    }

    /// How many flights are under way.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.lock().len()
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<O> Lead<O> {
    /// Gives `outcome` to all who wait and to all who join from now on; the flight goes on.
    ///
    /// For an answer whose head is here and whose body is being filled: until it is stored,
    /// those who come read the same filling. The last announcement counts.
    pub fn announce(&self, outcome: O) {
        self.outcome.send_replace(Some(outcome));
    }

    /// Gives `outcome` to all who wait and ends the flight: who comes later begins anew.
    pub fn land(self, outcome: O) {
        self.end();
        self.outcome.send_replace(Some(outcome));
    }

    /// How many wait or were told and have not gone yet.
    #[must_use]
    pub fn waiters(&self) -> usize {
        // One receiver stays in the table for those to come.
        self.outcome.receiver_count().saturating_sub(1)
    }

    fn end(&self) {
        let mut table = self.flights.table.lock();
        // Two flights may bear the same key: this one, landed, and its successor.
        let is_ours = |flight: &Flight<O>| Arc::ptr_eq(&flight.text, &self.text);
        let ended = table.find_entry(self.hash, is_ours).ok().map(|entry| entry.remove().0);
        drop(table);
        // The last announcement may go with it, and whatever that holds: outside the lock.
        drop(ended);
    }
}

impl<O> Drop for Lead<O> {
    fn drop(&mut self) {
        self.end();
    }
}

impl<O: Clone> Wait<O> {
    /// What the leader tells, at once if it has announced it; `None` when it went without a word.
    pub async fn outcome(mut self) -> Option<O> {
        match self.outcome.wait_for(Option::is_some).await {
            Ok(told) => told.clone(),
            Err(_abandoned) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    const KEY: Key<'static> = Key { hash: 7, text: b"/news" };
    /// Another key that the table cannot tell from the first by its hash.
    const TWIN: Key<'static> = Key { hash: 7, text: b"/olds" };

    fn lead<O>(flights: &Flights<O>, key: &Key) -> Lead<O> {
        match flights.join(key) {
            Role::Leader(lead) => lead,
            Role::Waiter(_) => panic!("nobody leads yet"),
        }
    }

    fn wait<O>(flights: &Flights<O>, key: &Key) -> Wait<O> {
        match flights.join(key) {
            Role::Leader(_) => panic!("somebody leads already"),
            Role::Waiter(wait) => wait,
        }
    }

    #[tokio::test]
    async fn ten_thousand_joiners_have_one_leader_and_all_hear_its_word() {
        let flights = Flights::default();
        let leaders = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<_> = (0..10_000)
            .map(|_| {
                let (flights, leaders) = (flights.clone(), leaders.clone());
                tokio::spawn(async move {
                    match flights.join(&KEY) {
                        Role::Waiter(wait) => wait.outcome().await,
                        Role::Leader(lead) => {
                            leaders.fetch_add(1, Ordering::SeqCst);
                            while lead.waiters() < 9_999 {
                                tokio::task::yield_now().await;
                            }
                            lead.land("page");
                            Some("page")
                        }
                    }
                })
            })
            .collect();
        for task in tasks {
            assert_eq!(task.await.expect("no task panics"), Some("page"));
        }
        assert_eq!(leaders.load(Ordering::SeqCst), 1);
        assert!(flights.is_empty());
    }

    #[tokio::test]
    async fn when_a_leader_goes_without_a_word_one_waiter_leads() {
        let flights = Flights::default();
        let first = lead(&flights, &KEY);
        let leaders = Arc::new(AtomicUsize::new(0));
        let waits: Vec<_> = (0..1_000).map(|_| wait(&flights, &KEY)).collect();
        let tasks: Vec<_> = waits
            .into_iter()
            .map(|wait| {
                let (flights, leaders) = (flights.clone(), leaders.clone());
                tokio::spawn(async move {
                    assert_eq!(wait.outcome().await, None);
                    match flights.join(&KEY) {
                        Role::Waiter(wait) => wait.outcome().await,
                        Role::Leader(lead) => {
                            leaders.fetch_add(1, Ordering::SeqCst);
                            while lead.waiters() < 999 {
                                tokio::task::yield_now().await;
                            }
                            lead.land(2);
                            Some(2)
                        }
                    }
                })
            })
            .collect();
        tokio::task::yield_now().await;
        drop(first);
        for task in tasks {
            assert_eq!(task.await.expect("no task panics"), Some(2));
        }
        assert_eq!(leaders.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn an_announcement_reaches_early_and_late_and_the_flight_goes_on() {
        let flights = Flights::default();
        let lead_here = lead(&flights, &KEY);
        let early = wait(&flights, &KEY);
        lead_here.announce(1);
        let late = wait(&flights, &KEY);
        assert_eq!((early.outcome().await, flights.len()), (Some(1), 1));
        drop(lead_here);
        assert_eq!(late.outcome().await, Some(1), "told before the flight was over");
        drop(lead(&flights, &KEY));
    }

    #[tokio::test]
    async fn keys_of_one_hash_and_flights_of_one_key_are_told_apart() {
        let flights = Flights::default();
        let (news, olds) = (lead(&flights, &KEY), lead(&flights, &TWIN));
        let waiting = wait(&flights, &TWIN);
        news.land("news");
        let again = lead(&flights, &KEY);
        olds.land("olds");
        assert_eq!(waiting.outcome().await, Some("olds"));
        assert_eq!((flights.len(), again.waiters()), (1, 0));
    }
}
