//! Messages as the bytes say them: read strictly, so that a server's slip shows.
//!
//! In: all bytes received since the message began. Out: what of it is there. The
//! reading starts anew each time bytes come; scenes are small, and so there is no
//! state that could be wrong. Law: RFC 9112.
//! Not [`wire::h1`]: what is under test is not its own judge.

use wire::Fields;

/// A head that is longer is no head.
const HEAD_BYTES_MAX: usize = 4 << 20;

/// The part of a message that has come.
#[derive(Clone, Debug, Default)]
pub struct Received {
    /// The first line.
    pub line: String,
    /// The status of a response; 0 in a request.
    pub status: u16,
    /// The fields.
    pub fields: Fields,
    /// The body as far as it has come.
    pub body: Vec<u8>,
    /// The trailers.
    pub trailers: Fields,
    /// How it stands.
    pub state: State,
}

/// How far a message has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// More must come.
    #[default]
    Unfinished,
    /// It is whole; so many bytes were its own.
    Whole(usize),
    /// The connection ended before it was whole.
    Cut,
}

/// How a body is delimited.
enum Framing {
    None,
    Length(usize),
    Chunks,
    UntilClose,
}

impl Received {
    /// Reads a request.
    ///
    /// # Errors
    /// What is wrong with it, in a sentence's words.
    pub fn request(bytes: &[u8], ended: bool) -> Result<Option<Self>, String> {
        let Some((mut message, head_bytes)) = read_head(bytes)? else { return Ok(None) };
        let mut words = message.line.split(' ');
        let (method, target, version) = (words.next(), words.next(), words.next());
        let sound = method.is_some_and(|m| !m.is_empty())
            && target.is_some_and(|t| !t.is_empty())
            && matches!(version, Some("HTTP/1.1" | "HTTP/1.0"))
            && words.next().is_none();
        if !sound {
            return Err(format!("\"{}\" is not a request line", message.line));
        }
        let framing = match read_framing(&message.fields)? {
            Framing::UntilClose => Framing::None,
            framing => framing,
        };
        message.read_body(&bytes[head_bytes..], head_bytes, &framing, ended)?;
        Ok(Some(message))
    }

    /// Reads a response to a request with this method.
    ///
    /// # Errors
    /// What is wrong with it, in a sentence's words.
    pub fn response(bytes: &[u8], method: &str, ended: bool) -> Result<Option<Self>, String> {
        let Some((mut message, head_bytes)) = read_head(bytes)? else { return Ok(None) };
        let line = &message.line;
        let rest = line.strip_prefix("HTTP/1.1 ").or_else(|| line.strip_prefix("HTTP/1.0 "));
        let status = rest.and_then(|rest| rest.get(..3)?.parse().ok());
        // The space behind the status stands also where there is no reason phrase.
        message.status = status
            .filter(|_| rest.is_some_and(|rest| rest[3..].starts_with(' ')))
            .ok_or_else(|| format!("\"{line}\" is not a status line"))?;
        let bodiless = method == "HEAD" || matches!(message.status, 100..=199 | 204 | 304);
        let framing = read_framing(&message.fields)?;
        let framing = if bodiless { Framing::None } else { framing };
        message.read_body(&bytes[head_bytes..], head_bytes, &framing, ended)?;
        Ok(Some(message))
    }

    /// The method of a request.
    #[must_use]
    pub fn method(&self) -> &str {
        self.line.split(' ').next().unwrap_or_default()
    }

    /// The target of a request.
    #[must_use]
    pub fn target(&self) -> &str {
        self.line.split(' ').nth(1).unwrap_or_default()
    }

    fn read_body(
        &mut self,
        bytes: &[u8],
        head_bytes: usize,
        framing: &Framing,
        ended: bool,
    ) -> Result<(), String> {
        let whole = match framing {
            Framing::None => Some(0),
            Framing::Length(length) => {
                self.body.extend_from_slice(&bytes[..bytes.len().min(*length)]);
                (bytes.len() >= *length).then_some(*length)
            }
            Framing::UntilClose => {
                self.body.extend_from_slice(bytes);
                ended.then_some(bytes.len())
            }
            Framing::Chunks => self.read_chunks(bytes)?,
        };
        self.state = match whole {
            Some(body_bytes) => State::Whole(head_bytes + body_bytes),
            None if ended => State::Cut,
            None => State::Unfinished,
        };
        Ok(())
    }

    /// Reads chunks and trailers; returns their length once they are whole.
    fn read_chunks(&mut self, bytes: &[u8]) -> Result<Option<usize>, String> {
        let mut at = 0;
        loop {
            let Some(line) = line_at(bytes, at)? else { return Ok(None) };
            let size = line.split(|&b| b == b';').next().unwrap_or_default();
            let size = std::str::from_utf8(size).ok().filter(|size| !size.starts_with('+'));
            let size = size.and_then(|size| usize::from_str_radix(size, 16).ok());
            let size = size.filter(|&size| size <= 1 << 40);
            let size = size.ok_or("a chunk's size is not a hexadecimal number")?;
            at += line.len() + 2;
            if size == 0 {
                return self.read_trailers(bytes, at);
            }
            let end = bytes.len().min(at + size);
            self.body.extend_from_slice(&bytes[at..end]);
            match bytes.get(at + size..at + size + 2) {
                Some(b"\r\n") => at += size + 2,
                Some(_) => return Err("a chunk does not end where its size says".into()),
                None => return Ok(None),
            }
        }
    }

