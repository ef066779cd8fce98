//! One index that is made of sources: what is found of it, and when it is made anew.
//!
//! Invariants: 1. what was made before is found until what is made now is whole. 2. making takes
//! no more than a twentieth of the time, once there is something to be found. 3. a making that
//! fails is tried again, each time after twice as long, up to [`RETRY_MAX`].

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use base::complaint::complain;

use super::Wishes;
use super::layout::Layout;
use super::reading::{Filled, fill};
use super::shelf::{Making, Shelf};
use super::status::{IndexStatus, State};
use crate::database::{Database, Stop, Trouble};
use crate::sphinx::catalogue::{Catalogue, Held, shape_of};
use crate::sphinx::conf::{IndexConf, IndexKind, Source};
use crate::{Index, IndexError, Opened, Value};

/// A making takes at most one part of so many of the time.
const SHARE: u32 = 20;
const RETRY_MIN: Duration = Duration::from_secs(1);
const RETRY_MAX: Duration = Duration::from_secs(60);
/// Another process that ends lets go of an index within this.
const IN_USE_MAX: Duration = Duration::from_secs(10);

/// An index that is made of sources.
pub(super) struct Plain {
    pub(super) conf: IndexConf,
    sources: Vec<Source>,
    shelf: Shelf,
    stamp: u64,
    current: Option<u64>,
    pub(super) is_unfinished: bool,
    took: Duration,
    failures: u32,
    /// Why the last making failed.
    trouble: Option<String>,
    pub(super) due: Instant,
    pub(super) status: IndexStatus,
}

/// An index that isn't found any more, and its folder, while somebody may still search it.
pub(super) struct Left(Arc<Held>, PathBuf);

impl Left {
    /// Removes it; gives it back where somebody has it still.
    pub(super) fn remove(self, catalogue: &Catalogue) -> Option<Self> {
        if Arc::strong_count(&self.0) > 1 {
            return Some(self);
        }
        // Who had found it just before the other took its place may have changed it since.
        if let Some(new) = catalogue.find(&self.0.name) {
            change_likewise(&self.0, &new);
        }
        // What it has not written yet is nobody's any more, and must not be written later.
        self.0.index.commit();
        drop(self.0);
        let _ = std::fs::remove_dir_all(&self.1);
        None
    }
}

impl Plain {
    /// Has what was made before be found.
    pub(super) fn open(wishes: &Wishes, conf: &IndexConf, catalogue: &Catalogue) -> Self {
        let named = conf.sources.iter().filter_map(|name| wishes.conf.source(name));
        let sources: Vec<Source> = named.cloned().collect();
        let shelf = Shelf::new(wishes.folder_of(&conf.name));
        let mut plain = Self {
            stamp: stamp(conf, &sources),
            is_unfinished: shelf.is_unfinished(),
            shelf,
            sources,
            current: None,
            took: Duration::ZERO,
            failures: 0,
            trouble: None,
            due: Instant::now(),
            status: IndexStatus::of(&conf.name, IndexKind::Plain),
            conf: conf.clone(),
        };
        let Some(making) = plain.shelf.current() else {
            catalogue.expect(&conf.name);
            return plain;
        };
        let folder = plain.shelf.index(making.number);
        match open(wishes, conf, &making.layout, &folder) {
            Ok((held, Opened::AsItWas)) => {
                plain.take(making, held, catalogue, wishes.every);
            }
            Ok((_, Opened::Fresh | Opened::BegunAnew(_))) => catalogue.expect(&conf.name),
            Err(error) => {
                complain(format_args!("the search index {} is made anew: {error}", conf.name));
                catalogue.expect(&conf.name);
            }
        }
        plain
    }

    /// Goes on by other settings, which make it due.
    pub(super) fn settled(mut self, wishes: &Wishes, conf: &IndexConf) -> Self {
        let named = conf.sources.iter().filter_map(|name| wishes.conf.source(name));
        self.sources = named.cloned().collect();
        self.stamp = stamp(conf, &self.sources);
        self.conf = conf.clone();
        self.due = Instant::now();
        self
    }

