//! One thread's share of a run: arrivals are handed to connections, answers are counted.
//!
//! Each slot is a task with at most one connection. In the open model one task hands out what
//! the schedule says: to an idle slot, to a new one, or, when all are busy, to a backlog that
//! slots take from. A slot that is done takes what is due itself: when many answers come at
//! once, the schedule would wait for the last of them. In the closed model slots make their own
//! work.
//! Invariants: 1. A latency begins at the intended moment, however long the request waited in
//! the backlog. 2. A request is late by the generator if it wasn't handed out, or not begun on
//! a slot that was free, within [`LATE`]; what waited for a busy slot is late by the target.
//! 3. The backlog has a maximum; what doesn't fit is a failure, and counted.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::iter::Peekable;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tokio::sync::Notify;
use tokio::task::spawn_local;

use crate::alarm::Alarm;
use crate::cookies::Jar;
use crate::dial::Dialer;
use crate::line::Lines;
use crate::plan::{Closed, Load, Plan};
use crate::run::{Live, RunError};
use crate::tally::{FailureKind, Tally, micros};
use crate::visit::Visit;

/// From when on a request is late.
pub(crate) const LATE: Duration = Duration::from_millis(1);
/// Requests of one thread that wait for a connection.
const BACKLOG_MAX: usize = 1 << 16;
/// How many arrivals are handed out before the others have their turn.
const ARRIVALS_IN_A_ROW: u32 = 32;
/// How often the watcher is told how far it is.
const LOOK: Duration = Duration::from_millis(100);
/// How long answers may take that are under way at the end of a closed run.
const TAIL: Duration = Duration::from_secs(3);
/// The same when somebody wants it to stop.
const TAIL_WHEN_STOPPED: Duration = Duration::from_millis(300);

/// One request to make.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    pub(crate) number: u64,
    /// Which request, where a log says so.
    pub(crate) request: Option<u32>,
    pub(crate) intended: Instant,
    /// When it was handed out, if it then had to wait for a slot.
    queued: Option<Instant>,
}

/// An arrival: its number, its moment since the beginning, and which request it is if a log
/// says so.
type Arrival = (u64, Duration, Option<u32>);

/// What all tasks of a thread share.
pub(crate) struct Floor {
    pub(crate) plan: Arc<Plan>,
    pub(crate) dialer: Dialer,
    pub(crate) begin: Instant,
    pub(crate) tally: RefCell<Tally>,
    /// Connections that slots share, if they do.
    pub(crate) lines: Option<Lines>,
    /// The cookies of this thread's visitors.
    jars: Vec<RefCell<Jar>>,
    share: Share,
    /// What is still to come in the open model.
    schedule: RefCell<Peekable<Box<dyn Iterator<Item = Arrival>>>>,
    backlog: RefCell<VecDeque<Job>>,
    slots: RefCell<Vec<Rc<Slot>>>,
    idle: RefCell<Vec<usize>>,
    /// Slots whose task goes on.
    running: Cell<usize>,
    /// Requests under way.
    pub(crate) busy: Cell<u64>,
    /// Nothing is begun any more.
    is_over: Cell<bool>,
    /// The closed model: requests begun, and when the next may be.
    given: Cell<u64>,
    turn: Cell<Instant>,
    quiet: Notify,
}

/// Which part of the whole a thread does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    pub(crate) thread: usize,
    pub(crate) threads: usize,
}

impl Share {
    /// Its part of so many.
    pub(crate) fn of(self, all: u64) -> u64 {
        let (thread, threads) = (self.thread as u64, self.threads as u64);
        all / threads + u64::from(thread < all % threads)
    }
}

#[derive(Default)]
struct Slot {
    job: Cell<Option<Job>>,
    waker: RefCell<Option<Waker>>,
}

/// What a thread did.
pub(crate) struct Done {
    pub(crate) tally: Tally,
    /// CPU time of the thread.
    pub(crate) cpu: Duration,
    /// How long it took, without the closing of connections.
    pub(crate) wall: Duration,
}

