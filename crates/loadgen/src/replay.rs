//! What came once, played again: its requests, in its order, with its arrivals.
//!
//! In: lines of an access log in the combined format or the common one, or what a history
//! tells. Out: requests and their moments since the first. A log tells seconds only: the
//! requests of one second are spread evenly over it.
//! Invariants: 1. Only GET and HEAD are played, as a log has no bodies; what is left out is
//! counted. 2. At most [`LINES_MAX`] lines are played, so that memory is bounded.

use std::collections::HashMap;
use std::time::Duration;

use crate::request::{Request, RequestError, Wanted};
use crate::target::Target;

/// Requests of a log.
pub const LINES_MAX: usize = 1_000_000;

/// Why a log can't be played.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// Not a single line of it.
    #[error("no line is a GET or HEAD in the combined or common log format, as in: {EXAMPLE}")]
    Nothing,
    /// Nothing came in that time.
    #[error("it tells of no GET or HEAD in that time: name a longer one with --since")]
    Empty,
    /// One of its requests can't be sent.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// Nor a speed.
    #[error("the speed has to be above 0, as in 2x")]
    Speed,
}

const EXAMPLE: &str = "192.0.2.1 - - [10/Oct/2025:13:55:36 +0000] \"GET /news HTTP/1.1\" 200 2326";

/// A log, ready to be played.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The different requests.
    pub requests: Vec<Request>,
    /// When which of them is made, since the beginning.
    pub moments: Vec<(Duration, u32)>,
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
/// There is nothing to play in it.
pub fn parse(log: &str, speed: f64, target: &Target, keeps: bool) -> Result<Replay, ReplayError> {
    check(speed)?;
    let mut numbered = Numbered::new(target, keeps);
    let mut lines = Vec::new();
    for line in log.lines() {
        let read = read_line(line).filter(|_| lines.len() < LINES_MAX);
        match read {
            Some((second, method, path)) => {
                lines.extend(numbered.number(method, path)?.map(|number| (second, number)));
            }
            None => numbered.left_out += u64::from(!line.trim().is_empty()),
        }
    }
    // Servers write a line when a request is over; those that took longer come later.
    lines.sort_by_key(|(second, _)| *second);
    let first = lines.first().ok_or(ReplayError::Nothing)?.0;
    let mut moments = Vec::with_capacity(lines.len());
    for same in lines.chunk_by(|one, other| one.0 == other.0) {
        for (place, (second, number)) in same.iter().enumerate() {
            let seconds = (second - first) as f64 + place as f64 / same.len() as f64;
            moments.push((Duration::from_secs_f64(seconds / speed), *number));
        }
    }
    Ok(Replay { requests: numbered.requests, moments, left_out: numbered.left_out })
}

/// The same of arrivals that are told in their order.
///
/// # Errors
/// There is nothing to play in it.
pub fn of_arrivals<'a>(
    arrivals: impl IntoIterator<Item = Arrival<'a>>,
    speed: f64,
    target: &Target,
    keeps: bool,
) -> Result<Replay, ReplayError> {
    check(speed)?;
    let mut numbered = Numbered::new(target, keeps);
    let mut moments = Vec::new();
    let mut first = None;
    for Arrival { at_ms, method, path } in arrivals {
        if !is_played(method, path) || moments.len() >= LINES_MAX {
            numbered.left_out += 1;
            continue;
        }
        let since = at_ms.saturating_sub(*first.get_or_insert(at_ms));
        let at = Duration::from_secs_f64(since as f64 / 1000.0 / speed);
        moments.extend(numbered.number(method, path)?.map(|number| (at, number)));
    }
    if moments.is_empty() {
        return Err(ReplayError::Empty);
    }
    Ok(Replay { requests: numbered.requests, moments, left_out: numbered.left_out })
}

fn check(speed: f64) -> Result<(), ReplayError> {
    if speed > 0.0 && speed.is_finite() { Ok(()) } else { Err(ReplayError::Speed) }
}

/// The different requests, each made once.
struct Numbered<'told, 'target> {
    target: &'target Target,
    keeps: bool,
    requests: Vec<Request>,
    numbers: HashMap<(&'told str, &'told str), u32>,
    left_out: u64,
}

impl<'told, 'target> Numbered<'told, 'target> {
    fn new(target: &'target Target, keeps: bool) -> Self {
        Self { target, keeps, requests: Vec::new(), numbers: HashMap::new(), left_out: 0 }
    }

    /// The number of a request; none of one that can't be sent to the target.
    fn number(&mut self, method: &'told str, path: &'told str) -> Result<Option<u32>, ReplayError> {
        if let Some(number) = self.numbers.get(&(method, path)) {
            return Ok(Some(*number));
        }
        let Ok(clean) = self.target.path_here(path) else {
            self.left_out += 1;
            return Ok(None);
        };
        let wanted = Wanted { method: method.to_owned(), ..Wanted::get(clean) };
        self.requests.push(Request::new(wanted, self.target, self.keeps)?);
        let number = u32::try_from(self.requests.len() - 1).unwrap_or(u32::MAX);
        self.numbers.insert((method, path), number);
        Ok(Some(number))
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
        parse(log, speed, &target, true)
    }

    #[test]
    fn requests_come_in_their_order_with_their_gaps() {
        let replay = replay(LOG, 2.0).expect("a log");
        let played: Vec<_> = replay
            .moments
            .iter()
            .map(|(at, number)| {
                let wanted = &replay.requests[*number as usize].wanted;
                format!("{} {} {}", at.as_secs_f64(), wanted.method, wanted.path)
            })
            .collect();
        assert_eq!(played, ["0 GET /a", "0.25 GET /b?c=\\x22", "1 HEAD /a", "1.5 GET /a"]);
        assert_eq!((replay.requests.len(), replay.left_out), (3, 2));
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
        let replay = of_arrivals(all, 2.0, &target, true).expect("arrivals");
        let milliseconds = |(at, number): &(Duration, u32)| (at.as_millis(), *number);
        let moments: Vec<_> = replay.moments.iter().map(milliseconds).collect();
        assert_eq!((moments, replay.left_out), (vec![(0, 0), (250, 1), (500, 0)], 1));
        let nothing = of_arrivals([arrival(1, "POST", "/a")], 1.0, &target, true);
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
