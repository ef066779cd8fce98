//! Traces of the built binary, told to a collector that takes nothing that the protocol's schema
//! (opentelemetry-proto 1.x, `trace/v1/trace.proto`, in JSON) does not allow.

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::origin::Origin;
use crate::wick::{Wick, ask, body, has_php, open_folder, until};

const CACHED: &str =
    "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 5\r\n\r\nhello";

/// Takes traces, and keeps each batch.
struct Collector {
    address: SocketAddr,
    batches: Arc<Mutex<Vec<String>>>,
}

impl Collector {
    /// Answers each batch with this; empty: not at all.
    fn saying(status: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let batches = Arc::<Mutex<Vec<String>>>::default();
        let kept = batches.clone();
        std::thread::spawn(move || {
            let mut open = Vec::new();
            for mut stream in listener.incoming().map_while(Result::ok) {
                let mut reader = BufReader::new(stream.try_clone().expect("a socket"));
                let mut length = 0;
                let mut head = String::new();
                while reader.read_line(&mut head).is_ok_and(|bytes| bytes > 2) {}
                for line in head.lines() {
                    if let Some((name, value)) = line.split_once(": ")
                        && name.eq_ignore_ascii_case("content-length")
                    {
                        length = value.parse().expect("a length");
                    }
                }
                let mut json = vec![0; length];
                reader.read_exact(&mut json).expect("a body");
                let is_right = head.starts_with("POST /v1/traces HTTP/1.1\r\n")
                    && head.to_lowercase().contains("content-type: application/json");
                assert!(is_right, "{head}");
                let json = String::from_utf8(json).expect("text");
                kept.lock().expect("no test panics here").push(json);
                if !status.is_empty() {
                    let answer = format!(
                        "HTTP/1.1 {status}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}"
                    );
                    let _ = stream.write_all(answer.as_bytes());
                }
                open.push(stream);
            }
        });
        Self { address, batches }
    }

    fn text(&self) -> String {
        self.batches.lock().expect("no test panics here").join("\n")
    }

    /// All spans, each of which was found to be right.
    fn spans(&self) -> Vec<Value> {
        let batches = self.batches.lock().expect("no test panics here");
        let spans: Vec<Value> = batches.iter().flat_map(|batch| spans(batch)).collect();
        let ids: HashSet<&str> = spans.iter().map(|span| text(span, "spanId")).collect();
        assert_eq!(ids.len(), spans.len(), "each has an id of its own");
        spans
    }
}

/// The fields of an object, which has no others.
fn only<'a>(object: &'a Value, known: &[&str]) -> &'a serde_json::Map<String, Value> {
    let fields = object.as_object().expect("an object");
    for name in fields.keys() {
        assert!(known.contains(&name.as_str()), "{name} in {object}");
    }
    fields
}

fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    let text = object[name].as_str();
    assert!(text.is_some(), "{name} in {object}");
    text.unwrap_or_default()
}

/// The spans of a batch, held against the schema.
fn spans(batch: &str) -> Vec<Value> {
    let batch: Value = serde_json::from_str(batch).expect("JSON");
    only(&batch, &["resourceSpans"]);
    let mut all = Vec::new();
    for resource in batch["resourceSpans"].as_array().expect("a list") {
        only(resource, &["resource", "scopeSpans", "schemaUrl"]);
        only(&resource["resource"], &["attributes", "droppedAttributesCount"]);
        attributes_are_right(&resource["resource"]);
        for scope in resource["scopeSpans"].as_array().expect("a list") {
            only(scope, &["scope", "spans", "schemaUrl"]);
            only(&scope["scope"], &["name", "version", "attributes"]);
            all.extend(scope["spans"].as_array().expect("a list").iter().cloned());
        }
    }
    all.iter().for_each(span_is_right);
    all
}

