//! Request heads of HTTP/2 and HTTP/3: fields as they are decoded, checked as strictly as a
//! head of HTTP/1.1, and made the same [`RequestHead`].
//!
//! In: a request's pseudo-fields and fields, one after the other. Out: a head and its framing,
//! or why the stream must end.
//! Law: RFC 9113 §8.2, §8.3; RFC 9114 §4.2, §4.3; RFC 9110 §7.2.
//! Invariants: 1. what is refused of an HTTP/1.1 head is refused here, by the same code:
//! see [`crate::h1`]. 2. `host` and the `Host` field agree. 3. each pseudo-field is there once,
//! before all fields.

use http::Method;

use crate::h1::{FIELDS_MAX, Framing, HeadError, HeadLimits, Length};
use crate::h1::{known_length, push_ascii, push_host};
use crate::{Name, RequestHead, Version};

/// Reads heads, one after the other; its memory is reused.
#[derive(Default)]
pub struct HeadReader {
    has_method: bool,
    scheme: Option<Scheme>,
    has_authority: bool,
    authority: Vec<u8>,
    path: Vec<u8>,
    has_path: bool,
    has_fields: bool,
    host: Option<String>,
    has_cookie: bool,
    cookie: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Http,
    Other,
}

impl HeadReader {
    /// Begins another head, of this version.
    pub fn begin(&mut self, head: &mut RequestHead, version: Version) {
        for text in [&mut self.authority, &mut self.path, &mut self.cookie] {
            text.clear();
        }
        (self.has_method, self.scheme, self.has_authority) = (false, None, false);
        (self.has_path, self.has_fields, self.has_cookie) = (false, false, false);
        self.host = None;
        head.version = version;
        head.fields.clear();
        head.host.clear();
        head.target.clear();
    }

    /// Takes the next field.
    ///
    /// # Errors
    /// The request is malformed.
    pub fn take(
        &mut self,
        head: &mut RequestHead,
        name: &[u8],
        value: &[u8],
    ) -> Result<(), HeadError> {
        match name.strip_prefix(b":") {
            Some(_) if self.has_fields => {
                Err(HeadError::Message("a pseudo-field stands behind other fields"))
            }
            Some(name) => self.take_pseudo(head, name, value),
            None => {
                self.has_fields = true;
                self.take_field(head, name, value)
            }
        }
    }

    fn take_pseudo(
        &mut self,
        head: &mut RequestHead,
        name: &[u8],
        value: &[u8],
    ) -> Result<(), HeadError> {
        const WRONG: HeadError = HeadError::Message("a pseudo-field holds what it must not");
        let is_there = match name {
            b"method" => {
                if head.method.as_str().as_bytes() != value {
                    head.method = Method::from_bytes(value).map_err(|_| WRONG)?;
                }
                std::mem::replace(&mut self.has_method, true)
            }
            b"scheme" => {
                let is_known =
                    [&b"http"[..], b"https"].iter().any(|known| known.eq_ignore_ascii_case(value));
                self.scheme.replace(if is_known { Scheme::Http } else { Scheme::Other }).is_some()
            }
            b"authority" if value.is_empty() => return Err(WRONG),
            b"authority" => {
                self.authority.extend_from_slice(value);
                std::mem::replace(&mut self.has_authority, true)
            }
            b"path" if value.is_empty() => return Err(HeadError::Message("the :path is empty")),
            b"path" => {
                self.path.extend_from_slice(value);
                std::mem::replace(&mut self.has_path, true)
            }
            _ => return Err(HeadError::Message("a pseudo-field is none of requests")),
        };
        match is_there {
            true => Err(HeadError::Message("a pseudo-field is there twice")),
            false => Ok(()),
        }
    }

    fn take_field(
        &mut self,
        head: &mut RequestHead,
        name: &[u8],
        value: &[u8],
    ) -> Result<(), HeadError> {
        const CONNECTION: &str = "a field is about a connection of HTTP/1.1";
        const FORBIDDEN: HeadError = HeadError::Message("a field holds a forbidden character");
        let known = Name::of(name);
        let is_lower = !name.iter().any(u8::is_ascii_uppercase);
        match known {
            _ if !is_lower => return Err(FORBIDDEN),
            Some(
                Name::Connection
                | Name::KeepAlive
                | Name::ProxyConnection
                | Name::TransferEncoding
                | Name::Upgrade,
            ) => return Err(HeadError::Message(CONNECTION)),
            Some(Name::Te) if !value.eq_ignore_ascii_case(b"trailers") => {
                return Err(HeadError::Message("te says something other than trailers"));
            }
            Some(Name::Host) => return self.take_host(value),
            _ => check_value(value)?,
        }
        if known == Some(Name::Cookie) {
            // Cookies come one by one, so that those that stay the same need not be sent again
            // (RFC 9113 §8.2.3).
            if self.has_cookie {
                self.cookie.extend_from_slice(b"; ");
            }
            self.has_cookie = true;
            self.cookie.extend_from_slice(value);
            return Ok(());
        }
        head.fields.try_push_known(name, value, known).map_err(|_| FORBIDDEN)?;
        if head.fields.len() >= FIELDS_MAX { Err(HeadError::TooLarge) } else { Ok(()) }
    }

