//! How far a long look has come: one line on a terminal, on standard error.

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

use queries::classes::Classes;

/// How often the line is written anew.
const LINE: Duration = Duration::from_secs(1);
/// Of a fingerprint so much is shown.
const LETTERS_MAX: usize = 60;

/// A line that is written anew, and cleared in the end.
pub(crate) struct Progress {
    shows: bool,
    told: Instant,
    has_line: bool,
}

impl Default for Progress {
    fn default() -> Self {
        Self { shows: stderr().is_terminal(), told: Instant::now(), has_line: false }
    }
}

impl Progress {
    /// Tells what was counted, unless that was done a moment ago.
    pub(crate) fn told_of(&mut self, classes: &Classes) {
        if self.is_time() {
            self.write(&line(classes));
        }
    }

    fn is_time(&mut self) -> bool {
        let is_time = self.shows && self.told.elapsed() >= LINE;
        if is_time {
            self.told = Instant::now();
        }
        is_time
    }

    fn write(&mut self, line: &str) {
        self.has_line = true;
        // Who can't be told how far it is will be told what came of it.
        let _ = stderr().write_all(format!("\r{line}\x1b[K").as_bytes());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.has_line {
            self.write("\r");
        }
    }
}

/// Waits, and tells how much of it is left.
pub(crate) async fn wait(window: Duration) {
    let (begun, mut progress) = (Instant::now(), Progress::default());
    while let Some(left) = window.checked_sub(begun.elapsed()).filter(|left| !left.is_zero()) {
        tokio::time::sleep(left.min(LINE)).await;
        if progress.is_time() {
            let (past, all) = (begun.elapsed().as_secs(), window.as_secs());
            progress.write(&format!("watching: {past} of {all} s; Ctrl-C reports what was seen"));
        }
    }
}

fn line(classes: &Classes) -> String {
    let ranked = classes.ranked();
    let queries = match classes.all.count {
        1 => "1 query".to_owned(),
        many => format!("{many} queries"),
    };
    let seconds = queries::report::seconds(classes.all.nanoseconds);
    let first = ranked.first().map_or_else(String::new, |class| {
        let words: String = class.fingerprint.chars().take(LETTERS_MAX).collect();
        format!("; most: {}", words.replace(char::is_control, " "))
    });
    format!("{queries}, {seconds:.1} s, different ones {}{first}", ranked.len())
}

#[cfg(test)]
mod tests {
    use queries::query::Query;
    use queries::tokens::Dialect;

    use super::*;

    #[test]
    fn a_line_tells_what_was_counted_and_what_took_most() {
        let mut classes = Classes::default();
        assert_eq!(line(&classes), "0 queries, 0.0 s, different ones 0");
        for (statement, seconds) in [("select a from b where c = 1", 1), ("select `x\ny`", 3)] {
            let mut query = Query::new(statement.as_bytes(), Dialect::MySql);
            query.nanoseconds = seconds * 1_000_000_000;
            classes.take(&query);
        }
        assert_eq!(line(&classes), "2 queries, 4.0 s, different ones 2; most: select `x y`");
    }
}
