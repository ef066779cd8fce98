//! Our own process: memory, processor, threads.
//!
//! In: the texts of `/proc/self/statm` and `/proc/self/stat`. Out: amounts.

use super::numbers::numbers;

/// What our process is and did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessTimes {
    /// Processor time of programs and kernel for us, in ticks.
    pub busy: u64,
    /// Threads.
    pub threads: u64,
    /// When it began, in ticks since the machine's start.
    pub started: u64,
}

impl ProcessTimes {
    /// Of the text of `/proc/self/stat`. The program's name stands in brackets and may hold
    /// anything, brackets too.
    #[must_use]
    pub fn parse(stat: &str) -> Option<Self> {
        let (_, rest) = stat.rsplit_once(") ")?;
        // The first of them is a letter, the rest are counted from field 4 of proc(5); some of
        // those are negative.
        let each: Vec<i128> = rest
            .split_ascii_whitespace()
            .skip(1)
            .map_while(|word| word.parse().ok())
            .take(19)
            .collect();
        let at = |field: usize| u64::try_from(*each.get(field - 4)?).ok();
        Some(Self { busy: at(14)?.saturating_add(at(15)?), threads: at(20)?, started: at(22)? })
    }
}

/// Of the text of `/proc/self/statm`: the pages that are in memory.
#[must_use]
pub fn resident_pages(statm: &str) -> Option<u64> {
    numbers(statm).nth(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_whatever_the_program_is_called() {
        let rest = "S 1 2 3 0 -1 4194304 100 0 0 0 321 123 0 0 20 0 7 0 98765 1000000 250";
        let expected = ProcessTimes { busy: 444, threads: 7, started: 98_765 };
        for name in ["wick", "a b", "x) S 9 9", ""] {
            assert_eq!(ProcessTimes::parse(&format!("42 ({name}) {rest}")), Some(expected));
        }
        for text in [
            "",
            "42 (wick)",
            "42 (wick) S 1 2",
            "42 (wick) S x",
            ") ) )",
            ") S 1 2 3 4 5 6 7 8 9 10 -1 1 1 1 1 1 1 1 1",
        ] {
            assert_eq!(ProcessTimes::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn resident_pages_are_the_second_number() {
        for (text, expected) in
            [("12345 678 90 1 0 2 0\n", Some(678)), ("1", None), ("", None), ("1 x", None)]
        {
            assert_eq!(resident_pages(text), expected, "{text:?}");
        }
    }
}
