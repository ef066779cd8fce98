//! What a node has heard, and whether that is all. Pure: no clock, no I/O.
//!
//! Moments are those of this node's own clock, which it reads when it speaks, and places in the
//! stream. What others say of time is never asked: that one thing came before another is told
//! by the stream's order alone.
//! Invariants: 1. until [`Hearing::heard_until`] there is nothing older than a lag limit that
//! this node hasn't heard: neither of what the stream had taken when this node spoke, nor of
//! what a node that is away without goodbye may have to tell. 2. a message that isn't the next
//! one of the stream, or of a run whose end nobody heard, means that something may have been
//! missed.

use std::collections::{BTreeMap, VecDeque};
use std::mem;
use std::net::SocketAddr;

use crate::calm::{Calm, Calms};
use crate::lease::{Leases, Word};
use crate::said::Said;
use crate::status::Member;

/// Own messages that are remembered; the oldest are forgotten first.
const OWN_MAX: usize = 4096;

/// What came out of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Its place in the stream.
    pub sequence: u64,
    /// What was said; none where it can't be read.
    pub said: Option<Said>,
}

/// What follows from it, in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// Something may have been missed, or will never be told: anything may have changed.
    pub missed: bool,
    /// What others told, to be obeyed.
    pub news: Vec<String>,
    /// What is said of sources that one node reads for all.
    pub words: Vec<(String, Word)>,
    /// Another run of this node says goodbye: its name must be written anew.
    pub own_name_goes: bool,
    /// Another node wants the others to be quiet for a moment.
    pub is_asked_for_quiet: bool,
    /// Another node that was begun has this one's name.
    pub has_twin: bool,
}

/// The state.
#[derive(Debug)]
pub struct Hearing {
    node: String,
    instance: u64,
    lag_ms: u64,
    /// The last message that was heard.
    sequence: Option<u64>,
    /// Own messages on their way: number, and when it was said.
    sent: VecDeque<(u64, u64)>,
    /// Those that came back: place, and when it was said.
    own: VecDeque<(u64, u64)>,
    /// When the last of them did.
    returned_ticks_ms: u64,
    /// Its number.
    returned_number: u64,
    /// How long it took, if that wasn't asked for yet.
    returned_after_ms: Option<u64>,
    others: BTreeMap<Run, Other>,
    pub(crate) leases: Leases,
    calms: Calms,
}

/// Who says something: a node and which run of it; 0 if it is only known by name. At an upgrade
/// a node has two runs for a while.
pub(crate) type Run = (String, u64);

#[derive(Clone, Copy, Debug, Default)]
struct Other {
    /// All that it had to tell when the stream was here is told.
    told_until: u64,
    /// Where it may be asked for pages.
    listen: Option<SocketAddr>,
    is_draining: bool,
}

impl Hearing {
    /// Of a node that has heard nothing yet.
    #[must_use]
    pub fn new(node: &str, instance: u64, lag_ms: u64) -> Self {
        Self {
            node: node.to_owned(),
            instance,
            lag_ms,
            sequence: None,
            sent: VecDeque::new(),
            own: VecDeque::new(),
            returned_ticks_ms: 0,
            returned_number: 0,
            returned_after_ms: None,
            others: BTreeMap::new(),
            leases: Leases::new((node.to_owned(), instance), lag_ms),
            calms: Calms::default(),
        }
    }

    /// The message to go on behind; none: nothing was heard yet.
    #[must_use]
    pub fn sequence(&self) -> Option<u64> {
        self.sequence
    }

    /// This node is about to say this for the first time.
    pub fn note_sent(&mut self, number: u64, ticks_ms: u64) {
        push(&mut self.sent, (number, ticks_ms));
    }

    /// How many milliseconds the last own message took to come back; told once.
    pub(crate) fn take_returned_after_ms(&mut self) -> Option<u64> {
        self.returned_after_ms.take()
    }

    /// Another node is said to be there, though it hasn't been heard.
    pub fn note_known(&mut self, node: &str) {
        if node != self.node && self.others.keys().all(|(known, _)| known != node) {
            let unheard = Other { told_until: self.own_sequence(), ..Other::default() };
            self.others.insert((node.to_owned(), 0), unheard);
        }
    }

