//! An HTTP origin that sends exactly the bytes that a test wants.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use futures_util::FutureExt;
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use super::*;
use wire::{BodyError, Fields, RequestHead};

/// One thing that the origin does once it has read a request.
#[derive(Clone)]
enum Act {
    Send(String),
    Close,
    Silence,
}

fn send(text: &str) -> Act {
    Act::Send(text.to_owned())
}

fn page(text: &str) -> Vec<Act> {
    vec![send(&format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{text}", text.len()))]
}

type Script = Vec<Vec<Vec<Act>>>;

struct Bench {
    origin: HttpOrigin,
    seen: Arc<Mutex<Vec<String>>>,
}

/// For each connection, what the origin does for each request on it; then it closes.
fn bench(script: Script) -> Bench {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let script = Arc::new(Mutex::new(VecDeque::from(script)));
    let log = seen.clone();
    let dial = Dial::Memory(Arc::new(move || {
        let next = script.lock().pop_front();
        let log = log.clone();
        async move {
            let requests = next.ok_or_else(|| io::Error::from(io::ErrorKind::ConnectionRefused))?;
            let (ours, theirs) = tokio::io::duplex(1 << 16);
            tokio::spawn(serve(theirs, requests, log));
            Ok(ours)
        }
        .boxed()
    }));
    Bench { origin: HttpOrigin::new(dial, HttpOptions::default()), seen }
}

async fn serve(mut io: DuplexStream, requests: Vec<Vec<Act>>, seen: Arc<Mutex<Vec<String>>>) {
    for acts in requests {
        let Some(request) = read_request(&mut io).await else { return };
        seen.lock().push(request);
        for act in acts {
            match act {
                Act::Send(text) => {
                    if io.write_all(text.as_bytes()).await.is_err() {
                        return;
                    }
                }
                Act::Close => return,
                Act::Silence => {
                    let _ = io.read(&mut [0]).await;
                    return;
                }
            }
        }
    }
}

/// The request's head and as much of a body as it announces.
async fn read_request(io: &mut DuplexStream) -> Option<String> {
    let mut text = String::new();
    let mut byte = [0];
    while !text.ends_with("\r\n\r\n") {
        if io.read(&mut byte).await.ok()? == 0 {
            return None;
        }
        text.push(char::from(byte[0]));
    }
    let length = text.to_ascii_lowercase().lines().find_map(|line| {
        line.strip_prefix("content-length: ").and_then(|length| length.parse::<usize>().ok())
    });
    for _ in 0..length.unwrap_or(0) {
        if io.read(&mut byte).await.ok()? == 0 {
            return None;
        }
        text.push(char::from(byte[0]));
    }
    let is_chunked = text.to_ascii_lowercase().contains("transfer-encoding: chunked");
    while is_chunked && !text.ends_with("0\r\n\r\n") {
        if io.read(&mut byte).await.ok()? == 0 {
            return None;
        }
        text.push(char::from(byte[0]));
    }
    Some(text)
}

pub(super) fn call(line: &str, body: Option<&'static str>) -> Call {
    let (method, target) = line.split_once(' ').expect("a method and a target");
    let head = RequestHead {
        method: method.parse().expect("a method"),
        target: target.to_owned(),
        host: "site".to_owned(),
        fields: Fields::new(),
        ..RequestHead::default()
    };
    let address = "127.0.0.1:80".parse().expect("an address");
    let body_length = Some(body.map_or(0, |body| body.len() as u64));
    let body = body.map(wire::body::full);
    Call {
        head,
        body,
        body_length,
        peer: address,
        local: address,
        scheme: "http",
        is_counted: true,
        early: None,
        phases: None,
    }
}

impl Bench {
    async fn ask(&self, line: &str) -> String {
        self.ask_with(call(line, None)).await
    }

    async fn ask_with(&self, call: Call) -> String {
        match self.origin.send(call).await {
            Err(error) => format!("{} {error}", error.status()),
            Ok(answer) => {
                let status = answer.head.status;
                match answer.body.collect().await {
                    Ok(body) => {
                        let trailers = body.trailers().map(convert::fields);
                        let trailers = trailers.map_or(String::new(), |t| format!(" {t:?}"));
                        format!("{status} {}{trailers}", String::from_utf8_lossy(&body.to_bytes()))
                    }
                    Err(error) => format!("{status} broken: {error}"),
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn answers_and_failures_are_told_apart() {
    const HEAD: &str = "HTTP/1.1 200 OK\r\n";
    let many = |count: usize| {
        let lines: String = (0..count).map(|n| format!("F{n}: x\r\n")).collect();
        send(&format!("{HEAD}{lines}Content-Length: 2\r\n\r\nok"))
    };
    let malformed = "502 the origin's answer makes no sense: ";
    let reset = "502 the origin closed the connection before it answered: ";
    let broken = "200 broken: the origin's response body ended early: ";
    let unending = vec![send(&format!("{HEAD}A: {}", "x".repeat(300_000))), Act::Silence];
    let chunked = format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n");
    for (acts, seen) in [
        (page("hello"), "200 hello".to_owned()),
        (vec![send("HTTP/1.1 204 No Content\r\n\r\n")], "204 ".to_owned()),
        (
            vec![send("HTTP/1.0 200 OK\r\n\r\nuntil the end"), Act::Close],
            "200 until the end".into(),
        ),
        (vec![send(&format!("{chunked}0\r\nSum: 1\r\n\r\n"))], "200 ok [\"sum: 1\"]".to_owned()),
        (vec![many(200)], "200 ok".to_owned()),
        (vec![many(300), Act::Silence], malformed.to_owned()),
        (unending, malformed.to_owned()),
        (vec![send("nonsense\r\n\r\n"), Act::Silence], malformed.to_owned()),
        (vec![Act::Close], reset.to_owned()),
        (vec![send("HTTP/1.1 200"), Act::Close], reset.to_owned()),
        (vec![Act::Silence], "504 the origin sent no answer within 60 s".to_owned()),
        (
            vec![send(&format!("{HEAD}Content-Length: 9\r\n\r\nhalf")), Act::Close],
            broken.to_owned(),
        ),
        (vec![send(&chunked), Act::Close], broken.to_owned()),
        (vec![send(&format!("{chunked}zz\r\n")), Act::Silence], broken.to_owned()),
        (
            vec![send(&format!("{HEAD}Content-Length: 9\r\n\r\nhalf")), Act::Silence],
            "200 broken: the origin stopped sending for 60 s".to_owned(),
        ),
        (
            vec![send(
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
            )],
            "502 the origin switches protocols".to_owned(),
        ),
    ] {
        let shown = bench(vec![vec![acts]]).ask("GET /").await;
        let is_open = seen.ends_with(": ") || seen.ends_with("protocols");
        assert!(
            if is_open { shown.starts_with(&seen) } else { shown == seen },
            "{shown} for {seen}"
        );
    }
    assert!(bench(Vec::new()).ask("GET /").await.starts_with("502 the origin can't be reached"));
}

#[tokio::test(start_paused = true)]
async fn a_connection_serves_one_request_after_another() {
    let bench = bench(vec![vec![page("1"), page("2")]]);
    assert_eq!(bench.ask("GET /1").await, "200 1");
    assert_eq!(bench.ask("GET /2").await, "200 2");
    assert_eq!(bench.origin.counters.connects.read(), 1);
    assert!(bench.seen.lock()[1].starts_with("GET /2 HTTP/1.1\r\nhost: site\r\n"));
}

#[tokio::test(start_paused = true)]
async fn only_what_may_be_repeated_is_sent_again_after_a_stale_connection() {
    for (line, body, seen) in [
        ("GET /2", None, "200 again"),
        ("DELETE /2", None, "200 again"),
        ("POST /2", None, "502 "),
        ("PUT /2", Some("body"), "502 "),
    ] {
        let bench = bench(vec![vec![page("1"), vec![Act::Close]], vec![page("again")]]);
        assert_eq!(bench.ask("GET /1").await, "200 1");
        let shown = bench.ask_with(call(line, body)).await;
        assert!(shown.starts_with(seen), "{line}: {shown}");
        let times = bench.seen.lock().iter().filter(|r| r.starts_with(line)).count();
        assert_eq!(times, if seen.starts_with("200") { 2 } else { 1 }, "{line}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_was_never_written_is_sent_again_whatever_it_is() {
    let bench = bench(vec![vec![page("1")], vec![page("again")]]);
    assert_eq!(bench.ask("GET /1").await, "200 1");
    assert_eq!(bench.ask_with(call("POST /2", Some("body"))).await, "200 again");
    assert_eq!(bench.seen.lock().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn bodies_are_announced_by_their_length_or_sent_in_chunks() {
    let bench = bench(vec![vec![page("1"), page("2")]]);
    assert_eq!(bench.ask_with(call("POST /", Some("hello"))).await, "200 1");
    let mut unknown = call("POST /", Some("hello"));
    let pieces = ["hel", "lo"].map(|p| Ok(http_body::Frame::data(bytes::Bytes::from(p))));
    let body = http_body_util::StreamBody::new(futures_util::stream::iter(pieces));
    unknown.body = Some(body.boxed_unsync());
    unknown.body_length = None;
    assert_eq!(bench.ask_with(unknown).await, "200 2");
    let seen = bench.seen.lock();
    assert!(seen[0].ends_with("content-length: 5\r\n\r\nhello"), "{}", seen[0]);
    assert!(seen[1].ends_with("3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"), "{}", seen[1]);
}

#[tokio::test(start_paused = true)]
async fn a_visitor_who_breaks_off_is_not_the_origins_fault() {
    let bench = bench(vec![vec![page("1")]]);
    let mut broken = call("POST /", None);
    let error = Err(BodyError::Client("gone".to_owned()));
    let body = http_body_util::StreamBody::new(futures_util::stream::iter([error]));
    broken.body = Some(body.boxed_unsync());
    broken.body_length = Some(5);
    assert!(bench.ask_with(broken).await.starts_with("400 "));
}

#[tokio::test(start_paused = true)]
async fn early_hints_are_relayed_and_other_interim_answers_are_not() {
    let hints = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n";
    let mut acts = vec![send(hints)];
    acts.extend(page("ok"));
    let bench = bench(vec![vec![acts]]);
    let heads = Arc::new(Mutex::new(Vec::new()));
    let mut hinted = call("GET /", None);
    let sink = heads.clone();
    hinted.early = Some(Box::new(move |head| sink.lock().push(head)));
    assert_eq!(bench.ask_with(hinted).await, "200 ok");
    let heads = heads.lock();
    assert_eq!(heads.len(), 1);
    assert_eq!(format!("{} {:?}", heads[0].status, heads[0].fields), "103 [\"link: </a.css>\"]");
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_head_has_the_length_in_its_fields_and_no_body() {
    let bench = bench(vec![vec![vec![send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n")]]]);
    let answer = bench.origin.send(call("HEAD /", None)).await.expect("an answer");
    assert_eq!(answer.head.fields.text(wire::Name::ContentLength), Some("9"));
    assert_eq!(answer.length, Some(0));
}

#[tokio::test(start_paused = true)]
async fn a_body_where_there_may_be_none_is_nobodys_answer() {
    let evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";
    let announced = format!("Content-Length: {}\r\n\r\n", evil.len());
    for (line, head, connects) in [
        ("HEAD /", format!("HTTP/1.1 200 OK\r\n{announced}"), 2),
        ("GET /", format!("HTTP/1.1 304 Not Modified\r\n{announced}"), 2),
        ("GET /", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned(), 2),
        ("GET /", "HTTP/1.1 304 Not Modified\r\n\r\n".to_owned(), 1),
        ("GET /", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n".to_owned(), 1),
    ] {
        // What runs on comes when the next request is on its way.
        let next = if connects == 1 { page("good") } else { vec![send(evil)] };
        let bench = bench(vec![vec![vec![send(&head)], next], vec![page("good")]]);
        let first = bench.origin.send(call(line, None)).await.expect("an answer");
        drop(first);
        assert_eq!(bench.ask("GET /2").await, "200 good", "{line}: {head}");
        assert_eq!(bench.origin.counters.connects.read(), connects, "{line}: {head}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_origin_that_never_accepts_is_given_up() {
    let dial = Dial::Memory(Arc::new(|| futures_util::future::pending().boxed()));
    let bench =
        Bench { origin: HttpOrigin::new(dial, HttpOptions::default()), ..bench(Vec::new()) };
    assert_eq!(bench.ask("GET /").await, "504 the origin accepted no connection within 5 s");
}
