//! A request, a response, and whether it is stored.

use wire::Fields;

use super::*;

/// 2024-01-01T00:00:00Z, as `Date` and as a clock reads it.
const DATE: &str = "Mon, 01 Jan 2024 00:00:00 GMT";
const NOW: Now = Now { ticks_ms: 50_000, ticks_us: 50_000_000, unix_ms: 1_704_067_200_000 };

fn fields(text: &str) -> Fields {
    let text = text
        .replace("NOW", DATE)
        .replace("HOUR_AGO", "Sun, 31 Dec 2023 23:00:00 GMT")
        .replace("IN_AN_HOUR", "Mon, 01 Jan 2024 01:00:00 GMT")
        .replace("YEAR_AGO", "Sun, 01 Jan 2023 00:00:00 GMT");
    Fields::parse(text.as_bytes()).expect("valid fields")
}

fn get(target: &str, request: &str) -> RequestHead {
    RequestHead {
        target: target.to_owned(),
        host: "a.test".to_owned(),
        fields: fields(request),
        ..RequestHead::default()
    }
}

/// What becomes of a response, in one line: the reason why it isn't stored, or its initial
/// age and lifetime in seconds with its flags.
fn outcome(request: &RequestHead, status: u16, response: &str, rules: &Rules) -> String {
    let response = ResponseHead { status, fields: fields(response) };
    let terms = match admit(request, &response, NOW.ticks_ms, NOW, rules) {
        Admission::NoStore(reason) => return reason.reason().to_owned(),
        Admission::Store(terms) => terms,
    };
    assert_eq!(terms.stored_ticks_ms, NOW.ticks_ms);
    let mut said = format!("{}/{}", terms.initial_age_ms / 1000, terms.lifetime_ms / 1000);
    for (holds, word) in [
        (terms.must_revalidate, " must-revalidate"),
        (terms.no_cache, " no-cache"),
        (terms.shared_with_authorization, " shared"),
        (!terms.explicit, " implicit"),
    ] {
        said.push_str(if holds { word } else { "" });
    }
    for (value, word) in
        [(terms.stale_while_revalidate_seconds, "swr"), (terms.stale_if_error_seconds, "sie")]
    {
        if let Some(value) = value {
            said.push_str(&format!(" {word}={value}"));
        }
    }
    said
}

fn check(response: &str, expected: &str) {
    check_status(200, response, expected);
}

fn check_status(status: u16, response: &str, expected: &str) {
    let said = outcome(&get("/", ""), status, response, &Rules::default());
    assert_eq!(said, expected, "{status} {response:?}");
}

fn check_request(request: &str, response: &str, expected: &str) {
    let said = outcome(&get("/", request), 200, response, &Rules::default());
    assert_eq!(said, expected, "{request:?} {response:?}");
}

#[test]
fn the_lifetime_is_what_the_response_states_first() {
    check("cache-control: max-age=10", "0/10");
    check("cache-control: max-age=10, s-maxage=5", "0/5 must-revalidate shared");
    check("cache-control: s-maxage=15, max-age=5", "0/15 must-revalidate shared");
    check("cache-control: max-age=10\nexpires: IN_AN_HOUR\ndate: NOW", "0/10");
    check("expires: IN_AN_HOUR\ndate: NOW", "0/3600");
    check("expires: IN_AN_HOUR", "0/3600");
    check("expires: IN_AN_HOUR\ndate: HOUR_AGO", "3600/7200");
    check("cache-control: max-age=99999999999", "0/2147483648");
    check("cache-control: foo\nexpires: IN_AN_HOUR", "0/3600");
}

#[test]
fn expires_that_is_no_single_date_means_stale() {
    for expires in [
        "expires: 0",
        "expires: -1",
        "expires:",
        "expires: NOW",
        "expires: HOUR_AGO",
        "expires: IN_AN_HOUR\nexpires: IN_AN_HOUR",
        "expires: Mon, 01 Jan 2024 1:00:00 GMT",
        "expires: Mon, 01 Jan 2024 01:00:00 EST",
        "expires: Mon, 01 Jan 24 01:00:00 GMT",
        "cache-control: max-age=x\nexpires: IN_AN_HOUR",
    ] {
        check(expires, "expired");
        check(&format!("{expires}\netag: \"a\""), "0/0 implicit");
    }
}

