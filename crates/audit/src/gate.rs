//! Gates: one pace for each origin, whoever of a run asks there.
//!
//! Two audits that begin at one host, and all that link to another site, ask through one gate:
//! what a host bears is a matter of the host, and not of how many ask.
//! Invariants: 1. as many [`Turn`]s of a gate are out as its pace's window says, and no more
//! begin until those are given back. 2. between two beginnings lies what the pace wants.
//! 3. who waits longest comes first. 4. nobody waits for a host that is to be left alone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::pace::Pace;

/// A host that fails so often in a row is left alone.
pub(crate) const FAILURES_MAX: u32 = 8;
/// How soon who waits sees that the host is to be left alone.
const LOOK: Duration = Duration::from_secs(1);

/// A gate.
#[derive(Debug)]
pub(crate) struct Gate {
    began: Instant,
    state: Mutex<State>,
    places: Arc<Semaphore>,
}

#[derive(Debug)]
struct State {
    pace: Pace,
    /// Places that there are, taken or not.
    places: usize,
}

impl Gate {
    /// A gate of this pace, whose moments count from `began`.
    pub(crate) fn new(began: Instant, pace: Pace) -> Arc<Self> {
        let places = pace.window();
        Arc::new(Self {
            began,
            state: Mutex::new(State { pace, places }),
            places: Arc::new(Semaphore::new(places)),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the pace, and the places with it.
    fn change<T>(&self, change: impl FnOnce(&mut Pace, Duration) -> T) -> T {
        let now = self.began.elapsed();
        let mut state = self.state();
        let changed = change(&mut state.pace, now);
        let window = state.pace.window();
        if window > state.places {
            self.places.add_permits(window - state.places);
            state.places = window;
        } else {
            // What is out is taken away when it comes back.
            state.places -= self.places.forget_permits(state.places - window);
        }
        changed
    }

    /// Waits for a place, and until the next request may go. It isn't begun by that. None where
    /// the host is to be left alone.
    pub(crate) async fn place(self: &Arc<Self>) -> Option<Turn> {
        // It is never closed; without a permit a request would merely be one too many.
        let permit = Arc::clone(&self.places).acquire_owned().await.ok();
        let turn = Turn { gate: Arc::clone(self), permit };
        self.rested().await.then_some(turn)
    }

    /// Waits as long as the host wants; whether it may then be asked.
    async fn rested(&self) -> bool {
        loop {
            let rest = self.rest();
            if self.is_lost() || rest.is_zero() {
                return !self.is_lost();
            }
            tokio::time::sleep(rest.min(LOOK)).await;
        }
    }

    /// How long no request may go.
    pub(crate) fn rest(&self) -> Duration {
        self.state().pace.next().saturating_sub(self.began.elapsed())
    }

    /// How many requests may be under way at once.
    pub(crate) fn window(&self) -> usize {
        self.state().pace.window()
    }

    /// An answer came.
    pub(crate) fn answered(&self, took: Duration) {
        self.change(|pace, _| pace.answered(took));
    }

    /// The host wants rest, or fails. Whether it may be asked again within this run.
    pub(crate) fn fails(&self, wanted: Option<Duration>) -> bool {
        self.change(|pace, now| pace.rest(now, wanted))
    }

    /// Failures in a row.
    pub(crate) fn failures(&self) -> u32 {
        self.state().pace.failures()
    }

    /// Takes over what `robots.txt` wants.
    pub(crate) fn obey(&self, delay: Option<Duration>) {
        self.change(|pace, _| pace.obey(delay));
    }

    /// Whether the host is to be left alone: it failed so often in a row, or wants a long rest.
    pub(crate) fn is_lost(&self) -> bool {
        let state = self.state();
        state.pace.failures() >= FAILURES_MAX || state.pace.wants_to_be_left()
    }
}

/// A request's turn, given back when it is over.
#[derive(Debug)]
pub(crate) struct Turn {
    gate: Arc<Gate>,
    permit: Option<OwnedSemaphorePermit>,
}

impl Turn {
    /// The request goes, as soon as it may: another may have gone meanwhile.
    pub(crate) async fn begin(&self) {
        // Where the host is to be left alone meanwhile, one request more is no harm.
        loop {
            let began = self.gate.change(|pace, now| {
                let is_time = pace.next() <= now;
                if is_time {
                    pace.begin(now);
                }
                is_time
            });
            if began || !self.gate.rested().await {
                return;
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut state = self.gate.state();
        if state.places > state.pace.window()
            && let Some(permit) = self.permit.take()
        {
            permit.forget();
            state.places -= 1;
        }
    }
}

/// The gates of a run.
#[derive(Debug)]
pub(crate) struct Gates {
    began: Instant,
    known: Mutex<HashMap<String, Arc<Gate>>>,
    /// Other sites: each is asked by one at a time, and not before that moment.
    elsewhere: Mutex<HashMap<String, Arc<tokio::sync::Mutex<Instant>>>>,
}

impl Gates {
    /// None yet.
    pub(crate) fn new() -> Self {
        Self { began: Instant::now(), known: Mutex::default(), elsewhere: Mutex::default() }
    }

    /// The gate of an origin, made by the first who asks there.
    pub(crate) fn of(&self, origin: &str, pace: impl FnOnce() -> Pace) -> Arc<Gate> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let gate = known.entry(origin.to_owned());
        Arc::clone(gate.or_insert_with(|| Gate::new(self.began, pace())))
    }

    /// The gate of an origin that is audited in this run.
    pub(crate) fn known(&self, origin: &str) -> Option<Arc<Gate>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(origin).cloned()
    }

    /// Waits until nobody else of this run asks another site; the moment from which it may be
    /// asked again is for who asks to wait for, and to say anew.
    pub(crate) async fn elsewhere(&self, origin: &str) -> OwnedMutexGuard<Instant> {
        let lock = {
            let mut all = self.elsewhere.lock().unwrap_or_else(PoisonError::into_inner);
            let free = || Arc::new(tokio::sync::Mutex::new(self.began));
            Arc::clone(all.entry(origin.to_owned()).or_insert_with(free))
        };
        lock.lock_owned().await
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    const fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    fn gates() -> (Gates, Arc<Gate>) {
        let gates = Gates::new();
        let gate = gates.of("http://a.test", || Pace::new(true, None));
        (gates, gate)
    }

    async fn is_free(gate: &Arc<Gate>) -> bool {
        matches!(timeout(ms(1), gate.place()).await, Ok(Some(_)))
    }

    #[tokio::test(start_paused = true)]
    async fn all_who_ask_one_origin_ask_through_one_gate() {
        let (gates, gate) = gates();
        let other = gates.of("http://a.test", || unreachable!("there is one"));
        let (one, two) = (gate.place().await, other.place().await);
        assert!(!is_free(&gate).await && !is_free(&other).await, "two are out, whoever has them");
        drop(one);
        assert!(is_free(&other).await);
        drop(two);
    }

    #[tokio::test(start_paused = true)]
    async fn a_window_that_narrows_takes_places_away_as_they_come_back() {
        let (_, gate) = gates();
        let (one, two) = (gate.place().await, gate.place().await);
        assert!(gate.fails(Some(ms(1_000))));
        assert_eq!(gate.window(), 1);
        drop(one);
        assert!(timeout(ms(5_000), gate.place()).await.is_err(), "the other is still out");
        drop(two);
        let turn = gate.place().await.unwrap();
        turn.begin().await;
        assert!(!is_free(&gate).await);
        drop(turn);
        (0..8).for_each(|_| gate.answered(ms(1)));
        let (_one, _two) = (gate.place().await, gate.place().await);
        assert!(!is_free(&gate).await, "it has grown by one");
    }

    #[tokio::test(start_paused = true)]
    async fn between_two_beginnings_lies_what_the_host_wants_whoever_begins() {
        let gates = Gates::new();
        let gate = gates.of("http://a.test", || Pace::new(true, Some(10.0)));
        let began = Instant::now();
        let (one, two) = tokio::join!(gate.place(), gate.place());
        let (one, two) = (one.unwrap(), two.unwrap());
        tokio::join!(one.begin(), two.begin());
        assert!(began.elapsed() >= ms(100), "{:?}", began.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_a_host_that_is_to_be_left_alone() {
        let (_, gate) = gates();
        gate.fails(Some(ms(60_000)));
        let waits = gate.place();
        let told = async {
            tokio::time::sleep(ms(10)).await;
            gate.fails(Some(ms(7_200_000)))
        };
        let (turn, may) = tokio::join!(waits, told);
        assert!(turn.is_none() && !may && gate.is_lost());
        gate.answered(ms(1));
        assert!(!gate.is_lost());
    }

    #[tokio::test(start_paused = true)]
    async fn another_site_is_asked_by_one_at_a_time() {
        let (gates, _) = gates();
        let mut first = gates.elsewhere("http://b.test").await;
        assert!(timeout(ms(10), gates.elsewhere("http://b.test")).await.is_err());
        assert!(timeout(ms(10), gates.elsewhere("http://c.test")).await.is_ok());
        let later = Instant::now() + ms(70);
        *first = later;
        drop(first);
        assert_eq!(*gates.elsewhere("http://b.test").await, later);
    }
}
