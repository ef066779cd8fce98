//! The head of a page that was put together: what of the page's own still holds.

use wire::{Fields, Name};

/// Takes from a page's fields what doesn't hold for what is made of it.
///
/// Validators, digests and ranges are of the bytes with the holes in them. How long others may
/// keep the result no part has said, so nobody may without asking; and where something in it
/// may be for one visitor, nobody but that one may at all.
pub(super) fn dress(fields: &mut Fields, is_personal: bool, has_parts: bool) {
    const OF_THE_BYTES: [&[u8]; 6] = [
        b"content-md5",
        b"content-digest",
        b"repr-digest",
        b"digest",
        b"want-repr-digest",
        b"no-vary-search",
    ];
    const FOR_CACHES: [Name; 4] =
        [Name::WickCacheControl, Name::CdnCacheControl, Name::Expires, Name::CacheControl];
    for name in [
        Name::SurrogateControl,
        Name::Etag,
        Name::LastModified,
        Name::ContentLength,
        Name::AcceptRanges,
        Name::ContentRange,
    ] {
        fields.remove(name);
    }
    fields.retain(|known, name, _| {
        known.is_some() || !OF_THE_BYTES.iter().any(|other| name.eq_ignore_ascii_case(other))
    });
    if !is_personal && !has_parts {
        return;
    }
    FOR_CACHES.into_iter().for_each(|name| fields.remove(name));
    let word = if is_personal { "private, no-store" } else { "no-cache" };
    fields.put(Name::CacheControl, word);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(fields: &str, is_personal: bool, has_parts: bool, expected: &str) {
        let mut fields = Fields::parse(fields.as_bytes()).expect("valid fields");
        dress(&mut fields, is_personal, has_parts);
        let mut out = Vec::new();
        fields.render(&mut out);
        assert_eq!(String::from_utf8_lossy(&out).replace("\r\n", "|"), expected);
    }

    #[test]
    fn what_others_may_keep_depends_on_what_is_in_it() {
        let page = "etag: \"1\"\nlast-modified: x\ncontent-length: 5\ncontent-md5: z\n\
                    accept-ranges: bytes\nsurrogate-control: content=\"ESI/1.0\"\n\
                    cdn-cache-control: max-age=5\nexpires: y\ncache-control: max-age=60\nx: 1";
        let kept = "cdn-cache-control: max-age=5|expires: y|cache-control: max-age=60|x: 1|";
        check(page, false, false, kept);
        check(page, false, true, "x: 1|cache-control: no-cache|");
        check(page, true, false, "x: 1|cache-control: private, no-store|");
        check("", true, true, "cache-control: private, no-store|");
    }
}
