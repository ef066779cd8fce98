//! What a write makes unusable.
//!
//! In: a request that may have changed something, and its answer. Out: the targets whose
//! stored responses go. Law: RFC 9111 §4.4.
//! Invariant: only targets on the request's own origin, so that no site can sweep another's.

use http::Method;
use wire::{Name, RequestHead, ResponseHead};

use crate::reference::resolve;

/// The targets to sweep: the request's, and those that `Location` and `Content-Location`
/// name. Nothing for a safe method or an answer that is an error. A method that we have
/// never heard of counts as a write.
#[must_use]
pub fn invalidated(request: &RequestHead, response: &ResponseHead, scheme: &str) -> Vec<String> {
    let is_safe =
        matches!(request.method, Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE);
    if is_safe || !(200..400).contains(&response.status) {
        return Vec::new();
    }
    let mut targets = vec![request.target.clone()];
    for name in [Name::Location, Name::ContentLocation] {
        let references =
            response.fields.all(name).filter_map(|value| std::str::from_utf8(value).ok());
        targets
            .extend(references.filter_map(|reference| {
                resolve(scheme, &request.host, &request.target, reference)
            }));
    }
    targets.sort_unstable();
    targets.dedup();
    targets
}

#[cfg(test)]
mod tests {
    use wire::Fields;

    use super::*;

    fn check(method: &str, status: u16, fields: &str, expected: &[&str]) {
        let request = RequestHead {
            method: Method::from_bytes(method.as_bytes()).expect("a token"),
            target: "/threads?id=1".to_owned(),
            host: "a.test".to_owned(),
            ..RequestHead::default()
        };
        let fields = Fields::parse(fields.as_bytes()).expect("valid fields");
        let targets = invalidated(&request, &ResponseHead { status, fields }, "http");
        assert_eq!(targets, expected, "{method} {status}");
    }

    #[test]
    fn a_write_that_succeeds_sweeps_its_own_target() {
        for method in ["POST", "PUT", "DELETE", "PATCH", "FROB", "get"] {
            for status in [200, 201, 204, 302, 303] {
                check(method, status, "", &["/threads?id=1"]);
            }
        }
    }

    #[test]
    fn reading_and_failing_sweep_nothing() {
        for method in ["GET", "HEAD", "OPTIONS", "TRACE"] {
            check(method, 200, "location: /x", &[]);
        }
        for status in [400, 403, 404, 500, 503] {
            check("POST", status, "location: /x", &[]);
        }
    }

    #[test]
    fn what_the_answer_points_to_on_the_same_origin_goes_as_well() {
        check("POST", 303, "location: /new", &["/new", "/threads?id=1"]);
        check(
            "POST",
            303,
            "location: http://a.test/new\ncontent-location: other",
            &["/new", "/other", "/threads?id=1"],
        );
        check("POST", 303, "location: http://b.test/new", &["/threads?id=1"]);
        check("POST", 303, "location: /threads?id=1", &["/threads?id=1"]);
    }
}
