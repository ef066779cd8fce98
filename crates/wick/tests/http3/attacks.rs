//! What no well-made client sends.

use quinn::VarInt;
use wire::h3::{frame, push_frame, push_number, stream};
use wire::qpack;

use crate::client::Raw;
use crate::origin::Origin;
use crate::wick::until;
use crate::{HOST, Served};

/// A frame, whole.
fn framed(kind: u64, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    push_frame(&mut out, kind, payload.len());
    out.extend_from_slice(payload);
    out
}

fn head(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    qpack::encode(fields.iter().map(|(name, value)| (*name, value.as_bytes())), &mut block);
    framed(frame::HEADERS, &block)
}

const USUAL: [(&str, &str); 4] =
    [(":method", "GET"), (":scheme", "https"), (":authority", HOST), (":path", "/")];

/// The status that an answer begins with, by the entries of QPACK's table.
fn status(raw: &Raw, bytes: &[u8]) -> String {
    raw.wait(async {
        let (mut send, mut recv) = raw.quic.open_bi().await.expect("a stream");
        let _ = (send.write_all(bytes).await, send.finish());
        let answer = recv.read_to_end(1 << 20).await.expect("an answer");
        let mut bytes = answer.into();
        let mut frames = wire::h3::Frames::default();
        assert!(matches!(frames.next(&mut bytes), Some(wire::h3::Step::Begins(1, _))));
        let Some(wire::h3::Step::Payload(block)) = frames.next(&mut bytes) else {
            return "none".into();
        };
        let mut status = String::new();
        let read: Result<(), qpack::BlockError<()>> =
            qpack::decode(&block, 1 << 16, |name, value| {
                if name == b":status" {
                    status = String::from_utf8_lossy(value).into_owned();
                }
                Ok(())
            });
        assert_eq!(read, Ok(()));
        status
    })
}

#[test]
fn requests_that_could_be_read_in_two_ways_are_refused() {
    let origin = Origin::begin();
    let served = Served::new(&origin.url(), "");
    let raw = Raw::connect(served.running.tls, &served.ca.file).expect("a connection");
    let with = |more: &[(&str, &str)]| head(&[&USUAL[..], more].concat());
    let post = |length: &str, body: &[u8]| {
        let fields = [(":method", "POST"), USUAL[1], USUAL[2], USUAL[3]];
        let head = head(&[&fields[..], &[("content-length", length)]].concat());
        [head, framed(frame::DATA, body)].concat()
    };
    // The encoder writes every name in lower case, so a capital is put there behind its back: the
    // head ends with the name's only letter, the value's length and the value.
    let mut capital = with(&[("x", "y")]);
    let name_at = capital.len() - 3;
    assert_eq!(std::mem::replace(&mut capital[name_at], b'X'), b'x');
    let large: Vec<(String, String)> =
        (0..30).map(|number| (format!("x{number}"), "y".repeat(3000))).collect();
    let large: Vec<(&str, &str)> = large.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    for (bytes, expected) in [
        (with(&[]), "200"),
        (post("5", b"hello"), "200"),
        (head(&[USUAL[0], USUAL[1], USUAL[3]]), "400"),
        (head(&[USUAL[0], USUAL[2], USUAL[3]]), "400"),
        (head(&[USUAL[0], USUAL[1], USUAL[2], USUAL[3], USUAL[3]]), "400"),
        (head(&[USUAL[0], USUAL[1], USUAL[2], ("x", "y"), USUAL[3]]), "400"),
        (head(&[("x", "y")]), "400"),
        (with(&[("connection", "close")]), "400"),
        (with(&[("transfer-encoding", "chunked")]), "400"),
        (with(&[("host", "other.test")]), "400"),
        (capital, "400"),
        (with(&[("content-length", "5")]), "400"),
        (with(&[("te", "gzip")]), "400"),
        (post("5", b"hell"), "400"),
        (post("5", b"hello!"), "400"),
        (with(&large), "431"),
        (with(&[("x", &"y".repeat(70_000))]), "431"),
        (with(&[]), "200"),
    ] {
        let short = bytes.len().min(200);
        assert_eq!(
            status(&raw, &bytes),
            expected,
            "{:?}",
            String::from_utf8_lossy(&bytes[..short])
        );
    }
    served.running.stop();
}

