//! Early hints: which links of an answer are worth a word before the next one like it.
//!
//! In: the answer's own `Link` fields, and links that its body was found to have. Out: one value
//! for the `Link` of a `103`. Law: RFC 8297, RFC 8288 §3.
//! Bounds: [`LINKS_MAX`] links, [`TEXT_BYTES_MAX`] bytes; what is beyond is left out.
//! Invariants: 1. a link of the answer's own is told as it was written, or not at all. 2. no
//! address is told twice.
//! Start at [`Hints::of`]; who is told when is the server's affair.

use http::Method;
use wire::fields::trim;
use wire::{Fields, Name, RequestHead};

/// Links that are told: a browser has few connections to fetch them by.
pub const LINKS_MAX: usize = 16;
/// What all of them may take: they are sent in one packet with what else there is to say.
pub const TEXT_BYTES_MAX: usize = 1 << 10;

/// What browsers act on before there is a page.
const RELATIONS: [&[u8]; 3] = [b"preload", b"modulepreload", b"preconnect"];

/// Links worth a word.
#[derive(Clone, Debug, Default)]
pub struct Hints {
    text: Vec<u8>,
    links: usize,
    /// Links that there was no room for.
    pub left_out: u64,
}

/// Whether who asks reads early hints: browsers do when they go to a page.
#[must_use]
pub fn are_of_use(head: &RequestHead) -> bool {
    let wanted = head.fields.first(Name::SecFetchDest);
    head.method == Method::GET && wanted.is_none_or(|wanted| wanted == b"document")
}

impl Hints {
    /// Those that an answer's own fields name.
    #[must_use]
    pub fn of(fields: &Fields) -> Self {
        let mut hints = Self::default();
        for value in fields.all(Name::Link) {
            split(value, b',').filter(|link| is_early(link)).for_each(|link| hints.add(link));
        }
        hints
    }

    /// Adds a link as it stands in a field.
    pub fn add(&mut self, link: &[u8]) {
        if split(&self.text, b',').any(|known| target(known) == target(link)) {
            return;
        }
        let more = link.len() + 2;
        if self.links == LINKS_MAX || self.text.len() + more > TEXT_BYTES_MAX {
            self.left_out += 1;
            return;
        }
        self.links += 1;
        if !self.text.is_empty() {
            self.text.extend_from_slice(b", ");
        }
        self.text.extend_from_slice(link);
    }

    /// All of them as one value; empty if there are none.
    #[must_use]
    pub fn into_text(self) -> Box<[u8]> {
        self.text.into()
    }
}

/// What stands between the angle brackets that a link begins with.
fn target(link: &[u8]) -> Option<&[u8]> {
    let rest = link.strip_prefix(b"<")?;
    Some(trim(&rest[..memchr_of(rest, b'>')?]))
}

/// Whether it is of a kind to be told early, and of this page.
fn is_early(link: &[u8]) -> bool {
    let Some(target) = target(link).filter(|target| !target.is_empty()) else { return false };
    // White space is no part of an address; a stray bracket would make two of one, and an open
    // quote one of two.
    if !is_closed(link) || !target.iter().all(|&byte| byte.is_ascii_graphic() && byte != b'<') {
        return false;
    }
    let (mut is_wanted, mut is_first) = (false, true);
    for parameter in split(link, b';').skip(1) {
        let end = memchr_of(parameter, b'=').unwrap_or(parameter.len());
        let (name, value) = (trim(&parameter[..end]), parameter.get(end + 1..).unwrap_or_default());
        if name.eq_ignore_ascii_case(b"anchor") {
            return false;
        }
        // Of two the first counts (RFC 8288 §3.3).
        if name.eq_ignore_ascii_case(b"rel") && std::mem::take(&mut is_first) {
            let value = trim(value);
            let value = value.strip_prefix(b"\"").unwrap_or(value);
            let value = value.strip_suffix(b"\"").unwrap_or(value);
            is_wanted = value
                .split(u8::is_ascii_whitespace)
                .any(|one| RELATIONS.iter().any(|known| one.eq_ignore_ascii_case(known)));
        }
    }
    is_wanted
}

/// The parts of a text between separators that are not within brackets or quotes.
fn split(text: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let mut place = Place::default();
    text.split(move |&byte| place.step(byte) && byte == separator)
        .map(trim)
        .filter(|part| !part.is_empty())
}

/// Whether what comes behind it is not within its quotes.
fn is_closed(link: &[u8]) -> bool {
    let mut place = Place::default();
    for &byte in link {
        let _ = place.step(byte);
    }
    !place.is_quoted && !place.is_target
}

/// Where in a list of links one reads.
#[derive(Default)]
struct Place {
    is_quoted: bool,
    is_escaped: bool,
    is_target: bool,
}

impl Place {
    /// Reads a byte; says whether it is neither in an address nor in quotes.
    fn step(&mut self, byte: u8) -> bool {
        if self.is_quoted {
            self.is_quoted = self.is_escaped || byte != b'"';
            self.is_escaped = byte == b'\\' && !self.is_escaped;
            return false;
        }
        match byte {
            b'>' => self.is_target = false,
            _ if self.is_target => {}
            b'<' => self.is_target = true,
            b'"' => self.is_quoted = true,
            _ => return true,
        }
        false
    }
}

fn memchr_of(text: &[u8], byte: u8) -> Option<usize> {
    text.iter().position(|&one| one == byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: &str, expected: &str) {
        let mut fields = Fields::new();
        fields.push("Link", value);
        let text = Hints::of(&fields).into_text();
        assert_eq!(String::from_utf8_lossy(&text), expected, "{value}");
    }

    #[test]
    fn links_that_browsers_act_on_early_are_told_as_they_were_written() {
        let preload = "</a.css>; rel=preload; as=style";
        check(preload, preload);
        check(&format!("</2>; rel=next, {preload},</x>;rel=\"dns-prefetch\""), preload);
        check("<https://f.test>; rel=\"x PreConnect\"", "<https://f.test>; rel=\"x PreConnect\"");
        check(
            "</m,;.js>; nonce=\"a,\\\"b\"; rel=modulepreload",
            "</m,;.js>; nonce=\"a,\\\"b\"; rel=modulepreload",
        );
        check("</a>; rel=preload, </a>; rel=preload; as=font", "</a>; rel=preload");
    }

    #[test]
    fn what_is_broken_or_of_another_page_is_not_told() {
        for value in [
            "",
            "</a>",
            "/a; rel=preload",
            "<>; rel=preload",
            "</a b>; rel=preload",
            "</a; rel=preload",
            "</a>; rel=next; rel=preload",
            "</a>; rel=preload; anchor=\"/b\"",
            "</a>; title=\"; rel=preload",
            "</a>; rel=preload; title=\"",
        ] {
            check(value, "");
        }
    }

    #[test]
    fn what_there_is_no_room_for_is_counted() {
        let link = |n: usize| format!("</{n}.css>; rel=preload; as=style");
        let mut hints = Hints::default();
        (0..LINKS_MAX + 3).for_each(|n| hints.add(link(n).as_bytes()));
        assert_eq!((hints.links, hints.left_out), (LINKS_MAX, 3));
        let mut hints = Hints::default();
        hints.add(format!("<{}>; rel=preload", "a".repeat(TEXT_BYTES_MAX)).as_bytes());
        assert_eq!((hints.left_out, hints.into_text().len()), (1, 0));
    }
}
