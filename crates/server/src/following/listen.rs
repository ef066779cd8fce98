//! The listener: hears all of a site's sources, and sweeps.
//!
//! Invariants: 1. a site counts as heard only between the `Recovered` of its last source and
//! the `Lost` of any, and is swept at both. 2. from the moment a change is heard until its
//! [`fence`](Change::fence) is over nothing is stored, and then it is swept again: what
//! fetches read meanwhile may be what was before. 3. where counters move before the change
//! can be read, that lasts until they stand still.

use std::sync::Arc;
use std::time::Duration;

use base::task;
use changes::{Change, Event, FENCE, Lost, Operation, Signature};
use policy::strangers::shape;
use tokio::sync::mpsc::Receiver;
use tokio::time::{Instant, sleep_until};

use super::calm::Calm;
use super::ear::{Heard, Means};
use super::look::{Before, Look};
use super::usual::Usual;
use super::{Following, Omission};
use crate::Server;
use crate::companion;
use crate::site::Site;

/// Between two notes of what was learned.
const NOTE_EVERY_MS: u64 = 10_000;

/// Beside a tap tables are asked for so often; what it tells meanwhile is no answer of theirs.
const ROUND: Duration = Duration::from_millis(200);

/// Kinds of change that one look is about.
const LOOKED_FOR: usize = 16;

/// One site's listener.
pub(super) struct Listener {
    server: Arc<Server>,
    site: Arc<Site>,
    following: Arc<Following>,
    ears: Vec<EarState>,
    settling: Option<Settling>,
    /// What is there before what is about to sweep.
    before: Before,
    noted_ticks_ms: u64,
    omits: Omission,
}

#[derive(Default)]
struct EarState {
    means: Option<Means>,
    is_heard: bool,
    /// From where on it is heard next, as other nodes know it.
    beginning: Option<u64>,
    calm: Calm,
    /// Whether something was told since it was last asked that only a table is known of.
    has_changed: bool,
    /// When it was last asked, as far as that says whether it is calm.
    asked_at: Option<Instant>,
    /// Whether its counters moved, and have to stand still before all is settled.
    is_moving: bool,
    /// Whether they moved since it was last asked, and not only may have.
    has_moved: bool,
    /// What changes with reading, where only tables are known.
    usual: Usual,
}

/// By whose doing something was changed, as far as is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Doing {
    Anybodys,
    /// Nothing but a persona was at the origin.
    Ours,
    /// Pages were read, and it is what changes whenever they are.
    Readings,
}

/// A sweep that is to be done once more.
struct Settling {
    at: Instant,
    /// Whether nothing but personas was at the origin, or all of it is what reading changes.
    is_ours: bool,
    /// Whether all of it is.
    is_usual: bool,
    /// How often it moved the count of content.
    moves: u64,
    /// What swept, if all of it was while a persona read and nobody else asked for anything, or is
    /// what reading is known to change.
    by_reading: Option<Vec<Signature>>,
    before: Before,
    /// What a visitor read, if something of it often comes with reading.
    overheard: Option<String>,
}

impl Listener {
    pub(super) fn new(
        server: Arc<Server>,
        site: Arc<Site>,
        following: Arc<Following>,
        ears: usize,
        omits: Omission,
    ) -> Self {
        let ears = (0..ears).map(|_| EarState::default()).collect();
        let (settling, before) = (None, Before::default());
        Self { server, site, following, ears, settling, before, noted_ticks_ms: 0, omits }
    }

    /// Listens until nobody tells anything any more.
    pub(super) async fn listen(mut self, mut heard: Receiver<(usize, Heard)>) {
        loop {
            let due = self.due();
            tokio::select! {
                // What is heard goes first: it may put the end off.
                biased;
                heard = heard.recv() => match heard {
                    Some((index, heard)) => self.take(index, heard),
                    None => break,
                },
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => self.settle(),
            }
            self.note_now_and_then();
        }
        self.lose_all();
    }

    /// When it is to be swept once more; not before all counters stand still.
    fn due(&self) -> Option<Instant> {
        let is_moving = self.ears.iter().any(|ear| ear.is_moving);
        self.settling.as_ref().filter(|_| !is_moving).map(|settling| settling.at)
    }

    fn take(&mut self, index: usize, heard: Heard) {
        match heard {
            Heard::By(means) => {
                self.ears[index].means = Some(means);
                self.following.status.lock().by(index, means);
            }
            Heard::Asked(nudge) => self.following.status.lock().asked(index, nudge),
            Heard::Obeyed(obeyed) => obeyed.say(),
            Heard::From(beginning) => self.ears[index].beginning = Some(beginning),
            // Who waited may have given up.
            Heard::Mark(mark) => drop(mark.send(())),
            Heard::Event(Event::Change(change)) => self.take_change(index, &change),
            Heard::Event(Event::Recovered) => self.recover(index),
            Heard::Event(Event::Lost(lost)) => self.lose(index, &lost),
            Heard::Event(Event::Commit(place)) => {
                if let Some(place) = place {
                    self.following.own.told(place);
                }
                self.end_round(index);
                self.note_asked(index);
                self.let_learn();
            }
            Heard::Event(Event::Idle) => {
                self.ears[index].has_moved = false;
                self.end_round(index);
                self.note_asked(index);
                self.let_learn();
            }
        }
    }

