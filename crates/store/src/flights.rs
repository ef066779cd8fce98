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
        // Nobody can join any more, so who is not there now need not be told.
        if self.outcome.receiver_count() > 0 {
            self.outcome.send_replace(Some(outcome));
        }
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
