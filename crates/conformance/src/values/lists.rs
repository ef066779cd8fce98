//! Lists: sources of images, media queries, `autocomplete` and `sandbox`.

use super::numbers::{float, positive};

/// A media query list by its shape: words, `and`, and features in parentheses.
pub(super) fn media(value: &str) -> Result<(), String> {
    let (mut depth, mut has_word) = (0_i32, false);
    for c in value.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                if !std::mem::take(&mut has_word) {
                    return Err("A media query is empty.".to_owned());
                }
                continue;
            }
            '{' | '}' | ';' | '"' => return Err(format!("“{c}” in a media query.")),
            _ => {}
        }
        if depth < 0 {
            break;
        }
        has_word |= !c.is_ascii_whitespace();
    }
    if depth != 0 {
        return Err("Parentheses of a media query don’t match.".to_owned());
    }
    if !has_word && !value.is_empty() {
        return Err("A media query is empty.".to_owned());
    }
    Ok(())
}

/// The candidates of a `srcset`: address and descriptor.
fn candidates(value: &str) -> Vec<(&str, &str)> {
    let mut list = Vec::new();
    let mut rest = value;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace());
        if rest.is_empty() {
            return list;
        }
        let end = rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len());
        let url = &rest[..end];
        rest = &rest[end..];
        if let Some(bare) = url.strip_suffix(',') {
            list.push((bare, ""));
            continue;
        }
        let end = rest.find(',').unwrap_or(rest.len());
        list.push((url, rest[..end].trim()));
        rest = rest.get(end + 1..).unwrap_or("");
    }
}

/// Image candidate strings.
pub(super) fn srcset(value: &str) -> Result<(), String> {
    let list = candidates(value);
    if list.is_empty() {
        return Err("Must contain one or more image candidate strings.".to_owned());
    }
    for (url, descriptor) in &list {
        super::address::url(url)?;
        let is_good = descriptor.is_empty()
            || descriptor.split_ascii_whitespace().all(|part| {
                part.strip_suffix('x').is_some_and(|number| float(number).is_ok())
                    || part.strip_suffix('w').is_some_and(|number| positive(number).is_ok())
                    || part.strip_suffix('h').is_some_and(|number| positive(number).is_ok())
            });
        if !is_good {
            return Err(format!("Bad descriptor “{descriptor}” of an image candidate."));
        }
    }
    let with_width = list.iter().filter(|(_, descriptor)| descriptor.ends_with('w')).count();
    if with_width > 0 && with_width < list.len() {
        return Err("Either all image candidates have a width descriptor, or none.".to_owned());
    }
    Ok(())
}

/// Whether a candidate tells its width.
pub(crate) fn srcset_has_width(value: &str) -> bool {
    candidates(value).iter().any(|(_, descriptor)| descriptor.ends_with('w'))
}

/// A source size list, by its shape.
pub(super) fn sizes(value: &str) -> Result<(), String> {
    if value.is_empty() {
        return Err("Must not be empty.".to_owned());
    }
    media(value)?;
    let last = value.rsplit(',').next().unwrap_or("").trim();
    if last.is_empty() {
        return Err("A source size is empty.".to_owned());
    }
    if last.starts_with('-') || last.ends_with('%') {
        return Err(format!("“{last}” is no length."));
    }
    Ok(())
}

/// `any`, or sizes such as `16x16`.
pub(super) fn icon_sizes(value: &str) -> Result<(), String> {
    let is_size = |word: &str| {
        word.eq_ignore_ascii_case("any")
            || word.to_ascii_lowercase().split_once('x').is_some_and(|(width, height)| {
                positive(width).is_ok()
                    && positive(height).is_ok()
                    && !width.starts_with('0')
                    && !height.starts_with('0')
            })
    };
    let mut words = value.split_ascii_whitespace().peekable();
    if words.peek().is_none() || !words.all(is_size) {
        return Err("Expected “any” or sizes such as “16x16”.".to_owned());
    }
    Ok(())
}

