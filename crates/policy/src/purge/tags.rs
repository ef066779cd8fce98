//! Tags: what an app says that a page is made of, and which fields are for caches alone.
//!
//! Tags are cut at commas and at white space alike, in pages and in purges: a tag that holds
//! a space becomes two in both, and purging it purges at least its own pages.

use wire::Fields;

/// Fields that tell a cache the tags of a page.
const TAG_FIELDS: [&str; 9] = [
    "cache-groups",
    "cache-tag",
    "cache-tags",
    "edge-cache-tag",
    "purge-cache-tags",
    "surrogate-key",
    "x-cache-tags",
    "x-magento-tags",
    "xkey",
];

/// Fields with other words for tags, and those by which an app speaks to its cache otherwise.
const OTHERS: [&str; 10] = [
    "cache-group-invalidation",
    "typo3-pid",
    "typo3-sitename",
    "wick-lscache-control",
    "wick-vary-cookie",
    "x-litespeed-cache-control",
    "x-litespeed-purge",
    "x-litespeed-purge2",
    "x-litespeed-tag",
    "x-litespeed-vary",
];

/// Whether a field of an answer is for caches alone, so that no visitor is shown it.
#[must_use]
pub fn is_for_caches(name: &[u8]) -> bool {
    // All of them begin with one of these letters, and few others do.
    matches!(
        name.first().map(u8::to_ascii_lowercase),
        Some(b'c' | b'e' | b'p' | b's' | b't' | b'w' | b'x')
    ) && TAG_FIELDS.iter().chain(&OTHERS).any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
}

/// Calls `take` with each tag that an answer bears.
pub fn tags_of(answer: &Fields, mut take: impl FnMut(&[u8])) {
    for (known, name, value) in answer.iter_known() {
        if known.is_some() || !is_for_caches(name) {
            continue;
        }
        let is = |field: &str| name.eq_ignore_ascii_case(field.as_bytes());
        if TAG_FIELDS.iter().any(|field| is(field)) {
            split(value).for_each(&mut take);
        } else if is("x-litespeed-tag") {
            split(value)
                .map(|tag| tag.strip_prefix(b"public:").unwrap_or(tag))
                .filter(|tag| !tag.is_empty())
                .for_each(&mut take);
        } else if is("typo3-pid") {
            split(value).for_each(|pid| take(&[TYPO3_PAGE.as_bytes(), pid].concat()));
        } else if is("typo3-sitename") {
            split(value).for_each(|site| take(&[TYPO3_SITE.as_bytes(), site].concat()));
        }
    }
}

/// What stands before a page's number in TYPO3, to make a tag of it.
pub(super) const TYPO3_PAGE: &str = "typo3-pid:";
/// What stands before a site's name in TYPO3, to make a tag of it.
pub(super) const TYPO3_SITE: &str = "typo3-sitename:";

/// The tags in a list of them.
pub(super) fn split(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value
        .split(|&byte| byte == b',' || byte.is_ascii_whitespace())
        .map(|tag| {
            let tag = tag.strip_prefix(b"\"").unwrap_or(tag);
            tag.strip_suffix(b"\"").unwrap_or(tag)
        })
        .filter(|tag| !tag.is_empty())
}

/// The same as text; what is no text is shown as that, and equals no tag.
pub(super) fn split_text(value: &[u8]) -> Vec<String> {
    split(value).map(|tag| String::from_utf8_lossy(tag).into_owned()).collect()
}