    /// From here on the stream goes on behind this message, whatever was heard before: it is
    /// another one, or what came between is gone from it.
    pub fn begin_anew(&mut self, behind: u64) -> Vec<(String, Word)> {
        self.sequence = Some(behind);
        // Places of another stream mean nothing. Who is there has a lag limit to be heard in.
        self.own.clear();
        self.others.values_mut().for_each(|other| other.told_until = 0);
        self.calms.begin_anew();
        self.leases.begin_anew()
    }

    /// Takes the next message, at this moment.
    pub fn take(&mut self, arrival: Arrival, ticks_ms: u64) -> Heard {
        let mut heard = Heard::default();
        if let Some(last) = self.sequence {
            if arrival.sequence <= last {
                return heard;
            }
            heard.missed = arrival.sequence - last != 1;
        }
        self.sequence = Some(arrival.sequence);
        let Some(mut said) = arrival.said else {
            heard.missed = true;
            heard.words = self.leases.doubt();
            return heard;
        };
        let leads = mem::take(&mut said.leads);
        let (run, number, is_goodbye) =
            ((said.node.clone(), said.instance), said.number, said.is_goodbye);
        if said.node == self.node && said.instance == self.instance {
            self.take_own(&said, arrival.sequence, ticks_ms, &mut heard);
        } else {
            let place = said.told_until.min(arrival.sequence);
            let asks = said.asks.take();
            heard.is_asked_for_quiet = asks.iter().flatten().any(|asks| asks.hushes);
            self.calms.take(&run, asks, place, ticks_ms);
            self.take_others(said, arrival.sequence, &mut heard);
        }
        self.calms.keep(|run| self.others.contains_key(run), ticks_ms);
        if heard.missed {
            heard.words.extend(self.leases.doubt());
        }
        heard.words.extend(self.leases.take(leads, (&run, number), arrival.sequence, ticks_ms));
        if is_goodbye {
            heard.words.extend(self.leases.free(|holder| *holder == run));
        }
        heard
    }

    fn take_own(&mut self, said: &Said, sequence: u64, now_ms: u64, heard: &mut Heard) {
        self.returned_ticks_ms = now_ms;
        self.returned_number = said.number;
        while let Some((number, ticks_ms)) = self.sent.front().copied()
            && number <= said.number
        {
            self.sent.pop_front();
            if number == said.number {
                self.returned_after_ms = Some(now_ms.saturating_sub(ticks_ms));
                self.note_own(sequence, ticks_ms);
            }
        }
        heard.missed |= self.forget(&said.gone, heard);
    }

    fn note_own(&mut self, sequence: u64, ticks_ms: u64) {
        if self.own.is_empty() {
            let others = self.others.values_mut();
            others.for_each(|other| other.told_until = other.told_until.max(sequence));
        }
        push(&mut self.own, (sequence, ticks_ms));
        // What lies before the slowest is asked for no more, but for the one next to it.
        let others = self.others.values().map(|other| other.told_until);
        let slowest = others.chain(self.leases.places()).min().unwrap_or(sequence);
        while self.own.get(1).is_some_and(|(next, _)| *next <= slowest) {
            self.own.pop_front();
        }
    }

    fn take_others(&mut self, said: Said, sequence: u64, heard: &mut Heard) {
        let run = (said.node, said.instance);
        let is_own_name = run.0 == self.node;
        match self.others.get_mut(&run) {
            // No place that isn't there yet is believed.
            Some(other) => {
                other.told_until = other.told_until.max(said.told_until.min(sequence));
            }
            None => {
                if !said.is_successor {
                    // Of the run before nobody knows what it had still to tell.
                    heard.missed |= self.forget_runs(&run.0, false, heard);
                    heard.has_twin = is_own_name && said.number == 1;
                }
                // What is known by name alone is known better now.
                self.others.remove(&(run.0.clone(), 0));
                // A run that begins owes nothing from before.
                let new = Other { told_until: sequence, ..Other::default() };
                self.others.insert(run.clone(), new);
            }
        }
        if let Some(other) = self.others.get_mut(&run) {
            // An address that this version can't read is none that it could ask.
            other.listen = said.listen.as_ref().and_then(|text| text.parse().ok());
            other.is_draining = said.is_draining;
        }
        if said.is_goodbye {
            self.others.remove(&run);
            heard.own_name_goes = is_own_name;
        }
        heard.missed |= said.has_lost | self.forget(&said.gone, heard);
        heard.news = said.news;
    }

