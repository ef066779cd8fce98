//! What browsers are told about pages that strangers share.
//!
//! In: the origin's fields. Out: those to keep with a shared copy or to send with an answer
//! whose session was held back. A browser must ask again before it shows the page another
//! time, also by its back button: the visitor may have logged in meanwhile. So it gets an
//! entity tag of ours, `private, no-cache`, and `Vary: Cookie`.
//! Law: RFC 9111 §5.2.2 (directives), §4.1 (`Vary`); RFC 9110 §8.8.3 (entity tags).
//! Invariants: 1. no `Set-Cookie` is ever kept. 2. no cache that strangers share, before us
//! or behind, may keep the page by what is sent. 3. our tags never reach the origin.

use wire::fields::trim;
use wire::{Fields, Name, ResponseHead};

use crate::directives::{ResponseDirectives, is_qualified};
use crate::hops;
use crate::purge::is_for_caches;

/// With what our entity tags begin, within their quotes. Apps use digests and numbers.
const OWN_TAG: &[u8] = b"\"wk-";

/// The fields to store with a page shared among strangers, with `etag` as its tag (quotes
/// and `W/` included). `Content-Length` is left to who knows the body.
#[must_use]
pub fn head_for_strangers(answer: &ResponseHead, etag: &[u8]) -> Fields {
    let all = &answer.fields;
    let directives = ResponseDirectives::of(all);
    let has_qualified = directives.private_fields || directives.no_cache_fields;
    let mut fields = all.filtered(|known, name, _| {
        let goes = is_about_caching(known)
            || matches!(known, Some(Name::Age | Name::ContentLength))
            || hops::is_of_one_hop(known, name)
            || hops::is_named(all, name)
            || (known.is_none() && is_for_caches(name))
            || (has_qualified && is_qualified(all, name));
        !goes
    });
    fields.put(Name::CacheControl, cache_control(all));
    // Which coding a copy has is said where it is chosen.
    fields.put(Name::Vary, vary(all, |name| Name::of(name) != Some(Name::AcceptEncoding)));
    fields.put(Name::Etag, etag);
    fields
}

/// The fields of an answer for a stranger who is not given the session that it begins.
#[must_use]
pub fn without_sessions(fields: &Fields) -> Fields {
    let mut sent = fields.filtered(|known, _, _| !is_about_caching(known));
    sent.put(Name::CacheControl, cache_control(fields));
    sent.put(Name::Vary, vary(fields, |_| true));
    sent
}

/// Fields that say who may keep the answer and how it is validated, or begin a session.
fn is_about_caching(known: Option<Name>) -> bool {
    matches!(
        known,
        Some(
            Name::SetCookie
                | Name::CacheControl
                | Name::CdnCacheControl
                | Name::SurrogateControl
                | Name::WickCacheControl
                | Name::Expires
                | Name::Pragma
                | Name::Etag
                | Name::LastModified
                | Name::Vary
        )
    )
}

/// An origin's `no-store` is overridden in our store only: for the browser it means that
/// not even the back button may show the page without asking.
fn cache_control(fields: &Fields) -> &'static str {
    let directives = ResponseDirectives::of(fields);
    if directives.no_store || directives.malformed { "no-store" } else { "private, no-cache" }
}

/// `Cookie`, then the origin's other members that stay; `*` says all there is to say.
fn vary(fields: &Fields, stays: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut value = b"Cookie".to_vec();
    for member in fields.members(Name::Vary) {
        if member == b"*" {
            return b"*".to_vec();
        }
        let is_there =
            value.split(|&byte| byte == b',').any(|held| trim(held).eq_ignore_ascii_case(member));
        if stays(member) && !is_there {
            value.extend_from_slice(b", ");
            value.extend_from_slice(member);
        }
    }
    value
}

