//! A server that answers each request as the test says, and keeps the heads that it saw.

pub(crate) mod http2;
pub(crate) mod http3;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What becomes of a request.
pub(crate) enum Turn {
    /// These bytes.
    Answer(String),
    /// These bytes, after so long.
    After(Duration, String),
    /// These bytes, and the end of the connection.
    AnswerAndClose(String),
    /// Nothing, ever.
    Never,
}

/// A running server; it ends with the process.
pub(crate) struct Server {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// `answer` is told the number of the request and its head.
    pub(crate) fn start(answer: impl Fn(u64, &str) -> Turn + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (answer, numbers) = (Arc::new(answer), Arc::new(AtomicU64::new(0)));
        let heads = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answer, numbers) = (Arc::clone(&answer), Arc::clone(&numbers));
                let heads = Arc::clone(&heads);
                std::thread::spawn(move || serve(stream, &*answer, &numbers, &heads));
            }
        });
        Self { address, seen }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The heads of all requests so far, in the order in which they came.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().expect("nobody panicked").clone()
    }
}

fn serve(
    mut stream: TcpStream,
    answer: &dyn Fn(u64, &str) -> Turn,
    numbers: &AtomicU64,
    seen: &Mutex<Vec<String>>,
) {
    let mut received = Vec::new();
    loop {
        while !received.ends_with(b"\r\n\r\n") {
            let mut bytes = [0; 4096];
            match stream.read(&mut bytes) {
                Ok(0) | Err(_) => return,
                Ok(read) => received.extend_from_slice(&bytes[..read]),
            }
        }
        let head = String::from_utf8(std::mem::take(&mut received)).expect("a head in ASCII");
        seen.lock().expect("nobody panicked").push(head.clone());
        let sent = match answer(numbers.fetch_add(1, Ordering::Relaxed), &head) {
            Turn::Answer(bytes) => stream.write_all(bytes.as_bytes()),
            Turn::After(time, bytes) => {
                std::thread::sleep(time);
                stream.write_all(bytes.as_bytes())
            }
            Turn::AnswerAndClose(bytes) => {
                let _ = stream.write_all(bytes.as_bytes());
                return;
            }
            Turn::Never => {
                // Until the client gives up.
                let _ = stream.read(&mut [0]);
                return;
            }
        };
        if sent.is_err() {
            return;
        }
    }
}
