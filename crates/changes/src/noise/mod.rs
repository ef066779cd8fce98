//! Noise: changes that every reading of a page makes, and that change no page.
//!
//! Counters of views, sessions, lists of who is online: an app writes them whenever it
//! is read. If they swept, nothing would ever be found in the store.
//!
//! In: what Wick asked for itself and when, when others asked, and which changes were
//! seen. Out: whether a kind of change is noise. All times are milliseconds on a scale
//! that never goes back; nothing here reads a clock.
//!
//! Invariants: 1. Noise is proved only by Wick's own probes, while nobody else asked
//! for anything, and never by the first probe of a burst alone: what is due (a post to be
//! published) is done by whoever comes first; only of times that a row is given it is enough that
//! most bursts did. What members' reading writes beside that is noise
//! only by the rules of [`overheard`]. 2. What happens while nobody asks for anything
//! sweeps, and is content for good, but for rows of readers' own (sessions): there it may be
//! somebody who reads past Wick, and does no more once looks have found no page changed.
//! 3. What doesn't tell rows apart proves nothing beyond itself. 4. Until something is proved,
//! everything sweeps. 5. Where others ask what is behind the same database
//! ([`Learner::share`]), what was seen counts only once it is known that they asked for nothing
//! then ([`Learner::calm`]).

mod burst;
mod evidence;
mod overheard;
#[cfg(test)]
pub(crate) mod stories;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use burst::Burst;
use evidence::Evidence;
pub use evidence::State;
use overheard::{Overheard, Reading};
use serde::{Deserialize, Serialize};

use crate::{Column, Operation, Rows, Signature};

/// What was written so long after a request may still be its doing: apps tidy up when
/// the answer is out.
pub const TAIL: u64 = 500;
/// The most kinds of change that are remembered in one list; others sweep.
const SIGNATURES_MAX: usize = 4096;
/// So many kinds of change that were never seen before…
const NEWS_MAX: usize = 64;
/// …within this mean that the app itself is another.
const NEWS_WITHIN: u64 = 60_000;
/// Bursts, and changes that came while nobody asked, of which it isn't known yet whether others
/// asked; the oldest are forgotten.
const PENDING_MAX: usize = 16;
const IDLE_MAX: usize = 256;
/// A rare kind of change is noise after so many looks found no page changed.
const LOOKS_MIN: u32 = 3;

/// Which visitor a probe plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Persona {
    /// One who was never here.
    Fresh,
    /// The same one again, with the cookies that it was given.
    Returning,
    /// All of a burst together: what only tells the time is written once a second, by whoever
    /// comes first in it.
    Any,
}

/// Who else asks the origin for something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// Somebody reads.
    Read,
    /// Wick reads for others, a page of a class of which probes have shown what reading it writes.
    Probed,
    /// Somebody writes: an unsafe method.
    Write,
}

/// What is known about one site's noise.
#[derive(Debug, Default)]
pub struct Learner {
    evidence: Evidence,
    /// Seen with writes before they were proved: the weaker rules don't hold for them.
    doubted: BTreeSet<Signature>,
    /// Content, whatever the probes say.
    barred: BTreeSet<Signature>,
    /// Seen while nobody asked, of rows that are told apart: content, unless readers turn out to
    /// begin such rows.
    unasked: BTreeSet<Signature>,
    seen: BTreeSet<Signature>,
    /// When the last kinds of change came that had never been seen.
    news: VecDeque<u64>,
    /// What follows from the evidence.
    updated: BTreeMap<Rows, BTreeSet<Column>>,
    reader_born: BTreeSet<Rows>,
    burst: Option<Burst>,
    /// Whether others ask what is behind the same database.
    is_shared: bool,
    pending: VecDeque<Burst>,
    /// What was seen while nobody asked here, and when.
    idle: VecDeque<(u64, Signature)>,
    reads: Traffic,
    probed: Traffic,
    writes: Traffic,
    probes: Traffic,
    /// The one that a visitor is about, while nobody else is about anything.
    reading: Option<Reading>,
    overheard: Overheard,
}

/// Requests of one sort.
#[derive(Clone, Copy, Debug, Default)]
struct Traffic {
    in_flight: u32,
    last_end: Option<u64>,
}

impl Traffic {
    fn end(&mut self, at: u64) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.last_end = Some(at);
    }

    /// Whether what is seen now may be its doing.
    fn may_cause(&self, at: u64) -> bool {
        self.in_flight > 0 || self.last_end.is_some_and(|end| at <= end.saturating_add(TAIL))
    }
}

