//! Leases: which node reads a source for all, as the stream's order decides it. Pure: no clock,
//! no I/O.
//!
//! Who wants a source that nobody reads says a claim, which names the last word of a reader that
//! it heard. The first claim in the stream that names the last one there is wins: compare and
//! swap, with the stream's places for numbers. Its own place is the *epoch* that its reader bears
//! from then on. Everybody hears the same stream, so all agree; who knows less than others, since
//! it came later, follows the highest epoch that a reader bears.
//! Invariants: 1. of two readers the one of the lower epoch tells nobody anything (*fencing*): a
//! reader that was paused, and doesn't know what came after it, is not obeyed. 2. a source counts
//! as followed only from a word of its reader of that epoch on, and never beyond another epoch,
//! another beginning of its reading, or something that was missed.

use std::collections::BTreeMap;
use std::mem;

use crate::hearing::Run;
use crate::said::{Lead, Said};
use crate::status::Reading;

/// Sources that are known; of more no node reads for others.
const KEYS_MAX: usize = 4096;

/// What whoever wants a source hears of it, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// This node reads it for all from here on, by this epoch.
    Ours(u64),
    /// It doesn't any more.
    Theirs,
    /// What changes may go untold from here on.
    Lost,
    /// All that changes is told from here on; what changed before may not have been. By which
    /// epoch, and how often its reader's reading has begun.
    Recovered(u64, u64),
    /// Its reader tells this.
    Told(String),
    /// Its reader had told all that it had heard when the stream was at this place. Whoever has
    /// obeyed what came before says so; zero: it isn't relied on any more.
    Until(u64),
}

/// All leases that are known.
#[derive(Debug)]
pub(crate) struct Leases {
    own: Run,
    lag_ms: u64,
    known: BTreeMap<String, Lease>,
}

#[derive(Debug, Default)]
struct Lease {
    /// Where it was claimed by who has it, or had it last; zero: nobody was heard of.
    epoch: u64,
    holder: Option<Run>,
    /// The place of the last word by which it changed, or showed that it is read on.
    revision: u64,
    /// When that was heard.
    heard_ticks_ms: u64,
    /// What its reader last said.
    until: u64,
    begun: u64,
    /// Whether this node reads it and has left it, whoever here wants it since: what is begun
    /// anew needs an epoch of its own.
    is_left: bool,
    wanted: Option<Wanted>,
}

/// This node's side.
#[derive(Debug, Default)]
struct Wanted {
    since_ticks_ms: u64,
    /// It isn't claimed before this.
    rests_until_ms: u64,
    /// The own message with a claim that hasn't come back.
    claimed: u64,
    /// Which beginning was passed on; zero: none.
    passed: u64,
    /// Up to which place all was obeyed; zero: nothing relies on its reader.
    obeyed: u64,
    /// As its reader: how often reading has begun, zero while it isn't read; and at which place
    /// of the stream all was told.
    begun: u64,
    place: u64,
}

impl Leases {
    pub(crate) fn new(own: Run, lag_ms: u64) -> Self {
        Self { own, lag_ms, known: BTreeMap::new() }
    }

    /// This node wants a source; false: somebody here does already, or there are too many.
    pub(crate) fn want(&mut self, key: &str, ticks_ms: u64) -> bool {
        if !self.has_room(key) {
            return false;
        }
        let lease = self.known.entry(key.to_owned()).or_default();
        let is_free = lease.wanted.is_none();
        if is_free {
            lease.wanted = Some(Wanted { since_ticks_ms: ticks_ms, ..Wanted::default() });
        }
        is_free
    }

    /// It doesn't any more. If it is its reader, it says so.
    pub(crate) fn leave(&mut self, key: &str) {
        if let Some(lease) = self.known.get_mut(key) {
            lease.wanted = None;
            lease.is_left = lease.holder.as_ref() == Some(&self.own);
        }
    }

    /// As its reader it can't read on: whoever else can shall, and it doesn't claim before this.
    pub(crate) fn rest(&mut self, key: &str, until_ms: u64) {
        if let Some(wanted) = self.wanted(key) {
            wanted.rests_until_ms = until_ms;
        }
    }

    /// As its reader by `epoch`: reading has begun so often, and all was told when the stream was
    /// at `place`.
    pub(crate) fn read_on(&mut self, key: &str, epoch: u64, begun: u64, place: u64) {
        let Some(lease) = self.known.get_mut(key).filter(|lease| lease.epoch == epoch) else {
            return;
        };
        if let Some(wanted) = &mut lease.wanted {
            (wanted.begun, wanted.place) = (begun, place);
        }
    }

