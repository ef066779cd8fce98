//! Feeds: the pages that a site tells its readers of, in RSS or Atom.
//!
//! They are XML, and read as pages are, as only links are wanted of them. Bound:
//! [`ENTRIES_MAX`].

use crate::markup::{Event, attribute, walk_xml};

/// Entries that are read of one feed.
const ENTRIES_MAX: usize = 1_000;

/// Where the entries of a feed lead to; none if it is no feed.
#[must_use]
pub fn links(text: &str) -> Vec<String> {
    let (mut found, mut is_feed, mut is_entry) = (Vec::new(), false, false);
    let mut written = None;
    walk_xml(text, |event| match event {
        Event::Start(tag) => match &*tag.name {
            "rss" | "feed" | "rdf:rdf" => is_feed = true,
            "item" | "entry" => is_entry = true,
            "link" => {
                let relation = attribute(tag, "rel").unwrap_or("alternate");
                match attribute(tag, "href").map(str::trim).filter(|to| !to.is_empty()) {
                    Some(to) if relation == "alternate" && is_entry => found.push(to.to_owned()),
                    Some(_) => {}
                    None => written = Some(String::new()),
                }
            }
            _ => {}
        },
        Event::Text(text) => {
            if let Some(address) = &mut written
                && address.len() < 4096
            {
                address.push_str(text);
            }
        }
        Event::End(name) => match name {
            "item" | "entry" => is_entry = false,
            "link" => {
                let address = written.take().unwrap_or_default();
                if is_entry && !address.trim().is_empty() {
                    found.push(address.trim().to_owned());
                }
            }
            _ => {}
        },
    });
    found.truncate(ENTRIES_MAX);
    if is_feed { found } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_both_kinds_of_feed_are_read() {
        let rss = "<?xml version=\"1.0\"?><rss><channel><link>http://a/</link><item><title>x\
            </title><link> http://a/1?b&amp;c </link></item><item><link>/2</link></item></rss>";
        assert_eq!(links(rss), ["http://a/1?b&c", "/2"]);
        let atom = "<feed xmlns='x'><link href='/'/><entry><link rel=\"alternate\" href='/1'/>\
            <link rel='edit' href='/1/edit'/><link href=' '/></entry></feed>";
        assert_eq!(links(atom), ["/1"]);
        assert!(links("<html><link href=/x><p>no feed").is_empty());
    }
}