/// Takes our entity tags out of a request to the origin. The field goes when nothing is
/// left of it; `If-Modified-Since` stays, as we never send a `Last-Modified` of ours.
/// Costs a mask where there is no `If-None-Match`, and nothing else where none is ours.
pub fn strip_own_etags(fields: &mut Fields) {
    let is_there = |line: &[u8]| line.windows(OWN_TAG.len()).any(|text| text == OWN_TAG);
    if !fields.all(Name::IfNoneMatch).any(is_there) {
        return;
    }
    // Where one tag of a broken list ends is anybody's guess: it goes whole, and the page is
    // sent again.
    if !fields.all(Name::IfNoneMatch).flat_map(tags).all(is_well_formed) {
        fields.remove(Name::IfNoneMatch);
        return;
    }
    let mut kept = Vec::new();
    for tag in fields.all(Name::IfNoneMatch).flat_map(tags).filter(|tag| !is_own(tag)) {
        if !kept.is_empty() {
            kept.extend_from_slice(b", ");
        }
        kept.extend_from_slice(tag);
    }
    if kept.is_empty() {
        fields.remove(Name::IfNoneMatch);
    } else {
        fields.set(Name::IfNoneMatch, kept);
    }
}

/// An entity tag by the law (RFC 9110 §8.8.3), or a word without any quote.
fn is_well_formed(tag: &[u8]) -> bool {
    let opaque = tag.strip_prefix(b"W/").unwrap_or(tag);
    let inner = opaque.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\""));
    inner.map_or(!tag.contains(&b'"'), |inner| !inner.contains(&b'"'))
}

/// Ours, also where somebody on the way took the tag for a strong one.
fn is_own(tag: &[u8]) -> bool {
    tag.strip_prefix(b"W/").unwrap_or(tag).starts_with(OWN_TAG)
}