    /// All was obeyed that came before [`Word::Until`] with this place.
    pub(crate) fn obeyed(&mut self, key: &str, place: u64) {
        if let Some(wanted) = self.wanted(key) {
            wanted.obeyed = place;
        }
    }

    /// Up to where all is obeyed of each source that is relied on.
    pub(crate) fn places(&self) -> impl Iterator<Item = u64> {
        let wanted = self.known.values().filter_map(|lease| lease.wanted.as_ref());
        wanted.map(|wanted| wanted.obeyed).filter(|place| *place != 0)
    }

    /// Puts into a message what this node has to say of sources. Its last own message that came
    /// back was said at `spoke_ms`.
    pub(crate) fn fill(&mut self, said: &mut Said, is_all_told: bool, spoke_ms: u64, now_ms: u64) {
        let mut told = mem::take(&mut said.leads);
        for (key, lease) in &mut self.known {
            let is_ours = lease.holder.as_ref() == Some(&self.own);
            let is_left = lease.is_left;
            let mut lead = Lead { key: key.clone(), ..Lead::default() };
            match &mut lease.wanted {
                Some(wanted) if is_ours && !is_left && wanted.rests_until_ms <= now_ms => {
                    (lead.epoch, lead.begun) = (lease.epoch, wanted.begun);
                    lead.until = if is_all_told { wanted.place } else { 0 };
                    let own = told.iter_mut().find(|told| told.key == *key);
                    // What was told by an older epoch nobody would obey.
                    if let Some(own) = own.filter(|own| own.epoch == lease.epoch) {
                        lead.news = mem::take(&mut own.news);
                    }
                }
                _ if is_ours => (lead.epoch, lead.is_over) = (lease.epoch, true),
                Some(wanted) => {
                    let is_due = match &lease.holder {
                        Some(_) => spoke_ms >= lease.heard_ticks_ms + self.lag_ms,
                        None if lease.revision != 0 => spoke_ms != 0,
                        None => spoke_ms >= wanted.since_ticks_ms + self.lag_ms / 2,
                    };
                    let may = wanted.claimed == 0 && wanted.rests_until_ms <= now_ms;
                    if !is_due || spoke_ms == 0 || !may {
                        continue;
                    }
                    wanted.claimed = said.number;
                    lead.after = lease.revision;
                }
                _ => continue,
            }
            said.leads.push(lead);
        }
    }

    /// Takes what a message says of sources.
    pub(crate) fn take(
        &mut self,
        leads: Vec<Lead>,
        (run, number): (&Run, u64),
        sequence: u64,
        ticks_ms: u64,
    ) -> Vec<(String, Word)> {
        let mut words = Vec::new();
        let is_own = *run == self.own;
        for lead in leads {
            if !self.has_room(&lead.key) {
                continue;
            }
            let key = lead.key.clone();
            let lease = self.known.entry(key.clone()).or_default();
            let mut heard = Vec::new();
            let epoch = match lead.epoch {
                0 if lead.after == lease.revision => Some(sequence),
                // It was heard too late, or isn't there yet.
                0 => None,
                epoch => (lease.epoch..sequence).contains(&epoch).then_some(epoch),
            };
            if let Some(epoch) = epoch {
                if epoch > lease.epoch {
                    lease.pass_to(run, is_own, epoch, &mut heard);
                }
                lease.hold(lead, run, is_own, (sequence, ticks_ms), &mut heard);
            }
            words.extend(heard.into_iter().map(|word| (key.clone(), word)));
        }
        if is_own {
            let wanted = self.known.values_mut().filter_map(|lease| lease.wanted.as_mut());
            wanted.filter(|wanted| wanted.claimed <= number).for_each(|wanted| wanted.claimed = 0);
        }
        words
    }

    /// These runs read nothing any more.
    pub(crate) fn free(&mut self, is_gone: impl Fn(&Run) -> bool) -> Vec<(String, Word)> {
        self.each(|lease, words| {
            if lease.holder.as_ref().is_some_and(&is_gone) {
                lease.holder = None;
                lease.lose(words);
            }
        })
    }

    /// Something may have been missed.
    pub(crate) fn doubt(&mut self) -> Vec<(String, Word)> {
        self.each(Lease::lose)
    }