const FIELDS: &[&str] = &[
    "name",
    "honorific-prefix",
    "given-name",
    "additional-name",
    "family-name",
    "honorific-suffix",
    "nickname",
    "username",
    "new-password",
    "current-password",
    "one-time-code",
    "organization-title",
    "organization",
    "street-address",
    "address-line1",
    "address-line2",
    "address-line3",
    "address-level4",
    "address-level3",
    "address-level2",
    "address-level1",
    "country",
    "country-name",
    "postal-code",
    "cc-name",
    "cc-given-name",
    "cc-additional-name",
    "cc-family-name",
    "cc-number",
    "cc-exp",
    "cc-exp-month",
    "cc-exp-year",
    "cc-csc",
    "cc-type",
    "transaction-currency",
    "transaction-amount",
    "language",
    "bday",
    "bday-day",
    "bday-month",
    "bday-year",
    "sex",
    "url",
    "photo",
];
const CONTACT_FIELDS: &[&str] = &[
    "tel",
    "tel-country-code",
    "tel-national",
    "tel-area-code",
    "tel-local",
    "tel-local-prefix",
    "tel-local-suffix",
    "tel-extension",
    "email",
    "impp",
];

/// Autofill detail tokens (§4.10.18.7.1).
pub(super) fn autocomplete(value: &str) -> Result<(), String> {
    let lower = value.to_ascii_lowercase();
    let mut words: Vec<_> = lower.split_ascii_whitespace().collect();
    if matches!(words.as_slice(), ["on" | "off"]) {
        return Ok(());
    }
    if words.last() == Some(&"webauthn") {
        words.pop();
    }
    let mut rest = words.as_slice();
    if let [first, others @ ..] = rest
        && first.starts_with("section-")
    {
        rest = others;
    }
    if let ["shipping" | "billing", others @ ..] = rest {
        rest = others;
    }
    let is_contact = matches!(rest, ["home" | "work" | "mobile" | "fax" | "pager", _]);
    let is_good = match rest {
        [_, field] if is_contact => CONTACT_FIELDS.contains(field),
        [field] => FIELDS.contains(field) || CONTACT_FIELDS.contains(field),
        _ => false,
    };
    if is_good {
        return Ok(());
    }
    Err("Expected “on”, “off” or autofill detail tokens.".to_owned())
}

const SANDBOX: &[&str] = &[
    "allow-downloads",
    "allow-forms",
    "allow-modals",
    "allow-orientation-lock",
    "allow-pointer-lock",
    "allow-popups",
    "allow-popups-to-escape-sandbox",
    "allow-presentation",
    "allow-same-origin",
    "allow-scripts",
    "allow-top-navigation",
    "allow-top-navigation-by-user-activation",
    "allow-top-navigation-to-custom-protocols",
    "allow-storage-access-by-user-activation",
];

/// The flags of a sandbox.
pub(super) fn sandbox(value: &str) -> Result<(), String> {
    let lower = value.to_ascii_lowercase();
    let words: Vec<_> = lower.split_ascii_whitespace().collect();
    if let Some(word) = words.iter().find(|word| !SANDBOX.contains(word)) {
        return Err(format!("The string “{word}” is not a valid keyword."));
    }
    if words.contains(&"allow-scripts") && words.contains(&"allow-same-origin") {
        return Err(
            "“allow-scripts” and “allow-same-origin” together let the frame take its sandbox away."
                .to_owned(),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{autocomplete, icon_sizes, media, srcset};

    #[test]
    fn lists_are_judged() {
        assert!(srcset("a.png 1x, b.png 2x").is_ok());
        assert!(srcset("a.png 100w, b.png").is_err());
        assert!(srcset("").is_err());
        assert!(media("screen and (max-width: 3em), print").is_ok());
        assert!(media("screen,").is_err());
        assert!(media("(a").is_err());
        assert!(autocomplete("section-a shipping home tel").is_ok());
        assert!(autocomplete("no").is_err());
        assert!(icon_sizes("16x16 32X32").is_ok());
        assert!(icon_sizes("16").is_err());
    }
}