/// Does a thread's share, from `begin` on, on a runtime of its own.
pub(crate) fn work(
    plan: &Arc<Plan>,
    share: Share,
    begin: Instant,
    live: &Live,
) -> Result<Done, RunError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(RunError::Ours)?;
    let dialer = Dialer::new(plan).map_err(RunError::Ours)?;
    let slots = usize::try_from(share.of(plan.connections as u64)).unwrap_or(usize::MAX);
    let floor = Rc::new(Floor {
        plan: Arc::clone(plan),
        dialer,
        begin,
        tally: RefCell::default(),
        lines: Lines::new(plan.protocol, slots),
        jars: (0..share.of(plan.visitors as u64)).map(|_| RefCell::default()).collect(),
        share,
        schedule: RefCell::new(arrivals(plan, share).peekable()),
        backlog: RefCell::default(),
        slots: RefCell::default(),
        idle: RefCell::default(),
        running: Cell::new(0),
        busy: Cell::new(0),
        is_over: Cell::new(false),
        given: Cell::new(0),
        turn: Cell::new(begin),
        quiet: Notify::new(),
    });
    let tasks = tokio::task::LocalSet::new();
    let done = tasks.block_on(&runtime, floor.run(live));
    let wall = begin.elapsed();
    let mut tally = floor.tally.take();
    tally.settle();
    let cpu = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(cpu.tv_sec).unwrap_or_default();
    let cpu = Duration::new(seconds, u32::try_from(cpu.tv_nsec).unwrap_or_default());
    // Before the slots are dropped, and without letting them go on: what they have open would
    // end with a code of its own.
    runtime.block_on(floor.dialer.close());
    drop(tasks);
    done.map_err(RunError::Ours)?;
    Ok(Done { tally, cpu, wall })
}

impl Floor {
    async fn run(self: &Rc<Self>, live: &Live) -> std::io::Result<()> {
        let load = async {
            match &self.plan.load {
                Load::Open(_) | Load::Moments(_) => self.hand_out().await?,
                Load::Closed(_) => {
                    for _ in 0..self.slots_max() {
                        self.add_slot(None);
                    }
                }
            }
            self.drain().await;
            Ok(())
        };
        let (load, told) = (std::pin::pin!(load), std::pin::pin!(self.tell(live)));
        let outcome = tokio::select! {
            outcome = load => outcome,
            () = told => Ok(()),
        };
        self.cut_off();
        self.tell_once(live, &mut Told::default());
        outcome
    }

    /// Hands out each arrival at its moment.
    async fn hand_out(self: &Rc<Self>) -> std::io::Result<()> {
        let alarm = Alarm::new()?;
        let (mut in_a_row, mut before) = (0, self.begin);
        while let Some(intended) = self.next_moment() {
            if Instant::now() < intended {
                alarm.until(intended, intended - before).await?;
                before = intended;
                in_a_row = 0;
            } else if in_a_row >= ARRIVALS_IN_A_ROW {
                tokio::task::yield_now().await;
                in_a_row = 0;
            }
            in_a_row += 1;
            if let Some(job) = self.due() {
                self.hand(job);
            }
        }
        Ok(())
    }

    /// When the next arrival is; never when the run is over.
    fn next_moment(&self) -> Option<Instant> {
        let mut schedule = self.schedule.borrow_mut();
        let next = schedule.peek().filter(|_| !self.is_over.get());
        next.map(|(_, after, _)| self.begin + *after)
    }

    /// The next arrival, if its moment has come.
    fn due(&self) -> Option<Job> {
        let intended = self.next_moment()?;
        if Instant::now() < intended {
            return None;
        }
        let (number, _, request) = self.schedule.borrow_mut().next()?;
        Some(Job { number, request, intended, queued: None })
    }

