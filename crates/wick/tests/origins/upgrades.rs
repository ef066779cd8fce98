//! Connections that go on in another protocol: WebSocket by hand, both ways.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use crate::serve;
use crate::wick::{PATIENCE, ask, rest, send, until};

/// The key of RFC 6455 §1.3 and its answer.
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

pub(crate) const ASKED: &str = "GET /chat HTTP/1.1\nHost: a\nConnection: keep-alive, Upgrade\n\
    Upgrade: websocket\nSec-WebSocket-Version: 13\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\n\n";

/// A server that speaks WebSocket at `/chat`, where it echoes, and plain HTTP elsewhere.
pub(crate) struct Chat {
    pub(crate) address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Chat {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let heads = Arc::<Mutex<Vec<String>>>::default();
        let seen = heads.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let seen = seen.clone();
                std::thread::spawn(move || converse(stream, &seen));
            }
        });
        Self { address, heads }
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().expect("no holder panics").clone()
    }
}

fn converse(stream: TcpStream, seen: &Mutex<Vec<String>>) {
    let mut writer = stream.try_clone().expect("a socket");
    let mut reader = BufReader::new(stream);
    let lines = reader.by_ref().lines().map_while(Result::ok);
    let head = lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
    seen.lock().expect("no holder panics").push(head.clone());
    let answer = match head.contains("upgrade: websocket") && head.starts_with("GET /chat ") {
        true => format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Accept: {ACCEPT}\r\n\r\n"
        ),
        false if head.starts_with("GET /wrong ") => {
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n".into()
        }
        false => "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nplain".into(),
    };
    // A visitor who went away is the test's affair.
    if writer.write_all(answer.as_bytes()).is_err() || !answer.contains("101") {
        return;
    }
    while let Some((first, payload)) = read_frame(&mut reader) {
        if writer.write_all(&frame(first, &payload, false)).is_err() || first == 0x88 {
            return;
        }
    }
}

/// One frame with its first byte; a client's is masked (RFC 6455 §5.3).
pub(crate) fn frame(first: u8, payload: &[u8], is_masked: bool) -> Vec<u8> {
    let mask = if is_masked { [1, 2, 3, 4] } else { [0; 4] };
    let bit = if is_masked { 0x80 } else { 0 };
    let mut bytes = vec![first];
    match u8::try_from(payload.len()) {
        Ok(length) if length < 126 => bytes.push(bit | length),
        _ => {
            bytes.push(bit | 127);
            bytes.extend((payload.len() as u64).to_be_bytes());
        }
    }
    if is_masked {
        bytes.extend(mask);
    }
    bytes.extend(payload.iter().enumerate().map(|(at, byte)| byte ^ mask[at % 4]));
    bytes
}

pub(crate) fn read_frame(reader: &mut impl Read) -> Option<(u8, Vec<u8>)> {
    let mut start = [0; 2];
    reader.read_exact(&mut start).ok()?;
    let mut length = u64::from(start[1] & 0x7f);
    if length == 127 {
        let mut long = [0; 8];
        reader.read_exact(&mut long).ok()?;
        length = u64::from_be_bytes(long);
    }
    let mut mask = [0; 4];
    if start[1] & 0x80 != 0 {
        reader.read_exact(&mut mask).ok()?;
    }
    let mut payload = vec![0; usize::try_from(length).ok()?];
    reader.read_exact(&mut payload).ok()?;
    payload.iter_mut().enumerate().for_each(|(at, byte)| *byte ^= mask[at % 4]);
    Some((start[0], payload))
}

/// The head of an answer, byte by byte, so that nothing behind it is taken.
pub(crate) fn read_head(stream: &mut TcpStream) -> String {
    let (mut text, mut byte) = (String::new(), [0]);
    while !text.ends_with("\r\n\r\n") {
        stream.read_exact(&mut byte).expect("the head comes");
        text.push(char::from(byte[0]));
    }
    text
}

#[test]
fn a_web_socket_reaches_the_origin_and_both_sides_hear_each_other() {
    let chat = Chat::start();
    let (wick, address, _folder) = serve(&format!("origin = \"http://{}\"", chat.address));
    let mut visitor = send(address, ASKED);
    let head = read_head(&mut visitor).to_ascii_lowercase();
    assert!(head.starts_with("http/1.1 101 switching protocols\r\n"), "{head}");
    for line in ["upgrade: websocket", "connection: upgrade", "cache-status: wick; fwd=bypass"] {
        assert!(head.contains(&format!("\r\n{line}")), "{line}: {head}");
    }
    assert!(head.contains(&format!("sec-websocket-accept: {}", ACCEPT.to_ascii_lowercase())));
    let sent = chat.heads().remove(0).to_ascii_lowercase();
    for line in ["connection: upgrade", "upgrade: websocket", "via: 1.1 wick", "host: a"] {
        assert!(sent.contains(&format!("\n{line}")), "{line}: {sent}");
    }
    assert!(sent.contains(&format!("sec-websocket-key: {}", KEY.to_ascii_lowercase())), "{sent}");
    // More than any buffer holds, while the other side answers.
    let long: Vec<u8> = (0..1_000_000_u32).map(|at| at as u8).collect();
    for payload in [&b"hello"[..], b"", &long] {
        let mut writer = visitor.try_clone().expect("a socket");
        let bytes = frame(0x82, payload, true);
        let writing = std::thread::spawn(move || writer.write_all(&bytes).expect("it is taken"));
        assert_eq!(read_frame(&mut visitor), Some((0x82, payload.to_vec())));
        writing.join().expect("no panic");
    }
    visitor.write_all(&frame(0x88, b"", true)).expect("it is taken");
    assert_eq!(read_frame(&mut visitor), Some((0x88, Vec::new())));
    assert_eq!(rest(visitor), "", "the origin's end is the visitor's");
    assert!(wick.stop().output.contains("pass(upgrade)"));
}

