//! Recorded answers as OTLP 1 in its JSON encoding, which every collector takes on `/v1/traces`.
//!
//! In: [`Recorded`] answers. Out: an `ExportTraceServiceRequest`: one span for each answer, with
//! a child for each phase that it went through.
//! Law: OpenTelemetry protocol 1.x (JSON: ids in hexadecimal, 64-bit numbers as text), and the
//! stable semantic conventions for HTTP servers; what is Wick's own begins with `wick.`.
//! Invariants: 1. no id is zero. 2. a span ends no earlier than it begins.
//! Start at [`batch`].

use base::Phase;
use serde::Serialize;

use super::{Recorded, Stretch};

/// Kinds of spans, and the status of one that failed, by their numbers in the protocol.
const INTERNAL: u8 = 1;
const SERVER: u8 = 2;
const CLIENT: u8 = 3;
const FAILED: u8 = 2;
/// Methods that are told by their names (RFC 9110 §9, RFC 5789).
const METHODS: [&str; 9] =
    ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    resource_spans: [ResourceSpans; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceSpans {
    resource: Resource,
    scope_spans: [ScopeSpans; 1],
}

#[derive(Serialize)]
struct Resource {
    attributes: Vec<Attribute>,
}

#[derive(Serialize)]
struct ScopeSpans {
    scope: Scope,
    spans: Vec<Span>,
}

#[derive(Serialize)]
struct Scope {
    name: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Span {
    trace_id: String,
    span_id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    parent_span_id: String,
    name: String,
    kind: u8,
    start_time_unix_nano: String,
    end_time_unix_nano: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attributes: Vec<Attribute>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
}

#[derive(Serialize)]
struct Status {
    code: u8,
}

#[derive(Serialize)]
struct Attribute {
    key: &'static str,
    value: Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Value {
    StringValue(String),
    IntValue(String),
}

/// What is sent of these answers; `version` is that of the program.
#[must_use]
pub fn batch(all: &[Recorded], version: &'static str) -> String {
    let resource = Resource {
        attributes: vec![text("service.name", "wick"), text("service.version", version)],
    };
    let scope = Scope { name: "wick", version };
    let scope_spans = [ScopeSpans { scope, spans: all.iter().flat_map(spans).collect() }];
    let request = Request { resource_spans: [ResourceSpans { resource, scope_spans }] };
    // Names and numbers alone: there is nothing in it that could not be written.
    serde_json::to_string(&request).unwrap_or_default()
}

fn spans(one: &Recorded) -> impl Iterator<Item = Span> {
    let children = one.stretches.iter().map(|stretch| child(one, *stretch));
    std::iter::once(whole(one)).chain(children)
}

/// The request as a whole.
fn whole(one: &Recorded) -> Span {
    let is_known = METHODS.contains(&one.method.as_str());
    let method = if is_known { one.method.as_str() } else { "HTTP" };
    let name = match one.route.as_str() {
        "" => method.to_owned(),
        route => format!("{method} {route}"),
    };
    let is_failed = one.status >= 500;
    Span {
        parent_span_id: match one.place.parent {
            0 => String::new(),
            parent => format!("{parent:016x}"),
        },
        kind: SERVER,
        attributes: attributes(one, is_known, is_failed),
        status: is_failed.then_some(Status { code: FAILED }),
        ..span(one, one.place.span, name, 0, one.took_us)
    }
}

fn attributes(one: &Recorded, is_known: bool, is_failed: bool) -> Vec<Attribute> {
    let method = if is_known { one.method.as_str() } else { "_OTHER" };
    let mut all = vec![
        text("http.request.method", method),
        text("url.scheme", one.place.scheme),
        text("network.protocol.version", one.place.version),
        number("http.response.status_code", one.status.into()),
    ];
    let (host, port) = host_and_port(&one.host);
    all.extend(port.map(|port| number("server.port", port.into())));
    let status = if is_failed { one.status.to_string() } else { String::new() };
    let original = if is_known { "" } else { &one.method };
    let more = [
        ("http.request.method_original", original),
        ("url.path", &one.path),
        ("http.route", &one.route),
        ("server.address", host),
        ("error.type", &status),
        ("wick.verdict", one.verdict),
        ("wick.reason", one.reason),
        ("wick.unstored", one.unstored),
        ("wick.site", &one.site),
    ];
    all.extend(more.into_iter().filter(|(_, it)| !it.is_empty()).map(|(key, it)| text(key, it)));
    all
}

/// One phase of it. What the origin does between its first byte and the head of its answer
/// hangs below that one.
fn child(one: &Recorded, stretch: Stretch) -> Span {
    let Stretch { phase, began_us, took_us } = stretch;
    let is_asking = phase == Phase::FirstByte;
    let id = if is_asking { one.place.origin_span } else { own_id(one, phase) };
    Span {
        parent_span_id: format!("{:016x}", one.place.span),
        kind: if is_asking { CLIENT } else { INTERNAL },
        ..span(one, id, phase.word().to_owned(), began_us, took_us)
    }
}

/// Another id for each phase, which is neither of those that are drawn.
fn own_id(one: &Recorded, phase: Phase) -> u64 {
    let mut id = one.place.span;
    for _ in 0..=phase as usize {
        id = id.wrapping_add(0x9e37_79b9_7f4a_7c15);
        while id == 0 || id == one.place.origin_span {
            id = id.wrapping_add(1);
        }
    }
    id
}

fn span(one: &Recorded, id: u64, name: String, began_us: u64, took_us: u64) -> Span {
    let start = u128::from(one.unix_ms) * 1_000_000 + u128::from(began_us) * 1_000;
    Span {
        trace_id: format!("{:032x}", one.place.trace),
        span_id: format!("{id:016x}"),
        parent_span_id: String::new(),
        name,
        kind: INTERNAL,
        start_time_unix_nano: start.to_string(),
        end_time_unix_nano: (start + u128::from(took_us) * 1_000).to_string(),
        attributes: Vec::new(),
        status: None,
    }
}

fn text(key: &'static str, value: &str) -> Attribute {
    Attribute { key, value: Value::StringValue(value.to_owned()) }
}

fn number(key: &'static str, value: u64) -> Attribute {
    Attribute { key, value: Value::IntValue(value.to_string()) }
}

/// A host as it is asked for, taken apart: `[::1]:80`, `a.test`.
fn host_and_port(text: &str) -> (&str, Option<u16>) {
    match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => match port.parse() {
            Ok(port) => (host, Some(port)),
            Err(_) => (text, None),
        },
        _ => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::super::Place;
    use super::*;

    fn recorded(method: &str, status: u16) -> Recorded {
        let stretch = |phase, began_us, took_us| Stretch { phase, began_us, took_us };
        Recorded {
            place: Place {
                trace: 0x0af7,
                parent: 0,
                span: 0xb7ad,
                origin_span: 0xcafe,
                scheme: "https",
                version: "2",
            },
            unix_ms: 1_789_000_000_123,
            took_us: 45_000,
            stretches: vec![
                stretch(Phase::LookUp, 0, 20),
                stretch(Phase::FirstByte, 300, 40_000),
                stretch(Phase::Body, 40_300, 2_000),
            ],
            method: method.into(),
            host: "a.test:8443".into(),
            path: "/thread/7".into(),
            site: "forum".into(),
            route: "/thread/{id}".into(),
            status,
            verdict: "miss",
            reason: "uri-miss",
            unstored: "",
        }
    }

    fn told(all: &[Recorded]) -> Vec<Json> {
        let json: Json = serde_json::from_str(&batch(all, "1.2.3")).expect("JSON");
        let only = &json["resourceSpans"][0];
        assert_eq!(only["resource"]["attributes"][0]["value"], json!({"stringValue": "wick"}));
        only["scopeSpans"][0]["spans"].as_array().expect("spans").clone()
    }

    fn attribute<'a>(span: &'a Json, key: &str) -> &'a Json {
        let all = span["attributes"].as_array().expect("attributes");
        let found = all.iter().find(|attribute| attribute["key"] == key);
        found.map_or(&Json::Null, |attribute| &attribute["value"])
    }

    #[test]
    fn an_answer_is_a_span_with_a_child_for_each_phase() {
        let spans = told(&[recorded("GET", 200)]);
        let whole = &spans[0];
        assert_eq!(whole["name"], "GET /thread/{id}");
        assert_eq!(whole["traceId"], "00000000000000000000000000000af7");
        assert_eq!((&whole["kind"], &whole["parentSpanId"]), (&json!(2), &Json::Null));
        assert_eq!(whole["startTimeUnixNano"], "1789000000123000000");
        assert_eq!(whole["endTimeUnixNano"], "1789000000168000000");
        assert_eq!(attribute(whole, "http.response.status_code"), &json!({"intValue": "200"}));
        assert_eq!(attribute(whole, "server.address"), &json!({"stringValue": "a.test"}));
        assert_eq!(attribute(whole, "server.port"), &json!({"intValue": "8443"}));
        assert_eq!(attribute(whole, "wick.reason"), &json!({"stringValue": "uri-miss"}));
        assert_eq!(attribute(whole, "error.type"), &Json::Null);
        let names: Vec<_> = spans[1..].iter().map(|span| span["name"].as_str()).collect();
        assert_eq!(names, [Some("lookup"), Some("origin"), Some("body")]);
        assert!(spans[1..].iter().all(|span| span["parentSpanId"] == whole["spanId"]));
        let asking = &spans[2];
        assert_eq!((&asking["spanId"], &asking["kind"]), (&json!("000000000000cafe"), &json!(3)));
        assert_eq!(asking["startTimeUnixNano"], "1789000000123300000");
        let ids: std::collections::HashSet<_> =
            spans.iter().map(|span| span["spanId"].as_str()).collect();
        assert_eq!(ids.len(), spans.len());
    }

    #[test]
    fn an_error_is_one_and_an_unknown_method_has_no_name_of_its_own() {
        let spans = told(&[recorded("BREW", 504)]);
        assert_eq!(spans[0]["name"], "HTTP /thread/{id}");
        assert_eq!(spans[0]["status"], json!({"code": 2}));
        assert_eq!(attribute(&spans[0], "error.type"), &json!({"stringValue": "504"}));
        let method = attribute(&spans[0], "http.request.method");
        assert_eq!(method, &json!({"stringValue": "_OTHER"}));
        let mut unreadable = recorded("", 400);
        (unreadable.route, unreadable.host) = (String::new(), String::new());
        unreadable.place.parent = 9;
        let spans = told(&[unreadable]);
        assert_eq!(spans[0]["name"], "HTTP");
        assert_eq!(spans[0]["parentSpanId"], "0000000000000009");
        assert_eq!(spans[0].get("status"), None, "a 4xx is the client's");
    }

    #[test]
    fn a_host_is_taken_apart() {
        for (host, expected) in [
            ("a.test", ("a.test", None)),
            ("a.test:80", ("a.test", Some(80))),
            ("[::1]", ("[::1]", None)),
            ("[::1]:80", ("[::1]", Some(80))),
            ("a:b", ("a:b", None)),
            ("", ("", None)),
        ] {
            assert_eq!(host_and_port(host), expected, "{host}");
        }
    }
}
