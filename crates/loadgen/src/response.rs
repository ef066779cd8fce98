//! One answer in HTTP/1.1, read as its bytes come, with nothing of it kept.
//!
//! In: bytes, cut anywhere, then perhaps the end of the connection. Out: its status, its sizes,
//! and whether another may follow on the connection. Law: RFC 9112 §6, §7, §9.
//! Invariants: 1. The same answer comes out however the bytes were cut. 2. An answer whose end
//! can't be known, or that breaks off, is an error and never whole. 3. What is kept of a body
//! is decided by who reads; here it is passed on and forgotten.

use bytes::{Buf, BytesMut};
use httparse::Header;
use wire::h1::{Chunk, Chunks};

/// A head that is longer is refused.
pub const HEAD_BYTES_MAX: usize = 64 << 10;
const FIELDS_MAX: usize = 128;

/// An answer that can't be read; nothing after it on its connection can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResponseError {
    /// It is not HTTP/1, or has two lengths.
    #[error("{0}")]
    Malformed(&'static str),
    /// The connection ended within it.
    #[error("the connection ended in the middle of an answer")]
    BrokenOff,
    /// The connection ended before its first byte.
    #[error("the connection ended without an answer")]
    Nothing,
}

/// A whole answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status, 200 to 999.
    pub status: u16,
    /// Bytes of its head, with those of interim answers before it.
    pub head_bytes: u64,
    /// Bytes of its body, without the framing of chunks.
    pub body_bytes: u64,
    /// Whether the connection may carry another request.
    pub keeps: bool,
}

/// What came of the bytes so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// More bytes are needed.
    More,
    /// The answer is whole; what remains in the buffer doesn't belong to it.
    Whole(Answer),
}

