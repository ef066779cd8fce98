//! Reading for all: of the nodes that would read a database's changes one does, and tells the
//! others.
//!
//! Which one is the cluster's affair; here stands what an ear needs of it. What comes is put into
//! a queue for the ear, and through it to the listener, which says when it has obeyed: until then
//! the node doesn't count as having heard it.
//! Bound: [`WORDS_MAX`]; past it what waits makes room for "lost, and recovered", which sweeps.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use changes::{Change, Column, Event, KeyClass, Lost, Operation, Place, Values};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

/// Words that may wait for an ear.
const WORDS_MAX: usize = 4096;

/// How sources are read for all.
pub trait Reading: Send + Sync {
    /// This node wants a source, by the name that all nodes have for it. False: somebody here
    /// does already.
    fn want(&self, source: &str, sink: Arc<dyn Fn(Word) + Send + Sync>) -> bool;
    /// It doesn't any more.
    fn leave(&self, source: &str);
    /// As its reader: it can't be read from here, so another shall, for this long.
    fn rest(&self, source: &str, rest: Duration);
    /// As its reader, by the number of [`Word::Ours`]: tells what was heard of it.
    fn tell(&self, source: &str, epoch: u64, news: String);
    /// The place in the stream up to which this node has heard.
    fn place(&self) -> u64;
    /// As its reader: following has begun so often, zero if it isn't followed; and all is told
    /// that was heard when [`Reading::place`] was that.
    fn read_on(&self, source: &str, epoch: u64, begun: u64, place: u64);
    /// All is obeyed that came before [`Word::Until`] with this place.
    fn obeyed(&self, source: &str, place: u64);
    /// How often at least a reader says that it reads on.
    fn beat(&self) -> Duration;
    /// Shows the others what is asked here of what is behind a source, until it is left.
    fn show_traffic(&self, source: &str, look: Arc<dyn Fn() -> Traffic + Send + Sync>);
    /// Asks them to be quiet for a while, or no more.
    fn hush(&self, source: &str, is_wanted: bool);
    /// When the others asked what is behind a source for nothing.
    fn calm(&self, source: &str) -> Calm;
}

/// What is asked of what is behind a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Requests that ever began.
    pub begun: u64,
    /// Whether none is under way, and what the last ones did has long come.
    pub is_quiet: bool,
}

/// When others asked for nothing, by this node's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calm {
    /// From this tick on…
    pub since_ms: u64,
    /// …until this one; of later moments nothing is known.
    pub until_ms: u64,
    /// Whether all of them were quiet when they last spoke.
    pub is_now: bool,
    /// Whether one of them wants the others to be quiet.
    pub is_hushed: bool,
    /// Whether that is one before which this node stands back.
    pub yields: bool,
}

/// What is said of a source that one node reads for all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// This node reads it from here on, by this number.
    Ours(u64),
    /// It doesn't any more.
    Theirs,
    /// Changes may go unheard from here on.
    Lost,
    /// All changes are heard from here on.
    Recovered,
    /// Its reader tells this.
    Told(String),
    /// All is heard up to this place; zero: it isn't relied on any more.
    Until(u64),
}

/// One source that is read for all, as its ear sees it. Dropping it leaves it to others.
pub(crate) struct Desk {
    source: String,
    reading: Arc<dyn Reading>,
    inbox: Arc<Inbox>,
}

#[derive(Default)]
struct Inbox {
    state: Mutex<State>,
    filled: Notify,
}

#[derive(Default)]
struct State {
    words: VecDeque<Word>,
    /// By which number this node reads it; it is never lost with what waits.
    ours: Option<u64>,
    is_followed: bool,
}

impl Desk {
    /// Wants a source; none where somebody here does already.
    pub(crate) fn open(reading: &Arc<dyn Reading>, source: String) -> Option<Self> {
        let inbox = Arc::<Inbox>::default();
        let (sink, reading) = (inbox.clone(), reading.clone());
        let is_ours = reading.want(&source, Arc::new(move |word| sink.put(word)));
        is_ours.then(|| Self { source, reading, inbox })
    }

