//! Amounts as people write them: `64M`, `1.5 GB`, `30s`, `2h`.
//!
//! In: a setting's or an argument's text. Out: bytes or a duration, or an error
//! that says what would have been understood.

use std::time::Duration;

/// A text that is not the amount it should be; its message says what is wanted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    /// Not a size.
    #[error("\"{0}\" is not a size: write a number with K, M or G, as in 64M")]
    Size(String),
    /// Not a duration.
    #[error("\"{0}\" is not a duration: write a number with ms, s, m, h, d or y, as in 30s")]
    Duration(String),
    /// Not a rate.
    #[error("\"{0}\" is not a rate: write how often in a second, minute or hour, as in 20/s")]
    Rate(String),
}

/// Reads a size in bytes; `K`, `M`, `G`, `T` are powers of 1024, with or without `B` or `iB`.
pub fn parse_bytes(text: &str) -> Result<u64, AmountError> {
    let wrong = || AmountError::Size(text.to_owned());
    let (number, unit) = split(text).ok_or_else(wrong)?;
    let unit = unit.to_ascii_lowercase();
    let factor = match unit.trim_end_matches('b').trim_end_matches('i') {
        "" => 1u64,
        "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        "t" => 1 << 40,
        _ => return Err(wrong()),
    };
    Ok((number * factor as f64) as u64)
}

/// Reads a duration; a number without a unit is seconds.
pub fn parse_duration(text: &str) -> Result<Duration, AmountError> {
    let wrong = || AmountError::Duration(text.to_owned());
    let (number, unit) = split(text).ok_or_else(wrong)?;
    let seconds = match unit {
        "ms" => 0.001,
        "" | "s" | "sec" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3_600.0,
        "d" => 86_400.0,
        "y" => 31_536_000.0,
        _ => return Err(wrong()),
    };
    Duration::try_from_secs_f64(number * seconds).map_err(|_| wrong())
}

/// Reads how often something may be, as in `20/s`, `300/m` or `1/h`; the time between two.
pub fn parse_rate(text: &str) -> Result<Duration, AmountError> {
    let wrong = || AmountError::Rate(text.to_owned());
    let (number, unit) = text.split_once('/').ok_or_else(wrong)?;
    let seconds = match unit.trim() {
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3_600.0,
        _ => return Err(wrong()),
    };
    let (number, rest) = split(number).ok_or_else(wrong)?;
    let is_sensible = rest.is_empty() && number > 0.0 && number / seconds <= 1e6;
    let interval = Duration::try_from_secs_f64(seconds / number).map_err(|_| wrong())?;
    if is_sensible { Ok(interval) } else { Err(wrong()) }
}

/// How many there are: `1 row`, `2 rows`.
#[must_use]
pub fn show_count(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Writes bytes the way a person would, `67108864` as `64.0 MiB`.
#[must_use]
pub fn show_bytes(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if value < 1024.0 {
            return if unit == "B" { format!("{bytes} B") } else { format!("{value:.1} {unit}") };
        }
        value /= 1024.0;
    }
    format!("{value:.1} TiB")
}

/// Cuts a number from the unit behind it.
fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    Some((number, text[end..].trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [
            ("64M", 64 << 20),
            ("64MB", 64 << 20),
            ("64 MiB", 64 << 20),
            ("1.5k", 1536),
            ("10", 10),
            ("2g", 2 << 30),
        ] {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        for text in ["", "M", "-1", "64Q", "1..2", "ten"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, ms) in
            [("250ms", 250), ("30s", 30_000), ("30", 30_000), ("2h", 7_200_000), ("1d", 86_400_000)]
        {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", "s", "1w", "-3s"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_shown_in_the_unit_that_reads_best() {
        assert_eq!(show_bytes(9), "9 B");
        assert_eq!(show_bytes(64 << 20), "64.0 MiB");
    }
}
