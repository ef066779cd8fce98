//! Shared sources: what one node reads for all of a cluster's.
//!
//! As long as another node reads it, its words are what is heard. When this one is to read it, a
//! feed begins anew, which takes it that everything has changed: of what was changed between the
//! last reader's last word and the new one's first nobody knows, and every node is swept by both.
//! Invariant: a reader says that it reads on only behind all that its feed has told: the place
//! that it says this of is asked for *before* the feed is found empty.

use std::time::Duration;

use changes::{Event, Feed, Lost, Source};
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until};

use super::ear::{AGAIN_AFTER, Heard, LOOK_UP_EVERY, Means, is_log_possible, open};
use crate::fellows::reading::{Beginning, Called, Desk, Turn, Word, event_of, waiting};

/// A reader that can't follow for so long lets another node try…
const GIVE_UP_AFTER: Duration = Duration::from_secs(10);
/// …and doesn't try itself again before this.
const REST: Duration = Duration::from_secs(5);

/// Hears for ever what is read for all.
pub(super) async fn hear(
    source: &Source,
    desk: Desk,
    index: usize,
    sender: &Sender<(usize, Heard)>,
) {
    let to = Listener { index, sender };
    loop {
        let Some(epoch) = hear_others(&desk, &to).await else { return };
        let reader = Reader { desk: &desk, epoch, to: &to, begun: 0, state: State::Lost };
        if !reader.read(source).await {
            return;
        }
    }
}

/// Who obeys.
struct Listener<'a> {
    index: usize,
    sender: &'a Sender<(usize, Heard)>,
}

impl Listener<'_> {
    /// False: it is gone.
    async fn tell(&self, heard: Heard) -> bool {
        self.sender.send((self.index, heard)).await.is_ok()
    }
}

/// Passes on what another node tells until this one is to read, by the number that is returned;
/// none: nobody listens.
async fn hear_others(desk: &Desk, to: &Listener<'_>) -> Option<u64> {
    let mut was_polled = false;
    let by = |is_polled| Heard::By(Means::Fellow { is_polled });
    let begins = to.tell(by(false)).await && to.tell(Heard::Event(Event::Lost(waiting()))).await;
    if !begins {
        return None;
    }
    loop {
        let word = match desk.next().await {
            Turn::Ours(epoch) => return Some(epoch),
            Turn::Mark(mark) => {
                if !to.tell(Heard::Mark(mark)).await {
                    return None;
                }
                continue;
            }
            Turn::Word(word) => word,
        };
        let heard = match word {
            Word::Ours(_) | Word::Theirs => continue,
            Word::Lost => Heard::Event(Event::Lost(waiting())),
            Word::Recovered(beginning) => {
                if !to.tell(Heard::From(desk.going_by(beginning))).await {
                    return None;
                }
                Heard::Event(Event::Recovered)
            }
            Word::Until(place) => Heard::Obeyed(desk.obeyed(place)),
            Word::Told(text) => {
                let (event, is_polled) = event_of(&text);
                if let Some(is_polled) = is_polled.filter(|is_polled| *is_polled != was_polled) {
                    was_polled = is_polled;
                    if !to.tell(by(is_polled)).await {
                        return None;
                    }
                }
                Heard::Event(event)
            }
        };
        if !to.tell(heard).await {
            return None;
        }
    }
}

/// This node, which reads for all.
struct Reader<'a> {
    desk: &'a Desk,
    epoch: u64,
    to: &'a Listener<'a>,
    /// How often following has begun.
    begun: u64,
    state: State,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Lost,
    Followed,
}

/// Why a feed isn't read any more.
enum End {
    /// Another is worth trying.
    Another,
    /// Another node reads.
    Turned,
    NobodyListens,
}

