//! The signals that ask Wick to stop, heard from the first moment on.
//!
//! Whoever starts something that must be stopped again listens first: from then on a
//! Ctrl-C waits until it is asked for, and doesn't end the process in the middle.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Ctrl-C, a polite kill, and the end of the terminal.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// None under nohup, which asked that the terminal's end be ignored.
    hangup: Option<Signal>,
}

impl Signals {
    /// Listens from now on.
    pub(crate) fn listen() -> io::Result<Self> {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let hangup = match ignores_hangup(&status) {
            true => None,
            false => Some(signal(SignalKind::hangup())?),
        };
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup,
        })
    }

    /// Waits for the next of them; one that came before counts.
    pub(crate) async fn stop(&mut self) {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = hangup => {}
        }
    }
}

/// Whether the process was started with SIGHUP ignored: bit 0 of the mask.
fn ignores_hangup(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let last = mask.and_then(|mask| mask.trim().chars().last()?.to_digit(16));
    last.is_some_and(|digit| digit & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_tells_whether_the_end_of_the_terminal_is_ignored() {
        for (status, ignored) in [
            ("SigBlk:\t0000000000000001\nSigIgn:\t0000000000001000\n", false),
            ("SigIgn:\t0000000000001001\n", true),
            ("SigIgn:\t000000000000000f\n", true),
            ("", false),
        ] {
            assert_eq!(ignores_hangup(status), ignored, "{status}");
        }
    }
}
