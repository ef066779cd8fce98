//! When requests are to begin: patterns of rates, and the moments that follow from them.
//!
//! In: `500:30` (a rate for some seconds), `1-250:60` (a ramp, as blitz writes it), or several
//! with commas between them. Out: the moment of each arrival, in order.
//! Invariants: 1. The moments depend on the pattern alone, never on what the target does.
//! 2. Several threads that take every n-th arrival have together exactly the arrivals of one.

use std::time::Duration;

/// More arrivals in a second are asked of no run.
pub const RATE_MAX: f64 = 1_000_000.0;
/// A pattern has at most this many segments.
const SEGMENTS_MAX: usize = 1_000;
const SECONDS_MAX: f64 = 366.0 * 86_400.0;

/// A stretch of time in which the rate is the same, or goes evenly from one to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// Arrivals a second at its beginning.
    pub from: f64,
    /// Arrivals a second at its end.
    pub to: f64,
    /// How long it is.
    pub seconds: f64,
}

impl Segment {
    fn arrivals(&self) -> f64 {
        f64::midpoint(self.from, self.to) * self.seconds
    }

    /// When so many arrivals of this segment are over: the integral of the rate, turned round.
    fn moment(&self, arrivals: f64) -> f64 {
        let slope = (self.to - self.from) / self.seconds;
        // The form of the quadratic's root that loses no digits where the slope is small.
        let root = (self.from * self.from + 2.0 * slope * arrivals).max(0.0).sqrt();
        if arrivals <= 0.0 { 0.0 } else { 2.0 * arrivals / (self.from + root) }
    }
}

/// What a text that is no pattern lacks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// Not of the form.
    #[error(
        "\"{0}\" is not a pattern: write RATE:SECONDS or FROM-TO:SECONDS, as in 1-250:60, with commas between several"
    )]
    Form(String),
    /// Of the form, and more than is sent.
    #[error("\"{0}\" is too much: at most 1000000 requests a second, a year, and 1000 segments")]
    TooMuch(String),
    /// No arrival at all.
    #[error("\"{0}\" has no request in it: write a rate above 0")]
    Nothing(String),
}

/// Rates over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    segments: Vec<Segment>,
}

impl Pattern {
    /// One rate, in requests a second, for so long.
    ///
    /// # Errors
    /// The rate or the time is nothing, or too much.
    pub fn fixed(rate: f64, time: Duration) -> Result<Self, PatternError> {
        let seconds = time.as_secs_f64();
        let shown = format!("{rate}:{seconds}");
        Self::of(vec![Segment { from: rate, to: rate, seconds }], &shown)
    }

    /// Reads a pattern as it is written on the command line.
    ///
    /// # Errors
    /// It isn't one; the message says how to write it.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        let wrong = || PatternError::Form(text.to_owned());
        let mut segments = Vec::new();
        for part in text.split(',').take(SEGMENTS_MAX + 1) {
            let (rates, seconds) = part.trim().split_once(':').ok_or_else(wrong)?;
            let (from, to) = rates.split_once('-').unwrap_or((rates, rates));
            let number = |text: &str| -> Option<f64> {
                let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
                text.parse().ok().filter(|_| plain)
            };
            let seconds = seconds.strip_suffix('s').unwrap_or(seconds);
            let read = number(from).zip(number(to)).zip(number(seconds));
            let ((from, to), seconds) = read.ok_or_else(wrong)?;
            segments.push(Segment { from, to, seconds });
        }
        Self::of(segments, text)
    }

    fn of(segments: Vec<Segment>, shown: &str) -> Result<Self, PatternError> {
        let pattern = Self { segments };
        let is_finite = |one: &Segment| {
            (0.0..=RATE_MAX).contains(&one.from)
                && (0.0..=RATE_MAX).contains(&one.to)
                && (0.0..=SECONDS_MAX).contains(&one.seconds)
        };
        let seconds = pattern.segments.iter().map(|one| one.seconds).sum::<f64>();
        let few = pattern.segments.len() <= SEGMENTS_MAX && seconds <= SECONDS_MAX;
        if !few || !pattern.segments.iter().all(is_finite) {
            return Err(PatternError::TooMuch(shown.to_owned()));
        }
        if pattern.requests() == 0 {
            return Err(PatternError::Nothing(shown.to_owned()));
        }
        Ok(pattern)
    }

    /// How many requests there are in all.
    #[must_use]
    pub fn requests(&self) -> u64 {
        // What rounding adds to a sum of products is no request.
        (self.segments.iter().map(Segment::arrivals).sum::<f64>() - 1e-6).ceil().max(0.0) as u64
    }

    /// The highest rate, in requests a second.
    #[must_use]
    pub fn peak(&self) -> f64 {
        self.segments.iter().fold(0.0, |peak, one| peak.max(one.from).max(one.to))
    }

    /// How long it lasts.
    #[must_use]
    pub fn time(&self) -> Duration {
        Duration::from_secs_f64(self.segments.iter().map(|one| one.seconds).sum())
    }

    /// Every `step`-th arrival beginning with number `first`, as times since the beginning.
    #[must_use]
    pub fn arrivals(&self, first: u64, step: u64) -> Arrivals {
        Arrivals {
            segments: self.segments.clone(),
            segment: 0,
            number: first,
            step: step.max(1),
            end: self.requests(),
            arrivals_before: 0.0,
            seconds_before: 0.0,
        }
    }
}

