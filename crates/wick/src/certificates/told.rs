//! How times and foreign words are told.

use time::OffsetDateTime;

/// Longer words of a CA are cut.
const WORDS_MAX: usize = 500;

/// The seconds of unix time, now.
pub(crate) fn now() -> i64 {
    OffsetDateTime::now_utc().unix_timestamp()
}

/// A second of unix time as `2027-01-31`.
pub(crate) fn day(unix_seconds: i64) -> String {
    match OffsetDateTime::from_unix_timestamp(unix_seconds) {
        Ok(time) => {
            format!("{:04}-{:02}-{:02}", time.year(), u8::from(time.month()), time.day())
        }
        Err(_) => "an unknown day".to_owned(),
    }
}

/// What somebody else says, on one line.
pub(crate) fn words(text: &str) -> String {
    let plain = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    plain.take(WORDS_MAX).collect()
}

/// The host of a CA's directory.
pub(crate) fn host(directory: &str) -> &str {
    let rest = directory.strip_prefix("https://").unwrap_or(directory);
    rest.split('/').next().unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_words_fit_a_line() {
        assert_eq!(day(0), "1970-01-01");
        assert_eq!(day(1_789_000_000), "2026-09-10");
        assert_eq!(day(i64::MAX), "an unknown day");
        assert_eq!(words("a\r\nb\u{1b}[31m"), "a  b [31m");
        assert_eq!(words(&"x".repeat(900)).len(), WORDS_MAX);
        assert_eq!(host("https://ca.test:14000/dir"), "ca.test:14000");
    }
}
