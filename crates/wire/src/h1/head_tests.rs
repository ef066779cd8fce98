//! Heads as people and attackers send them, and what is read from each.

use super::*;

fn read(text: &str) -> Result<Option<(RequestHead, Framing, usize)>, HeadError> {
    let mut head = RequestHead::default();
    let found = read_head(text.as_bytes(), &mut 0, &mut head, &HeadLimits::default())?;
    Ok(found.map(|(length, framing)| (head, framing, length)))
}

fn accepted(text: &str) -> (RequestHead, Framing) {
    let (head, framing, length) =
        read(text).expect("the head is accepted").expect("the head is whole");
    assert_eq!(length, text.len());
    (head, framing)
}

#[test]
fn a_plain_request_is_read() {
    let (head, framing) =
        accepted("GET /a?b=%20 HTTP/1.1\r\nHost: Example.ORG:8080\r\nA: b\r\n\r\n");
    assert_eq!(head.method, Method::GET);
    assert_eq!((head.path(), head.query()), ("/a", Some("b=%20")));
    assert_eq!(head.host, "example.org:8080");
    let plain = Framing { length: Length::None, persistent: true, expects_continue: false };
    assert_eq!(framing, plain);
}

#[test]
fn targets_are_reduced_to_path_and_query() {
    for (line, target, host) in [
        ("GET /", "/", "h"),
        ("GET http://Other:81/x?y", "/x?y", "other:81"),
        ("GET HTTPS://other", "/", "other"),
        ("GET http://other?q", "/?q", "other"),
        ("GET /é", "/%C3%A9", "h"),
        ("OPTIONS *", "*", "h"),
        ("GET //double//slash", "//double//slash", "h"),
    ] {
        let (head, _) = accepted(&format!("{line} HTTP/1.1\r\nHost: h\r\n\r\n"));
        assert_eq!((head.target.as_str(), head.host.as_str()), (target, host), "{line}");
        assert_eq!(head.fields.text(Name::Host), Some(host), "{line}");
    }
}

#[test]
fn persistence_follows_version_and_connection() {
    for (version, connection, persistent) in [
        ("1.1", "", true),
        ("1.1", "Connection: close\r\n", false),
        ("1.1", "Connection: x, Close\r\n", false),
        ("1.0", "", false),
        ("1.0", "Connection: keep-alive\r\n", true),
        ("1.0", "Connection: keep-alive, close\r\n", false),
    ] {
        let (_, framing) =
            accepted(&format!("GET / HTTP/{version}\r\nHost: h\r\n{connection}\r\n"));
        assert_eq!(framing.persistent, persistent, "{version} {connection}");
    }
}

#[test]
fn lengths_are_one_number_or_chunked() {
    for (fields, length) in [
        ("Content-Length: 0", Length::None),
        ("Content-Length: 5", Length::Known(5)),
        ("Transfer-Encoding: Chunked", Length::Chunked),
    ] {
        let (_, framing) = accepted(&format!("POST / HTTP/1.1\r\nHost: h\r\n{fields}\r\n\r\n"));
        assert_eq!(framing.length, length, "{fields}");
    }
}