    fn take_change(&mut self, index: usize, change: &Change) {
        let signature = Signature::from(change);
        let following = self.following.clone();
        following.counts.heard.bump();
        let ticks_ms = self.ticks_ms();
        let (is_noise, is_known, overheard) = {
            let mut learner = following.learner.lock();
            learner.saw(&signature, ticks_ms);
            let decided = following.decided(&signature);
            let is_noise = decided.unwrap_or_else(|| learner.is_noise_at(&signature, ticks_ms));
            let overheard = learner.overheard(&signature, ticks_ms).map(str::to_owned);
            // Somebody reads past us, it seems.
            let is_known = learner.is_noise(&signature);
            (is_noise, decided.is_none() && is_known, overheard.filter(|_| decided.is_none()))
        };
        if is_noise {
            following.counts.noise.bump();
            return;
        }
        if following.gate.is_shut() && !following.suspects.lock().knows(&signature) {
            // It looks like an edit: nobody shall wait for that because of what is looked for.
            following.gate.open();
        }
        let lone_persona = {
            let traffic = following.traffic.lock();
            if !traffic.has_writer() {
                following.suspects.lock().note(&signature, traffic.read_targets());
            }
            traffic.lone_persona().map(str::to_owned)
        };
        let is_ours = lone_persona.is_some();
        let doing = match self.is_usual(index, change, &signature, ticks_ms) {
            true => Doing::Readings,
            false if is_ours => Doing::Ours,
            false => Doing::Anybodys,
        };
        if let Some(target) = lone_persona
            && let Some(strangers) = &self.site.strangers
            && !following.learner.lock().has_probed(&shape(&target))
        {
            strangers.classes.note_wrote(&target, &signature.rows.table);
        }
        let ear = &mut self.ears[index];
        // Which rows another node's reader heard of stays there.
        let known = (!matches!(ear.means, Some(Means::Fellow { .. }))).then_some(change);
        ear.has_changed |= ear.means != Some(Means::Tap) || change.operation == Operation::Other;
        if ear.calm.is_restless() {
            return;
        }
        following.status.lock().changed(&signature);
        self.look_before(overheard.as_deref());
        self.sweep(index, doing, change.fence(), known);
        if let Some(settling) = &mut self.settling {
            // Any row of a table may be one that only pages show that few look at.
            // Titles of authors are alike where their first words are.
            let is_one_kind = signature.rows.key.tells_apart() && !change.values.is_named();
            let is_by_reading = overheard.is_some() || (is_ours || is_known) && is_one_kind;
            settling.note(is_by_reading.then_some(signature));
            settling.overheard = overheard.or(settling.overheard.take());
        }
    }

    /// Whether a table changed that changes whenever pages are read, as they were just now.
    fn is_usual(
        &mut self,
        index: usize,
        change: &Change,
        signature: &Signature,
        ticks_ms: u64,
    ) -> bool {
        let ear = &mut self.ears[index];
        if !ear.means.is_some_and(Means::is_polled) {
            return false;
        }
        ear.usual.note(&signature.rows, !change.is_again);
        ear.usual.is(&signature.rows) && self.following.traffic.lock().was_only_read(ticks_ms)
    }

    /// All is told that one asking found.
    fn end_round(&mut self, index: usize) {
        let ticks_ms = self.ticks_ms();
        let ear = &mut self.ears[index];
        // What may have changed once more is swept once more, and nothing waits for that.
        if !std::mem::take(&mut ear.has_moved) {
            ear.is_moving = false;
        }
        if ear.means.is_some_and(Means::is_polled) {
            let traffic = self.following.traffic.lock();
            ear.usual.end_round(traffic.reads(), traffic.was_only_read(ticks_ms));
        }
    }

    /// Remembers the pages that are asked for most, unless something is to settle already.
    fn look_before(&mut self, read: Option<&str>) {
        if self.settling.is_none() {
            self.before = Before::of(&self.site, &self.following, read);
        }
    }

    /// Makes everything stale, and will once more.
    fn sweep(&mut self, index: usize, doing: Doing, fence: Duration, change: Option<&Change>) {
        let generations = &self.site.generations;
        if self.omits != Omission::Fence {
            generations.unsettle();
        }
        let change = change.map(|change| (index, change));
        self.following.scope.change(generations, change);
        let settling = self.settling.get_or_insert_with(|| {
            self.following.counts.sweeps.bump();
            Settling {
                at: Instant::now(),
                is_ours: true,
                is_usual: true,
                moves: 0,
                by_reading: Some(Vec::new()),
                before: std::mem::take(&mut self.before),
                overheard: None,
            }
        });
        settling.at = settling.at.max(Instant::now() + fence);
        settling.is_ours &= doing != Doing::Anybodys;
        settling.is_usual &= doing == Doing::Readings;
        settling.moves += 1;
        let ear = &mut self.ears[index];
        let is_news = change.is_none_or(|(_, change)| !change.is_again);
        ear.has_moved |= is_news && ear.means.is_some_and(Means::is_polled);
        ear.is_moving |= ear.has_moved;
    }

