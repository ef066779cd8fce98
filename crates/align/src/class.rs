//! Classes: what a difference between two copies is taken for.
//!
//! Only differences in machine places (attributes, scripts) are ever translated; those in
//! what a person reads are tolerated if they are numbers, and speak against sharing
//! otherwise.

/// What a difference is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// A token that is itself wherever it stands: long, or mixed of letters and digits.
    Strong,
    /// A value that means something only as the whole value of its own field.
    Weak,
    /// A Unix time in a machine place; translated like [`Class::Weak`].
    Clock,
    /// The name of a field, or what refers to one.
    FieldName,
    /// An attribute of something that also reads differently, or a name that both copies have:
    /// other content, as when rows stand in another order. Never translated.
    Content,
    /// A number or a time in what a person reads.
    Counter,
    /// Anything else that a person reads.
    Visible,
}

impl Class {
    /// Whether a value of this class is exchanged in a request.
    #[must_use]
    pub fn is_translated(self) -> bool {
        matches!(self, Self::Strong | Self::Weak | Self::Clock | Self::FieldName)
    }
}

/// Two Unix times further apart than this are no clock.
const CLOCK_SECONDS: u64 = 86_400;
const STRONG_BYTES: usize = 16;
/// What is longer is a state that a form carries along, and comes back whole.
const STRONG_BYTES_MAX: usize = 1024;
const MIXED_BYTES: usize = 8;
const MIXED_DIFFERENT_BYTES: u32 = 6;

/// The class of two values that differ in a machine place.
pub(crate) fn of_machine(old: &[u8], new: &[u8]) -> Class {
    if is_strong(old) {
        return Class::Strong;
    }
    match (whole_unix_time(old), whole_unix_time(new)) {
        (Some(old), Some(new)) if old.abs_diff(new) <= CLOCK_SECONDS => Class::Clock,
        _ => Class::Weak,
    }
}

/// The class of two texts that differ in what a person reads.
pub(crate) fn of_text(old: &[u8], new: &[u8]) -> Class {
    if same_but_numbers(old, new) { Class::Counter } else { Class::Visible }
}

/// Whether a value is a token wherever it stands: at least 16 bytes with a digit or a
/// small letter before a large one, or at least 8 that mix letters and digits; at most 1024.
#[must_use]
pub fn is_strong(value: &[u8]) -> bool {
    if !(MIXED_BYTES..=STRONG_BYTES_MAX).contains(&value.len()) {
        return false;
    }
    let has_digit = value.iter().any(u8::is_ascii_digit);
    let has_camel_case =
        value.windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    let has_letter = value.iter().any(u8::is_ascii_alphabetic);
    value.len() >= STRONG_BYTES && (has_digit || has_camel_case)
        || has_digit && has_letter && different_bytes(value) >= MIXED_DIFFERENT_BYTES
}

fn different_bytes(value: &[u8]) -> u32 {
    let mut seen = [0u128; 2];
    for &byte in value {
        seen[usize::from(byte >> 7)] |= 1 << (byte & 127);
    }
    seen[0].count_ones() + seen[1].count_ones()
}

/// Whether two texts are equal once each number, price, date or time is one mark.
fn same_but_numbers(old: &[u8], new: &[u8]) -> bool {
    without_numbers(old).eq(without_numbers(new))
}

/// A text in which each number, price, date or time is one mark. A number behind a letter
/// is none: `Guest17` is somebody's name, `17px` and `9pm` are amounts. Only ASCII knows
/// that difference; other scripts write numbers behind words.
pub(crate) fn without_numbers(text: &[u8]) -> impl Iterator<Item = u8> {
    let is_number = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b',' | b':');
    let mut before = b' ';
    let mut was_masked = false;
    text.iter().filter_map(move |&byte| {
        let is_in_name = !was_masked && (before.is_ascii_alphanumeric() || before == b'_');
        let is_masked = is_number(byte) && !(byte.is_ascii_digit() && is_in_name);
        let starts = is_masked && !was_masked;
        (before, was_masked) = (byte, is_masked);
        if starts { Some(b'0') } else { (!is_masked).then_some(byte) }
    })
}

/// The Unix times from 2001 to 2033 that stand in a value as numbers of their own.
pub(crate) fn unix_times(value: &[u8]) -> impl Iterator<Item = u64> {
    value.split(|byte| !byte.is_ascii_digit()).filter_map(whole_unix_time)
}

fn whole_unix_time(digits: &[u8]) -> Option<u64> {
    if digits.len() != 10 || digits[0] != b'1' || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_in_machine_places() {
        let check = |old: &str, new: &str, expected: Class| {
            assert_eq!(of_machine(old.as_bytes(), new.as_bytes()), expected, "{old} -> {new}");
        };
        check("9f86d081884c7d65", "x", Class::Strong);
        check("abcdefghijklmnoP", "x", Class::Strong);
        check("abcdefghijklmnop", "x", Class::Weak);
        check("1234567890123456", "x", Class::Strong);
        check("a1b2c3d4", "x", Class::Strong);
        check("a1a1a1a1", "x", Class::Weak);
        check("a1b2c3d", "x", Class::Weak);
        check("12345678", "12345679", Class::Weak);
        check("1700000000", "1700000007", Class::Clock);
        check("1700000000", "1800000000", Class::Weak);
        check("", "", Class::Weak);
        check(&"a1".repeat(512), "x", Class::Strong);
        check(&"a1".repeat(513), "x", Class::Weak);
    }

    #[test]
    fn differences_in_what_a_person_reads() {
        let check = |old: &str, new: &str, expected: Class| {
            assert_eq!(of_text(old.as_bytes(), new.as_bytes()), expected, "{old} -> {new}");
        };
        check("12 views", "1,013 views", Class::Counter);
        check("at 10:59:59", "at 11:00", Class::Counter);
        check("Hello Ann", "Hello Bob", Class::Visible);
        check("1 view", "2 views", Class::Visible);
        check("Guest17", "Guest18", Class::Visible);
        check("guest_17", "guest_18", Class::Visible);
        check("9pm, 5px; 0.12s", "11pm, 6px; 1s", Class::Counter);
        check("조회12", "조회13", Class::Counter);
        check("views", "12 views", Class::Visible);
    }

    #[test]
    fn only_whole_numbers_are_times() {
        let times: Vec<_> = unix_times(b"a1700000000b,17000000001,1700000002").collect();
        assert_eq!(times, [1_700_000_000, 1_700_000_002]);
    }
}
