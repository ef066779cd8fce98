//! The listener: hears all of a site's sources, and sweeps.
//!
//! Invariants: 1. a site counts as heard only between the `Recovered` of its last source and
//! the `Lost` of any, and is swept at both. 2. from the moment a change is heard until
//! [`FENCE`] later nothing is stored, and then it is swept again: what fetches read meanwhile
//! may be what was before. 3. where counters move before the change can be read, that lasts
//! until they stand still.

use std::sync::Arc;

use changes::{Change, Event, FENCE, Lost, Signature};
use policy::strangers::shape;
use tokio::sync::mpsc::Receiver;
use tokio::time::{Instant, sleep_until};

use super::Following;
use super::calm::Calm;
use super::ear::{Heard, Means};
use crate::Server;
use crate::site::Site;

/// Between two notes of what was learned.
const NOTE_EVERY_MS: u64 = 10_000;

/// One site's listener.
pub(super) struct Listener {
    server: Arc<Server>,
    site: Arc<Site>,
    following: Arc<Following>,
    ears: Vec<EarState>,
    settling: Option<Settling>,
    noted_ticks_ms: u64,
}

#[derive(Clone, Copy, Default)]
struct EarState {
    means: Option<Means>,
    is_heard: bool,
    calm: Calm,
    /// Whether something was told since it was last asked.
    has_changed: bool,
}

/// A sweep that is to be done once more.
struct Settling {
    at: Instant,
    /// The ear whose counters must stand still first.
    waits_for: Option<usize>,
    /// Whether nothing but personas was at the origin.
    is_ours: bool,
}

impl Listener {
    pub(super) fn new(
        server: Arc<Server>,
        site: Arc<Site>,
        following: Arc<Following>,
        ears: usize,
    ) -> Self {
        let ears = vec![EarState::default(); ears];
        Self { server, site, following, ears, settling: None, noted_ticks_ms: 0 }
    }

    /// Listens until nobody tells anything any more.
    pub(super) async fn listen(mut self, mut heard: Receiver<(usize, Heard)>) {
        loop {
            let due = self.settling.as_ref().filter(|settling| settling.waits_for.is_none());
            let due = due.map(|settling| settling.at);
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

    fn take(&mut self, index: usize, heard: Heard) {
        match heard {
            Heard::By(means) => {
                self.ears[index].means = Some(means);
                self.following.status.lock().by(index, means);
            }
            Heard::Event(Event::Change(change)) => self.take_change(index, &change),
            Heard::Event(Event::Recovered) => self.recover(index),
            Heard::Event(Event::Lost(lost)) => self.lose(index, &lost),
            Heard::Event(Event::Commit(place)) => {
                if let Some(place) = place {
                    self.following.own.told(place);
                }
                self.note_asked(index);
                self.let_learn();
            }
            Heard::Event(Event::Idle) => {
                if let Some(settling) = &mut self.settling
                    && settling.waits_for == Some(index)
                {
                    settling.waits_for = None;
                }
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
        let (is_noise, was_probed_for) = {
            let mut learner = following.learner.lock();
            learner.saw(&signature, ticks_ms);
            (learner.is_noise(&signature), |target: &str, learner: &changes::Learner| {
                learner.has_probed(&shape(target))
            })
        };
        if is_noise {
            following.counts.noise.bump();
            return;
        }
        let (is_ours, writer) = {
            let traffic = following.traffic.lock();
            if !traffic.has_writer() {
                following.suspects.lock().note(&signature, traffic.read_targets());
            }
            let lone = traffic.lone_persona().map(str::to_owned);
            (lone.is_some(), lone)
        };
        if let Some(target) = writer
            && was_probed_for(&target, &following.learner.lock())
            && let Some(strangers) = &self.site.strangers
        {
            // What reading it writes was looked for, and this is something else.
            strangers.classes.note_wrote(&target, &signature.rows.table, ticks_ms);
        }
        self.ears[index].has_changed = true;
        if self.ears[index].calm.is_restless() {
            return;
        }
        following.status.lock().changed(&signature);
        self.sweep(index, is_ours);
    }

    /// Makes everything stale, and will once more.
    fn sweep(&mut self, index: usize, is_ours: bool) {
        let generations = &self.site.generations;
        generations.unsettle();
        generations.note_change();
        if self.settling.is_none() {
            self.following.counts.sweeps.bump();
        }
        let is_polled = self.ears[index].means == Some(Means::Poll);
        let waited_for = self.settling.as_ref().and_then(|settling| settling.waits_for);
        let was_ours = self.settling.as_ref().is_none_or(|settling| settling.is_ours);
        self.settling = Some(Settling {
            at: Instant::now() + FENCE,
            waits_for: if is_polled { Some(index) } else { waited_for },
            is_ours: is_ours && was_ours,
        });
    }

    /// What was changed is visible to all.
    fn settle(&mut self) {
        let Some(settling) = self.settling.take() else { return };
        self.site.generations.note_change();
        self.site.generations.settle();
        // A page that is swept by its own making would be made for ever.
        if !settling.is_ours {
            self.following.wanted.swept();
        }
    }

    fn recover(&mut self, index: usize) {
        self.ears[index].is_heard = true;
        self.following.status.lock().heard(index, self.ticks_ms());
        self.sweep(index, false);
        // Only then, so that nothing from before the sweep is taken for what is heard of.
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
        let ear = &mut self.ears[index];
        let has_changed = std::mem::take(&mut ear.has_changed);
        if ear.means != Some(Means::Poll) || !ear.calm.note(has_changed) {
            return;
        }
        let is_restless = ear.calm.is_restless();
        self.following.status.lock().restless(index, is_restless);
        if is_restless {
            self.following.note_heard(false);
            self.site.generations.note_change();
            self.site.generations.settle();
            self.settling = None;
        } else {
            self.sweep(index, false);
            self.note_all_heard();
        }
    }

    fn lose(&mut self, index: usize, lost: &Lost) {
        self.following.status.lock().lost(index, lost, self.ticks_ms());
        self.ears[index].calm = Calm::default();
        let was_heard = std::mem::take(&mut self.ears[index].is_heard);
        if !was_heard {
            return;
        }
        // First this, so that nothing is stored for hours after the sweep.
        self.following.note_heard(false);
        self.following.own.forget();
        self.site.generations.note_change();
        if let Some(settling) = &mut self.settling
            && settling.waits_for == Some(index)
        {
            settling.waits_for = None;
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
