//! Where PHP was when a request took long: php-fpm's slow log, read and added up.
//!
//! In: the log's text as it grows. Out: for each place the requests that were found there.
//! These are samples of slow requests alone, one for each, taken once when it had taken as long
//! as the log's bound: they say where such requests are, and nothing of all others.
//! Bounds: [`PLACES_MAX`] places, each text cut at [`TEXT_BYTES_MAX`]; what has no place of its
//! own is counted.
//! Invariant: arguments of functions are not in the log, and so nowhere here.
//! Start at [`SlowLog::read`].

use std::collections::BTreeMap;

use serde::Serialize;

const PLACES_MAX: usize = 200;
const TEXT_BYTES_MAX: usize = 300;
/// Bytes of a line that has not ended yet.
const LINE_BYTES_MAX: usize = 4096;

/// Where requests were found.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// The script that was asked for.
    pub script: String,
    /// The function that worked, or waited.
    pub function: String,
    /// The file and line that called it.
    pub at: String,
    /// The function in which that line stands; empty: none.
    pub within: String,
}

/// A place, and how many requests were found there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Found {
    /// Where.
    #[serde(flatten)]
    pub place: Place,
    /// How many.
    pub requests: u64,
}

/// What was read of one slow log.
#[derive(Clone, Debug, Default)]
pub struct SlowLog {
    places: BTreeMap<Place, u64>,
    requests: u64,
    elsewhere: u64,
    /// A line's beginning.
    rest: String,
    /// The entry in hand: its script, and the functions from the top.
    script: String,
    frames: Vec<(String, String)>,
}

impl SlowLog {
    /// Reads what has come to the log.
    pub fn read(&mut self, text: &str) {
        for piece in text.split_inclusive('\n') {
            match piece.strip_suffix('\n') {
                Some(end) => {
                    let line = std::mem::take(&mut self.rest) + end;
                    self.line(line.trim_end_matches('\r'));
                }
                None if self.rest.len() + piece.len() <= LINE_BYTES_MAX => self.rest += piece,
                None => {}
            }
        }
    }

    /// Nothing has come for a while: the entry in hand is whole.
    pub fn settle(&mut self) {
        let (script, frames) = (std::mem::take(&mut self.script), std::mem::take(&mut self.frames));
        let Some((function, at)) = frames.first().cloned() else { return };
        let within = frames.get(1).map(|(function, _)| function.clone()).unwrap_or_default();
        self.requests += 1;
        let place = Place { script, function, at, within };
        let is_full = self.places.len() >= PLACES_MAX && !self.places.contains_key(&place);
        match is_full {
            true => self.elsewhere += 1,
            false => *self.places.entry(place).or_default() += 1,
        }
    }

    fn line(&mut self, line: &str) {
        if let Some(script) = line.strip_prefix("script_filename = ") {
            self.script = cut(script);
        } else if line.is_empty() || line.contains("] pid ") || line.contains("  [pool ") {
            self.settle();
        } else if let Some((_, frame)) = line.strip_prefix("[0x").and_then(|it| it.split_once("] "))
            && self.frames.len() < 2
        {
            let (function, at) = frame.split_once(' ').unwrap_or((frame, ""));
            self.frames.push((cut(function), cut(at)));
        }
    }

    /// All requests that were found anywhere.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Those of them that were at places for which there was no room.
    #[must_use]
    pub fn elsewhere(&self) -> u64 {
        self.elsewhere
    }

    /// Each place, those with most requests first.
    #[must_use]
    pub fn found(&self) -> Vec<Found> {
        let each = self.places.iter();
        let mut all: Vec<Found> =
            each.map(|(place, &requests)| Found { place: place.clone(), requests }).collect();
        all.sort_by_key(|found| std::cmp::Reverse(found.requests));
        all
    }
}

fn cut(text: &str) -> String {
    let shown = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
    shown.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\n[22-Nov-2026 14:30:56]  [pool wick-0f] pid 99\n\
        script_filename = /srv/index.php\n\
        [0x00007f1d0c8130f0] mysqli_query() /srv/db.php:88\n\
        [0x00007f1d0c813080] fetch() /srv/db.php:40\n\
        [0x00007f1d0c813010] main() /srv/index.php:3\n\n\
        [22-Nov-2026 14:30:58]  [pool wick-0f] pid 98\n\
        script_filename = /srv/index.php\n\
        [0x00007f1d0c8130f0] mysqli_query() /srv/db.php:88\n\
        [0x00007f1d0c813080] fetch() /srv/db.php:40\n\n\
        [22-Nov-2026 14:30:59]  [pool wick-0f] pid 97\n\
        script_filename = /srv/cron.php\n\
        [0x00007f1d0c8130f0] [INCLUDE_OR_EVAL]() /srv/cron.php:1\n";

    fn told(log: &SlowLog) -> Vec<String> {
        let each = log.found().into_iter().map(|found| {
            let Place { script, function, at, within } = found.place;
            format!("{} {script} {function} {at} {within}", found.requests)
        });
        each.collect()
    }

    #[test]
    fn requests_are_added_up_by_where_they_were_however_the_log_comes() {
        let expected = [
            "2 /srv/index.php mysqli_query() /srv/db.php:88 fetch()",
            "1 /srv/cron.php [INCLUDE_OR_EVAL]() /srv/cron.php:1 ",
        ];
        for cut in 1..LOG.len() {
            let mut log = SlowLog::default();
            log.read(&LOG[..cut]);
            log.read(&LOG[cut..]);
            log.settle();
            log.settle();
            assert_eq!(told(&log), expected, "cut at {cut}");
            assert_eq!((log.requests(), log.elsewhere()), (3, 0));
        }
    }

    #[test]
    fn whatever_stands_in_a_log_takes_a_bounded_room() {
        let mut log = SlowLog::default();
        for number in 0..1000 {
            log.read(&format!("[x] pid 1\nscript_filename = /a\n[0x1] f{number}() /a:1\n"));
        }
        log.read("[0x1] [0x2]\n[0x\n]] pid \n\u{1b}[2J\n");
        log.read(&"é".repeat(100_000));
        log.settle();
        assert_eq!(log.found().len(), PLACES_MAX);
        assert_eq!((log.requests(), log.elsewhere()), (1000, 800));
        assert!(log.rest.len() <= LINE_BYTES_MAX);
    }
}