#[test]
fn age_is_read_strictly_and_the_larger_of_both_kinds_counts() {
    for (age, seconds) in [
        ("age: 7", 7),
        ("age: 7, 9", 7),
        ("age: 7\nage: 9", 7),
        ("age: 1.5", 0),
        ("age: -7", 0),
        ("age: abc", 0),
        ("age: ", 0),
        ("date: HOUR_AGO", 3600),
        ("date: HOUR_AGO\nage: 7", 3600),
        ("date: HOUR_AGO\nage: 4000", 4000),
        ("date: IN_AN_HOUR", 0),
        ("date: nonsense", 0),
        ("date: HOUR_AGO\ndate: HOUR_AGO", 0),
    ] {
        check(&format!("cache-control: max-age=9999\n{age}"), &format!("{seconds}/9999"));
    }
    check(
        "cache-control: max-age=99999999999\netag: \"a\"\nage: 2147483649",
        "2147483648/2147483648",
    );
}

#[test]
fn the_time_that_the_request_took_makes_it_older() {
    let response =
        ResponseHead { status: 200, fields: fields("cache-control: max-age=60\nage: 2") };
    let admission = admit(&get("/", ""), &response, NOW.ticks_ms - 1_500, NOW, &Rules::default());
    assert!(matches!(admission, Admission::Store(terms) if terms.initial_age_ms == 3_500));
}

#[test]
fn what_is_stale_on_arrival_is_stored_only_if_it_can_still_be_of_use() {
    check("cache-control: max-age=10\nage: 10", "expired");
    check("cache-control: max-age=10\nage: 20\nlast-modified: YEAR_AGO", "20/10");
    check("cache-control: max-age=0", "expired");
    check("cache-control: max-age=0\netag: \"a\"", "0/0 implicit");
    check("cache-control: no-cache, max-age=10", "expired");
    check("cache-control: no-cache\netag: \"a\"", "0/0 no-cache implicit");
    check("cache-control: max-age=10, no-cache\netag: \"a\"", "0/10 no-cache implicit");
    check("cache-control: max-age=0, stale-while-revalidate=5", "0/0 implicit swr=5");
    check("cache-control: max-age=0, stale-if-error=5", "0/0 implicit sie=5");
    check("cache-control: max-age=0, must-revalidate, stale-if-error=5", "expired");
}

#[test]
fn what_forbids_storing_forbids_it() {
    for (response, reason) in [
        ("cache-control: no-store, max-age=10", "no-store"),
        ("cache-control: max-age=10\ncache-control: NO-STORE", "no-store"),
        ("cache-control: private, max-age=10", "private"),
        ("cache-control: private, public, max-age=10", "private"),
        ("cache-control: private=\"Content-Type\", max-age=10", "private"),
        ("cache-control: max-age=10\nset-cookie: a=b", "set-cookie"),
        ("cache-control: public, max-age=10\nset-cookie: a=b", "set-cookie"),
        ("cache-control: max-age=10\nvary: *", "vary-star"),
        ("cache-control: max-age=10\nvary: a\nvary: b, *", "vary-star"),
        ("cache-control: max-age=10, x=\"a, no-store", "malformed"),
        ("etag-less: 1", "no-freshness"),
        ("", "no-freshness"),
    ] {
        check(response, reason);
    }
    check("cache-control: private=\"X-User\", max-age=10", "0/10");
    check("cache-control: no-cache=\"X-User\", max-age=10", "0/10");
    check("cache-control: max-age=10, foo=\"private\"", "0/10");
    check("pragma: no-cache\ncache-control: max-age=10", "0/10");
    check("cache-control: max-age=10\nvary: accept-encoding", "0/10");
}

#[test]
fn only_answers_to_get_are_stored() {
    for method in ["HEAD", "POST", "PUT", "OPTIONS", "FROB"] {
        let method = Method::from_bytes(method.as_bytes()).expect("a token");
        let request = RequestHead { method, ..get("/", "") };
        let response = "cache-control: max-age=10";
        assert_eq!(outcome(&request, 200, response, &Rules::default()), "method");
    }
}

#[test]
fn a_client_can_forbid_storing_its_answer() {
    check_request("cache-control: no-store", "cache-control: max-age=10", "request-no-store");
    check_request("cache-control: no-cache", "cache-control: max-age=10", "0/10");
}

