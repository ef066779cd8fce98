//! Time and patience: virtual for tests, real against a running server.
//!
//! In virtual time the driver never parks: it yields until what it waits for is
//! there, or until nothing has moved over many turns; then it would wait for ever,
//! and the scene fails at once. So time moves only where the scene says `wait`.
//! What Wick does on a thread that may block moves no byte; there is one such thread, so
//! whoever gets a turn on it knows that all that was begun before is done.
//! Invariant: whoever moves bytes says so by [`World::moved`].

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use base::Clock;

use crate::story::Story;

/// After so many turns of every task without a byte moving, nothing will move.
const QUIET_TURNS: u32 = 200;
/// How often such a turn is taken before nothing will move: work may lead to more work.
const BLOCKING_TURNS: u32 = 4;
/// A `wait` is cut into at most so many steps, so that timers fire in their order.
const WAIT_STEPS: u32 = 200;
/// The finest step: Wick's housekeeping looks around twice a second.
const STEP_MIN: Duration = Duration::from_millis(50);
/// How long a running server may take for anything.
const PATIENCE: Duration = Duration::from_secs(5);
/// A running server is taken to be quiet when no byte has moved for so long.
const QUIET: Duration = Duration::from_millis(60);

/// The time in which a scene plays. Clones are the same one.
#[derive(Clone, Debug)]
pub struct World {
    /// The clock that Wick reads, too, in virtual time.
    pub clock: Clock,
    /// Whether time passes by itself.
    pub is_real: bool,
    /// The host name by which this scene knows its site.
    pub host: Arc<str>,
    /// What happened.
    pub story: Story,
    activity: Arc<AtomicU64>,
    start_ms: u64,
}

impl World {
    /// A world whose time is `clock`'s.
    #[must_use]
    pub fn new(clock: Clock, is_real: bool, host: &str) -> Self {
        let start_ms = clock.now().ticks_ms;
        let activity = Arc::default();
        Self { clock, is_real, host: host.into(), story: Story::default(), activity, start_ms }
    }

    /// Says that bytes have moved.
    pub fn moved(&self) {
        self.activity.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds a line to the story.
    pub fn tell(&self, who: &str, what: &str) {
        self.story.tell(self.clock.now().ticks_ms - self.start_ms, who, what);
    }

    /// Replaces what is relative in a value as of now.
    #[must_use]
    pub fn render(&self, value: &str) -> String {
        crate::dates::render(value, self.clock.now().unix_seconds(), &self.host)
    }

    /// Waits for `future`; `None` if that would be for ever.
    pub async fn patiently<F: Future>(&self, future: F) -> Option<F::Output> {
        if self.is_real {
            return tokio::time::timeout(PATIENCE, future).await.ok();
        }
        let mut future = pin!(future);
        let (mut seen, mut quiet_turns) = (self.activity.load(Ordering::Relaxed), 0);
        let mut blocking_turns = 0;
        loop {
            let polled = poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await;
            if let Poll::Ready(output) = polled {
                return Some(output);
            }
            tokio::task::yield_now().await;
            let activity = self.activity.load(Ordering::Relaxed);
            match activity == seen {
                true => quiet_turns += 1,
                false => (quiet_turns, blocking_turns) = (0, 0),
            }
            seen = activity;
            if quiet_turns >= QUIET_TURNS {
                if blocking_turns >= BLOCKING_TURNS {
                    return None;
                }
                // Time stands still as long as something is done there.
                let _ = tokio::task::spawn_blocking(|| ()).await;
                (quiet_turns, blocking_turns) = (QUIET_TURNS / 2, blocking_turns + 1);
            }
        }
    }

    /// Lets everything happen that can happen without time passing.
    pub async fn settle(&self) {
        if !self.is_real {
            self.patiently(std::future::pending::<()>()).await;
            return;
        }
        let mut seen = None;
        while seen.replace(self.activity.load(Ordering::Relaxed))
            != Some(self.activity.load(Ordering::Relaxed))
        {
            tokio::time::sleep(QUIET).await;
        }
    }

    /// Lets time pass.
    pub async fn wait(&self, time: Duration) {
        self.settle().await;
        if self.is_real {
            tokio::time::sleep(time).await;
            return;
        }
        let step = (time / WAIT_STEPS).max(STEP_MIN);
        let mut left = time;
        while !left.is_zero() {
            let now = left.min(step);
            self.clock.advance_ms(now.as_millis() as u64);
            tokio::time::advance(now).await;
            left -= now;
            self.settle().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world() -> World {
        World::new(Clock::manual(0), false, "a.test")
    }

    #[tokio::test(start_paused = true)]
    async fn time_stands_still_while_the_driver_waits() {
        let world = world();
        let timer = tokio::time::sleep(Duration::from_millis(1));
        assert!(world.patiently(timer).await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_moves_the_clock_and_the_timers_together() {
        let world = world();
        let before = world.clock.now();
        let timer = tokio::spawn(tokio::time::sleep(Duration::from_secs(3600)));
        world.settle().await;
        world.wait(Duration::from_secs(3599)).await;
        assert!(!timer.is_finished());
        world.wait(Duration::from_secs(2)).await;
        assert!(timer.is_finished());
        assert_eq!(world.clock.now().ticks_ms - before.ticks_ms, 3_601_000);
    }

    #[tokio::test(start_paused = true)]
    async fn work_of_other_tasks_is_waited_for_as_long_as_bytes_move() {
        let world = world();
        let worker = world.clone();
        let task = tokio::spawn(async move {
            for _ in 0..10 * QUIET_TURNS {
                worker.moved();
                tokio::task::yield_now().await;
            }
        });
        assert!(world.patiently(task).await.is_some());
    }
}