fn span_is_right(span: &Value) {
    let known = [
        "traceId",
        "spanId",
        "parentSpanId",
        "name",
        "kind",
        "startTimeUnixNano",
        "endTimeUnixNano",
        "attributes",
        "status",
    ];
    let fields = only(span, &known);
    for (name, digits) in [("traceId", 32), ("spanId", 16), ("parentSpanId", 16)] {
        let Some(id) = fields.get(name).map(|id| id.as_str().expect("text")) else {
            assert_eq!(name, "parentSpanId", "{span}");
            continue;
        };
        assert_eq!(id.len(), digits, "{span}");
        assert!(id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{span}");
        assert!(id.bytes().any(|byte| byte != b'0'), "{span}");
    }
    assert!(!text(span, "name").is_empty());
    assert!((1..=5).contains(&span["kind"].as_u64().expect("a kind")), "{span}");
    let time = |name| text(span, name).parse::<u64>().expect("nanoseconds as text");
    assert!(time("startTimeUnixNano") <= time("endTimeUnixNano"), "{span}");
    if let Some(status) = fields.get("status") {
        only(status, &["code", "message"]);
        assert!(status["code"].as_u64().expect("a number") <= 2);
    }
    if fields.contains_key("attributes") {
        attributes_are_right(span);
    }
}

fn attributes_are_right(object: &Value) {
    let mut keys = HashSet::new();
    for attribute in object["attributes"].as_array().expect("a list") {
        only(attribute, &["key", "value"]);
        assert!(keys.insert(text(attribute, "key")), "twice: {attribute}");
        let value = only(&attribute["value"], &["stringValue", "intValue"]);
        assert_eq!(value.len(), 1, "one of them: {attribute}");
        if let Some(number) = value.get("intValue") {
            number.as_str().expect("64 bits are text").parse::<i64>().expect("a number");
        }
    }
}

fn attribute<'a>(span: &'a Value, key: &str) -> Option<&'a str> {
    let all = span["attributes"].as_array()?;
    let value = &all.iter().find(|attribute| attribute["key"] == key)?["value"];
    value["stringValue"].as_str().or(value["intValue"].as_str())
}

fn serve(settings: &str, origin: &str) -> (Wick, SocketAddr, tempfile::TempDir) {
    let folder = open_folder();
    let file = folder.path().join("wick.toml");
    fs::write(&file, settings).expect("the settings are written");
    let (wick, address) = Wick::serve(&["--config", &file.display().to_string(), origin]);
    (wick, address, folder)
}

/// The parts of the `traceparent` in a request's head.
fn parent_in(head: &str) -> Vec<String> {
    let found = head.lines().filter_map(|line| line.split_once(": "));
    let mut found = found.filter(|(name, _)| name.eq_ignore_ascii_case("traceparent"));
    let (_, value) = found.next().expect("the origin is told");
    assert!(found.next().is_none(), "once: {head}");
    value.split('-').map(str::to_owned).collect()
}