    /// Has a making be what is found.
    fn take(&mut self, making: Making, held: Held, catalogue: &Catalogue, every: Duration) {
        let killed = making.killed.iter().map(|id| id.cast_signed()).collect();
        catalogue.hold(Held { killed: Arc::new(killed), ..held });
        self.current = Some(making.number);
        self.took = Duration::from_millis(making.took_milliseconds);
        self.status.state = State::Whole;
        self.status.made = making.made;
        self.status.took_milliseconds = making.took_milliseconds;
        let is_right = making.stamp == self.stamp && !self.is_unfinished;
        self.due = Instant::now();
        // One of other settings is found, and made anew at once.
        if is_right {
            let age = unix().saturating_sub(making.made);
            self.due += self.pause(every).saturating_sub(Duration::from_secs(age));
        }
    }

    /// From the end of one making to the beginning of the next, where that is to be `every`.
    fn pause(&self, every: Duration) -> Duration {
        every.max(self.took.saturating_mul(SHARE))
    }

    /// Whether this index's making may think that the other's was done: its sources are like the
    /// other's, as a delta's are like those of its main index.
    pub(super) fn follows(&self, other: &Self) -> bool {
        let own = self.sources.iter().flat_map(|source| &source.parents);
        self.conf.name != other.conf.name
            && own.clone().any(|parent| other.conf.sources.contains(parent))
    }

    /// Says that it is made; what clients change from now on is changed in the new one, too.
    pub(super) fn prepare(&mut self, catalogue: &Catalogue) {
        if let Some(old) = catalogue.find(&self.conf.name) {
            old.changes.begin();
        }
        self.status.state = State::Making;
    }

    /// Makes it anew.
    pub(super) fn make(
        &mut self,
        wishes: &Wishes,
        catalogue: &Catalogue,
        stop: &Stop,
    ) -> Option<Left> {
        let begun = Instant::now();
        let made = self.try_to_make(wishes, catalogue, stop);
        let trouble = match made {
            Ok(left) => {
                if self.failures > 0 {
                    complain(format_args!("the search index {} is made again", self.conf.name));
                }
                (self.failures, self.trouble) = (0, None);
                self.took = begun.elapsed();
                self.due = Instant::now() + self.pause(wishes.every);
                return left;
            }
            Err(Trouble::Stopped) => return None,
            Err(trouble) => trouble.to_string(),
        };
        if self.trouble.as_ref() != Some(&trouble) {
            let found = match self.current {
                Some(_) => "what it had is found as before",
                None => "nothing of it is found until then",
            };
            let name = &self.conf.name;
            complain(format_args!(
                "the search index {name} can't be made: {trouble}; {found}, and it is tried again"
            ));
        }
        self.trouble = Some(trouble.clone());
        self.status.state = State::Trouble(trouble);
        let retry = RETRY_MIN * 2_u32.saturating_pow(self.failures.min(10));
        self.failures += 1;
        self.due = Instant::now() + retry.min(RETRY_MAX);
        None
    }

