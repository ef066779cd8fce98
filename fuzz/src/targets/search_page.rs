//! What a page, a `robots.txt`, a sitemap and a feed may hold.

use crawl::robots::Robots;
use crawl::sitemap::Sitemap;
use crawl::{canonical, targets_within};
use search::site::show::escaped;
use search::site::{Blocks, PageText, decoded, shape};

/// A document has the shape, is no larger than its page allows, and is the same each time.
pub(crate) fn run_page(input: &[u8]) {
    // It may be cut anywhere, and says itself in which encoding it is.
    let html = decoded(input, "").unwrap_or_else(|| String::from_utf8_lossy(input));
    let page = PageText::of(&html);
    let mut blocks = Blocks::default();
    blocks.note(1, page.hashes());
    let made = page.document("/x", "", &blocks, 7);
    assert_eq!(made, PageText::of(&html).document("/x", "", &blocks, 7));
    assert_eq!(made.fields.len(), shape().fields.len());
    assert_eq!(made.attributes.len(), shape().attributes.len());
    for field in &made.fields[..3] {
        // A letter may stand for an entity, and no entity is that much shorter than its letters.
        assert!(field.len() <= 8 * html.len() + 8, "{} of {}", field.len(), html.len());
        assert!(!escaped(field).contains(['<', '"', '\0']));
    }
    let base = "http://a.test/b/c";
    if let Some(written) = &page.canonical {
        let target = canonical(written, base, &[]);
        assert!(target.is_none_or(|target| target.starts_with('/')));
    }
    let links = page.links.iter().map(|link| link.to.as_str());
    assert!(targets_within(links, base).iter().all(|target| target.starts_with('/')));
}

/// All of them are read whatever they are.
pub(crate) fn run_maps(input: &[u8]) {
    let map = Sitemap::of(input);
    assert!(map.pages.iter().all(|(page, _)| !page.is_empty()));
    let text = String::from_utf8_lossy(input);
    assert!(crawl::feed::links(&text).iter().all(|link| !link.is_empty()));
    let robots = Robots::of(&text, "wick");
    let target = text.lines().next().unwrap_or("/");
    // Without rules all is allowed.
    assert!(robots != Robots::default() || robots.allows(target));
    assert_eq!(robots.allows(target), Robots::of(&text, "wick").allows(target));
}
