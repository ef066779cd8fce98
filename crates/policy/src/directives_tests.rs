//! Lines of `Cache-Control` and what they say.

use super::*;

/// Reads a response's field and says what was understood, in a fixed order.
fn response(lines: &str) -> String {
    let text: String = lines.lines().map(|line| format!("cache-control: {line}\n")).collect();
    let all = ResponseDirectives::of(&Fields::parse(text.as_bytes()).expect("valid fields"));
    let mut said = Vec::new();
    for (holds, word) in [
        (all.public, "public"),
        (all.private, "private"),
        (all.no_store, "no-store"),
        (all.no_cache, "no-cache"),
        (all.private_fields, "private-fields"),
        (all.no_cache_fields, "no-cache-fields"),
        (all.must_revalidate, "must-revalidate"),
        (all.proxy_revalidate, "proxy-revalidate"),
        (all.must_understand, "must-understand"),
        (all.malformed, "malformed"),
    ] {
        if holds {
            said.push(word.to_owned());
        }
    }
    for (value, word) in [
        (all.max_age, "max-age"),
        (all.s_maxage, "s-maxage"),
        (all.stale_while_revalidate, "swr"),
        (all.stale_if_error, "sie"),
    ] {
        said.extend(value.map(|value| format!("{word}={value}")));
    }
    said.join(" ")
}

#[test]
fn directives_of_a_response_are_read_by_their_grammar() {
    for (lines, said) in [
        ("", ""),
        ("max-age=10, s-maxage=5", "max-age=10 s-maxage=5"),
        ("MAX-AGE=10,Public", "public max-age=10"),
        ("max-age=\"10\"", "max-age=10"),
        ("max-age=007", "max-age=7"),
        ("max-age=10\nno-store", "no-store max-age=10"),
        ("  , ,max-age=3,,", "max-age=3"),
        (
            "must-revalidate, proxy-revalidate, must-understand",
            "must-revalidate proxy-revalidate must-understand",
        ),
        ("stale-while-revalidate=3, stale-if-error=4", "swr=3 sie=4"),
        // Only a directive's own name counts, not letters within another.
        ("x-no-store", ""),
        ("no-store-really", ""),
        ("foo=\"no-store\"", ""),
        ("foo=\"a, no-store, b\", max-age=1", "max-age=1"),
        ("foo=\"\\\", no-store\", max-age=1", "max-age=1"),
        ("s-max-age=10", ""),
        ("community=\"UCI\", max-age=7", "max-age=7"),
    ] {
        assert_eq!(response(lines), said, "{lines:?}");
    }
}

#[test]
fn of_two_values_the_more_restrictive_holds() {
    for (lines, said) in [
        ("max-age=10, max-age=5", "max-age=5"),
        ("max-age=5\nmax-age=10", "max-age=5"),
        ("max-age=10, max-age=x", "max-age=0"),
        ("no-cache=\"X\", no-cache", "no-cache no-cache-fields"),
        ("private, private=\"X\", public", "public private private-fields"),
    ] {
        assert_eq!(response(lines), said, "{lines:?}");
    }
}

#[test]
fn a_number_that_cannot_be_read_is_zero_and_one_too_large_is_the_largest() {
    for argument in
        ["=1.5", "=-1", "=", "", "=1a", "='10'", "=ten", "= 10", " =10", "=10 10", "=\"1", "=+1"]
    {
        let said = response(&format!("max-age{argument}"));
        assert!(said.ends_with("max-age=0"), "{argument:?}: {said}");
    }
    for large in ["2147483648", "2147483649", "4294967296", "99999999999999999999999"] {
        assert_eq!(response(&format!("max-age={large}")), "max-age=2147483648");
    }
    assert_eq!(response("s-maxage=abc"), "s-maxage=0");
    assert_eq!(response("stale-while-revalidate=abc"), "swr=0");
}

#[test]
fn qualified_forms_name_fields_or_count_as_unqualified() {
    for (lines, said) in [
        ("no-cache=\"Set-Cookie\"", "no-cache-fields"),
        ("no-cache=\"Set-Cookie, X-A\"", "no-cache-fields"),
        ("no-cache=X-A", "no-cache-fields"),
        ("private=\"X-User\"", "private-fields"),
        ("private=\"\"", "private"),
        ("private=", "private"),
        ("private=\" , \"", "private"),
        ("private=\"X User\"", "private"),
        ("private=\"Content-Type\"", "private"),
        ("no-cache=\"vary\"", "no-cache"),
        ("no-cache=\"X-A, ETag\"", "no-cache"),
        ("no-cache=yes;", "no-cache"),
    ] {
        assert_eq!(response(lines), said, "{lines:?}");
    }
    let fields = Fields::parse(b"cache-control: private=\"X-A, x-b\"\ncache-control: no-cache=x-c")
        .expect("valid fields");
    for (name, qualified) in [("x-a", true), ("X-B", true), ("X-C", true), ("x-d", false)] {
        assert_eq!(is_qualified(&fields, name.as_bytes()), qualified, "{name}");
    }
}

#[test]
fn a_quote_that_is_never_closed_is_noticed() {
    assert_eq!(response("max-age=10, x=\"a, no-store"), "malformed max-age=10");
    assert_eq!(response("max-age=\"10, no-store"), "malformed max-age=0");
    assert_eq!(response("x=\"a\\\", no-store"), "malformed");
}

#[test]
fn directives_of_a_request_are_read_and_pragma_only_where_they_are_missing() {
    let check = |lines: &str, expected: RequestDirectives| {
        let fields = Fields::parse(lines.as_bytes()).expect("valid fields");
        assert_eq!(RequestDirectives::of(&fields), expected, "{lines:?}");
    };
    let none = RequestDirectives::default();
    check("", none);
    check("cache-control: no-cache", RequestDirectives { no_cache: true, ..none });
    check("cache-control: no-store", RequestDirectives { no_store: true, ..none });
    check("cache-control: only-if-cached", RequestDirectives { only_if_cached: true, ..none });
    check("cache-control: max-age=0", RequestDirectives { max_age: Some(0), ..none });
    check("cache-control: max-age=x", RequestDirectives { max_age: Some(0), ..none });
    check("cache-control: max-age=5, max-age=3", RequestDirectives { max_age: Some(3), ..none });
    check(
        "cache-control: min-fresh=5, min-fresh=7",
        RequestDirectives { min_fresh: Some(7), ..none },
    );
    check("cache-control: max-stale", RequestDirectives { max_stale: Some(u32::MAX), ..none });
    check("cache-control: max-stale=4", RequestDirectives { max_stale: Some(4), ..none });
    check(
        "cache-control: max-stale, max-stale=4",
        RequestDirectives { max_stale: Some(4), ..none },
    );
    check("cache-control: max-stale=x", RequestDirectives { max_stale: Some(0), ..none });
    check("cache-control: stale-if-error=9", RequestDirectives { stale_if_error: Some(9), ..none });
    check("cache-control: foo=\"no-cache\"", none);
    check("pragma: no-cache", RequestDirectives { no_cache: true, ..none });
    check("pragma: x, NO-CACHE", RequestDirectives { no_cache: true, ..none });
    check(
        "pragma: no-cache\ncache-control: max-age=9",
        RequestDirectives { max_age: Some(9), ..none },
    );
    check("pragma: max-age=0", none);
}
