//! A request's head: pseudo-fields and fields out of a block.
//!
//! What is checked here is what the library of HTTP/2 checks there; the rest is
//! [`crate::decoded`], the same for both.
//! Invariant: each pseudo-field is there once, before all fields.

use http::request::Parts;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderName, HeaderValue, Method, Request, Uri, Version, uri};

use crate::h1::HeadError;
use crate::qpack::{BlockError, decode};

#[derive(Default)]
struct Head {
    method: Option<Method>,
    scheme: Option<Scheme>,
    authority: Option<Authority>,
    path: Option<PathAndQuery>,
}

/// Reads a request's block of fields, which come to no more than so many bytes.
///
/// # Errors
/// [`BlockError::Broken`] ends the connection, the others are for its client to know.
pub fn read_head(block: &[u8], bytes_max: usize) -> Result<Parts, BlockError<HeadError>> {
    let (mut head, mut request) = (Head::default(), Request::new(()));
    let fields = request.headers_mut();
    decode(block, bytes_max, |name, value| {
        if name.starts_with(b":") {
            return match fields.is_empty() {
                true => head.take(name, value),
                false => malformed("a pseudo-field stands behind other fields"),
            };
        }
        let read = (HeaderName::from_lowercase(name), HeaderValue::from_bytes(value));
        let (Ok(name), Ok(value)) = read else {
            return malformed("a field holds a forbidden character");
        };
        // It refuses only what no head of an allowed size can bear.
        fields.try_append(name, value).map_err(|_| HeadError::TooLarge)?;
        Ok(())
    })?;
    let (method, uri) = head.end().map_err(BlockError::Refused)?;
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    *request.version_mut() = Version::HTTP_3;
    Ok(request.into_parts().0)
}

impl Head {
    fn take(&mut self, name: &[u8], value: &[u8]) -> Result<(), HeadError> {
        match name {
            b":method" => once(&mut self.method, Method::from_bytes(value).ok()),
            b":scheme" => once(&mut self.scheme, Scheme::try_from(value).ok()),
            b":authority" => once(&mut self.authority, Authority::try_from(value).ok()),
            b":path" if value.is_empty() => malformed("the :path is empty"),
            b":path" => once(&mut self.path, PathAndQuery::try_from(value).ok()),
            _ => malformed("a pseudo-field is none of requests"),
        }
    }

    fn end(self) -> Result<(Method, Uri), HeadError> {
        let missing = |what| HeadError::Malformed(what);
        let method = self.method.ok_or(missing("the :method is missing"))?;
        if method == Method::CONNECT {
            return Err(HeadError::Malformed("CONNECT is for proxies"));
        }
        let scheme = self.scheme.ok_or(missing("the :scheme is missing"))?;
        let mut parts = uri::Parts::default();
        parts.path_and_query = Some(self.path.ok_or(missing("the :path is missing"))?);
        if scheme != Scheme::HTTP && scheme != Scheme::HTTPS {
            return Err(HeadError::Malformed("the scheme is neither http nor https"));
        }
        if let Some(authority) = self.authority {
            (parts.scheme, parts.authority) = (Some(scheme), Some(authority));
        }
        let uri = Uri::from_parts(parts).map_err(|_| HeadError::Malformed("the URI is none"))?;
        Ok((method, uri))
    }
}

fn malformed(what: &'static str) -> Result<(), HeadError> {
    Err(HeadError::Malformed(what))
}

/// Puts a value that is one into its place, if that is empty.
fn once<T>(place: &mut Option<T>, value: Option<T>) -> Result<(), HeadError> {
    match (place.is_some(), value) {
        (true, _) => malformed("a pseudo-field is there twice"),
        (_, None) => malformed("a pseudo-field holds what it must not"),
        (_, value) => {
            *place = value;
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qpack::encode;

    /// Reads a head written as fields, a line each; `method uri` or what is wrong with it.
    fn shown(text: &str) -> String {
        let mut block = Vec::new();
        let fields = text.split('\n').filter_map(|line| line.split_once('='));
        encode(fields.map(|(name, value)| (name, value.as_bytes())), &mut block);
        match read_head(&block, 500) {
            Ok(parts) => format!("{} {} {:?}", parts.method, parts.uri, parts.headers),
            Err(BlockError::Refused(error)) => error.to_string(),
            Err(error) => format!("{error:?}"),
        }
    }

    #[test]
    fn a_head_names_each_of_its_pseudo_fields_once_and_first() {
        let long = format!(":method=GET\n:scheme=https\n:path=/\nx={}", "y".repeat(400));
        for (text, expected) in [
            (
                ":method=GET\n:scheme=https\n:authority=a\n:path=/x?y\nb=c",
                "GET https://a/x?y {\"b\": \"c\"}",
            ),
            (":path=/\n:method=GET\n:scheme=http\nhost=a", "GET / {\"host\": \"a\"}"),
            (":method=OPTIONS\n:scheme=https\n:authority=a\n:path=*", "OPTIONS https://a* {}"),
            (":method=GET\n:scheme=https\n:path=/\n:path=/", "a pseudo-field is there twice"),
            (":method=GET\n:method=GET", "a pseudo-field is there twice"),
            (":method=GET\nb=c\n:path=/", "a pseudo-field stands behind other fields"),
            (":method=GET\n:status=200", "a pseudo-field is none of requests"),
            (":method=GET\n:protocol=websocket", "a pseudo-field is none of requests"),
            (":scheme=https\n:path=/", "the :method is missing"),
            (":method=GET\n:path=/", "the :scheme is missing"),
            (":method=GET\n:scheme=https", "the :path is missing"),
            (":method=GET\n:scheme=ftp\n:path=/", "the scheme is neither http nor https"),
            (":method=CONNECT\n:authority=a:80", "CONNECT is for proxies"),
            (":method=GET\n:path=", "the :path is empty"),
            (":method=GET\n:path=/a b", "a pseudo-field holds what it must not"),
            (":method=GET\n:authority=", "a pseudo-field holds what it must not"),
            (":method=G T", "a pseudo-field holds what it must not"),
            (":method=GET\nX=y", "a field holds a forbidden character"),
            (":method=GET\n=y", "a field holds a forbidden character"),
            (":method=GET\nx=a\rb", "a field holds a forbidden character"),
            (&long, "TooLarge"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }
}
