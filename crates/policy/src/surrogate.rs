//! Surrogates: what an app and the cache right before it say to each other.
//!
//! The cache tells what it can ([`CAPABILITY`]); the app's answer tells what is to be done with
//! it (`Surrogate-Control`), and nobody behind the cache sees that.
//! Law: Edge Architecture Specification 1.0 (W3C Note, 4 August 2001). Where LiteSpeed's plugins
//! say the same in `X-LiteSpeed-Cache-Control` they are understood as well.
//! Invariant: a word that can't be read gives nothing more life.

use wire::{Fields, Name};

use crate::directives::ResponseDirectives;
use crate::media_type::essence;

/// The field by which a cache tells what it can.
pub const CAPABILITY_FIELD: &str = "surrogate-capability";

/// What is told in it.
pub const CAPABILITY: &str = "wick=\"Surrogate/1.0 ESI/1.0\"";

/// What directives for this cache alone end in, as in `max-age=60;wick`.
const OWN_NAME: &str = "wick";

const LITESPEED: &str = "x-litespeed-cache-control";

/// How a site's pages are put together from parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Esi {
    /// Not here: what is asked of surrogates goes on to the next.
    Off,
    /// Where the answer asks for it.
    #[default]
    Asked,
    /// Every page of HTML or XML is looked through.
    Always,
}

/// Whether an answer asks to be put together from parts, or the owner wants it looked through.
#[must_use]
pub fn wants_esi(esi: Esi, status: u16, response: &Fields) -> bool {
    let has_body = !matches!(status, 100..200 | 204 | 206 | 304);
    let is_coded = response
        .first(Name::ContentEncoding)
        .is_some_and(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case(b"identity"));
    has_body
        && !is_coded
        && match esi {
            Esi::Off => false,
            Esi::Asked => asks(response),
            Esi::Always => asks(response) || is_markup(response),
        }
}

fn asks(response: &Fields) -> bool {
    let content = members(response.all(Name::SurrogateControl)).any(|directive| {
        directive.is_for_us()
            && directive.name.eq_ignore_ascii_case("content")
            && directive.value.split_ascii_whitespace().any(|word| word == "ESI/1.0")
    });
    content
        || members(response.all_named(LITESPEED))
            .any(|directive| directive.name.eq_ignore_ascii_case("esi") && directive.value == "on")
}

fn is_markup(response: &Fields) -> bool {
    let Some(content_type) = response.text(Name::ContentType) else { return false };
    let essence = essence(content_type.as_bytes()).to_ascii_lowercase();
    essence == b"text/html" || essence.ends_with(b"xml")
}

/// What `Surrogate-Control` says about keeping an answer; none: nothing.
#[must_use]
pub(crate) fn directives(response: &Fields) -> Option<ResponseDirectives> {
    if !response.has(Name::SurrogateControl) {
        return None;
    }
    let mut said = ResponseDirectives::default();
    let (mut is_about_keeping, mut is_our_own_age) = (false, false);
    for directive in members(response.all(Name::SurrogateControl)) {
        if !directive.is_for_us() {
            continue;
        }
        match directive.name.to_ascii_lowercase().as_str() {
            "no-store" => said.no_store = true,
            "max-age" if is_our_own_age && directive.target.is_none() => {}
            "max-age" => {
                is_our_own_age = directive.target.is_some();
                // `600+300`: and so long again while a newer one is made.
                let (age, more) = match directive.value.split_once('+') {
                    Some((age, more)) => (age, Some(more)),
                    None => (directive.value, None),
                };
                said.max_age = Some(number(age));
                said.stale_while_revalidate = more.map(number);
            }
            _ => continue,
        }
        is_about_keeping = true;
    }
    is_about_keeping.then_some(said)
}

/// For how many seconds an answer may be kept for its visitor alone; none: not at all. Asked of
/// parts of pages: a part's only reader is the cache that puts the page together, for one
/// visitor at a time, and so is that visitor's private cache (RFC 9111 §5.2.2.7).
#[must_use]
pub fn private_seconds(response: &Fields) -> Option<u32> {
    let (mut is_private, mut seconds) = (false, None);
    for directive in members(response.all_named(LITESPEED)) {
        match directive.name.to_ascii_lowercase().as_str() {
            "private" => is_private = true,
            "no-cache" | "no-store" => return None,
            "max-age" => seconds = Some(number(directive.value)),
            _ => {}
        }
    }
    if is_private {
        return seconds.filter(|&seconds| seconds > 0);
    }
    let plain = ResponseDirectives::of(response);
    let may = plain.private && !plain.private_fields && !plain.no_store && !plain.no_cache;
    plain.max_age.filter(|&seconds| may && !plain.malformed && seconds > 0)
}

/// Whether an answer says that what is kept for its visitor alone has changed.
#[must_use]
pub fn purges_private(response: &Fields) -> bool {
    ["x-litespeed-purge", "x-litespeed-purge2"].into_iter().any(|name| {
        response.all_named(name).any(|line| {
            String::from_utf8_lossy(line)
                .split(';')
                .any(|part| part.split(',').next().is_some_and(|word| word.trim() == "private"))
        })
    })
}

/// The directives of a field of LiteSpeed's: names in small letters, and values.
pub(crate) fn lscache_directives(
    response: &Fields,
    field: &'static str,
) -> impl Iterator<Item = (String, String)> {
    members(response.all_named(field))
        .filter(|directive| !directive.name.is_empty())
        .map(|directive| (directive.name.to_ascii_lowercase(), directive.value.to_owned()))
}

