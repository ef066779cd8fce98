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
use tokio::sync::{Notify, oneshot};

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
    Recovered(Beginning),
    /// Its reader tells this.
    Told(String),
    /// All is heard up to this place; zero: it isn't relied on any more.
    Until(u64),
}

/// From where on a source is followed: nodes that go by the same beginning hear the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Beginning {
    /// By which its reader reads it.
    pub epoch: u64,
    /// How often that reader's following has begun.
    pub begun: u64,
}

/// What an ear is to do next.
#[derive(Debug)]
pub(crate) enum Turn {
    /// To tell this.
    Word(Word),
    /// To read it for all, by this number.
    Ours(u64),
    /// To say so once all is obeyed that came before.
    Mark(Mark),
}

/// What calls a reader from its reading.
#[derive(Debug)]
pub(crate) enum Called {
    /// It isn't this node's any more, by that number.
    Turned,
    Mark(Mark),
}

/// Whoever waits for all to be obeyed that came before.
pub(crate) type Mark = oneshot::Sender<()>;

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
    /// From where on it is followed, if it is.
    followed: Option<Beginning>,
    /// They come behind all words.
    marks: Vec<Mark>,
}

impl Desk {
    /// Wants a source; none where somebody here does already.
    pub(crate) fn open(reading: &Arc<dyn Reading>, source: String) -> Option<Self> {
        let inbox = Arc::<Inbox>::default();
        let (sink, reading) = (inbox.clone(), reading.clone());
        let is_ours = reading.want(&source, Arc::new(move |word| sink.put(word)));
        is_ours.then(|| Self { source, reading, inbox })
    }

