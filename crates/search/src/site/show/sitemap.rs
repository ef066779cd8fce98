//! A sitemap of pages, for sites that have none (sitemaps.org).
//!
//! Bound: [`PART_MAX`] pages a file; more are in parts, which an index names.

use super::escaped;
use super::feed::rfc3339;

/// Pages of one file; the protocol has 50,000 and 50 MB.
pub const PART_MAX: usize = 10_000;

/// A page of a sitemap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Path and query.
    pub target: String,
    /// When it was changed, in seconds since 1970, if that is known.
    pub changed: Option<i64>,
}

/// The pages of a site at `origin`.
#[must_use]
pub fn sitemap(origin: &str, pages: &[Listed]) -> String {
    let mut out = head("urlset");
    for Listed { target, changed } in pages {
        out.push_str(&format!("<url><loc>{}</loc>", escaped(&format!("{origin}{target}"))));
        if let Some(changed) = changed {
            out.push_str(&format!("<lastmod>{}</lastmod>", rfc3339(*changed)));
        }
        out.push_str("</url>\n");
    }
    out.push_str("</urlset>\n");
    out
}

/// Names the parts of a sitemap, from 1, which `part` in the query asks for.
#[must_use]
pub fn sitemap_index(address: &str, parts: usize) -> String {
    let mut out = head("sitemapindex");
    for part in 1..=parts {
        let at = escaped(&format!("{address}?part={part}"));
        out.push_str(&format!("<sitemap><loc>{at}</loc></sitemap>\n"));
    }
    out.push_str("</sitemapindex>\n");
    out
}

fn head(root: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <{root} xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_named_with_what_is_known() {
        let pages = [
            Listed { target: "/a?b=1&c=<2>".to_owned(), changed: Some(86_400) },
            Listed { target: "/%ED%95%9C".to_owned(), changed: None },
        ];
        let text = sitemap("https://a.test", &pages);
        let first = "<url><loc>https://a.test/a?b=1&amp;c=&lt;2&gt;</loc>\
                     <lastmod>1970-01-02T00:00:00Z</lastmod></url>\n";
        assert!(text.contains(first), "{text}");
        assert!(text.contains("<url><loc>https://a.test/%ED%95%9C</loc></url>"), "{text}");
        let text = sitemap_index("https://a.test/sitemap.xml", 2);
        assert_eq!(text.matches("<sitemap>").count(), 2);
        assert!(text.contains("<loc>https://a.test/sitemap.xml?part=2</loc>"), "{text}");
    }
}
