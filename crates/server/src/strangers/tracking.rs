//! Marks of advertising in an address: parameters that count clicks and choose no page.
//!
//! They are left out where pages of the class were found to be the same without them; a
//! page that shows them is never stored.

use align::Likeness;

use super::Strangers;
use super::brief::Brief;
use super::persona::Persona;
use super::verify::apart;

const NAMES: [&str; 22] = [
    "utm_source",
    "utm_medium",
    "utm_campaign",
    "utm_term",
    "utm_content",
    "utm_id",
    "utm_source_platform",
    "gclid",
    "gclsrc",
    "gbraid",
    "wbraid",
    "dclid",
    "fbclid",
    "msclkid",
    "mc_cid",
    "mc_eid",
    "yclid",
    "twclid",
    "igshid",
    "ttclid",
    "li_fat_id",
    "_gl",
];

/// The target without such marks; none if there are none.
pub(crate) fn bare(target: &str) -> Option<String> {
    let query_at = memchr::memchr(b'?', target.as_bytes())? + 1;
    // Each stranger's request is looked through, so bytes are compared, which costs less.
    if !target.as_bytes()[query_at..].split(|&byte| byte == b'&').any(is_mark) {
        return None;
    }
    let (path, query) = target.split_at(query_at);
    let kept = query.split('&').filter(|parameter| !is_mark(parameter.as_bytes()));
    let kept = kept.collect::<Vec<_>>().join("&");
    Some(if kept.is_empty() { path[..query_at - 1].to_owned() } else { path.to_owned() + &kept })
}

fn is_mark(parameter: &[u8]) -> bool {
    let name = parameter.split(|&byte| byte == b'=').next().unwrap_or_default();
    NAMES.iter().any(|mark| mark.as_bytes() == name)
}

/// Learns whether a page is the same with its marks and without.
pub(crate) async fn learn(brief: &Brief, strangers: &Strangers) {
    let Some(bare) = bare(&brief.target) else { return };
    let mut persona = Persona::new(strangers.persona_address());
    let plain_brief = brief.to(&bare);
    // The first visit begins a session; the two that are compared are in it.
    if persona.fetch(&plain_brief).await.is_err() {
        return;
    }
    let (plain, marked) = (persona.fetch(&plain_brief).await, persona.fetch(brief).await);
    let (Ok(plain), Ok(marked)) = (plain, marked) else { return };
    let is_ignored = match (plain.document, marked.document) {
        _ if plain.status != marked.status => false,
        (Some(plain), Some(marked)) => {
            let shows = NAMES.iter().any(|name| {
                memchr::memmem::find(marked.text(), name.as_bytes()).is_some()
                    && memchr::memmem::find(plain.text(), name.as_bytes()).is_none()
            });
            let likeness = apart(move || align::compare(&plain, &marked).map(|c| c.likeness()));
            !shows && matches!(likeness.await, Ok(Likeness::Same | Likeness::Translatable))
        }
        _ => plain.body == marked.body,
    };
    strangers.classes.note_tracking(&brief.target, is_ignored);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_taken_out_and_nothing_else() {
        for (target, expected) in [
            ("/a", None),
            ("/a?b=1", None),
            ("/a?utm_source=x", Some("/a")),
            ("/a?b=1&utm_source=x&c=2&fbclid", Some("/a?b=1&c=2")),
            ("/a?utm_sources=x", None),
            ("/utm_source=x", None),
        ] {
            assert_eq!(bare(target).as_deref(), expected, "{target}");
        }
    }
}
