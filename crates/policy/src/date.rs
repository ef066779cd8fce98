//! HTTP dates: the three legal forms read strictly, the preferred one written.
//!
//! In: a field's bytes. Out: whole seconds since 1970, or nothing: a date that is
//! nearly right (one-digit hour, another zone, two-digit year where four belong)
//! is no date, and what depends on it is stale.
//! Law: RFC 9110 §5.6.7. Start at [`parse`] and [`write`].

use crate::digits;

const DAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const MONTHS: [&[u8]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];

/// Reads a date in any of the three forms; seconds since 1970 may be negative.
///
/// A two-digit year from 70 on is in the last century: up to 2069 no date then lies
/// more than fifty years ahead, which is what the law asks for.
#[must_use]
pub fn parse(text: &[u8]) -> Option<i64> {
    match text.iter().position(|&b| b == b',') {
        Some(3) => fixdate(text),
        Some(_) => rfc850(text),
        None => asctime(text),
    }
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`
fn fixdate(text: &[u8]) -> Option<i64> {
    if text.len() != 29 || !is_day_name(&text[..3], 3) || &text[3..5] != b", " {
        return None;
    }
    if text[7] != b' ' || text[11] != b' ' || text[16] != b' ' || &text[25..] != b" GMT" {
        return None;
    }
    let month = month(&text[8..11])?;
    seconds(digits::read(&text[12..16])?, month, digits::read(&text[5..7])?, &text[17..25])
}

/// `Sunday, 06-Nov-94 08:49:37 GMT`
fn rfc850(text: &[u8]) -> Option<i64> {
    let comma = text.iter().position(|&b| b == b',')?;
    let (day_name, rest) = text.split_at(comma);
    if rest.len() != 24 || !is_day_name(day_name, usize::MAX) || &rest[..2] != b", " {
        return None;
    }
    if rest[4] != b'-' || rest[8] != b'-' || rest[11] != b' ' || &rest[20..] != b" GMT" {
        return None;
    }
    let short = digits::read(&rest[9..11])?;
    let year = if short >= 70 { 1900 + short } else { 2000 + short };
    seconds(year, month(&rest[5..8])?, digits::read(&rest[2..4])?, &rest[12..20])
}

/// `Sun Nov  6 08:49:37 1994`
fn asctime(text: &[u8]) -> Option<i64> {
    if text.len() != 24 || !is_day_name(&text[..3], 3) {
        return None;
    }
    if text[3] != b' ' || text[7] != b' ' || text[10] != b' ' || text[19] != b' ' {
        return None;
    }
    let day = if text[8] == b' ' { &text[9..10] } else { &text[8..10] };
    let year = digits::read(&text[20..24])?;
    seconds(year, month(&text[4..7])?, digits::read(day)?, &text[11..19])
}

/// Whether this is the name of a day, cut to so many letters.
fn is_day_name(text: &[u8], letters: usize) -> bool {
    DAYS.iter().any(|day| &day.as_bytes()[..letters.min(day.len())] == text)
}

fn month(text: &[u8]) -> Option<u64> {
    MONTHS.iter().position(|&month| month == text).map(|at| at as u64 + 1)
}

fn seconds(year: u64, month: u64, day: u64, time: &[u8]) -> Option<i64> {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let month_days = match month {
        2 => 28 + u64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if day == 0 || day > month_days || time[2] != b':' || time[5] != b':' {
        return None;
    }
    let hour = digits::read(&time[..2]).filter(|&hour| hour < 24)?;
    let minute = digits::read(&time[3..5]).filter(|&minute| minute < 60)?;
    // A leap second is 60.
    let second = digits::read(&time[6..8]).filter(|&second| second <= 60)?;
    let in_day = (hour * 3600 + minute * 60 + second) as i64;
    Some(days_since_1970(year as i64, month as i64, day as i64) * 86_400 + in_day)
}

/// Days from 1970-01-01 in the Gregorian calendar. The year is taken to begin in March,
/// so that the leap day is its last, and months follow a linear rule.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month_from_march = (month + 9) % 12;
    let in_year = (153 * month_from_march + 2) / 5 + day - 1;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + in_year
        - 719_468
}

/// Appends the date in the preferred form, 29 bytes. Years past 9999 are written as 9999.
pub fn write(out: &mut Vec<u8>, unix_seconds: u64) {
    const LAST: u64 = 253_402_300_799;
    let unix_seconds = unix_seconds.min(LAST);
    let (days, in_day) = (unix_seconds / 86_400, unix_seconds % 86_400);
    let (year, month, day) = civil(days as i64);
    // 1970-01-01 was a Thursday.
    let day_name = DAYS[(days as usize + 3) % 7];
    out.extend_from_slice(&day_name.as_bytes()[..3]);
    out.extend_from_slice(b", ");
    push_two(out, day);
    out.push(b' ');
    out.extend_from_slice(MONTHS[(month - 1) as usize]);
    out.push(b' ');
    push_two(out, year / 100);
    push_two(out, year % 100);
    for (before, number) in [(b' ', in_day / 3600), (b':', in_day / 60 % 60), (b':', in_day % 60)] {
        out.push(before);
        push_two(out, number);
    }
    out.extend_from_slice(b" GMT");
}

/// Year, month and day of a day since 1970: [`days_since_1970`] turned round.
fn civil(days: i64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let in_era = days.rem_euclid(146_097);
    let year_of_era = (in_era - in_era / 1460 + in_era / 36_524 - in_era / 146_096) / 365;
    let in_year = in_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * in_year + 2) / 153;
    let day = in_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year as u64, month as u64, day as u64)
}

fn push_two(out: &mut Vec<u8>, number: u64) {
    out.push(b'0' + (number / 10 % 10) as u8);
    out.push(b'0' + (number % 10) as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_legal_forms_are_read() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ] {
            assert_eq!(parse(text.as_bytes()), Some(784_111_777), "{text}");
        }
        for (text, seconds) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
            ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000),
            ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
            ("Friday, 01-Jan-10 00:00:00 GMT", 1_262_304_000),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
        ] {
            assert_eq!(parse(text.as_bytes()), Some(seconds), "{text}");
        }
    }

    #[test]
    fn what_is_nearly_a_date_is_none() {
        for text in [
            "",
            "0",
            "-1",
            "Thu, 18 Aug 2050 2:01:18 GMT",
            "Thu, 18 Aug 2050 02:01:18 EST",
            "Thu, 18 Aug 2050 02:01:18 UTC",
            "Thu, 18 Aug 2050 02:01:18",
            "Thu, 18 Aug 50 02:01:18 GMT",
            "Thu 18 Aug 2050 02:01:18 GMT",
            "Thu, 18-Aug-2050 02:01:18 GMT",
            "Thu, 18 aug 2050 02:01:18 GMT",
            "thu, 18 Aug 2050 02:01:18 GMT",
            "Thu, 18 Aug 2050 02:01:18 gmt",
            "Thu, 18 Aug 2050 02.01.18 GMT",
            "Thu, 18 Aug 2050 24:01:18 GMT",
            "Thu, 18 Aug 2050 02:61:18 GMT",
            "Thu, 30 Feb 2050 02:01:18 GMT",
            "Wed, 29 Feb 2023 02:01:18 GMT",
            "Thu, 00 Aug 2050 02:01:18 GMT",
            "Thu,  8 Aug 2050 02:01:18 GMT",
            "Thursday, 18 Aug 2050 02:01:18 GMT",
            "Thu, 18 Aug 2050 02:01:18 GMT, Thu, 18 Aug 2050 02:01:18 GMT",
            "2050-08-18T02:01:18Z",
            ",",
            "Sun Nov 06 08:49:37 1994 ",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let mut seconds = 0u64;
        while seconds < 253_402_300_800 {
            let mut out = Vec::new();
            write(&mut out, seconds);
            let text = String::from_utf8_lossy(&out).into_owned();
            assert_eq!(parse(&out), Some(seconds as i64), "{text}");
            seconds += 86_400 * 97 + 12_345;
        }
        let mut out = Vec::new();
        write(&mut out, 784_111_777);
        assert_eq!(out, b"Sun, 06 Nov 1994 08:49:37 GMT");
        out.clear();
        write(&mut out, u64::MAX);
        assert_eq!(out, b"Fri, 31 Dec 9999 23:59:59 GMT");
    }
}
