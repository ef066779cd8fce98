//! The indexes of a `sphinx.conf`: opened, made of their sources again and again, and found.
//!
//! In: [`Wishes`]. Out: a [`Catalogue`] that always has what was whole last. One thread makes one
//! index after another, as `indexer --rotate` did.
//! Invariants: 1. an index that is made anew is found as it was until the new one is whole.
//! 2. an index whose sources count on another's making (a delta) is not made while that one's is
//! due or was not finished. 3. documents that clients put into real-time indexes are never removed.
//! Start at [`Filling::begin`]; one making is `plain.rs`, one reading `reading.rs`.

mod layout;
mod place;
mod plain;
mod reading;
mod shelf;
mod status;
mod trying;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use base::complaint::complain;
use parking_lot::Mutex;

use self::layout::Layout;
use self::plain::{Left, Plain};
use super::catalogue::Catalogue;
use super::conf::{Conf, IndexConf, IndexKind};
use crate::database::Stop;
use crate::text::Morphemes;
use crate::{Limits, Opened};

pub use self::status::{IndexStatus, State};
pub use self::trying::{Found as SourceFound, Tried, try_out};

/// How often it is looked whether something is due.
const LOOK: Duration = Duration::from_millis(500);

/// What is to be made, and where.
#[derive(Clone)]
pub struct Wishes {
    /// The folder of all indexes.
    pub folder: PathBuf,
    /// Indexes and their sources.
    pub conf: Conf,
    /// How often each is made anew.
    pub every: Duration,
    /// Of each index.
    pub limits: Limits,
    /// Of the Korean in their texts, for those whose settings let it through.
    pub morphemes: Option<Arc<dyn Morphemes>>,
}

impl Wishes {
    fn folder_of(&self, index: &str) -> PathBuf {
        self.folder.join(index.to_lowercase())
    }
}

/// The indexes of a `sphinx.conf`, kept.
pub struct Filling {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What the thread and those who ask it have in common.
#[derive(Default)]
struct Shared {
    stop: Stop,
    /// Others, to go on with.
    next: Mutex<Option<Wishes>>,
    status: Mutex<BTreeMap<String, IndexStatus>>,
}

impl Filling {
    /// Opens what is there, and begins to make what isn't.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn begin(wishes: Wishes, catalogue: Arc<Catalogue>) -> io::Result<Self> {
        let shared = Arc::<Shared>::default();
        let mut work = Work {
            wishes,
            catalogue,
            shared: shared.clone(),
            plain: Vec::new(),
            others: BTreeMap::new(),
            left: Vec::new(),
        };
        work.open();
        let thread = std::thread::Builder::new().name("sphinx-indexer".to_owned());
        let thread = thread.spawn(move || work.go_on())?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    /// Goes on by other wishes, and makes all indexes anew.
    pub fn settle(&self, wishes: Wishes) {
        *self.shared.next.lock() = Some(wishes);
        if let Some(thread) = &*self.thread.lock() {
            thread.thread().unpark();
        }
    }

    /// How each index stands, by name.
    #[must_use]
    pub fn status(&self) -> Vec<IndexStatus> {
        self.shared.status.lock().values().cloned().collect()
    }

    /// Ends what is being made, unless it is whole. Waits.
    pub fn end(&self) {
        self.shared.stop.begin();
        if let Some(thread) = self.thread.lock().take() {
            thread.thread().unpark();
            if thread.join().is_err() {
                complain("the thread that makes search indexes panicked; please report it");
            }
        }
    }
}

impl Drop for Filling {
    fn drop(&mut self) {
        self.end();
    }
}

/// What the thread has.
struct Work {
    wishes: Wishes,
    catalogue: Arc<Catalogue>,
    shared: Arc<Shared>,
    plain: Vec<Plain>,
    /// Indexes that aren't made: real-time and distributed ones.
    others: BTreeMap<String, IndexStatus>,
    left: Vec<Left>,
}

impl Work {
    /// Has all that is there be found.
    fn open(&mut self) {
        let wishes = &self.wishes;
        for conf in &wishes.conf.indexes {
            match conf.kind {
                // One that only others are like.
                IndexKind::Plain if conf.sources.is_empty() => {}
                IndexKind::Plain => self.plain.push(Plain::open(wishes, conf, &self.catalogue)),
                IndexKind::Realtime => {
                    let status = open_realtime(wishes, conf, &self.catalogue);
                    self.others.insert(conf.name.clone(), status);
                }
                IndexKind::Distributed => {
                    self.catalogue.group(&conf.name, &conf.locals);
                    let mut status = IndexStatus::of(&conf.name, conf.kind);
                    status.state = State::Whole;
                    self.others.insert(conf.name.clone(), status);
                }
            }
        }
        self.look();
    }

