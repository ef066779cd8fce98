//! Numbers (HTML §2.3.4).

/// A valid integer.
pub(super) fn integer(value: &str) -> Result<(), String> {
    natural(value.strip_prefix('-').unwrap_or(value))
}

/// A valid integer that isn't negative.
pub(crate) fn natural(value: &str) -> Result<(), String> {
    if value.is_empty() {
        return Err("The empty string is not a valid integer.".to_owned());
    }
    match value.chars().find(|c| !c.is_ascii_digit()) {
        None => Ok(()),
        Some(found) => Err(format!("Expected a digit but saw “{found}” instead.")),
    }
}

/// A valid integer above zero.
pub(super) fn positive(value: &str) -> Result<(), String> {
    natural(value)?;
    if value.bytes().all(|byte| byte == b'0') {
        return Err("Zero is not a positive integer.".to_owned());
    }
    Ok(())
}

/// A valid floating-point number.
pub(super) fn float(value: &str) -> Result<(), String> {
    let bad = || Err(format!("“{value}” is not a valid floating-point number."));
    let rest = value.strip_prefix('-').unwrap_or(value);
    let (number, exponent) = match rest.find(['e', 'E']) {
        Some(at) => (&rest[..at], Some(&rest[at + 1..])),
        None => (rest, None),
    };
    let (whole, fraction) = match number.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (number, None),
    };
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let has_number = fraction.map_or(!whole.is_empty(), |fraction| !fraction.is_empty());
    if !are_digits(whole) || !fraction.is_none_or(are_digits) || !has_number {
        return bad();
    }
    let is_exponent = |text: &str| {
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        !digits.is_empty() && are_digits(digits)
    };
    if !exponent.is_none_or(is_exponent) {
        return bad();
    }
    Ok(())
}

/// Numbers between commas, as of image maps.
pub(super) fn coordinates(value: &str) -> Result<(), String> {
    value.split(',').try_for_each(|number| float(number.trim()))
}
