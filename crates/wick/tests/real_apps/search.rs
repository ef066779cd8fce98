//! A search that one line of the settings makes: what was visited once is found, and an edit
//! though nobody visits its page again, nine times in a row.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::strangers::LogIn;
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
    /// How whoever edits logs in: apps refuse many edits of a guest's.
    pub(crate) editor: &'static LogIn,
    /// Writes a word in the place of all that stands on a page, and looks at it; how its address
    /// ends.
    pub(crate) edit: fn(&Visitor, &str) -> &'static str,
}

/// What is written in the place of one another, nothing like any other: a word that is like one of
/// the site's would be proposed, and its page read for that.
const EDITS: [&str; 9] = [
    "toadflax",
    "speedwell",
    "marjoram",
    "butterbur",
    "chickweed",
    "fumitory",
    "knapwort",
    "lungmoss",
    "pennycress",
];

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
    // Who hasn't written before: of one address and name apps take one comment in a while.
    let guest = Visitor::new(&wick.base).from("127.0.0.8");
    let page = (sought.write)(&guest, WRITTEN);
    until(&format!("{name}: what was written is found"), || {
        paths(&reader, WRITTEN).iter().any(|path| path.ends_with(page))
    });
    let shown = reader.get(&format!("/search?q={WRITTEN}")).expect("the page", "<mark>");
    assert!(shown.text().contains(page), "{name}: {}", shown.text());
    edits_are_found(name, &wick, sought);
    wick.stop();
}

/// Edits one page again and again, and tells how long each takes until it is found.
fn edits_are_found(name: &str, wick: &Wick, sought: &Sought) {
    let (reader, editor) = (Visitor::new(&wick.base), Visitor::new(&wick.base));
    let LogIn { page, mark, fields, .. } = sought.editor;
    let form = editor.get(page).expect("the page with the form", mark);
    editor.submit(&form, mark, fields);
    let (mut before, mut took) = (None, Vec::new());
    for word in EDITS {
        let page = (sought.edit)(&editor, word);
        let seen = Instant::now();
        until(&format!("{name}: the edit to {word} is found"), || {
            paths(&reader, word).iter().any(|path| path.ends_with(page))
        });
        took.push(seen.elapsed());
        if let Some(before) = before.replace(word) {
            let old = paths(&reader, before);
            assert!(!old.iter().any(|path| path.ends_with(page)), "{name}: {before}: {old:?}");
        }
    }
    let milliseconds: Vec<u128> = took.iter().map(Duration::as_millis).collect();
    took.sort_unstable();
    let (half, most) = (took[took.len() / 2], took[took.len() - 1]);
    println!(
        "{name}: edits were found after {milliseconds:?} ms: p50 {} ms, at most {} ms",
        half.as_millis(),
        most.as_millis()
    );
}

/// The paths of what a search brings.
pub(crate) fn paths(visitor: &Visitor, words: &str) -> Vec<String> {
    let words = words.replace(' ', "%20").replace('"', "%22");
    let answer = visitor.get(&format!("/search.json?q={words}")).expect("an answer", "hits");
    let told: Value = serde_json::from_str(&answer.text()).expect("JSON");
    let urls = told["hits"].as_array().into_iter().flatten().filter_map(|hit| hit["url"].as_str());
    urls.filter_map(|url| Some(format!("/{}", url.splitn(4, '/').nth(3)?))).collect()
}
