//! A search that one line of the settings makes: what was visited once is found, and an edit
//! though nobody visits its page again.

use std::path::Path;

use serde_json::Value;

use crate::visitor::Visitor;
use crate::wick::{Wick, until};

/// What is looked for, and what somebody writes.
pub(crate) struct Sought {
    /// The pages that somebody visits.
    pub(crate) visited: &'static [&'static str],
    /// Words that stand on a page, and how its address ends.
    pub(crate) words: &'static str,
    pub(crate) page: &'static str,
    /// Writes on a page a word that nobody has written before; how its address ends.
    pub(crate) write: fn(&Visitor, &str) -> &'static str,
}

/// Serves `site` and searches it.
pub(crate) fn is_made(name: &str, site: &Path, sought: &Sought) {
    const WRITTEN: &str = "quillwort";
    let wick = Wick::serve_with(&site.display().to_string(), "[[site]]\nsearch = true\n");
    let reader = Visitor::new(&wick.base);
    for path in sought.visited {
        drop(reader.get(path));
    }
    until(&format!("{name}: `{}` is found", sought.words), || {
        paths(&reader, sought.words).iter().any(|path| path.ends_with(sought.page))
    });
    assert!(paths(&reader, WRITTEN).is_empty(), "{name}: nobody wrote it");
    let page = (sought.write)(&Visitor::new(&wick.base), WRITTEN);
    until(&format!("{name}: what was written is found"), || {
        paths(&reader, WRITTEN).iter().any(|path| path.ends_with(page))
    });
    let shown = reader.get(&format!("/search?q={WRITTEN}")).expect("the page", "<mark>");
    assert!(shown.text().contains(page), "{name}: {}", shown.text());
    wick.stop();
}

/// The paths of what a search brings.
fn paths(visitor: &Visitor, words: &str) -> Vec<String> {
    let words = words.replace(' ', "%20").replace('"', "%22");
    let answer = visitor.get(&format!("/search.json?q={words}")).expect("an answer", "hits");
    let told: Value = serde_json::from_str(&answer.text()).expect("JSON");
    let urls = told["hits"].as_array().into_iter().flatten().filter_map(|hit| hit["url"].as_str());
    urls.filter_map(|url| Some(format!("/{}", url.splitn(4, '/').nth(3)?))).collect()
}