#[test]
fn frames_that_come_with_the_request_are_not_lost() {
    let chat = Chat::start();
    let (_wick, address, _folder) = serve(&format!("origin = \"http://{}\"", chat.address));
    let mut visitor = TcpStream::connect(address).expect("somebody listens");
    visitor.set_read_timeout(Some(PATIENCE)).expect("a time-out can be set");
    let early = [ASKED.replace('\n', "\r\n").as_bytes(), &frame(0x81, b"early", true)].concat();
    visitor.write_all(&early).expect("it is taken");
    assert!(read_head(&mut visitor).starts_with("HTTP/1.1 101 "));
    assert_eq!(read_frame(&mut visitor), Some((0x81, b"early".to_vec())));
}

#[test]
fn only_what_was_asked_for_and_is_no_http_is_a_tunnel() {
    let chat = Chat::start();
    let (_wick, address, _folder) = serve(&format!("origin = \"http://{}\"", chat.address));
    let upgrade = |line: &str, protocol: &str| {
        ask(address, &format!("{line}\nUpgrade: {protocol}\nConnection: upgrade"))
    };
    // `ask` appends a Connection of its own; both are read.
    let declined = upgrade("GET /page", "websocket");
    assert!(declined.starts_with("HTTP/1.1 200 ") && declined.ends_with("plain"), "{declined}");
    let wrong = upgrade("GET /wrong", "websocket");
    assert!(wrong.starts_with("HTTP/1.1 502 ") && wrong.contains("origin-upgrade"), "{wrong}");
    let posted = upgrade("POST /chat", "websocket");
    assert!(posted.starts_with("HTTP/1.1 502 ") && posted.contains("detail=upgrade"), "{posted}");
    for protocol in ["h2c", "TLS/1.0", "HTTP/2.0"] {
        let ignored = upgrade("GET /chat", protocol);
        assert!(ignored.starts_with("HTTP/1.1 200 "), "{protocol}: {ignored}");
        let sent = chat.heads().pop().expect("it was asked").to_ascii_lowercase();
        assert!(!sent.contains("upgrade"), "{sent}");
    }
}

#[test]
fn at_the_stop_tunnels_end_and_more_than_may_be_are_refused() {
    let chat = Chat::start();
    let (wick, address, _folder) =
        serve(&format!("origin = \"http://{}\"\norigin_tunnels = 1", chat.address));
    let mut one = send(address, ASKED);
    assert!(read_head(&mut one).starts_with("HTTP/1.1 101 "));
    let refused = rest(send(address, &ASKED.replace("keep-alive", "close")));
    assert!(refused.starts_with("HTTP/1.1 503 ") && refused.contains("retry-after"), "{refused}");
    drop(one);
    until("room", || {
        let mut next = send(address, &ASKED.replace("keep-alive", "close"));
        read_head(&mut next).starts_with("HTTP/1.1 101 ")
    });
    let mut last = send(address, ASKED);
    while !read_head(&mut last).starts_with("HTTP/1.1 101 ") {
        last = send(address, ASKED);
    }
    wick.stop();
    assert_eq!(rest(last), "");
}

#[test]
fn a_tunnel_in_which_nothing_moves_ends() {
    let chat = Chat::start();
    let (wick, address, _folder) = serve(&format!(
        "origin = \"http://{}\"\n[limits]\ntunnel_timeout = \"500ms\"",
        chat.address
    ));
    let mut visitor = send(address, ASKED);
    assert!(read_head(&mut visitor).starts_with("HTTP/1.1 101 "));
    visitor.write_all(&frame(0x81, b"still here", true)).expect("it is taken");
    assert_eq!(read_frame(&mut visitor), Some((0x81, b"still here".to_vec())));
    assert_eq!(rest(visitor), "");
    let output = wick.stop().output;
    assert!(output.contains("1 connections were closed for want of progress"), "{output}");
}

#[test]
fn a_folder_has_no_other_protocol() {
    let folder = crate::wick::open_folder();
    std::fs::write(folder.path().join("chat"), "x").expect("a file");
    let site = format!("origin = \"{}\"", folder.path().display());
    let (_wick, address, _folder) = serve(&site);
    let refused = rest(send(address, &ASKED.replace("keep-alive", "close")));
    assert!(
        refused.starts_with("HTTP/1.1 502 ") && refused.contains("detail=upgrade"),
        "{refused}"
    );
}
