//! The head of a CGI answer: fields ended by an empty line, the status among them.
//!
//! In: the first bytes of STDOUT. Out: a [`CgiHead`] and what follows it.
//! Law: RFC 3875 §6.2, §6.3.
//! Invariants: 1. The result is the same however the bytes were cut. 2. A head
//! longer than [`HEAD_BYTES_MAX`] is refused before more of it is kept.

use crate::{Fields, Name, ResponseHead};

/// The longest head that is accepted.
pub const HEAD_BYTES_MAX: usize = 256 * 1024;

/// The head of an answer as the application gave it.
#[derive(Clone, Debug, PartialEq)]
pub struct CgiHead {
    /// Status and fields; the `Status` field itself is gone.
    pub head: ResponseHead,
    /// The application named a path of this server and no status: RFC 3875 §6.2.2
    /// wants the answer of that path instead of this one.
    pub is_local_redirect: bool,
}

/// Bytes that are no head.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeadError {
    /// More than [`HEAD_BYTES_MAX`] bytes without an empty line.
    #[error("a response head longer than {HEAD_BYTES_MAX} bytes")]
    TooLong,
    /// A line that is not a field.
    #[error("a response head with the line {0:?}")]
    Line(String),
    /// A status that is not a final one.
    #[error("a response with the status {0:?}")]
    Status(String),
}

/// Gathers bytes until the head is whole.
#[derive(Debug, Default)]
pub struct HeadReader {
    text: Vec<u8>,
    line_start: usize,
}

impl HeadReader {
    /// Takes bytes; once the head is whole, gives it with how many of them belong to it.
    /// The rest is body.
    ///
    /// # Errors
    /// The head is too long or malformed; the reader is of no further use.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Option<(CgiHead, usize)>, HeadError> {
        let before = self.text.len();
        // A head nearly always comes whole, and is then read where it lies.
        let text = if before == 0 {
            bytes
        } else {
            self.text.extend_from_slice(bytes);
            &self.text
        };
        while let Some(length) = memchr::memchr(b'\n', &text[self.line_start..]) {
            let line = &text[self.line_start..self.line_start + length];
            let next = self.line_start + length + 1;
            if next > HEAD_BYTES_MAX {
                return Err(HeadError::TooLong);
            }
            if matches!(line, b"" | b"\r") {
                return Ok(Some((parse(&text[..self.line_start])?, next - before)));
            }
            self.line_start = next;
        }
        if text.len() > HEAD_BYTES_MAX {
            return Err(HeadError::TooLong);
        }
        if before == 0 {
            self.text.extend_from_slice(bytes);
        }
        Ok(None)
    }

    /// Whether no byte has come yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

fn parse(text: &[u8]) -> Result<CgiHead, HeadError> {
    let mut fields = Fields::new();
    let mut rest = text;
    while let Some(end) = memchr::memchr(b'\n', rest) {
        let (line, behind) = rest.split_at(end);
        rest = &behind[1..];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            continue;
        }
        let wrong = || HeadError::Line(shorten(line));
        let colon = memchr::memchr(b':', line).ok_or_else(wrong)?;
        fields.try_push(&line[..colon], &line[colon + 1..]).map_err(|_| wrong())?;
    }
    let location = fields.first(Name::Location);
    let is_path = location.is_some_and(|to| to.starts_with(b"/") && !to.starts_with(b"//"));
    let named = fields.first(Name::Status).map(status).transpose()?;
    let status = named.unwrap_or(if location.is_some() { 302 } else { 200 });
    let is_local_redirect = named.is_none() && is_path;
    fields.remove(Name::Status);
    Ok(CgiHead { head: ResponseHead { status, fields }, is_local_redirect })
}

/// The code at the start of a `Status` value, as in `404 Not Found`.
fn status(value: &[u8]) -> Result<u16, HeadError> {
    let code = value.split(|&b| b == b' ').next().unwrap_or_default();
    std::str::from_utf8(code)
        .ok()
        .filter(|code| code.len() == 3 && code.bytes().all(|b| b.is_ascii_digit()))
        .and_then(|code| code.parse().ok())
        .filter(|code| (200..=999).contains(code))
        .ok_or_else(|| HeadError::Status(shorten(value)))
}

fn shorten(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Status, fields and rest on one line; or the error.
    fn show(text: &[u8]) -> String {
        match HeadReader::default().push(text) {
            Ok(None) => "more".to_owned(),
            Err(error) => error.to_string(),
            Ok(Some((cgi, bytes))) => {
                let rest = bytes::Bytes::copy_from_slice(&text[bytes..]);
                let local = if cgi.is_local_redirect { " local" } else { "" };
                format!("{}{local} {:?} {rest:?}", cgi.head.status, cgi.head.fields)
            }
        }
    }

    #[test]
    fn heads_are_read_as_applications_write_them() {
        for (text, seen) in [
            ("A: b\r\n\r\nbody", r#"200 ["A: b"] b"body""#),
            ("A: b\n\nbody", r#"200 ["A: b"] b"body""#),
            ("A: b\n\r\n\r\n", r#"200 ["A: b"] b"\r\n""#),
            ("\r\nx", r#"200 [] b"x""#),
            ("Status: 404 Not Found\r\nA: b\r\n\r\n", r#"404 ["A: b"] b"""#),
            ("Status: 201\n\n", r#"201 [] b"""#),
            ("Location: http://a/\n\n", r#"302 ["Location: http://a/"] b"""#),
            ("Location: /here\n\n", r#"302 local ["Location: /here"] b"""#),
            ("Location: //a/here\n\n", r#"302 ["Location: //a/here"] b"""#),
            ("Status: 301\nLocation: /here\n\n", r#"301 ["Location: /here"] b"""#),
            ("A: b\r\n", "more"),
            ("", "more"),
            ("no field\n\n", r#"a response head with the line "no field""#),
            ("A: b\n folded\n\n", r#"a response head with the line " folded""#),
            ("A: b\0c\n\n", r#"a response head with the line "A: b\0c""#),
            ("Status: 103 Early\n\n", r#"a response with the status "103 Early""#),
            ("Status: yes\n\n", r#"a response with the status "yes""#),
        ] {
            assert_eq!(show(text.as_bytes()), seen, "{text:?}");
        }
    }

    #[test]
    fn a_head_is_the_same_wherever_it_is_cut() {
        let text = b"Status: 404 Gone\r\nA: b\r\nC: d\r\n\r\n\r\nbody";
        let mut whole = HeadReader::default();
        let (head, bytes) = whole.push(text).expect("a head").expect("whole");
        assert_eq!(&text[bytes..], b"\r\nbody");
        for cut in 0..bytes {
            let mut reader = HeadReader::default();
            assert_eq!(reader.push(&text[..cut]), Ok(None), "cut at {cut}");
            assert_eq!(reader.push(&text[cut..]), Ok(Some((head.clone(), bytes - cut))));
        }
    }

    #[test]
    fn a_head_without_end_is_refused_at_the_limit() {
        let mut reader = HeadReader::default();
        let line = format!("A: {}\n", "x".repeat(1020));
        let mut lines = 0;
        while reader.push(line.as_bytes()) == Ok(None) {
            lines += 1;
            assert!(lines <= HEAD_BYTES_MAX / line.len());
        }
        assert_eq!(lines, HEAD_BYTES_MAX / line.len());
        let long = format!("A: {}\n\n", "x".repeat(HEAD_BYTES_MAX));
        assert_eq!(HeadReader::default().push(long.as_bytes()), Err(HeadError::TooLong));
    }
}