#[test]
fn a_collector_and_the_origin_are_told_of_one_trace_and_of_nothing_secret() {
    let (origin, collector) = (Origin::saying(CACHED), Collector::saying("200 OK"));
    let settings = format!("[traces]\notlp = \"http://{}\"\nsample = 1\n", collector.address);
    let (wick, address, _folder) = serve(&settings, &origin.url());
    let request = "GET /thread/7?key=hush\nCookie: id=hush\nAuthorization: Basic hush\n\
                   traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
    assert_eq!(body(&ask(address, request)), "hello");
    assert_eq!(body(&ask(address, "GET /page")), "hello");
    assert_eq!(body(&ask(address, "GET /page")), "hello");
    let heads = origin.heads();
    let parent = parent_in(&heads[0]);
    assert_eq!((parent[0].as_str(), parent[3].as_str()), ("00", "01"));
    assert_ne!(parent[1], "0af7651916cd43dd8448eb211c80319c", "no stranger says which");
    wick.stop();
    let spans = collector.spans();
    let wholes: Vec<&Value> = spans.iter().filter(|span| span["kind"] == 2).collect();
    let told: Vec<_> = wholes
        .iter()
        .map(|span| (text(span, "name"), attribute(span, "wick.verdict").unwrap_or("")))
        .collect();
    assert_eq!(told, [("GET /thread/{id}", "miss"), ("GET /page", "miss"), ("GET /page", "hit")]);
    let first = wholes[0];
    assert_eq!(text(first, "traceId"), parent[1]);
    assert_eq!(attribute(first, "url.path"), Some("/thread/7"));
    assert_eq!(attribute(first, "http.response.status_code"), Some("200"));
    assert_eq!(attribute(first, "http.route"), Some("/thread/{id}"));
    let asking = spans.iter().find(|span| text(span, "spanId") == parent[2]).expect("its span");
    assert_eq!((text(asking, "name"), &asking["kind"]), ("origin", &3.into()));
    assert_eq!(text(asking, "parentSpanId"), text(first, "spanId"));
    let of = |whole: &Value| {
        let is_below = |span: &&Value| span["parentSpanId"] == whole["spanId"];
        spans.iter().filter(is_below).count()
    };
    assert!(of(first) >= 3 && of(wholes[2]) == 0, "memory has no phases");
    for child in &spans {
        let begin = |span: &Value| text(span, "startTimeUnixNano").parse::<u64>().expect("a time");
        let whole = wholes.iter().find(|whole| whole["traceId"] == child["traceId"]);
        assert!(begin(child) >= begin(whole.expect("it belongs to one")));
    }
    assert!(!collector.text().contains("hush") && !collector.text().contains("key="));
}

#[test]
fn a_collector_that_says_nothing_holds_up_nobody() {
    let (origin, collector) = (Origin::saying(CACHED), Collector::saying(""));
    let settings = format!("[traces]\notlp = \"http://{}\"\nsample = 1\n", collector.address);
    let (wick, address, _folder) = serve(&settings, &origin.url());
    for number in 0..300 {
        assert_eq!(body(&ask(address, &format!("GET /{}", number % 7))), "hello");
    }
    until("a batch", || !collector.text().is_empty());
    assert_eq!(body(&ask(address, "GET /0")), "hello");
    wick.stop();
}

#[test]
fn a_collector_that_refuses_is_told_to_the_owner_once() {
    let (origin, collector) = (Origin::saying(CACHED), Collector::saying("404 Not Found"));
    let settings = format!("[traces]\notlp = \"http://{}/k-hush\"\n", collector.address);
    let (wick, address, _folder) = serve(&settings.replace("/k-hush", "/"), &origin.url());
    assert_eq!(body(&ask(address, "GET /")), "hello", "one in a hundred");
    drop(wick);
    let all = settings.replace("/k-hush", "") + "sample = 1\n";
    let (wick, address, _folder) = serve(&all, &origin.url());
    for _ in 0..2 {
        assert_eq!(body(&ask(address, "GET /")), "hello");
    }
    let errors = wick.stop().errors;
    assert_eq!(errors.matches("the collector of traces").count(), 1, "{errors}");
    assert!(errors.contains("a status of 404") && !errors.contains("127.0.0.1"), "{errors}");
}

#[test]
fn php_finds_the_trace_and_metrics_name_one_that_was_told() {
    if !has_php() {
        return;
    }
    let site = open_folder();
    fs::write(site.path().join("index.php"), "<?php echo $_SERVER['HTTP_TRACEPARENT'];")
        .expect("a script");
    let collector = Collector::saying("200 OK");
    let admin = loopback::address();
    let settings = format!(
        "admin = \"{admin}\"\n[traces]\notlp = \"http://{}\"\nsample = 1\n",
        collector.address
    );
    let (wick, address, _folder) = serve(&settings, &site.path().display().to_string());
    let told = ask(address, "GET /");
    let parts: Vec<&str> = body(&told).split('-').collect();
    assert_eq!(parts.len(), 4, "{told}");
    let open = "GET /metrics\nAccept: application/openmetrics-text";
    let exemplar = format!("# {{trace_id=\"{}\"}}", parts[1]);
    until("an exemplar", || ask(admin, open).contains(&exemplar));
    wick.stop();
    assert!(collector.spans().iter().any(|span| text(span, "traceId") == parts[1]));
}
