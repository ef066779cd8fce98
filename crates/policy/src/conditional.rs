//! Conditional requests, both ways: a client's answered from the store, and ours to
//! the origin.
//!
//! Law: RFC 9110 §13 (preconditions), §15.4.5 (304); RFC 9111 §4.3.
//! Invariant: `If-None-Match` beats `If-Modified-Since`, also when it can't be read.

use wire::{Fields, Name};

use crate::date;
use crate::entity_tag::{self, EntityTag};

/// Which answer a stored response gives to a GET or HEAD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conditional {
    /// The client has it already: 304.
    NotModified,
    /// As if nothing had been asked.
    Full,
}

/// Answers a client's `If-None-Match` or `If-Modified-Since` from a stored response.
/// Costs two masks where there is neither.
#[must_use]
pub fn evaluate(request: &Fields, status: u16, stored: &Fields) -> Conditional {
    // Preconditions are for what would succeed (RFC 9110 §13.2.1).
    let holds = if !(200..300).contains(&status) {
        false
    } else if request.has(Name::IfNoneMatch) {
        is_known(request, stored)
    } else if request.has(Name::IfModifiedSince) {
        is_unmodified(request, stored)
    } else {
        false
    };
    if holds { Conditional::NotModified } else { Conditional::Full }
}

fn is_known(request: &Fields, stored: &Fields) -> bool {
    let mut lines = request.all(Name::IfNoneMatch);
    if lines.clone().any(|line| line == b"*") {
        return true;
    }
    let Some(ours) = stored.first(Name::Etag).and_then(EntityTag::of) else { return false };
    lines.any(|line| entity_tag::list(line).any(|theirs| theirs.matches(ours)))
}

/// A date that can't be read, or is there twice, is as if it weren't there.
fn is_unmodified(request: &Fields, stored: &Fields) -> bool {
    let mut lines = request.all(Name::IfModifiedSince);
    let (Some(since), None) = (lines.next(), lines.next()) else { return false };
    let modified = stored.first(Name::LastModified).and_then(date::parse);
    match (date::parse(since), modified) {
        (Some(since), Some(modified)) => modified <= since,
        _ => false,
    }
}

/// Whether a response can be validated.
#[must_use]
pub fn has_validator(response: &Fields) -> bool {
    response.has(Name::Etag) || response.has(Name::LastModified)
}

/// Asks the origin whether a stored response is still good, in place of whatever the
/// client had asked.
pub fn add_validators(request: &mut Fields, stored: &Fields) {
    strip_conditionals(request);
    if let Some(tag) = stored.first(Name::Etag) {
        request.put(Name::IfNoneMatch, tag);
    }
    if let Some(modified) = stored.first(Name::LastModified) {
        request.put(Name::IfModifiedSince, modified);
    }
}

/// Takes away what a client asked about its own copy, so that the answer is whole.
pub fn strip_conditionals(request: &mut Fields) {
    for name in [
        Name::IfMatch,
        Name::IfModifiedSince,
        Name::IfNoneMatch,
        Name::IfRange,
        Name::IfUnmodifiedSince,
    ] {
        request.remove(name);
    }
}

