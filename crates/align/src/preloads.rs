//! What the head of a page says that a browser will want next, as values of `Link`.
//!
//! In: the page's body, not coded. Out: `</a.css>; rel=preload; as=style` and the like, in the
//! order of the page. Law: HTML §4.6.8 (link types), RFC 8288 §3.
//! Bounds: [`HEAD_BYTES_MAX`] are read, and no address longer than [`ADDRESS_BYTES_MAX`].
//! Invariants: 1. nothing is said of a link that a field can't say in full, or whose fetch
//! would not be the one that the page asks for: with a nonce, an integrity, a choice of
//! pictures. 2. what a browser doesn't read as a link isn't one: in a comment, a script, a
//! template, `<noscript>`, or behind the head.
//! Start at [`preloads`].

use crate::escape::entity;
use crate::tag;

/// A page's head ends within so much, or what comes behind is not read.
pub const HEAD_BYTES_MAX: usize = 64 << 10;
/// The longest address that is told.
pub const ADDRESS_BYTES_MAX: usize = 512;

/// What may stand in a head whose content is no markup, or is none to a browser with scripts.
const OPAQUE: [&str; 5] = ["script", "style", "title", "noscript", "template"];
/// What else may stand there. Anything that is not named here begins the body.
const IN_HEAD: [&str; 5] = ["html", "head", "meta", "link", "base"];
/// What a preload may be of; the names of HTML §4.6.8.18.
const KINDS: [&[u8]; 6] = [b"style", b"script", b"font", b"image", b"fetch", b"track"];

/// The links of a page's head, each ready to stand in a `Link` field.
#[must_use]
pub fn preloads(body: &[u8]) -> Vec<String> {
    let text = &body[..body.len().min(HEAD_BYTES_MAX)];
    let (mut links, mut has_base, mut at) = (Vec::new(), false, 0);
    while let Some(found) = memchr::memchr(b'<', &text[at..]) {
        let rest = &text[at + found..];
        at += found;
        if rest.starts_with(b"<!--") {
            let Some(end) = memchr::memmem::find(&rest[4..], b"-->") else { break };
            at += 4 + end + 3;
            continue;
        }
        let (name, length) = (tag::name(rest), tag::length(rest));
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        let ends_head = rest.starts_with(b"</") && is("head");
        let is_known = OPAQUE.iter().any(|known| is(known)) || IN_HEAD.iter().any(|it| is(it));
        let is_markup = rest.get(1).is_some_and(|&byte| byte == b'/' || byte.is_ascii_alphabetic());
        let is_whole = rest[..length].ends_with(b">");
        // A tag that isn't whole was cut by the bound.
        if ends_head || (is_markup && !(is_known && is_whole)) {
            break;
        }
        if is_markup && rest[1] != b'/' {
            if is("base") {
                has_base |= tag::attributes(rest).any(|attribute| attribute.is("href"));
            } else if is("link") {
                links.extend(Link::read(rest).and_then(|link| link.told(has_base)));
            } else if let Some(opaque) = OPAQUE.iter().find(|known| is(known)) {
                let Some(end) = end_of(&rest[length..], opaque) else { break };
                at += length + end;
                continue;
            }
        }
        at += length.max(1);
    }
    links
}

/// Where an element ends whose content is passed over: at its end tag.
fn end_of(text: &[u8], name: &str) -> Option<usize> {
    memchr::memmem::find_iter(text, b"</").find(|&at| {
        let end = text.get(at + 2..at + 2 + name.len());
        end.is_some_and(|end| end.eq_ignore_ascii_case(name.as_bytes()))
    })
}

/// A `<link>` that may be worth a word before the page.
#[derive(Default)]
struct Link<'a> {
    rel: Option<&'a [u8]>,
    href: Option<&'a [u8]>,
    kind: Option<&'a [u8]>,
    /// `as`, `type`, `media` and the like are told as they are written.
    media: Option<&'a [u8]>,
    mime: Option<&'a [u8]>,
    cross_origin: Option<&'a [u8]>,
    referrer_policy: Option<&'a [u8]>,
    priority: Option<&'a [u8]>,
}

