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
    fn links_within_the_host_are_targets() {
        let links = ["?page=2", "#top", "//c.test/", "javascript:x", "../up", "http://a.test/q"];
        let told = targets_within(links.into_iter(), "http://a.test/d/e");
        assert_eq!(told, ["/d/e?page=2", "/d/e", "/up", "/q"]);
    }
}
