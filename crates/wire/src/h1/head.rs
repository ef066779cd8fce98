//! The request head: request line and fields, checked and normalised.
//!
//! In: the bytes received so far. Out: a [`RequestHead`] with its [`Framing`], or
//! "not yet", or the reason why this connection must end.
//! Law: RFC 9112 §2.2, §3, §5, §6; RFC 9110 §7.2.
//! Invariants: 1. two readings of one head's length never exist: anything that
//! could have two is an error. 2. `host` and the `Host` field agree.

use std::mem::MaybeUninit;

use http::Method;

use crate::{Name, RequestHead, Version};

/// At most this many fields; browsers send about fifteen.
pub const FIELDS_MAX: usize = 100;

/// How large a head may be.
#[derive(Clone, Copy, Debug)]
pub struct HeadLimits {
    /// Bytes of the whole head.
    pub head_bytes_max: usize,
    /// Bytes of the request target.
    pub target_bytes_max: usize,
}

impl Default for HeadLimits {
    fn default() -> Self {
        Self { head_bytes_max: 64 << 10, target_bytes_max: 16 << 10 }
    }
}

/// How a request's body is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// There is no body.
    None,
    /// Exactly this many bytes, at least one.
    Known(u64),
    /// In chunks.
    Chunked,
}

/// What a head says about its message and its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// How the body is delimited.
    pub length: Length,
    /// Whether the connection may carry another request.
    pub persistent: bool,
    /// Whether the client waits for `100 Continue` before it sends the body.
    pub expects_continue: bool,
}

/// A head that is refused; after it the connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeadError {
    /// Not HTTP, or ambiguous: 400.
    #[error("{0}")]
    Malformed(&'static str),
    /// What HTTP/2 and HTTP/3 call a malformed message: 400, or the end of its stream.
    #[error("{0}")]
    Message(&'static str),
    /// The target is too long: 414.
    #[error("the request target is too long")]
    TargetTooLong,
    /// The head is too long or has too many fields: 431.
    #[error("the request head is too large")]
    TooLarge,
    /// A transfer coding that we don't know: 501.
    #[error("the transfer coding is not supported")]
    Coding,
    /// Not HTTP/1.0 or HTTP/1.1: 505.
    #[error("the HTTP version is not supported")]
    Version,
    /// An expectation other than 100-continue: 417.
    #[error("the expectation cannot be met")]
    Expectation,
}

impl HeadError {
    /// The status that tells the client.
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            Self::Malformed(_) | Self::Message(_) => 400,
            Self::TargetTooLong => 414,
            Self::Expectation => 417,
            Self::TooLarge => 431,
            Self::Coding => 501,
            Self::Version => 505,
        }
    }
}

/// Reads one head from the front of `bytes` into `head`, whose memory is reused.
///
/// `scanned` is where the search for the head's end goes on: 0 for a new head,
/// then what the last call left there. Returns the head's length in bytes and its
/// framing, or `None` when more bytes are needed.
///
/// # Errors
/// The head can't become valid, whatever follows.
pub fn read_head(
    bytes: &[u8],
    scanned: &mut usize,
    head: &mut RequestHead,
    limits: &HeadLimits,
) -> Result<Option<(usize, Framing)>, HeadError> {
    let start = leading_empty_lines(bytes)?;
    let Some(end) = find_end(bytes, start, scanned)? else {
        return if bytes.len() < limits.head_bytes_max {
            Ok(None)
        } else if bytes[start..].iter().take(limits.head_bytes_max).any(|&b| b == b'\n') {
            Err(HeadError::TooLarge)
        } else {
            Err(HeadError::TargetTooLong)
        };
    };
    if end - start > limits.head_bytes_max {
        return Err(HeadError::TooLarge);
    }

    let mut lines = [const { MaybeUninit::<httparse::Header<'_>>::uninit() }; FIELDS_MAX];
    let mut parsed = httparse::Request::new(&mut []);
    match parsed.parse_with_uninit_headers(&bytes[start..end], &mut lines) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) => return Err(HeadError::Malformed("the head is cut short")),
        Err(error) => return Err(refusal(error)),
    }
    head.version = match parsed.version {
        Some(1) => Version::Http11,
        Some(0) => Version::Http10,
        _ => return Err(HeadError::Version),
    };
    let method = parsed.method.unwrap_or_default();
    if head.method.as_str() != method {
        head.method = Method::from_bytes(method.as_bytes())
            .map_err(|_| HeadError::Malformed("the method is not a token"))?;
    }
    head.fields.clear();
    for line in parsed.headers.iter() {
        head.fields
            .try_push(line.name.as_bytes(), line.value)
            .map_err(|_| HeadError::Malformed("a field holds a forbidden character"))?;
    }
    let target = parsed.path.unwrap_or_default();
    if target.len() > limits.target_bytes_max {
        return Err(HeadError::TargetTooLong);
    }
    read_host(head)?;
    read_target(target, head)?;
    let framing = read_framing(head)?;
    Ok(Some((end, framing)))
}

