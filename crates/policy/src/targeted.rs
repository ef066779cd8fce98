//! Targeted cache control: what a response says to us in particular.
//!
//! In: a response's fields. Out: the directives that hold for this cache, and whether
//! they came from a targeted field. `Wick-Cache-Control` beats `CDN-Cache-Control`,
//! which beats what LiteSpeed's plugins say where the owner wants that heeded, which beats
//! `Surrogate-Control` where that is for us, which beats `Cache-Control` and `Expires`; there is no mixing.
//! Law: RFC 9213 §2: a field that is empty or no Structured Fields dictionary is ignored.
//! Here the value types are strict: a wrong one counts as the strictest, never as absent.

use std::borrow::Cow;

use sfv::{BareItem, Dictionary, ListEntry, Parser};
use wire::{Fields, Name};

use crate::directives::ResponseDirectives;
use crate::lscache::KEEPING_FIELD;
use crate::surrogate::{self, Esi};

/// The directives that hold, and whether `Expires` is out of the game.
#[must_use]
pub fn effective(response: &Fields, esi: Esi) -> (ResponseDirectives, bool) {
    for name in [Name::WickCacheControl, Name::CdnCacheControl] {
        if response.has(name)
            && let Some(directives) = read(response.all(name))
        {
            return (directives, true);
        }
    }
    if let Some(directives) = read(response.all_named(KEEPING_FIELD)) {
        return (directives, true);
    }
    if esi != Esi::Off
        && let Some(directives) = surrogate::directives(response)
    {
        return (directives, true);
    }
    (ResponseDirectives::of(response), false)
}

fn read<'a>(mut lines: impl Iterator<Item = &'a [u8]>) -> Option<ResponseDirectives> {
    let mut text = Cow::Borrowed(lines.next()?);
    for line in lines {
        let text = text.to_mut();
        text.extend_from_slice(b", ");
        text.extend_from_slice(line);
    }
    let dictionary: Dictionary = Parser::new(&*text).parse().ok()?;
    if dictionary.is_empty() {
        return None;
    }
    let seconds = |key: &str| dictionary.get(key).map(seconds);
    let flag = |key: &str| dictionary.get(key).is_some_and(holds);
    Some(ResponseDirectives {
        public: flag("public"),
        private: flag("private"),
        no_store: flag("no-store"),
        no_cache: flag("no-cache"),
        private_fields: false,
        no_cache_fields: false,
        must_revalidate: flag("must-revalidate"),
        proxy_revalidate: flag("proxy-revalidate"),
        must_understand: flag("must-understand"),
        malformed: false,
        max_age: seconds("max-age"),
        s_maxage: seconds("s-maxage"),
        stale_while_revalidate: seconds("stale-while-revalidate"),
        stale_if_error: seconds("stale-if-error"),
    })
}

/// `?0` is no; `no-cache="X"`, the qualified form, counts as the unqualified.
fn holds(entry: &ListEntry) -> bool {
    !matches!(entry, ListEntry::Item(item) if item.bare_item == BareItem::Boolean(false))
}

fn seconds(entry: &ListEntry) -> u32 {
    let number = match entry {
        ListEntry::Item(item) => item.bare_item.as_integer().map_or(0, i64::from),
        ListEntry::InnerList(_) => 0,
    };
    number.clamp(0, 1 << 31) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What holds: where it came from, its freshness and its flags.
    fn check(fields: &str, expected: &str) {
        let parsed = Fields::parse(fields.as_bytes()).expect("valid fields");
        let (all, targeted) = effective(&parsed, Esi::Asked);
        let mut said = vec![if targeted { "targeted" } else { "plain" }.to_owned()];
        said.extend(all.max_age.map(|value| format!("max-age={value}")));
        for (holds, word) in [
            (all.no_store, "no-store"),
            (all.no_cache, "no-cache"),
            (all.private, "private"),
            (all.public, "public"),
            (all.must_revalidate, "must-revalidate"),
        ] {
            if holds {
                said.push(word.to_owned());
            }
        }
        assert_eq!(said.join(" "), expected, "{fields:?}");
    }

    #[test]
    fn a_valid_targeted_field_replaces_cache_control_whole() {
        check("cache-control: no-store\ncdn-cache-control: max-age=5", "targeted max-age=5");
        check("cache-control: max-age=9\ncdn-cache-control: no-store", "targeted no-store");
        check("cache-control: public\ncdn-cache-control: max-age=5", "targeted max-age=5");
        check("cache-control: max-age=9\ncdn-cache-control: foo", "targeted");
        check("cdn-cache-control: max-age=5;x=1, private", "targeted max-age=5 private");
        check(
            "cdn-cache-control: max-age=5\ncdn-cache-control: must-revalidate",
            "targeted max-age=5 must-revalidate",
        );
        check("cdn-cache-control: no-cache=\"X\"", "targeted no-cache");
        check("cdn-cache-control: max-age=5, max-age=7", "targeted max-age=7");
    }

    #[test]
    fn our_own_field_beats_the_general_one() {
        check("cdn-cache-control: no-store\nwick-cache-control: max-age=5", "targeted max-age=5");
        check(
            "wick-cache-control: max-age=x y\ncdn-cache-control: max-age=7",
            "targeted max-age=7",
        );
    }

    #[test]
    fn what_is_said_to_surrogates_comes_third() {
        check("cache-control: no-store\nsurrogate-control: max-age=5", "targeted max-age=5");
        check("surrogate-control: max-age=5\ncdn-cache-control: max-age=6", "targeted max-age=6");
        check("cache-control: no-store\nsurrogate-control: content=\"ESI/1.0\"", "plain no-store");
        let both = Fields::parse(b"cache-control: no-store\nsurrogate-control: max-age=5");
        let (plain, targeted) = effective(&both.expect("valid fields"), Esi::Off);
        assert!(plain.no_store && !targeted);
    }

    #[test]
    fn a_field_that_is_empty_or_no_dictionary_is_ignored() {
        for wrong in
            ["", "max-age=", "max-age=5,", "MAX-AGE=5", "max-age=5 private", "\"x\"", "a=b=c", "&"]
        {
            check(
                &format!("cdn-cache-control: {wrong}\ncache-control: max-age=1"),
                "plain max-age=1",
            );
        }
    }

    #[test]
    fn values_of_the_wrong_type_are_the_strictest() {
        for wrong in ["\"10\"", "ten", "1.5", "-1", "?1", "(1)", ":YQ==:"] {
            check(&format!("cdn-cache-control: max-age={wrong}"), "targeted max-age=0");
        }
        check("cdn-cache-control: max-age=999999999999999", "targeted max-age=2147483648");
        check("cdn-cache-control: no-store=?0, max-age=1", "targeted max-age=1");
    }
}
