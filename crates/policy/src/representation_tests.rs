//! Which responses may be coded, and what is said of those that are.

use super::*;
use crate::written::{fields, rendered};
use crate::{Conditional, evaluate};

#[test]
fn text_that_is_whole_and_long_enough_may_be_coded() {
    for (status, response, expected) in [
        (200, "content-type: text/html", true),
        (200, "content-type: TEXT/css ; charset=utf-8\ncontent-length: 500", true),
        (404, "content-type: application/json\ncontent-length: 10000", true),
        (200, "content-type: image/svg+xml", true),
        (200, "content-type: application/activity+json", true),
        (200, "content-type: font/ttf", true),
        (200, "content-type: application/wasm", true),
        (200, "content-type: text/html\ncontent-length: 499", false),
        (200, "content-type: text/html\ncontent-length: x", false),
        (200, "content-type: text/html\ncontent-encoding: gzip", false),
        (200, "content-type: text/html\ncontent-encoding: identity", false),
        (200, "content-type: text/html\ncontent-range: bytes 0-1/2", false),
        (200, "content-type: text/html\ncache-control: max-age=1, No-Transform", false),
        (200, "content-type: text/html\ncache-control: x=\"no-transform\"", true),
        (200, "content-type: text/html\nrepr-digest: x", false),
        (200, "content-type: text/event-stream", false),
        (200, "content-type: image/png", false),
        (200, "content-type: font/woff2", false),
        (200, "content-type: application/zip", false),
        (200, "content-type: textual/html", false),
        (200, "content-type: +json", false),
        (200, "content-type:", false),
        (200, "", false),
        (206, "content-type: text/html", false),
        (204, "content-type: text/html", false),
        (304, "content-type: text/html", false),
        (416, "content-type: text/html", false),
    ] {
        let response = fields(response);
        let length = response.text(Name::ContentLength).map(|text| text.parse().unwrap_or(0));
        let may_be = may_be_coded(status, &response, length);
        assert_eq!(may_be, expected, "{status} {response:?}");
    }
}

#[test]
fn vary_names_the_coding_once_and_keeps_the_rest() {
    for (response, expected) in [
        ("", "vary: Accept-Encoding|"),
        ("vary: Cookie", "vary: Cookie, Accept-Encoding|"),
        ("vary: Cookie\nvary: X-A", "vary: Cookie, X-A, Accept-Encoding|"),
        ("vary: accept-encoding", "vary: accept-encoding|"),
        ("vary: X-A, *", "vary: X-A, *|"),
        ("vary:", "vary: Accept-Encoding|"),
    ] {
        let mut changed = fields(response);
        vary_by_coding(&mut changed);
        assert_eq!(rendered(&changed), expected, "{response:?}");
    }
}

#[test]
fn a_coded_response_bears_no_strong_tag() {
    for (response, expected) in [
        ("etag: \"a\"", "content-encoding: br|etag: W/\"a-wick\"|"),
        ("etag: W/\"a\"", "etag: W/\"a\"|content-encoding: br|"),
        ("etag: a", "content-encoding: br|"),
        ("content-length: 9\naccept-ranges: bytes\nx: y", "x: y|content-encoding: br|"),
    ] {
        let mut changed = fields(response);
        encode_fields(&mut changed, Coding::Brotli);
        assert_eq!(rendered(&changed), expected, "{response:?}");
    }
}

#[test]
fn the_origin_is_asked_by_its_own_tags() {
    for (request, expected) in [
        ("if-none-match: W/\"a-wick\"", "if-none-match: \"a\"|"),
        ("if-match: W/\"a-wick\"", "if-match: \"a\"|"),
        ("if-none-match: \"a-wick\"", "if-none-match: \"a\"|"),
        ("if-none-match: \"b\", W/\"a-wick\" ,W/\"c\"", "if-none-match: \"b\", \"a\" ,W/\"c\"|"),
        (
            "if-none-match: W/\"a-wick\"\nif-none-match: W/\"b-wick\"",
            "if-none-match: \"a\", \"b\"|",
        ),
        ("if-none-match: W/\"a-wick", "if-none-match: W/\"a-wick|"),
        ("if-none-match: a-wick", "if-none-match: a-wick|"),
        ("if-none-match: \"a-wicks\"", "if-none-match: \"a-wicks\"|"),
        ("if-range: W/\"a-wick\"", "if-range: W/\"a-wick\"|"),
        ("if-none-match: *", "if-none-match: *|"),
        ("x: y", "x: y|"),
    ] {
        let mut changed = fields(request);
        restore_tags(&mut changed);
        assert_eq!(rendered(&changed), expected, "{request:?}");
    }
}

#[test]
fn who_has_a_coded_response_is_told_by_its_tag_that_it_is_still_good() {
    let stored = fields("etag: \"a\"");
    for (request, tag) in [
        ("if-none-match: W/\"a-wick\"", Some("W/\"a-wick\"")),
        ("if-none-match: \"x\", W/\"a-wick\"", Some("W/\"a-wick\"")),
        ("if-none-match: \"a\"", Some("\"a\"")),
        ("if-none-match: W/\"a\"", Some("\"a\"")),
        ("if-none-match: W/\"b-wick\"", None),
        ("if-none-match: W/\"-wick\"", None),
    ] {
        let request = fields(request);
        let is_known = evaluate(&request, 200, &stored) == Conditional::NotModified;
        assert_eq!(is_known, tag.is_some(), "{request:?}");
        let mut not_modified = stored.clone();
        mark_as_asked(&request, &mut not_modified);
        if is_known {
            assert_eq!(not_modified.text(Name::Etag), tag, "{request:?}");
        }
    }
}

#[test]
fn a_marked_tag_is_too_weak_for_a_part() {
    let stored = fields("etag: \"a\"");
    let request = fields("range: bytes=0-1\nif-range: W/\"a-wick\"");
    assert_eq!(crate::range::select(&request, &stored, 10), crate::Selection::Full);
}
