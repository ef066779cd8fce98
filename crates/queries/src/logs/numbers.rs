//! Numbers and times as logs write them.

use time::{Date, Month, PrimitiveDateTime, Time};

/// The number at the beginning of `text`; digits that are too many are the largest number.
pub(super) fn whole(text: &[u8]) -> Option<u64> {
    text.first().filter(|byte| byte.is_ascii_digit())?;
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    Some(
        digits.fold(0, |sum: u64, digit| {
            sum.saturating_mul(10).saturating_add(u64::from(digit - b'0'))
        }),
    )
}

/// `12.345` of a unit of `unit` nanoseconds, a power of ten, in nanoseconds.
pub(super) fn nanoseconds(text: &[u8], unit: u64) -> Option<u64> {
    let mut told = whole(text)?.saturating_mul(unit);
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if text.get(digits) == Some(&b'.') {
        let mut unit = unit;
        for digit in text[digits + 1..].iter().take_while(|byte| byte.is_ascii_digit()) {
            unit /= 10;
            told = told.saturating_add(u64::from(digit - b'0') * unit);
        }
    }
    Some(told)
}

/// `2026-11-23T06:12:02.88+02:00`, or with a blank between; without an offset it is UTC.
pub(super) fn date(text: &[u8]) -> Option<i64> {
    let number = |from: usize, digits: usize| {
        let text = text.get(from..from + digits)?;
        text.iter().all(u8::is_ascii_digit).then(|| whole(text)).flatten()
    };
    let is_date = text.get(4) == Some(&b'-') && matches!(text.get(10), Some(b'T' | b' '));
    let (year, month, day) = (number(0, 4)?, number(5, 2)?, number(8, 2)?);
    let (hour, minute, second) = (number(11, 2)?, number(14, 2)?, number(17, 2)?);
    let unix = unix(year, month, day, hour, minute, second).filter(|_| is_date)?;
    let rest = text.get(19..).unwrap_or_default();
    let fraction = rest.iter().take_while(|byte| **byte == b'.' || byte.is_ascii_digit()).count();
    let sign = match rest.get(fraction) {
        Some(b'+') => 1,
        Some(b'-') => -1,
        _ => return Some(unix),
    };
    let at = 19 + fraction + 1;
    let hours = number(at, 2).unwrap_or(0);
    let minutes = number(at + 3, 2).filter(|_| text.get(at + 2) == Some(&b':')).unwrap_or(0);
    Some(unix - sign * i64::try_from(hours * 3600 + minutes * 60).ok()?)
}

/// `261123  6:12:02`, as MariaDB and MySQL 5.6 write it: local time, taken for UTC.
pub(super) fn short_date(text: &[u8]) -> Option<i64> {
    let day = whole(text).filter(|_| text.get(6) == Some(&b' '))?;
    let mut parts = text[6..].trim_ascii().split(|byte| *byte == b':').map(whole);
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    unix(2000 + day / 10_000, day / 100 % 100, day % 100, hour, minute, second)
}

fn unix(year: u64, month: u64, day: u64, hour: u64, minute: u64, second: u64) -> Option<i64> {
    let small = |number: u64| u8::try_from(number).ok();
    let month = Month::try_from(small(month)?).ok()?;
    let date = Date::from_calendar_date(i32::try_from(year).ok()?, month, small(day)?).ok()?;
    let time = Time::from_hms(small(hour)?, small(minute)?, small(second)?.min(59)).ok()?;
    Some(PrimitiveDateTime::new(date, time).assume_utc().unix_timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        assert_eq!(nanoseconds(b"12.000345  ", 1_000_000_000), Some(12_000_345_000));
        assert_eq!(nanoseconds(b"0.344 ms", 1_000_000), Some(344_000));
        assert_eq!(nanoseconds(b"7", 1_000_000), Some(7_000_000));
        assert_eq!(nanoseconds(b"99999999999999999999.5", 1_000), Some(u64::MAX));
        assert_eq!(nanoseconds(b".5", 1_000), None);
        assert_eq!(date(b"2026-11-23T06:12:02.885112Z"), Some(1_795_414_322));
        assert_eq!(date(b"2026-11-23 06:12:02.885 UTC"), Some(1_795_414_322));
        assert_eq!(date(b"2026-11-23T08:12:02.885112+02:00"), Some(1_795_414_322));
        assert_eq!(short_date(b"261123  6:12:02"), Some(1_795_414_322));
        assert_eq!(short_date(b"261323  6:12:02"), None);
        assert_eq!(date(b"2026-13-23T06:12:02"), None);
    }
}