    fn take_host(&mut self, value: &[u8]) -> Result<(), HeadError> {
        check_value(value)?;
        let mut host = String::new();
        push_host(&mut host, value)?;
        match self.host.replace(host) {
            None => Ok(()),
            Some(_) => Err(HeadError::Malformed("there is more than one Host field")),
        }
    }

    /// Ends the head. `has_body`: the stream goes on behind it.
    ///
    /// # Errors
    /// The request is malformed, or asks for what is not served.
    pub fn end(
        &mut self,
        head: &mut RequestHead,
        has_body: bool,
        limits: &HeadLimits,
    ) -> Result<Framing, HeadError> {
        self.end_fields(head, limits)?;
        read_framing(head, has_body)
    }

    /// The same where it is not known yet whether a body follows: see [`read_framing`].
    ///
    /// # Errors
    /// The request is malformed, or asks for what is not served.
    pub fn end_fields(
        &mut self,
        head: &mut RequestHead,
        limits: &HeadLimits,
    ) -> Result<(), HeadError> {
        if !self.has_method {
            return Err(HeadError::Message("the :method is missing"));
        }
        if head.method == Method::CONNECT {
            return Err(HeadError::Malformed("CONNECT is for proxies"));
        }
        match self.scheme {
            None => return Err(HeadError::Message("the :scheme is missing")),
            Some(Scheme::Http) => {}
            Some(Scheme::Other) => {
                return Err(HeadError::Malformed("the scheme is neither http nor https"));
            }
        }
        if !self.has_path {
            return Err(HeadError::Message("the :path is missing"));
        }
        self.end_host(head)?;
        if self.has_cookie {
            head.fields
                .try_push_known(b"cookie", &self.cookie, Some(Name::Cookie))
                .map_err(|_| HeadError::Message("a field holds a forbidden character"))?;
        }
        if head.fields.len() > FIELDS_MAX {
            return Err(HeadError::TooLarge);
        }
        self.end_path(head, limits)
    }

    /// `:authority`, which a `Host` field may repeat and must not contradict; or that field
    /// alone, as who translates from HTTP/1.1 sends it.
    fn end_host(&mut self, head: &mut RequestHead) -> Result<(), HeadError> {
        match (self.has_authority, self.host.take()) {
            (false, None) => return Err(HeadError::Malformed("the :authority is missing")),
            (false, Some(host)) => head.host.push_str(&host),
            (true, host) => {
                push_host(&mut head.host, &self.authority)?;
                if host.is_some_and(|host| host != head.host) {
                    return Err(HeadError::Malformed("Host and :authority differ"));
                }
            }
        }
        head.fields.put(Name::Host, &head.host);
        Ok(())
    }

    fn end_path(&self, head: &mut RequestHead, limits: &HeadLimits) -> Result<(), HeadError> {
        const FORBIDDEN: HeadError = HeadError::Malformed("the :path holds a forbidden character");
        if self.path.len() > limits.target_bytes_max {
            return Err(HeadError::TargetTooLong);
        }
        let path = std::str::from_utf8(&self.path).map_err(|_| FORBIDDEN)?;
        if !(path.starts_with('/') || (path == "*" && head.method == Method::OPTIONS)) {
            return Err(HeadError::Malformed("the :path does not begin with a slash"));
        }
        // Without leaving early the compiler looks at many bytes at once.
        let is_forbidden = |byte: u8| byte <= b' ' || byte == 0x7f || byte == b'#';
        if path.bytes().fold(false, |found, byte| found | is_forbidden(byte)) {
            return Err(FORBIDDEN);
        }
        push_ascii(&mut head.target, path);
        Ok(())
    }
}

