//! Moments: whether a value that a row was given tells when it was given.
//!
//! Apps that count views often note the time beside it, by themselves or because their
//! framework touches a row whenever it writes one (`updated_at`). Within a second such an
//! update is of the counter alone, and in the next one of both: two kinds of change for what
//! is one. A column that tells when it was written says nothing that the others don't, so it is
//! left out where there are others.
//!
//! In: a value as it lies in a log or a file. Out: whether it is the present time, as seconds
//! or parts of them since 1970 or as date and time in whichever zone.
//! Invariant: a column that held nothing before is never left out: `approved_at` may be all that
//! says that a row is to be seen.

use std::collections::BTreeSet;
use std::time::{SystemTime, UNIX_EPOCH};

use time::{Date, Month, Time};

use crate::Column;

/// So many seconds before a change is heard its row may have been given the time: the app may
/// have asked for it when the request began.
const BEFORE: i64 = 10;
/// So many seconds may the clock of whoever gave it be ahead.
const AHEAD: i64 = 2;
/// Zones differ by whole quarters of an hour…
const QUARTER: i64 = 15 * 60;
/// …and are so far from the middle one.
const WEST: i64 = -12 * 3600;
const EAST: i64 = 14 * 3600;

/// The present, in seconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment(i64);

impl Moment {
    /// Now; a clock that stands before 1970 tells no moment that any row was given.
    pub(crate) fn now() -> Self {
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map(|since| since.as_secs());
        Self(seconds.ok().and_then(|seconds| i64::try_from(seconds).ok()).unwrap_or(i64::MIN / 2))
    }

    /// So many seconds after 1970 began.
    pub(crate) fn at(unix_seconds: i64) -> Self {
        Self(unix_seconds)
    }

    /// Whether a whole number is it: in seconds, in thousandths or in millionths.
    pub(crate) fn is_number(self, number: i64) -> bool {
        [1, 1_000, 1_000_000].iter().any(|parts| self.is_near(number.div_euclid(*parts)))
    }

    /// Whether a text is it: a number, with a fraction or without, or date and time as SQL and
    /// ISO 8601 write them.
    pub(crate) fn is_text(self, text: &[u8]) -> bool {
        let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == text.len() || digits >= 10 && text[digits] == b'.' {
            let number = std::str::from_utf8(&text[..digits]).ok().and_then(|it| it.parse().ok());
            return number.is_some_and(|number| self.is_number(number));
        }
        let Some((date_time, rest)) = text.split_at_checked(19) else { return false };
        let ends = matches!(rest.first(), None | Some(b'.' | b'+' | b'-' | b'Z' | b' '));
        let Ok(date_time) = <&[u8; 19]>::try_from(date_time) else { return false };
        let marks = [4, 7, 10, 13, 16].map(|at| date_time[at]);
        if !ends || !matches!(marks, [b'-', b'-', b' ' | b'T', b':', b':']) {
            return false;
        }
        let part = |from: usize, to: usize| -> Option<u32> {
            std::str::from_utf8(&date_time[from..to]).ok()?.parse().ok()
        };
        let parts = (part(0, 4), part(5, 7), part(8, 10), part(11, 13), part(14, 16), part(17, 19));
        let (Some(year), Some(month), Some(day), Some(hour), Some(minute), Some(second)) = parts
        else {
            return false;
        };
        self.is_date_time([year, month, day, hour, minute, second])
    }

    /// Whether year, month, day, hour, minute and second are it, in some zone.
    pub(crate) fn is_date_time(self, parts: [u32; 6]) -> bool {
        unix_seconds(parts).is_some_and(|seconds| {
            // How far it is ahead: by its zone, less its age.
            let ahead = seconds - self.0 + BEFORE;
            (WEST..=EAST + BEFORE + AHEAD).contains(&ahead)
                && ahead.rem_euclid(QUARTER) <= BEFORE + AHEAD
        })
    }

    fn is_near(self, unix_seconds: i64) -> bool {
        (-AHEAD..=BEFORE).contains(&self.0.saturating_sub(unix_seconds))
    }
}

/// Seconds since 1970 of a date and time that is taken for one of the middle zone.
fn unix_seconds([year, month, day, hour, minute, second]: [u32; 6]) -> Option<i64> {
    let small = |number: u32| u8::try_from(number).ok();
    let month = Month::try_from(small(month)?).ok()?;
    let date = Date::from_calendar_date(i32::try_from(year).ok()?, month, small(day)?).ok()?;
    let time = Time::from_hms(small(hour)?, small(minute)?, small(second)?).ok()?;
    Some(date.with_time(time).assume_utc().unix_timestamp())
}

/// The columns that were changed, each with whether it tells the moment: those that don't, or
/// all as moments if there are no others.
pub(crate) fn telling(changed: impl Iterator<Item = (Column, bool)>) -> BTreeSet<Column> {
    let (moments, others): (Vec<_>, Vec<_>) = changed.partition(|(_, is_moment)| *is_moment);
    match others.is_empty() {
        true => moments.into_iter().map(|(column, _)| Column::Moment(column.into())).collect(),
        false => others.into_iter().map(|(column, _)| column).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-28 23:40:07 in the middle zone.
    const NOW: Moment = Moment(1_795_909_207);

    #[test]
    fn numbers_tell_the_present_in_three_units() {
        for (number, expected) in [
            (1_795_909_207, true),
            (1_795_909_197, true),
            (1_795_909_196, false),
            (1_795_909_209, true),
            (1_795_909_210, false),
            (1_795_909_207_999, true),
            (1_795_909_207_999_999, true),
            (17, false),
            (-1, false),
            (i64::MAX, false),
            (i64::MIN, false),
        ] {
            assert_eq!(NOW.is_number(number), expected, "{number}");
        }
    }

    #[test]
    fn texts_tell_the_present_in_whichever_zone() {
        for (text, expected) in [
            ("1795909207", true),
            ("1795909207.25", true),
            ("2026-11-28 23:40:07", true),
            ("2026-11-28T23:40:01Z", true),
            ("2026-11-28 23:40:07.123456+00", true),
            // Kathmandu, and the day before in Pago Pago.
            ("2026-11-29 05:25:05", true),
            ("2026-11-28 12:40:05.1", true),
            ("2026-11-28 23:39:50", false),
            ("2026-11-28 23:47:07", false),
            ("2026-11-30 23:40:07", false),
            ("2026-11-27 23:40:07", false),
            ("2026-13-28 23:40:07", false),
            ("2026-11-28 24:40:07", false),
            ("2026-11-28 23:40:07x", false),
            ("2026-11-28", false),
            ("+026-11-28 23:40:07", false),
            ("1795909207 views", false),
            ("99999999999999999999", false),
            ("", false),
            ("17.5", false),
        ] {
            assert_eq!(NOW.is_text(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn what_tells_the_moment_counts_only_alone() {
        let told = |names: &[(&str, bool)]| {
            let columns = names.iter().map(|(name, is)| (Column::named(name), *is));
            let told: Vec<String> = telling(columns).iter().map(ToString::to_string).collect();
            told.join(" ")
        };
        assert_eq!(told(&[("views", false), ("updated_at", true)]), "views");
        assert_eq!(
            told(&[("seen_at", true), ("updated_at", true)]),
            "seen_at = now updated_at = now"
        );
        assert_eq!(told(&[("views", false), ("title", false)]), "title views");
        assert_eq!(told(&[]), "");
    }
}