    /// These are gone for good; whether one of them was waited for.
    fn forget(&mut self, gone: &[String], heard: &mut Heard) -> bool {
        gone.iter().filter(|node| self.forget_runs(node, true, heard)).count() > 0
    }

    /// The node's runs are not waited for any more; whether there was one that was heard, or one
    /// known by name where that counts.
    fn forget_runs(&mut self, node: &str, counts_name: bool, heard: &mut Heard) -> bool {
        let own = self.instance;
        heard.words.extend(self.leases.free(|(name, run)| name == node && *run != own));
        let mut was_any = false;
        self.others.retain(|(known, instance), _| {
            let goes = known == node;
            was_any |= goes && (counts_name || *instance != 0);
            !goes
        });
        was_any
    }

    /// The place of the last own message that came back: who has nothing more to tell then says
    /// so by it.
    #[must_use]
    pub fn own_sequence(&self) -> u64 {
        self.own.back().map_or(0, |(sequence, _)| *sequence)
    }

    /// When the last own message was said that came back; zero: none did.
    pub(crate) fn spoke_ticks_ms(&self) -> u64 {
        self.own.back().map_or(0, |(_, ticks_ms)| *ticks_ms)
    }

    /// When the stream was there at the earliest: this node had spoken, and was heard before.
    fn ticks_of(&self, sequence: u64) -> u64 {
        let at = self.own.partition_point(|(own, _)| *own <= sequence);
        at.checked_sub(1).and_then(|at| self.own.get(at)).map_or(0, |(_, ticks_ms)| *ticks_ms)
    }

    /// Until which tick it may be taken that all was heard; zero: nothing was yet.
    #[must_use]
    pub fn heard_until(&self) -> u64 {
        let Some((_, own)) = self.own.back() else { return 0 };
        let others = self.others.values().map(|other| self.ticks_of(other.told_until));
        let read = self.leases.places().map(|place| self.ticks_of(place));
        match others.chain(read).chain([*own]).min() {
            None | Some(0) => 0,
            Some(ticks_ms) => ticks_ms + self.lag_ms,
        }
    }

    /// When no other node asked what is behind this source for anything.
    #[must_use]
    pub fn calm(&self, source: &str) -> Calm {
        let ticks_of = |place| self.ticks_of(place);
        self.calms.calm(source, self.others.keys(), ticks_of, self.spoke_ticks_ms())
    }

    /// Until which tick others may take it that they have heard all of this node: what it said
    /// of that bears a place that had come back to it.
    #[must_use]
    pub fn trusted_until(&self) -> u64 {
        self.returned_ticks_ms + self.lag_ms
    }

    /// The number of the last own message that came back.
    #[must_use]
    pub fn returned_number(&self) -> u64 {
        self.returned_number
    }

    /// Up to where each other node has heard that isn't missing; none: there is no other.
    #[must_use]
    pub fn heard_by_others(&self) -> Option<u64> {
        let own = self.own.back().map_or(0, |(_, ticks_ms)| *ticks_ms);
        let is_there = |until: u64| own.saturating_sub(self.ticks_of(until)) <= self.lag_ms;
        let heard = self.others.values().map(|other| other.told_until);
        heard.filter(|until| is_there(*until)).min()
    }

    /// The other nodes.
    #[must_use]
    pub fn members(&self) -> Vec<Member> {
        let own = self.own.back().map_or(0, |(_, ticks_ms)| *ticks_ms);
        let member = |((node, _), other): (&Run, &Other)| {
            let behind_ms = own.saturating_sub(self.ticks_of(other.told_until));
            let Other { listen, is_draining, .. } = *other;
            let is_missing = behind_ms > self.lag_ms;
            Member { node: node.clone(), is_missing, behind_ms, listen, is_draining }
        };
        self.others.iter().map(member).collect()
    }
}

fn push(queue: &mut VecDeque<(u64, u64)>, entry: (u64, u64)) {
    if queue.len() >= OWN_MAX {
        queue.pop_front();
    }
    queue.push_back(entry);
}

#[cfg(test)]
#[path = "hearing_tests.rs"]
mod tests;
