//! Addresses within a site: what a link or a canonical address leads to.

use url::Url;

/// The target (path and query) of what a page calls its canonical address.
///
/// `hosts` are the site's own names; where there are none, any host is the site's.
/// `None`: it is on another site, or no address.
#[must_use]
pub fn canonical(written: &str, base: &str, hosts: &[String]) -> Option<String> {
    let base = Url::parse(base).ok()?;
    let url = base.join(written.trim()).ok()?;
    if !matches!(url.scheme(), "http" | "https") {
        return None;
    }
    let host = url.host_str()?;
    let is_own = hosts.is_empty()
        || base.host_str() == Some(host)
        || hosts.iter().any(|own| plain_host(own).eq_ignore_ascii_case(host));
    is_own.then(|| target(&url))
}

/// The targets that links lead to, of those that stay on this host.
pub fn targets_within<'a>(links: impl Iterator<Item = &'a str>, base: &str) -> Vec<String> {
    let Ok(base) = Url::parse(base) else { return Vec::new() };
    links
        .filter_map(|link| base.join(link.trim()).ok())
        .filter(|url| matches!(url.scheme(), "http" | "https"))
        .filter(|url| url.host_str() == base.host_str() && url.port() == base.port())
        .map(|url| target(&url))
        .collect()
}

fn target(url: &Url) -> String {
    match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    }
}

/// Whether an address may do something, or belong to one visitor: no page for who reads all.
#[must_use]
pub fn does_something(target: &str) -> bool {
    const NAMES: [&str; 16] = [
        "sid",
        "phpsessid",
        "token",
        "action",
        "do",
        "mode",
        "replytocom",
        "add-to-cart",
        "login",
        "logout",
        "redirect",
        "returnto",
        "oldid",
        "diff",
        "print",
        "share",
    ];
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let path = path.to_ascii_lowercase();
    let is_named = |name: &str| NAMES.contains(&name.to_ascii_lowercase().as_str());
    ["login", "logout", "signin", "register"].iter().any(|word| path.contains(word))
        || url::form_urlencoded::parse(query.as_bytes()).any(|(name, _)| is_named(&name))
}

/// Whether an address may be known to those alone whom it was given to: an order's page, a draft
/// that is shared, a link that confirms something. Such a page is anybody's who has its address,
/// and so it is given to everybody, but not to be found.
#[must_use]
pub fn bears_secret(target: &str) -> bool {
    const NAMES: [&str; 16] = [
        "key",
        "token",
        "hash",
        "code",
        "secret",
        "auth",
        "sig",
        "signature",
        "nonce",
        "reset",
        "confirm",
        "invite",
        "password",
        "pwd",
        "access",
        "share",
    ];
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let is_named = |name: &str| {
        let name = name.to_ascii_lowercase();
        name.split(|letter: char| !letter.is_ascii_alphanumeric()).any(|part| NAMES.contains(&part))
    };
    path.split('/').any(is_random)
        || url::form_urlencoded::parse(query.as_bytes()).any(|(name, value)| {
            is_random(&value) || (is_named(&name) && value.len() >= NAMED_SECRET_BYTES)
        })
}

/// What is called a secret is one from so many letters on.
const NAMED_SECRET_BYTES: usize = 6;
/// As many letters and digits in a row, both of them, are no word.
const RANDOM_BYTES: usize = 16;

/// Whether a part of an address looks like nothing that a person would write.
fn is_random(part: &str) -> bool {
    let is_uuid = part.len() == 36
        && part.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
    is_uuid
        || part.split(|letter: char| !letter.is_ascii_alphanumeric()).any(|run| {
            run.len() >= RANDOM_BYTES
                && run.bytes().filter(u8::is_ascii_digit).count() >= 2
                && run.bytes().filter(u8::is_ascii_alphabetic).count() >= 2
        })
}

/// A host without its port.
#[must_use]
pub fn plain_host(host: &str) -> &str {
    let name = host.rsplit_once(':').filter(|(_, port)| !port.contains(']'));
    name.map_or(host, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_canonical_address_is_a_target_of_this_site_or_none() {
        let own = ["b.test".to_owned()];
        for (written, hosts, expected) in [
            ("/x?y=1#z", &[][..], Some("/x?y=1")),
            ("other", &[], Some("/a/other")),
            ("https://anywhere.test/x", &[], Some("/x")),
            ("https://b.test/x", &own, Some("/x")),
            ("http://a.test:8080/x", &own, Some("/x")),
            ("https://c.test/x", &own, None),
            ("mailto:me", &[], None),
            ("http://[", &[], None),
        ] {
            let told = canonical(written, "http://a.test:8080/a/page", hosts);
            assert_eq!(told.as_deref(), expected, "{written}");
        }
    }

    #[test]
    fn an_address_that_bears_a_secret_is_told_from_a_page() {
        for (target, expected) in [
            ("/", false),
            ("/2026/11/a-long-headline-about-20-candles/", false),
            ("/viewtopic.php?t=1234567", false),
            ("/index.php?title=Category:Shelf_1", false),
            ("/wiki/Electroencephalography", false),
            ("/?p=12&code=de", false),
            ("/checkout/order-received/17/?key=wc_order_aB3dE6gH9jK1m", true),
            ("/a/?unapproved=3&moderation-hash=d41d8cd98f00b204e9800998ecf8427e", true),
            ("/reset/d41d8cd98f00b204e9800998ecf8427e", true),
            ("/share/550e8400-e29b-41d4-a716-446655440000", true),
            ("/confirm?token=123456", true),
        ] {
            assert_eq!(bears_secret(target), expected, "{target}");
        }
    }

    #[test]
    fn links_within_the_host_are_targets() {
        let links = ["?page=2", "#top", "//c.test/", "javascript:x", "../up", "http://a.test/q"];
        let told = targets_within(links.into_iter(), "http://a.test/d/e");
        assert_eq!(told, ["/d/e?page=2", "/d/e", "/up", "/q"]);
    }
}