    fn read_trailers(&mut self, bytes: &[u8], mut at: usize) -> Result<Option<usize>, String> {
        loop {
            let Some(line) = line_at(bytes, at)? else { return Ok(None) };
            at += line.len() + 2;
            if line.is_empty() {
                return Ok(Some(at));
            }
            push_field(&mut self.trailers, line)?;
        }
    }
}

/// The first line and the fields, once the empty line behind them is there.
fn read_head(bytes: &[u8]) -> Result<Option<(Received, usize)>, String> {
    let mut message = Received::default();
    let Some(first) = line_at(bytes, 0)? else { return Ok(None) };
    message.line = String::from_utf8_lossy(first).into_owned();
    let mut at = first.len() + 2;
    loop {
        let Some(line) = line_at(bytes, at)? else { return Ok(None) };
        at += line.len() + 2;
        if line.is_empty() {
            return Ok(Some((message, at)));
        }
        push_field(&mut message.fields, line)?;
    }
}

fn push_field(fields: &mut Fields, line: &[u8]) -> Result<(), String> {
    let wrong = || format!("\"{}\" is not a field", String::from_utf8_lossy(line));
    let colon = line.iter().position(|&b| b == b':').ok_or_else(wrong)?;
    fields.try_push(&line[..colon], &line[colon + 1..]).map_err(|_| wrong())
}

/// The line that begins at `at`, without its CRLF, once that is there.
fn line_at(bytes: &[u8], at: usize) -> Result<Option<&[u8]>, String> {
    let rest = bytes.get(at..).unwrap_or_default();
    match rest.iter().position(|&b| b == b'\n') {
        None if rest.len() > HEAD_BYTES_MAX => Err("a line has no end".into()),
        None => Ok(None),
        Some(end) if rest[..end].ends_with(b"\r") => Ok(Some(&rest[..end - 1])),
        Some(_) => Err("a line ends in a bare LF".into()),
    }
}

fn read_framing(fields: &Fields) -> Result<Framing, String> {
    use wire::Name;
    let mut lengths = fields.all(Name::ContentLength);
    let coded = fields.has(Name::TransferEncoding);
    match (lengths.next(), lengths.next()) {
        (Some(_), _) if coded => Err("both Content-Length and Transfer-Encoding".into()),
        (Some(_), Some(_)) => Err("two Content-Length fields".into()),
        (Some(length), None) => std::str::from_utf8(length)
            .ok()
            .filter(|text| text.bytes().all(|b| b.is_ascii_digit()))
            .and_then(|text| text.parse().ok())
            .map(Framing::Length)
            .ok_or_else(|| "the Content-Length is not a number".into()),
        (None, _) if coded => {
            if fields.members(Name::TransferEncoding).eq([&b"chunked"[..]]) {
                Ok(Framing::Chunks)
            } else {
                Err("a transfer coding other than chunked".into())
            }
        }
        (None, _) => Ok(Framing::UntilClose),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a response and shows it in a line.
    fn shown(text: &str, method: &str, ended: bool) -> String {
        match Received::response(text.as_bytes(), method, ended) {
            Err(error) => error,
            Ok(None) => "no head yet".into(),
            Ok(Some(message)) => {
                let body = String::from_utf8_lossy(&message.body).into_owned();
                format!("{} {body:?} {:?}", message.status, message.state)
            }
        }
    }

    #[test]
    fn responses_are_read_as_their_framing_says() {
        for (text, method, ended, wanted) in [
            ("HTTP/1.1 200 OK\r\n", "GET", false, "no head yet"),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabc",
                "GET",
                false,
                "200 \"ab\" Whole(40)",
            ),
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na", "GET", false, "200 \"a\" Unfinished"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na", "GET", true, "200 \"a\" Cut"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", "HEAD", false, "200 \"\" Whole(38)"),
            ("HTTP/1.1 304 \r\n\r\nx", "GET", false, "304 \"\" Whole(17)"),
            ("HTTP/1.1 304\r\n\r\n", "GET", false, "\"HTTP/1.1 304\" is not a status line"),
            ("HTTP/1.1 200 OK\r\n\r\nall", "GET", true, "200 \"all\" Whole(22)"),
            ("HTTP/1.1 200 OK\n\n", "GET", false, "a line ends in a bare LF"),
            ("HTTP/1.1 200 OK\r\na : b\r\n\r\n", "GET", false, "\"a : b\" is not a field"),
        ] {
            assert_eq!(shown(text, method, ended), wanted, "{text:?}");
        }
    }

    #[test]
    fn chunks_are_joined_and_their_slips_are_found() {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        for (body, ended, wanted) in [
            ("2\r\nab\r\n1;x\r\nc\r\n0\r\n\r\n", false, "200 \"abc\" Whole(67)"),
            ("2\r\nab\r\n0\r\nSum: 1\r\n\r\nHTTP", false, "200 \"ab\" Whole(67)"),
            ("2\r\nab\r\n0\r\n", true, "200 \"ab\" Cut"),
            ("2\r\nabc\r\n", false, "a chunk does not end where its size says"),
            ("zz\r\n", false, "a chunk's size is not a hexadecimal number"),
        ] {
            assert_eq!(shown(&format!("{head}{body}"), "GET", ended), wanted, "{body:?}");
        }
    }

    #[test]
    fn a_message_with_two_lengths_is_an_error() {
        for (fields, wanted) in [
            ("Content-Length: 1\r\nContent-Length: 1\r\n", "two Content-Length fields"),
            (
                "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
                "both Content-Length and Transfer-Encoding",
            ),
            ("Transfer-Encoding: gzip, chunked\r\n", "a transfer coding other than chunked"),
        ] {
            assert_eq!(shown(&format!("HTTP/1.1 200 OK\r\n{fields}\r\n"), "GET", false), wanted);
        }
    }
}