    /// The stream is another one, in which places mean something else.
    pub(crate) fn begin_anew(&mut self) -> Vec<(String, Word)> {
        let own = self.own.clone();
        self.each(|lease, words| {
            lease.lose(words);
            let was_ours = lease.holder.take().is_some_and(|holder| holder == own);
            let wanted = lease.wanted.take();
            *lease = Lease { wanted, ..Lease::default() };
            if let Some(wanted) = &mut lease.wanted {
                (wanted.begun, wanted.place, wanted.claimed) = (0, 0, 0);
                if was_ours {
                    words.push(Word::Theirs);
                }
            }
        })
    }

    fn each(&mut self, mut what: impl FnMut(&mut Lease, &mut Vec<Word>)) -> Vec<(String, Word)> {
        let mut words = Vec::new();
        for (key, lease) in &mut self.known {
            let mut own = Vec::new();
            what(lease, &mut own);
            words.extend(own.into_iter().map(|word| (key.clone(), word)));
        }
        words
    }

    /// Who reads what.
    pub(crate) fn readings(&self) -> Vec<Reading> {
        let known = self.known.iter().filter(|(_, one)| one.epoch != 0 || one.wanted.is_some());
        let reading = |(key, lease): (&String, &Lease)| {
            let wanted = lease.wanted.as_ref();
            let is_ours = lease.holder.as_ref() == Some(&self.own);
            Reading {
                source: key.clone(),
                by: lease.holder.as_ref().map(|(node, _)| node.clone()),
                epoch: lease.epoch,
                is_followed: match is_ours {
                    true => wanted.is_some_and(|wanted| wanted.begun != 0),
                    false => lease.holder.is_some() && lease.begun != 0,
                },
            }
        };
        known.map(reading).collect()
    }

    fn wanted(&mut self, key: &str) -> Option<&mut Wanted> {
        self.known.get_mut(key)?.wanted.as_mut()
    }

    fn has_room(&self, key: &str) -> bool {
        self.known.len() < KEYS_MAX || self.known.contains_key(key)
    }
}

impl Lease {
    /// Another epoch begins, or another reader.
    fn pass_to(&mut self, run: &Run, is_own: bool, epoch: u64, words: &mut Vec<Word>) {
        self.lose(words);
        self.is_left = false;
        let Some(wanted) = &mut self.wanted else {
            (self.epoch, self.holder, self.until) = (epoch, Some(run.clone()), 0);
            return;
        };
        let was_other = self.holder.replace(run.clone()).is_none_or(|holder| holder != *run);
        (self.epoch, self.until) = (epoch, 0);
        (wanted.begun, wanted.place) = (0, 0);
        match is_own {
            true => words.push(Word::Ours(epoch)),
            // Who wasn't its reader hears that in vain.
            false if was_other => words.push(Word::Theirs),
            false => {}
        }
    }

    /// The reader of this epoch says how it goes.
    fn hold(&mut self, lead: Lead, run: &Run, is_own: bool, at: (u64, u64), words: &mut Vec<Word>) {
        if lead.is_over {
            self.is_left = false;
            (self.holder, self.revision, self.begun) = (None, at.0, 0);
            self.lose(words);
            if is_own && self.wanted.is_some() {
                words.push(Word::Theirs);
            }
            return;
        }
        // One that was taken off, and speaks: as nobody came after it, it is still its reader.
        self.holder.get_or_insert_with(|| run.clone());
        // One that goes on speaking, though its reading stands still, is as good as none.
        let is_further = lead.until > self.until;
        if lead.begun == 0 || is_further {
            (self.revision, self.heard_ticks_ms) = at;
        }
        self.until = self.until.max(lead.until);
        self.begun = lead.begun;
        if is_own {
            return;
        }
        if self.wanted.as_ref().is_some_and(|wanted| wanted.passed != lead.begun) {
            self.lose(words);
        }
        let Some(wanted) = &mut self.wanted else { return };
        if wanted.passed != lead.begun {
            wanted.passed = lead.begun;
            // First this: from the moment at which it is followed it is relied on.
            let followed = Word::Recovered(self.epoch, lead.begun);
            words.extend([Word::Until(self.until.max(1)), followed]);
        }
        words.extend(lead.news.into_iter().map(Word::Told));
        if lead.begun != 0 && is_further {
            words.push(Word::Until(lead.until));
        }
    }

    /// What was passed on isn't followed any more.
    fn lose(&mut self, words: &mut Vec<Word>) {
        if let Some(wanted) = self.wanted.as_mut().filter(|wanted| wanted.passed != 0) {
            wanted.passed = 0;
            words.extend([Word::Lost, Word::Until(0)]);
        }
    }
}

#[cfg(test)]
#[path = "lease_tests.rs"]
mod tests;
