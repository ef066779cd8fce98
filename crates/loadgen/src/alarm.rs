//! Waking at a moment, to some tens of microseconds.
//!
//! A runtime's own timers have steps of a millisecond, which is twenty arrivals at 20,000 a
//! second; a timer of the kernel's has none that matter here. But a thread that sleeps is woken
//! some tens of microseconds after its timer rang, on a virtual machine more: so the alarm is
//! set as much earlier as it was lately found to be late, and what is left is spent looking
//! whether an answer has come. Invariant: that is at most a quarter of a thread's time
//! ([`LEAD_OF_GAP`]), since a core that is taken from the target is in the target's figures.

use std::cell::Cell;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::unix::AsyncFd;
use tokio::task::yield_now;

/// The alarm is set at most so much too early.
const LEAD_MAX: Duration = Duration::from_micros(40);
/// And at most by this part of the time since the moment before.
const LEAD_OF_GAP: u32 = 4;
/// How fast the lead is learned. A lateness weighs three times as much, so that three of four
/// are in time.
const STEP: Duration = Duration::from_nanos(250);

/// One timer of the kernel's.
#[derive(Debug)]
pub(crate) struct Alarm {
    timer: AsyncFd<OwnedFd>,
    lead: Cell<Duration>,
}

impl Alarm {
    pub(crate) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        #[expect(
            deprecated,
            reason = "what it warns of are handles that are closed while registered; this one is \
                      owned, and the call that takes its place is unsafe"
        )]
        let timer = AsyncFd::new(timer)?;
        Ok(Self { timer, lead: Cell::default() })
    }

    /// Waits until that moment, `gap` after the one before it; at once if it is over.
    pub(crate) async fn until(&self, moment: Instant, gap: Duration) -> io::Result<()> {
        let lead = self.lead.get().min(gap / LEAD_OF_GAP);
        let early = moment.checked_sub(lead).unwrap_or(moment);
        let mut left = early.saturating_duration_since(Instant::now());
        while !left.is_zero() {
            self.set(left)?;
            // How often it rang is not read: setting it anew takes that back.
            self.timer.readable().await?.clear_ready();
            let now = Instant::now();
            left = early.saturating_duration_since(now);
            if left.is_zero() {
                self.lead.set(learned(self.lead.get(), now > moment));
            }
        }
        while Instant::now() < moment {
            // Answers that come meanwhile are read meanwhile.
            yield_now().await;
        }
        Ok(())
    }

    fn set(&self, left: Duration) -> io::Result<()> {
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let value = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        };
        let once = Itimerspec { it_interval: zero, it_value: value };
        timerfd_settime(self.timer.get_ref(), TimerfdTimerFlags::empty(), &once)?;
        Ok(())
    }
}

/// The lead after one more alarm.
fn learned(lead: Duration, was_late: bool) -> Duration {
    if was_late { (lead + 3 * STEP).min(LEAD_MAX) } else { lead.saturating_sub(STEP) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_rings_not_before_its_moment_and_again_when_set_again() {
        let alarm = Alarm::new().expect("a timer");
        for micros in [300, 0, 50, 2_000] {
            let moment = Instant::now() + Duration::from_micros(micros);
            alarm.until(moment, Duration::from_millis(1)).await.expect("it rings");
            assert!(Instant::now() >= moment);
        }
    }

    #[test]
    fn the_lead_is_as_long_as_three_of_four_need_and_no_longer() {
        // Who wakes takes 8 µs to 27 µs: three of four take less than 23 µs.
        let latencies = (0..10_000).map(|number| Duration::from_micros(8 + number * 7 % 20));
        let lead = latencies.fold(Duration::ZERO, |lead, late| learned(lead, late > lead));
        assert!((20..26).contains(&lead.as_micros()), "{lead:?}");
        let worst = (0..1_000).fold(Duration::ZERO, |lead, _| learned(lead, true));
        assert_eq!(worst, LEAD_MAX);
        assert_eq!(learned(Duration::ZERO, false), Duration::ZERO);
    }
}
