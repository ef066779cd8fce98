//! Same origin: whether a request proves that a page of this site sent it.
//!
//! In: `Origin`, `Sec-Fetch-Site`, `Referer`, and the scheme and host that were asked. Out:
//! [`Origin`], and the page that a same-origin `Referer` names. The tokens in pages that
//! strangers share are known to everybody, so a request is only ever translated when the
//! browser itself vouches that no other site made it.
//! Law: RFC 6454 §7; Fetch §3.2 (`Origin`); Fetch Metadata (`Sec-Fetch-Site`); RFC 9110
//! §10.1.3 (`Referer`).
//! Invariants: 1. a field that stands there twice proves nothing good. 2. two proofs that
//! contradict each other are [`Origin::Cross`]; a hidden origin contradicts nothing. 3. without
//! a host nothing is the same.

use wire::{Fields, Name};

/// Where a request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A page of this origin.
    Same,
    /// A page of another origin, or one that hides its own.
    Cross,
    /// Nobody says: typed, a bookmark, an old browser, a program.
    Unproven,
}

/// Where a request comes from, as far as its fields prove it. Costs two masks where it
/// bears neither field.
#[must_use]
pub fn origin_of(fields: &Fields, scheme: &str, host: &str) -> Origin {
    let (Ok(site), Ok(origin)) = (single(fields, Name::SecFetchSite), single(fields, Name::Origin))
    else {
        return Origin::Cross;
    };
    // A page with `Referrer-Policy: no-referrer` sends its forms so, to its own site as well.
    // What is hidden from elsewhere (a sandbox, a redirect over another site, a `data:` URL)
    // is cross-site to the browser, which sets the field from the origin that it hides.
    let is_hidden = origin == Some(b"null") && site == Some(b"same-origin");
    if !is_hidden && origin.is_some_and(|origin| !is_origin(origin, scheme, host)) {
        return Origin::Cross;
    }
    match (site, origin) {
        (Some(b"same-origin"), _) => Origin::Same,
        (Some(b"none"), _) => Origin::Unproven,
        (Some(_), _) => Origin::Cross,
        (None, Some(_)) => Origin::Same,
        (None, None) => Origin::Unproven,
    }
}

/// The path and query of a `Referer` of the same host, without a fragment. Wick may stand
/// behind something that speaks TLS for it, so either scheme is the site's own.
#[must_use]
pub fn own_referer<'a>(fields: &'a Fields, host: &str) -> Option<&'a str> {
    let referer = std::str::from_utf8(single(fields, Name::Referer).ok()??).ok()?;
    let authority = referer.find("://")? + 3;
    let end = referer[authority..].find(['/', '?', '#']).map(|at| authority + at);
    let (origin, rest) = referer.split_at(end.unwrap_or(referer.len()));
    if !crate::SCHEMES.iter().any(|scheme| is_origin(origin.as_bytes(), scheme, host)) {
        return None;
    }
    let target = rest.split_once('#').map_or(rest, |(target, _)| target);
    match target {
        "" => Some("/"),
        target => target.starts_with('/').then_some(target),
    }
}

/// There was more than one.
struct Several;

fn single(fields: &Fields, name: Name) -> Result<Option<&[u8]>, Several> {
    let mut all = fields.all(name);
    let first = all.next();
    if all.next().is_some() { Err(Several) } else { Ok(first) }
}

/// Whether a serialised origin is `scheme://host`. Letters are compared without case, and
/// a port that the scheme implies is as good as none.
fn is_origin(text: &[u8], scheme: &str, host: &str) -> bool {
    let Some((start, rest)) = text.split_at_checked(scheme.len()) else { return false };
    let Some(authority) = rest.strip_prefix(b"://") else { return false };
    let host = without_default_port(host.as_bytes(), scheme);
    start.eq_ignore_ascii_case(scheme.as_bytes())
        && !host.is_empty()
        && without_default_port(authority, scheme).eq_ignore_ascii_case(host)
}

