//! Sitemaps: the pages that a site names itself, or other sitemaps that do.
//!
//! They are XML; as only two elements are wanted of them, they are read as pages are. Bounds:
//! [`ENTRIES_MAX`] entries, as the protocol has it; what comes packed is unpacked to
//! [`BYTES_MAX`] at most.

use std::io::Read;

use flate2::read::GzDecoder;

use crate::date;
use crate::markup::{Event, walk_xml};

/// Entries of one sitemap.
const ENTRIES_MAX: usize = 50_000;
const BYTES_MAX: u64 = 16 << 20;

/// What a sitemap names.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sitemap {
    /// Pages, and when they were changed.
    pub pages: Vec<(String, Option<i64>)>,
    /// Other sitemaps.
    pub maps: Vec<String>,
}

impl Sitemap {
    /// Reads a sitemap, packed or not.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        let mut unpacked = Vec::new();
        let bytes = match bytes.starts_with(&[0x1f, 0x8b]) {
            true => {
                // What breaks off is read as far as it goes.
                let _ = GzDecoder::new(bytes).take(BYTES_MAX).read_to_end(&mut unpacked);
                &unpacked
            }
            false => &bytes[..bytes.len().min(BYTES_MAX as usize)],
        };
        let mut reading = Reading::default();
        walk_xml(&String::from_utf8_lossy(bytes), |event| reading.hear(event));
        reading.map
    }
}

#[derive(Default)]
struct Reading {
    map: Sitemap,
    text: String,
    place: String,
    changed: Option<i64>,
}

impl Reading {
    fn hear(&mut self, event: Event<'_>) {
        match event {
            Event::Start(_) => self.text.clear(),
            Event::Text(text) if self.text.len() < 4096 => self.text.push_str(text),
            Event::Text(_) => {}
            Event::End("loc") => self.place = std::mem::take(&mut self.text).trim().to_owned(),
            Event::End("lastmod") => self.changed = date::unix(&self.text),
            Event::End(name) => self.entry(name),
        }
    }

    fn entry(&mut self, name: &str) {
        if self.map.pages.len() + self.map.maps.len() >= ENTRIES_MAX || self.place.is_empty() {
            return;
        }
        match name {
            "url" => {
                let page = (std::mem::take(&mut self.place), self.changed.take());
                self.map.pages.push(page);
            }
            "sitemap" => self.map.maps.push(std::mem::take(&mut self.place)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const MAP: &str = "<?xml version=\"1.0\"?><urlset xmlns=\"x\"><url><loc> http://a/?x=1&amp;y=2 \
        </loc><lastmod>1970-01-02</lastmod></url><url><loc>http://a/b</loc></url></urlset>";

    #[test]
    fn pages_and_other_sitemaps_are_read() {
        let map = Sitemap::of(MAP.as_bytes());
        let expected =
            [("http://a/?x=1&y=2".to_owned(), Some(86_400)), ("http://a/b".to_owned(), None)];
        assert_eq!(map.pages, expected);
        let index = "<sitemapindex><sitemap><loc>/one.xml</loc></sitemap></sitemapindex>";
        assert_eq!(Sitemap::of(index.as_bytes()).maps, ["/one.xml"]);
        let verbatim = b"<urlset><url><loc><![CDATA[http://a/?x=1&y=2]]></loc></url></urlset>";
        assert_eq!(Sitemap::of(verbatim).pages[0].0, "http://a/?x=1&y=2");
        assert_eq!(Sitemap::of(b"<html><p>no map"), Sitemap::default());
    }

    #[test]
    fn a_packed_one_is_unpacked() {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(MAP.as_bytes()).unwrap();
        let packed = packed.finish().unwrap();
        assert_eq!(Sitemap::of(&packed), Sitemap::of(MAP.as_bytes()));
        assert!(Sitemap::of(&packed[..packed.len() / 2]).maps.is_empty());
    }
}
