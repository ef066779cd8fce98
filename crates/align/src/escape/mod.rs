//! The spellings in which a value travels: HTML entities, percent codes, JSON escapes.
//!
//! Each reader takes any bytes: what is no escape is left as it stands. A value that
//! bears no escape is lent, not copied.

pub(crate) mod entity;
pub(crate) mod json;
pub(crate) mod percent;

/// The value of a hexadecimal number of at most eight digits, and nothing else.
fn hexadecimal(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() || digits.len() > 8 {
        return None;
    }
    digits.iter().try_fold(0u32, |number, &digit| {
        let digit = char::from(digit).to_digit(16)?;
        number.checked_mul(16)?.checked_add(digit)
    })
}

/// Appends a character, or the replacement character for a number that is none.
fn push_character(out: &mut Vec<u8>, number: u32) {
    let character = char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER);
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}