    /// The next word, or the number by which this node is to read it; waits for either. Giving up
    /// and asking again loses nothing.
    pub(crate) async fn next(&self) -> Result<Word, u64> {
        loop {
            {
                let mut state = self.inbox.state.lock();
                match (state.words.pop_front(), state.ours) {
                    (Some(word), _) => return Ok(word),
                    (None, Some(epoch)) => return Err(epoch),
                    (None, None) => {}
                }
            }
            self.inbox.filled.notified().await;
        }
    }

    /// Waits until this node doesn't read it by this number any more.
    pub(crate) async fn turned(&self, epoch: u64) {
        while self.inbox.state.lock().ours == Some(epoch) {
            self.inbox.filled.notified().await;
        }
    }

    /// The others who ask what is behind it.
    pub(crate) fn company(&self) -> Company {
        Company { source: self.source.clone(), reading: self.reading.clone() }
    }

    pub(crate) fn place(&self) -> u64 {
        self.reading.place()
    }

    pub(crate) fn beat(&self) -> Duration {
        self.reading.beat()
    }

    pub(crate) fn rest(&self, rest: Duration) {
        self.reading.rest(&self.source, rest);
    }

    pub(crate) fn read_on(&self, epoch: u64, begun: u64, place: u64) {
        self.reading.read_on(&self.source, epoch, begun, place);
    }

    /// Tells the others what was heard, by asking for counters or by a log.
    pub(crate) fn tell(&self, epoch: u64, event: &Event, is_polled: bool) {
        if let Some(told) = Told::of(event, is_polled) {
            // It is made of texts and numbers, so it can always be written.
            let text = serde_json::to_string(&told).unwrap_or_default();
            self.reading.tell(&self.source, epoch, text);
        }
    }

    /// What the listener calls when it has come so far.
    pub(crate) fn obeyed(&self, place: u64) -> Obeyed {
        Obeyed { source: self.source.clone(), reading: self.reading.clone(), place }
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.reading.leave(&self.source);
    }
}

/// Others who ask what is behind a source.
#[derive(Clone)]
pub(crate) struct Company {
    source: String,
    reading: Arc<dyn Reading>,
}

impl Company {
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.source == other.source
    }

    pub(crate) fn show_traffic(&self, look: Arc<dyn Fn() -> Traffic + Send + Sync>) {
        self.reading.show_traffic(&self.source, look);
    }

    pub(crate) fn hush(&self, is_wanted: bool) {
        self.reading.hush(&self.source, is_wanted);
    }

    pub(crate) fn calm(&self) -> Calm {
        self.reading.calm(&self.source)
    }
}

/// That all was obeyed up to a place, to be said once it is so.
pub(crate) struct Obeyed {
    source: String,
    reading: Arc<dyn Reading>,
    place: u64,
}

impl Obeyed {
    pub(crate) fn say(self) {
        self.reading.obeyed(&self.source, self.place);
    }
}

impl std::fmt::Debug for Obeyed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Obeyed({} {})", self.source, self.place)
    }
}

impl Inbox {
    fn put(&self, word: Word) {
        let mut state = self.state.lock();
        match &word {
            Word::Ours(epoch) => state.ours = Some(*epoch),
            Word::Theirs => state.ours = None,
            Word::Recovered => state.is_followed = true,
            Word::Lost => state.is_followed = false,
            Word::Told(_) | Word::Until(_) => {}
        }
        if state.words.len() >= WORDS_MAX {
            state.words.clear();
            state.words.push_back(Word::Lost);
            if state.is_followed {
                state.words.push_back(Word::Recovered);
            }
        }
        state.words.push_back(word);
        drop(state);
        self.filled.notify_one();
    }
}

/// An event, told.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Told {
    Change {
        database: Box<str>,
        table: Box<str>,
        operation: Operation,
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        columns: BTreeSet<Column>,
        key: KeyClass,
        #[serde(default)]
        is_named: bool,
        /// Whether it may be heard before others can read it, for longer than a fence.
        #[serde(default)]
        is_polled: bool,
    },
    Commit(Option<PlaceTold>),
    Idle(bool),
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PlaceTold {
    Gtid(u32, u32, u64),
    File(u64, u64),
    Lsn(u64),
}

