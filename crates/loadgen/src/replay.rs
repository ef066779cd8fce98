//! What came once, played again: its requests, in its order, with its arrivals.
//!
//! In: lines of an access log in the combined format or the common one, or what a history
//! tells. Out: requests and their moments since the first. A log tells seconds only: the
//! requests of one second are spread evenly over it.
//! Invariants: 1. Only GET and HEAD are played, as a log has no bodies; what is left out is
//! counted. 2. A log is read line by line, and at most [`REQUESTS_MAX`] of them are played, so
//! that memory is bounded.

use std::io::{self, BufRead, Read};
use std::time::Duration;

use crate::recorded::{Moments, REQUESTS_MAX, Recorded, Recorder, Seconds};
use crate::target::Target;

/// A line that is longer is left out.
const LINE_BYTES_MAX: u64 = 64 << 10;

/// Why a log can't be played.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// Not a single line of it.
    #[error("no line is a GET or HEAD in the combined or common log format, as in: {EXAMPLE}")]
    Nothing,
    /// Nothing came in that time.
    #[error("it tells of no GET or HEAD in that time: name a longer one with --since")]
    Empty,
    /// It can't be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Nor a speed.
    #[error("the speed has to be above 0, as in 2x")]
    Speed,
}

const EXAMPLE: &str = "192.0.2.1 - - [10/Oct/2025:13:55:36 +0000] \"GET /news HTTP/1.1\" 200 2326";

/// A log, ready to be played.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The different requests.
    pub recorded: Recorded,
    /// When which of them is made, since the beginning.
    pub moments: Moments,
    /// Lines left out: other methods, other formats, and those above the maximum.
    pub left_out: u64,
}

/// One request of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival<'a> {
    /// When it came, in milliseconds since any moment.
    pub at_ms: u64,
    /// Its method.
    pub method: &'a str,
    /// Its path.
    pub path: &'a str,
}

/// Reads a log; at `speed` 2 an hour of it takes half an hour.
///
/// # Errors
/// There is nothing to play in it, or it can't be read.
pub fn read(mut log: impl BufRead, speed: f64, target: &Target) -> Result<Replay, ReplayError> {
    check(speed)?;
    let mut numbered = Numbered::new(target);
    let (mut lines, mut line) = (Seconds::new(), Vec::new());
    while next_line(&mut log, &mut line)? {
        let text = String::from_utf8_lossy(&line);
        match read_line(&text).filter(|_| lines.len() < REQUESTS_MAX) {
            Some((second, method, path)) => {
                if let Some(number) = numbered.number(method, path) {
                    lines.push(second, number);
                }
            }
            None => numbered.left_out += u64::from(!text.trim().is_empty()),
        }
    }
    if lines.len() == 0 {
        return Err(ReplayError::Nothing);
    }
    let Numbered { recorder, left_out, .. } = numbered;
    // What only served to find what is told twice is gone before the lines are sorted.
    let recorded = recorder.finish();
    Ok(Replay { recorded, moments: lines.spread(speed), left_out })
}

/// Reads a line, or as much of it as is allowed, and goes on to the next; whether there was one.
fn next_line(log: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let length = log.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', line)?;
    let mut is_cut = length as u64 == LINE_BYTES_MAX && !line.ends_with(b"\n");
    if is_cut {
        // Half a line could look like one of another path.
        line.clear();
        line.push(b'-');
    }
    while is_cut {
        let some = log.fill_buf()?;
        let end = some.iter().position(|byte| *byte == b'\n');
        is_cut = end.is_none() && !some.is_empty();
        let taken = end.map_or(some.len(), |end| end + 1);
        log.consume(taken);
    }
    Ok(length > 0)
}