#[test]
fn a_client_that_is_out_of_step_is_told_how_and_left() {
    let origin = Origin::begin();
    let served = Served::new(&origin.url(), "");
    let connect = || Raw::connect(served.running.tls, &served.ca.file).expect("a connection");
    let post = head(&[(":method", "POST"), USUAL[1], USUAL[2], USUAL[3]]);
    let behind = |more: Vec<u8>| [post.clone(), more].concat();
    for (bytes, expected) in [
        (framed(frame::DATA, b"x"), "closed 0x105"),
        (framed(frame::SETTINGS, b""), "closed 0x105"),
        (framed(0x2, b""), "closed 0x105"),
        (framed(frame::HEADERS, &[2, 0, 0x80]), "closed 0x200"),
        (framed(frame::HEADERS, &[0, 0, 0x80]), "closed 0x200"),
        (vec![1, 0x20, 0, 0], "closed 0x106"),
        (behind(vec![0, 5, b'x']), "closed 0x106"),
        (Vec::new(), "reset 0x10d"),
    ] {
        assert_eq!(connect().outcome(&bytes), expected, "{bytes:?}");
    }
    let control = |more: &[u8]| [&[stream::CONTROL as u8], more].concat();
    for (bytes, expected) in [
        (control(&framed(frame::GOAWAY, &[0])), "closed 0x10a"),
        (control(&framed(frame::SETTINGS, &[2, 0])), "closed 0x109"),
        (control(&framed(frame::SETTINGS, &[6])), "closed 0x106"),
        (control(&[4, 0, 4, 0]), "closed 0x105"),
        (control(&[4, 0, 0, 0]), "closed 0x105"),
        (vec![stream::PUSH as u8, 0], "closed 0x103"),
        (vec![stream::ENCODER as u8, 0x3f], "closed 0x201"),
    ] {
        assert_eq!(connect().outcome_one_way(&bytes), expected, "{bytes:?}");
    }
    served.running.stop();
}

#[test]
fn who_resets_without_end_or_floods_is_shown_out() {
    let origin = Origin::begin();
    let served = Served::new(&origin.url(), "");
    let usual = head(&USUAL);
    let raw = Raw::connect(served.running.tls, &served.ca.file).expect("a connection");
    raw.wait(async {
        while let Ok((mut send, mut recv)) = raw.quic.open_bi().await {
            let _ = (send.write_all(&usual).await, send.finish());
            let _ = recv.stop(VarInt::from_u32(0x10c));
        }
    });
    assert_eq!(raw.end(), "closed 0x107");
    let raw = Raw::connect(served.running.tls, &served.ca.file).expect("a connection");
    let mut control = vec![stream::CONTROL as u8, 4, 0];
    for _ in 0..2000 {
        push_number(&mut control, 0x21);
        control.push(0);
    }
    assert_eq!(raw.outcome_one_way(&control), "closed 0x107");
    let ended = served.running.stop();
    assert!(
        ended.output.contains("2 HTTP/2 or HTTP/3 connections were closed"),
        "{}",
        ended.output
    );
}

#[test]
fn who_must_wait_is_told_what_the_page_will_need() {
    let origin = Origin::begin();
    let served = Served::with(&origin.url(), "", "early_hints = true\n");
    let raw = Raw::connect(served.running.tls, &served.ca.file).expect("a connection");
    let asked = head(&[USUAL[0], USUAL[1], USUAL[2], (":path", "/asked")]);
    assert_eq!(status(&raw, &asked), "200", "nothing is known of it");
    until("hints of a page that is stored", || status(&raw, &asked) == "103");
    served.running.stop();
}