impl Learner {
    /// One that goes on from what another had learned.
    #[must_use]
    pub fn from_state(state: State) -> Self {
        let (evidence, doubted, [barred, unasked], overheard) = state.into_parts();
        let mut learner = Self { evidence, doubted, barred, unasked, overheard, ..Self::default() };
        learner.conclude();
        learner
    }

    /// From here on others ask what is behind the same database, or nobody else does any more.
    /// What isn't decided yet is forgotten.
    pub fn share(&mut self, is_shared: bool) {
        self.is_shared = is_shared;
        self.burst = None;
        self.reading = None;
        self.pending.clear();
        self.idle.clear();
    }

    /// Those others asked for nothing from `since` until `until`, and of later moments nothing is
    /// known yet.
    pub fn calm(&mut self, since: u64, until: u64) {
        let mut is_more = false;
        for burst in std::mem::take(&mut self.pending) {
            let (began, over) = burst.span();
            if began < since {
                continue;
            }
            if over > until {
                self.pending.push_back(burst);
                continue;
            }
            self.evidence.add(burst);
            is_more = true;
        }
        if is_more {
            self.conclude();
        }
        for (at, signature) in std::mem::take(&mut self.idle) {
            if at > until {
                self.idle.push_back((at, signature));
            } else if at >= since {
                self.demote_unasked(&signature);
            }
        }
    }