    fn go_on(mut self) {
        while !self.shared.stop.has_begun() {
            let next = self.shared.next.lock().take();
            if let Some(wishes) = next {
                self.settle(wishes);
            }
            let left = std::mem::take(&mut self.left).into_iter();
            self.left = left.filter_map(|left| left.remove(&self.catalogue)).collect();
            self.look();
            match self.due(Instant::now()) {
                Some(at) => self.make(at),
                None => std::thread::park_timeout(LOOK),
            }
        }
    }

    /// The index that is made next.
    fn due(&self, now: Instant) -> Option<usize> {
        let is_due = |plain: &Plain| plain.due <= now;
        let waits = |plain: &Plain| {
            let mut before = self.plain.iter().filter(|other| plain.follows(other));
            before.any(|other| other.is_unfinished || is_due(other))
        };
        self.plain.iter().position(|plain| is_due(plain) && !waits(plain))
    }

    fn make(&mut self, at: usize) {
        self.plain[at].prepare(&self.catalogue);
        self.look();
        let left = self.plain[at].make(&self.wishes, &self.catalogue, &self.shared.stop);
        self.left.extend(left);
    }

    /// Tells how everything stands.
    fn look(&mut self) {
        for plain in &mut self.plain {
            plain.look(&self.catalogue);
        }
        for (name, status) in &mut self.others {
            if let Some(held) = self.catalogue.find(name) {
                let counts = held.index.counts();
                (status.documents, status.disk_bytes) = (counts.documents, counts.disk_bytes);
            }
        }
        let plain = self.plain.iter().map(|plain| (plain.conf.name.clone(), plain.status.clone()));
        *self.shared.status.lock() = plain.chain(self.others.clone()).collect();
    }

    /// Other indexes take the place of those that there are; what is the same is found all the
    /// time.
    fn settle(&mut self, wishes: Wishes) {
        let before = std::mem::replace(&mut self.wishes, wishes);
        let wishes = &self.wishes;
        for conf in &before.conf.indexes {
            let is_like = |other: &&IndexConf| other.name == conf.name && other.kind == conf.kind;
            if !wishes.conf.indexes.iter().any(|other| is_like(&other)) {
                self.catalogue.release(&conf.name);
                self.others.remove(&conf.name);
            }
        }
        let mut old = std::mem::take(&mut self.plain);
        for conf in &wishes.conf.indexes {
            match conf.kind {
                IndexKind::Plain if conf.sources.is_empty() => {}
                IndexKind::Plain => {
                    let known = old.iter().position(|plain| plain.conf.name == conf.name);
                    self.plain.push(match known {
                        Some(at) => old.swap_remove(at).settled(wishes, conf),
                        None => Plain::open(wishes, conf, &self.catalogue),
                    });
                }
                IndexKind::Distributed => {
                    self.catalogue.group(&conf.name, &conf.locals);
                    let status = IndexStatus::of(&conf.name, conf.kind);
                    self.others.entry(conf.name.clone()).or_insert(status).state = State::Whole;
                }
                IndexKind::Realtime => {
                    let is_same = before.conf.indexes.contains(conf);
                    if !is_same || self.catalogue.find(&conf.name).is_none() {
                        self.catalogue.release(&conf.name);
                        let status = open_realtime(wishes, conf, &self.catalogue);
                        self.others.insert(conf.name.clone(), status);
                    }
                }
            }
        }
    }
}

/// Opens a real-time index. One of another layout lies in a folder of its own, so that no change
/// of settings removes what clients have put.
fn open_realtime(wishes: &Wishes, conf: &IndexConf, catalogue: &Catalogue) -> IndexStatus {
    let mut status = IndexStatus::of(&conf.name, conf.kind);
    let layout = Layout { fields: conf.fields.clone(), attributes: conf.attributes.clone() };
    let analysis = (conf.has_stems, conf.has_folding, &conf.word_characters);
    let stamp = format!("{} {analysis:?}", layout.written());
    let stamp = xxhash_rust::xxh3::xxh3_64(stamp.as_bytes());
    let folder = wishes.folder_of(&conf.name).join(format!("realtime-{stamp:016x}"));
    let opened = std::fs::create_dir_all(&folder)
        .map_err(|error| format!("its folder can't be made: {error}"))
        .and_then(|()| {
            plain::open(wishes, conf, &layout, &folder).map_err(|error| error.to_string())
        });
    match opened {
        Ok((held, opened)) => {
            if let Opened::BegunAnew(why) = opened {
                complain(format_args!(
                    "the real-time index {} is begun anew, and its clients have to put their \
                     documents again: {why}",
                    conf.name
                ));
            }
            catalogue.hold(held);
            status.state = State::Whole;
        }
        Err(why) => {
            complain(format_args!("the real-time index {} is not opened: {why}", conf.name));
            status.state = State::Trouble(why);
        }
    }
    status
}
