//! Dates as pages write them: ISO 8601, as far as schema.org, OpenGraph and sitemaps use it.

use time::{Date, Month};

/// Seconds since 1970; what has no time is taken at its first moment in UTC.
#[must_use]
pub fn unix(text: &str) -> Option<i64> {
    let text = text.trim();
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<u16>().ok();
    let small = |from: usize, to: usize| number(from, to).and_then(|one| u8::try_from(one).ok());
    (text.get(4..5)? == "-" && text.get(7..8)? == "-").then_some(())?;
    let month = Month::try_from(small(5, 7)?).ok()?;
    let date = Date::from_calendar_date(i32::from(number(0, 4)?), month, small(8, 10)?).ok()?;
    let Some(clock) = text.get(10..).filter(|rest| rest.starts_with(['T', ' '])) else {
        return Some(date.midnight().assume_utc().unix_timestamp());
    };
    let seconds = small(17, 19).filter(|_| clock.get(6..7) == Some(":")).unwrap_or(0);
    let moment = date.with_hms(small(11, 13)?, small(14, 16)?, seconds.min(59)).ok()?;
    Some(moment.assume_utc().unix_timestamp() - offset(&clock[1..]))
}

/// How much later it is there than in UTC, in seconds.
fn offset(clock: &str) -> i64 {
    let Some(at) = clock.rfind(['+', '-']) else { return 0 };
    let digits: String = clock[at + 1..].chars().filter(char::is_ascii_digit).collect();
    let part = |from: usize, to: usize| {
        digits.get(from..to).and_then(|text| text.parse::<i64>().ok()).unwrap_or(0)
    };
    let seconds = part(0, 2) * 3600 + part(2, 4) * 60;
    if clock[at..].starts_with('-') { -seconds } else { seconds }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_as_they_are_written() {
        for (text, expected) in [
            ("1970-01-02", Some(86_400)),
            ("1970-01-01T00:01:00Z", Some(60)),
            ("1970-01-01T01:00:05+01:00", Some(5)),
            ("1969-12-31T23:00:00-0100", Some(0)),
            ("1970-01-01 00:00:07", Some(7)),
            ("1970-01-01T00:00", Some(0)),
            ("1970-01-01T00:00:03.250Z", Some(3)),
            ("1970-13-01", None),
            ("yesterday", None),
            ("1970-01", None),
            ("", None),
            ("é970-01-01", None),
        ] {
            assert_eq!(unix(text), expected, "{text}");
        }
    }
}