    /// What comes next; waits for it. Giving up and asking again loses nothing.
    pub(crate) async fn next(&self) -> Turn {
        loop {
            {
                let mut state = self.inbox.state.lock();
                if let Some(word) = state.words.pop_front() {
                    return Turn::Word(word);
                }
                if let Some(mark) = state.marks.pop() {
                    return Turn::Mark(mark);
                }
                if let Some(epoch) = state.ours {
                    return Turn::Ours(epoch);
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

    /// The same, or until somebody waits for what its reader has told. Giving up and asking again
    /// loses nothing.
    pub(crate) async fn called(&self, epoch: u64) -> Called {
        loop {
            {
                let mut state = self.inbox.state.lock();
                if state.ours != Some(epoch) {
                    return Called::Turned;
                }
                if let Some(mark) = state.marks.pop() {
                    return Called::Mark(mark);
                }
            }
            self.inbox.filled.notified().await;
        }
    }

    /// As whom a beginning of it is known.
    pub(crate) fn going_by(&self, beginning: Beginning) -> u64 {
        let Beginning { epoch, begun } = beginning;
        // The same on all nodes, unlike that of keys.
        xxhash_rust::xxh3::xxh3_64(format!("{epoch} {begun} {}", self.source).as_bytes())
    }

    /// The others who ask what is behind it.
    pub(crate) fn company(&self) -> Company {
        let (source, reading) = (self.source.clone(), self.reading.clone());
        Company { source, reading, inbox: self.inbox.clone() }
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
    inbox: Arc<Inbox>,
}

impl Company {
    /// Is over once this node has obeyed all that it had heard of the source; an error: it may
    /// never have.
    pub(crate) fn obeyed(&self) -> oneshot::Receiver<()> {
        let (mark, obeyed) = oneshot::channel();
        let mut state = self.inbox.state.lock();
        // Who has given up isn't kept.
        state.marks.retain(|mark| !mark.is_closed());
        state.marks.push(mark);
        drop(state);
        self.inbox.filled.notify_one();
        obeyed
    }

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
            Word::Recovered(beginning) => state.followed = Some(*beginning),
            Word::Lost => state.followed = None,
            Word::Told(_) | Word::Until(_) => {}
        }
        if state.words.len() >= WORDS_MAX {
            state.words.clear();
            state.words.push_back(Word::Lost);
            if let Some(beginning) = state.followed {
                state.words.push_back(Word::Recovered(beginning));
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
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_again: bool,
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
                is_again: change.is_again,
            },
            Event::Commit(place) => Self::Commit(place.and_then(|place| match place {
                Place::Gtid(gtid) => Some(PlaceTold::Gtid(gtid.domain, gtid.server, gtid.sequence)),
                Place::File(file, at) => Some(PlaceTold::File(file, at)),
                Place::Lsn(at) => Some(PlaceTold::Lsn(at)),
                // Who asked for the look is here.
                Place::Look { .. } => None,
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
        Ok(Told::Change {
            database,
            table,
            operation,
            columns,
            key,
            is_named,
            is_polled,
            is_again,
        }) => {
            polled = Some(is_polled);
            let values = Values::named(is_named);
            Event::Change(Change { database, table, operation, columns, key, values, is_again })
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
            Event::Change(Change { is_again: true, ..Change::anything("", "") }),
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
        let followed = || Word::Recovered(Beginning { epoch: 7, begun: 1 });
        inbox.put(followed());
        (0..WORDS_MAX - 1).for_each(|_| inbox.put(told()));
        let left: Vec<_> = inbox.state.lock().words.drain(..).collect();
        assert_eq!(left, [Word::Lost, followed(), told()]);
        assert_eq!(inbox.state.lock().ours, Some(7));
        inbox.put(Word::Lost);
        (0..WORDS_MAX).for_each(|at| inbox.put(Word::Until(at as u64)));
        let left: Vec<_> = inbox.state.lock().words.drain(..).collect();
        assert_eq!(left, [Word::Lost, Word::Until(WORDS_MAX as u64 - 1)]);
    }

    /// A desk of a source that nobody reads.
    fn desk() -> Desk {
        struct Nobody;
        impl Reading for Nobody {
            fn want(&self, _: &str, _: Arc<dyn Fn(Word) + Send + Sync>) -> bool {
                true
            }
            fn leave(&self, _: &str) {}
            fn rest(&self, _: &str, _: Duration) {}
            fn tell(&self, _: &str, _: u64, _: String) {}
            fn place(&self) -> u64 {
                0
            }
            fn read_on(&self, _: &str, _: u64, _: u64, _: u64) {}
            fn obeyed(&self, _: &str, _: u64) {}
            fn beat(&self) -> Duration {
                Duration::from_secs(1)
            }
            fn show_traffic(&self, _: &str, _: Arc<dyn Fn() -> Traffic + Send + Sync>) {}
            fn hush(&self, _: &str, _: bool) {}
            fn calm(&self, _: &str) -> Calm {
                Calm::default()
            }
        }
        let reading: Arc<dyn Reading> = Arc::new(Nobody);
        Desk::open(&reading, "a".to_owned()).expect("it is free")
    }

    #[tokio::test]
    async fn who_waits_comes_behind_all_that_was_heard() {
        let desk = desk();
        desk.inbox.put(Word::Told("x".to_owned()));
        let mut obeyed = desk.company().obeyed();
        assert!(matches!(desk.next().await, Turn::Word(Word::Told(_))));
        assert!(obeyed.try_recv().is_err(), "it isn't obeyed yet");
        let Turn::Mark(mark) = desk.next().await else { unreachable!("somebody waits") };
        mark.send(()).expect("it waits");
        assert_eq!(obeyed.try_recv(), Ok(()));
    }

    #[tokio::test]
    async fn who_waits_for_what_a_reader_tells_is_told_by_the_reader() {
        let desk = desk();
        desk.inbox.put(Word::Ours(7));
        assert!(matches!(desk.next().await, Turn::Word(Word::Ours(7))));
        drop(desk.company().obeyed());
        let obeyed = desk.company().obeyed();
        let Called::Mark(mark) = desk.called(7).await else { unreachable!("it still reads") };
        drop(mark);
        assert!(obeyed.await.is_err(), "it may never be");
        assert!(desk.inbox.state.lock().marks.is_empty(), "who gave up isn't kept");
        desk.inbox.put(Word::Theirs);
        assert!(matches!(desk.called(7).await, Called::Turned));
    }

    #[test]
    fn another_beginning_or_source_is_another() {
        let desk = desk();
        let as_whom = |epoch, begun| desk.going_by(Beginning { epoch, begun });
        assert_eq!(as_whom(1, 1), as_whom(1, 1));
        assert!(as_whom(1, 1) != as_whom(1, 2) && as_whom(1, 12) != as_whom(11, 2));
    }
}