/// The moments of a pattern; see [`Pattern::arrivals`].
#[derive(Clone, Debug)]
pub struct Arrivals {
    segments: Vec<Segment>,
    segment: usize,
    number: u64,
    step: u64,
    end: u64,
    arrivals_before: f64,
    seconds_before: f64,
}

impl Iterator for Arrivals {
    type Item = (u64, Duration);

    fn next(&mut self) -> Option<Self::Item> {
        if self.number >= self.end {
            return None;
        }
        let number = self.number;
        self.number += self.step;
        while let [first, rest @ ..] = &self.segments[self.segment..] {
            let within = number as f64 - self.arrivals_before;
            if within < first.arrivals() || rest.is_empty() {
                let seconds = self.seconds_before + first.moment(within).min(first.seconds);
                return Some((number, Duration::from_secs_f64(seconds)));
            }
            self.arrivals_before += first.arrivals();
            self.seconds_before += first.seconds;
            self.segment += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(text: &str) -> Vec<f64> {
        let pattern = Pattern::parse(text).expect("a pattern");
        pattern.arrivals(0, 1).map(|(_, at)| at.as_secs_f64()).collect()
    }

    #[test]
    fn a_fixed_rate_has_even_gaps() {
        assert_eq!(moments("4:1"), [0.0, 0.25, 0.5, 0.75]);
        let pattern = Pattern::fixed(20_000.0, Duration::from_secs(10)).expect("a pattern");
        assert_eq!(pattern.requests(), 200_000);
        let last = pattern.arrivals(0, 1).last().expect("arrivals");
        assert_eq!(last.0, 199_999);
        assert!((last.1.as_secs_f64() - 9.99995).abs() < 1e-6, "{last:?}");
    }

    #[test]
    fn a_ramp_begins_slowly_and_has_the_area_under_it() {
        // blitz's own example: from 1 to 250 in a minute.
        let pattern = Pattern::parse("1-250:60").expect("a pattern");
        assert_eq!((pattern.requests(), pattern.peak()), (7_530, 250.0));
        let all = moments("1-250:60");
        assert_eq!(all.len(), 7_530);
        let within = |from: f64, to: f64| all.iter().filter(|&&at| at >= from && at < to).count();
        assert!((3..=5).contains(&within(0.0, 1.0)), "{}", within(0.0, 1.0));
        assert!((247..=250).contains(&within(59.0, 60.0)), "{}", within(59.0, 60.0));
        assert!(all.is_sorted());
    }

    #[test]
    fn steps_follow_each_other() {
        let all = moments("1:2,10:1,0:3,2:1s");
        assert_eq!(all.len(), 14);
        assert_eq!(all[..3], [0.0, 1.0, 2.0]);
        assert_eq!(all[12..], [6.0, 6.5], "nothing comes while the rate is 0");
    }

    #[test]
    fn a_ramp_down_to_nothing_ends() {
        let all = moments("10-0:2");
        assert_eq!(all.len(), 10);
        assert!(all.iter().all(|at| at.is_finite() && *at <= 2.0), "{all:?}");
    }

    #[test]
    fn threads_share_the_arrivals_of_one() {
        let pattern = Pattern::parse("1-50:3,7:2").expect("a pattern");
        let mut shared: Vec<_> = (0..3).flat_map(|first| pattern.arrivals(first, 3)).collect();
        shared.sort();
        assert_eq!(shared, pattern.arrivals(0, 1).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_no_pattern_is_told_how_to_be_one() {
        for wrong in ["", "1-250", "a:60", "1-:60", "1:60,", "-5:60", "1e3:60", "1:-1"] {
            let error = Pattern::parse(wrong).expect_err(wrong).to_string();
            assert!(error.contains("1-250:60"), "{error}");
        }
        for wrong in ["0:60", "100:0", "0-0:5"] {
            assert!(matches!(Pattern::parse(wrong), Err(PatternError::Nothing(_))), "{wrong}");
        }
        for wrong in ["1000001:1".to_owned(), "1:1,".repeat(1_001) + "1:1"] {
            assert!(matches!(Pattern::parse(&wrong), Err(PatternError::TooMuch(_))), "{wrong}");
        }
    }
}