/// Empty lines before a request are skipped, two at the most (RFC 9112 §2.2).
fn leading_empty_lines(bytes: &[u8]) -> Result<usize, HeadError> {
    let mut start = 0;
    while bytes[start..].starts_with(b"\r\n") {
        start += 2;
        if start > 4 {
            return Err(HeadError::Malformed("empty lines instead of a request"));
        }
    }
    Ok(start)
}

/// The index behind the empty line that ends the head; a LF without CR is refused.
fn find_end(bytes: &[u8], start: usize, scanned: &mut usize) -> Result<Option<usize>, HeadError> {
    let mut at = (*scanned).max(start);
    while let Some(offset) = memchr::memchr(b'\n', &bytes[at..]) {
        let feed = at + offset;
        if feed == 0 || bytes[feed - 1] != b'\r' {
            return Err(HeadError::Malformed("a line ends in a bare LF"));
        }
        if feed >= start + 3 && bytes[feed - 2] == b'\n' {
            return Ok(Some(feed + 1));
        }
        at = feed + 1;
    }
    *scanned = bytes.len();
    Ok(None)
}

fn refusal(error: httparse::Error) -> HeadError {
    match error {
        httparse::Error::TooManyHeaders => HeadError::TooLarge,
        httparse::Error::Version => HeadError::Version,
        httparse::Error::HeaderName => HeadError::Malformed("a field name is not a token"),
        httparse::Error::HeaderValue => HeadError::Malformed("a field holds a forbidden character"),
        _ => HeadError::Malformed("the request line is malformed"),
    }
}

fn read_host(head: &mut RequestHead) -> Result<(), HeadError> {
    let mut hosts = head.fields.all(Name::Host);
    match (hosts.next(), hosts.next(), head.version) {
        // What stands there is in the form that it is brought to, so the same again is so too.
        (Some(host), None, _) if !host.is_empty() && head.host.as_bytes() == host => Ok(()),
        (Some(host), None, _) => {
            head.host.clear();
            push_host(&mut head.host, host)
        }
        (None, _, Version::Http10) => {
            head.host.clear();
            Ok(())
        }
        (None, _, _) => Err(HeadError::Malformed("the Host field is missing")),
        (Some(_), Some(_), _) => Err(HeadError::Malformed("there is more than one Host field")),
    }
}

/// Accepts a host name or address with an optional port, in lower case.
pub(crate) fn push_host(out: &mut String, host: &[u8]) -> Result<(), HeadError> {
    const WRONG: HeadError = HeadError::Malformed("the Host is not a host name with a port");
    let text = std::str::from_utf8(host).map_err(|_| WRONG)?;
    let (name, port) = if let Some(literal) = text.strip_prefix('[') {
        let end = literal.find(']').ok_or(WRONG)?;
        if !literal[..end].bytes().all(|b| b.is_ascii_hexdigit() || b":.".contains(&b)) {
            return Err(WRONG);
        }
        (&text[..end + 2], &literal[end + 1..])
    } else {
        let end = memchr::memchr(b':', host).unwrap_or(text.len());
        (&text[..end], &text[end..])
    };
    let is_name = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    if name.is_empty() || !(name.starts_with('[') || name.bytes().all(is_name)) {
        return Err(WRONG);
    }
    let digits = port.strip_prefix(':').unwrap_or("");
    if (!port.is_empty() && !port.starts_with(':'))
        || (!digits.is_empty() && digits.parse::<u16>().is_err())
        || !digits.bytes().all(|b| b.is_ascii_digit())
    {
        return Err(WRONG);
    }
    out.reserve(text.len());
    out.push_str(name);
    out.make_ascii_lowercase();
    if !digits.is_empty() {
        out.push(':');
        out.push_str(digits);
    }
    Ok(())
}