    fn hand(self: &Rc<Self>, job: Job) {
        if let Some(place) = self.idle.borrow_mut().pop() {
            let slot = Rc::clone(&self.slots.borrow()[place]);
            slot.job.set(Some(job));
            let waker = slot.waker.borrow_mut().take();
            waker.into_iter().for_each(Waker::wake);
        } else if self.slots.borrow().len() < self.slots_max() {
            self.add_slot(Some(job));
        } else if self.backlog.borrow().len() < BACKLOG_MAX {
            let queued = Some(Instant::now());
            self.backlog.borrow_mut().push_back(Job { queued, ..job });
        } else {
            let why = || format!("{BACKLOG_MAX} requests of a thread waited for a connection");
            let mut tally = self.tally.borrow_mut();
            tally.fail(self.begin.elapsed(), FailureKind::Overrun, why);
        }
    }

    /// The cookies of the visitor who makes this request: visitors take turns.
    pub(crate) fn jar(&self, job: &Job) -> Option<&RefCell<Jar>> {
        let turn = job.number / self.share.threads as u64;
        let place = turn.checked_rem(self.jars.len() as u64)?;
        self.jars.get(usize::try_from(place).unwrap_or_default())
    }

    fn slots_max(&self) -> usize {
        usize::try_from(self.share.of(self.plan.connections as u64)).unwrap_or(usize::MAX)
    }

    fn add_slot(self: &Rc<Self>, job: Option<Job>) {
        let slot = Rc::new(Slot::default());
        slot.job.set(job);
        let mut slots = self.slots.borrow_mut();
        slots.push(Rc::clone(&slot));
        let place = slots.len() - 1;
        self.running.set(self.running.get() + 1);
        let floor = Rc::clone(self);
        spawn_local(async move {
            let mut visit = Visit::new(place);
            let mut is_first = true;
            while let Some(job) = floor.next(place, &slot, is_first).await {
                is_first = false;
                let begun = floor.note_begin(&job);
                floor.busy.set(floor.busy.get() + 1);
                visit.perform(&floor, &job, begun).await;
                floor.busy.set(floor.busy.get() - 1);
            }
            floor.running.set(floor.running.get() - 1);
            if floor.running.get() == 0 {
                floor.quiet.notify_one();
            }
        });
    }

    /// What a slot is to do next; nothing when the run is over.
    async fn next(&self, place: usize, slot: &Slot, is_first: bool) -> Option<Job> {
        if let Load::Closed(closed) = &self.plan.load {
            return self.next_of_closed(closed, is_first).await;
        }
        let mut has_rested = false;
        std::future::poll_fn(move |context| {
            let job = slot.job.take().or_else(|| self.backlog.borrow_mut().pop_front());
            // One that rests is in the list of the idle, from which it may only be taken.
            let job = job.or_else(|| if has_rested { None } else { self.due() });
            if job.is_some() {
                return Poll::Ready(job);
            }
            if self.is_over.get() {
                return Poll::Ready(None);
            }
            *slot.waker.borrow_mut() = Some(context.waker().clone());
            if !std::mem::replace(&mut has_rested, true) {
                self.idle.borrow_mut().push(place);
            }
            Poll::Pending
        })
        .await
    }

    async fn next_of_closed(&self, closed: &Closed, is_first: bool) -> Option<Job> {
        if !closed.think.is_zero() && !is_first {
            tokio::time::sleep(closed.think).await;
        }
        if let Some(rate) = closed.rate_max {
            let gap = Duration::from_secs_f64(self.share.threads as f64 / rate);
            let turn = self.turn.get().max(Instant::now());
            self.turn.set(turn + gap);
            tokio::time::sleep_until(turn.into()).await;
        }
        let number = self.given.get();
        let intended = Instant::now();
        let is_done = closed.requests.is_some_and(|all| number >= self.share.of(all));
        let is_late = closed.time.is_some_and(|time| intended >= self.begin + time);
        if self.is_over.get() || is_done || is_late {
            return None;
        }
        self.given.set(number + 1);
        let number = number * self.share.threads as u64 + self.share.thread as u64;
        Some(Job { number, request: None, intended, queued: None })
    }

