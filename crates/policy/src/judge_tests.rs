//! A stored response, a request, and what is done.

use super::*;
use crate::written::fields;

/// Fresh for ten seconds from tick 1000 on.
const TERMS: Terms = Terms {
    lifetime_ms: 10_000,
    must_revalidate: false,
    no_cache: false,
    explicit: true,
    ..Terms::expired(1_000)
};

/// What is done after so many seconds, in one line.
fn judged(terms: &Terms, after_seconds: i64, request: &str, rules: &Rules) -> String {
    let ticks_ms = 1_000 + after_seconds.unsigned_abs() * 1000;
    match judge(terms, &fields(request), ticks_ms, rules) {
        Judgement::Fresh { ttl_ms } => format!("fresh {}", ttl_ms / 1000),
        Judgement::StaleButServable { ttl_ms, reason } => {
            format!("{} {}", reason.reason(), ttl_ms / 1000)
        }
        Judgement::Validate { ttl_ms, why } => {
            format!("validate {} {}", why.reason(), ttl_ms / 1000)
        }
        Judgement::OnlyIfCached => "504".to_owned(),
        Judgement::Pass(reason) => format!("pass {}", reason.reason()),
    }
}

fn check(terms: Terms, after_seconds: i64, request: &str, expected: &str) {
    let said = judged(&terms, after_seconds, request, &Rules::default());
    assert_eq!(said, expected, "after {after_seconds} s: {request:?}");
}

#[test]
fn a_response_is_fresh_until_its_age_reaches_its_lifetime() {
    check(TERMS, 0, "", "fresh 10");
    check(TERMS, 9, "", "fresh 1");
    check(TERMS, 10, "", "validate expired 0");
    check(TERMS, 11, "", "validate expired -1");
    check(Terms { initial_age_ms: 4_000, ..TERMS }, 5, "", "fresh 1");
    check(Terms { initial_age_ms: 4_000, ..TERMS }, 6, "", "validate expired 0");
    check(Terms::expired(1_000), 0, "", "validate no-cache 0");
}

#[test]
fn a_client_may_ask_for_validation() {
    check(TERMS, 1, "cache-control: no-cache", "validate request-no-cache 9");
    check(TERMS, 1, "pragma: no-cache", "validate request-no-cache 9");
    check(TERMS, 1, "pragma: no-cache\ncache-control: foo", "fresh 9");
    check(TERMS, 1, "cache-control: foo=\"no-cache\"", "fresh 9");
    check(TERMS, 0, "cache-control: max-age=0", "validate request-max-age 10");
    check(TERMS, 1, "cache-control: max-age=2", "fresh 9");
    check(TERMS, 3, "cache-control: max-age=2", "validate request-max-age 7");
    check(TERMS, 3, "cache-control: max-age=x", "validate request-max-age 7");
    check(TERMS, 3, "cache-control: min-fresh=7", "fresh 7");
    check(TERMS, 3, "cache-control: min-fresh=8", "validate request-min-fresh 7");
    check(TERMS, 3, "cache-control: no-store", "fresh 7");
}

#[test]
fn a_client_may_put_up_with_staleness() {
    check(TERMS, 15, "cache-control: max-stale", "max-stale -5");
    check(TERMS, 15, "cache-control: max-stale=5", "max-stale -5");
    check(TERMS, 16, "cache-control: max-stale=5", "validate expired -6");
    check(TERMS, 16, "cache-control: max-stale=x", "validate expired -6");
    check(TERMS, 15, "cache-control: max-stale, max-age=12", "validate request-max-age -5");
    check(TERMS, 15, "cache-control: max-stale, min-fresh=1", "validate request-min-fresh -5");
}