impl Reader<'_> {
    /// Reads until another node does; false: nobody listens.
    async fn read(mut self, source: &Source) -> bool {
        let mut lost_since = Instant::now();
        loop {
            let opened = tokio::select! {
                biased;
                () = self.desk.turned(self.epoch) => return true,
                opened = open(Some(source), None) => opened,
            };
            let end = match opened {
                Ok((mut feed, means)) => {
                    if !self.to.tell(Heard::By(means)).await {
                        return false;
                    }
                    self.follow(source, &mut feed, means, &mut lost_since).await
                }
                Err(lost) => match self.pass_on(Event::Lost(lost), false).await {
                    true => End::Another,
                    false => End::NobodyListens,
                },
            };
            match end {
                End::Another => {}
                End::Turned => return true,
                End::NobodyListens => return false,
            }
            self.give_up(lost_since);
            tokio::select! {
                () = self.desk.turned(self.epoch) => return true,
                () = sleep(AGAIN_AFTER) => {}
            }
        }
    }

    /// Tells what one feed tells.
    async fn follow(
        &mut self,
        source: &Source,
        feed: &mut Feed,
        means: Means,
        lost_since: &mut Instant,
    ) -> End {
        let is_polled = means.is_polled();
        let mut look_up_at = Instant::now() + LOOK_UP_EVERY;
        let mut beat = interval(self.desk.beat());
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let event = tokio::select! {
                biased;
                called = self.desk.called(self.epoch) => match called {
                    Called::Turned => return End::Turned,
                    Called::Mark(mark) => match self.to.tell(Heard::Mark(mark)).await {
                        true => continue,
                        false => return End::NobodyListens,
                    },
                },
                _ = beat.tick() => {
                    let place = self.desk.place();
                    while let Some(event) = feed.ready() {
                        if let Some(end) = self.take(event, is_polled).await {
                            return end;
                        }
                    }
                    self.read_on(place, lost_since);
                    continue;
                }
                event = feed.next() => event,
                () = sleep_until(look_up_at), if means == Means::Poll => {
                    look_up_at = Instant::now() + LOOK_UP_EVERY;
                    if !is_log_possible(Some(source)).await {
                        continue;
                    }
                    // What changes while one is let go and the other begins isn't heard.
                    Event::Lost(Lost::Overrun)
                }
            };
            let is_overrun = event == Event::Lost(Lost::Overrun) && means == Means::Poll;
            if let Some(end) = self.take(event, is_polled).await {
                return end;
            }
            if is_overrun {
                return End::Another;
            }
        }
    }

    /// Says up to where all is told.
    fn read_on(&self, place: u64, lost_since: &mut Instant) {
        match self.state {
            State::Followed => {
                *lost_since = Instant::now();
                self.desk.read_on(self.epoch, self.begun, place);
            }
            State::Lost => self.give_up(*lost_since),
        }
    }

    /// Takes one event; the end where there is one.
    async fn take(&mut self, event: Event, is_polled: bool) -> Option<End> {
        let is_refused = matches!(event, Event::Lost(Lost::Refused { .. } | Lost::Impossible(_)));
        if !self.pass_on(event, is_polled).await {
            return Some(End::NobodyListens);
        }
        is_refused.then_some(End::Another)
    }

    /// First to the others, then to this node's own listener; false: that one is gone.
    async fn pass_on(&mut self, event: Event, is_polled: bool) -> bool {
        match &event {
            // That it is followed is said with the place from which on it is.
            Event::Recovered => {
                (self.begun, self.state) = (self.begun + 1, State::Followed);
                let beginning = Beginning { epoch: self.epoch, begun: self.begun };
                if !self.to.tell(Heard::From(self.desk.going_by(beginning))).await {
                    return false;
                }
            }
            Event::Lost(_) => {
                self.state = State::Lost;
                self.desk.read_on(self.epoch, 0, 0);
            }
            Event::Change(_) | Event::Commit(_) | Event::Idle => {
                self.desk.tell(self.epoch, &event, is_polled);
            }
        }
        self.to.tell(Heard::Event(event)).await
    }

    /// Lets another node try where this one can't follow.
    fn give_up(&self, lost_since: Instant) {
        if self.state == State::Lost && lost_since.elapsed() >= GIVE_UP_AFTER {
            self.desk.rest(REST);
        }
    }
}
