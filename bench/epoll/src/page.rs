//! The yardstick: one page from memory for the least work that sockets allow.
//!
//! For a request: one read, one search for the blank line, one write of an answer
//! that was made beforehand. No parsing beyond "does the client close?", no
//! pipelining. A thread has its own loop and its own listener on the shared port.
//! It may be told to work for a while before each answer, as an app does: then how much slower
//! one is than another is known beforehand.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rustix::fd::OwnedFd;

use crate::listen::{self, LISTENER, Readiness};

/// The longest request head that is waited for.
const HEAD_BYTES_MAX: usize = 8192;

struct Connection {
    stream: TcpStream,
    /// A head that came in pieces; stays empty for all ordinary requests.
    partial: Vec<u8>,
    /// Bytes of the answer that are still to be written; zero between requests.
    unsent: usize,
    closing: bool,
}

enum Step {
    Keep,
    /// The socket is full; wait for room.
    Full,
    Close,
}

/// Serves a body of `body_bytes` on every path until killed.
pub(crate) fn serve(
    address: SocketAddr,
    body_bytes: usize,
    threads: usize,
    work: Duration,
) -> io::Result<()> {
    let answer = answer(body_bytes);
    std::thread::scope(|scope| {
        let loops: Vec<_> = (0..threads.max(1))
            .map(|_| scope.spawn(|| serve_thread(&listen::listener(address)?, &answer, work)))
            .collect();
        loops.into_iter().try_for_each(|one| {
            one.join().unwrap_or_else(|_| Err(io::Error::other("a loop panicked")))
        })
    })
}

/// The head is as long as a cache's usually is, so that all write alike.
fn answer(body_bytes: usize) -> Vec<u8> {
    let mut answer = format!(
        "HTTP/1.1 200 OK\r\nDate: Sat, 21 Nov 2026 12:00:00 GMT\r\nServer: bare\r\n\
         Content-Type: text/html; charset=utf-8\r\nContent-Length: {body_bytes}\r\n\
         Cache-Control: public, max-age=3600\r\nAge: 12\r\nCache-Status: bare; hit; ttl=3588\r\n\r\n"
    )
    .into_bytes();
    answer.extend(std::iter::repeat_n(b'x', body_bytes));
    answer
}

fn serve_thread(listener: &OwnedFd, answer: &[u8], work: Duration) -> io::Result<()> {
    let mut readiness = Readiness::new()?;
    readiness.add(listener, LISTENER)?;
    let mut connections: Vec<Option<Connection>> = Vec::new();
    let mut free: Vec<usize> = Vec::new();
    let mut ready = Vec::with_capacity(listen::EVENTS_MAX);
    loop {
        ready.extend(readiness.wait()?);
        for number in ready.drain(..) {
            if number == LISTENER {
                while let Some(stream) = listen::accept(listener)? {
                    let slot = free.pop().unwrap_or_else(|| {
                        connections.push(None);
                        connections.len() - 1
                    });
                    readiness.add(&stream, slot as u64)?;
                    let partial = Vec::new();
                    connections[slot] =
                        Some(Connection { stream, partial, unsent: 0, closing: false });
                }
                continue;
            }
            let slot = number as usize;
            let Some(connection) = connections[slot].as_mut() else { continue };
            let lagged = connection.unsent > 0;
            match connection.turn(answer, work) {
                Step::Keep if lagged => readiness.want_write(&connection.stream, number, false)?,
                Step::Keep => {}
                Step::Full => readiness.want_write(&connection.stream, number, true)?,
                Step::Close => {
                    // Dropping the stream closes it, which also leaves the epoll set.
                    connections[slot] = None;
                    free.push(slot);
                }
            }
        }
    }
}

impl Connection {
    fn turn(&mut self, answer: &[u8], work: Duration) -> Step {
        if self.unsent > 0 {
            return self.send(answer);
        }
        let mut bytes = [0; HEAD_BYTES_MAX];
        let count = match self.stream.read(&mut bytes) {
            Ok(0) => return Step::Close,
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Step::Keep,
            Err(_) => return Step::Close,
        };
        let head = if self.partial.is_empty() {
            &bytes[..count]
        } else {
            self.partial.extend_from_slice(&bytes[..count]);
            &self.partial
        };
        if !head.ends_with(b"\r\n\r\n") {
            if head.len() > HEAD_BYTES_MAX {
                return Step::Close;
            }
            self.partial = head.to_vec();
            return Step::Keep;
        }
        self.closing = closes(head);
        self.partial.clear();
        self.unsent = answer.len();
        if !work.is_zero() {
            let until = Instant::now() + work;
            while Instant::now() < until {
                std::hint::spin_loop();
            }
        }
        self.send(answer)
    }

    fn send(&mut self, answer: &[u8]) -> Step {
        match self.stream.write(&answer[answer.len() - self.unsent..]) {
            Ok(count) => self.unsent -= count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => return Step::Close,
        }
        match (self.unsent, self.closing) {
            (0, true) => Step::Close,
            (0, false) => Step::Keep,
            _ => Step::Full,
        }
    }
}

/// HTTP/1.0 without more is a client that closes; the version ends the first line.
fn closes(head: &[u8]) -> bool {
    let line = head.iter().position(|&byte| byte == b'\r').unwrap_or(0);
    head[..line].ends_with(b"HTTP/1.0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_says_the_length_that_it_has() {
        let answer = answer(9435);
        let text = String::from_utf8(answer).expect("the answer is ASCII");
        let (head, body) = text.split_once("\r\n\r\n").expect("a blank line");
        assert!(head.contains("Content-Length: 9435"));
        assert_eq!(body.len(), 9435);
    }

    #[test]
    fn only_the_older_version_closes() {
        assert!(closes(b"GET / HTTP/1.0\r\nHost: a\r\n\r\n"));
        assert!(!closes(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert!(!closes(b"GET / HTTP/1.1\r\nVia: HTTP/1.0\r\n\r\n"));
    }
}
