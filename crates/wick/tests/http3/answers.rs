//! The same answers as over HTTP/1.1 and HTTP/2.

use std::process::Command;

use http::Method;

use crate::origin::Origin;
use crate::running::Ground;
use crate::{HOST, Served};

#[test]
fn pages_come_from_memory_and_are_the_same() {
    let origin = Origin::begin();
    let served = Served::new(&origin.url(), "");
    let client = served.client();
    for (method, fields, expected) in [
        (Method::GET, &[][..], "200 wick; fwd=uri-miss; fwd-status=200; stored; 7 page /a"),
        (Method::GET, &[], "200 wick; hit; 7 page /a"),
        (Method::HEAD, &[], "200 wick; hit; 7 "),
        (Method::GET, &[("range", "bytes=1-3")], "206 wick; hit; 3 age"),
        (Method::GET, &[("if-none-match", "*")], "304 wick; hit;  "),
    ] {
        let answer = client.ask(method.clone(), "/a", fields, b"").expect("an answer");
        let why = answer.field("cache-status");
        let why = why.split_once(" key=").map_or(why, |(why, _)| why);
        let why = why.split_once(" ttl=").map_or(why, |(why, _)| why);
        let length = answer.field("content-length");
        let shown = format!("{} {why} {length} {}", answer.status, answer.text());
        assert_eq!(shown, expected, "{method} {fields:?}");
        assert_eq!(answer.field("alt-svc"), "", "it is here already");
    }
    let large = client.get("/large");
    assert_eq!(large.body, vec![b'x'; 300_000]);
    drop(client);
    let ended = served.running.stop();
    assert!(!ended.output.contains("HTTP/3 c"), "{}", ended.output);
}

#[test]
fn bodies_go_up_with_and_without_a_length() {
    let origin = Origin::begin();
    let served = Served::new(&origin.url(), "");
    let client = served.client();
    let body: Vec<u8> = (0..5 << 20).map(|at| (at % 251) as u8).collect();
    let sum = body.iter().fold(0u32, |sum, &byte| sum.wrapping_mul(31) + u32::from(byte));
    let expected = format!("{} bytes, {sum}", body.len());
    let length = body.len().to_string();
    for fields in [&[("content-length", length.as_str())][..], &[]] {
        let answer = client.ask(Method::POST, "/p", fields, &body).expect("an answer");
        assert_eq!((answer.status, answer.text()), (200, expected.clone()));
    }
    drop(client);
    served.running.stop();
}

#[test]
fn a_hundred_are_asked_for_at_once() {
    let origin = Origin::begin();
    let served = Served::new(&origin.url(), "");
    let client = served.client();
    let answers = client.get_at_once((0..100).map(|number| format!("/{}", number % 9)));
    for (number, answer) in answers.iter().enumerate() {
        let text = format!("page /{}", number % 9);
        assert_eq!((answer.status, answer.text()), (200, text));
    }
    drop(client);
    served.running.stop();
}

#[test]
fn who_comes_by_https_is_told_where_it_is_and_nobody_if_it_is_off() {
    for (settings, is_on) in [("", true), ("http3 = false\n", false)] {
        let origin = Origin::begin();
        let served = Served::new(&origin.url(), settings);
        let address = served.running.tls;
        let told = format!("alt-svc: h3=\":{}\"; ma=86400", address.port());
        for version in ["--http2", "--http1.1"] {
            for _ in 0..2 {
                let ended = Command::new("curl")
                    .args(["-sSi", version, "--cacert"])
                    .arg(&served.ca.file)
                    .arg("--connect-to")
                    .arg(format!("::{address}"))
                    .arg(format!("https://{HOST}/"))
                    .output()
                    .expect("curl runs");
                let said = String::from_utf8_lossy(&ended.stdout);
                assert!(said.contains(" 200"), "{said}");
                assert_eq!(said.contains(&told), is_on, "{said}");
                assert_eq!(said.contains("alt-svc"), is_on, "{said}");
            }
        }
        served.running.stop();
    }
}

#[test]
fn a_port_that_is_taken_is_told_of_and_https_is_served() {
    // At an address that no other test has: the same port of TCP must be free there.
    let taken = std::net::UdpSocket::bind("127.0.83.8:0").expect("a port");
    let address = taken.local_addr().expect("an address");
    let ground = Ground::new();
    let ca = crate::Authority::new(ground.path());
    let pair = ca.pair(ground.path(), "site", &[HOST]);
    let site = ground.site("one", "page");
    let settings = format!(
        "listen = []\nlisten_tls = \"{address}\"\n[[site]]\nhosts = [\"{HOST}\"]\n\
         origin = {site:?}\n{}",
        pair.settings()
    );
    let mut wick = ground.run("serve", &settings);
    wick.line("something has that UDP port already");
    wick.line("listening https://");
    wick.stop();
}
