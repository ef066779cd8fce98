//! Ears: one source, heard by the best means that there are rights for.
//!
//! A server's log is better than polling it, and polling is better than nothing; when a
//! means fails for want of rights or settings the next lower one is tried, and the higher
//! ones again now and then.

use std::future::Future;
use std::sync::{Arc, Weak};
use std::time::Duration;

use base::Clock;
use changes::{Event, Feed, Lost, Nudge, Rung, Source, Tap, identity_of, standing_of};
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, sleep, timeout};

use super::Following;
use super::shared;
use super::together::Joined;
use crate::fellows::reading::{Desk, Mark, Obeyed, Reading};

/// After so long a better rung is looked for.
pub(super) const LOOK_UP_EVERY: Duration = Duration::from_secs(60);
/// How long to wait after a failure.
pub(super) const AGAIN_AFTER: Duration = Duration::from_secs(2);
/// How often an ear tries to take the place of one that ends.
const DESK_TRIES: u32 = 5;
/// How long a server may take to say what rights there are.
const STANDING_MAX: Duration = Duration::from_secs(10);

/// What comes from one ear; the listener knows which.
#[derive(Debug)]
pub(crate) enum Heard {
    Event(Event),
    /// From here on it is heard by this means.
    By(Means),
    /// Who can't wait until it looks again asks it here.
    Asked(Nudge),
    /// All that was heard before is obeyed.
    Obeyed(Obeyed),
    /// It is followed from here on; as whom that beginning is known.
    From(u64),
    /// Somebody waits until all is obeyed that was heard before.
    Mark(Mark),
}

/// By what a source is heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Means {
    /// Its log: each row, once it is written.
    Log,
    /// Asking several times a second; counters may move before others can read.
    Poll,
    /// The app's own statements as they pass, and asking for what others changed.
    Tap,
    /// A file's own counter, several times a second, and what its pages hold.
    Pages,
    /// The system's word about files.
    Files,
    /// Another node, which reads it for all: by asking, or by its log.
    Fellow { is_polled: bool },
    /// A feed that was made elsewhere.
    Told,
}

impl Means {
    /// Whether counters are heard that may move before others can read.
    pub(super) fn is_polled(self) -> bool {
        matches!(self, Self::Poll | Self::Fellow { is_polled: true })
    }
}

/// One source, and how it is heard.
pub(crate) struct Ear {
    source: Option<Source>,
    /// What stands between the app and that source, if anything does.
    tap: Option<Weak<Tap>>,
    feed: Option<(Feed, Means)>,
    /// How one node reads it for all, and by which host the nodes know the site.
    shared: Option<(Arc<dyn Reading>, String)>,
}

impl Ear {
    pub(crate) fn new(
        source: Source,
        tap: Option<Weak<Tap>>,
        shared: Option<(Arc<dyn Reading>, String)>,
    ) -> Self {
        // A tap hears what this node's app writes, which nobody else does.
        let shared = shared.filter(|_| tap.is_none());
        Self { source: Some(source), tap, feed: None, shared }
    }

    /// One with a feed that was made elsewhere.
    pub(crate) fn of(feed: Feed) -> Self {
        Self { source: None, tap: None, feed: Some((feed, Means::Told)), shared: None }
    }

    /// Hears for ever, and tells it on with the ear's number.
    pub(super) async fn hear(
        mut self,
        index: usize,
        sender: Sender<(usize, Heard)>,
        (following, clock): (Arc<Following>, Clock),
    ) {
        match self.desk(index, &sender).await {
            Ok(Some((source, desk))) => {
                let _joined = Joined::new(&following, &clock, &desk);
                shared::hear(&source, desk, index, &sender).await;
            }
            Ok(None) => self.hear_alone(index, &sender).await,
            Err(NobodyListens) => {}
        }
    }

    /// Where it is read for all; none where this node reads it for itself.
    async fn desk(
        &self,
        index: usize,
        sender: &Sender<(usize, Heard)>,
    ) -> Result<Option<(Source, Desk)>, NobodyListens> {
        let (Some((reading, host)), Some(source)) = (&self.shared, &self.source) else {
            return Ok(None);
        };
        let kind = match source {
            Source::MySql(_) => "mysql",
            Source::PostgreSql(_) => "postgresql",
            Source::Sqlite(_) | Source::Files(_) | Source::Other(_) => return Ok(None),
        };
        let mut tries = DESK_TRIES;
        loop {
            let asked = timeout(STANDING_MAX, identity_of(source)).await;
            match asked.unwrap_or(Err(Lost::Silent)) {
                Ok(Some(identity)) => {
                    let name = format!("{host} {kind}-{identity}");
                    if let Some(desk) = Desk::open(reading, name) {
                        return Ok(Some((source.clone(), desk)));
                    }
                    // Another ear of this node has it: of the site as it was before a reload.
                    tries -= 1;
                    if tries == 0 {
                        return Ok(None);
                    }
                    sleep(AGAIN_AFTER).await;
                }
                Ok(None) => return Ok(None),
                Err(lost) => {
                    let told = Heard::Event(Event::Lost(lost));
                    sender.send((index, told)).await.map_err(|_| NobodyListens)?;
                    sleep(AGAIN_AFTER).await;
                }
            }
        }
    }

