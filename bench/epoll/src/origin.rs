//! An origin of distinct cacheable pages that counts its requests and can wait.
//!
//! `/page/N/BYTES` answers at once; `/gate/NAME/BYTES` answers once `/-/open` was
//! asked for; `/-/count` says how many pages were requested so far. Anything else
//! is a 404, and is counted too, for nobody should have asked. A tagged origin gives
//! each page ten tags.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

use crate::listen::{self, LISTENER, Readiness};
use crate::pages;

const HEAD_BYTES_MAX: usize = 64 * 1024;
const BODY_BYTES_MAX: usize = 64 << 20;

struct Connection {
    stream: TcpStream,
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
    sent: usize,
    /// The body length of an answer that waits for the gate.
    held: Option<usize>,
    closing: bool,
    waits_for_room: bool,
}

struct Origin {
    is_tagged: bool,
    filler: Vec<u8>,
    requests: u64,
    open: bool,
}

/// Serves until killed.
pub(crate) fn serve(address: SocketAddr, is_tagged: bool) -> io::Result<()> {
    let listener = listen::listener(address)?;
    let mut readiness = Readiness::new()?;
    readiness.add(&listener, LISTENER)?;
    let mut origin = Origin { is_tagged, filler: pages::filler(), requests: 0, open: false };
    let mut connections: Vec<Option<Connection>> = Vec::new();
    let mut ready = Vec::with_capacity(listen::EVENTS_MAX);
    loop {
        ready.extend(readiness.wait()?);
        let was_open = origin.open;
        for number in ready.drain(..) {
            if number == LISTENER {
                while let Some(stream) = listen::accept(&listener)? {
                    add(&mut connections, stream, &readiness)?;
                }
                continue;
            }
            turn(&mut connections[number as usize], number, &mut origin, &readiness)?;
        }
        if origin.open && !was_open {
            for (number, slot) in connections.iter_mut().enumerate() {
                if slot.as_ref().is_some_and(|connection| connection.held.is_some()) {
                    turn(slot, number as u64, &mut origin, &readiness)?;
                }
            }
        }
    }
}

fn add(
    connections: &mut Vec<Option<Connection>>,
    stream: TcpStream,
    readiness: &Readiness,
) -> io::Result<()> {
    let slot = connections.iter().position(Option::is_none).unwrap_or_else(|| {
        connections.push(None);
        connections.len() - 1
    });
    readiness.add(&stream, slot as u64)?;
    connections[slot] = Some(Connection {
        stream,
        incoming: Vec::new(),
        outgoing: Vec::new(),
        sent: 0,
        held: None,
        closing: false,
        waits_for_room: false,
    });
    Ok(())
}

/// Does what one connection can do now; a connection that is over leaves its slot.
fn turn(
    slot: &mut Option<Connection>,
    number: u64,
    origin: &mut Origin,
    readiness: &Readiness,
) -> io::Result<()> {
    let Some(connection) = slot else { return Ok(()) };
    let alive = connection.read().is_ok() && {
        connection.answer(origin);
        connection.write().is_ok()
    };
    let unsent = connection.sent < connection.outgoing.len();
    if !alive || (connection.closing && !unsent && connection.held.is_none()) {
        *slot = None;
    } else if unsent != connection.waits_for_room {
        connection.waits_for_room = unsent;
        readiness.want_write(&connection.stream, number, unsent)?;
    }
    Ok(())
}

