//! Our message heads to the http crate's and back, once each way.

use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Uri, header};
use wire::{Fields, Name, RequestHead};

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
    let unsendable = |what: &str| OriginError::Unsendable(what.to_owned());
    let mut request = Request::new(body);
    *request.method_mut() = head.method.clone();
    *request.uri_mut() = target(&head.target).ok_or_else(|| unsendable("its target"))?;
    let headers = request.headers_mut();
    headers.reserve(head.fields.len() + 2);
    let host = if head.host.is_empty() { authority } else { &head.host };
    let host = HeaderValue::from_str(host).map_err(|_| unsendable("its host"))?;
    headers.insert(header::HOST, host);
    for (known, name, value) in head.fields.iter_known() {
        if matches!(known, Some(Name::Host | Name::ContentLength | Name::TransferEncoding)) {
            continue;
        }
        let name = HeaderName::from_bytes(name).map_err(|_| unsendable("a field's name"))?;
        let value = HeaderValue::from_bytes(value).map_err(|_| unsendable("a field's value"))?;
        headers.append(name, value);
    }
    if let Some(length) = length {
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    }
    Ok(request)
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