    /// Counts a request that begins, and tells when it does.
    fn note_begin(&self, job: &Job) -> Instant {
        let mut tally = self.tally.borrow_mut();
        tally.begun += 1;
        if matches!(self.plan.load, Load::Closed(_)) {
            return job.intended;
        }
        let now = Instant::now();
        let by_generator = job.queued.unwrap_or(now).saturating_duration_since(job.intended);
        tally.lateness.saturating_record(micros(by_generator));
        tally.late_by_generator += u64::from(by_generator > LATE);
        let by_target = job.queued.map(|queued| now.saturating_duration_since(queued));
        tally.late_by_target += u64::from(by_target.is_some_and(|late| late > LATE));
        now
    }

    /// Waits for what is under way, for as long as the load says that an answer may take.
    async fn drain(&self) {
        let tail = match &self.plan.load {
            Load::Open(_) | Load::Moments(_) => {
                self.end();
                self.plan.timeout
            }
            Load::Closed(closed) => {
                // Slots end by themselves, when the time is over or all was asked.
                let time = closed.time.map_or(Duration::MAX, |time| {
                    (self.begin + time).saturating_duration_since(Instant::now())
                });
                time.saturating_add(self.plan.timeout.min(TAIL))
            }
        };
        if self.running.get() == 0 {
            return;
        }
        let _ = tokio::time::timeout(tail, self.quiet.notified()).await;
    }

    fn end(&self) {
        self.is_over.set(true);
        for slot in self.slots.borrow().iter() {
            let waker = slot.waker.borrow_mut().take();
            waker.into_iter().for_each(Waker::wake);
        }
    }

    /// What is not answered now never will be.
    fn cut_off(&self) {
        let waiting = self.backlog.borrow_mut().drain(..).count() as u64;
        let why = || "the run was over".to_owned();
        let unfinished = self.busy.get() + waiting;
        let mut tally = self.tally.borrow_mut();
        tally.fail_many(self.begin.elapsed(), FailureKind::Unfinished, unfinished, why);
    }

    /// Tells how far it is until somebody wants it to stop, and what is under way had its time.
    async fn tell(&self, live: &Live) {
        let mut told = Told::default();
        while !live.is_stopped() {
            tokio::time::sleep(LOOK).await;
            self.tell_once(live, &mut told);
        }
        self.end();
        if self.running.get() > 0 {
            let _ = tokio::time::timeout(TAIL_WHEN_STOPPED, self.quiet.notified()).await;
        }
    }

    fn tell_once(&self, live: &Live, told: &mut Told) {
        let tally = self.tally.borrow();
        let now = (tally.answered(), tally.failed(), tally.body_bytes + tally.head_bytes);
        let thread = &live.threads[self.share.thread];
        thread.answered.store(now.0, Ordering::Relaxed);
        thread.failed.store(now.1, Ordering::Relaxed);
        thread.bytes.store(now.2, Ordering::Relaxed);
        let points = tally.timeline.points.len();
        if told.points != points {
            told.points = points;
            // The last point but one is over.
            if let Some(point) = points.checked_sub(2).and_then(|at| tally.timeline.points.get(at))
            {
                live.add_second(&point.latency);
            }
        }
    }
}

/// A thread's arrivals in the open model.
fn arrivals(plan: &Arc<Plan>, share: Share) -> Box<dyn Iterator<Item = Arrival>> {
    let Share { thread, threads } = share;
    match &plan.load {
        Load::Open(pattern) => {
            let arrivals = pattern.arrivals(thread as u64, threads as u64);
            Box::new(arrivals.map(|(number, after)| (number, after, None)))
        }
        Load::Moments(moments) => {
            let (plan, places) = (Arc::clone(plan), (thread..moments.len()).step_by(threads));
            Box::new(places.map_while(move |place| {
                let Load::Moments(moments) = &plan.load else { return None };
                let (after, request) = moments.at(place)?;
                Some((place as u64, after, Some(request)))
            }))
        }
        Load::Closed(_) => Box::new(std::iter::empty()),
    }
}

/// What the watcher was told.
#[derive(Default)]
struct Told {
    points: usize,
}
