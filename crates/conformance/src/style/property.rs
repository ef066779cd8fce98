//! Declarations: whether browsers know a property, and what it is said to be.
//!
//! A name is held against `properties.txt`: those of CSS and of SVG, of browsers that are, and
//! of browsers that were. A value is held against lightningcss' grammars where these are settled;
//! what is computed later, written for one browser, or very large is taken as it is.

use std::collections::HashSet;
use std::sync::LazyLock;

use lightningcss::properties::{Property, PropertyId};
use lightningcss::stylesheet::ParserOptions;

use super::walk::cut;
use crate::findings::Findings;

/// Longer values hold data, which no grammar restricts.
const VALUE_BYTES_MAX: usize = 1_000;
/// Grammars try what is in brackets in several ways, and again at each level.
const VALUE_DEPTH_MAX: usize = 6;
/// A name that differs by more is another name.
const TYPING_MISTAKES_MAX: usize = 2;

/// Properties whose values have been the same for years. Grammars of others (grids, fonts,
/// sizes) grow quicker than a release of lightningcss and of Wick.
const JUDGED: [&str; 57] = [
    "background",
    "background-attachment",
    "background-color",
    "background-image",
    "background-position",
    "background-repeat",
    "background-size",
    "border",
    "border-bottom",
    "border-bottom-color",
    "border-bottom-left-radius",
    "border-bottom-right-radius",
    "border-bottom-style",
    "border-bottom-width",
    "border-collapse",
    "border-color",
    "border-left",
    "border-left-color",
    "border-left-style",
    "border-left-width",
    "border-radius",
    "border-right",
    "border-right-color",
    "border-right-style",
    "border-right-width",
    "border-spacing",
    "border-style",
    "border-top",
    "border-top-color",
    "border-top-left-radius",
    "border-top-right-radius",
    "border-top-style",
    "border-top-width",
    "border-width",
    "bottom",
    "box-shadow",
    "caption-side",
    "color",
    "left",
    "line-height",
    "margin",
    "margin-bottom",
    "margin-left",
    "margin-right",
    "margin-top",
    "opacity",
    "overflow",
    "overflow-x",
    "overflow-y",
    "padding",
    "padding-bottom",
    "padding-left",
    "padding-right",
    "padding-top",
    "right",
    "top",
    "z-index",
];
/// Functions that are as old; what calls another isn't judged.
const FUNCTIONS: [&str; 12] = [
    "rgb",
    "rgba",
    "hsl",
    "hsla",
    "url",
    "calc",
    "linear-gradient",
    "radial-gradient",
    "repeating-linear-gradient",
    "repeating-radial-gradient",
    "min",
    "max",
];
/// What lightningcss doesn't take, and browsers do.
const MISJUDGED: [(&str, &str); 1] = [("box-shadow", "none")];

static KNOWN: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| include_str!("properties.txt").split_whitespace().collect());

/// Whether a name, in lower case, is that of a property.
pub(crate) fn is_known(name: &str) -> bool {
    KNOWN.contains(name)
}

/// Holds a declaration against what browsers know.
pub(crate) fn check(at: usize, name: &str, value: &str, findings: &mut Findings) {
    let name = name.to_ascii_lowercase();
    // Custom properties, those of one browser, and hacks for old ones.
    if name.starts_with(['-', '_']) {
        return;
    }
    if !is_known(&name) {
        let name = cut(&name);
        let message = match nearest(name) {
            Some(other) => format!("Browsers know no property “{name}”. Is “{other}” meant?"),
            None => format!("Browsers know no property “{name}”, and leave it out."),
        };
        findings.error(at, "css-property", message);
        return;
    }
    let value = without_importance(value);
    let is_judged = JUDGED.contains(&name.as_str()) && is_plain(value);
    if !is_judged || MISJUDGED.contains(&(name.as_str(), &value.to_ascii_lowercase())) {
        return;
    }
    let id = PropertyId::from(name.as_str());
    let read = Property::parse_string(id, value, ParserOptions::default());
    // What lightningcss has no grammar for is `Custom`, and taken as it is.
    if matches!(read, Ok(Property::Unparsed(_)) | Err(_)) {
        let message = format!("“{name}” can't be “{}”, so browsers leave it out.", cut(value));
        findings.warning(at, "css-value", message);
    }
}

/// The name that was probably meant.
fn nearest(name: &str) -> Option<&'static str> {
    let most = TYPING_MISTAKES_MAX.min(name.len() / 3);
    let near = |known: &&'static str| {
        let far = strsim::damerau_levenshtein(known, name);
        (far <= most).then_some((far, *known))
    };
    KNOWN
        .iter()
        .filter(|known| known.len().abs_diff(name.len()) <= most)
        .filter_map(near)
        .min()
        .map(|(_, known)| known)
}

/// Whether a value is what a grammar can judge.
fn is_plain(value: &str) -> bool {
    const TAKEN: [&str; 15] = [
        "\\",
        "-webkit-",
        "-moz-",
        "-ms-",
        "-o-",
        "-khtml-",
        "-internal-",
        "!ie",
        "{",
        "}",
        "<",
        "revert-",
        " in ",
        "overlay",
        "border-area",
    ];
    const FOR_ALL: [&str; 4] = ["inherit", "initial", "unset", "revert"];
    if value.len() > VALUE_BYTES_MAX || depth(value) > VALUE_DEPTH_MAX {
        return false;
    }
    let value = value.to_ascii_lowercase();
    let is_for_all = FOR_ALL.contains(&value.as_str()) || value.is_empty();
    let called = value.split('(').rev().skip(1).map(|before| {
        let end = before.trim_end_matches(|letter: char| letter.is_alphanumeric() || letter == '-');
        &before[end.len()..]
    });
    let are_known = called.into_iter().all(|name| name.is_empty() || FUNCTIONS.contains(&name));
    !is_for_all && are_known && !TAKEN.iter().any(|taken| value.contains(taken))
}

fn depth(value: &str) -> usize {
    let (mut now, mut most) = (0_usize, 0);
    for byte in value.bytes() {
        match byte {
            b'(' | b'[' => now += 1,
            b')' | b']' => now = now.saturating_sub(1),
            _ => {}
        }
        most = most.max(now);
    }
    most
}

/// A value without `!important` at its end.
fn without_importance(value: &str) -> &str {
    let value = value.trim();
    let Some((before, word)) = value.rsplit_once('!') else { return value };
    match word.trim().eq_ignore_ascii_case("important") {
        true => before.trim(),
        false => value,
    }
}
