//! What no well-made client sends: each malformed head alone, and frames out of order.

use super::raw::*;
use super::*;

/// [`USUAL`] with one field replaced, taken out (value `-`) or added.
fn with<'a>(changes: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut fields: Vec<_> = USUAL.to_vec();
    for &(name, value) in changes {
        let replaced = name.starts_with(':') && fields.iter().any(|(other, _)| *other == name);
        if replaced {
            fields.retain(|(other, _)| *other != name || value != "-");
            fields.iter_mut().filter(|(other, _)| *other == name).for_each(|field| field.1 = value);
        } else {
            fields.push((name, value));
        }
    }
    fields
}

/// [`USUAL`] changed, and what becomes of it.
type Changed = (&'static [(&'static str, &'static str)], &'static str);

const HEADS: &[Changed] = &[
    (&[], "200"),
    (&[(":method", "-")], "reset 1"),
    (&[(":scheme", "-")], "reset 1"),
    (&[(":path", "-")], "reset 1"),
    (&[(":path", "")], "reset 1"),
    (&[(":path", "page")], "reset 1"),
    (&[(":path", "*")], "400"),
    (&[(":path", "http://example.test/page")], "reset 1"),
    (&[(":path", "/a b")], "reset 1"),
    (&[(":method", "OPTIONS"), (":path", "*")], "200"),
    (&[(":method", "CONNECT")], "reset 1"),
    (&[(":method", "CONNECT"), (":scheme", "-"), (":path", "-")], "400"),
    (&[(":method", "GET /x HTTP/1.1")], "goaway 1"),
    (&[(":method", "")], "goaway 1"),
    (&[(":scheme", "ftp")], "400"),
    (&[(":scheme", "https")], "200"),
    (&[(":authority", "-")], "400"),
    (&[(":authority", "")], "reset 1"),
    (&[(":authority", "-"), ("host", "example.test")], "200"),
    (&[(":authority", "EXAMPLE.test"), ("host", "example.TEST")], "200"),
    (&[("host", "other.test")], "400"),
    (&[("host", "example.test:81")], "400"),
    (&[("host", "example.test"), ("host", "example.test")], "400"),
    (&[(":authority", "user@example.test")], "400"),
    (&[(":authority", "exa_mple.test/x")], "reset 1"),
    (&[(":authority", "a,b")], "400"),
    (&[("connection", "close")], "reset 1"),
    (&[("keep-alive", "1")], "reset 1"),
    (&[("proxy-connection", "x")], "reset 1"),
    (&[("transfer-encoding", "chunked")], "reset 1"),
    (&[("upgrade", "h2c")], "reset 1"),
    (&[("te", "gzip")], "reset 1"),
    (&[("te", "trailers")], "200"),
    (&[("X-Upper", "1")], "goaway 1"),
    (&[("x y", "1")], "goaway 1"),
    (&[("x:y", "1")], "goaway 1"),
    (&[("", "1")], "goaway 1"),
    (&[("x", "a\r\nb: c")], "goaway 1"),
    (&[("x", "a\nb")], "goaway 1"),
    (&[("x", "a\0b")], "goaway 1"),
    (&[("x", " a")], "400"),
    (&[("x", "a\t")], "400"),
    (&[("cookie", "a=1"), ("cookie", " b=2")], "400"),
    (&[(":status", "200")], "reset 1"),
    (&[(":unknown", "x")], "goaway 1"),
    (&[("x", "1"), (":late", "x")], "goaway 1"),
    (&[("content-length", "5")], "reset 1"),
    (&[("content-length", "x")], "reset 1"),
    (&[("content-length", "+0")], "reset 1"),
    (&[("content-length", "0"), ("content-length", "0")], "400"),
    (&[("expect", "200-ok")], "417"),
];

