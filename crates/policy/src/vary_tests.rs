//! Two requests, one `Vary`: do they select the same variant?

use super::*;
use crate::written::fields;

fn key(vary: &str, request: &str) -> Option<VaryKey> {
    VaryKey::of(&fields(&format!("vary: {vary}")), &fields(request))
}

fn check(vary: &str, first: &str, second: &str, same: bool) {
    let key = key(vary, first).expect("the Vary names something");
    assert_eq!(key.matches(&fields(second)), same, "{vary}: {first:?} against {second:?}");
    let other = VaryKey::of(&fields(&format!("vary: {vary}")), &fields(second));
    assert_eq!(Some(&key) == other.as_ref(), same, "{vary}: keys of {first:?} and {second:?}");
    let (mut left, mut right) = (Vec::new(), Vec::new());
    key.write_selection(&fields(first), &mut left);
    key.write_selection(&fields(second), &mut right);
    assert_eq!(left == right, same, "{vary}: selections of {first:?} and {second:?}");
}

#[test]
fn requests_with_the_same_values_select_the_same_variant() {
    check("x-a", "x-a: 1", "X-A:  1 ", true);
    check("X-A, x-b", "x-a: 1\nx-b: 2", "x-b: 2\nx-a: 1\nx-c: 3", true);
    check("x-a", "x-a: 1\nx-a: 2", "x-a: 1, 2", true);
    check("x-a", "", "x-b: 1", true);
    check("x-a", "x-a:", "x-a: ", true);
    check("accept-encoding", "accept-encoding: gzip, br", "accept-encoding: br;q=0.9,gzip", true);
    check(
        "accept-language",
        "accept-language: de, en;q=0.5",
        "accept-language: DE,en; q=0.5",
        true,
    );
    check("accept", "accept: text/html, */*", "accept: text/html,*/*", true);
    check("cookie", "cookie: a=b", "cookie: a=b", true);
    check("host, x-a", "host: a\nx-a: 1", "host: b\nx-a: 1", true);
}

#[test]
fn requests_with_other_values_select_another() {
    check("x-a", "x-a: 1", "x-a: 2", false);
    check("x-a", "x-a: 1", "x-a: 1, 2", false);
    check("x-a", "x-a: 1", "x-a: 1\nx-a: 1", false);
    check("x-a", "x-a: 1", "", false);
    check("x-a", "", "x-a: 1", false);
    check("x-a", "", "x-a:", false);
    check("x-a", "x-a: a", "x-a: A", false);
    check("x-a", "x-a: a b", "x-a: a  b", false);
    check("x-a, x-b", "x-a: 1\nx-b: 2", "x-a: 1\nx-b: 3", false);
    check("accept-encoding", "accept-encoding: gzip", "accept-encoding: br", false);
    check("accept-encoding", "", "accept-encoding:", false);
    check("accept-language", "accept-language: de", "accept-language: en", false);
    check("accept-language", "accept-language: de, en", "accept-language: en, de", false);
    check("cookie", "cookie: a=b", "cookie: a=c", false);
    check("cookie", "cookie: a=b", "", false);
    // Where a value ends and the next name begins can't be mistaken.
    check("x-a, x-b", "x-a: 1x-b\nx-b: 2", "x-a: 1\nx-b: x-b2", false);
}

#[test]
fn a_star_anywhere_selects_nothing() {
    for vary in [
        "*",
        "x-a, *",
        "*, x-a",
        "a b",
        "\"x\"",
        "cookie=a",
        "x-forwarded-for",
        "x-real-ip",
        "Forwarded",
    ] {
        assert!(vary_is_star(&fields(&format!("vary: {vary}"))), "{vary}");
        let key = key(vary, "x-a: 1").expect("it names something");
        assert!(!key.matches(&fields("x-a: 1")), "{vary}");
    }
    assert!(vary_is_star(&fields("vary: x-a\nvary: *")));
    assert!(!vary_is_star(&fields("vary: x-a")) && !vary_is_star(&Fields::new()));
}

#[test]
fn nothing_to_vary_by_is_no_key() {
    assert_eq!(VaryKey::of(&Fields::new(), &Fields::new()), None);
    assert_eq!(key("", "x: 1"), None);
    assert_eq!(key(" , ", "x: 1"), None);
    // Both are in the primary key.
    assert_eq!(key("Host, X-Forwarded-Proto, X-Forwarded-Port", "host: a"), None);
}

#[test]
fn names_are_compared_whatever_their_order_and_case() {
    let one = key("x-b, X-A, x-a", "x-a: 1").expect("names");
    let other = key("x-a,X-B", "x-a: 2").expect("names");
    assert!(one.same_names_as(&other) && one != other);
    assert!(!one.same_names_as(&key("x-a", "").expect("names")));
    assert!(one.bytes() > 0);
}

#[test]
fn a_coding_that_wick_chooses_selects_nothing() {
    let request = fields("accept-encoding: gzip\nx-a: 1");
    for (response, selects_by) in [
        ("vary: Accept-Encoding", None),
        ("vary: accept-encoding, X-A", Some("vary: X-A")),
        ("vary: Accept-Encoding\ncontent-encoding: gzip", Some("vary: Accept-Encoding")),
        ("vary: *, Accept-Encoding", Some("vary: *")),
    ] {
        let key = VaryKey::of_uncoded(&fields(response), &request);
        assert_eq!(key, selects_by.and_then(|vary| VaryKey::of(&fields(vary), &request)));
    }
}

#[test]
fn what_was_made_for_nobody_in_particular_teaches_members_as_well() {
    for (vary, first, second, expected) in [
        ("cookie", "", "cookie: a=1", true),
        ("cookie", "cookie: a=1", "cookie: a=1", true),
        ("cookie", "cookie: a=1", "cookie: a=2", false),
        ("cookie", "cookie: a=1", "", false),
        ("cookie, x", "x: 1", "cookie: a=1\nx: 1", true),
        ("cookie, x", "", "cookie: a=1\nx: 1", false),
        ("*", "", "", false),
    ] {
        let fields = |text: &str| Fields::parse(text.as_bytes()).unwrap();
        let key = VaryKey::of(&fields(&format!("vary: {vary}")), &fields(first)).unwrap();
        assert_eq!(key.may_teach(&fields(second)), expected, "{vary}: {first}, {second}");
    }
}