    /// Sweeps for what nobody told.
    fn sweep_unread(&mut self, index: usize) {
        self.sweep(index, Doing::Anybodys, FENCE, None);
        if let Some(settling) = &mut self.settling {
            settling.note(None);
        }
    }

    /// What was changed is visible to all.
    fn settle(&mut self) {
        let Some(settling) = self.settling.take() else { return };
        let sweeps = self.omits != Omission::SecondSweep;
        let (generations, following) = (&self.site.generations, &self.following);
        following.scope.settle(generations, sweeps, following.is_heard());
        if settling.is_usual {
            generations.note_usual(settling.moves + u64::from(sweeps));
        }
        self.site.generations.settle();
        companion::note_settled(&self.site);
        // A page that is swept by its own making would be made for ever.
        if !settling.is_ours {
            self.following.wanted.swept();
        }
        let look = Look {
            following: following.clone(),
            signatures: settling.by_reading.unwrap_or_default(),
            before: settling.before,
            overheard: settling.overheard,
            content: generations.content(),
        };
        if look.is_worth_it() {
            task::spawn_counted(&self.server.counters.panics, look.look());
        }
    }

    fn recover(&mut self, index: usize) {
        self.ears[index].is_heard = true;
        self.following.status.lock().heard(index, self.ticks_ms());
        self.sweep_unread(index);
        // Only then, so that nothing from before the sweep is taken for what is heard of.
        if let Some(beginning) = self.ears[index].beginning.take() {
            self.following.together.from(index, beginning);
        }
        self.note_all_heard();
    }

    fn note_all_heard(&self) {
        let is_heard = |ear: &EarState| ear.is_heard && !ear.calm.is_restless();
        if self.ears.iter().all(is_heard) {
            self.following.note_heard(true);
        }
    }

    /// A source that has to be asked was asked. One that changes all the time is as good as
    /// none until it stands still again.
    fn note_asked(&mut self, index: usize) {
        let (ear, now) = (&mut self.ears[index], Instant::now());
        let is_asked = match ear.means {
            Some(Means::Poll | Means::Fellow { is_polled: true }) => true,
            Some(Means::Tap) => ear.asked_at.is_none_or(|at| now >= at + ROUND),
            _ => return,
        };
        if !is_asked {
            return;
        }
        ear.asked_at = Some(now);
        let has_changed = std::mem::take(&mut ear.has_changed);
        if !ear.calm.note(has_changed) {
            return;
        }
        let is_restless = ear.calm.is_restless();
        self.following.status.lock().restless(index, is_restless);
        if is_restless {
            self.following.note_heard(false);
            self.site.generations.note_change();
            // What other sources told is settled in its time.
            self.ears[index].is_moving = false;
        } else {
            self.sweep_unread(index);
            self.note_all_heard();
        }
    }

    fn lose(&mut self, index: usize, lost: &Lost) {
        self.following.status.lock().lost(index, lost, self.ticks_ms());
        self.ears[index].calm = Calm::default();
        // Nobody would say that its counters stand still.
        self.ears[index].is_moving = false;
        let was_heard = std::mem::take(&mut self.ears[index].is_heard);
        if !was_heard {
            return;
        }
        // First this, so that nothing is stored for hours after the sweep.
        self.following.note_heard(false);
        self.following.together.lost(index);
        self.following.own.forget();
        self.following.scope.doubt();
        if self.omits != Omission::SweepOfTheLost {
            self.site.generations.note_change();
        }
        if let Some(complain) = &self.server.complaints {
            complain(&format!(
                "changes of {} are not heard: {lost}; its pages are fresh for seconds until they are",
                self.site.name
            ));
        }
    }

    fn lose_all(&mut self) {
        self.following.note_heard(false);
        self.site.generations.note_change();
        self.site.generations.settle();
    }

    fn let_learn(&self) {
        let ticks_ms = self.ticks_ms();
        self.following.learner.lock().settle(ticks_ms);
    }

    fn note_now_and_then(&mut self) {
        let ticks_ms = self.ticks_ms();
        if ticks_ms >= self.noted_ticks_ms + NOTE_EVERY_MS {
            self.noted_ticks_ms = ticks_ms;
            self.following.note_learned();
        }
    }

    fn ticks_ms(&self) -> u64 {
        self.server.clock.now().ticks_ms
    }
}

impl Settling {
    /// One more change swept: of this kind, if it came while just a persona read.
    fn note(&mut self, by_reading: Option<Signature>) {
        match (&mut self.by_reading, by_reading) {
            (Some(known), Some(signature)) if known.contains(&signature) => {}
            (Some(known), Some(signature)) if known.len() < LOOKED_FOR => known.push(signature),
            (known, _) => *known = None,
        }
    }
}

#[cfg(test)]
#[path = "listen_tests.rs"]
mod tests;