    /// Whether a burst waits for what is known of others.
    #[must_use]
    pub fn waits_for_calm(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Whether what is seen now may be a probe's doing.
    #[must_use]
    pub fn is_probing(&self, at: u64) -> bool {
        self.probes.may_cause(at)
    }

    /// Whether bursts of probes have shown what reading pages of this class writes.
    #[must_use]
    pub fn has_probed(&self, class: &str) -> bool {
        self.evidence.has_probed(class)
    }

    /// What was learned, to be kept over a restart.
    #[must_use]
    pub fn state(&self) -> State {
        State::new(&self.evidence, &self.doubted, [&self.barred, &self.unasked], &self.overheard)
    }

    /// Wick asks for `url`, an address of the class `class`, as `persona`.
    ///
    /// Probes of one address within ten seconds, as one persona and the other in turn,
    /// are a burst; at least three are needed.
    pub fn probe_began(&mut self, url: &str, class: &str, persona: Persona, at: u64) {
        let is_alone = !self.is_read(at) && !self.writes.may_cause(at);
        self.end_reading();
        self.probes.in_flight += 1;
        let goes_on = self.burst.as_mut().is_some_and(|burst| burst.goes_on(url, persona, at));
        if !goes_on {
            self.close_burst();
            self.burst = Some(Burst::new(url, class, persona, at, is_alone));
        }
    }

    /// The answer to the last probe is there, to its last byte.
    pub fn probe_ended(&mut self, at: u64) {
        self.probes.end(at);
        if let Some(burst) = &mut self.burst {
            burst.probe_ended(at);
        }
    }

    /// A visitor reads `url`, an address of the class `class` that strangers share a page under;
    /// `who` tells the visitor from others. It ends as any other reading does.
    pub fn reading_began(&mut self, url: &str, class: &str, who: u64, at: u64) {
        let is_alone = ![&self.reads, &self.writes, &self.probes].iter().any(|it| it.may_cause(at));
        self.foreign_began(Foreign::Read);
        if is_alone && !self.is_shared && self.has_probed(class) {
            self.reading = Some(Reading::new(url, class, who));
        }
    }

    /// What the only reading that is under way was answered with is no page.
    pub fn read_no_page(&mut self) {
        self.reading = None;
    }

    /// Somebody else's request goes to the origin.
    pub fn foreign_began(&mut self, foreign: Foreign) {
        // What was seen up to here is the probes' doing; from here on nobody could tell.
        self.end_burst();
        // What that reading writes is known.
        if foreign != Foreign::Probed {
            self.end_reading();
        }
        self.traffic(foreign).in_flight += 1;
    }

    /// Somebody else's answer is there, to its last byte.
    pub fn foreign_ended(&mut self, foreign: Foreign, at: u64) {
        self.traffic(foreign).end(at);
        if foreign == Foreign::Read
            && let Some(reading) = &mut self.reading
        {
            reading.is_over = true;
        }
    }

    /// Somebody else's request that began and ended at once.
    pub fn foreign_request(&mut self, foreign: Foreign, at: u64) {
        self.foreign_began(foreign);
        self.foreign_ended(foreign, at);
    }

    /// A change was seen. A changed definition ends all that was learned.
    pub fn saw(&mut self, signature: &Signature, at: u64) {
        if signature.operation == Operation::Schema {
            self.relearn();
            return;
        }
        self.notice(signature, at);
        if !signature.is_telling() {
            return;
        }
        let is_written = self.writes.may_cause(at);
        // Somebody may write elsewhere at any moment.
        if (is_written || self.is_shared) && !self.is_noise(signature) {
            remember(&mut self.doubted, signature);
        }
        if is_written {
            return;
        }
        if self.probes.may_cause(at) {
            if let Some(burst) = &mut self.burst {
                burst.saw(signature, at);
            }
        } else if self.is_read(at) {
            self.overhear(signature, at);
        } else {
            self.overheard.refute(signature);
            match self.is_shared {
                true => self.note_idle(signature, at),
                false if self.may_be_anothers_reading(signature) => {}
                false => self.demote_unasked(signature),
            }
        }
    }

    /// Somebody reads, and nobody writes.
    fn overhear(&mut self, signature: &Signature, at: u64) {
        if self.is_noise(signature) {
            return;
        }
        if !self.reads.may_cause(at) {
            // Wick alone reads, and probes of such pages weren't followed by it.
            self.overheard.refute(signature);
        } else if let Some(reading) = &mut self.reading {
            reading.seen.insert(signature.clone());
        }
    }

    /// Whether it may be the doing of somebody who reads past Wick, and not an edit: rows of their
    /// own are begun and ended by readers, and others are not rewritten. Which part of a file was,
    /// nobody tells.
    fn may_be_anothers_reading(&self, signature: &Signature) -> bool {
        let Signature { rows, operation, .. } = signature;
        rows.are_somebodys() && (*operation != Operation::Update || self.reader_born.contains(rows))
    }

    fn note_idle(&mut self, signature: &Signature, at: u64) {
        // Each time counts by itself: at one of them somebody may have asked elsewhere.
        if self.idle.len() >= IDLE_MAX {
            self.idle.pop_front();
        }
        self.idle.push_back((at, signature.clone()));
    }

    /// Takes a burst into account that is over by now.
    pub fn settle(&mut self, at: u64) {
        if self.burst.as_ref().is_some_and(|burst| burst.is_over(at)) {
            self.close_burst();
        }
        if !self.reads.may_cause(at) {
            self.end_reading();
        }
    }

    /// Takes a burst into account as far as it came. One whose probe is still under way
    /// tells nothing.
    pub fn end_burst(&mut self) {
        match self.burst.as_ref().is_some_and(Burst::is_resting) {
            true => self.close_burst(),
            false => self.burst = None,
        }
    }

    /// Takes a reading into account; one that is still under way tells nothing.
    fn end_reading(&mut self) {
        if let Some(reading) = self.reading.take().filter(|reading| reading.is_over) {
            self.overheard.add(reading);
        }
    }

    /// The address that a visitor alone reads, if what is seen now may be that reading's doing and
    /// is of a kind that often comes with it: pages are worth a look, that one first.
    #[must_use]
    pub fn overheard(&self, signature: &Signature, at: u64) -> Option<&str> {
        let reading = self.reading.as_ref()?;
        let is_suspected = self.is_by_reading(signature, at) && self.overheard.suspects(signature);
        is_suspected.then_some(&reading.url)
    }

    /// After such a look: whether all was as before, but for what differs at every look.
    pub fn looked_behind_reading(&mut self, signature: &Signature, is_as_before: bool) {
        self.overheard.looked(signature, is_as_before);
    }

    fn is_read(&self, at: u64) -> bool {
        self.reads.may_cause(at) || self.probed.may_cause(at)
    }

    /// Whether somebody's reading may have written it, and nobody's writing.
    fn is_by_reading(&self, signature: &Signature, at: u64) -> bool {
        signature.is_telling()
            && !self.is_shared
            && !self.is_barred(signature)
            && self.reads.may_cause(at)
            && !self.writes.may_cause(at)
    }

    /// After a change of this kind, the front page and the most read ones were what
    /// they had been. Some noise is too rare for bursts.
    pub fn found_unchanged(&mut self, signature: &Signature) {
        self.evidence.looked(signature);
    }

    /// This kind of change is content, whatever was learned: a page was found changed by it.
    pub fn demote(&mut self, signature: &Signature) {
        if !self.barred.contains(signature) {
            remember(&mut self.barred, signature);
            self.conclude();
        }
    }

    /// Something came while nobody asked: it is content, unless it is of rows that readers begin,
    /// which may be found out later.
    fn demote_unasked(&mut self, signature: &Signature) {
        if signature.operation != Operation::Update || !signature.rows.are_somebodys() {
            return self.demote(signature);
        }
        if !self.unasked.contains(signature) {
            remember(&mut self.unasked, signature);
            self.conclude();
        }
    }

    fn is_barred(&self, signature: &Signature) -> bool {
        self.barred.contains(signature)
            || self.unasked.contains(signature) && !self.reader_born.contains(&signature.rows)
    }

    /// Begins anew: the app is another than it was.
    pub fn relearn(&mut self) {
        let Self { reads, probed, writes, probes, is_shared, .. } = *self;
        *self = Self { reads, probed, writes, probes, is_shared, ..Self::default() };
    }

    /// Whether changes of this kind need no sweep.
    #[must_use]
    pub fn is_noise(&self, signature: &Signature) -> bool {
        if !signature.is_telling() || self.is_barred(signature) {
            return false;
        }
        self.evidence.proves(signature)
            || self.reader_born.contains(&signature.rows)
            || !self.doubted.contains(signature)
                && (self.is_part(signature) || self.evidence.looks(signature) >= LOOKS_MIN)
    }

    /// The same for one that is seen now: what nobody here can have caused needs a sweep, until
    /// looks after such have found no page changed.
    #[must_use]
    pub fn is_noise_at(&self, signature: &Signature, at: u64) -> bool {
        let is_caused = self.is_read(at) || self.writes.may_cause(at) || self.probes.may_cause(at);
        self.is_noise(signature)
            && (is_caused || self.is_shared || self.evidence.looks(signature) >= LOOKS_MIN)
            || self.is_by_reading(signature, at) && self.overheard.proves(signature)
    }

    /// The kinds of change that were proved to be noise.
    pub fn proved(&self) -> impl Iterator<Item = &Signature> {
        let all = self.evidence.proved().chain(self.overheard.proved());
        all.filter(|signature| !self.is_barred(signature))
    }

    /// Whether an update touches only columns that proved updates of such rows touch.
    fn is_part(&self, signature: &Signature) -> bool {
        signature.operation == Operation::Update
            && !signature.columns.is_empty()
            && self.updated.get(&signature.rows).is_some_and(|all| signature.columns.is_subset(all))
    }

    fn traffic(&mut self, foreign: Foreign) -> &mut Traffic {
        match foreign {
            Foreign::Read => &mut self.reads,
            Foreign::Probed => &mut self.probed,
            Foreign::Write => &mut self.writes,
        }
    }

    /// Counts kinds of change that were never seen; many at once are another app.
    fn notice(&mut self, signature: &Signature, at: u64) {
        if self.seen.contains(signature) {
            return;
        }
        remember(&mut self.seen, signature);
        self.news.push_back(at);
        while self.news.front().is_some_and(|first| first.saturating_add(NEWS_WITHIN) < at) {
            self.news.pop_front();
        }
        if self.news.len() > NEWS_MAX {
            self.news.clear();
            if self.evidence.proved().next().is_some() {
                self.relearn();
            }
        }
    }

    fn close_burst(&mut self) {
        let Some(burst) = self.burst.take() else { return };
        if !self.is_shared {
            self.evidence.add(burst);
            return self.conclude();
        }
        if burst.counts() {
            if self.pending.len() >= PENDING_MAX {
                self.pending.pop_front();
            }
            self.pending.push_back(burst);
        }
    }

    /// Draws from the evidence what follows for other changes of the same rows.
    fn conclude(&mut self) {
        // Rows that readers make are theirs, if they can be told from others.
        let inserts = self.evidence.proved().filter(|it| it.operation == Operation::Insert);
        let born = inserts.filter(|it| it.rows.key.tells_apart() && !self.barred.contains(*it));
        self.reader_born = born.map(|it| it.rows.clone()).collect();
        let mut updated: BTreeMap<Rows, BTreeSet<Column>> = BTreeMap::new();
        let updates = self.evidence.proved().filter(|it| it.operation == Operation::Update);
        for signature in updates.filter(|signature| !self.is_barred(signature)) {
            let all = updated.entry(signature.rows.clone()).or_default();
            all.extend(signature.columns.iter().cloned());
        }
        self.updated = updated;
    }
}

fn remember(list: &mut BTreeSet<Signature>, signature: &Signature) {
    if list.len() < SIGNATURES_MAX && !list.contains(signature) {
        list.insert(signature.clone());
    }
}