/// The same of arrivals that are told in their order.
///
/// # Errors
/// There is nothing to play in it.
pub fn of_arrivals<'a>(
    arrivals: impl IntoIterator<Item = Arrival<'a>>,
    speed: f64,
    target: &Target,
) -> Result<Replay, ReplayError> {
    check(speed)?;
    let mut numbered = Numbered::new(target);
    let mut moments = Moments::default();
    let mut first = None;
    for Arrival { at_ms, method, path } in arrivals {
        if !is_played(method, path) || moments.len() >= REQUESTS_MAX {
            numbered.left_out += 1;
            continue;
        }
        let since = at_ms.saturating_sub(*first.get_or_insert(at_ms));
        let at = Duration::try_from_secs_f64(since as f64 / 1000.0 / speed);
        if let Some(number) = numbered.number(method, path) {
            moments.push(at.unwrap_or(Duration::MAX), number);
        }
    }
    if moments.is_empty() {
        return Err(ReplayError::Empty);
    }
    let Numbered { recorder, left_out, .. } = numbered;
    Ok(Replay { recorded: recorder.finish(), moments, left_out })
}

fn check(speed: f64) -> Result<(), ReplayError> {
    if speed > 0.0 && speed.is_finite() { Ok(()) } else { Err(ReplayError::Speed) }
}

/// The different requests, each kept once.
struct Numbered<'a> {
    target: &'a Target,
    recorder: Recorder,
    left_out: u64,
}

impl<'a> Numbered<'a> {
    fn new(target: &'a Target) -> Self {
        Self { target, recorder: Recorder::default(), left_out: 0 }
    }

    /// The number of a request; none of one that can't be sent to the target, or has no room.
    fn number(&mut self, method: &str, path: &str) -> Option<u32> {
        let path = self.target.path_here(path).ok();
        let number = path.and_then(|path| self.recorder.number(method == "HEAD", &path));
        self.left_out += u64::from(number.is_none());
        number
    }
}

/// Reads `2x`, or `2`.
///
/// # Errors
/// It is no speed.
pub fn parse_speed(text: &str) -> Result<f64, ReplayError> {
    let number = text.strip_suffix('x').unwrap_or(text).parse::<f64>();
    let speed = number.map_err(|_| ReplayError::Speed)?;
    check(speed).map(|()| speed)
}

/// The second, the method and the target of a line that can be played.
fn read_line(line: &str) -> Option<(i64, &str, &str)> {
    let (_, rest) = line.split_once('[')?;
    let (date, rest) = rest.split_once(']')?;
    let (_, rest) = rest.split_once('"')?;
    let (request, _) = rest.split_once('"')?;
    let (method, rest) = request.split_once(' ')?;
    let path = rest.split_once(' ').map_or(rest, |(path, _)| path);
    Some((read_date(date)?, method, path)).filter(|_| is_played(method, path))
}

fn is_played(method: &str, path: &str) -> bool {
    matches!(method, "GET" | "HEAD") && path.starts_with('/')
}

