//! The primary key: what tells one stored page from another before `Vary`.
//!
//! Law: RFC 9111 §2 and §4 (the target URI). The target goes in as it was sent:
//! the origin is given the raw bytes and may print them, so two spellings are two
//! pages, and nothing decoded ever picks one. `/a?` and `/a` differ for the same
//! reason, and so do `host` and `host:80`.
//! Invariant: two requests share a key only if the origin sees the same scheme,
//! host and target. `|` can stand in neither scheme nor host.

/// What a page may be asked for by, here: each has pages of its own.
pub const SCHEMES: [&str; 2] = ["http", "https"];

/// Appends `scheme|host|/path?query`.
pub fn write_primary_key(out: &mut Vec<u8>, scheme: &str, host: &str, target: &str) {
    out.reserve(scheme.len() + host.len() + target.len() + 2);
    for part in [scheme, "|", host, "|", target] {
        out.extend_from_slice(part.as_bytes());
    }
}

/// The same without the query parameters that the owner says don't choose the page.
/// A query of which nothing is left goes with its `?`.
pub fn write_key_without(
    out: &mut Vec<u8>,
    scheme: &str,
    host: &str,
    target: &str,
    ignored: &[String],
) {
    let query = if ignored.is_empty() { None } else { target.split_once('?') };
    let Some((path, query)) = query else {
        return write_primary_key(out, scheme, host, target);
    };
    let matters = |parameter: &&str| {
        let name = parameter.split_once('=').map_or(*parameter, |(name, _)| name);
        !ignored.iter().any(|ignored| ignored == name)
    };
    write_primary_key(out, scheme, host, path);
    let mut separator = b'?';
    for parameter in query.split('&').filter(matters) {
        out.push(separator);
        out.extend_from_slice(parameter.as_bytes());
        separator = b'&';
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_spellings_are_different_keys() {
        let key = |scheme, host, target| {
            let mut out = Vec::new();
            write_primary_key(&mut out, scheme, host, target);
            String::from_utf8(out).expect("its parts are text")
        };
        assert_eq!(key("http", "a.test:80", "/x?y=%41"), "http|a.test:80|/x?y=%41");
        let spellings = [
            key("http", "a", "/x"),
            key("https", "a", "/x"),
            key("http", "a:80", "/x"),
            key("http", "a", "/x?"),
            key("http", "a", "/%78"),
            key("http", "a", "/X"),
            key("http", "a", "//x"),
        ];
        for (at, spelling) in spellings.iter().enumerate() {
            assert!(!spellings[..at].contains(spelling), "{spelling}");
        }
    }

    #[test]
    fn parameters_that_do_not_choose_the_page_are_left_out() {
        let check = |target, expected| {
            let mut out = Vec::new();
            let ignored = ["utm_source".to_owned(), "fbclid".to_owned()];
            write_key_without(&mut out, "http", "a", target, &ignored);
            assert_eq!(String::from_utf8_lossy(&out), format!("http|a|{expected}"), "{target}");
        };
        check("/x", "/x");
        check("/x?", "/x?");
        check("/x?id=1&utm_source=y", "/x?id=1");
        check("/x?utm_source=y&id=1&fbclid", "/x?id=1");
        check("/x?fbclid=1", "/x");
        check("/x?utm_sources=1", "/x?utm_sources=1");
        check("/x?a?fbclid=1", "/x?a?fbclid=1");
    }
}
