//! Regular expressions of owners, as far as they are lists of addresses, hosts or names.
//!
//! In: a pattern. Out: the texts that it stands for, or none if it stands for more than
//! a list can say. Where a pattern goes on in a way that isn't understood, its beginning
//! stands for it: more addresses than were meant, never fewer.
//! Invariant: what a pattern is multiplied out to is bounded.

/// Texts that one pattern may stand for.
const TEXTS_MAX: usize = 64;
/// Groups within groups.
const DEPTH_MAX: usize = 8;

/// What one alternative stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Text {
    text: String,
    /// The pattern ends here, by `$`.
    is_whole: bool,
    /// Something follows that isn't understood, or anything.
    is_cut: bool,
}

impl Text {
    fn is_done(&self) -> bool {
        self.is_whole || self.is_cut
    }
}

/// Addresses as `never_share` takes them, of a pattern that is held against a path from
/// its first slash on.
pub(crate) fn addresses(pattern: &str) -> Option<Vec<String>> {
    let texts = expand(anchored(pattern)?)?;
    let mut addresses = Vec::new();
    for text in texts {
        // A beginning of "/" would be the whole site.
        let is_usable = text.text.starts_with('/')
            && (text.is_whole || text.text.len() > 1)
            && text.text.bytes().all(|b| b.is_ascii_graphic() && b != b'*');
        if !is_usable {
            return None;
        }
        let star = if text.is_whole { "" } else { "*" };
        let address = format!("{}{star}", text.text);
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    (!addresses.is_empty()).then_some(addresses)
}

/// Hosts, of a pattern that stands for whole ones.
pub(crate) fn hosts(pattern: &str) -> Option<Vec<String>> {
    let texts = expand(anchored(pattern)?)?;
    texts
        .into_iter()
        .map(|text| crate::address::host(&text.text).filter(|_| text.is_whole))
        .collect()
}

/// The parameters that a pattern over a query names before `=`, and whether that is all.
pub(crate) fn parameters(pattern: &str) -> (Vec<String>, bool) {
    let mut names = Vec::new();
    let mut is_all = true;
    for (at, _) in pattern.match_indices('=') {
        let before = &pattern[..at];
        let listed = match before.strip_suffix(')').and_then(|inner| inner.rsplit_once('(')) {
            Some((_, inner)) => inner.strip_prefix("?:").unwrap_or(inner),
            None => {
                let is_name = |c: char| c.is_ascii_alphanumeric() || "_-.\\".contains(c);
                let start = before
                    .rfind(|c| !is_name(c))
                    .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
                &before[start..]
            }
        };
        for name in listed.split('|') {
            let name = name.replace('\\', "");
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
            match !name.is_empty() && name.chars().all(is_plain) {
                true if !names.contains(&name) && names.len() < TEXTS_MAX => names.push(name),
                true => {}
                false => is_all = false,
            }
        }
    }
    is_all &= !names.is_empty();
    (names, is_all)
}

fn anchored(pattern: &str) -> Option<&str> {
    let pattern = pattern.strip_prefix("(?i)").unwrap_or(pattern);
    pattern.strip_prefix('^')
}

/// Multiplies a pattern out.
fn expand(pattern: &str) -> Option<Vec<Text>> {
    let mut rest = pattern;
    let texts = alternatives(&mut rest, 0)?;
    rest.is_empty().then_some(texts)
}

/// `a|b|c`, until the end or a closing bracket.
fn alternatives(rest: &mut &str, depth: usize) -> Option<Vec<Text>> {
    let mut all = sequence(rest, depth)?;
    while let Some(next) = rest.strip_prefix('|') {
        // Only the first alternative of the whole pattern bears the anchor.
        *rest = if depth == 0 { next.strip_prefix('^')? } else { next };
        all.extend(sequence(rest, depth)?);
        if all.len() > TEXTS_MAX {
            return None;
        }
    }
    Some(all)
}

fn sequence(rest: &mut &str, depth: usize) -> Option<Vec<Text>> {
    let mut texts = vec![Text::default()];
    while let Some(first) = rest.chars().next() {
        if first == '|' || first == ')' {
            break;
        }
        let piece = piece(rest, first, depth)?;
        let is_optional = rest.starts_with('?');
        if is_optional {
            *rest = &rest[1..];
        }
        if rest.starts_with(['*', '+', '{']) {
            // Any number of them: nothing can be said from here on.
            texts.iter_mut().for_each(|text| text.is_cut |= !text.is_done());
            skip(rest);
            continue;
        }
        let mut longer = Vec::new();
        for text in texts {
            if text.is_done() {
                longer.push(text);
                continue;
            }
            if is_optional {
                longer.push(text.clone());
            }
            longer.extend(piece.iter().map(|piece| Text {
                text: format!("{}{}", text.text, piece.text),
                ..piece.clone()
            }));
            if longer.len() > TEXTS_MAX {
                return None;
            }
        }
        texts = longer;
    }
    Some(texts)
}

/// One letter, class or group.
fn piece(rest: &mut &str, first: char, depth: usize) -> Option<Vec<Text>> {
    let cut = || Some(vec![Text { is_cut: true, ..Text::default() }]);
    *rest = &rest[first.len_utf8()..];
    match first {
        '$' => Some(vec![Text { is_whole: true, ..Text::default() }]),
        '(' => {
            if depth >= DEPTH_MAX {
                return None;
            }
            let inner = rest.strip_prefix("?:").unwrap_or(rest);
            if inner.starts_with('?') {
                return None;
            }
            *rest = inner;
            let texts = alternatives(rest, depth + 1)?;
            *rest = rest.strip_prefix(')')?;
            Some(texts)
        }
        '[' => {
            let end = rest.find(']')?;
            *rest = &rest[end + 1..];
            cut()
        }
        '.' => cut(),
        '\\' => {
            let escaped = rest.chars().next()?;
            *rest = &rest[escaped.len_utf8()..];
            match escaped.is_ascii_punctuation() {
                true => letter(escaped),
                false => cut(),
            }
        }
        '^' | '*' | '+' | '?' | '{' => None,
        plain => letter(plain),
    }
}

fn letter(letter: char) -> Option<Vec<Text>> {
    Some(vec![Text { text: letter.to_string(), ..Text::default() }])
}

/// Passes over how often something may come.
fn skip(rest: &mut &str) {
    let end = match rest.strip_prefix('{') {
        Some(inner) => inner.find('}').map_or(rest.len(), |at| at + 2),
        None => 1,
    };
    *rest = rest[end..].trim_start_matches(['?', '+']);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_over_addresses_are_lists_or_nothing() {
        for (pattern, expected) in [
            ("^/admin", Some("/admin*")),
            ("^/admin/.*$", Some("/admin/*")),
            ("^/status\\.php$", Some("/status.php")),
            ("^/(user|admin)/", Some("/user/* /admin/*")),
            ("^/(?:cart|my-account)(/|$)", Some("/cart/* /cart /my-account/* /my-account")),
            ("^/product/[0-9]+", Some("/product/*")),
            ("^/wp-(login|cron)\\.php", Some("/wp-login.php* /wp-cron.php*")),
            ("^/checkout/?$", Some("/checkout /checkout/")),
            ("^/a|^/b", Some("/a* /b*")),
            ("^/a|/b", None),
            ("^/", None),
            ("^/$", Some("/")),
            ("^/.*/admin", None),
            ("wp-admin", None),
            ("^/a b", None),
            ("^/(a", None),
            ("^/a)", None),
            ("^/(?=a)", None),
            ("^/[a", None),
            ("^/a{2,", Some("/*")),
        ] {
            let expected = if expected == Some("/*") { None } else { expected };
            assert_eq!(
                addresses(pattern).map(|list| list.join(" ")).as_deref(),
                expected,
                "{pattern}"
            );
        }
        let many = format!("^/{}", "(a|b|c|d)".repeat(30));
        assert_eq!(addresses(&many), None);
        assert_eq!(addresses(&format!("^/{}", "(".repeat(10_000))), None);
    }

    #[test]
    fn patterns_over_hosts_are_whole_names() {
        for (pattern, expected) in [
            ("^(www\\.)?example\\.org$", Some("example.org www.example.org")),
            ("^(a|b)\\.test$", Some("a.test b.test")),
            ("^.*\\.test$", None),
            ("example.org", None),
            ("^example\\.org", None),
        ] {
            assert_eq!(hosts(pattern).map(|list| list.join(" ")).as_deref(), expected, "{pattern}");
        }
    }

    #[test]
    fn parameters_of_a_query_are_named() {
        for (pattern, expected, is_all) in [
            ("(\\?|&)(utm_source|gclid)=[^&]+", "utm_source gclid", true),
            ("[?&](?:fbclid|mc\\_cid)=[-_A-z0-9]*&?", "fbclid mc_cid", true),
            ("&ref=", "ref", true),
            ("(utm_[a-z]+|gclid)=", "gclid", false),
            ("=", "", false),
            ("nothing", "", false),
            ("ü=", "", false),
        ] {
            let (names, all) = parameters(pattern);
            assert_eq!((names.join(" ").as_str(), all), (expected, is_all), "{pattern}");
        }
    }
}