#[test]
fn answers_to_credentials_need_leave() {
    let authorized = "authorization: Basic x";
    check_request(authorized, "cache-control: max-age=10", "authorization");
    check_request(authorized, "expires: IN_AN_HOUR", "authorization");
    check_request(authorized, "cache-control: proxy-revalidate, max-age=10", "authorization");
    check_request(authorized, "cache-control: public, max-age=10", "0/10 shared");
    check_request(authorized, "cache-control: s-maxage=10", "0/10 must-revalidate shared");
    check_request(
        authorized,
        "cache-control: must-revalidate, max-age=10",
        "0/10 must-revalidate shared",
    );
    check_request(
        authorized,
        "cache-control: public\ncdn-cache-control: max-age=10",
        "authorization",
    );
}

#[test]
fn answers_to_a_cookie_need_a_lifetime_of_their_own() {
    let member = "cookie: session=1";
    check_request(member, "cache-control: max-age=10", "0/10");
    check_request(member, "cache-control: s-maxage=10", "0/10 must-revalidate shared");
    check_request(member, "expires: IN_AN_HOUR", "0/3600");
    check_request(member, "cdn-cache-control: max-age=10", "0/10");
    check_request(member, "last-modified: YEAR_AGO", "cookie");
    check_request(member, "etag: \"a\"", "cookie");
    check_request(member, "cache-control: no-cache\netag: \"a\"", "cookie");
    check_request(member, "cache-control: max-age=0\netag: \"a\"", "cookie");
    check_request(member, "cache-control: public, no-cache\netag: \"a\"", "0/0 no-cache shared");
}

#[test]
fn what_somebody_known_was_given_is_for_others_only_by_a_word_to_shared_caches() {
    let check = |target: &str, response: &str, expected: &str| {
        let request = get(target, "cookie: session=1");
        let response = ResponseHead { status: 200, fields: fields(response) };
        let rules = Rules::default();
        let admission = admit(&request, &response, NOW.ticks_ms, NOW, &rules);
        let said = match admission.for_holder(&request, &response, &rules) {
            Admission::NoStore(reason) => reason.reason(),
            Admission::Store(_) => "stored",
        };
        assert_eq!(said, expected, "{target} {response:?}");
    };
    for meant_for_the_browser in
        ["cache-control: max-age=10", "cache-control: public, max-age=10", "expires: IN_AN_HOUR"]
    {
        check("/photo.jpg?of=1", meant_for_the_browser, "cookie");
        check("/style/main.CSS?v=2", meant_for_the_browser, "stored");
    }
    check("/photo.jpg", "cache-control: s-maxage=10", "stored");
    check("/photo.jpg", "cdn-cache-control: max-age=10", "stored");
    check("/main.css", "cache-control: private, max-age=10", "private");
    check("/main.css", "content-type: text/html\ncache-control: max-age=10", "type-mismatch");
}

#[test]
fn a_lifetime_is_guessed_only_for_strangers_pages_without_a_query() {
    let old = "last-modified: YEAR_AGO";
    check(old, "0/3600 implicit");
    check("last-modified: HOUR_AGO", "0/360 implicit");
    check("last-modified: HOUR_AGO\ndate: NOW", "0/360 implicit");
    check("last-modified: IN_AN_HOUR", "0/0 implicit");
    check("last-modified: nonsense", "0/0 implicit");
    check("etag: \"a\"", "0/0 implicit");
    check("cache-control: foo\nlast-modified: YEAR_AGO", "0/3600 implicit");
    check("cache-control: no-cache\nlast-modified: YEAR_AGO", "0/3600 no-cache implicit");
    check_request("authorization: x", old, "authorization");
    let queried = outcome(&get("/?a", ""), 200, old, &Rules::default());
    assert_eq!(queried, "0/0 implicit");
    let never = Rules { heuristic: false, ..Rules::default() };
    assert_eq!(outcome(&get("/", ""), 200, old, &never), "0/0 implicit");
    let short = Rules { heuristic_seconds_max: 5, ..Rules::default() };
    assert_eq!(outcome(&get("/", ""), 200, old, &short), "0/5 implicit");
}

