//! The same road as over HTTP/1.1: verdicts, fields, bodies both ways.

use http::Method;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::streams::STREAM_WINDOW_BYTES;

use super::*;

/// An answer on one line: status, the named fields, the body if it is short.
async fn shown(answer: ResponseFuture, fields: &[&str]) -> String {
    let (head, body, trailers) = match whole(answer).await {
        Ok(answer) => answer,
        Err(error) => return format!("{:?}", error.reason()),
    };
    let mut line = head.status().as_u16().to_string();
    for field in fields {
        for value in head.headers().get_all(*field) {
            line += &format!(" {field}={}", String::from_utf8_lossy(value.as_bytes()));
        }
    }
    if body.len() < 20 {
        line += &format!(" {}", String::from_utf8_lossy(&body));
    }
    (line + " " + &trailers).trim_end().to_owned()
}

#[tokio::test(start_paused = true)]
async fn an_observer_is_told_the_same_of_both_protocols() {
    let mut told = Vec::new();
    for is_http2 in [false, true] {
        let rig = Rig::new();
        let mut client = rig.client().await;
        for line in ["GET /page", "GET /page", "HEAD /page", "GET /large"] {
            let (method, path) = line.split_once(' ').expect("a line");
            if is_http2 {
                let method = method.parse().expect("a method");
                whole(ask(&mut client, method, path, &[])).await.expect("an answer");
                continue;
            }
            let mut stream = rig.connect();
            let head =
                format!("{line} HTTP/1.1\r\nHost: example.test\r\nConnection: close\r\n\r\n");
            stream.write_all(head.as_bytes()).await.expect("it is taken");
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).await.expect("an answer");
        }
        // What is told of the last one comes behind its last byte.
        rig.pass(Duration::from_millis(250)).await;
        told.push(rig.told.0.lock().clone());
    }
    assert_eq!(told[0], told[1]);
    let beginnings = [
        "GET /page miss(uri-miss) 4 site lookup queue connect origin",
        "GET /page hit 4 site",
        "HEAD /page hit 0 site",
        "GET /large miss(uri-miss) ",
    ];
    assert_eq!(told[0].len(), beginnings.len(), "{told:?}");
    for (line, beginning) in told[0].iter().zip(beginnings) {
        assert!(line.starts_with(beginning), "{line}");
    }
    assert!(told[0][0].ends_with(" write") && told[0][1].ends_with(" site"), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn pages_come_from_memory_and_are_logged_and_counted() {
    let rig = Rig::new();
    let mut client = rig.client().await;
    for (method, expected) in [
        (
            Method::GET,
            "200 age=0 cache-status=wick; fwd=uri-miss; fwd-status=200; stored; \
            key=\"http|example.test|/page\" x-odd=1 x-odd=2 content-length=4 page",
        ),
        (
            Method::GET,
            "200 age=0 cache-status=wick; hit; ttl=60; \
            key=\"http|example.test|/page\" x-odd=1 x-odd=2 content-length=4 page",
        ),
        (
            Method::HEAD,
            "200 age=0 cache-status=wick; hit; ttl=60; \
            key=\"http|example.test|/page\" x-odd=1 x-odd=2 content-length=4",
        ),
    ] {
        let answer = ask(&mut client, method, "/page", &[]);
        let fields = ["age", "cache-status", "x-odd", "content-length"];
        assert_eq!(shown(answer, &fields).await, expected);
    }
    assert_eq!(
        *rig.lines.lock(),
        ["GET /page 200 miss(uri-miss)", "GET /page 200 hit", "HEAD /page 200 hit"]
    );
    assert_eq!(rig.server.counters().answers(), 3);
    assert_eq!(rig.server.counters().connections_http2.read(), 1);
    assert_eq!(rig.asked.heads().len(), 1);
    assert!(rig.asked.has_line("via: 2.0 wick"), "{:?}", rig.asked.heads());
}

#[tokio::test(start_paused = true)]
async fn a_page_larger_than_any_window_comes_whole() {
    let rig = Rig::new();
    let mut client = rig.client().await;
    for _ in 0..2 {
        let (head, body, _) =
            whole(ask(&mut client, Method::GET, "/large", &[])).await.expect("it");
        assert_eq!((head.status().as_u16(), body.len()), (200, 300_000));
    }
    assert_eq!(rig.asked.heads().len(), 1);
    let part = ask(&mut client, Method::GET, "/large", &[("range", "bytes=1-3")]);
    assert_eq!(shown(part, &["content-range"]).await, "206 content-range=bytes 1-3/300000 xxx");
}

#[tokio::test(start_paused = true)]
async fn a_page_comes_in_the_coding_that_its_client_takes() {
    let rig = Rig::new();
    let mut client = rig.client().await;
    for (accepted, coding) in [("gzip", Some("gzip")), ("gzip", Some("gzip")), ("identity", None)] {
        let fields = [("accept-encoding", accepted)];
        let answer = whole(ask(&mut client, Method::GET, "/text", &fields)).await;
        let (head, body, _) = answer.expect("an answer");
        let told = head.headers().get("content-encoding").map(|value| value.as_bytes());
        assert_eq!(told, coding.map(str::as_bytes));
        assert_eq!(body.len() < 16_000, coding.is_some(), "{}", body.len());
        let length = head.headers().get("content-length").map(|value| value.as_bytes().to_vec());
        assert!(length.is_none_or(|length| length == body.len().to_string().as_bytes()));
    }
    assert_eq!(rig.asked.heads().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn many_ask_at_once_and_one_fetch_answers_them() {
    let rig = Rig::new();
    let mut client = rig.client().await;
    let answers: Vec<_> = (0..50).map(|_| ask(&mut client, Method::GET, "/page", &[])).collect();
    for answer in answers {
        assert_eq!(shown(answer, &[]).await, "200 page");
    }
    assert_eq!(rig.asked.heads().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn fields_are_those_of_the_request_and_of_no_connection() {
    let rig = Rig::new();
    let mut client = rig.client().await;
    let crumbs = [("cookie", "a=1"), ("x-one", "1"), ("cookie", "b=2"), ("cookie", "c=\"3\"")];
    let answer = ask(&mut client, Method::GET, "/connection", &crumbs);
    let fields = ["connection", "keep-alive", "upgrade", "proxy-connection", "x-hop", "x-one"];
    assert_eq!(shown(answer, &fields).await, "200");
    assert!(rig.asked.has_line("cookie: a=1; b=2; c=\"3\""), "{:?}", rig.asked.heads());
    assert!(rig.asked.has_line("host: example.test"));
    assert!(rig.asked.has_line("x-one: 1"));
}

#[tokio::test(start_paused = true)]
async fn bodies_go_up_with_and_without_a_length() {
    let rig = Rig::new();
    let mut client = rig.client().await;
    for fields in [&[("content-length", "200000")][..], &[]] {
        let (answer, mut stream) =
            client.send_request(request(Method::POST, "/echo", fields), false).expect("a stream");
        // The client's library holds it back as the window says.
        stream.send_data(Bytes::from(vec![b'y'; 200_000]), true).expect("it is taken");
        let (_, body, _) = whole(answer).await.expect("an answer");
        assert!(body == vec![b'y'; 200_000], "{} bytes", body.len());
    }
    assert_eq!(rig.lines.lock().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_origin_that_takes_nothing_holds_its_client_back() {
    let rig = Rig::new();
    let mut client = rig.client().await;
    let (_answer, mut stream) =
        client.send_request(request(Method::POST, "/deaf", &[]), false).expect("a stream");
    let mut sent = 0;
    while sent < 10 << 20 {
        stream.reserve_capacity(16 << 10);
        let room = std::future::poll_fn(|context| stream.poll_capacity(context));
        let Ok(Some(Ok(room))) = tokio::time::timeout(Duration::from_secs(5), room).await else {
            break;
        };
        stream.send_data(Bytes::from(vec![0; room]), false).expect("it is taken");
        sent += room;
    }
    // A window, and what the way to the origin holds: a pipe, and hyper's buffer for writing.
    let most = STREAM_WINDOW_BYTES as usize + (512 << 10);
    assert!((64 << 10..most).contains(&sent), "{sent}");
}

#[tokio::test(start_paused = true)]
async fn what_comes_before_and_after_the_answer_is_passed_on() {
    let rig = Rig::new();
    let mut client = rig.client().await;
    let mut answer = ask(&mut client, Method::GET, "/hints", &[]);
    let hints = std::future::poll_fn(|context| answer.poll_informational(context)).await;
    let hints = hints.expect("hints").expect("no error");
    assert_eq!(
        (hints.status().as_u16(), &hints.headers()["link"]),
        (103, &"</a.css>; rel=preload".parse().expect("a value"))
    );
    assert_eq!(shown(answer, &[]).await, "200 after hints");
    let answer = ask(&mut client, Method::GET, "/trailers", &[("te", "trailers")]);
    assert_eq!(shown(answer, &[]).await, "200 abc x-sum: 6");
    let answer = ask(&mut client, Method::GET, "/trailers", &[]);
    assert_eq!(shown(answer, &[]).await, "200 abc");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_waits_to_be_asked_for_its_body_is_asked() {
    let rig = Rig::new();
    let mut client = rig.client().await;
    let fields = [("expect", "100-continue"), ("content-length", "3")];
    let (mut answer, mut stream) =
        client.send_request(request(Method::POST, "/echo", &fields), false).expect("a stream");
    let word = std::future::poll_fn(|context| answer.poll_informational(context)).await;
    assert_eq!(word.expect("a word").expect("no error").status().as_u16(), 100);
    stream.send_data(Bytes::from_static(b"abc"), true).expect("it is taken");
    assert_eq!(shown(answer, &[]).await, "200 abc");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_breaks_off_is_not_taken_for_whole() {
    let rig = Rig::new();
    let mut client = rig.client().await;
    let answer = ask(&mut client, Method::GET, "/broken", &[("cookie", "a=1")]);
    assert_eq!(shown(answer, &[]).await, "Some(INTERNAL_ERROR)");
}

#[tokio::test(start_paused = true)]
async fn the_older_protocol_is_what_it_was() {
    let rig = Rig::new();
    for (sent, status, is_closed) in [
        (
            "GET /page HTTP/1.1\nHost: a\nConnection: Upgrade, HTTP2-Settings\nUpgrade: h2c\n\
          HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\n\n",
            "200",
            false,
        ),
        ("GET /page HTTP/1.1\nHost: a\n\nPRI * HTTP/2.0\n\nSM\n\n", "505", true),
        ("PRI * HTTP/2.1\n\nSM\n\n", "505", true),
        ("PRI / HTTP/2.0\n\nSM\n\n", "505", true),
    ] {
        let mut stream = rig.connect();
        let sent = sent.replace('\n', "\r\n");
        stream.write_all(sent.as_bytes()).await.expect("it is taken");
        let mut text = Vec::new();
        if is_closed {
            stream.read_to_end(&mut text).await.expect("an end");
        } else {
            text.resize(12, 0);
            stream.read_exact(&mut text).await.expect("an answer");
        }
        let text = String::from_utf8_lossy(&text);
        assert!(text.contains(&format!("HTTP/1.1 {status}")), "{sent:?}: {text}");
    }
}
