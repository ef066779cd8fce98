//! The visitor's side: an answer read as it comes, and whether it was the right one.

use std::io::{self, ErrorKind, Read};
use std::net::TcpStream;

/// Where one connection stands in the answer it waits for.
pub(crate) struct Answer {
    /// The expected body length in bytes.
    body_bytes: usize,
    /// What the body has to begin with; empty if any beginning will do.
    beginning: Vec<u8>,
    /// The head and the body's beginning, as far as they came.
    start: Vec<u8>,
    head_bytes: Option<usize>,
    /// All bytes so far, the head's included.
    came: usize,
}

/// What became of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// More is to come.
    Waiting,
    /// A 200 of the right length and beginning.
    Right,
    /// Something else, in a few words; the connection is of no more use.
    Wrong(String),
}

/// Kept of an answer to judge it by: any sane head and a page's first line.
const START_BYTES_MAX: usize = 16 * 1024;

impl Answer {
    pub(crate) fn expect(body_bytes: usize, beginning: &str) -> Self {
        let beginning = beginning.as_bytes().to_vec();
        Self { body_bytes, beginning, start: Vec::new(), head_bytes: None, came: 0 }
    }

    /// Reads what is there; `scratch` is any large buffer.
    pub(crate) fn read(&mut self, stream: &mut TcpStream, scratch: &mut [u8]) -> Progress {
        loop {
            match stream.read(scratch) {
                Ok(0) => return Progress::Wrong("closed before its end".to_owned()),
                Ok(count) => match self.take(&scratch[..count]) {
                    Progress::Waiting if count == scratch.len() => {}
                    progress => return progress,
                },
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Progress::Waiting,
                Err(error) => return Progress::Wrong(error.to_string()),
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) -> Progress {
        self.came += bytes.len();
        let kept = bytes.len().min(START_BYTES_MAX - self.start.len());
        self.start.extend_from_slice(&bytes[..kept]);
        if self.head_bytes.is_none() {
            let Some(end) = self.start.windows(4).position(|four| four == b"\r\n\r\n") else {
                return if self.start.len() == START_BYTES_MAX {
                    Progress::Wrong("a head without end".to_owned())
                } else {
                    Progress::Waiting
                };
            };
            if let Some(wrong) = wrong_head(&self.start[..end], self.body_bytes) {
                return Progress::Wrong(wrong);
            }
            self.head_bytes = Some(end + 4);
        }
        let head_bytes = self.head_bytes.unwrap_or(0);
        match self.came.cmp(&(head_bytes + self.body_bytes)) {
            std::cmp::Ordering::Less => Progress::Waiting,
            std::cmp::Ordering::Greater => Progress::Wrong("more than one answer".to_owned()),
            std::cmp::Ordering::Equal if self.start[head_bytes..].starts_with(&self.beginning) => {
                Progress::Right
            }
            std::cmp::Ordering::Equal => Progress::Wrong("another page's body".to_owned()),
        }
    }
}

fn wrong_head(head: &[u8], body_bytes: usize) -> Option<String> {
    let text = String::from_utf8_lossy(head).to_ascii_lowercase();
    let mut lines = text.split("\r\n");
    let status = lines.next().unwrap_or_default();
    if !status.starts_with("http/1.1 200") {
        return Some(format!("answered \"{status}\""));
    }
    let length = lines.find_map(|line| line.strip_prefix("content-length:"));
    match length.map(|length| length.trim().parse::<usize>()) {
        Some(Ok(length)) if length == body_bytes => None,
        Some(_) => Some(format!("wrong length, not {body_bytes}")),
        None => Some("no Content-Length".to_owned()),
    }
}

/// Raises an error that names the first wrong answer, if there was any.
pub(crate) fn verdict(wrong: usize, first_wrong: &str) -> io::Result<()> {
    if wrong == 0 {
        return Ok(());
    }
    Err(io::Error::other(format!("{wrong} wrong answers; the first: {first_wrong}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body_bytes: usize, beginning: &str, pieces: &[&str]) -> Progress {
        let mut answer = Answer::expect(body_bytes, beginning);
        let mut progress = Progress::Waiting;
        for piece in pieces {
            progress = answer.take(piece.as_bytes());
        }
        progress
    }

    #[test]
    fn only_the_expected_answer_is_right() {
        let ok = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";
        assert_eq!(check(3, "ab", &[ok]), Progress::Right);
        for cut in 1..ok.len() {
            assert_eq!(check(3, "ab", &[&ok[..cut]]), Progress::Waiting, "cut at {cut}");
            assert_eq!(check(3, "ab", &[&ok[..cut], &ok[cut..]]), Progress::Right, "cut at {cut}");
        }
        let wrong = |body_bytes, beginning, text| {
            matches!(check(body_bytes, beginning, &[text]), Progress::Wrong(_))
        };
        assert!(wrong(4, "", ok));
        assert!(wrong(3, "x", ok));
        assert!(wrong(3, "", "HTTP/1.1 503 No\r\nContent-Length: 3\r\n\r\nabc"));
        assert!(wrong(3, "", "HTTP/1.1 200 OK\r\n\r\nabc"));
        assert!(wrong(3, "", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcd"));
    }
}