impl<'a> Link<'a> {
    /// Reads a tag; none where it bears what a field can't say.
    fn read(text: &'a [u8]) -> Option<Self> {
        let mut link = Self::default();
        for attribute in tag::attributes(text) {
            let name = attribute.name.to_ascii_lowercase();
            let place = match name.as_slice() {
                b"rel" => &mut link.rel,
                b"href" => &mut link.href,
                b"as" => &mut link.kind,
                b"media" => &mut link.media,
                b"type" => &mut link.mime,
                b"crossorigin" => &mut link.cross_origin,
                b"referrerpolicy" => &mut link.referrer_policy,
                b"fetchpriority" => &mut link.priority,
                b"nonce" | b"integrity" | b"imagesrcset" | b"imagesizes" | b"disabled"
                | b"blocking" => return None,
                _ => continue,
            };
            // Of two attributes of one name the first counts.
            place.get_or_insert(attribute.value);
        }
        Some(link)
    }

    /// The same as a value of `Link`; none where it asks for nothing, or can't be said.
    fn told(&self, has_base: bool) -> Option<String> {
        let address = self.address(has_base)?;
        let rel = self.rel?.to_ascii_lowercase();
        let has = |type_: &[u8]| rel.split(u8::is_ascii_whitespace).any(|one| one == type_);
        let is_style = |mime: &[u8]| mime.is_empty() || mime.eq_ignore_ascii_case(b"text/css");
        let mut out = format!("<{address}>; rel=");
        if has(b"stylesheet") {
            if has(b"alternate") || !self.mime.is_none_or(is_style) {
                return None;
            }
            out.push_str("preload; as=style");
        } else if has(b"preload") {
            let kind = self.kind?.to_ascii_lowercase();
            let kind = KINDS.iter().find(|known| **known == kind)?;
            out.push_str("preload; as=");
            out.push_str(std::str::from_utf8(kind).ok()?);
            quoted(&mut out, "type", self.mime)?;
        } else if has(b"modulepreload") && self.kind.is_none_or(|kind| kind == b"script") {
            out.push_str("modulepreload");
        } else if has(b"preconnect") && (address.starts_with("//") || is_https(&address)) {
            out.push_str("preconnect");
        } else {
            return None;
        }
        quoted(&mut out, "media", self.media)?;
        match self.cross_origin {
            None => {}
            Some(how) if how.eq_ignore_ascii_case(b"use-credentials") => {
                out.push_str("; crossorigin=use-credentials");
            }
            Some(_) => out.push_str("; crossorigin"),
        }
        word(&mut out, "referrerpolicy", self.referrer_policy)?;
        word(&mut out, "fetchpriority", self.priority)?;
        Some(out)
    }

    /// The address as it is written, if it means the same in a field: there is no `<base>`, and
    /// nothing in it has to be coded first.
    fn address(&self, has_base: bool) -> Option<String> {
        let decoded = entity::decode(self.href?.trim_ascii());
        let is_plain = |&byte: &u8| byte.is_ascii_graphic() && !b"<>\"\\^`{|}".contains(&byte);
        if decoded.is_empty()
            || decoded.len() > ADDRESS_BYTES_MAX
            || decoded[0] == b'#'
            || !decoded.iter().all(is_plain)
        {
            return None;
        }
        let address = String::from_utf8(decoded.into_owned()).ok()?;
        let is_whole = address.starts_with("//") || is_https(&address);
        // A colon in front of the path would be the end of a scheme.
        let path = address.split(['/', '?', '#']).next().unwrap_or_default();
        (is_whole || !has_base && !path.contains(':')).then_some(address)
    }
}

fn is_https(address: &str) -> bool {
    address.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"))
}

/// Adds a parameter in quotes; none if it can't stand there.
fn quoted(out: &mut String, name: &str, value: Option<&[u8]>) -> Option<()> {
    let Some(value) = value.filter(|value| !value.is_empty()) else { return Some(()) };
    let may_stand = |&byte: &u8| matches!(byte, b' '..=b'~') && !b"\"\\&".contains(&byte);
    if value.len() > ADDRESS_BYTES_MAX || !value.iter().all(may_stand) {
        return None;
    }
    out.push_str("; ");
    out.push_str(name);
    out.push_str("=\"");
    out.push_str(std::str::from_utf8(value).ok()?);
    out.push('"');
    Some(())
}

