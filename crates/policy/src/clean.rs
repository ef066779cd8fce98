//! Which fields of a response are kept, and what a 304 changes in them.
//!
//! Law: RFC 9111 §3.1, §3.2, §4.3.4, §5.2.2.4, §5.2.2.7.
//! The round of a validation is: [`refreshed`], then [`crate::admit`] of the result, then
//! [`clean_for_store`] of it; so what the 304 says about age, freshness and cookies is
//! judged like any other response.

use wire::{Fields, Name, ResponseHead};

use crate::directives::{ResponseDirectives, is_qualified};
use crate::hops;
use crate::purge::is_for_caches;

/// The fields to store. `Content-Length` is left to who knows the body; a missing `Date`
/// is to be added by who knows the time.
#[must_use]
pub fn clean_for_store(response: &ResponseHead) -> Fields {
    let all = &response.fields;
    let directives = ResponseDirectives::of(all);
    let has_qualified = directives.private_fields || directives.no_cache_fields;
    all.filtered(|known, name, _| {
        let goes = matches!(known, Some(Name::Age | Name::ContentLength | Name::SetCookie))
            || hops::is_of_one_hop(known, name)
            || hops::is_named(all, name)
            || (known.is_none() && is_for_caches(name))
            || (has_qualified && is_qualified(all, name));
        !goes
    })
}

/// Stored fields with those of a 304 in their place.
///
/// `Age` and `Set-Cookie` of the 304 are let through for [`crate::admit`] to see; a stored
/// `Date` that the 304 doesn't renew goes, as the response is as good as made now.
#[must_use]
pub fn refreshed(stored: &Fields, from_304: &Fields) -> Fields {
    let renews = |known: Option<Name>, name: &[u8]| {
        let of_the_body =
            matches!(known, Some(Name::ContentLength | Name::ContentEncoding | Name::ContentRange));
        !of_the_body && !hops::is_of_one_hop(known, name) && !hops::is_named(from_304, name)
    };
    let mut fields = stored.clone();
    fields.retain(|known, name, _| {
        let replaced = renews(known, name)
            && from_304.iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
        !replaced && !matches!(known, Some(Name::Date | Name::Age))
    });
    for (known, name, value) in from_304.iter_known() {
        if renews(known, name) {
            // It was a field when it was read, so it is one now.
            let pushed = fields.try_push(name, value);
            debug_assert!(pushed.is_ok());
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::written::{fields, rendered};

    #[test]
    fn what_belongs_to_one_answer_or_one_connection_is_not_stored() {
        for (received, stored) in [
            ("A: 1\nAge: 3\nb: 2", "A: 1|b: 2|"),
            ("set-cookie: a=b\nset-cookie: c=d\nx: y", "x: y|"),
            ("connection: x-hop, close\nX-Hop: 1\nx: y\nkeep-alive: 1", "x: y|"),
            ("transfer-encoding: chunked\ntrailer: x\nupgrade: h2\nte: x\nx: y", "x: y|"),
            ("proxy-authenticate: x\nproxy-authentication-info: x\nx: y", "x: y|"),
            ("content-length: 5\ncontent-type: a/b", "content-type: a/b|"),
            ("xkey: a b\nX-LiteSpeed-Tag: c\nx: y", "x: y|"),
            ("cache-status: cdn; hit\nvia: 1.1 x", "cache-status: cdn; hit|via: 1.1 x|"),
            (
                "cache-control: private=\"X-User, x-b\", max-age=5\nx-user: me\nX-B: 1\nx-c: 2",
                "cache-control: private=\"X-User, x-b\", max-age=5|x-c: 2|",
            ),
            ("cache-control: no-cache=\"x-a\"\nx-a: 1\nx-a: 2", "cache-control: no-cache=\"x-a\"|"),
        ] {
            let head = ResponseHead { status: 200, fields: fields(received) };
            assert_eq!(rendered(&clean_for_store(&head)), stored, "{received:?}");
        }
    }

    #[test]
    fn a_304_renews_all_fields_but_those_of_the_body() {
        for (stored, not_modified, together) in [
            ("x-a: 1\nx-b: 1", "x-a: 2", "x-b: 1|x-a: 2|"),
            ("x-a: 1\nX-A: 2", "x-a: 3\nx-a: 4", "x-a: 3|x-a: 4|"),
            ("x-a: 1", "x-new: 1", "x-a: 1|x-new: 1|"),
            (
                "content-encoding: gzip\ncontent-range: x\ncontent-length: 5",
                "content-encoding: br\ncontent-range: y\ncontent-length: 0",
                "content-encoding: gzip|content-range: x|content-length: 5|",
            ),
            (
                "content-type: a/b\ncontent-language: de",
                "content-type: c/d",
                "content-language: de|content-type: c/d|",
            ),
            ("etag: \"1\"", "etag: \"2\"\nconnection: x-h\nx-h: 1\nkeep-alive: 5", "etag: \"2\"|"),
            ("date: x\nexpires: y", "", "expires: y|"),
            ("date: x", "date: z\nage: 5", "date: z|age: 5|"),
        ] {
            let merged = refreshed(&fields(stored), &fields(not_modified));
            assert_eq!(rendered(&merged), together, "{stored:?} + {not_modified:?}");
        }
    }
}