/// The tags of a line as they are spelled. In a tag a backslash is an ordinary character, so
/// these are no quoted strings; one without quotes ends at the next comma.
fn tags(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = line;
    std::iter::from_fn(move || {
        while let [b' ' | b'\t' | b',', after @ ..] = rest {
            rest = after;
        }
        let start = if rest.starts_with(b"W/") { 2 } else { 0 };
        let closed = rest[start..]
            .strip_prefix(b"\"")
            .and_then(|text| text.iter().position(|&byte| byte == b'"'));
        let length = match closed {
            Some(close) => start + close + 2,
            None => rest.iter().position(|&byte| byte == b',').unwrap_or(rest.len()),
        };
        let (tag, after) = rest.split_at(length);
        rest = after;
        (!tag.is_empty()).then(|| trim(tag))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::written::{fields, rendered};

    #[test]
    fn a_shared_copy_keeps_what_describes_the_page() {
        let ours = "cache-control: private, no-cache|vary: Cookie|etag: W/\"wk-1\"|";
        for (answer, kept) in [
            ("", ""),
            ("content-type: text/html\nX-A: 1", "content-type: text/html|X-A: 1|"),
            ("set-cookie: a=1\nx-a: 1\nset-cookie: b=2", "x-a: 1|"),
            ("expires: 0\npragma: no-cache\netag: \"x\"\nlast-modified: y\nage: 5", ""),
            ("content-length: 5\ntransfer-encoding: chunked\nkeep-alive: x\nx-a: 1", "x-a: 1|"),
            ("connection: x-hop\nx-hop: 1\nx-a: 1", "x-a: 1|"),
            ("cdn-cache-control: max-age=9\nwick-cache-control: x\nsurrogate-control: y", ""),
            ("location: /x\ncontent-language: de", "location: /x|content-language: de|"),
            ("cache-control: public, max-age=60", ""),
            ("cache-control: private=\"x-user\"\nx-user: me\nx-a: 1", "x-a: 1|"),
        ] {
            let head = ResponseHead { status: 200, fields: fields(answer) };
            let stored = head_for_strangers(&head, b"W/\"wk-1\"");
            assert_eq!(rendered(&stored), format!("{kept}{ours}"), "{answer:?}");
        }
    }

    #[test]
    fn browsers_obey_the_origins_no_store_and_otherwise_ask_again() {
        for (answer, expected) in [
            ("", "private, no-cache"),
            ("cache-control: max-age=60", "private, no-cache"),
            ("cache-control: private, must-revalidate", "private, no-cache"),
            ("cache-control: no-cache\ncache-control: No-Store", "no-store"),
            ("cache-control: no-store, no-cache, must-revalidate", "no-store"),
            ("cache-control: x=\"no-store\"", "private, no-cache"),
            ("cache-control: x=\"no-store", "no-store"),
            ("pragma: no-cache", "private, no-cache"),
            ("cdn-cache-control: no-store", "private, no-cache"),
        ] {
            let head = ResponseHead { status: 200, fields: fields(answer) };
            for sent in [head_for_strangers(&head, b"W/\"wk-1\""), without_sessions(&head.fields)] {
                let values: Vec<_> = sent.all(Name::CacheControl).collect();
                assert_eq!(values, [expected.as_bytes()], "{answer:?}");
            }
        }
    }

    #[test]
    fn vary_names_the_cookie_once_and_keeps_the_rest() {
        for (answer, stored, sent) in [
            ("", "Cookie", "Cookie"),
            ("vary: cookie", "Cookie", "Cookie"),
            ("vary: Accept-Encoding", "Cookie", "Cookie, Accept-Encoding"),
            ("vary: X-A, accept-encoding", "Cookie, X-A", "Cookie, X-A, accept-encoding"),
            ("vary: X-A, COOKIE\nvary: x-a, X-B", "Cookie, X-A, X-B", "Cookie, X-A, X-B"),
            ("vary: X-A, *", "*", "*"),
            ("vary:", "Cookie", "Cookie"),
        ] {
            let head = ResponseHead { status: 200, fields: fields(answer) };
            let of = |fields: &Fields| fields.text(Name::Vary).expect("text").to_owned();
            assert_eq!(of(&head_for_strangers(&head, b"W/\"wk-1\"")), stored, "{answer:?}");
            assert_eq!(of(&without_sessions(&head.fields)), sent, "{answer:?}");
        }
    }

    #[test]
    fn an_answer_without_its_session_keeps_its_length() {
        let answer = fields(
            "Content-Type: text/html\nset-cookie: PHPSESSID=1\ncontent-length: 5\n\
             expires: Thu, 19 Nov 1981 08:52:00 GMT\npragma: no-cache\nlast-modified: x\n\
             etag: \"x\"\ncache-control: no-store, no-cache\nx-a: 1",
        );
        assert_eq!(
            rendered(&without_sessions(&answer)),
            "Content-Type: text/html|content-length: 5|x-a: 1|cache-control: no-store|vary: Cookie|"
        );
    }

    #[test]
    fn our_tags_do_not_reach_the_origin() {
        for (request, left) in [
            ("if-none-match: W/\"wk-1\"", ""),
            ("if-none-match: \"wk-1\"", ""),
            ("if-none-match: W/\"wk-1\", W/\"wk-2\",", ""),
            ("if-none-match: W/\"wk-1\"\nif-modified-since: x", "if-modified-since: x|"),
            ("if-none-match: \"a\", W/\"wk-1\",W/\"b\"", "if-none-match: \"a\", W/\"b\"|"),
            ("if-none-match: W/\"wk-1\"\nif-none-match: \"a\"", "if-none-match: \"a\"|"),
            ("if-none-match: \"a\\\", W/\"wk-1\"", "if-none-match: \"a\\\"|"),
            ("if-none-match: \"a,b\", W/\"wk-1\"", "if-none-match: \"a,b\"|"),
            ("if-none-match: abc , W/\"wk-1\"", "if-none-match: abc|"),
            ("if-none-match: W/\"wk-open", ""),
            ("if-none-match: \"wks\"", "if-none-match: \"wks\"|"),
            ("if-none-match: \"xwk-1\"", "if-none-match: \"xwk-1\"|"),
            ("if-none-match: *", "if-none-match: *|"),
            ("if-none-match:", "if-none-match: |"),
            ("if-match: W/\"wk-1\"", "if-match: W/\"wk-1\"|"),
            ("x: y", "x: y|"),
        ] {
            let mut changed = fields(request);
            strip_own_etags(&mut changed);
            assert_eq!(rendered(&changed), left, "{request:?}");
        }
    }
}
