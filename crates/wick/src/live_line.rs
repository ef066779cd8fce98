//! One line on a terminal that is written anew while something takes its time.
//!
//! On standard error, and only where that is a terminal.

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

/// How often it is written.
pub(crate) const LINE_EVERY: Duration = Duration::from_secs(1);

/// A line that is written anew, and cleared in the end unless it is kept.
pub(crate) struct LiveLine {
    shows: bool,
    due: Instant,
    has_text: bool,
}

impl Default for LiveLine {
    fn default() -> Self {
        let due = Instant::now() + LINE_EVERY;
        Self { shows: stderr().is_terminal(), due, has_text: false }
    }
}

impl LiveLine {
    /// Whether it is to be written: once a second.
    pub(crate) fn is_time(&mut self) -> bool {
        let now = Instant::now();
        if !self.shows || now < self.due {
            return false;
        }
        // Those that were missed are not made up for.
        while self.due <= now {
            self.due += LINE_EVERY;
        }
        true
    }

    /// Writes the line in the place of the one before, which may have been longer.
    pub(crate) fn write(&mut self, line: &str) {
        self.has_text = true;
        put(&format!("\r{line}\x1b[K"));
    }

    /// Leaves the last line where it is.
    pub(crate) fn keep(mut self) {
        if std::mem::take(&mut self.has_text) {
            put("\n");
        }
    }
}

impl Drop for LiveLine {
    fn drop(&mut self) {
        if self.has_text {
            put("\r\x1b[K");
        }
    }
}

/// Who can't be told how far it is will be told what came of it.
fn put(text: &str) {
    let _ = stderr().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_time_once_a_second_and_what_was_missed_is_not_made_up_for() {
        let now = Instant::now();
        let mut line = LiveLine { shows: true, due: now, has_text: false };
        line.due = now.checked_sub(LINE_EVERY * 5).unwrap_or(now);
        assert!(line.is_time());
        assert!(!line.is_time());
        line.shows = false;
        line.due = now;
        assert!(!line.is_time(), "nobody looks");
    }
}
