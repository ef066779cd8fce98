//! A tracker's place in a site: which of the site's addresses are for the tracker.
//!
//! In: a target. Out: the name by which it is told, without what may be secret.

/// Where announces come to, and scrapes with them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The folder's bytes, with the slash behind it.
    folder_bytes: usize,
    announce: String,
    scrape: String,
}

impl Mount {
    /// The place of this path, as in `/announce` or `/bt/announce.php`; none if it is no path, or
    /// doesn't end in such a name.
    #[must_use]
    pub fn at(path: &str) -> Option<Self> {
        let (folder, leaf) = path.rsplit_once('/')?;
        let is_fit = folder.is_empty() || folder.starts_with('/');
        let is_known = matches!(leaf, "announce" | "announce.php") && !path.contains(['?', '#']);
        (is_fit && is_known).then(|| Self {
            folder_bytes: folder.len() + 1,
            announce: path.to_owned(),
            scrape: format!("{folder}/{}", leaf.replace("announce", "scrape")),
        })
    }

    /// What to call a request with this target; none if it is for somebody else. A passkey may
    /// stand before the name or behind it.
    #[must_use]
    pub fn name(&self, target: &str) -> Option<&str> {
        let path = target.split_once('?').map_or(target, |(path, _)| path);
        let folder = &self.announce[..self.folder_bytes];
        let mut rest = path.strip_prefix(folder)?.split('/');
        let (first, second) = (rest.next()?, rest.next().unwrap_or_default());
        if rest.next().is_some() {
            return None;
        }
        let named = |segment: &str| {
            let mut both = [&self.announce, &self.scrape].into_iter();
            both.find(|name| &name[self.folder_bytes..] == segment)
        };
        named(first).or_else(|| named(second)).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn announces_and_scrapes_with_and_without_a_passkey_are_the_trackers() {
        for (path, target, expected) in [
            ("/announce", "/announce?info_hash=x", Some("/announce")),
            ("/announce", "/scrape?info_hash=x", Some("/scrape")),
            ("/announce", "/0123456789abcdef/announce?x", Some("/announce")),
            ("/announce", "/announce/0123456789abcdef", Some("/announce")),
            ("/announce", "/0123456789abcdef/scrape", Some("/scrape")),
            ("/announce", "/announce.php?x", None),
            ("/announce", "/a/b/announce", None),
            ("/announce", "/announcements", None),
            ("/announce", "/", None),
            ("/announce", "*", None),
            ("/bt/announce.php", "/bt/announce.php?uk=1", Some("/bt/announce.php")),
            ("/bt/announce.php", "/bt/scrape.php?uk=1", Some("/bt/scrape.php")),
            ("/bt/announce.php", "/announce.php", None),
        ] {
            let mount = Mount::at(path).expect("a place");
            assert_eq!(mount.name(target), expected, "{path} {target}");
        }
        for path in ["announce", "/", "", "/tracker", "/announce?x", "x/announce"] {
            assert_eq!(Mount::at(path), None, "{path}");
        }
    }
}