#[test]
fn statuses_are_stored_by_what_they_mean() {
    let stated = "cache-control: max-age=10";
    for status in [200, 201, 202, 203, 204, 207, 226, 300, 301, 302, 303, 307, 308, 299, 399] {
        check_status(status, stated, "0/10");
    }
    check_status(206, stated, "partial");
    for status in [
        304, 400, 401, 402, 403, 406, 407, 408, 409, 412, 413, 416, 421, 425, 429, 431, 499, 600,
        999,
    ] {
        check_status(status, stated, "status");
    }
    let old = "last-modified: YEAR_AGO";
    for status in [203, 204, 300, 301, 308] {
        check_status(status, old, "0/3600 implicit");
    }
    for status in [201, 202, 302, 303, 307, 299] {
        check_status(status, old, "no-freshness");
    }
    check_status(302, "cache-control: public\nlast-modified: YEAR_AGO", "0/3600 shared");
}

#[test]
fn errors_are_stored_only_by_their_own_word_and_never_for_long() {
    for status in [404, 405, 410, 414, 451, 500, 501, 502, 503, 504, 599] {
        check_status(status, "cache-control: max-age=10", "0/10");
        check_status(status, "cache-control: max-age=86400", "0/60");
        check_status(status, "last-modified: YEAR_AGO\netag: \"a\"", "no-freshness");
        check_status(status, "", "no-freshness");
    }
    let never = Rules { negative_seconds_max: 0, ..Rules::default() };
    assert_eq!(outcome(&get("/", ""), 404, "cache-control: max-age=10", &never), "expired");
}

#[test]
fn must_understand_overrides_no_store_only_for_statuses_we_know() {
    let both = "cache-control: must-understand, no-store, max-age=10";
    check_status(200, both, "0/10");
    check_status(404, both, "0/10");
    check_status(299, both, "must-understand");
    check_status(599, both, "must-understand");
    check_status(299, "cache-control: must-understand, max-age=10", "must-understand");
    check_status(200, "cache-control: must-understand, no-store, private, max-age=10", "private");
}

#[test]
fn a_targeted_field_decides_alone() {
    check("cdn-cache-control: max-age=5\ncache-control: no-store\nexpires: 0", "0/5");
    check("cdn-cache-control: no-store\ncache-control: max-age=5", "no-store");
    check("cdn-cache-control: private\nwick-cache-control: max-age=5", "0/5");
    check("cdn-cache-control: &\ncache-control: max-age=5", "0/5");
    check("cdn-cache-control: foo\nexpires: IN_AN_HOUR", "no-freshness");
    check("cdn-cache-control: max-age=5, must-revalidate", "0/5 must-revalidate shared");
    check(
        "wick-cache-control: max-age=5, stale-while-revalidate=7, stale-if-error=9",
        "0/5 swr=7 sie=9",
    );
}

#[test]
fn a_page_under_the_name_of_a_picture_is_not_stored() {
    let html = "cache-control: max-age=10\ncontent-type: text/html; charset=utf-8";
    let css = "cache-control: max-age=10\ncontent-type: text/css";
    let check = |target: &str, response: &str, expected: &str| {
        let said = outcome(&get(target, ""), 200, response, &Rules::default());
        assert_eq!(said, expected, "{target}");
    };
    check("/account.php/x.css", html, "type-mismatch");
    check("/account/x.JPG?v=1", html, "type-mismatch");
    check("/x.css", css, "0/10");
    check("/x.css", "cache-control: max-age=10", "0/10");
    check("/page.html", html, "0/10");
    check("/v1.js/page", html, "0/10");
    check("/css", html, "0/10");
    check("/?x.css", html, "0/10");
    assert_eq!(outcome(&get("/x.png", ""), 404, html, &Rules::default()), "0/10");
}

#[test]
fn those_who_waited_may_have_what_was_fresh_on_arrival() {
    let terms = |response: &str| {
        let response = ResponseHead { status: 200, fields: fields(response) };
        match admit(&get("/", ""), &response, NOW.ticks_ms, NOW, &Rules::default()) {
            Admission::Store(terms) => terms,
            Admission::NoStore(reason) => panic!("{reason:?}"),
        }
    };
    assert!(terms("cache-control: max-age=1").answers_waiters());
    assert!(!terms("cache-control: max-age=0\netag: \"a\"").answers_waiters());
    assert!(!terms("cache-control: no-cache, max-age=9\netag: \"a\"").answers_waiters());
}
