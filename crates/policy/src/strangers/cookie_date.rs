//! Dates in `Set-Cookie`, read as leniently as browsers read them.
//!
//! In: the value of `Expires`. Out: seconds since 1970. PHP before 8.2 writes
//! `Thu, 01-Jan-1970 00:00:01 GMT`, which is none of the legal forms of HTTP; a strict
//! reader would take a cookie that is being removed for one that is being set.
//! Law: RFC 6265 §5.1.1. The calendar is [`crate::date`]'s.

use crate::date;

/// The longest value that is looked at; the longest legal date has 33 bytes.
const DATE_BYTES_MAX: usize = 64;

/// Reads a date in a legal form, or in any that holds a time, a day, a month and a year.
pub(super) fn parse(text: &[u8]) -> Option<i64> {
    if text.len() > DATE_BYTES_MAX {
        return None;
    }
    date::parse(text).or_else(|| date::parse(&normal_form(text)?))
}

/// The date in the preferred form, with a day's name that nobody checks.
fn normal_form(text: &[u8]) -> Option<[u8; 29]> {
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    for word in text.split(|&byte| is_delimiter(byte)).filter(|word| !word.is_empty()) {
        // The order of these questions is the law's: a number is a day before it is a year.
        if time.is_none()
            && let Some(found) = read_time(word)
        {
            time = Some(found);
        } else if day.is_none()
            && let Some(found) = read_number(word, 1, 2)
        {
            day = Some(found);
        } else if month.is_none()
            && let Some(found) = read_month(word)
        {
            month = Some(found);
        } else if year.is_none()
            && let Some(found) = read_number(word, 2, 4)
        {
            year = Some(found);
        }
    }
    let year = match year? {
        short @ 70..=99 => 1900 + short,
        short @ 0..=69 => 2000 + short,
        whole @ 1601.. => whole,
        _ => return None,
    };
    let mut form = *b"Thu, 00 Jan 0000 00:00:00 GMT";
    write_digits(&mut form[5..7], day?);
    form[8..11].copy_from_slice(month?);
    write_digits(&mut form[12..16], year);
    for (place, number) in [17, 20, 23].into_iter().zip(time?) {
        write_digits(&mut form[place..place + 2], number);
    }
    Some(form)
}

fn is_delimiter(byte: u8) -> bool {
    !(byte.is_ascii_alphanumeric() || byte == b':' || byte >= 0x7f)
}

fn read_time(word: &[u8]) -> Option<[u16; 3]> {
    let mut parts = word.splitn(3, |&byte| byte == b':');
    let mut part = || read_number(parts.next()?, 1, 2);
    Some([part()?, part()?, part()?])
}

/// The number a word begins with, if it has so many digits.
fn read_number(word: &[u8], digits_min: usize, digits_max: usize) -> Option<u16> {
    let digits = word.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if !(digits_min..=digits_max).contains(&digits) {
        return None;
    }
    Some(word[..digits].iter().fold(0, |sum, &byte| sum * 10 + u16::from(byte - b'0')))
}

fn read_month(word: &[u8]) -> Option<&'static [u8; 3]> {
    const MONTHS: [&[u8; 3]; 12] = [
        b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov",
        b"Dec",
    ];
    let start = word.get(..3)?;
    MONTHS.into_iter().find(|month| month.eq_ignore_ascii_case(start))
}

fn write_digits(place: &mut [u8], mut number: u16) {
    for digit in place.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_as_browsers_read_them() {
        for (text, seconds) in [
            ("Thu, 01 Jan 1970 00:00:01 GMT", Some(1)),
            ("Thu, 01-Jan-1970 00:00:01 GMT", Some(1)),
            ("Thu, 01-Jan-70 00:00:01 GMT", Some(1)),
            ("Thursday, 01-Jan-70 00:00:01 GMT", Some(1)),
            ("Thu, 1 Jan 1970 0:0:1 GMT", Some(1)),
            ("thu, 01 jan 1970 00:00:01", Some(1)),
            ("1 January 1970 00:00:01 UTC", Some(1)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
            ("Fri, 01-Jan-10 00:00:00 GMT", Some(1_262_304_000)),
            ("Tue, 1-Jan-69 0:00:00 GMT", Some(3_124_224_000)),
            ("Thu, 01 Jan 1600 00:00:00", None),
            ("Thu, 31-Feb-2020 00:00:01 GMT", None),
            ("Thu, 01-Jan-2020 25:00:01 GMT", None),
            ("Thu, 01-Jan-2020 00:00 GMT", None),
            ("Thu, 01-Jan-2020", None),
            ("Jan 2020 00:00:01", None),
            ("01 2020 00:00:01", None),
            ("0", None),
            ("-1", None),
            ("", None),
        ] {
            assert_eq!(parse(text.as_bytes()), seconds, "{text:?}");
        }
        let long = format!("Thu, 01-Jan-1970 00:00:01 GMT{}", " ".repeat(64));
        assert_eq!(parse(long.as_bytes()), None);
    }
}
