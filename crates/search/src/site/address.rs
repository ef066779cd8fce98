//! What an address says of its page: the part of the site that it is in, and of which topic it is
//! one of several pages.
//!
//! Topics that have several pages are told by their addresses, `/topic/5` and `/topic/5?page=2`,
//! and by their titles, which must be the same but for a number: `index.php?page=5` may be a page
//! of its own.

use url::form_urlencoded::parse;
use xxhash_rust::xxh3::xxh3_64;

/// Parameters that name a page of several, by its number or by what is first on it.
const PAGE_NAMES: [&str; 7] = ["page", "paged", "pagenumber", "cpage", "start", "offset", "st"];
/// What names it in a path, before its number.
const PAGE_WORDS: [&str; 4] = ["page-", "page_", "page", "comment-page-"];
/// Names of sections are cut there.
const SECTION_CHARACTERS_MAX: usize = 60;
/// How many words of a title's part may stand with a page's number: `Page 2 of 3`.
const NUMBERED_WORDS_MAX: usize = 4;
const TITLE_PARTS: [&str; 7] = [" - ", " | ", " – ", " — ", " » ", " · ", " :: "];

/// The first part of a path that has another behind it; empty where there is none. What a program
/// is called isn't one.
pub(super) fn section_of(target: &str) -> String {
    let path = target.split(['?', '#']).next().unwrap_or(target);
    let mut parts = path.trim_start_matches('/').split('/').skip_while(|part| part.contains('.'));
    match (parts.next(), parts.next()) {
        (Some(first), Some(_)) if !first.is_empty() => {
            let plain = first.replace('+', "%2B");
            // Read as a parameter's name, which takes the percents out.
            let name = parse(plain.as_bytes()).next().map(|(name, _)| name.into_owned());
            name.unwrap_or_default().chars().take(SECTION_CHARACTERS_MAX).collect()
        }
        _ => String::new(),
    }
}

/// A number that all pages of one topic have in common; none: it is one page, as far as can be
/// told. `targets` are where the page leads to on its own site.
pub(super) fn topic_of<'a>(
    target: &str,
    title: &str,
    targets: impl Iterator<Item = &'a str>,
) -> Option<i64> {
    let title = title_without_page(title);
    if title.is_empty() {
        return None;
    }
    let (own, is_one_of_many) = without_page(target);
    let leads_on = || targets.map(without_page).any(|(other, is_paged)| is_paged && other == own);
    (is_one_of_many || leads_on())
        .then(|| xxh3_64(format!("{own}\0{title}").as_bytes()).cast_signed())
}

/// Whether a link may lead to a page of several: a quick look, before it is read.
pub(super) fn may_be_paged(link: &str) -> bool {
    PAGE_NAMES.iter().any(|name| link.contains(name))
}

