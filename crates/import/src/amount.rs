//! Sizes and times as other servers write them.
//!
//! In: a text such as `8m`, `1h30m` or `10MB`. Out: bytes or a duration; none for what is
//! no amount (`off`, `max`) or too large to mean anything. [`show_bytes`] and
//! [`show_duration`] write them as `wick.toml` does.

use std::time::Duration;

/// nginx: a month is 30 days, and `M` is not `m`.
const NGINX: &[(&str, f64)] = &[
    ("ms", 1.0),
    ("s", 1e3),
    ("m", 60e3),
    ("h", 3_600e3),
    ("d", 86_400e3),
    ("w", 604_800e3),
    ("M", 2_592_000e3),
    ("y", 31_536_000e3),
    ("", 1e3),
];

/// Go, with the day that Caddy adds.
const CADDY: &[(&str, f64)] = &[
    ("ns", 1e-6),
    ("us", 1e-3),
    ("µs", 1e-3),
    ("ms", 1.0),
    ("s", 1e3),
    ("m", 60e3),
    ("h", 3_600e3),
    ("d", 86_400e3),
];

const VCL: &[(&str, f64)] = &[
    ("ms", 1.0),
    ("s", 1e3),
    ("m", 60e3),
    ("h", 3_600e3),
    ("d", 86_400e3),
    ("w", 604_800e3),
    ("y", 31_536_000e3),
];

/// A hundred years, in milliseconds: what is longer is nothing that anybody meant.
const LONGEST_MS: f64 = 3_153_600_000_000.0;
/// The largest size: 2^53, up to which every whole number can be told apart.
const LARGEST: f64 = 9_007_199_254_740_992.0;

/// `30s`, `1h30m`, `1h 30m`, `90`.
pub(crate) fn nginx_duration(text: &str) -> Option<Duration> {
    duration(text, NGINX)
}

/// `1h30m`, `1.5s`.
pub(crate) fn caddy_duration(text: &str) -> Option<Duration> {
    duration(text, CADDY)
}

/// `120s`, `1.5h`.
pub(crate) fn vcl_duration(text: &str) -> Option<Duration> {
    duration(text, VCL)
}

/// `8m`, `64k`, `1g`, `1024`: powers of 1024.
pub(crate) fn nginx_bytes(text: &str) -> Option<u64> {
    let (number, unit, rest) = cut(text.trim())?;
    let factor = match unit {
        "" => 1.0,
        "k" | "K" => 1024.0,
        "m" | "M" => 1_048_576.0,
        "g" | "G" => 1_073_741_824.0,
        _ => return None,
    };
    whole(rest, number * factor)
}

/// `10MB` is ten million, `10MiB` is ten times 2^20.
pub(crate) fn caddy_bytes(text: &str) -> Option<u64> {
    let (number, unit, rest) = cut(text.trim())?;
    let unit = unit.to_ascii_lowercase();
    let power = match unit.chars().next() {
        None | Some('b') => 0,
        Some('k') => 1,
        Some('m') => 2,
        Some('g') => 3,
        Some('t') => 4,
        _ => return None,
    };
    let base: f64 = match unit.get(1..) {
        Some("ib" | "i") => 1024.0,
        None | Some("" | "b") => 1000.0,
        _ => return None,
    };
    whole(rest, number * base.powi(power))
}

/// As `wick.toml` takes it: the largest unit that leaves a whole number.
pub(crate) fn show_duration(time: Duration) -> String {
    let ms = time.as_millis();
    for (unit, length) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)] {
        if ms.is_multiple_of(length) && (ms >= length || unit == "s") {
            return format!("{}{unit}", ms / length);
        }
    }
    format!("{ms}ms")
}

/// As `wick.toml` takes it.
pub(crate) fn show_bytes(bytes: u64) -> String {
    for (unit, power) in [("T", 40), ("G", 30), ("M", 20), ("K", 10)] {
        if bytes != 0 && bytes.trailing_zeros() >= power {
            return format!("{}{unit}", bytes >> power);
        }
    }
    bytes.to_string()
}

fn duration(text: &str, units: &[(&str, f64)]) -> Option<Duration> {
    let mut rest = text.trim();
    let mut ms = 0.0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let (number, unit, behind) = cut(rest)?;
        let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
        ms += number * factor;
        rest = behind.trim_start();
    }
    // Whole microseconds: nobody means less.
    (ms <= LONGEST_MS).then(|| Duration::from_micros((ms * 1e3).round() as u64))
}

fn whole(rest: &str, bytes: f64) -> Option<u64> {
    (rest.is_empty() && bytes <= LARGEST).then_some(bytes as u64)
}

/// A number, the letters behind it, and the rest.
fn cut(text: &str) -> Option<(f64, &str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    let unit_end = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
    let (unit, rest) = rest.split_at(unit_end);
    Some((number.parse().ok()?, unit, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_each_dialect() {
        for (read, text, expected) in [
            (nginx_duration as fn(&str) -> Option<Duration>, "30s", "30s"),
            (nginx_duration, "1h30m", "90m"),
            (nginx_duration, "1h 30m", "90m"),
            (nginx_duration, "65", "65s"),
            (nginx_duration, "1M", "30d"),
            (nginx_duration, "1m", "1m"),
            (nginx_duration, "500ms", "500ms"),
            (nginx_duration, "0", "0s"),
            (caddy_duration, "1.5s", "1500ms"),
            (caddy_duration, "2m30s", "150s"),
            (vcl_duration, "1w", "7d"),
            (vcl_duration, "0.5h", "30m"),
        ] {
            assert_eq!(read(text).map(show_duration).as_deref(), Some(expected), "{text}");
        }
        for text in ["", "off", "max", "-1", "1q", "1..5s", "99999999999999999999y", ".", "s"] {
            assert_eq!(nginx_duration(text), None, "{text}");
        }
        assert_eq!(caddy_duration("5"), None);
    }

    #[test]
    fn sizes_are_read_in_each_dialect() {
        for (read, text, expected) in [
            (nginx_bytes as fn(&str) -> Option<u64>, "8m", "8M"),
            (nginx_bytes, "64K", "64K"),
            (nginx_bytes, "1g", "1G"),
            (nginx_bytes, "1500", "1500"),
            (nginx_bytes, "2048k", "2M"),
            (nginx_bytes, "0", "0"),
            (caddy_bytes, "10MB", "10000000"),
            (caddy_bytes, "10MiB", "10M"),
            (caddy_bytes, "512", "512"),
        ] {
            assert_eq!(read(text).map(show_bytes).as_deref(), Some(expected), "{text}");
        }
        for text in ["", "m", "1x", "1 m", "-1", "9999999999g"] {
            assert_eq!(nginx_bytes(text), None, "{text}");
        }
        assert_eq!(caddy_bytes("1mx"), None);
    }
}