/// Adds a parameter that is one word.
fn word(out: &mut String, name: &str, value: Option<&[u8]>) -> Option<()> {
    let Some(value) = value.filter(|value| !value.is_empty()) else { return Some(()) };
    if value.len() > 64 || !value.iter().all(|&byte| byte.is_ascii_alphabetic() || byte == b'-') {
        return None;
    }
    out.push_str("; ");
    out.push_str(name);
    out.push('=');
    out.push_str(std::str::from_utf8(value).ok()?);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(head: &str, expected: &[&str]) {
        assert_eq!(preloads(head.as_bytes()), expected, "{head}");
    }

    #[test]
    fn what_a_browser_fetches_first_is_told_as_a_field_says_it() {
        for (link, expected) in [
            ("<link rel=stylesheet href=/a.css>", "</a.css>; rel=preload; as=style"),
            (
                "<LINK HREF='a.css?v=1&#038;w=2' REL=StyleSheet />",
                "<a.css?v=1&w=2>; rel=preload; as=style",
            ),
            (
                "<link rel=stylesheet href=/p.css media='(min-width: 40em)' crossorigin>",
                "</p.css>; rel=preload; as=style; media=\"(min-width: 40em)\"; crossorigin",
            ),
            (
                "<link rel=preload as=font type=font/woff2 href=//cdn.test/f.woff2 crossorigin=anonymous>",
                "<//cdn.test/f.woff2>; rel=preload; as=font; type=\"font/woff2\"; crossorigin",
            ),
            (
                "<link rel=\"preload\" as=\"image\" href=\"/hero.avif\" fetchpriority=\"high\">",
                "</hero.avif>; rel=preload; as=image; fetchpriority=high",
            ),
            ("<link rel=modulepreload href=/m.js>", "</m.js>; rel=modulepreload"),
            (
                "<link rel='preconnect dns-prefetch' href='https://f.test' crossorigin=use-credentials>",
                "<https://f.test>; rel=preconnect; crossorigin=use-credentials",
            ),
        ] {
            check(&format!("<!doctype html><html><head>{link}</head>"), &[expected]);
        }
    }

    #[test]
    fn what_a_field_can_t_say_or_a_browser_would_not_fetch_so_is_not_told() {
        for link in [
            "<link rel=stylesheet href=/a.css nonce=abc>",
            "<link rel=preload as=script href=/a.js integrity=sha384-x>",
            "<link rel=preload as=image href=/a.png imagesrcset='/a.png 1x, /b.png 2x'>",
            "<link rel='alternate stylesheet' href=/a.css>",
            "<link rel=stylesheet type=text/less href=/a.less>",
            "<link rel=stylesheet disabled href=/a.css>",
            "<link rel=preload href=/a.css>",
            "<link rel=preload as=document href=/a>",
            "<link rel=icon href=/a.png>",
            "<link rel=preconnect href=/>",
            "<link rel=stylesheet href='http://cdn.test/a.css'>",
            "<link rel=stylesheet href='data:text/css,a'>",
            "<link rel=stylesheet href='/a b.css'>",
            "<link rel=stylesheet href='/a>; rel=preload, </b'>",
            "<link rel=stylesheet href=/a.css media='a\"b'>",
            "<link rel=stylesheet href='/\u{e4}.css'>",
            "<link rel=stylesheet href=''>",
            "<link rel=stylesheet>",
        ] {
            check(&format!("<html><head>{link}</head>"), &[]);
        }
    }

    #[test]
    fn only_links_of_the_head_count_and_only_those_that_a_browser_sees() {
        let link = "<link rel=stylesheet href=/a.css>";
        let told = "</a.css>; rel=preload; as=style";
        for head in [
            format!("<!-- {link} -->"),
            format!("<script>'{link}'</script>"),
            format!("<noscript>{link}</noscript>"),
            format!("<template>{link}</template>"),
            format!("</head>{link}"),
            format!("<body>{link}"),
            format!("<p>{link}"),
            format!("<base href=/x/>{link}"),
            format!("<!-- never closed {link}"),
            format!("{}{link}", "<meta name=x>".repeat(6000)),
            link[..link.len() - 1].to_owned(),
        ] {
            check(&format!("<html><head>{head}"), &[]);
        }
        check(&format!("<title>a < b</title><script>1</script>{link}"), &[told]);
        check(
            "<base href=/x/><link rel=stylesheet href=https://c.test/a.css>",
            &["<https://c.test/a.css>; rel=preload; as=style"],
        );
    }
}