/// One directive, as in `max-age=60;wick` or `content="ESI/1.0"`.
struct Directive<'a> {
    name: &'a str,
    value: &'a str,
    target: Option<&'a str>,
}

impl Directive<'_> {
    fn is_for_us(&self) -> bool {
        self.target.is_none_or(|target| target == OWN_NAME)
    }
}

/// The directives of all lines; commas within quotes part nothing.
fn members<'a>(lines: impl Iterator<Item = &'a [u8]>) -> impl Iterator<Item = Directive<'a>> {
    lines
        .filter_map(|line| std::str::from_utf8(line).ok())
        .flat_map(|line| {
            let mut in_quotes = false;
            line.split(move |c: char| {
                in_quotes ^= c == '"';
                c == ',' && !in_quotes
            })
        })
        .map(|member| {
            let (name, rest) = member.split_once('=').unwrap_or((member, ""));
            let (rest, target) = match rest.trim().strip_prefix('"') {
                Some(quoted) => {
                    let (value, behind) = quoted.split_once('"').unwrap_or((quoted, ""));
                    (value, behind.split_once(';').map(|(_, target)| target.trim()))
                }
                None => match rest.split_once(';') {
                    Some((value, target)) => (value.trim(), Some(target.trim())),
                    None => (rest.trim(), None),
                },
            };
            match name.split_once(';') {
                Some((name, target)) => {
                    Directive { name: name.trim(), value: rest, target: Some(target.trim()) }
                }
                None => Directive { name: name.trim(), value: rest, target },
            }
        })
}

fn number(text: &str) -> u32 {
    text.trim().parse::<u64>().map_or(0, |number| number.min(1 << 31) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::written::fields;

    #[test]
    fn a_page_asks_to_be_put_together() {
        for (answer, expected) in [
            ("surrogate-control: content=\"ESI/1.0\"", true),
            ("surrogate-control: max-age=5, content=\"ESI-INV/1.0 ESI/1.0\"", true),
            ("surrogate-control: max-age=5\nsurrogate-control: content=\"ESI/1.0\"", true),
            ("surrogate-control: content=\"ESI/1.0\";wick", true),
            ("surrogate-control: content=\"ESI/1.0\";another", false),
            ("surrogate-control: content=\"ESI/1.1\"", false),
            ("surrogate-control: x=\"a, content=ESI/1.0\"", false),
            ("surrogate-control: max-age=5", false),
            ("cache-control: content=\"ESI/1.0\"", false),
            ("x-litespeed-cache-control: public,max-age=9,esi=on", true),
            ("x-litespeed-cache-control: public,esi=off", false),
            ("surrogate-control: content=\"ESI/1.0\"\ncontent-encoding: gzip", false),
            ("content-type: text/html; charset=utf-8", false),
        ] {
            let answer = fields(answer);
            assert_eq!(wants_esi(Esi::Asked, 200, &answer), expected, "{answer:?}");
            assert!(!wants_esi(Esi::Off, 200, &answer) && !wants_esi(Esi::Asked, 304, &answer));
        }
        for (kind, expected) in [
            ("text/html; charset=utf-8", true),
            ("application/atom+xml", true),
            ("text/css", false),
        ] {
            let answer = fields(&format!("content-type: {kind}"));
            assert_eq!(wants_esi(Esi::Always, 404, &answer), expected, "{kind}");
        }
    }

    #[test]
    fn a_surrogate_is_told_how_long_to_keep_it() {
        for (value, expected) in [
            ("max-age=60", "60"),
            ("max-age=60+30, content=\"ESI/1.0\"", "60+30"),
            ("max-age=60, max-age=5;wick", "5"),
            ("max-age=5;wick, max-age=60", "5"),
            ("max-age=60;another", "nothing"),
            ("no-store", "not"),
            ("no-store-remote", "nothing"),
            ("content=\"ESI/1.0\"", "nothing"),
            ("max-age=x", "0"),
            ("max-age", "0"),
            ("", "nothing"),
        ] {
            let told = match directives(&fields(&format!("surrogate-control: {value}"))) {
                None => "nothing".to_owned(),
                Some(said) if said.no_store => "not".to_owned(),
                Some(said) => {
                    let more = said.stale_while_revalidate.map(|more| format!("+{more}"));
                    format!("{}{}", said.max_age.unwrap_or(7), more.unwrap_or_default())
                }
            };
            assert_eq!(told, expected, "{value}");
        }
    }

    #[test]
    fn a_part_may_be_kept_for_its_visitor() {
        for (answer, expected) in [
            ("cache-control: private, max-age=60", Some(60)),
            ("cache-control: private", None),
            ("cache-control: max-age=60", None),
            ("cache-control: private, max-age=60, no-store", None),
            ("cache-control: private, max-age=60, no-cache", None),
            ("cache-control: private, max-age=0", None),
            ("cache-control: no-store\nx-litespeed-cache-control: private,max-age=9", Some(9)),
            ("cache-control: private, max-age=60\nx-litespeed-cache-control: no-cache", None),
            ("x-litespeed-cache-control: public,max-age=9", None),
        ] {
            assert_eq!(private_seconds(&fields(answer)), expected, "{answer}");
        }
        assert!(purges_private(&fields("x-litespeed-purge: public,a; private,*")));
        assert!(!purges_private(&fields("x-litespeed-purge: public,private")));
    }
}