fn without_default_port<'a>(authority: &'a [u8], scheme: &str) -> &'a [u8] {
    let port: &[u8] = if scheme.eq_ignore_ascii_case("https") { b":443" } else { b":80" };
    authority.strip_suffix(port).unwrap_or(authority)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::written::fields;

    fn check(request: &str, scheme: &str, host: &str, expected: Origin) {
        assert_eq!(origin_of(&fields(request), scheme, host), expected, "{request:?} at {host}");
    }

    #[test]
    fn sec_fetch_site_and_origin_prove_together() {
        for (request, expected) in [
            ("", Origin::Unproven),
            ("referer: http://a.test/x", Origin::Unproven),
            ("sec-fetch-site: same-origin", Origin::Same),
            ("sec-fetch-site: same-origin\norigin: http://a.test", Origin::Same),
            ("origin: http://a.test", Origin::Same),
            ("sec-fetch-site: none", Origin::Unproven),
            ("sec-fetch-site: none\norigin: http://a.test", Origin::Unproven),
            ("sec-fetch-site: none\norigin: http://evil.test", Origin::Cross),
            ("sec-fetch-site: cross-site", Origin::Cross),
            ("sec-fetch-site: same-site", Origin::Cross),
            ("sec-fetch-site: cross-site\norigin: http://a.test", Origin::Cross),
            ("sec-fetch-site: same-origin\norigin: http://evil.test", Origin::Cross),
            ("sec-fetch-site: same-origin\norigin: null", Origin::Same),
            ("sec-fetch-site: same-site\norigin: null", Origin::Cross),
            ("sec-fetch-site: cross-site\norigin: null", Origin::Cross),
            ("sec-fetch-site: none\norigin: null", Origin::Cross),
            ("sec-fetch-site: same-origin\norigin: NULL", Origin::Cross),
            ("sec-fetch-site: same-origin\norigin: null\norigin: null", Origin::Cross),
            ("sec-fetch-site: Same-Origin", Origin::Cross),
            ("sec-fetch-site:", Origin::Cross),
            ("sec-fetch-site: same-origin, same-origin", Origin::Cross),
            ("sec-fetch-site: same-origin\nsec-fetch-site: same-origin", Origin::Cross),
            ("origin: http://a.test\norigin: http://a.test", Origin::Cross),
            ("sec-fetch-site: same-origin\norigin: http://a.test\norigin: x", Origin::Cross),
            ("origin: null", Origin::Cross),
            ("origin:", Origin::Cross),
            ("origin: http://evil.test", Origin::Cross),
        ] {
            check(request, "http", "a.test", expected);
        }
    }

    #[test]
    fn an_origin_is_equal_by_scheme_host_and_port() {
        for (origin, scheme, host, same) in [
            ("HTTP://A.Test", "http", "a.test", true),
            ("http://a.test", "http", "A.TEST", true),
            ("http://a.test:80", "http", "a.test", true),
            ("http://a.test", "http", "a.test:80", true),
            ("https://a.test:443", "https", "a.test", true),
            ("https://a.test", "https", "a.test:443", true),
            ("http://a.test:8080", "http", "a.test:8080", true),
            ("http://[::1]:8080", "http", "[::1]:8080", true),
            ("http://[::1]", "http", "[::1]:80", true),
            ("http://a.test:443", "http", "a.test", false),
            ("https://a.test:80", "https", "a.test", false),
            ("http://a.test:8080", "http", "a.test", false),
            ("http://a.test", "http", "a.test:8080", false),
            ("https://a.test", "http", "a.test", false),
            ("http://a.test", "https", "a.test", false),
            ("http://a.test.evil", "http", "a.test", false),
            ("http://evil.a.test", "http", "a.test", false),
            ("http://x@a.test", "http", "a.test", false),
            ("http://a.test/", "http", "a.test", false),
            ("http:a.test", "http", "a.test", false),
            ("//a.test", "http", "a.test", false),
            ("a.test", "http", "a.test", false),
            ("http://a.test http://a.test", "http", "a.test", false),
            ("http://", "http", "", false),
            ("http://:80", "http", "", false),
            ("http://a.test.", "http", "a.test", false),
        ] {
            let expected = if same { Origin::Same } else { Origin::Cross };
            check(&format!("origin: {origin}"), scheme, host, expected);
        }
    }

    #[test]
    fn a_referer_of_this_origin_names_its_page() {
        for (request, expected) in [
            ("referer: http://a.test/x?y=1", Some("/x?y=1")),
            ("referer: http://a.test/x?y=1#z", Some("/x?y=1")),
            ("referer: http://a.test/#/x?y", Some("/")),
            ("referer: http://A.TEST:80/", Some("/")),
            ("referer: http://a.test", Some("/")),
            ("referer: http://a.test#x", Some("/")),
            ("referer: http://a.test/?u=http://b.test/", Some("/?u=http://b.test/")),
            ("referer: http://a.test?x=1", None),
            ("referer: https://a.test/x", Some("/x")),
            ("referer: https://a.test:80/x", None),
            ("referer: http://evil.test/x", None),
            ("referer: http://evil.test/?http://a.test/x", None),
            ("referer: http://a.test@evil.test/x", None),
            ("referer: http://x@a.test/x", None),
            ("referer: http://a.test\\@evil.test/x", None),
            ("referer: /x", None),
            ("referer: about:blank", None),
            ("referer: ://", None),
            ("referer:", None),
            ("referer: http://a.test/x\nreferer: http://a.test/y", None),
            ("", None),
        ] {
            assert_eq!(own_referer(&fields(request), "a.test"), expected, "{request:?}");
        }
    }
}
