//! A target in its parts: path segments and query parameters, decoded once.
//!
//! `;` separates parameters as `&` does, since some apps link so
//! (`index.php?action=profile;u=5`), and it begins path parameters (`/list;jsessionid=…`).
//! Cutting too often is harmless here: nothing that is served is picked by these parts.

use std::borrow::Cow;

/// One query or path parameter, still percent-encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parameter<'a> {
    pub(super) name: &'a str,
    /// None where there is no `=`.
    pub(super) value: Option<&'a str>,
}

impl<'a> Parameter<'a> {
    fn read(text: &'a str) -> Self {
        match text.split_once('=') {
            Some((name, value)) => Self { name, value: Some(value) },
            None => Self { name: text, value: None },
        }
    }
}

/// The path without its query.
pub(super) fn path(target: &str) -> &str {
    target.split_once('?').map_or(target, |(path, _)| path)
}

/// The parameters of the query.
pub(super) fn parameters(target: &str) -> impl Iterator<Item = Parameter<'_>> {
    let query = target.split_once('?').map_or("", |(_, query)| query);
    query.split(['&', ';']).filter(|text| !text.is_empty()).map(Parameter::read)
}

/// The segments of the path, decoded; what stands before the first `/` is none.
pub(crate) fn segments_of(target: &str) -> impl Iterator<Item = Cow<'_, str>> {
    path(target).split('/').skip(1).filter(|segment| !segment.is_empty()).map(decoded)
}

/// The names and values of the query's parameters, decoded.
pub(crate) fn parameters_of(target: &str) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    parameters(target).map(|one| (decoded(one.name), decoded(one.value.unwrap_or_default())))
}

/// The parameters that stand in path segments, behind a `;`.
pub(super) fn path_parameters(target: &str) -> impl Iterator<Item = Parameter<'_>> {
    path(target).split('/').flat_map(|segment| segment.split(';').skip(1)).map(Parameter::read)
}

/// The text with `%xx` decoded once; what is no text then is replaced.
pub(super) fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let (byte, after) = match after {
            [high, low, behind @ ..] if *first == b'%' => match (digit(*high), digit(*low)) {
                (Some(high), Some(low)) => (high << 4 | low, behind),
                _ => (*first, after),
            },
            _ => (*first, after),
        };
        bytes.push(byte);
        rest = after;
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

fn digit(byte: u8) -> Option<u8> {
    (byte as char).to_digit(16).map(|value| value as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_cut_into_its_parameters() {
        for (target, in_query, in_path) in [
            ("/", "", ""),
            ("/a?", "", ""),
            ("/a?b=1&c", "b=1 c", ""),
            ("/a?b=1;c=2&&;d=", "b=1 c=2 d=", ""),
            ("/a?b=c=d?e", "b=c=d?e", ""),
            ("/a;s=1/b;t;u=2?v=3", "v=3", "s=1 t u=2"),
            ("", "", ""),
            ("?x", "x", ""),
        ] {
            let shown = |all: &mut dyn Iterator<Item = Parameter<'_>>| {
                let all: Vec<_> = all
                    .map(|one| match one.value {
                        Some(value) => format!("{}={value}", one.name),
                        None => one.name.to_owned(),
                    })
                    .collect();
                all.join(" ")
            };
            assert_eq!(shown(&mut parameters(target)), in_query, "{target:?}");
            assert_eq!(shown(&mut path_parameters(target)), in_path, "{target:?}");
        }
        assert_eq!(path("/a/b?c/d"), "/a/b");
    }

    #[test]
    fn text_is_decoded_once_and_never_fails() {
        for (text, expected) in [
            ("abc", "abc"),
            ("d%65lete", "delete"),
            ("%2Fa%2fb", "/a/b"),
            ("%2565", "%65"),
            ("%", "%"),
            ("%4", "%4"),
            ("%zz", "%zz"),
            ("%%41", "%A"),
            ("é%C3%A9", "éé"),
            ("%FF", "\u{fffd}"),
        ] {
            assert_eq!(decoded(text), expected, "{text:?}");
        }
    }
}