/// An address without what names a page of several, and whether it named one.
fn without_page(target: &str) -> (String, bool) {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let is_number = |text: &str| {
        (1..10).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    let mut parts: Vec<&str> = path.trim_end_matches('/').split('/').collect();
    let before = parts.len();
    match parts.as_slice() {
        [.., "page", last] if is_number(last) => parts.truncate(before - 2),
        [.., last] if PAGE_WORDS.iter().any(|it| last.strip_prefix(it).is_some_and(is_number)) => {
            parts.truncate(before - 1);
        }
        _ => {}
    }
    let pairs: Vec<&str> = query.split('&').filter(|pair| !pair.is_empty()).collect();
    let names_page = |pair: &&str| {
        pair.split_once('=').is_some_and(|(name, value)| {
            PAGE_NAMES.iter().any(|it| name.eq_ignore_ascii_case(it)) && is_number(value)
        })
    };
    let kept: Vec<&str> = pairs.iter().copied().filter(|pair| !names_page(pair)).collect();
    let is_paged = parts.len() < before || kept.len() < pairs.len();
    (format!("{}?{}", parts.join("/"), kept.join("&")), is_paged)
}

/// A title without the parts behind its first that count pages.
fn title_without_page(title: &str) -> String {
    let mut parts = vec![title];
    for between in TITLE_PARTS {
        parts = parts.into_iter().flat_map(|part| part.split(between)).collect();
    }
    let is_number = |part: &str| {
        part.split_whitespace().count() <= NUMBERED_WORDS_MAX
            && part.bytes().any(|byte| byte.is_ascii_digit())
    };
    let mut all = parts.into_iter().map(str::trim);
    let first = all.next().unwrap_or("");
    let first = match first.rsplit_once('(') {
        Some((before, inner)) if inner.ends_with(')') && is_number(inner) => before.trim(),
        _ => first,
    };
    let rest = all.filter(|part| !is_number(part));
    std::iter::once(first).chain(rest).collect::<Vec<_>>().join("\0").trim().to_owned()
}

/// A page's language as it is told and looked for: `en` of `en-GB`. Chinese has two scripts.
pub(super) fn language_of(written: &str) -> String {
    let written = written.trim().to_ascii_lowercase().replace('_', "-");
    let mut parts = written.split('-');
    let first = parts.next().unwrap_or("");
    let is_code = (2..=3).contains(&first.len()) && first.bytes().all(|it| it.is_ascii_lowercase());
    match (is_code, first) {
        (false, _) => String::new(),
        (true, "zh") if parts.any(|it| ["hant", "tw", "hk", "mo"].contains(&it)) => {
            "zh-Hant".to_owned()
        }
        (true, "nb" | "nn") => "no".to_owned(),
        (true, first) => first.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_what_paths_begin_with() {
        for (target, expected) in [
            ("/", ""),
            ("/about", ""),
            ("/forum/", "forum"),
            ("/forum/topic/5?a=/b/c", "forum"),
            ("/viewtopic.php?t=5", ""),
            ("/index.php/forum/5", "forum"),
            ("/%EC%86%8C%EC%8B%9D/1", "소식"),
            ("/a+b&c=d/1", "a+b"),
            ("", ""),
        ] {
            assert_eq!(section_of(target), expected, "{target}");
        }
    }

    #[test]
    fn pages_of_a_topic_have_a_number_in_common() {
        let topic = |target: &str, title: &str, links: &[&str]| {
            topic_of(target, title, links.iter().copied())
        };
        for (first, second, next) in [
            ("/topic/5", "/topic/5?page=2", "On hats - Page 2 - Board"),
            ("/viewtopic.php?t=5", "/viewtopic.php?t=5&start=25", "On hats - Board"),
            ("/threads/hats.5/", "/threads/hats.5/page-2", "On hats | Page 2 of 3 | Board"),
            ("/hats/", "/hats/page/2/", "On hats (2) - Board"),
            ("/hats/", "/hats/comment-page-2/", "On hats – 2페이지 – Board"),
        ] {
            let title = "On hats - Board";
            let found = topic(first, title, &["/other", second]);
            assert!(found.is_some(), "{first}");
            assert_eq!(found, topic(second, next, &[first]), "{second}");
            assert_eq!(topic(first, title, &["/other?page=2", "/topic/6?page=2"]), None, "{first}");
            assert_ne!(found, topic(second, "On shoes - Board", &[]), "{second}");
        }
        let own = |page: u32, title: &str| topic(&format!("/index.php?page={page}"), title, &[]);
        assert_ne!(own(1, "About us"), own(2, "Contact"));
        assert_ne!(own(1, "Chapter 1"), own(2, "Chapter 2"));
        assert_eq!(topic("/index.php?page=about", "About", &[]), None);
        assert_eq!(topic("/a?page=2", "", &[]), None, "of what has no title nothing is known");
        assert_eq!(topic("/topic/5?post=2", "On hats", &[]), None);
    }

    #[test]
    fn languages_are_told_by_their_first_part() {
        for (written, expected) in [
            ("en-GB", "en"),
            ("EN_us", "en"),
            ("ko", "ko"),
            ("zh-TW", "zh-Hant"),
            ("zh-Hans-CN", "zh"),
            ("nb", "no"),
            ("x", ""),
            ("<script>", ""),
            ("", ""),
        ] {
            assert_eq!(language_of(written), expected, "{written}");
        }
    }
}
