//! Leaders and waiters: who leads, who is told, and when a flight is over.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};

use crate::{Flights, Key, Lead, Role, Wait};

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

/// Notes, when it is woken, how many flights there are.
struct Witness {
    flights: Flights<u32>,
    seen: AtomicUsize,
}

impl Wake for Witness {
    fn wake(self: Arc<Self>) {
        self.seen.store(self.flights.len(), Ordering::SeqCst);
    }
}

#[test]
fn a_flight_is_over_before_its_waiters_are_woken() {
    for lands in [true, false] {
        let flights = Flights::default();
        let lead = lead(&flights, &KEY);
        let mut outcome = pin!(wait(&flights, &KEY).outcome());
        let witness = Arc::new(Witness { flights: flights.clone(), seen: usize::MAX.into() });
        let waker = Waker::from(witness.clone());
        assert!(outcome.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        if lands {
            lead.land(1)
        } else {
            drop(lead)
        }
        assert_eq!(witness.seen.load(Ordering::SeqCst), 0, "lands: {lands}");
    }
}

#[test]
fn threads_never_have_two_leaders_at_once() {
    let flights = Flights::default();
    let (is_led, led) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let hands: Vec<_> = (0..4)
        .map(|_| {
            let (flights, is_led, led) = (flights.clone(), is_led.clone(), led.clone());
            std::thread::spawn(move || {
                let mut round = 0;
                while round < 5_000 {
                    let Role::Leader(lead) = flights.join(&KEY) else {
                        // Whoever leads may have no turn just now.
                        std::thread::yield_now();
                        continue;
                    };
                    assert!(!is_led.swap(true, Ordering::SeqCst));
                    led.fetch_add(1, Ordering::SeqCst);
                    is_led.store(false, Ordering::SeqCst);
                    if round % 2 == 0 {
                        lead.land(round)
                    } else {
                        drop(lead)
                    }
                    round += 1;
                }
            })
        })
        .collect();
    for hand in hands {
        hand.join().expect("no thread panics");
    }
    assert!(flights.is_empty() && led.load(Ordering::SeqCst) == 20_000);
}
