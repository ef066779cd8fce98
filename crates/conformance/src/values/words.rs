//! Words: ids, types, languages and names.

/// An id: something, without space.
pub(super) fn id(value: &str) -> Result<(), String> {
    if value.is_empty() {
        return Err("An ID must not be the empty string.".to_owned());
    }
    if value.bytes().any(|byte| byte.is_ascii_whitespace()) {
        return Err("An ID must not contain whitespace.".to_owned());
    }
    Ok(())
}

fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// A media type with its parameters.
pub(super) fn mime(value: &str) -> Result<(), String> {
    let mut parts = value.split(';');
    let essence = parts.next().unwrap_or("").trim();
    let is_essence =
        essence.split_once('/').is_some_and(|(kind, rest)| is_token(kind) && is_token(rest));
    if !is_essence {
        return Err("Expected a MIME type such as “text/css”.".to_owned());
    }
    let is_parameter = |part: &str| {
        part.trim().split_once('=').is_some_and(|(name, value)| {
            is_token(name) && (is_token(value) || (value.starts_with('"') && value.ends_with('"')))
        })
    };
    // A quoted value may hold a semicolon; then the parts aren't parameters.
    if !value.contains('"') && !parts.all(is_parameter) {
        return Err("Bad parameter of a MIME type.".to_owned());
    }
    Ok(())
}

/// What `type` of a script may say besides a MIME type.
pub(super) fn script_type(value: &str) -> Result<(), String> {
    let known = ["", "module", "importmap", "speculationrules"];
    if known.iter().any(|word| word.eq_ignore_ascii_case(value)) {
        return Ok(());
    }
    Err("Expected a MIME type, “module”, “importmap” or “speculationrules”.".to_owned())
}

/// A language tag by the shape of its subtags (BCP 47); the registry isn't asked.
pub(super) fn language(value: &str) -> Result<(), String> {
    let mut subtags = value.split('-');
    let first = subtags.next().unwrap_or("");
    let is_alpha =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphabetic());
    if first.eq_ignore_ascii_case("x") || first.eq_ignore_ascii_case("i") {
        return Ok(());
    }
    if !is_alpha(first) || !matches!(first.len(), 2 | 3) {
        return Err(
            "The language subtag is not a valid ISO language part of a language tag.".to_owned()
        );
    }
    let mut is_extension = false;
    for subtag in subtags {
        let is_word = !subtag.is_empty()
            && subtag.len() <= 8
            && subtag.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !is_word {
            return Err(format!("“{subtag}” is not a valid part of a language tag."));
        }
        is_extension |= subtag.len() == 1;
        let is_shaped = match subtag.len() {
            2 | 4 if is_alpha(subtag) => true,
            3 => true,
            4 => subtag.as_bytes()[0].is_ascii_digit(),
            5..=8 => true,
            _ => false,
        };
        if !is_extension && !is_shaped {
            return Err(format!("“{subtag}” is not a valid part of a language tag."));
        }
    }
    Ok(())
}

/// The name of a browsing context or a keyword.
pub(super) fn target(value: &str) -> Result<(), String> {
    let keywords = ["_blank", "_self", "_parent", "_top"];
    if value.starts_with('_') && !keywords.iter().any(|word| word.eq_ignore_ascii_case(value)) {
        return Err("Reserved keyword used.".to_owned());
    }
    if value.is_empty() {
        return Err("Browsing context name must be at least one character long.".to_owned());
    }
    Ok(())
}

/// The name of a browsing context.
pub(super) fn context_name(value: &str) -> Result<(), String> {
    if value.starts_with('_') {
        return Err("Browsing context name started with the underscore.".to_owned());
    }
    target(value)
}
