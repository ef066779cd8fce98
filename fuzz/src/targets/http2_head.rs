//! A head of HTTP/2, a field after the other.
//!
//! What is let through is what HTTP/1.1 would let through: written as a head of that, it is
//! read as the same method, target, host and fields.

use wire::decoded::HeadReader;
use wire::h1::{FIELDS_MAX, Framing, HeadError, HeadLimits, Length, read_head};
use wire::{RequestHead, Version};

/// Lines: method, scheme, authority, path, then fields.
pub(crate) fn run(input: &[u8]) {
    let has_body = input.len().is_multiple_of(2);
    let (mut reader, mut head) = (HeadReader::default(), RequestHead::default());
    reader.begin(&mut head, Version::Http2);
    match read(input, &mut reader, &mut head)
        .and_then(|()| reader.end(&mut head, has_body, &HeadLimits::default()))
    {
        Ok(framing) => check(&head, framing),
        Err(error) => assert!((400..=599).contains(&error.status())),
    }
}

fn read(input: &[u8], reader: &mut HeadReader, head: &mut RequestHead) -> Result<(), HeadError> {
    let names = [&b":method"[..], b":scheme", b":authority", b":path"].into_iter();
    let mut names = names.map(Some).chain(std::iter::repeat(None));
    for line in input.split(|&byte| byte == b'\n') {
        let (name, value) = match names.next().flatten() {
            Some(b":authority") if line.is_empty() => continue,
            Some(name) => (name, line),
            None => {
                let colon = line.iter().position(|&byte| byte == b':').unwrap_or(line.len());
                (&line[..colon], line.get(colon + 1..).unwrap_or_default())
            }
        };
        reader.take(head, name, value)?;
    }
    Ok(())
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
