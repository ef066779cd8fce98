//! New items of a page marked in the visitor's browser, so that one page serves everybody.
//!
//! In: how a page's dated items are found. Out: an element that stands in the page's head, the
//! same for all, and what a content security policy has to say to let it run.
//!
//! Its script (`mark_new.js`) keeps in the browser's storage when the visitor was last seen. A
//! visit ends when nothing was opened for half an hour; items with a date behind the end of the
//! visit before are marked. Dates are ISO 8601, or Unix times in seconds or milliseconds, and
//! stand in `data-wick-since`, `datetime`, `data-time`, `title` or the text, the first that is
//! there. A marked item that is `hidden` is shown. The window hears an event `wick-new` with
//! the `count` of marked items. A page that comes back from the browser's cache is marked anew.
//! Invariant: the script's text is the same whatever the settings, so one hash names it.

use bytes::Bytes;

const SCRIPT: &str = include_str!("mark_new.js");

/// What a content security policy calls the script.
pub const SCRIPT_HASH: &str = "'sha256-2FtT6cFyq9/Lu5UCDlBelTRS3SB8pCdFG9xR9uMsOb4='";

/// How new items are found and marked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkNewItems {
    /// CSS selector of the items.
    pub items: String,
    /// CSS selector of what bears an item's date, within it; empty: the item itself.
    pub date: String,
    /// The class that a new item gets.
    pub class: String,
    /// Declarations of CSS that it gets.
    pub look: String,
}

impl Default for MarkNewItems {
    fn default() -> Self {
        Self {
            items: "[data-wick-since]".to_owned(),
            date: String::new(),
            class: "wick-new".to_owned(),
            look: "box-shadow:inset 3px 0 #d97706".to_owned(),
        }
    }
}

impl MarkNewItems {
    /// The element that does it.
    #[must_use]
    pub fn element(&self) -> Bytes {
        let mut element = String::with_capacity(1200);
        element.push_str("<script");
        for (name, value) in [
            ("items", &self.items),
            ("date", &self.date),
            ("mark", &self.class),
            ("look", &self.look),
        ] {
            element.push_str(" data-");
            element.push_str(name);
            element.push_str("=\"");
            escape(value, &mut element);
            element.push('"');
        }
        element.push('>');
        element.push_str(SCRIPT.trim_end());
        element.push_str("</script>");
        element.into()
    }
}

/// Text within quotes.
fn escape(text: &str, out: &mut String) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '<' => out.push_str("&lt;"),
            other => out.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::prelude::BASE64_STANDARD;

    use super::*;

    #[test]
    fn the_hash_is_that_of_the_script_as_it_stands_in_the_page() {
        let element = MarkNewItems { items: "\">".to_owned(), ..MarkNewItems::default() }.element();
        let element = std::str::from_utf8(&element).expect("it is text");
        let (_, text) = element.split_once("3px 0 #d97706\">").expect("a start tag");
        let text = text.strip_suffix("</script>").expect("an end tag");
        let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
        let hash = format!("'sha256-{}'", BASE64_STANDARD.encode(digest));
        assert_eq!(SCRIPT_HASH, hash, "write this into SCRIPT_HASH");
        assert!(!text.contains("</"), "nothing in it ends it");
        assert!(text.len() < 1000, "it is {} bytes", text.len());
    }

    #[test]
    fn no_selector_gets_out_of_its_attribute() {
        let rules = MarkNewItems {
            items: "a[href=\"x\"] > b".to_owned(),
            date: "</script><script>&quot;".to_owned(),
            ..MarkNewItems::default()
        };
        let element = rules.element();
        let element = std::str::from_utf8(&element).expect("it is text");
        assert!(element.starts_with(
            "<script data-items=\"a[href=&quot;x&quot;] > b\" \
             data-date=\"&lt;/script>&lt;script>&amp;quot;\" data-mark=\"wick-new\""
        ));
    }
}
