//! Impossible addresses: one of the same class as a given one, of a thing that doesn't exist.
//!
//! What an app answers to it is what it answers to any unknown identifier, whatever the
//! status says. Nothing but identifiers is changed, so that the same script is asked.

use super::shape::shape;

/// An identifier that nothing has: a number as long as they get, or words.
const NUMBER: &str = "987654321";
const WORDS: &str = "wick-no-such-thing";

/// An address of the same class whose identifiers name nothing; none if it bears none.
#[must_use]
pub fn impossible(target: &str) -> Option<String> {
    let class = shape(target);
    let (path, query) = target.split_once('?').map_or((target, None), |(p, q)| (p, Some(q)));
    let class_path = class.split_once('?').map_or(class.as_str(), |(path, _)| path);
    let mut is_changed = false;
    let mut change = |text: &str| {
        is_changed = true;
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        if is_number { NUMBER } else { WORDS }
    };
    let segments: Vec<&str> = path
        .split('/')
        .zip(class_path.split('/'))
        .map(|(segment, class)| if class == "*" { change(segment) } else { segment })
        .collect();
    let mut changed = segments.join("/");
    if let Some(query) = query {
        let class_query = class.split_once('?').map_or("", |(_, query)| query);
        let parameters: Vec<String> = query
            .split('&')
            .map(|parameter| match parameter.split_once('=') {
                Some((name, value)) if !value.is_empty() && is_masked(class_query, name) => {
                    format!("{name}={}", change(value))
                }
                _ => parameter.to_owned(),
            })
            .collect();
        changed.push('?');
        changed.push_str(&parameters.join("&"));
    }
    (is_changed && changed != target && path.split('/').count() == class_path.split('/').count())
        .then_some(changed)
}

/// Whether the class keeps a parameter's name and not its value, and the value names a thing.
/// Which part of a list is shown does not: past its end apps show the last.
fn is_masked(class_query: &str, name: &str) -> bool {
    const PLACES: [&str; 14] = [
        "page", "paged", "cpage", "pg", "p_no", "start", "offset", "from", "limit", "per_page",
        "sort", "order", "dir", "pageno",
    ];
    !PLACES.contains(&name.to_ascii_lowercase().as_str())
        && class_query.split('&').any(|parameter| {
            parameter.strip_prefix(name).is_some_and(|rest| matches!(rest, "=" | "=*"))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_identifiers_are_changed() {
        for (target, expected) in [
            ("/", None),
            ("/login", None),
            ("/post/5", Some("/post/987654321")),
            ("/post/5?page=2", Some("/post/987654321?page=2")),
            ("/?page=2", None),
            ("/viewtopic.php?t=17", Some("/viewtopic.php?t=987654321")),
            ("/index.php?route=product&id=3", Some("/index.php?route=product&id=987654321")),
            ("/wiki/Main_Page", Some("/wiki/wick-no-such-thing")),
            ("/?do=index", None),
            ("/x?", None),
        ] {
            assert_eq!(impossible(target).as_deref(), expected, "{target} {}", shape(target));
        }
    }
}
