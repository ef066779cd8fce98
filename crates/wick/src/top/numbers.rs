//! Numbers as they stand in narrow columns.

/// `1234567` as `1 234 567`, or as `12.3 M` where that would be too wide.
pub(super) fn count(number: u64) -> String {
    if number >= 10_000_000 {
        let (unit, word) = match number {
            10_000_000..10_000_000_000 => (1e6, 'M'),
            _ => (1e9, 'G'),
        };
        return format!("{:.1} {word}", number as f64 / unit);
    }
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// Of a second: one decimal while it is small.
pub(super) fn rate(number: f64) -> String {
    match number < 9.95 {
        true => format!("{number:.1}"),
        false => count(number.round() as u64),
    }
}

/// A time of few letters: `870 µs`, `1.23 ms`, `123 ms`, `1.23 s`, `12 min`, `3.1 h`.
pub(super) fn time(microseconds: u64) -> String {
    let number = microseconds as f64;
    match microseconds {
        0..1000 => format!("{microseconds} µs"),
        1000..9_995 => format!("{:.2} ms", number / 1e3),
        9_995..99_950 => format!("{:.1} ms", number / 1e3),
        99_950..999_500 => format!("{:.0} ms", number / 1e3),
        999_500..9_995_000 => format!("{:.2} s", number / 1e6),
        9_995_000..99_950_000 => format!("{:.1} s", number / 1e6),
        99_950_000..600_000_000 => format!("{:.0} s", number / 1e6),
        600_000_000..7_200_000_000 => format!("{:.0} min", number / 6e7),
        _ => format!("{:.1} h", number / 3.6e9),
    }
}

/// A time that may not be known.
pub(super) fn time_or_none(microseconds: Option<u64>) -> String {
    microseconds.map_or_else(|| "–".to_owned(), time)
}

/// A share that there is none of where nothing was counted.
pub(super) fn percent(part: u64, whole: u64) -> String {
    match whole {
        0 => "–".to_owned(),
        // Only all of them are 100 %.
        _ => format!("{:.1} %", ((part as f64 / whole as f64) * 1000.0).floor() / 10.0),
    }
}

/// Since when, in its two largest units.
pub(super) fn since(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, ..) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

/// Seconds as a line of small columns, the last of them where there is no room for all. What
/// is not zero can always be seen.
pub(super) fn sparkline(numbers: &[u64], width: usize) -> String {
    const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let shown = &numbers[numbers.len().saturating_sub(width)..];
    let most = shown.iter().copied().max().unwrap_or(0).max(1);
    let level = |number: &u64| match number {
        0 => ' ',
        _ => LEVELS[(u128::from(*number) * 8).div_ceil(u128::from(most)) as usize - 1],
    };
    shown.iter().map(level).collect()
}

/// As much of a text as there is room for; what is missing is shown as `…`.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(width.saturating_sub(1)).collect();
    if width > 0 {
        cut.push('…');
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_readable() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1 000"),
            (1_234_567, "1 234 567"),
            (12_345_678, "12.3 M"),
            (u64::MAX, "18446744073.7 G"),
        ] {
            assert_eq!(count(number), text);
        }
        for (microseconds, text) in [
            (0, "0 µs"),
            (999, "999 µs"),
            (1234, "1.23 ms"),
            (9_999, "10.0 ms"),
            (123_456, "123 ms"),
            (999_999, "1.00 s"),
            (12_340_000, "12.3 s"),
            (900_000_000, "15 min"),
            (11_160_000_000, "3.1 h"),
        ] {
            assert_eq!(time(microseconds), text);
        }
        let shares = [(0, 0), (0, 7), (9_999, 10_000), (7, 7)].map(|(a, b)| percent(a, b));
        assert_eq!(shares, ["–", "0.0 %", "99.9 %", "100.0 %"]);
        let ages = [5, 65, 7_265, 90_000].map(since);
        assert_eq!(ages, ["5 s", "1 min 5 s", "2 h 1 min", "1 d 1 h"]);
        assert_eq!([0.0, 9.94, 9.96, 1234.0].map(rate), ["0.0", "9.9", "10", "1 234"]);
    }

    #[test]
    fn columns_show_the_last_seconds_and_whatever_is_not_zero() {
        for (numbers, width, line) in [
            (&[][..], 4, ""),
            (&[0, 0], 4, "  "),
            (&[1, 1000, 500], 4, "▁█▄"),
            (&[9, 9, 1, 8], 2, "▁█"),
            (&[u64::MAX, 1], 2, "█▁"),
            (&[1], 0, ""),
        ] {
            assert_eq!(sparkline(numbers, width), line, "{numbers:?}");
        }
        assert_eq!([cut("/thread", 7), cut("/thread", 4), cut("/a", 0)], ["/thread", "/th…", ""]);
    }
}
