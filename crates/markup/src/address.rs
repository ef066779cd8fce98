//! Addresses: what may stand in `href` and `src`.
//!
//! In: bytes that somebody wrote, entities read already. Out: an address with a scheme of
//! the dialect's list, percent-encoded and escaped, or nothing.
//! Law: RFC 3986 §2, and the URL standard for what browsers skip: white space and controls
//! within an address are a reason to refuse it, since a scheme could be hidden by them.

use crate::escape::escape_typed;
use crate::written::Scheme;

/// The longest address.
pub(crate) const ADDRESS_BYTES_MAX: usize = 2048;

/// The bytes that are written in another way.
const IS_ENCODED: [bool; 256] = {
    let mut is_encoded = [false; 256];
    let mut bytes: &[u8] = b" \"'<>`\\{}|^&";
    while let [byte, rest @ ..] = bytes {
        is_encoded[*byte as usize] = true;
        bytes = rest;
    }
    is_encoded
};

/// Where addresses may lead.
#[derive(Debug)]
pub(crate) struct Address {
    pub(crate) schemes: Vec<Scheme>,
    pub(crate) relative: bool,
}

impl Address {
    /// Writes the address of a link, or nothing.
    pub(crate) fn link(&self, written: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let written = acceptable(written)?;
        match scheme_of(written) {
            Some(scheme) => {
                let known = |one: &&Scheme| scheme.eq_ignore_ascii_case(one.name().as_bytes());
                self.schemes.iter().find(known)?;
                let rest = &written[scheme.len() + 1..];
                // `http:x` is relative to browsers, whatever it looks like.
                let is_web = [&b"http"[..], b"https", b"ftp", b"ftps"]
                    .iter()
                    .any(|web| scheme.eq_ignore_ascii_case(web));
                if rest.is_empty() || (is_web && !has_host(rest)) {
                    return None;
                }
            }
            None if matches!(written, [b'/' | b'?' | b'#', ..]) => {
                if !self.relative || written.starts_with(b"//") {
                    return None;
                }
            }
            // What begins with a host, as people write it.
            None => out.extend_from_slice(b"http://"),
        }
        Self::write_encoded(written, out);
        Some(())
    }

    /// Writes the address of an image, or nothing.
    pub(crate) fn image(&self, written: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let written = acceptable(written)?;
        let is_path = matches!(written, [b'/', next, ..] if *next != b'/' && *next != b'\\');
        let is_web = scheme_of(written).is_some_and(|scheme| {
            let rest = &written[scheme.len() + 1..];
            (scheme.eq_ignore_ascii_case(b"http") || scheme.eq_ignore_ascii_case(b"https"))
                && has_host(rest)
        });
        let leads_home = self.relative && is_path;
        (is_web || leads_home).then(|| Self::write_encoded(written, out))
    }

    /// Percent-encodes what has no place in an address, and escapes the rest.
    pub(crate) fn write_encoded(written: &[u8], out: &mut Vec<u8>) {
        const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
        let mut rest = written;
        while let Some(length) = rest.iter().position(|byte| IS_ENCODED[usize::from(*byte)]) {
            out.extend_from_slice(&rest[..length]);
            match rest[length] {
                b'&' => out.extend_from_slice(b"&amp;"),
                byte => {
                    let digit = |number: u8| DIGITS[usize::from(number)];
                    out.extend_from_slice(&[b'%', digit(byte >> 4), digit(byte & 15)]);
                }
            }
            rest = &rest[length + 1..];
        }
        out.extend_from_slice(rest);
    }
}

/// Whether a dialect's file may name this as an image.
pub(crate) fn is_image_address(source: &str) -> bool {
    let address = Address { schemes: Vec::new(), relative: true };
    address.image(source.as_bytes(), &mut Vec::new()).is_some()
}

/// Writes `mailto:` and the address, or nothing.
pub(crate) fn mail(written: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let written = written.trim_ascii();
    if !is_mail(written) {
        return None;
    }
    out.extend_from_slice(b"mailto:");
    escape_typed(written, out);
    Some(())
}

fn is_mail(written: &[u8]) -> bool {
    let Some(at) = memchr::memchr(b'@', written) else { return false };
    let (name, host) = (&written[..at], &written[at + 1..]);
    (1..=64).contains(&name.len())
        && name.iter().all(|b| is_mail_name(*b))
        && (3..=255).contains(&host.len())
        && host.iter().all(|b| is_host(*b))
        && memchr::memchr(b'.', host).is_some_and(|dot| dot > 0 && dot + 1 < host.len())
}

/// A byte of what stands before the `@`.
pub(crate) fn is_mail_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._%+-".contains(&byte)
}

/// A byte of a host's name.
pub(crate) fn is_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b".-".contains(&byte)
}

/// Writes the address at which a video of this id is shown in a frame, or nothing.
pub(crate) fn video(written: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let id = video_id(written.trim_ascii())?;
    out.extend_from_slice(b"https://www.youtube-nocookie.com/embed/");
    out.extend_from_slice(id);
    Some(())
}

fn video_id(written: &[u8]) -> Option<&[u8]> {
    let is_id = |id: &[u8]| {
        id.len() == 11 && id.iter().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(b))
    };
    if is_id(written) {
        return Some(written);
    }
    let places = [&b"v="[..], b"youtu.be/", b"/embed/", b"/shorts/", b"/v/", b"/live/"];
    let ids = places.iter().filter_map(|place| {
        let start = memchr::memmem::find(written, place)? + place.len();
        let rest = &written[start..];
        let end = rest.iter().position(|b| matches!(b, b'&' | b'?' | b'#' | b'/'));
        Some(&rest[..end.unwrap_or(rest.len())])
    });
    ids.into_iter().find(|id| is_id(id))
}

