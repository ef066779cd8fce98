//! The field names that Wick has an opinion about.
//!
//! A known name is one byte and one bit: asking whether a message bears a field
//! costs a mask, not a search. Invariant: at most 64 names, so that the set of
//! those present fits one word.

/// A field name that some part of Wick reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs, reason = "each variant is the field of that name")]
pub enum Name {
    Accept,
    AcceptEncoding,
    AcceptLanguage,
    AcceptRanges,
    Age,
    Allow,
    Authorization,
    CacheControl,
    CacheStatus,
    CdnCacheControl,
    Connection,
    ContentDisposition,
    ContentEncoding,
    ContentLanguage,
    ContentLength,
    ContentLocation,
    ContentRange,
    ContentType,
    Cookie,
    Date,
    Etag,
    Expect,
    Expires,
    Forwarded,
    Host,
    IfMatch,
    IfModifiedSince,
    IfNoneMatch,
    IfRange,
    IfUnmodifiedSince,
    KeepAlive,
    LastModified,
    Link,
    Location,
    Origin,
    Pragma,
    ProxyAuthenticate,
    ProxyAuthorization,
    ProxyConnection,
    Range,
    Referer,
    RetryAfter,
    SecFetchDest,
    SecFetchMode,
    SecFetchSite,
    Server,
    SetCookie,
    Status,
    SurrogateControl,
    Te,
    Trailer,
    TransferEncoding,
    Upgrade,
    UserAgent,
    Vary,
    Via,
    WickCacheControl,
    XAccelRedirect,
    XForwardedFor,
    XForwardedHost,
    XForwardedProto,
    XPoweredBy,
    XRequestedWith,
    XSendfile,
}

/// Every known name with its spelling, in the order of the enum.
const SPELLINGS: [(Name, &str); 64] = [
    (Name::Accept, "accept"),
    (Name::AcceptEncoding, "accept-encoding"),
    (Name::AcceptLanguage, "accept-language"),
    (Name::AcceptRanges, "accept-ranges"),
    (Name::Age, "age"),
    (Name::Allow, "allow"),
    (Name::Authorization, "authorization"),
    (Name::CacheControl, "cache-control"),
    (Name::CacheStatus, "cache-status"),
    (Name::CdnCacheControl, "cdn-cache-control"),
    (Name::Connection, "connection"),
    (Name::ContentDisposition, "content-disposition"),
    (Name::ContentEncoding, "content-encoding"),
    (Name::ContentLanguage, "content-language"),
    (Name::ContentLength, "content-length"),
    (Name::ContentLocation, "content-location"),
    (Name::ContentRange, "content-range"),
    (Name::ContentType, "content-type"),
    (Name::Cookie, "cookie"),
    (Name::Date, "date"),
    (Name::Etag, "etag"),
    (Name::Expect, "expect"),
    (Name::Expires, "expires"),
    (Name::Forwarded, "forwarded"),
    (Name::Host, "host"),
    (Name::IfMatch, "if-match"),
    (Name::IfModifiedSince, "if-modified-since"),
    (Name::IfNoneMatch, "if-none-match"),
    (Name::IfRange, "if-range"),
    (Name::IfUnmodifiedSince, "if-unmodified-since"),
    (Name::KeepAlive, "keep-alive"),
    (Name::LastModified, "last-modified"),
    (Name::Link, "link"),
    (Name::Location, "location"),
    (Name::Origin, "origin"),
    (Name::Pragma, "pragma"),
    (Name::ProxyAuthenticate, "proxy-authenticate"),
    (Name::ProxyAuthorization, "proxy-authorization"),
    (Name::ProxyConnection, "proxy-connection"),
    (Name::Range, "range"),
    (Name::Referer, "referer"),
    (Name::RetryAfter, "retry-after"),
    (Name::SecFetchDest, "sec-fetch-dest"),
    (Name::SecFetchMode, "sec-fetch-mode"),
    (Name::SecFetchSite, "sec-fetch-site"),
    (Name::Server, "server"),
    (Name::SetCookie, "set-cookie"),
    (Name::Status, "status"),
    (Name::SurrogateControl, "surrogate-control"),
    (Name::Te, "te"),
    (Name::Trailer, "trailer"),
    (Name::TransferEncoding, "transfer-encoding"),
    (Name::Upgrade, "upgrade"),
    (Name::UserAgent, "user-agent"),
    (Name::Vary, "vary"),
    (Name::Via, "via"),
    (Name::WickCacheControl, "wick-cache-control"),
    (Name::XAccelRedirect, "x-accel-redirect"),
    (Name::XForwardedFor, "x-forwarded-for"),
    (Name::XForwardedHost, "x-forwarded-host"),
    (Name::XForwardedProto, "x-forwarded-proto"),
    (Name::XPoweredBy, "x-powered-by"),
    (Name::XRequestedWith, "x-requested-with"),
    (Name::XSendfile, "x-sendfile"),
];

/// For each length, where in [`BY_LENGTH`] its names begin.
const STARTS: [u8; LONGEST + 2] = index().0;
/// Indices into [`SPELLINGS`], shortest names first.
const BY_LENGTH: [u8; SPELLINGS.len()] = index().1;
const LONGEST: usize = 19;

const fn index() -> ([u8; LONGEST + 2], [u8; SPELLINGS.len()]) {
    let mut starts = [0u8; LONGEST + 2];
    let mut order = [0u8; SPELLINGS.len()];
    let mut filled = 0;
    let mut length = 0;
    while length <= LONGEST {
        starts[length] = filled as u8;
        let mut at = 0;
        while at < SPELLINGS.len() {
            if SPELLINGS[at].1.len() == length {
                order[filled] = at as u8;
                filled += 1;
            }
            at += 1;
        }
        length += 1;
    }
    starts[LONGEST + 1] = filled as u8;
    (starts, order)
}

impl Name {
    /// The name as Wick writes it: lower case.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        SPELLINGS[self as usize].1
    }

    /// Recognises a name in any letter case.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        if bytes.is_empty() || bytes.len() > LONGEST {
            return None;
        }
        let first = bytes[0].to_ascii_lowercase();
        let range = STARTS[bytes.len()] as usize..STARTS[bytes.len() + 1] as usize;
        BY_LENGTH[range].iter().map(|&at| SPELLINGS[at as usize]).find_map(|(name, spelling)| {
            (spelling.as_bytes()[0] == first && spelling.as_bytes().eq_ignore_ascii_case(bytes))
                .then_some(name)
        })
    }

    pub(crate) fn bit(self) -> u64 {
        1 << self as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_is_found_in_any_case_and_stands_at_its_own_place() {
        for (at, (name, spelling)) in SPELLINGS.iter().enumerate() {
            assert_eq!(*name as usize, at, "{spelling}");
            assert_eq!(Name::of(spelling.as_bytes()), Some(*name));
            assert_eq!(Name::of(spelling.to_ascii_uppercase().as_bytes()), Some(*name));
        }
        for unknown in ["", "x", "hosts", "x-something-very-long-indeed"] {
            assert_eq!(Name::of(unknown.as_bytes()), None);
        }
    }
}