/// The fields that a 304 bears: those of the 200 but for what describes its content.
/// `Last-Modified` stays only where there is no `ETag` to go by.
#[must_use]
pub fn not_modified_fields(stored: &Fields) -> Fields {
    let mut fields = stored.clone();
    let has_tag = stored.has(Name::Etag);
    fields.retain(|known, _, _| match known {
        Some(
            Name::AcceptRanges
            | Name::ContentDisposition
            | Name::ContentEncoding
            | Name::ContentLanguage
            | Name::ContentLength
            | Name::ContentRange
            | Name::ContentType,
        ) => false,
        Some(Name::LastModified) => !has_tag,
        _ => true,
    });
    fields
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::written::fields;

    const OLD: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const NEW: &str = "Mon, 07 Nov 1994 08:49:37 GMT";

    fn check(request: &str, stored: &str, known: bool) {
        let expand = |text: &str| fields(&text.replace("OLD", OLD).replace("NEW", NEW));
        let expected = if known { Conditional::NotModified } else { Conditional::Full };
        assert_eq!(
            evaluate(&expand(request), 200, &expand(stored)),
            expected,
            "{request:?} {stored:?}"
        );
    }

    #[test]
    fn if_none_match_compares_weakly_over_the_whole_list() {
        check("if-none-match: \"a\"", "etag: \"a\"", true);
        check("if-none-match: W/\"a\"", "etag: \"a\"", true);
        check("if-none-match: \"a\"", "etag: W/\"a\"", true);
        check("if-none-match: \"x\", \"a\"", "etag: \"a\"", true);
        check("if-none-match: \"x\"\nif-none-match: \"a\"", "etag: \"a\"", true);
        check("if-none-match: *", "", true);
        check("if-none-match: \"a\"", "etag: \"b\"", false);
        check("if-none-match: \"a\"", "", false);
        check("if-none-match: \"*\"", "etag: \"a\"", false);
        check("if-none-match:", "etag: \"a\"", false);
        check("if-none-match: abc", "etag: abc", true);
    }

    #[test]
    fn if_none_match_beats_if_modified_since() {
        check(
            "if-none-match: \"x\"\nif-modified-since: NEW",
            "etag: \"a\"\nlast-modified: OLD",
            false,
        );
        check(
            "if-none-match: \"a\"\nif-modified-since: OLD",
            "etag: \"a\"\nlast-modified: NEW",
            true,
        );
        check("if-none-match: \nif-modified-since: NEW", "last-modified: OLD", false);
    }

    #[test]
    fn if_modified_since_needs_two_dates() {
        check("if-modified-since: OLD", "last-modified: OLD", true);
        check("if-modified-since: NEW", "last-modified: OLD", true);
        check("if-modified-since: OLD", "last-modified: NEW", false);
        check("if-modified-since: Sunday, 06-Nov-94 08:49:37 GMT", "last-modified: OLD", true);
        check("if-modified-since: nonsense", "last-modified: OLD", false);
        check("if-modified-since: OLD", "last-modified: OLD GMT", false);
        check("if-modified-since: NEW", "", false);
        check("if-modified-since: NEW\nif-modified-since: NEW", "last-modified: OLD", false);
    }

    #[test]
    fn nothing_asked_or_nothing_that_succeeded_is_answered_in_full() {
        check("", "etag: \"a\"", false);
        let asked = fields("if-none-match: \"a\"");
        assert_eq!(evaluate(&asked, 404, &fields("etag: \"a\"")), Conditional::Full);
    }

    #[test]
    fn our_validators_take_the_place_of_the_clients() {
        let mut request = fields("a: 1\nif-none-match: \"x\"\nif-range: \"x\"\nif-match: \"y\"");
        add_validators(&mut request, &fields("etag: W/\"a\"\nlast-modified: z"));
        assert_eq!(request, fields("a: 1\nif-none-match: W/\"a\"\nif-modified-since: z"));
        assert!(has_validator(&fields("etag: x")) && has_validator(&fields("last-modified: x")));
        assert!(!has_validator(&fields("date: x")));
        strip_conditionals(&mut request);
        assert_eq!(request, fields("a: 1"));
    }

    #[test]
    fn a_304_does_not_describe_content() {
        let stored = "etag: \"a\"\nlast-modified: x\ncontent-type: a/b\ncontent-location: /x\n\
                      vary: a\ndate: d\ncache-control: max-age=1\nexpires: e\n\
                      content-security-policy: p\ncontent-encoding: gzip";
        let sent = "etag: \"a\"\ncontent-location: /x\nvary: a\ndate: d\n\
                    cache-control: max-age=1\nexpires: e\ncontent-security-policy: p";
        assert_eq!(not_modified_fields(&fields(stored)), fields(sent));
        let no_tag = "last-modified: x\ncontent-type: a/b";
        assert_eq!(not_modified_fields(&fields(no_tag)), fields("last-modified: x"));
    }
}