#[test]
fn what_could_be_read_in_two_ways_is_refused() {
    for (lines, status) in [
        ("Host: h\r\nContent-Length: 5\r\nTransfer-Encoding: chunked", 400),
        ("Host: h\r\nContent-Length: 5\r\nContent-Length: 6", 400),
        ("Host: h\r\nContent-Length: 5\r\nContent-Length: 5", 400),
        ("Host: h\r\nContent-Length: 5, 5", 400),
        ("Host: h\r\nContent-Length: +5", 400),
        ("Host: h\r\nContent-Length: 0x5", 400),
        ("Host: h\r\nContent-Length: ", 400),
        ("Host: h\r\nContent-Length: 99999999999999999999", 400),
        ("Host: h\r\nTransfer-Encoding: gzip", 400),
        ("Host: h\r\nTransfer-Encoding: chunked, gzip", 400),
        ("Host: h\r\nTransfer-Encoding: gzip, chunked", 501),
        ("Host: h\r\nTransfer-Encoding: chunked, chunked", 501),
        ("Host: h\r\nTransfer-Encoding: ", 400),
        ("Host: h\r\nTransfer-Encoding : chunked", 400),
        ("Host: h\r\nA: b\r\n folded", 400),
        ("Host: h\nA: b", 400),
        ("Host: h\r\nA: b\0c", 400),
        ("Host: h\r\nA: b\rc", 400),
        ("Host: h\r\nHost: h", 400),
        ("A: b", 400),
        ("Host: ", 400),
        ("Host: a b", 400),
        ("Host: a@b", 400),
        ("Host: a:b", 400),
        ("Host: a:99999", 400),
        ("Host: a/b", 400),
        ("Host: [::1]0", 400),
        ("Host: h\r\nExpect: miracles", 417),
        ("Host: h\r\n: empty", 400),
    ] {
        let error = read(&format!("POST / HTTP/1.1\r\n{lines}\r\n\r\n")).expect_err(lines);
        assert_eq!(error.status(), status, "{lines}");
    }
}

#[test]
fn request_lines_that_are_none_are_refused() {
    for (line, status) in [
        ("GET / HTTP/2.0", 505),
        ("GET / HTTP/1.2", 505),
        ("GET /", 400),
        ("GET  / HTTP/1.1", 400),
        ("GET / x HTTP/1.1", 505),
        ("GET x HTTP/1.1", 400),
        ("GET /#f HTTP/1.1", 400),
        ("GET * HTTP/1.1", 400),
        ("CONNECT h:443 HTTP/1.1", 400),
        ("GET http://a@b/ HTTP/1.1", 400),
        ("GET ftp://a/ HTTP/1.1", 400),
        ("G{T / HTTP/1.1", 400),
    ] {
        let error = read(&format!("{line}\r\nHost: h\r\n\r\n")).expect_err(line);
        assert_eq!(error.status(), status, "{line}");
    }
    let old = read("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n");
    assert_eq!(old.expect_err("chunks came with HTTP/1.1").status(), 400);
}

#[test]
fn heads_past_the_limits_are_refused_before_they_are_whole() {
    let limits = HeadLimits { head_bytes_max: 200, target_bytes_max: 50 };
    let status = |text: String| {
        let mut head = RequestHead::default();
        read_head(text.as_bytes(), &mut 0, &mut head, &limits).expect_err("over a limit").status()
    };
    assert_eq!(status(format!("GET /{} HTTP/1.1\r\nHost: h\r\n\r\n", "x".repeat(60))), 414);
    assert_eq!(status(format!("GET /{}", "x".repeat(300))), 414);
    assert_eq!(status(format!("GET / HTTP/1.1\r\nA: {}", "x".repeat(300))), 431);
    let many = "a: b\r\n".repeat(101);
    let error = read(&format!("GET / HTTP/1.1\r\nHost: h\r\n{many}\r\n")).expect_err("too many");
    assert_eq!(error.status(), 431);
}

#[test]
fn a_head_is_the_same_however_its_bytes_are_cut() {
    let text = "\r\nPOST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc";
    let (whole, framing, length) = read(text).expect("valid").expect("whole");
    assert_eq!(&text[length..], "abc");
    let (mut head, mut scanned) = (RequestHead::default(), 0);
    for end in 0..text.len() {
        let found =
            read_head(&text.as_bytes()[..end], &mut scanned, &mut head, &HeadLimits::default())
                .expect("a beginning is never an error");
        assert_eq!(found.is_some(), end >= length, "at {end}");
        if let Some(found) = found {
            assert_eq!(found, (length, framing));
            assert_eq!((&head.target, &head.fields), (&whole.target, &whole.fields));
            break;
        }
    }
}
