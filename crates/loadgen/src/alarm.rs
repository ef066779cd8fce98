//! Waking at a moment, to some tens of microseconds.
//!
//! A runtime's own timers have steps of a millisecond, which is twenty arrivals at 20,000 a
//! second; a timer of the kernel's has none that matter here.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::unix::AsyncFd;

/// One timer of the kernel's.
#[derive(Debug)]
pub(crate) struct Alarm {
    timer: AsyncFd<OwnedFd>,
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
        Ok(Self { timer })
    }

    /// Waits until that moment; at once if it is over.
    pub(crate) async fn until(&self, moment: Instant) -> io::Result<()> {
        loop {
            let left = moment.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            self.set(left)?;
            let mut ready = self.timer.readable().await?;
            let mut expirations = [0; 8];
            // What was read is only how often it rang; that nothing is there yet is no error.
            let read =
                ready.try_io(|timer| Ok(rustix::io::read(timer.get_ref(), &mut expirations)?));
            if let Ok(read) = read {
                read?;
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_rings_not_before_its_moment_and_again_when_set_again() {
        let alarm = Alarm::new().expect("a timer");
        for micros in [300, 0, 50, 2_000] {
            let moment = Instant::now() + Duration::from_micros(micros);
            alarm.until(moment).await.expect("it rings");
            assert!(Instant::now() >= moment);
        }
    }
}