    fn try_to_make(
        &mut self,
        wishes: &Wishes,
        catalogue: &Catalogue,
        stop: &Stop,
    ) -> Result<Option<Left>, Trouble> {
        let begun = Instant::now();
        let on_disk = |error: std::io::Error| {
            Trouble::Refused(format!("its folder can't be written: {error}"))
        };
        self.is_unfinished = true;
        let number = self.shelf.begin(self.current).map_err(on_disk)?;
        let (conf, folder) = (&self.conf, self.shelf.index(number));
        let mut open = |layout: &Layout| {
            let (held, _) = open(wishes, conf, layout, &folder)
                .map_err(|error| Trouble::Refused(error.to_string()))?;
            // It has none yet, and so it wishes for them.
            let _ = held.index.takes_wish_for_sources();
            Ok(held)
        };
        let old = catalogue.find(&self.conf.name);
        let filled = fill(&self.sources, stop, &mut open);
        let (layout, held, filled) = match filled {
            Ok(filled) => filled,
            Err(trouble) => {
                old.iter().for_each(|old| old.changes.end());
                self.shelf.clear(self.current);
                return Err(trouble);
            }
        };
        let took = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let making = Making {
            number,
            stamp: self.stamp,
            made: unix(),
            took_milliseconds: took,
            layout,
            killed: filled.killed.clone(),
        };
        self.shelf.finish(&making).map_err(on_disk)?;
        let before = self.current.map(|number| self.shelf.index(number));
        self.take(making, held, catalogue, wishes.every);
        if let (Some(old), Some(new)) = (&old, catalogue.find(&self.conf.name)) {
            change_likewise(old, &new);
        }
        self.status.skipped = filled.skipped;
        self.status.warning.clone_from(&filled.warning);
        let left = old
            .zip(before)
            .map(|(old, index)| Left(old, index.parent().map(Path::to_owned).unwrap_or(index)));
        self.tell_sources(&filled, stop)?;
        self.shelf.settle().map_err(on_disk)?;
        self.is_unfinished = false;
        Ok(left)
    }

    /// Runs what is to be run when all is found.
    fn tell_sources(&self, filled: &Filled, stop: &Stop) -> Result<(), Trouble> {
        for (source, largest) in self.sources.iter().zip(&filled.largest) {
            let Some(query) = &source.query_after_index else { continue };
            let query = query.replace("$maxid", &largest.to_string());
            Database::connect(&super::place::place_of(source), stop)?.run(&query)?;
        }
        Ok(())
    }

    /// Looks whether its files were damaged, and counts what is in them.
    pub(super) fn look(&mut self, catalogue: &Catalogue) {
        if let Some(held) = catalogue.find(&self.conf.name) {
            if held.index.takes_wish_for_sources() {
                self.due = Instant::now();
            }
            let counts = held.index.counts();
            (self.status.documents, self.status.disk_bytes) = (counts.documents, counts.disk_bytes);
        }
        self.status.next_seconds = self.due.saturating_duration_since(Instant::now()).as_secs();
    }
}

/// Changes in one index what was changed in the one before while it was made.
fn change_likewise(old: &Held, new: &Held) {
    let (before, after) = (old.index.shape(), new.index.shape());
    for (id, values) in old.changes.take() {
        let place = |(at, value): (usize, Value)| {
            let own = &before.attributes[at];
            let place = after.attribute_at(&own.name);
            place.filter(|place| after.attributes[*place].kind == own.kind).map(|at| (at, value))
        };
        let values: Vec<_> = values.into_iter().filter_map(place).collect();
        // It may be gone from the database.
        let _ = new.update(id, &values);
    }
}

/// Opens the index of a folder.
pub(super) fn open(
    wishes: &Wishes,
    conf: &IndexConf,
    layout: &Layout,
    folder: &Path,
) -> Result<(Held, Opened), IndexError> {
    let begun = Instant::now();
    loop {
        let shape = shape_of(conf, &layout.fields, &layout.attributes);
        let morphemes = wishes.morphemes.clone().filter(|_| conf.has_korean);
        let opened = Index::open(folder, shape, wishes.limits.clone(), morphemes);
        match opened {
            // A process that gives its place to this one is about to let go.
            Err(IndexError::InUse(_)) if begun.elapsed() < IN_USE_MAX => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(error) => return Err(error),
            Ok((index, opened)) => {
                let is_realtime = conf.kind == IndexKind::Realtime;
                let held = Held {
                    kinds: layout.attributes.iter().map(|(_, kind)| *kind).collect(),
                    ignored: conf.ignored.clone(),
                    strips_html: conf.strips_html,
                    ..Held::new(&conf.name, index, is_realtime)
                };
                return Ok((held, opened));
            }
        }
    }
}

/// What tells an index of other settings: two that are alike are made of the same in the same way.
fn stamp(conf: &IndexConf, sources: &[Source]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(format!("{conf:?} {sources:?}").as_bytes())
}

pub(super) fn unix() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}
