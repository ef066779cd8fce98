//! What to do with a request before anything is looked up.
//!
//! In: the head. Out: look it up, pass it on, or refuse it, and why.
//! Law: RFC 9110 §9 (methods), §7.8 (upgrade), §13 (preconditions).
//! A plain GET costs five masks.

use http::Method;
use wire::{Name, RequestHead};

use crate::hops;
use crate::reason::{PassReason, RefuseReason};
use crate::upgrade::is_upgrade;

/// What to do with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Ask the store.
    Lookup,
    /// Ask the origin, for this visitor alone.
    Pass(PassReason),
    /// Don't serve it.
    Refuse(RefuseReason),
}

/// Decides by the head alone.
#[must_use]
pub fn plan(head: &RequestHead, has_body: bool) -> Plan {
    let fields = &head.fields;
    if fields.has(Name::Upgrade) && is_upgrade(head) {
        return match head.method {
            Method::GET if !has_body => Plan::Pass(PassReason::Upgrade),
            _ => Plan::Refuse(RefuseReason::Upgrade),
        };
    }
    match head.method {
        Method::GET | Method::HEAD => {}
        Method::CONNECT => return Plan::Refuse(RefuseReason::Connect),
        _ => return Plan::Pass(PassReason::Method),
    }
    if has_body {
        return Plan::Refuse(RefuseReason::BodyOnGet);
    }
    if fields.has(Name::IfMatch) || fields.has(Name::IfUnmodifiedSince) {
        return Plan::Pass(PassReason::Precondition);
    }
    if hops::names_other_fields(fields) {
        return Plan::Pass(PassReason::ConnectionOption);
    }
    Plan::Lookup
}

#[cfg(test)]
mod tests {
    use wire::{Fields, Version};

    use super::*;

    fn check(method: &str, fields: &str, has_body: bool, expected: Plan) {
        let head = RequestHead {
            method: Method::from_bytes(method.as_bytes()).expect("a token"),
            target: "/".to_owned(),
            host: "a.test".to_owned(),
            version: Version::Http11,
            fields: Fields::parse(fields.as_bytes()).expect("valid fields"),
        };
        assert_eq!(plan(&head, has_body), expected, "{method} {fields:?} {has_body}");
    }

    #[test]
    fn only_reading_methods_are_looked_up() {
        check("GET", "", false, Plan::Lookup);
        check("HEAD", "", false, Plan::Lookup);
        for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PURGE", "get", "FROB"]
        {
            check(method, "", false, Plan::Pass(PassReason::Method));
            check(method, "", true, Plan::Pass(PassReason::Method));
        }
        check("CONNECT", "", false, Plan::Refuse(RefuseReason::Connect));
    }

    #[test]
    fn a_reading_request_with_a_body_is_refused() {
        check("GET", "", true, Plan::Refuse(RefuseReason::BodyOnGet));
        check("HEAD", "", true, Plan::Refuse(RefuseReason::BodyOnGet));
    }

    #[test]
    fn what_visitors_usually_send_is_looked_up() {
        for fields in [
            "cookie: a=b",
            "authorization: Basic x",
            "range: bytes=0-1",
            "if-none-match: \"a\"",
            "if-modified-since: x",
            "cache-control: no-cache",
            "connection: keep-alive",
            "accept-encoding: gzip",
        ] {
            check("GET", fields, false, Plan::Lookup);
        }
    }

    #[test]
    fn preconditions_and_options_that_hide_fields_pass() {
        check("GET", "if-match: \"a\"", false, Plan::Pass(PassReason::Precondition));
        check("GET", "if-unmodified-since: x", false, Plan::Pass(PassReason::Precondition));
        check("GET", "connection: cookie", false, Plan::Pass(PassReason::ConnectionOption));
    }

    #[test]
    fn only_another_protocol_asked_for_properly_is_an_upgrade() {
        let refused = Plan::Refuse(RefuseReason::Upgrade);
        let passed = Plan::Pass(PassReason::Upgrade);
        check("GET", "connection: Upgrade\nupgrade: websocket", false, passed);
        check("GET", "connection: keep-alive, upgrade\nupgrade: h2c, websocket", false, passed);
        check("GET", "connection: upgrade\nupgrade: websocket", true, refused);
        check("HEAD", "connection: upgrade\nupgrade: websocket", false, refused);
        check("POST", "connection: upgrade\nupgrade: foo/2", false, refused);
        check("GET", "upgrade: websocket", false, Plan::Lookup);
        check("GET", "connection: upgrade, http2-settings\nupgrade: h2c", false, Plan::Lookup);
        check("GET", "connection: upgrade\nupgrade: TLS/1.0, HTTP/2.0", false, Plan::Lookup);
    }
}