/// Unlike in HTTP/1.1 nothing takes white space from a value's ends, so that who passes it on
/// and who reads it might see two (RFC 9113 §8.2.1).
fn check_value(value: &[u8]) -> Result<(), HeadError> {
    let is_space = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    if is_space(value.first()) || is_space(value.last()) {
        return Err(HeadError::Malformed("a field begins or ends with white space"));
    }
    Ok(())
}

/// A body is what frames bring; a length that is told must be theirs. That it is in the end is
/// for who counts them.
///
/// # Errors
/// The length is none, or is not that of what follows.
pub fn read_framing(head: &RequestHead, has_body: bool) -> Result<Framing, HeadError> {
    let fields = &head.fields;
    let length = match (fields.has(Name::ContentLength), has_body) {
        (true, _) => known_length(fields.all(Name::ContentLength))?,
        (false, true) => Length::Chunked,
        (false, false) => Length::None,
    };
    if length != Length::None && !has_body {
        return Err(HeadError::Message("the Content-Length promises a body that is not sent"));
    }
    let expects_continue = match fields.first(Name::Expect) {
        None => false,
        Some(expected) if expected.eq_ignore_ascii_case(b"100-continue") => true,
        Some(_) => return Err(HeadError::Expectation),
    };
    Ok(Framing { length, persistent: true, expects_continue })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a head written as `METHOD URI`, then fields, a line each.
    fn read(text: &str, has_body: bool) -> Result<(RequestHead, Framing), HeadError> {
        let mut lines = text.split('\n');
        let (method, uri) = lines.next().and_then(|line| line.split_once(' ')).expect("a line");
        let mut fields = vec![(":method", method)];
        match uri.split_once("://") {
            Some((scheme, rest)) => {
                let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
                let path = if path.is_empty() { "/" } else { path };
                fields.extend([(":scheme", scheme), (":authority", authority), (":path", path)]);
            }
            None => fields.extend([(":scheme", "http"), (":path", uri)]),
        }
        fields.extend(lines.map(|line| line.split_once(':').expect("a field")));
        read_all(&fields, has_body)
    }

    fn read_all(
        fields: &[(&str, &str)],
        has_body: bool,
    ) -> Result<(RequestHead, Framing), HeadError> {
        let (mut reader, mut head) = (HeadReader::default(), RequestHead::default());
        let limits = HeadLimits { target_bytes_max: 50, ..HeadLimits::default() };
        // What another head left must not be seen.
        reader.begin(&mut head, Version::Http3);
        for (name, value) in [(":path", "/other"), ("cookie", "other"), ("host", "other")] {
            reader.take(&mut head, name.as_bytes(), value.as_bytes())?;
        }
        reader.begin(&mut head, Version::Http2);
        for (name, value) in fields {
            reader.take(&mut head, name.as_bytes(), value.as_bytes())?;
        }
        let framing = reader.end(&mut head, has_body, &limits)?;
        Ok((head, framing))
    }

    #[test]
    fn a_head_names_each_of_its_pseudo_fields_once_and_first() {
        for (text, expected) in [
            (":path=/|:method=GET|:scheme=http|host=a", "GET /"),
            (":method=OPTIONS|:scheme=HTTPS|:authority=a|:path=*", "OPTIONS *"),
            (":method=GET|:scheme=https|:path=/|:path=/", "a pseudo-field is there twice"),
            (":method=GET|:method=GET", "a pseudo-field is there twice"),
            (":method=GET|b=c|:path=/", "a pseudo-field stands behind other fields"),
            (":method=GET|:status=200", "a pseudo-field is none of requests"),
            (":method=GET|:protocol=websocket", "a pseudo-field is none of requests"),
            (":scheme=https|:path=/", "the :method is missing"),
            (":method=GET|:path=/", "the :scheme is missing"),
            (":method=GET|:scheme=https", "the :path is missing"),
            (":method=GET|:path=", "the :path is empty"),
            (":method=GET|:authority=", "a pseudo-field holds what it must not"),
            (":method=G T", "a pseudo-field holds what it must not"),
            (":method=GET|X=y", "a field holds a forbidden character"),
            (":method=GET|Accept=y", "a field holds a forbidden character"),
            (":method=GET|=y", "a field holds a forbidden character"),
            (":method=GET|x=a\rb", "a field holds a forbidden character"),
            (":method=GET|cookie=a\rb|:path=/", "a pseudo-field stands behind other fields"),
            (":method=GET|connection=close", "a field is about a connection of HTTP/1.1"),
            (":method=GET|te=gzip", "te says something other than trailers"),
        ] {
            let fields: Vec<_> = text.split('|').filter_map(|line| line.split_once('=')).collect();
            let shown = match read_all(&fields, false) {
                Ok((head, _)) => format!("{} {}", head.method, head.target),
                Err(error @ HeadError::Message(_)) => error.to_string(),
                Err(error) => format!("{error:?}"),
            };
            assert_eq!(shown, expected, "{text}");
        }
    }

    #[test]
    fn heads_are_those_of_http11() {
        for (text, host, target, fields) in [
            ("GET http://A.test:80/x?y", "a.test:80", "/x?y", "host: a.test:80|"),
            ("GET http://a.test", "a.test", "/", "host: a.test|"),
            ("GET /x\nhost:A.test", "a.test", "/x", "host: a.test|"),
            ("GET http://a.test/\nhost:A.TEST", "a.test", "/", "host: a.test|"),
            ("GET http://[::1]:8/", "[::1]:8", "/", "host: [::1]:8|"),
            ("OPTIONS *\nhost:a", "a", "*", "host: a|"),
            ("GET http://a/\nte:Trailers\nx:y z", "a", "/", "te: Trailers|x: y z|host: a|"),
            ("GET http://a/\ncookie:b=1", "a", "/", "host: a|cookie: b=1|"),
            (
                "GET http://a/\ncookie:b=1\nx:1\ncookie:c=2\ncookie:d=\"3\"",
                "a",
                "/",
                "x: 1|host: a|cookie: b=1; c=2; d=\"3\"|",
            ),
            ("GET http://a/é", "a", "/%C3%A9", "host: a|"),
        ] {
            let (head, framing) = read(text, false).expect(text);
            let mut out = Vec::new();
            head.fields.render(&mut out);
            let shown = String::from_utf8(out).expect("text").replace("\r\n", "|");
            assert_eq!((&*head.host, &*head.target, &*shown), (host, target, fields), "{text}");
            assert_eq!((head.version, framing.length), (Version::Http2, Length::None));
        }
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
        let long = format!("GET http://a/{}", "x".repeat(50));
        for (text, status) in [
            ("CONNECT a:80", 400),
            ("GET /", 400),
            ("GET /\nhost:", 400),
            ("GET /\nhost:a b", 400),
            ("GET /\nhost:a\nhost:a", 400),
            ("GET http://a/\nhost:b", 400),
            ("GET http://u@a/", 400),
            ("GET ftp://a/", 400),
            ("GET *\nhost:a", 400),
            ("GET http://a/#x", 400),
            (&long, 414),
            ("GET http://a/\nconnection:close", 400),
            ("GET http://a/\nkeep-alive:1", 400),
            ("GET http://a/\nproxy-connection:1", 400),
            ("GET http://a/\ntransfer-encoding:chunked", 400),
            ("GET http://a/\nupgrade:x", 400),
            ("GET http://a/\nte:trailers, gzip", 400),
            ("GET http://a/\nx: y", 400),
            ("GET http://a/\nx:y\t", 400),
            ("GET http://a/\ncookie:a=1\ncookie: b=1", 400),
            ("GET http://a/\ncontent-length:1", 400),
            ("GET http://a/\ncontent-length:1, 1", 400),
            ("GET http://a/\nexpect:miracles", 417),
        ] {
            let refused = read(text, false).map(|(head, _)| head.target);
            assert_eq!(refused.map_err(HeadError::status), Err(status), "{text}");
        }
    }

    #[test]
    fn a_body_is_what_frames_bring() {
        for (text, has_body, length) in [
            ("POST http://a/", true, Length::Chunked),
            ("POST http://a/\ncontent-length:3", true, Length::Known(3)),
            ("POST http://a/\ncontent-length:0", true, Length::None),
            ("POST http://a/\ncontent-length:0", false, Length::None),
        ] {
            assert_eq!(read(text, has_body).expect(text).1.length, length, "{text}");
        }
        let (_, framing) = read("POST http://a/\nexpect:100-Continue", true).expect("a head");
        assert!(framing.expects_continue);
    }

    #[test]
    fn there_is_a_bound_on_fields_but_not_on_crumbs_of_a_cookie() {
        let with = |name: &str, count: usize| {
            (0..count).fold("GET http://a/".to_owned(), |text, _| text + "\n" + name + ":a=1")
        };
        assert!(read(&with("x", 99), false).is_ok());
        assert_eq!(read(&with("x", 100), false).err(), Some(HeadError::TooLarge));
        assert!(read(&with("cookie", 500), false).is_ok());
    }
}