/// Seconds since 1970 of `10/Oct/2025:13:55:36 +0200`.
fn read_date(text: &str) -> Option<i64> {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let (date, zone) = text.split_once(' ')?;
    let mut parts = date.split(['/', ':']);
    let mut part = || parts.next();
    let day: i64 = part()?.parse().ok()?;
    let month = part().filter(|name| name.len() == 3)?;
    let month = MONTHS.find(month).filter(|at| at % 3 == 0)? as i64 / 3 + 1;
    let year: i64 = part()?.parse().ok()?;
    let mut number = || part()?.parse::<i64>().ok();
    let (hour, minute, second) = (number()?, number()?, number()?);
    let (sign, zone) = (zone.get(..1)?, zone.get(1..5)?.parse::<i64>().ok()?);
    let offset = (zone / 100 * 60 + zone % 100) * 60 * if sign == "-" { -1 } else { 1 };
    if !(1970..=9999).contains(&year) || !(1..=31).contains(&day) {
        return None;
    }
    // Days of the civil calendar, with years that begin in March.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    Some((days - 719_468) * 86_400 + hour * 3_600 + minute * 60 + second - offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
192.0.2.1 - - [10/Oct/2025:13:55:36 +0200] \"GET /a HTTP/1.1\" 200 2326 \"-\" \"curl\"
192.0.2.2 - ann [10/Oct/2025:13:55:36 +0200] \"GET /b?c=\\x22 HTTP/1.1\" 404 9
192.0.2.2 - - [10/Oct/2025:13:55:39 +0200] \"GET /a HTTP/2.0\" 200 2326 \"-\" \"x\"
192.0.2.2 - - [10/Oct/2025:13:55:38 +0200] \"HEAD /a HTTP/1.1\" 200 0
192.0.2.2 - - [10/Oct/2025:13:55:38 +0200] \"POST /a HTTP/1.1\" 200 0
a line of something else
";

    fn replay(log: &str, speed: f64) -> Result<Replay, ReplayError> {
        let (target, _) = Target::parse("http://127.0.0.1:81/").expect("an address");
        read(log.as_bytes(), speed, &target)
    }

    #[test]
    fn requests_come_in_their_order_with_their_gaps() {
        let replay = replay(LOG, 2.0).expect("a log");
        let expected = ["0 GET /a", "0.25 GET /b?c=\\x22", "1 HEAD /a", "1.5 GET /a"];
        assert_eq!(played(&replay), expected);
        assert_eq!((replay.recorded.len(), replay.left_out), (3, 2));
    }

    fn played(replay: &Replay) -> Vec<String> {
        let moments = (0..).map_while(|place| replay.moments.at(place));
        let played = moments.map(|(at, number)| {
            let wanted = replay.recorded.wanted(number);
            format!("{} {} {}", at.as_secs_f64(), wanted.method, wanted.path)
        });
        played.collect()
    }

    #[test]
    fn a_line_without_end_is_left_out_and_the_next_one_played() {
        let first = LOG.lines().next().unwrap_or_default();
        let cut = usize::try_from(LINE_BYTES_MAX).expect("a number");
        for length in [cut - 1, cut, cut + 1, 5 * cut] {
            // It would be one if it ended where it is cut.
            let long = format!("{first}{}", "x".repeat(length - first.len()));
            for log in [format!("{long}\n{first}\n"), format!("{first}\n{long}")] {
                let replay = replay(&log, 1.0).expect("a log");
                let left_out = u64::from(length >= cut);
                let told = (replay.moments.len() as u64, replay.left_out);
                assert_eq!(told, (2 - left_out, left_out), "{length}");
            }
        }
    }

    #[test]
    fn arrivals_keep_their_milliseconds() {
        let (target, _) = Target::parse("http://127.0.0.1:81/").expect("an address");
        let arrival = |at_ms, method, path| Arrival { at_ms, method, path };
        let all = [
            arrival(5_000_100, "POST", "/a"),
            arrival(5_000_200, "GET", "/a"),
            arrival(5_000_700, "HEAD", "/a"),
            arrival(5_001_200, "GET", "/a"),
        ];
        let replay = of_arrivals(all, 2.0, &target).expect("arrivals");
        let expected = ["0 GET /a", "0.25 HEAD /a", "0.5 GET /a"];
        assert_eq!((played(&replay), replay.left_out), (expected.map(str::to_owned).into(), 1));
        let nothing = of_arrivals([arrival(1, "POST", "/a")], 1.0, &target);
        assert!(matches!(nothing, Err(ReplayError::Empty)));
    }

    #[test]
    fn dates_are_read_in_all_zones() {
        for (text, expected) in [
            ("10/Oct/2000:13:55:36 -0700", Some(971_211_336)),
            ("01/Jan/1970:00:00:00 +0000", Some(0)),
            ("29/Feb/2024:23:59:59 +0100", Some(1_709_247_599)),
            ("10/anF/2000:13:55:36 -0700", None),
            ("yesterday", None),
        ] {
            assert_eq!(read_date(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_log_is_told() {
        assert!(matches!(replay("a\nb\n", 1.0), Err(ReplayError::Nothing)));
        assert!(matches!(replay(LOG, 0.0), Err(ReplayError::Speed)));
        assert_eq!(parse_speed("2.5x").ok(), Some(2.5));
        assert!(parse_speed("x").is_err() && parse_speed("-1").is_err());
    }
}