/// Who wants to see what an answer holds.
pub trait Witness {
    /// Whether the fields are of any interest: if they aren't, a head need not be read again
    /// that was read before.
    fn wants_fields(&self) -> bool {
        true
    }
    /// The fields of the final head.
    fn fields(&mut self, _fields: &[Header<'_>]) {}
    /// The next bytes of the body.
    fn body(&mut self, _bytes: &[u8]) {}
}

/// Sees nothing.
impl Witness for () {
    fn wants_fields(&self) -> bool {
        false
    }
}

/// The head that was read last, with what it says.
///
/// A load gets the same answers again and again, with the same heads but for a date that
/// changes each second; to compare one costs a tenth of reading it.
#[derive(Debug, Default)]
pub struct Memo {
    head: Vec<u8>,
    says: Option<Head>,
}

impl Memo {
    /// Longer heads aren't kept.
    const BYTES_MAX: usize = 4 << 10;

    /// What the head at the beginning of `bytes` says, if it is the same to its last byte.
    fn recall(&self, bytes: &[u8]) -> Option<Head> {
        // One that says something ends with an empty line, so what follows is none of it.
        self.says.filter(|_| bytes.starts_with(&self.head))
    }

    fn keep(&mut self, head: &[u8], says: Head) {
        self.says = (head.len() <= Self::BYTES_MAX).then_some(says);
        if self.says.is_some() {
            self.head.clear();
            self.head.extend_from_slice(head);
        }
    }
}

/// What a final head says of its answer.
#[derive(Clone, Copy, Debug)]
struct Head {
    bytes: usize,
    status: u16,
    framing: Framing,
}

#[derive(Debug)]
enum State {
    Head,
    Known(u64),
    Chunked(Box<Chunks>),
    UntilClose,
}

/// The state of reading one answer.
#[derive(Debug)]
pub struct ResponseReader {
    state: State,
    is_head: bool,
    answer: Answer,
}

impl ResponseReader {
    /// For the answer to a request; one to HEAD has no body, whatever its head says.
    #[must_use]
    pub fn new(is_head: bool) -> Self {
        let answer = Answer { status: 0, head_bytes: 0, body_bytes: 0, keeps: true };
        Self { state: State::Head, is_head, answer }
    }

    /// Takes what belongs to the answer from the front of `buffer`.
    ///
    /// # Errors
    /// The answer can't be read.
    pub fn read(
        &mut self,
        buffer: &mut BytesMut,
        memo: &mut Memo,
        witness: &mut impl Witness,
    ) -> Result<Step, ResponseError> {
        loop {
            match &mut self.state {
                State::Head => {
                    if !self.read_head(buffer, memo, witness)? {
                        return Ok(Step::More);
                    }
                }
                State::Known(0) => return Ok(Step::Whole(self.answer)),
                State::Known(left) => {
                    if buffer.is_empty() {
                        return Ok(Step::More);
                    }
                    let taken = buffer.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                    witness.body(&buffer[..taken]);
                    buffer.advance(taken);
                    *left -= taken as u64;
                    self.answer.body_bytes += taken as u64;
                }
                State::Chunked(chunks) => match chunks.next(buffer) {
                    Ok(Chunk::Data(bytes)) => {
                        witness.body(&bytes);
                        self.answer.body_bytes += bytes.len() as u64;
                    }
                    Ok(Chunk::End(_)) => return Ok(Step::Whole(self.answer)),
                    Ok(Chunk::Partial) => return Ok(Step::More),
                    Err(error) => return Err(ResponseError::Malformed(error.0)),
                },
                State::UntilClose => {
                    witness.body(buffer);
                    self.answer.body_bytes += buffer.len() as u64;
                    buffer.clear();
                    return Ok(Step::More);
                }
            }
        }
    }

    /// The connection has ended, and `buffer` is what nobody took.
    ///
    /// # Errors
    /// The answer isn't whole.
    pub fn end(&self, buffer: &BytesMut) -> Result<Answer, ResponseError> {
        match self.state {
            State::UntilClose => Ok(self.answer),
            State::Head if buffer.is_empty() && self.answer.head_bytes == 0 => {
                Err(ResponseError::Nothing)
            }
            _ => Err(ResponseError::BrokenOff),
        }
    }

    /// Whether the head was whole.
    fn read_head(
        &mut self,
        buffer: &mut BytesMut,
        memo: &mut Memo,
        witness: &mut impl Witness,
    ) -> Result<bool, ResponseError> {
        let recalled = if witness.wants_fields() { None } else { memo.recall(buffer) };
        if let Some(head) = recalled {
            self.begin_body(head);
            buffer.advance(head.bytes);
            return Ok(true);
        }
        let mut lines = [const { std::mem::MaybeUninit::<Header<'_>>::uninit() }; FIELDS_MAX];
        let mut head = httparse::Response::new(&mut []);
        let parsed = httparse::ParserConfig::default()
            .parse_response_with_uninit_headers(&mut head, buffer, &mut lines)
            .map_err(|_| ResponseError::Malformed("what came is not an answer in HTTP/1"))?;
        let httparse::Status::Complete(length) = parsed else {
            let is_endless = buffer.len() > HEAD_BYTES_MAX;
            let endless = ResponseError::Malformed("the head of the answer is longer than 64 KiB");
            return if is_endless { Err(endless) } else { Ok(false) };
        };
        if length > HEAD_BYTES_MAX {
            return Err(ResponseError::Malformed("the head of the answer is longer than 64 KiB"));
        }
        let status = head.code.unwrap_or_default();
        match status {
            101 => return Err(ResponseError::Malformed("101 to who asked for no other protocol")),
            100..200 => {
                self.answer.head_bytes += length as u64;
                buffer.advance(length);
                return Ok(true);
            }
            200..1000 => {}
            _ => return Err(ResponseError::Malformed("the status is no number from 100 on")),
        }
        let framing = Framing::of(head.headers, head.version == Some(1))?;
        witness.fields(head.headers);
        let head = Head { bytes: length, status, framing };
        memo.keep(&buffer[..length], head);
        self.begin_body(head);
        buffer.advance(length);
        Ok(true)
    }

    fn begin_body(&mut self, head: Head) {
        let Head { bytes, status, framing } = head;
        self.answer.head_bytes += bytes as u64;
        self.answer.status = status;
        let has_body = !self.is_head && status != 204 && status != 304;
        self.state = match framing.length {
            _ if !has_body => State::Known(0),
            Length::Known(bytes) => State::Known(bytes),
            Length::Chunked => State::Chunked(Box::default()),
            Length::UntilClose => State::UntilClose,
        };
        self.answer.keeps = framing.keeps && !matches!(self.state, State::UntilClose);
    }
}

#[derive(Clone, Copy, Debug)]
enum Length {
    Known(u64),
    Chunked,
    UntilClose,
}

#[derive(Clone, Copy, Debug)]
struct Framing {
    length: Length,
    keeps: bool,
}

impl Framing {
    fn of(fields: &[Header<'_>], is_http11: bool) -> Result<Self, ResponseError> {
        let (mut length, mut chunked, mut coded) = (None, false, false);
        let (mut closes, mut keeps) = (false, false);
        for field in fields {
            // Most names are told apart by their length.
            match field.name.len() {
                14 if field.name.eq_ignore_ascii_case("content-length") => {
                    let value = known_length(field.value)?;
                    if length.replace(value).is_some_and(|other| other != value) {
                        return Err(ResponseError::Malformed("the answer has two lengths"));
                    }
                }
                17 if field.name.eq_ignore_ascii_case("transfer-encoding") => {
                    coded = true;
                    let last = members(field.value).last();
                    chunked = last.is_some_and(|last| last.eq_ignore_ascii_case(b"chunked"));
                }
                10 if field.name.eq_ignore_ascii_case("connection") => {
                    for member in members(field.value) {
                        closes |= member.eq_ignore_ascii_case(b"close");
                        keeps |= member.eq_ignore_ascii_case(b"keep-alive");
                    }
                }
                _ => {}
            }
        }
        let keeps = !closes && (is_http11 || keeps);
        let length = match (coded, chunked, length) {
            (true, true, _) => Length::Chunked,
            (false, _, Some(bytes)) => Length::Known(bytes),
            _ => Length::UntilClose,
        };
        Ok(Self { length, keeps })
    }
}

fn members(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii)
}

fn known_length(value: &[u8]) -> Result<u64, ResponseError> {
    const WRONG: ResponseError = ResponseError::Malformed("the Content-Length is not a number");
    if value.is_empty() || value.len() > 18 || !value.iter().all(u8::is_ascii_digit) {
        return Err(WRONG);
    }
    Ok(value.iter().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is told of an answer that comes in pieces of `step` bytes, and then its end.
    fn read(text: &str, step: usize, is_head: bool) -> String {
        struct Body(Vec<u8>);
        impl Witness for Body {
            fn body(&mut self, bytes: &[u8]) {
                self.0.extend_from_slice(bytes);
            }
        }
        let (mut reader, mut buffer) = (ResponseReader::new(is_head), BytesMut::new());
        let mut body = Body(Vec::new());
        let told = |answer: Answer, body: &Body, left: usize| {
            assert_eq!(answer.body_bytes, body.0.len() as u64);
            let shown = String::from_utf8_lossy(&body.0);
            let keeps = if answer.keeps { "keeps" } else { "closes" };
            format!("{} {shown:?} {keeps}, {left} left", answer.status)
        };
        let mut pieces = text.as_bytes().chunks(step.max(1));
        while let Some(piece) = pieces.next() {
            buffer.extend_from_slice(piece);
            match reader.read(&mut buffer, &mut Memo::default(), &mut body) {
                Ok(Step::More) => {}
                Ok(Step::Whole(answer)) => {
                    let left = buffer.len() + pieces.map(<[u8]>::len).sum::<usize>();
                    return told(answer, &body, left);
                }
                Err(error) => return error.to_string(),
            }
        }
        match reader.end(&buffer) {
            Ok(answer) => told(answer, &body, buffer.len()),
            Err(error) => error.to_string(),
        }
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        for step in 1..=text.len().max(1) {
            assert_eq!(read(text, step, false), expected, "{text:?} by {step}");
        }
    }

    #[test]
    fn lengths_chunks_and_ends_delimit_a_body() {
        check("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHT", "200 \"ok\" keeps, 2 left");
        check(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n1;a\r\n!\r\n0\r\nA: b\r\n\r\n",
            "200 \"ok!\" keeps, 0 left",
        );
        check("HTTP/1.1 200 OK\r\n\r\nuntil the end", "200 \"until the end\" closes, 0 left");
        check(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nContent-Length: 1\r\n\r\nabc",
            "200 \"abc\" closes, 0 left",
        );
        check(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 9\r\n\r\n0\r\n\r\n",
            "200 \"\" keeps, 0 left",
        );
    }

    #[test]
    fn some_answers_have_no_body() {
        check("HTTP/1.1 204 None\r\n\r\n", "204 \"\" keeps, 0 left");
        check("HTTP/1.1 304 Same\r\nContent-Length: 5\r\n\r\n", "304 \"\" keeps, 0 left");
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
        assert_eq!(read(head, 7, true), "200 \"\" keeps, 0 left");
        check(
            "HTTP/1.1 100 Go on\r\n\r\nHTTP/1.1 103 Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na",
            "200 \"a\" keeps, 0 left",
        );
    }

    #[test]
    fn a_head_that_comes_again_says_the_same_and_another_one_is_read() {
        let answers = [
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nHT",
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
            "HTTP/1.1 404 No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 404 No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 100 Go on\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
        ];
        let mut memo = Memo::default();
        for answer in answers {
            let told = [&mut memo, &mut Memo::default()].map(|memo| {
                let mut buffer = BytesMut::from(answer);
                let step = ResponseReader::new(false).read(&mut buffer, memo, &mut ());
                (step, buffer.len())
            });
            assert!(matches!(told[0], (Ok(Step::Whole(_)), 0)), "{answer:?}: {told:?}");
            assert_eq!(told[0], told[1], "{answer:?}");
        }
        // The answer to HEAD has the same head and no body.
        let mut buffer = BytesMut::from(answers[0]);
        let step = ResponseReader::new(true).read(&mut buffer, &mut memo, &mut ());
        assert!(matches!(step, Ok(Step::Whole(Answer { body_bytes: 0, .. }))), "{step:?}");
        assert_eq!(buffer, "ab");
    }

    #[test]
    fn connections_are_kept_by_the_law() {
        for (version, connection, expected) in [
            ("1.1", "", "keeps"),
            ("1.1", "Connection: Close\r\n", "closes"),
            ("1.1", "Connection: x, close\r\n", "closes"),
            ("1.0", "", "closes"),
            ("1.0", "Connection: Keep-Alive\r\n", "keeps"),
        ] {
            let text = format!("HTTP/{version} 200 OK\r\n{connection}Content-Length: 0\r\n\r\n");
            check(&text, &format!("200 \"\" {expected}, 0 left"));
        }
    }

    #[test]
    fn what_breaks_off_is_never_whole() {
        let nothing = "the connection ended without an answer";
        let broken = "the connection ended in the middle of an answer";
        assert_eq!(read("", 1, false), nothing);
        for text in [
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            "HTTP/1.1 100 Go on\r\n\r\nHTTP/1.1 204 None\r\n\r\n",
        ] {
            for end in 1..text.len() {
                check(&text[..end], broken);
            }
        }
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_refused() {
        let two = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab";
        check(two, "the answer has two lengths");
        let wrong = "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nab";
        check(wrong, "the Content-Length is not a number");
        check("SSH-2.0-OpenSSH_9\r\n", "what came is not an answer in HTTP/1");
        check("HTTP/1.1 101 Switch\r\n\r\n", "101 to who asked for no other protocol");
        let endless = format!("HTTP/1.1 200 OK\r\nA: {}\r\n\r\n", "a".repeat(HEAD_BYTES_MAX));
        for step in [1_000, endless.len()] {
            assert_eq!(read(&endless, step, false), "the head of the answer is longer than 64 KiB");
        }
    }
}
