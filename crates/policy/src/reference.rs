//! URI references, resolved against a request's URI as far as a cache needs it.
//!
//! In: a `Location` as the origin sent it. Out: the target on the same origin that it
//! means, or nothing. Law: RFC 3986 §5.2; RFC 9110 §4.3.1 (what an origin is).
//! Targets stay spelled as they came, apart from dot segments: see [`crate::key`].

/// The path and query that a reference means if it stays on the origin of its base.
#[must_use]
pub fn resolve(scheme: &str, host: &str, target: &str, reference: &str) -> Option<String> {
    let reference = reference.split('#').next().unwrap_or_default();
    let rest = match scheme_of(reference) {
        Some((other, rest)) if other.eq_ignore_ascii_case(scheme) && rest.starts_with("//") => rest,
        Some(_) => return None,
        None => reference,
    };
    if let Some(rest) = rest.strip_prefix("//") {
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        if !is_same_authority(scheme, host, &rest[..end]) {
            return None;
        }
        let (path, query) = cut(&rest[end..]);
        let path = if path.is_empty() { "/" } else { path };
        return Some(without_dots(path) + query);
    }
    let (base_path, base_query) = cut(target);
    let (path, query) = cut(rest);
    if path.is_empty() {
        let query = if query.is_empty() { base_query } else { query };
        return Some(format!("{base_path}{query}"));
    }
    if path.starts_with('/') {
        return Some(without_dots(path) + query);
    }
    let folder = base_path.rfind('/').map_or("/", |slash| &base_path[..=slash]);
    Some(without_dots(&format!("{folder}{path}")) + query)
}

/// The scheme and what follows its colon, if the reference has one.
fn scheme_of(reference: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = reference.split_once(':')?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    is_scheme.then_some((scheme, rest))
}

/// Path, and query with its `?`.
fn cut(text: &str) -> (&str, &str) {
    text.split_at(text.find('?').unwrap_or(text.len()))
}

/// An authority with somebody's name and password in it is nobody's origin here.
fn is_same_authority(scheme: &str, host: &str, authority: &str) -> bool {
    let port = if scheme == "https" { ":443" } else { ":80" };
    let plain = |authority: &'_ str| -> String {
        let text = authority.to_ascii_lowercase();
        let text = text.strip_suffix(port).unwrap_or(&text);
        text.strip_suffix(':').unwrap_or(text).to_owned()
    };
    !host.is_empty() && plain(host) == plain(authority)
}

/// Takes `.` and `..` out of an absolute path (RFC 3986 §5.2.4).
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            "." => {}
            ".." => {
                kept.pop();
            }
            _ => {
                kept.push(segment);
                continue;
            }
        }
        if is_last {
            kept.push("");
        }
    }
    format!("/{}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(reference: &str, expected: Option<&str>) {
        let resolved = resolve("http", "a.test:8080", "/b/c/d?q", reference);
        assert_eq!(resolved.as_deref(), expected, "{reference:?}");
    }

    #[test]
    fn references_on_the_same_origin_are_resolved() {
        for (reference, target) in [
            ("/x", "/x"),
            ("/x?y#z", "/x?y"),
            ("x", "/b/c/x"),
            ("./x", "/b/c/x"),
            ("../x", "/b/x"),
            ("../../../x", "/x"),
            ("..", "/b/"),
            (".", "/b/c/"),
            ("?y", "/b/c/d?y"),
            ("", "/b/c/d?q"),
            ("#f", "/b/c/d?q"),
            ("/a/./b/../c/", "/a/c/"),
            ("http://a.test:8080/x", "/x"),
            ("HTTP://A.Test:8080", "/"),
            ("http://a.test:8080?x", "/?x"),
            ("//a.test:8080/x", "/x"),
            ("x:y/z", "none"),
            ("/x:y", "/x:y"),
            ("/%7ex", "/%7ex"),
        ] {
            check(reference, (target != "none").then_some(target));
        }
    }

    #[test]
    fn references_to_elsewhere_are_nothing() {
        for reference in [
            "https://a.test:8080/x",
            "http://a.test/x",
            "http://b.test:8080/x",
            "//b.test/x",
            "http://a.test:8080@b.test/x",
            "http://u@a.test:8080/x",
            "http:x",
            "mailto:a@b",
            "http://",
        ] {
            check(reference, None);
        }
    }

    #[test]
    fn the_usual_port_is_the_same_as_none() {
        for (scheme, host, reference, same) in [
            ("http", "a", "http://a:80/x", true),
            ("http", "a:80", "http://a/x", true),
            ("https", "a", "https://a:443/x", true),
            ("https", "a", "https://a:80/x", false),
            ("http", "[::1]:80", "http://[::1]/x", true),
        ] {
            assert_eq!(resolve(scheme, host, "/", reference).is_some(), same, "{host} {reference}");
        }
    }
}