#[tokio::test(start_paused = true)]
async fn each_malformed_head_is_refused_and_the_next_is_answered() {
    let rig = Rig::new();
    let mut raw = Raw::begin(rig.connect()).await;
    let mut stream = 1;
    let mut wrong = Vec::new();
    for (changes, expected) in HEADS {
        raw.ask(stream, &with(changes)).await;
        let seen = raw.outcome(stream).await;
        let shown: Vec<_> = changes.iter().map(|(n, v)| (n, &v[..v.len().min(20)])).collect();
        if seen != *expected {
            wrong.push(format!("{shown:?}: {seen}, not {expected}"));
        }
        stream += 2;
        if seen.starts_with("goaway") {
            (raw, stream) = (Raw::begin(rig.connect()).await, 1);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // A pseudo-field twice, and one behind a field.
    for fields in [
        [&USUAL[..], &[(":path", "/page")]].concat(),
        [&USUAL[..3], &[("x", "1"), (":authority", "example.test")]].concat(),
    ] {
        raw.ask(stream, &fields).await;
        assert_eq!(raw.outcome(stream).await, "reset 1", "{fields:?}");
        stream += 2;
    }
    let long = format!("/{}", "x".repeat(20_000));
    raw.ask(stream, &with(&[(":path", &long)])).await;
    assert_eq!(raw.outcome(stream).await, "414");
    raw.ask(stream + 2, &USUAL).await;
    assert_eq!(raw.outcome(stream + 2).await, "200");
    let origin = rig.asked.heads();
    assert!(origin.iter().all(|head| !head.contains("\nb: c")), "{origin:?}");
}

#[tokio::test(start_paused = true)]
async fn a_body_is_as_long_as_it_says_or_is_refused() {
    let rig = Rig::new();
    let mut raw = Raw::begin(rig.connect()).await;
    let mut stream = 1;
    for (length, pieces, expected) in [
        ("3", &["abc"][..], "200"),
        ("3", &["a", "", "bc"], "200"),
        ("0", &[""], "200"),
        ("3", &["ab"], "reset 1"),
        ("3", &["ab", "cd"], "reset 1"),
        ("0", &["a"], "reset 1"),
    ] {
        let fields = with(&[(":method", "POST"), (":path", "/echo"), ("content-length", length)]);
        raw.send(HEADERS, END_HEADERS, stream, &block(&fields)).await;
        for (at, piece) in pieces.iter().enumerate() {
            let flags = if at + 1 == pieces.len() { END_STREAM } else { 0 };
            raw.send(DATA, flags, stream, piece.as_bytes()).await;
        }
        assert_eq!(raw.outcome(stream).await, expected, "{length} {pieces:?}");
        stream += 2;
    }
    let fields = with(&[(":method", "POST"), ("content-length", "2000000000")]);
    raw.send(HEADERS, END_HEADERS, stream, &block(&fields)).await;
    assert_eq!(raw.outcome(stream).await, "413");
}

#[tokio::test(start_paused = true)]
async fn a_head_that_is_too_large_is_refused_with_its_status() {
    let rig = Rig::with(|limits| limits.head_bytes_max = 4 << 10);
    let mut raw = Raw::begin(rig.connect()).await;
    let long = "x".repeat(5000);
    raw.ask(1, &with(&[("x", &long)])).await;
    assert_eq!(raw.outcome(1).await, "431");
    let names: Vec<_> = (0..120).map(|number| format!("x-{number}")).collect();
    let many: Vec<_> = names.iter().map(|name| (name.as_str(), "")).collect();
    let rig = Rig::new();
    let mut raw = Raw::begin(rig.connect()).await;
    raw.ask(1, &with(&many)).await;
    assert_eq!(raw.outcome(1).await, "431");
    // Crumbs of one cookie are one field.
    raw.ask(3, &with(&[("cookie", "a=1"); 120])).await;
    assert_eq!(raw.outcome(3).await, "200");
}

#[tokio::test(start_paused = true)]
async fn frames_out_of_order_end_the_connection() {
    let rig = Rig::new();
    let head = block(&USUAL);
    for (frames, expected) in [
        (frame(DATA, 0, 1, b"x"), "goaway 1"),
        (frame(HEADERS, END_HEADERS, 0, &head), "goaway 1"),
        (frame(HEADERS, END_HEADERS, 2, &head), "goaway 1"),
        (frame(CONTINUATION, END_HEADERS, 1, &head), "goaway 1"),
        (
            [frame(HEADERS, END_STREAM, 1, &head[..9]), frame(PING, 0, 0, &[0; 8])].concat(),
            "goaway 1",
        ),
        (frame(HEADERS, END_HEADERS, 1, &[0xff; 20]), "goaway 1"),
        (frame(PING, 0, 0, &[0; 7]), "goaway 1"),
        (frame(5, END_HEADERS, 1, &[0, 0, 0, 2]), "goaway 1"),
        (vec![0xff; 9], "goaway 6"),
    ] {
        let mut raw = Raw::begin(rig.connect()).await;
        raw.send_bytes(&frames).await;
        assert_eq!(raw.outcome(1).await, expected, "{frames:?}");
        assert!(raw.is_closed().await, "{frames:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn requests_are_the_same_however_their_bytes_are_cut() {
    let rig = Rig::new();
    let mut bytes = [PREFACE, &frame(SETTINGS, 0, 0, b"")[..]].concat();
    bytes.extend(frame(HEADERS, END_STREAM, 1, &block(&USUAL)[..7]));
    bytes.extend(frame(CONTINUATION, END_HEADERS, 1, &block(&USUAL)[7..]));
    for cut in [1, 2, 17, 18, 19, 23, 24, 25, 40] {
        let mut stream = rig.connect();
        for piece in bytes.chunks(cut) {
            tokio::io::AsyncWriteExt::write_all(&mut stream, piece).await.expect("it is taken");
            tokio::task::yield_now().await;
        }
        assert_eq!(Raw::over(stream).outcome(1).await, "200", "{cut}");
    }
}
