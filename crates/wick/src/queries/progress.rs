//! How far a long look has come: one line on a terminal, on standard error.

use std::time::{Duration, Instant};

use queries::classes::Classes;
use queries::text::plural;

use crate::live_line::{LINE_EVERY, LiveLine};

/// Of a fingerprint so much is shown.
const LETTERS_MAX: usize = 60;

/// Tells what was counted, unless that was done a moment ago.
pub(crate) fn tell(shown: &mut LiveLine, classes: &Classes) {
    if shown.is_time() {
        shown.write(&line(classes));
    }
}

/// Waits, and tells how much of it is left.
pub(crate) async fn wait(window: Duration) {
    let (begun, mut progress) = (Instant::now(), LiveLine::default());
    while let Some(left) = window.checked_sub(begun.elapsed()).filter(|left| !left.is_zero()) {
        tokio::time::sleep(left.min(LINE_EVERY)).await;
        tell_watching(&mut progress, begun.elapsed(), window);
    }
}

/// Tells how much of a window is over.
pub(crate) fn tell_watching(shown: &mut LiveLine, past: Duration, window: Duration) {
    if shown.is_time() {
        let (past, all) = (past.as_secs(), window.as_secs());
        shown.write(&format!("watching: {past} of {all} s; Ctrl-C reports what was seen"));
    }
}

fn line(classes: &Classes) -> String {
    let ranked = classes.ranked();
    let queries = plural(classes.all.count, "query", "queries");
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
