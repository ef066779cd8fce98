//! Message heads, as every room from the listener to the origin sees them.

use http::Method;

use crate::Fields;

/// The client's protocol version; in HTTP/1 it decides about framing and persistence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// HTTP/1.0: one answer a connection unless asked otherwise.
    Http10,
    /// HTTP/1.1.
    #[default]
    Http11,
    /// HTTP/2: many requests at once.
    Http2,
    /// HTTP/3: the same over QUIC.
    Http3,
}

/// A request line with its fields, normalised.
#[derive(Clone, Debug, Default)]
pub struct RequestHead {
    /// The method.
    pub method: Method,
    /// Path and query exactly as sent, from the first `/`; `*` for `OPTIONS *`.
    pub target: String,
    /// Host, lower case, with its port if one was named; empty if HTTP/1.0 named none.
    pub host: String,
    /// The version on the request line.
    pub version: Version,
    /// The fields as sent, `Host` among them.
    pub fields: Fields,
}

impl RequestHead {
    /// The path alone, still percent-encoded.
    #[must_use]
    pub fn path(&self) -> &str {
        memchr::memchr(b'?', self.target.as_bytes()).map_or(&self.target, |end| &self.target[..end])
    }

    /// The query without its `?`, if there is one.
    #[must_use]
    pub fn query(&self) -> Option<&str> {
        self.target.split_once('?').map(|(_, query)| query)
    }
}

/// A status with its fields.
#[derive(Clone, Debug, PartialEq)]
pub struct ResponseHead {
    /// The status code, 100 to 999.
    pub status: u16,
    /// The fields as the origin sent them.
    pub fields: Fields,
}
