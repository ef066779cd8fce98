//! Dates and times (HTML §2.3.5).

fn digits(text: &str, least: usize, most: usize) -> Option<u32> {
    let is_it =
        (least..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    is_it.then(|| text.parse().unwrap_or(u32::MAX))
}

fn days_in(year: u32, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            29
        }
        2 => 28,
        _ => 31,
    }
}

fn is_month(text: &str) -> bool {
    text.rsplit_once('-').is_some_and(|(year, month)| {
        digits(year, 4, 9).is_some_and(|year| year > 0)
            && digits(month, 2, 2).is_some_and(|month| (1..=12).contains(&month))
    })
}

fn is_date(text: &str) -> bool {
    let Some((month, day)) = text.rsplit_once('-') else { return false };
    let Some((year, number)) = month.rsplit_once('-') else { return false };
    let (Some(year), Some(number)) = (digits(year, 4, 9), digits(number, 2, 2)) else {
        return false;
    };
    is_month(month)
        && digits(day, 2, 2).is_some_and(|day| (1..=days_in(year, number)).contains(&day))
}

fn is_yearless(text: &str) -> bool {
    let text = text.strip_prefix("--").unwrap_or(text);
    text.len() == 5 && is_date(&format!("2000-{text}"))
}

fn is_week(text: &str) -> bool {
    text.split_once("-W").is_some_and(|(year, week)| {
        digits(year, 4, 9).is_some_and(|year| year > 0)
            && digits(week, 2, 2).is_some_and(|week| (1..=53).contains(&week))
    })
}

fn is_time(text: &str) -> bool {
    let mut parts = text.split(':');
    let below = |part: Option<&str>, limit: u32| {
        part.and_then(|part| digits(part, 2, 2)).is_some_and(|number| number < limit)
    };
    if !below(parts.next(), 24) || !below(parts.next(), 60) {
        return false;
    }
    let Some(seconds) = parts.next() else { return true };
    let (whole, fraction) = match seconds.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (seconds, None),
    };
    below(Some(whole), 60)
        && fraction.is_none_or(|fraction| digits(fraction, 1, 3).is_some())
        && parts.next().is_none()
}

fn is_zone(text: &str) -> bool {
    if text == "Z" {
        return true;
    }
    let Some(rest) = text.strip_prefix(['+', '-']) else { return false };
    match rest.len() {
        4 => rest.is_ascii() && is_time(&format!("{}:{}", &rest[..2], &rest[2..])),
        5 => is_time(rest),
        _ => false,
    }
}

fn is_local(text: &str) -> bool {
    text.split_once(['T', ' ']).is_some_and(|(date, time)| is_date(date) && is_time(time))
}

fn is_global(text: &str) -> bool {
    let Some((date, rest)) = text.split_once(['T', ' ']) else { return false };
    let Some(at) = rest.find(['Z', '+', '-']) else { return false };
    is_date(date) && is_time(&rest[..at]) && is_zone(&rest[at..])
}

fn is_duration(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('P') else {
        return text.split_ascii_whitespace().all(|part| {
            part.len() > 1
                && part.is_ascii()
                && part.ends_with(['w', 'W', 'd', 'D', 'h', 'H', 'm', 'M', 's', 'S'])
                && part[..part.len() - 1].bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        });
    };
    let (days, time) = match rest.split_once('T') {
        Some((days, time)) => (days, Some(time)),
        None => (rest, None),
    };
    let is_days =
        days.is_empty() || (days.ends_with('D') && digits(&days[..days.len() - 1], 1, 9).is_some());
    let is_time = |time: &str| {
        !time.is_empty()
            && time.ends_with(['H', 'M', 'S'])
            && time.bytes().all(|byte| byte.is_ascii_digit() || b"HMS.".contains(&byte))
    };
    is_days && time.map_or(!days.is_empty(), is_time)
}

/// What `datetime` of `time` may say.
pub(super) fn time_datetime(value: &str) -> Result<(), String> {
    let is_it = is_month(value)
        || is_date(value)
        || is_yearless(value)
        || is_time(value)
        || is_local(value)
        || is_zone(value)
        || is_global(value)
        || is_week(value)
        || digits(value, 4, 9).is_some_and(|year| year > 0)
        || (!value.is_empty() && is_duration(value));
    if is_it {
        return Ok(());
    }
    Err("Expected a date, a time, a duration, or another form of the “time” element.".to_owned())
}

/// What `datetime` of `ins` and `del` may say.
pub(super) fn date_or_time(value: &str) -> Result<(), String> {
    if is_date(value) || is_global(value) {
        return Ok(());
    }
    Err("Expected a date, or a date with a time and its zone.".to_owned())
}

#[cfg(test)]
mod tests {
    use super::time_datetime;

    #[test]
    fn moments_are_judged() {
        let good = [
            "2024-02",
            "2024-02-29",
            "02-29",
            "12:30",
            "12:30:15.123",
            "2024-02-29T12:30",
            "2024-02-29 12:30:00Z",
            "2024-02-29T12:30+0100",
            "+01:00",
            "2024-W07",
            "1999",
            "P2DT3H",
            "PT4H18M3S",
            "4h 18m 3s",
        ];
        for value in good {
            assert_eq!(time_datetime(value), Ok(()), "{value}");
        }
        for value in ["", "2023-02-29", "24:00", "2024-13", "yesterday", "P", "0000-01"] {
            assert!(time_datetime(value).is_err(), "{value}");
        }
    }
}
