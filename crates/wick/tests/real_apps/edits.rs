//! How long edits take until they are found, through Wick and beside it: an instrument for whoever
//! works on that, which prints what it saw and judges no time.
//!
//! `cargo test -p wick --test real_apps are_timed -- --ignored --nocapture`

use std::path::Path;
use std::time::{Duration, Instant};

use crate::apps::MariaDb;
use crate::search::{Sought, paths};
use crate::visitor::Visitor;
use crate::wick::{Wick, until};

const EDITS: usize = 20;
/// Between two edits.
const REST: Duration = Duration::from_secs(2);
/// Between two searches, each of which is a process here.
const LOOK_EVERY: Duration = Duration::from_millis(30);

/// A site's database, and what puts one word in the place of another there.
pub(crate) struct Beside<'a> {
    pub(crate) database: &'a MariaDb,
    pub(crate) statements: fn(&str, &str) -> String,
}

/// Serves `site`, edits one page through Wick and then by SQL, and prints how long each took.
pub(crate) fn are_timed(name: &str, site: &Path, sought: &Sought, beside: &Beside<'_>) {
    let wick = Wick::serve_with(&site.display().to_string(), "[[site]]\nsearch = true\n");
    let (reader, editor) = (Visitor::new(&wick.base), Visitor::new(&wick.base));
    for path in sought.visited {
        drop(reader.get(path));
    }
    let form = editor.get(sought.editor.page).expect("the page with the form", sought.editor.mark);
    editor.submit(&form, sought.editor.mark, sought.editor.fields);
    until("the site is searched", || !paths(&reader, sought.words).is_empty());
    let mut page = "";
    let through = (0..EDITS).map(|at| {
        std::thread::sleep(REST);
        page = (sought.edit)(&editor, &word(at));
        found_after(&reader, &word(at), page)
    });
    tell(name, "through Wick", through.collect());
    let beside = (EDITS..2 * EDITS).map(|at| {
        std::thread::sleep(REST);
        let statements = (beside.statements)(&word(at - 1), &word(at));
        beside.database.ask(&statements).expect("an edit");
        found_after(&reader, &word(at), page)
    });
    tell(name, "beside it", beside.collect());
    wick.stop();
}

/// A word like no other: one that is like another would be proposed, and its page read for that.
fn word(at: usize) -> String {
    let letters = |at: usize| char::from(b'a' + u8::try_from(at % 26).expect("a letter"));
    (0..9).map(|place| letters((at + 3) * (place + 5) * (place + 2))).collect()
}

fn found_after(reader: &Visitor, word: &str, page: &str) -> Duration {
    let seen = Instant::now();
    until(&format!("the edit to {word} is found"), || {
        let is_found = paths(reader, word).iter().any(|path| path.ends_with(page));
        if !is_found {
            std::thread::sleep(LOOK_EVERY);
        }
        is_found
    });
    seen.elapsed()
}

fn tell(name: &str, how: &str, mut took: Vec<Duration>) {
    let all: Vec<u128> = took.iter().map(Duration::as_millis).collect();
    println!("{name}: edits {how} were found after {all:?} ms");
    took.sort_unstable();
    let at = |part: usize| took[(took.len() * part / 100).min(took.len() - 1)].as_millis();
    println!("{name}: edits {how}: p50 {} ms, p90 {} ms, at most {} ms", at(50), at(90), at(100));
}
