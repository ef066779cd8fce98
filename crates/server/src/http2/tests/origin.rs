//! An origin in memory: a path says how it answers, and it remembers what it was asked.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::sync::Notify;

/// What came so far, and what the origin waits for.
#[derive(Clone, Default)]
pub(super) struct Asked {
    heads: Arc<Mutex<Vec<String>>>,
    /// Lets one answer of `/wait` go.
    pub(super) go: Arc<Notify>,
}

impl Asked {
    /// The heads of all requests, in lower case.
    pub(super) fn heads(&self) -> Vec<String> {
        self.heads.lock().clone()
    }

    /// Whether the last request had this line.
    pub(super) fn has_line(&self, line: &str) -> bool {
        self.heads.lock().last().is_some_and(|head| head.lines().any(|other| other == line))
    }
}

pub(super) fn dial(asked: Asked) -> ::origin::MemoryDial {
    Arc::new(move || {
        let asked = asked.clone();
        Box::pin(async move {
            let (ours, theirs) = tokio::io::duplex(16 << 10);
            tokio::spawn(serve(ours, asked));
            Ok(theirs)
        })
    })
}

async fn serve(stream: DuplexStream, asked: Asked) {
    let mut stream = BufReader::new(stream);
    while let Some(head) = read_head(&mut stream).await {
        asked.heads.lock().push(head.clone());
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        if path == "/deaf" {
            std::future::pending::<()>().await;
        }
        let body = read_body(&mut stream, &head).await;
        if path == "/wait" {
            asked.go.notified().await;
        }
        let answer = answer(&path, &body);
        if stream.write_all(&answer).await.is_err() || path == "/broken" {
            return;
        }
    }
}

fn answer(path: &str, body: &[u8]) -> Vec<u8> {
    let with = |fields: &str, body: &[u8]| {
        let head = format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: {}\r\n\r\n", body.len());
        [head.as_bytes(), body].concat()
    };
    match path {
        "/page" => with("Cache-Control: max-age=60\r\nX-Odd: 1\r\nX-odd: 2\r\n", b"page"),
        "/large" => with("Cache-Control: max-age=60\r\n", &vec![b'x'; 300_000]),
        "/text" => with(
            "Cache-Control: max-age=60\r\nContent-Type: text/html\r\n",
            "words and words ".repeat(1000).as_bytes(),
        ),
        "/connection" => with(
            "Connection: keep-alive, x-hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\n\
             Upgrade: h2c\r\nProxy-Connection: x\r\n",
            b"",
        ),
        "/hints" => {
            let hints = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n";
            [&hints[..], &with("", b"after hints")].concat()
        }
        "/trailers" => b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: x-sum\r\n\r\n\
            3\r\nabc\r\n0\r\nx-sum: 6\r\ncontent-length: 9\r\n\r\n"
            .to_vec(),
        "/broken" => b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc".to_vec(),
        _ => with("Cache-Control: no-store\r\n", body),
    }
}

async fn read_head(stream: &mut BufReader<DuplexStream>) -> Option<String> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    Some(head.to_ascii_lowercase().replace('\r', ""))
}

async fn read_body(stream: &mut BufReader<DuplexStream>, head: &str) -> Vec<u8> {
    let mut body = Vec::new();
    if head.contains("\ntransfer-encoding: chunked\n") {
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
                return body;
            }
            let size = usize::from_str_radix(line.trim(), 16).expect("a chunk's size");
            let mut piece = vec![0; size + 2];
            if stream.read_exact(&mut piece).await.is_err() {
                return body;
            }
            body.extend_from_slice(&piece[..size]);
            if size == 0 {
                return body;
            }
        }
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    body.resize(length.map_or(0, |length| length.parse().expect("a length")), 0);
    // A body that breaks off is as good as what came of it.
    let _ = stream.read_exact(&mut body).await;
    body
}