#[test]
fn stale_while_revalidate_is_the_responses_word_or_else_the_owners() {
    let says = Terms { stale_while_revalidate_seconds: Some(5), ..TERMS };
    check(says, 9, "", "fresh 1");
    check(says, 14, "", "while-revalidate -4");
    check(says, 15, "", "validate expired -5");
    check(says, 12, "cache-control: no-cache", "validate request-no-cache -2");
    check(says, 12, "cache-control: max-age=11", "validate request-max-age -2");
    check(says, 12, "cache-control: min-fresh=1", "validate request-min-fresh -2");
    let rules = Rules { stale_while_revalidate_seconds: Some(30), ..Rules::default() };
    assert_eq!(judged(&TERMS, 39, "", &rules), "while-revalidate -29");
    assert_eq!(judged(&TERMS, 40, "", &rules), "validate expired -30");
    assert_eq!(judged(&says, 15, "", &rules), "validate expired -5");
    let zero = Terms { stale_while_revalidate_seconds: Some(0), ..TERMS };
    assert_eq!(judged(&zero, 11, "", &rules), "validate expired -1");
    let never_fresh = Terms { lifetime_ms: 0, ..TERMS };
    assert_eq!(judged(&never_fresh, 1, "", &rules), "validate expired -1");
}

#[test]
fn what_forbids_staleness_beats_everybodys_leave() {
    let rules = Rules {
        stale_while_revalidate_seconds: Some(99),
        stale_if_error_seconds: Some(99),
        ..Rules::default()
    };
    let says = Terms {
        stale_while_revalidate_seconds: Some(99),
        stale_if_error_seconds: Some(99),
        ..TERMS
    };
    let forbids = Terms { must_revalidate: true, ..says };
    let asks = "cache-control: max-stale, stale-if-error=99";
    assert_eq!(judged(&forbids, 9, "", &rules), "fresh 1");
    assert_eq!(judged(&forbids, 11, asks, &rules), "validate expired -1");
    assert!(!may_serve_on_error(&forbids, &fields(asks), 12_000, &rules));
    let no_cache = Terms { no_cache: true, ..says };
    assert_eq!(judged(&no_cache, 1, asks, &rules), "validate no-cache 9");
    assert!(!may_serve_on_error(&no_cache, &fields(asks), 2_000, &rules));
}

#[test]
fn who_is_no_stranger_is_not_given_a_strangers_page() {
    let implicit = Terms { explicit: false, ..TERMS };
    let shared = Terms { shared_with_authorization: true, ..TERMS };
    check(TERMS, 1, "cookie: a=b", "fresh 9");
    check(implicit, 1, "", "fresh 9");
    check(implicit, 1, "cookie: a=b", "pass cookie");
    check(TERMS, 1, "authorization: x", "pass authorization");
    check(shared, 1, "authorization: x", "fresh 9");
    let rules = Rules { stale_if_error_seconds: Some(99), ..Rules::default() };
    assert!(may_serve_on_error(&implicit, &fields(""), 12_000, &rules));
    assert!(!may_serve_on_error(&implicit, &fields("cookie: a=b"), 12_000, &rules));
    assert!(!may_serve_on_error(&TERMS, &fields("authorization: x"), 12_000, &rules));
}

#[test]
fn a_client_that_wants_only_what_is_stored_gets_it_or_504() {
    check(TERMS, 1, "cache-control: only-if-cached", "fresh 9");
    check(TERMS, 11, "cache-control: only-if-cached", "504");
    check(TERMS, 11, "cache-control: only-if-cached, max-stale", "max-stale -1");
    check(TERMS, 1, "cache-control: only-if-cached, no-cache", "504");
    check(TERMS, 1, "cache-control: only-if-cached\nauthorization: x", "504");
    assert!(is_only_if_cached(&fields("cache-control: max-stale, only-if-cached")));
    assert!(!is_only_if_cached(&fields("cache-control: x=\"only-if-cached\"")));
    assert!(!is_only_if_cached(&fields("")));
}

