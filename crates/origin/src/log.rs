//! Lines that an application or php-fpm wants logged, at a bounded rate.
//!
//! Invariant: at most [`LINES_A_SECOND`] lines a second reach the sink, however
//! much an application complains; what was left out is counted and said.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::Counters;

/// Where lines go.
pub type LogSink = Arc<dyn Fn(&str) + Send + Sync>;

/// The most lines that reach the sink in one second.
const LINES_A_SECOND: u64 = 50;
/// The most of one line that is shown.
const LINE_BYTES_MAX: usize = 2_000;

/// A sink with a bound before it.
#[derive(Clone)]
pub struct Log {
    sink: LogSink,
    window: Arc<Mutex<Window>>,
    counters: Arc<Counters>,
}

struct Window {
    start: Option<Instant>,
    lines: u64,
    dropped: u64,
}

impl Log {
    /// A log before `sink`.
    pub(crate) fn new(sink: LogSink, counters: Arc<Counters>) -> Self {
        let window = Window { start: None, lines: 0, dropped: 0 };
        Self { sink, window: Arc::new(Mutex::new(window)), counters }
    }

    /// The sink that writes to standard error.
    #[must_use]
    pub fn standard_error() -> LogSink {
        Arc::new(|line| base::complaint::write(format_args!("{line}")))
    }

    /// Logs every line of `text`.
    pub(crate) fn text(&self, prefix: &str, text: &[u8]) {
        for line in text.split(|&b| b == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if !line.is_empty() {
                self.line(prefix, line);
            }
        }
    }

    fn line(&self, prefix: &str, line: &[u8]) {
        let skipped = {
            let mut window = self.window.lock();
            let now = Instant::now();
            let is_new = window
                .start
                .is_none_or(|start| now.duration_since(start) >= Duration::from_secs(1));
            if is_new {
                window.start = Some(now);
                window.lines = 0;
            }
            if window.lines >= LINES_A_SECOND {
                window.dropped += 1;
                self.counters.log_lines_dropped.bump();
                return;
            }
            window.lines += 1;
            std::mem::take(&mut window.dropped)
        };
        if skipped > 0 {
            (self.sink)(&format!("{prefix}: {skipped} lines left out"));
        }
        let shown = String::from_utf8_lossy(&line[..line.len().min(LINE_BYTES_MAX)]);
        // What visitors can put into a log must not move a terminal's cursor.
        let safe: String = shown.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        (self.sink)(&format!("{prefix}: {safe}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_flood_is_cut_and_the_cut_is_said_once_it_ebbs() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let sink = {
            let lines = lines.clone();
            Arc::new(move |line: &str| lines.lock().push(line.to_owned()))
        };
        let log = Log::new(sink, Arc::default());
        (0..60).for_each(|number| log.text("php", format!("line {number}\r\n\n").as_bytes()));
        assert_eq!(lines.lock().len(), 50);
        tokio::time::advance(Duration::from_secs(1)).await;
        log.text("php", b"bell \x07 and\x1b[2J");
        assert_eq!(lines.lock()[50..], ["php: 10 lines left out", "php: bell   and [2J"]);
        assert_eq!(log.counters.log_lines_dropped.read(), 10);
    }
}
