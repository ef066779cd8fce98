//! An HTTP server that tells what it was sent, and waits where it is told to.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

/// A running origin; its threads end with the test's process.
pub(crate) struct Origin {
    pub(crate) address: SocketAddr,
    /// Heard when a request for `/wait`, or what begins so, has come.
    pub(crate) came: Receiver<()>,
    /// Lets it be answered.
    pub(crate) go: Sender<()>,
}

struct Waiting {
    come: Sender<()>,
    gone: Mutex<Receiver<()>>,
}

impl Origin {
    pub(crate) fn begin() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let ((come, came), (go, gone)) = (channel(), channel());
        let waiting = Arc::new(Waiting { come, gone: Mutex::new(gone) });
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let waiting = waiting.clone();
                std::thread::spawn(move || answer_all(stream, &waiting));
            }
        });
        Self { address, came, go }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

fn answer_all(stream: TcpStream, waiting: &Waiting) -> Option<()> {
    let mut out = stream.try_clone().ok()?;
    let mut input = BufReader::new(stream);
    loop {
        let (mut head, mut line) = (String::new(), String::new());
        while line != "\r\n" {
            line.clear();
            if input.read_line(&mut line).ok()? == 0 {
                return None;
            }
            head += &line.to_ascii_lowercase();
        }
        let target = head.split(' ').nth(1)?.to_owned();
        let body = read_body(&head, &mut input)?;
        if target.starts_with("/wait") {
            waiting.come.send(()).ok()?;
            waiting.gone.lock().ok()?.recv().ok()?;
        }
        let sum = body.iter().fold(0u32, |sum, &byte| sum.wrapping_mul(31) + u32::from(byte));
        let text = match target.as_str() {
            "/large" | "/wait-large" => "x".repeat(300_000),
            _ if body.is_empty() => format!("page {target}"),
            _ => format!("{} bytes, {sum}", body.len()),
        };
        let fields = match target.as_str() {
            "/asked" => {
                "cache-control: public, no-cache\r\netag: \"1\"\r\nlink: </a>; rel=preload; as=style"
            }
            _ => "content-type: text/plain\r\ncache-control: max-age=60",
        };
        let length = text.len();
        let head = format!("HTTP/1.1 200 OK\r\n{fields}\r\ncontent-length: {length}\r\n\r\n");
        out.write_all(head.as_bytes()).ok()?;
        out.write_all(text.as_bytes()).ok()?;
    }
}

fn read_body(head: &str, input: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    if head.contains("transfer-encoding: chunked") {
        loop {
            let mut size = String::new();
            input.read_line(&mut size).ok()?;
            let bytes = usize::from_str_radix(size.trim(), 16).ok()?;
            let mut chunk = vec![0; bytes + 2];
            input.read_exact(&mut chunk).ok()?;
            body.extend_from_slice(&chunk[..bytes]);
            if bytes == 0 {
                return Some(body);
            }
        }
    }
    let length = head.split_once("content-length: ").and_then(|(_, rest)| rest.lines().next());
    body.resize(length.map_or(0, |length| length.trim().parse().unwrap_or(0)), 0);
    input.read_exact(&mut body).ok()?;
    Some(body)
}