#[test]
fn a_failing_origin_is_stood_in_for_as_long_as_somebody_allows() {
    let check = |terms: &Terms, after_seconds: u64, request: &str, rules: &Rules, may: bool| {
        let ticks_ms = 1_000 + after_seconds * 1000;
        let said = may_serve_on_error(terms, &fields(request), ticks_ms, rules);
        assert_eq!(said, may, "after {after_seconds} s: {request:?}");
    };
    let none = Rules::default();
    let owners = Rules { stale_if_error_seconds: Some(30), ..Rules::default() };
    let says = Terms { stale_if_error_seconds: Some(5), ..TERMS };
    check(&TERMS, 11, "", &none, false);
    check(&TERMS, 9, "", &none, true);
    check(&says, 14, "", &none, true);
    check(&says, 15, "", &none, false);
    check(&TERMS, 39, "", &owners, true);
    check(&TERMS, 40, "", &owners, false);
    check(&says, 15, "", &owners, false);
    check(&Terms { lifetime_ms: 0, ..TERMS }, 1, "", &owners, false);
    check(&TERMS, 14, "cache-control: stale-if-error=5", &none, true);
    check(&TERMS, 15, "cache-control: stale-if-error=5", &none, false);
    // A reload by max-age=0 still prefers an old page to none; no-cache insists.
    check(&says, 11, "cache-control: max-age=0", &none, true);
    check(&says, 11, "cache-control: no-cache", &none, false);
    check(&says, 11, "pragma: no-cache", &none, false);
    // Who may be served stale while all is well may be when it isn't.
    check(&Terms { stale_while_revalidate_seconds: Some(5), ..TERMS }, 14, "", &none, true);
}

/// What is done after so many seconds with a page that was purged softly after two.
fn softened(terms: Terms, after_seconds: u64, has_leave: bool, request: &str, expected: &str) {
    let ticks_ms = 1_000 + after_seconds * 1000;
    let request_fields = fields(request);
    let judge = |terms: &Terms| judge(terms, &request_fields, ticks_ms, &Rules::default());
    let said = match judge_softened(&terms, 3_000, has_leave, judge) {
        Judgement::StaleButServable { ttl_ms, reason } => {
            format!("{} {}", reason.reason(), ttl_ms / 1000)
        }
        Judgement::Validate { ttl_ms, why } => {
            format!("validate {} {}", why.reason(), ttl_ms / 1000)
        }
        other => format!("{other:?}"),
    };
    assert_eq!(said, expected, "after {after_seconds} s, {has_leave}: {request:?}");
}

#[test]
fn a_page_that_was_purged_softly_is_stale_and_served_by_leave() {
    let whole_while =
        Terms { stale_while_revalidate_seconds: Some(4), must_revalidate: false, ..TERMS };
    softened(TERMS, 2, true, "", "purged 0");
    softened(TERMS, 5, true, "", "purged -3");
    softened(TERMS, 5, false, "", "validate expired -3");
    // Past its own lifetime the law alone counts.
    softened(TERMS, 10, true, "", "validate expired -8");
    softened(whole_while, 5, false, "", "while-revalidate -3");
    softened(whole_while, 6, false, "", "validate expired -4");
    softened(whole_while, 6, true, "", "purged -4");
    softened(whole_while, 11, true, "", "validate expired -9");
    // By the law it is still fresh, so nothing forbids to serve it.
    softened(Terms { must_revalidate: true, ..TERMS }, 5, true, "", "purged -3");
    softened(Terms { must_revalidate: true, ..TERMS }, 5, false, "", "validate expired -3");
    softened(TERMS, 5, true, "cache-control: no-cache", "validate request-no-cache -3");
    softened(Terms { no_cache: true, ..TERMS }, 5, true, "", "validate no-cache -3");
    softened(TERMS, 5, true, "cache-control: max-age=1", "validate request-max-age -3");
}

#[test]
fn what_is_kept_from_a_visitor_is_so_whatever_they_wish_of_caches() {
    let declared = Terms { shared_with_authorization: true, explicit: true, ..TERMS };
    let guessed = Terms { shared_with_authorization: false, explicit: false, ..TERMS };
    for wish in ["", "cache-control: only-if-cached\n", "cache-control: max-stale\n"] {
        for (terms, shown, expected) in [
            (guessed, "authorization: x", Some(PassReason::Authorization)),
            (guessed, "cookie: a=b", Some(PassReason::Cookie)),
            (guessed, "accept: x", None),
            (declared, "authorization: x\ncookie: a=b", None),
        ] {
            let request = Fields::parse(format!("{wish}{shown}").as_bytes()).expect("valid");
            assert_eq!(withheld(&terms, &request), expected, "{request:?}");
        }
    }
}
