//! Memory of the machine, and how hard its programs wait for it, for the processor and for disks.
//!
//! In: the texts of `/proc/meminfo` and `/proc/pressure/…` (Linux' PSI). Out: bytes and shares.

use super::numbers::bytes_behind;

/// The machine's memory, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// All of it.
    pub total_bytes: u64,
    /// What programs could still have without swapping.
    pub available_bytes: u64,
    /// All of the swap.
    pub swap_total_bytes: u64,
    /// What of it is unused.
    pub swap_free_bytes: u64,
}

impl Memory {
    /// Of the text of `/proc/meminfo`.
    #[must_use]
    pub fn parse(meminfo: &str) -> Option<Self> {
        Some(Self {
            total_bytes: bytes_behind(meminfo, "MemTotal:")?,
            available_bytes: bytes_behind(meminfo, "MemAvailable:")?,
            swap_total_bytes: bytes_behind(meminfo, "SwapTotal:").unwrap_or(0),
            swap_free_bytes: bytes_behind(meminfo, "SwapFree:").unwrap_or(0),
        })
    }
}

/// How much of the time something was waited for, in one of the files of `/proc/pressure`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pressure {
    /// The share of the last ten seconds in which at least one program waited, from 0 to 1.
    pub some_ratio: f64,
    /// That in which all of them waited.
    pub full_ratio: f64,
    /// How long at least one waited since the machine's start, in microseconds.
    pub some_us: u64,
}

impl Pressure {
    /// Of the text of such a file; that of the processor has no second line on older kernels.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
        let full = text.lines().find_map(|line| line.strip_prefix("full "));
        Some(Self {
            some_ratio: ratio(some)?,
            full_ratio: full.and_then(ratio).unwrap_or(0.0),
            some_us: value(some, "total=")?.parse().ok()?,
        })
    }
}

fn value<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.split_ascii_whitespace().find_map(|word| word.strip_prefix(name))
}

fn ratio(line: &str) -> Option<f64> {
    let percent: f64 = value(line, "avg10=")?.parse().ok()?;
    percent.is_finite().then(|| (percent / 100.0).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_in_bytes() {
        let text = "MemTotal:        2035000 kB\nMemFree:          100000 kB\n\
            MemAvailable:    1000000 kB\nSwapTotal:        524284 kB\nSwapFree:         500000 kB\n";
        let expected = Memory {
            total_bytes: 2_035_000 << 10,
            available_bytes: 1_000_000 << 10,
            swap_total_bytes: 524_284 << 10,
            swap_free_bytes: 500_000 << 10,
        };
        assert_eq!(Memory::parse(text), Some(expected));
    }

    #[test]
    fn memory_that_can_not_be_read_is_not_there() {
        for text in [
            "",
            "MemTotal: 1 kB\n",
            "MemTotal: x kB\nMemAvailable: 1 kB\n",
            "MemTotal: -1 kB\nMemAvailable: 1 kB\n",
            "MemTotal: 18446744073709551615 kB\nMemAvailable: 1 kB\n",
            "MemTotal:\nMemAvailable:\n",
        ] {
            assert_eq!(Memory::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn pressure_is_a_share_of_the_last_ten_seconds() {
        let some = "some avg10=12.50 avg60=1.00 avg300=0.10 total=123456\n";
        let full = "full avg10=5.00 avg60=0.00 avg300=0.00 total=99\n";
        let told =
            |some_ratio, full_ratio, some_us| Some(Pressure { some_ratio, full_ratio, some_us });
        for (text, expected) in [
            (format!("{some}{full}"), told(0.125, 0.05, 123_456)),
            (some.to_owned(), told(0.125, 0.0, 123_456)),
            (full.to_owned(), None),
            ("some avg10=NaN total=1\n".to_owned(), None),
            ("some avg10=1e9 total=1\n".to_owned(), told(1.0, 0.0, 1)),
            ("some avg10=1\n".to_owned(), None),
            (String::new(), None),
        ] {
            assert_eq!(Pressure::parse(&text), expected, "{text:?}");
        }
    }
}
