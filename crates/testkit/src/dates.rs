//! Values that a scene writes relative to its own time, or to its own site.
//!
//! `@now`, `@+60s` and `@-2d` become an HTTP date. Against a running server every
//! scene has a host name of its own, so that the pages of one never answer another.

use std::time::{Duration, UNIX_EPOCH};

use base::amount::parse_duration;

/// The host that scenes speak of.
pub const HOST: &str = "example.test";

/// When every scene begins: Sun, 06 Nov 1994 08:49:37 GMT, the date of the RFCs' own examples.
pub const START_UNIX_MS: u64 = 784_111_777_000;

/// Writes a time as IMF-fixdate.
#[must_use]
pub fn imf_fixdate(unix_seconds: u64) -> String {
    httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(unix_seconds))
}

/// Replaces the relative dates in `value`, and the host by `host`.
#[must_use]
pub fn render(value: &str, unix_seconds: u64, host: &str) -> String {
    let value = value.replace(HOST, host);
    let mut out = String::new();
    let mut rest = value.as_str();
    while let Some(at) = rest.find('@') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        match read_offset(after) {
            Some((seconds, length)) => {
                let time = i64::try_from(unix_seconds).unwrap_or(i64::MAX).saturating_add(seconds);
                out.push_str(&imf_fixdate(u64::try_from(time).unwrap_or(0)));
                rest = &after[length..];
            }
            None => {
                out.push('@');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// Reads `now`, `+60s` or `-2d`: the seconds, and how long the text was.
fn read_offset(text: &str) -> Option<(i64, usize)> {
    if text.starts_with("now") {
        return Some((0, 3));
    }
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let end = text[1..].find(|c: char| !c.is_ascii_alphanumeric()).map_or(text.len(), |e| e + 1);
    let seconds = parse_duration(&text[1..end]).ok()?.as_secs();
    Some((sign * i64::try_from(seconds).ok()?, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_dates_become_http_dates_and_the_rest_stays() {
        let start = START_UNIX_MS / 1000;
        for (value, wanted) in [
            ("@now", "Sun, 06 Nov 1994 08:49:37 GMT"),
            ("@+1m", "Sun, 06 Nov 1994 08:50:37 GMT"),
            ("@-1d x", "Sat, 05 Nov 1994 08:49:37 GMT x"),
            ("mail@example.test", "mail@a.test"),
            ("@+soon", "@+soon"),
        ] {
            assert_eq!(render(value, start, "a.test"), wanted);
        }
    }
}
