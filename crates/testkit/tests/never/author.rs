//! An origin that is a program: an [`Author`] is shown each request and writes, byte by
//! byte and moment by moment, what is sent back.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use origin::{Dial, HttpOptions, HttpOrigin, Origin};
use testkit::message::{Received, State};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

/// What a pipe to the origin holds; small, so that bodies come in pieces.
const PIPE_BYTES: usize = 8 << 10;

/// Decides what the origin sends.
pub(crate) trait Author: Send + Sync + 'static {
    /// What is done about a request.
    fn answer(&self, request: &Received) -> Script;

    /// Whether a new connection is taken.
    fn accepts(&self) -> bool {
        true
    }
}

/// What happens on a connection, in order.
#[derive(Default)]
pub(crate) struct Script {
    pub(crate) steps: Vec<Step>,
    /// Whether another request may follow.
    pub(crate) closes: bool,
}

/// One thing that an origin does.
pub(crate) enum Step {
    /// Lets time pass.
    Wait(Duration),
    /// Lets everybody else have so many turns; for simulations in real time.
    Yield(u32),
    /// Sends bytes.
    Send(Vec<u8>),
    /// Changes something that other requests will see.
    Apply(Box<dyn FnOnce() + Send>),
    /// Sends what is only known when its turn has come.
    Tell(Box<dyn FnOnce() -> Vec<u8> + Send>),
}

/// An origin that `author` speaks for.
pub(crate) fn origin(author: Arc<dyn Author>, options: HttpOptions) -> Origin {
    let dial = Dial::Memory(Arc::new(move || {
        let author = author.clone();
        Box::pin(async move {
            if !author.accepts() {
                return Err(io::ErrorKind::ConnectionRefused.into());
            }
            let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
            tokio::spawn(serve(ours, author));
            Ok(theirs)
        })
    }));
    Origin::Http(HttpOrigin::new(dial, options))
}

async fn serve(mut io: DuplexStream, author: Arc<dyn Author>) {
    let mut input = Vec::new();
    while let Some(request) = next_request(&mut io, &mut input).await {
        let script = author.answer(&request);
        for step in script.steps {
            let bytes = match step {
                Step::Wait(time) => {
                    tokio::time::sleep(time).await;
                    continue;
                }
                Step::Yield(turns) => {
                    take_turns(turns).await;
                    continue;
                }
                Step::Apply(change) => {
                    change();
                    continue;
                }
                Step::Send(bytes) => bytes,
                Step::Tell(tell) => tell(),
            };
            if io.write_all(&bytes).await.is_err() {
                return;
            }
        }
        if script.closes {
            return;
        }
    }
}

async fn next_request(io: &mut DuplexStream, input: &mut Vec<u8>) -> Option<Received> {
    loop {
        // What Wick sends must be sound HTTP; what isn't ends the connection and shows as 502.
        if let Some(request) = Received::request(input, false).ok()?
            && let State::Whole(bytes) = request.state
        {
            input.drain(..bytes);
            return Some(request);
        }
        match io.read_buf(input).await {
            Ok(bytes) if bytes > 0 => {}
            _ => return None,
        }
    }
}

/// Lets everybody else have so many turns.
pub(crate) async fn take_turns(turns: u32) {
    for _ in 0..turns {
        tokio::task::yield_now().await;
    }
}

/// A response head.
pub(crate) fn head(status: u16, fields: &[(String, String)]) -> Vec<u8> {
    let mut text = format!("HTTP/1.1 {status} Whatever\r\n");
    for (name, value) in fields {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    text.into_bytes()
}

/// A chunk of a chunked body; of no bytes it is the last.
pub(crate) fn chunk(bytes: &[u8]) -> Vec<u8> {
    let mut out = format!("{:x}\r\n", bytes.len()).into_bytes();
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
    out
}
