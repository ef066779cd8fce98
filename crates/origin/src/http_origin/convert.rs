//! Our message heads to the http crate's and back, once each way.

use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Uri, Version, header};
use wire::{Fields, Name, RequestHead};

use super::member::Road;
use crate::OriginError;

/// What an answer may bear at most; more is no answer but an attack or a fault.
pub(crate) const FIELDS_MAX: usize = 256;

/// The head of a request to the origin. Framing is hyper's: a length is announced
/// by the body itself, so the fields that came with the visitor's framing go.
pub(crate) fn request<B>(
    head: &RequestHead,
    authority: &str,
    length: Option<u64>,
    body: B,
) -> Result<Request<B>, OriginError> {
    let mut request = Request::new(body);
    *request.method_mut() = head.method.clone();
    *request.uri_mut() = target(&head.target).ok_or_else(|| unsendable("its target"))?;
    let headers = request.headers_mut();
    headers.reserve(head.fields.len() + 2);
    let host = HeaderValue::from_str(host(head, authority)).map_err(|_| unsendable("its host"))?;
    headers.insert(header::HOST, host);
    let is_framing =
        |known| matches!(known, Some(Name::Host | Name::ContentLength | Name::TransferEncoding));
    append(headers, &head.fields, is_framing)?;
    announce(headers, length);
    Ok(request)
}

/// The same for a stream: the host is a part of its target (RFC 9113 §8.3.1), and nothing in
/// it is about a connection (§8.2.2). What visitors are known by is never put into the table
/// that all requests of a line share (RFC 7541 §7.1.3).
pub(crate) fn request_on_stream(
    head: &RequestHead,
    road: &Road,
    length: Option<u64>,
) -> Result<Request<()>, OriginError> {
    let mut request = Request::new(());
    *request.method_mut() = head.method.clone();
    *request.version_mut() = Version::HTTP_2;
    let mut uri = target(&head.target).ok_or_else(|| unsendable("its target"))?.into_parts();
    let authority = host(head, &road.authority).parse::<Authority>();
    uri.authority = Some(authority.map_err(|_| unsendable("its host"))?);
    uri.scheme = Some(if road.tls.is_some() { Scheme::HTTPS } else { Scheme::HTTP });
    *request.uri_mut() = Uri::from_parts(uri).map_err(|_| unsendable("its target"))?;
    let headers = request.headers_mut();
    headers.reserve(head.fields.len() + 1);
    append(headers, &head.fields, |known| {
        use Name::{Connection, ContentLength, Host, KeepAlive, ProxyConnection};
        use Name::{TransferEncoding, Upgrade};
        matches!(
            known,
            Some(Connection | ContentLength | Host | KeepAlive | ProxyConnection)
                | Some(TransferEncoding | Upgrade)
        )
    })?;
    // Whoever asks for more than trailers asks for a coding of the connection.
    if headers.get(header::TE).is_some_and(|te| te != "trailers") {
        headers.remove(header::TE);
    }
    for name in [header::COOKIE, header::AUTHORIZATION] {
        if let header::Entry::Occupied(mut values) = headers.entry(name) {
            values.iter_mut().for_each(|value| value.set_sensitive(true));
        }
    }
    announce(headers, length);
    Ok(request)
}

fn unsendable(what: &str) -> OriginError {
    OriginError::Unsendable(what.to_owned())
}

/// The host that is asked for; where a request names none, the server's own.
fn host<'a>(head: &'a RequestHead, authority: &'a str) -> &'a str {
    if head.host.is_empty() { authority } else { &head.host }
}

/// Adds all fields but those that stay here.
fn append(
    headers: &mut HeaderMap,
    fields: &Fields,
    stays_here: impl Fn(Option<Name>) -> bool,
) -> Result<(), OriginError> {
    for (_, name, value) in fields.iter_known().filter(|(known, ..)| !stays_here(*known)) {
        let name = HeaderName::from_bytes(name).map_err(|_| unsendable("a field's name"))?;
        let value = HeaderValue::from_bytes(value).map_err(|_| unsendable("a field's value"))?;
        headers.append(name, value);
    }
    Ok(())
}

fn announce(headers: &mut HeaderMap, length: Option<u64>) {
    if let Some(length) = length {
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    }
}

/// The target as sent; bytes that the http crate won't have where they stand are
/// percent-encoded, which is what a URL with them means.
fn target(target: &str) -> Option<Uri> {
    // It would take a fragment off in silence.
    if !target.contains('#')
        && let Ok(uri) = target.parse::<Uri>()
    {
        return Some(uri);
    }
    let mut safe = String::with_capacity(target.len() + 16);
    for byte in target.bytes() {
        let place: &[u8] = if safe.contains('?') { b"/?" } else { b"/" };
        let is_fine = byte.is_ascii()
            && byte != b'#'
            && PathAndQuery::try_from(&[place, &[byte]].concat()[..]).is_ok();
        if is_fine {
            safe.push(char::from(byte));
        } else {
            safe.push_str(&format!("%{byte:02X}"));
        }
    }
    safe.parse().ok()
}

/// The fields of an answer.
pub(crate) fn fields(headers: &HeaderMap) -> Fields {
    let mut fields = Fields::new();
    for (name, value) in headers {
        // hyper lets through nothing that `Fields` refuses but obs-text, which both take.
        let _ = fields.try_push(name.as_str().as_bytes(), value.as_bytes());
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_that_is_no_uri_is_percent_encoded_and_others_stay_as_they_are() {
        for (sent, seen) in [
            ("/a%2fb?c=%", "/a%2fb?c=%"),
            ("/a|b?c[]={d}", "/a|b?c[]={d}"),
            ("/<a>?<b>", "/%3Ca%3E?%3Cb%3E"),
            ("/a#b?c", "/a%23b?c"),
            ("/é?^", "/é?^"),
            ("*", "*"),
        ] {
            assert_eq!(target(sent).map(|uri| uri.to_string()).as_deref(), Some(seen));
        }
    }

    #[test]
    fn framing_and_host_are_ours_and_other_fields_keep_their_order() {
        let fields = Fields::parse(
            b"Host: evil\nContent-Length: 9\nTransfer-Encoding: chunked\nX-A: 1\nX-A: 2\n",
        );
        let head = RequestHead {
            target: "/".into(),
            host: "site:81".into(),
            fields: fields.expect("the test's fields are well formed"),
            ..RequestHead::default()
        };
        let request = request(&head, "origin:80", Some(3), ()).expect("it can be sent");
        assert_eq!(request.headers()[header::HOST], "site:81");
        assert_eq!(request.headers()[header::CONTENT_LENGTH], "3");
        assert!(!request.headers().contains_key(header::TRANSFER_ENCODING));
        assert_eq!(request.headers().get_all("x-a").iter().collect::<Vec<_>>(), ["1", "2"]);
    }
}