impl Connection {
    fn read(&mut self) -> io::Result<()> {
        let mut bytes = [0; 16 * 1024];
        match self.stream.read(&mut bytes) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) if self.incoming.len() + count <= HEAD_BYTES_MAX => {
                self.incoming.extend_from_slice(&bytes[..count]);
                Ok(())
            }
            Ok(_) => Err(ErrorKind::InvalidData.into()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Answers every complete request in turn; one that waits at the gate stops the rest.
    fn answer(&mut self, origin: &mut Origin) {
        if let Some(bytes) = self.held.take_if(|_| origin.open) {
            origin.page(&mut self.outgoing, 0, bytes);
        }
        while self.held.is_none()
            && let Some(end) = head_end(&self.incoming)
        {
            let head = String::from_utf8_lossy(&self.incoming[..end]).into_owned();
            self.incoming.drain(..end);
            self.closing |= head.to_ascii_lowercase().contains("\r\nconnection: close");
            let path = head.split(' ').nth(1).unwrap_or_default();
            self.held = origin.answer(&mut self.outgoing, path);
        }
    }

    fn write(&mut self) -> io::Result<()> {
        while self.sent < self.outgoing.len() {
            match self.stream.write(&self.outgoing[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        self.outgoing.clear();
        self.sent = 0;
        Ok(())
    }
}

impl Origin {
    /// Appends the answer for `path`, or gives the length of one that has to wait.
    fn answer(&mut self, out: &mut Vec<u8>, path: &str) -> Option<usize> {
        let words: Vec<&str> = path.split('/').skip(1).collect();
        match *words {
            ["-", "count"] => plain(out, "200 OK", &self.requests.to_string()),
            ["-", "open"] => {
                self.open = true;
                plain(out, "200 OK", "open");
            }
            [kind @ ("page" | "gate"), name, bytes] => {
                self.requests += 1;
                let body_bytes = bytes.parse().ok().filter(|&bytes| bytes <= BODY_BYTES_MAX);
                match (body_bytes, name.parse()) {
                    (Some(bytes), _) if kind == "gate" && !self.open => return Some(bytes),
                    (Some(bytes), Ok(number)) => self.page(out, number, bytes),
                    (Some(bytes), Err(_)) if kind == "gate" => self.page(out, 0, bytes),
                    _ => plain(out, "404 Not Found", "no such page"),
                }
            }
            _ => {
                self.requests += 1;
                plain(out, "404 Not Found", "no such page");
            }
        }
        None
    }

    fn page(&self, out: &mut Vec<u8>, number: u64, body_bytes: usize) {
        out.extend_from_slice(
            format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\
                 Content-Length: {body_bytes}\r\nCache-Control: max-age=3600\r\n"
            )
            .as_bytes(),
        );
        if self.is_tagged {
            out.extend_from_slice(format!("xkey: page-{number}").as_bytes());
            for group in 1..10 {
                let tag = format!(" g{group}-{}", number % (1_000 + group));
                out.extend_from_slice(tag.as_bytes());
            }
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"\r\n");
        pages::append_body(out, &self.filler, number, body_bytes);
    }
}

fn plain(out: &mut Vec<u8>, status: &str, body: &str) {
    let bytes = body.len();
    out.extend_from_slice(
        format!(
            "HTTP/1.1 {status}\r\nContent-Length: {bytes}\r\nCache-Control: no-store\r\n\r\n{body}"
        )
        .as_bytes(),
    );
}

fn head_end(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|start| start + 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each path in turn; gives the status words or "waits", and the final count.
    fn check(paths: &[&str]) -> (Vec<String>, u64) {
        let filler = pages::filler();
        let mut origin = Origin { is_tagged: true, filler, requests: 0, open: false };
        let answers = paths.iter().map(|path| {
            let mut out = Vec::new();
            if origin.answer(&mut out, path).is_some() {
                return "waits".to_owned();
            }
            String::from_utf8_lossy(&out[9..12]).into_owned()
        });
        (answers.collect(), origin.requests)
    }

    #[test]
    fn pages_are_counted_and_control_is_not() {
        let (answers, count) = check(&["/page/1/10", "/-/count", "/page/x/10", "/favicon.ico"]);
        assert_eq!(answers, ["200", "200", "404", "404"]);
        assert_eq!(count, 3);
    }

    #[test]
    fn the_gate_holds_until_it_is_opened() {
        let (answers, count) = check(&["/gate/a/10", "/-/open", "/gate/a/10"]);
        assert_eq!(answers, ["waits", "200", "200"]);
        assert_eq!(count, 2);
    }
}