impl Told {
    /// None: it is told by whether the source is followed.
    fn of(event: &Event, is_polled: bool) -> Option<Self> {
        Some(match event {
            Event::Change(change) => Self::Change {
                database: change.database.clone(),
                table: change.table.clone(),
                operation: change.operation,
                columns: change.columns.clone(),
                key: change.key.clone(),
                is_named: change.values.is_named(),
                is_polled,
            },
            Event::Commit(place) => Self::Commit(place.map(|place| match place {
                Place::Gtid(gtid) => PlaceTold::Gtid(gtid.domain, gtid.server, gtid.sequence),
                Place::File(file, at) => PlaceTold::File(file, at),
                Place::Lsn(at) => PlaceTold::Lsn(at),
            })),
            Event::Idle => Self::Idle(true),
            Event::Lost(_) | Event::Recovered => return None,
        })
    }
}

/// What another node's reader tells, and of a change whether it was heard by asking for counters.
/// What can't be read may be any change, heard in any way.
pub(crate) fn event_of(text: &str) -> (Event, Option<bool>) {
    let mut polled = None;
    let event = match serde_json::from_str(text) {
        // Values are hashed by each process in its own way, and stay with it.
        Ok(Told::Change { database, table, operation, columns, key, is_named, is_polled }) => {
            polled = Some(is_polled);
            let values = Values::named(is_named);
            Event::Change(Change { database, table, operation, columns, key, values })
        }
        Ok(Told::Commit(place)) => Event::Commit(place.map(|place| match place {
            PlaceTold::Gtid(domain, server, sequence) => {
                Place::Gtid(changes::Gtid { domain, server, sequence })
            }
            PlaceTold::File(file, at) => Place::File(file, at),
            PlaceTold::Lsn(at) => Place::Lsn(at),
        })),
        Ok(Told::Idle(_)) => Event::Idle,
        Err(_) => Event::Change(Change::anything("", "")),
    };
    (event, polled)
}

/// Why a source isn't heard that another node reads, or shall.
pub(crate) fn waiting() -> Lost {
    Lost::Waiting("it waits for the node that reads this database for all".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_as_they_were_told() {
        let change = Change {
            operation: Operation::Update,
            columns: [Column::named("title"), Column::Ordinal(3)].into(),
            key: KeyClass::Of("blogname".into()),
            values: Values::named(true),
            ..Change::anything("shop", "posts")
        };
        let gtid = changes::Gtid { domain: 0, server: 1, sequence: 7 };
        for event in [
            Event::Change(change),
            Event::Change(Change::anything("", "")),
            Event::Commit(None),
            Event::Commit(Some(Place::Gtid(gtid))),
            Event::Commit(Some(Place::File(3, 9))),
            Event::Commit(Some(Place::Lsn(9))),
            Event::Idle,
        ] {
            let is_change = matches!(event, Event::Change(_));
            let told = Told::of(&event, true).expect("it is told");
            let text = serde_json::to_string(&told).expect("it can be written");
            assert_eq!(event_of(&text), (event, is_change.then_some(true)), "{text}");
        }
        assert!(Told::of(&Event::Recovered, false).is_none());
        let unknown = event_of("{\"painted\":1}");
        assert_eq!(unknown, (Event::Change(Change::anything("", "")), None));
    }

    #[test]
    fn too_many_words_make_room_for_a_sweep() {
        let inbox = Inbox::default();
        let told = || Word::Told(String::new());
        inbox.put(Word::Ours(7));
        inbox.put(Word::Recovered);
        (0..WORDS_MAX - 1).for_each(|_| inbox.put(told()));
        let left: Vec<_> = inbox.state.lock().words.drain(..).collect();
        assert_eq!(left, [Word::Lost, Word::Recovered, told()]);
        assert_eq!(inbox.state.lock().ours, Some(7));
        inbox.put(Word::Lost);
        (0..WORDS_MAX).for_each(|at| inbox.put(Word::Until(at as u64)));
        let left: Vec<_> = inbox.state.lock().words.drain(..).collect();
        assert_eq!(left, [Word::Lost, Word::Until(WORDS_MAX as u64 - 1)]);
    }
}
