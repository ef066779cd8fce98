//! HTTP/2 to a server: a few connections, called lines, that many requests share.
//!
//! A request takes a place on a line that has room, one of its own thread's first. Where none
//! has, one line is dialled for all who wait, and each tries again. Why it is so:
//! `docs/decisions/http2-to-origins.md`.
//! Law: RFC 9113 §9.1, RFC 7301 (which protocol a server chooses).
//! Invariants: 1. Lines never outnumber the requests that are with the server, but by those
//! that are about to close. 2. One line is dialled at a time.
//! Start at [`Lines::berth`], then [`line`], [`request`], [`sending`], [`body`].

mod body;
mod heard;
mod line;
mod request;
mod sending;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use base::Phase;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, WeakShared};
use parking_lot::Mutex;
use tokio::time::Instant;

pub(crate) use body::Streamed;
pub(crate) use line::{Berth, Line};
pub(crate) use request::exchange;
pub(crate) use sending::Sending;

use super::member::{Dialled, Road, Single, Tongue};
use crate::pool::Pool;
use crate::stopwatch::{Noted, timed};
use crate::{Counters, OriginError, Timeouts};
use line::State;

/// How long an unused line is kept: nothing is lost by one that its server closes first, for
/// the server says which requests it has not seen.
const KEEP: Duration = Duration::from_secs(60);
/// The same where nothing is to be kept: as long as those who dialled need to come to it.
const KEEP_LEAST: Duration = Duration::from_secs(1);
/// How long it is remembered that a server chose HTTP/1.1.
const CHOICE: Duration = Duration::from_secs(300);

/// What lines are made by.
#[derive(Clone)]
pub(crate) struct Plan {
    pub(crate) road: Arc<Road>,
    pub(crate) timeouts: Timeouts,
    pub(crate) counters: Arc<Counters>,
    keep: Duration,
}

/// The lines to one server.
pub(crate) struct Lines {
    own: Weak<Self>,
    plan: Plan,
    /// Where a connection goes on which the server chose HTTP/1.1.
    singles: Pool<Single>,
    open: Mutex<Open>,
    /// Lines end with their last request from now on.
    is_closed: AtomicBool,
}

#[derive(Default)]
struct Open {
    lines: Vec<Arc<Line>>,
    /// Gone as soon as nobody waits for it.
    dialling: Option<WeakShared<Dialling>>,
    /// Until when the server is taken to speak HTTP/1.1.
    singles_until: Option<Instant>,
}

/// Tells which protocol the server chose.
type Dialling = BoxFuture<'static, Result<Tongue, OriginError>>;

impl Plan {
    pub(crate) fn new(
        road: Arc<Road>,
        timeouts: Timeouts,
        counters: Arc<Counters>,
        keep: Duration,
    ) -> Self {
        let keep = if keep.is_zero() { KEEP_LEAST } else { KEEP };
        Self { road, timeouts, counters, keep }
    }
}

impl Lines {
    pub(crate) fn new(plan: Plan, singles: Pool<Single>) -> Arc<Self> {
        Arc::new_cyclic(|own| Self {
            own: own.clone(),
            plan,
            singles,
            open: Mutex::default(),
            is_closed: AtomicBool::new(false),
        })
    }

    /// A place for a request; none: the server speaks HTTP/1.1. It is noted how long dialling
    /// took, where it had to be.
    pub(crate) async fn berth(&self, phases: &Noted) -> Result<Option<Berth>, OriginError> {
        loop {
            let dialling = {
                let mut open = self.open.lock();
                if open.singles_until.is_some_and(|until| Instant::now() < until) {
                    return Ok(None);
                }
                if let Some(line) = open.with_room() {
                    return Ok(Some(Berth::on(line, self.own.clone())));
                }
                self.dialling(&mut open)
            };
            if timed(phases, Phase::Connect, dialling).await? == Tongue::Http1 {
                return Ok(None);
            }
        }
    }

    /// A place on a line of its own, which nobody else finds.
    pub(crate) fn alone(line: &Arc<Line>) -> Berth {
        Berth::on(line, Weak::new())
    }

    /// Dials, or waits with those who do.
    fn dialling(&self, open: &mut Open) -> Shared<Dialling> {
        if let Some(dialling) = open.dialling.as_ref().and_then(WeakShared::upgrade) {
            return dialling;
        }
        // What takes no requests and has none is of no use; so each that stays has one.
        open.lines.retain(|line| !line.is_unused());
        let (plan, own) = (self.plan.clone(), self.own.clone());
        let dialling = async move {
            let dialled = plan.road.open(&plan, own.clone()).await;
            let Some(lines) = own.upgrade() else { return Ok(Tongue::Http2) };
            lines.note(dialled)
        };
        let dialling = dialling.boxed().shared();
        open.dialling = dialling.downgrade();
        dialling
    }

    /// What came of dialling.
    fn note(&self, dialled: Result<Dialled, OriginError>) -> Result<Tongue, OriginError> {
        let single = {
            let mut open = self.open.lock();
            open.dialling = None;
            match dialled? {
                Dialled::Line(line) => {
                    open.singles_until = None;
                    // Those who dialled it are the last who need it.
                    open.lines.push(line);
                    return Ok(Tongue::Http2);
                }
                Dialled::Single(single) => {
                    open.singles_until = Some(Instant::now() + CHOICE);
                    single
                }
            }
        };
        self.singles.put(single);
        Ok(Tongue::Http1)
    }

    /// A request was answered that this server is to be spoken to in HTTP/1.1.
    pub(crate) fn prefer_singles(&self) {
        self.open.lock().singles_until = Some(Instant::now() + CHOICE);
    }

    /// Nobody finds this line any more.
    fn forget(&self, state: &Arc<State>) {
        let mut open = self.open.lock();
        let at = open.lines.iter().position(|line| Arc::ptr_eq(&line.state, state));
        let line = at.map(|at| open.lines.swap_remove(at));
        drop(open);
        // It may be the last that holds the connection.
        drop(line);
    }

    /// The same, but only if nobody is on it.
    fn forget_unused(&self, state: &Arc<State>) -> bool {
        let open = self.open.lock();
        if state.streams() > 0 {
            return false;
        }
        state.end();
        drop(open);
        self.forget(state);
        true
    }

    /// Closes what is unused, and the others with their last request.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        let lines = std::mem::take(&mut self.open.lock().lines);
        drop(lines);
    }

    /// Somebody was the last on a line.
    fn left(&self, state: &Arc<State>) {
        if self.is_closed.load(Ordering::Acquire) {
            self.forget(state);
        }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.open.lock().lines.len()
    }
}

impl Open {
    fn with_room(&self) -> Option<&Arc<Line>> {
        let mut with_room = self.lines.iter().filter(|line| line.has_room());
        let first = with_room.next()?;
        if first.is_here() {
            return Some(first);
        }
        Some(with_room.find(|line| line.is_here()).unwrap_or(first))
    }
}

#[cfg(test)]
mod tests;