/// Reduces the four forms of a target (RFC 9112 §3.2) to path and query.
fn read_target(target: &str, head: &mut RequestHead) -> Result<(), HeadError> {
    head.target.clear();
    if memchr::memchr(b'#', target.as_bytes()).is_some() {
        return Err(HeadError::Malformed("the target holds a fragment"));
    }
    let path = if target.starts_with('/') {
        target
    } else if let Some(end) = scheme_end(target) {
        let rest = &target[end + 3..];
        let path_start = rest.find(['/', '?']).unwrap_or(rest.len());
        head.host.clear();
        push_host(&mut head.host, &rest.as_bytes()[..path_start])?;
        head.fields.set(Name::Host, &head.host);
        if !rest[path_start..].starts_with('/') {
            head.target.push('/');
        }
        &rest[path_start..]
    } else if target == "*" && head.method == Method::OPTIONS {
        target
    } else if head.method == Method::CONNECT {
        return Err(HeadError::Malformed("CONNECT is for proxies"));
    } else {
        return Err(HeadError::Malformed("the target is neither a path nor an http URL"));
    };
    push_ascii(&mut head.target, path);
    Ok(())
}

/// Where the scheme of an absolute target ends, if it is one of ours.
fn scheme_end(target: &str) -> Option<usize> {
    let end = target.find("://")?;
    let is_ours = ["http", "https"].iter().any(|own| target[..end].eq_ignore_ascii_case(own));
    is_ours.then_some(end)
}

/// Copies a target, writing what is not ASCII as its percent-encoding.
pub(crate) fn push_ascii(out: &mut String, path: &str) {
    if path.is_ascii() {
        out.push_str(path);
        return;
    }
    for byte in path.bytes() {
        if byte.is_ascii() {
            out.push(char::from(byte));
        } else {
            out.push('%');
            for digit in [byte >> 4, byte & 15] {
                out.push(char::from(b"0123456789ABCDEF"[usize::from(digit)]));
            }
        }
    }
}

fn read_framing(head: &mut RequestHead) -> Result<Framing, HeadError> {
    let fields = &head.fields;
    let length = if fields.has(Name::TransferEncoding) {
        if fields.has(Name::ContentLength) {
            return Err(HeadError::Malformed("both Content-Length and Transfer-Encoding"));
        }
        if head.version == Version::Http10 {
            return Err(HeadError::Malformed("Transfer-Encoding in HTTP/1.0"));
        }
        let mut codings = fields.members(Name::TransferEncoding);
        match (codings.next(), codings.next()) {
            (Some(one), None) if one.eq_ignore_ascii_case(b"chunked") => Length::Chunked,
            (Some(_), _) if fields.members(Name::TransferEncoding).last() == Some(b"chunked") => {
                return Err(HeadError::Coding);
            }
            _ => return Err(HeadError::Malformed("the final transfer coding is not chunked")),
        }
    } else if fields.has(Name::ContentLength) {
        known_length(fields.all(Name::ContentLength))?
    } else {
        Length::None
    };
    let expects_continue = match fields.first(Name::Expect) {
        None => false,
        Some(e) if e.eq_ignore_ascii_case(b"100-continue") => head.version == Version::Http11,
        Some(_) => return Err(HeadError::Expectation),
    };
    let persistent = match head.version {
        _ if !fields.has(Name::Connection) => head.version == Version::Http11,
        Version::Http11 | Version::Http2 | Version::Http3 => {
            !fields.has_member(Name::Connection, "close")
        }
        Version::Http10 => {
            fields.has_member(Name::Connection, "keep-alive")
                && !fields.has_member(Name::Connection, "close")
        }
    };
    Ok(Framing { length, persistent, expects_continue })
}

/// One length, written in digits only; the same one twice is refused like two different ones.
pub(crate) fn known_length<'a>(
    mut values: impl Iterator<Item = &'a [u8]>,
) -> Result<Length, HeadError> {
    const WRONG: HeadError = HeadError::Malformed("the Content-Length is not one number");
    let (Some(value), None) = (values.next(), values.next()) else { return Err(WRONG) };
    if value.is_empty() || value.len() > 19 || !value.iter().all(u8::is_ascii_digit) {
        return Err(WRONG);
    }
    let bytes = value.iter().fold(0u64, |sum, digit| sum * 10 + u64::from(digit - b'0'));
    Ok(if bytes == 0 { Length::None } else { Length::Known(bytes) })
}

#[cfg(test)]
#[path = "head_tests.rs"]
mod tests;