    async fn hear_alone(&mut self, index: usize, sender: &Sender<(usize, Heard)>) {
        loop {
            let (mut feed, means) = match self.feed.take() {
                Some(feed) => feed,
                None => match open(self.source.as_ref(), self.tap.as_ref()).await {
                    Ok(feed) => feed,
                    Err(lost) => {
                        let told = Heard::Event(Event::Lost(lost));
                        if sender.send((index, told)).await.is_err() {
                            return;
                        }
                        sleep(AGAIN_AFTER).await;
                        continue;
                    }
                },
            };
            if sender.send((index, Heard::By(means))).await.is_err() {
                return;
            }
            if let Some(nudge) = feed.nudge()
                && sender.send((index, Heard::Asked(nudge))).await.is_err()
            {
                return;
            }
            let tell = |event| {
                let sender = sender.clone();
                async move { sender.send((index, Heard::Event(event))).await.is_ok() }
            };
            if !self.tell_on(&mut feed, means, tell).await {
                return;
            }
        }
    }

    /// Tells what a feed tells until another means is worth trying; false: nobody listens.
    async fn tell_on<F>(&self, feed: &mut Feed, means: Means, tell: impl Fn(Event) -> F) -> bool
    where
        F: Future<Output = bool>,
    {
        let mut look_up_at = Instant::now() + LOOK_UP_EVERY;
        loop {
            let event = match means {
                Means::Poll => tokio::select! {
                    event = feed.next() => event,
                    () = tokio::time::sleep_until(look_up_at) => {
                        look_up_at = Instant::now() + LOOK_UP_EVERY;
                        if is_log_possible(self.source.as_ref()).await {
                            // What changes while one is let go and the other begins isn't heard.
                            return tell(Event::Lost(Lost::Overrun)).await;
                        }
                        continue;
                    }
                },
                _ => feed.next().await,
            };
            let is_refused =
                matches!(event, Event::Lost(Lost::Refused { .. } | Lost::Impossible(_)));
            if !tell(event).await {
                return false;
            }
            if is_refused && self.source.is_some() {
                sleep(AGAIN_AFTER).await;
                return true;
            }
        }
    }
}

/// Nobody hears what is told any more.
#[derive(Debug)]
struct NobodyListens;

pub(super) async fn is_log_possible(source: Option<&Source>) -> bool {
    let Some(source) = source else { return false };
    matches!(rung(source).await, Ok(Rung::Log))
}

/// The best feed that there are rights for.
pub(super) async fn open(
    source: Option<&Source>,
    tap: Option<&Weak<Tap>>,
) -> Result<(Feed, Means), Lost> {
    let impossible = |why: &str| Err(Lost::Impossible(why.to_owned()));
    let Some(source) = source else { return impossible("its feed has ended") };
    let rung = rung(source).await?;
    if rung == Rung::Nothing {
        return impossible(
            "the user may not see the site's tables; \"wick check\" says what it needs",
        );
    }
    if let (Source::MySql(_), Some(tap)) = (source, tap) {
        // The site's owner wants no log to be read.
        return match tap.upgrade() {
            Some(tap) => Ok((Feed::tap_and_poll(&tap), Means::Tap)),
            None => impossible("the tap between the app and its database is gone"),
        };
    }
    let is_logged = rung == Rung::Log;
    match source {
        Source::MySql(address) if is_logged => Ok((Feed::binlog(address.clone()), Means::Log)),
        Source::MySql(address) => Ok((Feed::poll(address.clone()), Means::Poll)),
        Source::PostgreSql(address) if is_logged => {
            Ok((Feed::postgres(address.clone()), Means::Log))
        }
        Source::PostgreSql(address) => Ok((Feed::poll_postgres(address.clone()), Means::Poll)),
        Source::Sqlite(path) => Ok((Feed::sqlite(path.clone()), Means::Pages)),
        Source::Files(path) => Ok((Feed::files(path.clone()), Means::Files)),
        Source::Other(name) => impossible(&format!("{name} can't be followed")),
    }
}

/// How well a source can be heard; one that is no server is heard as well as can be.
async fn rung(source: &Source) -> Result<Rung, Lost> {
    match timeout(STANDING_MAX, standing_of(source)).await {
        Ok(None) => Ok(Rung::Log),
        Ok(Some(standing)) => Ok(standing?.rung),
        Err(_) => Err(Lost::Silent),
    }
}
