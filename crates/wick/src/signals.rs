//! The signals that Wick heeds, heard from the first moment on.
//!
//! SIGINT and SIGTERM ask it to stop, SIGHUP to read its settings again, unless it came because
//! the terminal has ended; SIGUSR1 asks for new log files after the old ones were moved.
//!
//! Whoever starts something that must be stopped again listens first: from then on a
//! Ctrl-C waits until it is asked for, and doesn't end the process in the middle.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    Stop,
    Reload,
    /// The log files were moved.
    Reopen,
}

/// All of them.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    moved: Signal,
    /// None for a daemon.
    terminal: Option<Terminal>,
    /// Under nohup, which asked that the terminal's end be ignored.
    is_detached: bool,
}

/// The terminal that the process was started at.
#[derive(Clone, Copy, Debug)]
struct Terminal;

impl Terminal {
    fn find() -> Option<Self> {
        std::fs::File::open("/dev/tty").is_ok().then_some(Self)
    }
}

impl Signals {
    /// Listens from now on.
    pub(crate) fn listen() -> io::Result<Self> {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            moved: signal(SignalKind::user_defined1())?,
            terminal: Terminal::find(),
            is_detached: ignores_hangup(&status),
        })
    }

    /// Waits for the next of them; one that came before counts.
    pub(crate) async fn next(&mut self) -> Heard {
        loop {
            tokio::select! {
                _ = self.interrupt.recv() => return Heard::Stop,
                _ = self.terminate.recv() => return Heard::Stop,
                _ = self.moved.recv() => return Heard::Reopen,
                _ = self.hangup.recv() => {
                    let has_ended = self.terminal.is_some() && Terminal::find().is_none();
                    match (has_ended, self.is_detached) {
                        (true, true) => self.terminal = None,
                        (true, false) => return Heard::Stop,
                        (false, _) => return Heard::Reload,
                    }
                }
            }
        }
    }

    /// Waits for one that asks to stop.
    pub(crate) async fn stop(&mut self) {
        while self.next().await != Heard::Stop {}
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
