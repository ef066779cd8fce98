//! The queue between a feed and its listener, which the feed never waits for.
//!
//! Invariants: 1. It holds at most [`EVENTS_MAX`]. When it is full everything in it
//! makes room for "lost, and recovered", which asks for the same sweep and more.
//! 2. A listener never hears `Lost` twice for the same reason without `Recovered` between.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::{Event, Lost, Place};

/// The most events that wait for the listener; an import of a whole site runs over.
pub(crate) const EVENTS_MAX: usize = 4096;

/// Both ends of a new queue.
pub(crate) fn queue() -> (Inlet, Outlet) {
    let shared = Arc::new(Shared::default());
    (Inlet { shared: shared.clone() }, Outlet { shared })
}

/// The feed's end.
#[derive(Clone)]
pub(crate) struct Inlet {
    shared: Arc<Shared>,
}

/// The listener's end.
pub(crate) struct Outlet {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    filled: Notify,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Event>,
    is_following: bool,
    last_reason: Option<Lost>,
    overruns: u64,
}

impl Inlet {
    /// Tells the listener one thing more.
    pub(crate) fn tell(&self, event: Event) {
        let mut state = self.shared.state.lock();
        match &event {
            Event::Recovered => {
                state.is_following = true;
                state.last_reason = None;
            }
            Event::Lost(reason) => {
                if !state.is_following && state.last_reason.as_ref() == Some(reason) {
                    return;
                }
                state.is_following = false;
                state.last_reason = Some(reason.clone());
            }
            // A silence is news only to who has heard everything else.
            Event::Idle if !state.waiting.is_empty() => return,
            // A further place on one line says all that the one before it did.
            Event::Commit(Some(Place::Lsn(_)))
                if matches!(state.waiting.back(), Some(Event::Commit(Some(Place::Lsn(_))))) =>
            {
                state.waiting.pop_back();
            }
            _ => {}
        }
        if state.waiting.len() >= EVENTS_MAX {
            state.overruns += 1;
            state.waiting.clear();
            state.waiting.push_back(Event::Lost(Lost::Overrun));
            if state.is_following {
                state.waiting.push_back(Event::Recovered);
            }
        }
        state.waiting.push_back(event);
        drop(state);
        self.shared.filled.notify_one();
    }
}

impl Outlet {
    /// The next event; waits for it. Safe to give up and to ask again.
    pub(crate) async fn next(&mut self) -> Event {
        loop {
            if let Some(event) = self.shared.state.lock().waiting.pop_front() {
                return event;
            }
            self.shared.filled.notified().await;
        }
    }

    /// The next event, if one is there.
    pub(crate) fn ready(&mut self) -> Option<Event> {
        self.shared.state.lock().waiting.pop_front()
    }

    /// How often the queue was full.
    pub(crate) fn overruns(&self) -> u64 {
        self.shared.state.lock().overruns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Change;

    fn change() -> Event {
        Event::Change(Change::anything("site", "posts"))
    }

    #[tokio::test]
    async fn a_full_queue_asks_for_a_sweep_and_goes_on() {
        let (inlet, mut outlet) = queue();
        inlet.tell(Event::Recovered);
        for _ in 0..EVENTS_MAX {
            inlet.tell(change());
        }
        assert_eq!(outlet.next().await, Event::Lost(Lost::Overrun));
        assert_eq!(outlet.next().await, Event::Recovered);
        assert_eq!(outlet.next().await, change());
        assert_eq!((outlet.ready(), outlet.overruns()), (None, 1));
    }

    #[test]
    fn an_overrun_while_nothing_is_followed_promises_nothing() {
        let (inlet, mut outlet) = queue();
        for _ in 0..=EVENTS_MAX {
            inlet.tell(change());
        }
        assert_eq!(outlet.ready(), Some(Event::Lost(Lost::Overrun)));
        assert_eq!(outlet.ready(), Some(change()));
        assert_eq!(outlet.ready(), None);
    }

    #[test]
    fn a_further_place_takes_the_place_of_the_last() {
        let (inlet, mut outlet) = queue();
        let commit = |lsn| Event::Commit(Some(Place::Lsn(lsn)));
        for event in [commit(1), commit(2), change(), commit(3), commit(4)] {
            inlet.tell(event);
        }
        let heard: Vec<Event> = std::iter::from_fn(|| outlet.ready()).collect();
        assert_eq!(heard, [commit(2), change(), commit(4)]);
    }

    #[test]
    fn a_reason_is_told_once() {
        let (inlet, mut outlet) = queue();
        for reason in [Lost::Disconnected, Lost::Disconnected, Lost::Silent] {
            inlet.tell(Event::Lost(reason));
        }
        inlet.tell(Event::Recovered);
        inlet.tell(Event::Lost(Lost::Silent));
        let heard: Vec<Event> = std::iter::from_fn(|| outlet.ready()).collect();
        let lost = Event::Lost;
        let expected =
            [lost(Lost::Disconnected), lost(Lost::Silent), Event::Recovered, lost(Lost::Silent)];
        assert_eq!(heard, expected);
    }

    #[test]
    fn silence_is_told_to_who_has_heard_the_rest() {
        let (inlet, mut outlet) = queue();
        inlet.tell(change());
        inlet.tell(Event::Idle);
        assert_eq!(outlet.ready(), Some(change()));
        assert_eq!(outlet.ready(), None);
        inlet.tell(Event::Idle);
        assert_eq!(outlet.ready(), Some(Event::Idle));
    }
}
