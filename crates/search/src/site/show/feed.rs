//! Feeds of a query, and the description by which browsers know the search.
//!
//! Invariant: a feed changes only when what it tells changes: it bears no moment of its making.

use super::{Shown, ShownHit, encoded, escaped};
use crate::FeedKind;

/// What a feed says of itself.
pub struct Feed {
    /// When the newest of its pages was changed.
    changed: i64,
    title: String,
}

impl Feed {
    /// The feed of an answer whose hits are the newest first; `since` is when the site's search
    /// began, for one without hits.
    #[must_use]
    pub fn of(shown: &Shown, since: i64) -> Self {
        let newest = shown.hits.iter().map(|hit| hit.changed).max();
        let host = shown.origin.split("://").last().unwrap_or("");
        let title = match shown.query.is_empty() {
            true => host.to_owned(),
            false => format!("{} – {host}", shown.query),
        };
        Self { changed: newest.unwrap_or(since), title }
    }

    /// When the newest of its pages was changed, in seconds since 1970.
    #[must_use]
    pub fn changed(&self) -> i64 {
        self.changed
    }
}

/// RSS 2.0.
#[must_use]
pub fn rss(shown: &Shown, feed: &Feed) -> String {
    let own = address(shown, ".rss");
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
         <rss version=\"2.0\" xmlns:atom=\"http://www.w3.org/2005/Atom\">\n<channel>\n\
         <title>{}</title>\n<link>{}</link>\n<description>New pages that fit</description>\n\
         <lastBuildDate>{}</lastBuildDate>\n\
         <atom:link rel=\"self\" type=\"application/rss+xml\" href=\"{own}\"/>\n",
        escaped(&feed.title),
        address(shown, ""),
        http_date(feed.changed),
    );
    if let Some(hub) = &shown.hub {
        out.push_str(&format!("<atom:link rel=\"hub\" href=\"{}\"/>\n", escaped(hub)));
    }
    for hit in &shown.hits {
        let link = link(shown, hit);
        out.push_str(&format!(
            "<item>\n<title>{}</title>\n<link>{link}</link>\n<guid>{link}</guid>\n\
             <pubDate>{}</pubDate>\n<description>{}</description>\n</item>\n",
            escaped(hit.name()),
            http_date(hit.changed),
            escaped(&hit.excerpt()),
        ));
    }
    out.push_str("</channel>\n</rss>\n");
    out
}

/// Atom (RFC 4287).
#[must_use]
pub fn atom(shown: &Shown, feed: &Feed) -> String {
    let own = address(shown, ".atom");
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n\
         <id>{own}</id>\n<title>{}</title>\n<updated>{}</updated>\n\
         <link rel=\"self\" href=\"{own}\"/>\n<link rel=\"alternate\" type=\"text/html\" href=\"{}\"/>\n\
         <author><name>{}</name></author>\n",
        escaped(&feed.title),
        rfc3339(feed.changed),
        address(shown, ""),
        escaped(shown.origin.split("://").last().unwrap_or("")),
    );
    if let Some(hub) = &shown.hub {
        out.push_str(&format!("<link rel=\"hub\" href=\"{}\"/>\n", escaped(hub)));
    }
    for hit in &shown.hits {
        let link = link(shown, hit);
        out.push_str(&format!(
            "<entry>\n<id>{link}</id>\n<title>{}</title>\n<updated>{}</updated>\n\
             <link href=\"{link}\"/>\n<summary type=\"html\">{}</summary>\n</entry>\n",
            escaped(hit.name()),
            rfc3339(hit.changed),
            escaped(&hit.excerpt()),
        ));
    }
    out.push_str("</feed>\n");
    out
}

/// The `OpenSearch` description, by which browsers offer the search.
#[must_use]
pub fn opensearch(origin: &str, path: &str) -> String {
    let host = escaped(origin.split("://").last().unwrap_or(""));
    let name: String = host.chars().take(16).collect();
    let base = escaped(&format!("{origin}{path}"));
    format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
         <OpenSearchDescription xmlns=\"http://a9.com/-/spec/opensearch/1.1/\">\n\
         <ShortName>{name}</ShortName>\n<Description>Search {host}</Description>\n\
         <InputEncoding>UTF-8</InputEncoding>\n\
         <Url type=\"text/html\" template=\"{base}?q={{searchTerms}}\"/>\n\
         <Url type=\"application/x-suggestions+json\" template=\"{base}.suggest.json?q={{searchTerms}}\"/>\n\
         <Url type=\"application/rss+xml\" template=\"{base}.rss?q={{searchTerms}}\"/>\n\
         <Url type=\"application/atom+xml\" template=\"{base}.atom?q={{searchTerms}}\"/>\n\
         <Url type=\"application/opensearchdescription+xml\" rel=\"self\" template=\"{base}.xml\"/>\n\
         </OpenSearchDescription>\n"
    )
}

fn link(shown: &Shown, hit: &ShownHit) -> String {
    escaped(&format!("{}{}", shown.origin, hit.target))
}

fn address(shown: &Shown, end: &str) -> String {
    escaped(&address_of(&format!("{}{}", shown.origin, shown.path), end, &shown.query))
}

fn address_of(search: &str, end: &str, query: &str) -> String {
    format!("{search}{end}?q={}", encoded(query))
}

/// Where the feed of a query is, of the search at this address.
#[must_use]
pub fn feed_address(search: &str, kind: FeedKind, query: &str) -> String {
    let end = match kind {
        FeedKind::Rss => ".rss",
        FeedKind::Atom => ".atom",
    };
    address_of(search, end, query)
}

/// A moment as HTTP and RSS write it.
#[must_use]
pub fn http_date(unix: i64) -> String {
    let at = std::time::UNIX_EPOCH
        .checked_add(std::time::Duration::from_secs(unix.max(0).cast_unsigned()));
    // What no calendar holds is as old as can be.
    let at = at.filter(|_| unix < 253_402_300_800).unwrap_or(std::time::UNIX_EPOCH);
    httpdate::fmt_http_date(at)
}

pub(super) fn rfc3339(unix: i64) -> String {
    let at = time::OffsetDateTime::from_unix_timestamp(unix.max(0));
    let at = at.unwrap_or(time::OffsetDateTime::UNIX_EPOCH);
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
        at.year(),
        u8::from(at.month()),
        at.day(),
        at.hour(),
        at.minute(),
        at.second()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feed_is_the_same_until_what_it_tells_changes() {
        let hit = ShownHit { target: "/a".into(), changed: 86_400, ..ShownHit::default() };
        let shown = Shown {
            query: "a b".into(),
            path: "/search".into(),
            origin: "https://a.test".into(),
            hits: vec![hit],
            ..Shown::default()
        };
        let feed = Feed::of(&shown, 5);
        assert_eq!(feed.changed(), 86_400);
        assert_eq!(rss(&shown, &feed), rss(&shown, &feed));
        let text = rss(&shown, &feed);
        assert!(text.contains("<pubDate>Fri, 02 Jan 1970 00:00:00 GMT</pubDate>"), "{text}");
        assert!(text.contains("href=\"https://a.test/search.rss?q=a+b\""), "{text}");
        let text = atom(&shown, &feed);
        assert!(text.contains("<updated>1970-01-02T00:00:00Z</updated>"), "{text}");
        assert_eq!(Feed::of(&Shown::default(), 5).changed(), 5);
    }

    #[test]
    fn browsers_are_told_how_to_ask() {
        let text = opensearch("https://a.test", "/search");
        assert!(text.contains("template=\"https://a.test/search?q={searchTerms}\""), "{text}");
    }
}