/// The address without white space around it, if nothing within could hide something.
fn acceptable(written: &[u8]) -> Option<&[u8]> {
    let written = written.trim_ascii();
    let is_hidden = |b: &u8| *b < b' ' || *b == 0x7f;
    let fits = (1..=ADDRESS_BYTES_MAX).contains(&written.len());
    (fits && !written.iter().any(is_hidden)).then_some(written)
}

/// What stands before a colon that comes before any path.
///
/// Anything at all: a scheme that is none, such as `java&#10;script`, must not pass as a
/// host. A port is no scheme: `host:80/`.
fn scheme_of(written: &[u8]) -> Option<&[u8]> {
    let end = written.iter().position(|b| matches!(b, b':' | b'/' | b'?' | b'#'))?;
    if written[end] != b':' {
        return None;
    }
    let rest = &written[end + 1..];
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    let is_port = digits > 0
        && matches!(rest.get(digits), None | Some(b'/' | b'?' | b'#'))
        && memchr::memchr(b'.', &written[..end]).is_some();
    (!is_port).then_some(&written[..end])
}

/// Whether `//` and a host follow the scheme's colon.
fn has_host(rest: &[u8]) -> bool {
    matches!(rest, [b'/', b'/', first, ..] if first.is_ascii_alphanumeric() || *first == b'['
        || *first >= 0x80)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(written: &str, link: &str, image: &str) {
        let schemes = vec![Scheme::Http, Scheme::Https, Scheme::Magnet, Scheme::Mailto];
        let address = Address { schemes, relative: true };
        let shown = |result: Option<()>, out: Vec<u8>| match result {
            Some(()) => String::from_utf8(out).unwrap(),
            None => "-".to_owned(),
        };
        let mut out = Vec::new();
        let result = address.link(written.as_bytes(), &mut out);
        assert_eq!(shown(result, out), link, "link {written}");
        let mut out = Vec::new();
        let result = address.image(written.as_bytes(), &mut out);
        assert_eq!(shown(result, out), image, "image {written}");
    }

    #[test]
    fn addresses_lead_where_they_may() {
        check("http://a.test/?b&c", "http://a.test/?b&amp;c", "http://a.test/?b&amp;c");
        check(" https://a.test ", "https://a.test", "https://a.test");
        check("HTTP://a.test", "HTTP://a.test", "HTTP://a.test");
        check("a.test/b", "http://a.test/b", "-");
        check("a.test:8080/b", "http://a.test:8080/b", "-");
        check("magnet:?xt=urn:btih:1", "magnet:?xt=urn:btih:1", "-");
        check("/b", "/b", "/b");
        check("#b", "#b", "-");
        check("//a.test/b", "-", "-");
        check("/\\a.test", "/%5Ca.test", "-");
        check(
            "http://a.test/\"onerror='x'",
            "http://a.test/%22onerror=%27x%27",
            "http://a.test/%22onerror=%27x%27",
        );
        check("http://a.test/a b<c>", "http://a.test/a%20b%3Cc%3E", "http://a.test/a%20b%3Cc%3E");
    }

    #[test]
    fn what_could_run_leads_nowhere() {
        for written in [
            "javascript:alert(1)",
            "JaVaScRiPt:alert(1)",
            "java\tscript:alert(1)",
            "\x01javascript:alert(1)",
            "javascript\u{a0}:alert(1)",
            "javascript:1",
            "data:text/html,x",
            "vbscript:x",
            "file:///etc/passwd",
            "http:javascript:alert(1)",
            "https:a",
            "http://",
            "http:///a",
            "blob:http://a",
            "view-source:x",
            "about:blank",
            "jar:x",
            "x:y",
            ":x",
            "http:",
            "",
            " ",
            "http://a\nb",
            "feed:javascript:x",
            "javascript://a.test/%0aalert(1)",
        ] {
            check(written, "-", "-");
        }
    }

    #[test]
    fn mail_and_videos() {
        let told = |written: &str, form: fn(&[u8], &mut Vec<u8>) -> Option<()>| {
            let mut out = Vec::new();
            let result = form(written.as_bytes(), &mut out);
            result.map_or("-".to_owned(), |()| String::from_utf8(out).unwrap())
        };
        assert_eq!(told("a.b+c@d.test", mail), "mailto:a.b+c@d.test");
        for wrong in ["a", "a@b", "a@.b", "a@b.", "a@b.c?subject=x", "a b@c.d", "\"@c.d", "@c.d"] {
            assert_eq!(told(wrong, mail), "-", "{wrong}");
        }
        let shown = "https://www.youtube-nocookie.com/embed/dQw4w9WgXcQ";
        for good in [
            "dQw4w9WgXcQ",
            "https://www.youtube.com/watch?v=dQw4w9WgXcQ&t=1",
            "https://youtu.be/dQw4w9WgXcQ?si=x",
            "https://youtube.com/shorts/dQw4w9WgXcQ",
        ] {
            assert_eq!(told(good, video), shown, "{good}");
        }
        for wrong in ["dQw4w9WgXc", "dQw4w9WgXc\"", "javascript:dQw4w9WgXcQ", "v=dQw4w9WgXcQQ"] {
            assert_eq!(told(wrong, video), "-", "{wrong}");
        }
    }
}
