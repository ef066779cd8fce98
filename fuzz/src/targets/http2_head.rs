//! A head of HTTP/2 as its library hands it over.
//!
//! What is let through is what HTTP/1.1 would let through: written as a head of that, it is
//! read as the same method, target, host and fields.

use http::uri::{Authority, Parts, PathAndQuery, Scheme};
use http::{HeaderName, HeaderValue, Method, Request, Uri};
use wire::RequestHead;
use wire::h1::{FIELDS_MAX, Framing, HeadError, HeadLimits, Length, read_head};

/// Lines: method, scheme, authority, path, then fields.
pub(crate) fn run(input: &[u8]) {
    let Some((parts, has_body)) = request(input) else { return };
    let (mut head, limits) = (RequestHead::default(), HeadLimits::default());
    match wire::decoded::read_head(&parts, has_body, &mut head, &limits) {
        Ok(framing) => check(&head, framing),
        Err(error) => assert!((400..=599).contains(&error.status())),
    }
}

fn check(head: &RequestHead, framing: Framing) {
    assert!(head.target.starts_with('/') || head.target == "*", "{}", head.target);
    let mut text = format!("{} {} HTTP/1.1\r\n", head.method, head.target).into_bytes();
    head.fields.render(&mut text);
    if framing.length == Length::Chunked {
        text.extend_from_slice(b"transfer-encoding: chunked\r\n");
    }
    text.extend_from_slice(b"\r\n");
    let (mut other, mut scanned) = (RequestHead::default(), 0);
    let limits = HeadLimits { head_bytes_max: usize::MAX, ..HeadLimits::default() };
    let read = read_head(&text, &mut scanned, &mut other, &limits);
    if framing.length == Length::Chunked && matches!(read, Err(HeadError::TooLarge)) {
        // The field that says so in HTTP/1.1 was one too many.
        assert_eq!(head.fields.len(), FIELDS_MAX);
        return;
    }
    let (bytes, again) = read.expect("HTTP/1.1 lets it through").expect("it is whole");
    assert_eq!(bytes, text.len());
    assert_eq!((again.length, again.expects_continue), (framing.length, framing.expects_continue));
    assert_eq!(
        (&other.method, &other.target, &other.host),
        (&head.method, &head.target, &head.host)
    );
    for (name, value) in head.fields.iter() {
        assert!(other.fields.iter().any(|field| field == (name, value)), "{name:?}");
    }
}

/// What the library would make of it; none where it refuses.
fn request(input: &[u8]) -> Option<(http::request::Parts, bool)> {
    let mut lines = input.split(|&byte| byte == b'\n');
    let (method, scheme) = (lines.next()?, lines.next()?);
    let (authority, path) = (lines.next()?, lines.next()?);
    let mut uri = Parts::default();
    if !authority.is_empty() {
        uri.authority = Some(Authority::try_from(authority).ok()?);
        uri.scheme = Some(Scheme::try_from(scheme).ok()?);
    }
    uri.path_and_query = Some(PathAndQuery::try_from(path).ok()?);
    let mut request =
        Request::builder().method(Method::from_bytes(method).ok()?).uri(Uri::from_parts(uri).ok()?);
    for line in lines {
        let colon = line.iter().position(|&byte| byte == b':')?;
        let name = HeaderName::from_lowercase(&line[..colon]).ok()?;
        request = request.header(name, HeaderValue::from_bytes(&line[colon + 1..]).ok()?);
    }
    let (parts, ()) = request.body(()).ok()?.into_parts();
    Some((parts, input.len().is_multiple_of(2)))
}
