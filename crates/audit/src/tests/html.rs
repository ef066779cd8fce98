//! HTML as its specification wants it: what the crate `conformance` finds in a page.
//!
//! Its rules bear its names behind [`PREFIX`]. Browsers mend what is wrong there, and nobody is
//! kept from the page: so its errors are warnings here, and its warnings notices. What a rule of
//! our own table says, it doesn't say a second time.

use conformance::Severity as Weight;

use super::Notes;
use crate::finding::{Place, Severity};
use crate::page::{charset, is_html};
use crate::rules::HTML as PREFIX;

/// Rules of which one of our own table speaks.
const SPOKEN_OF: [&str; 8] = [
    "alt-missing",
    "charset-undeclared",
    "duplicate-id",
    "empty-title",
    "heading-level-skipped",
    "lang-missing",
    "no-top-heading",
    "viewport-fixed",
];

pub(crate) fn run(notes: &mut Notes<'_>) {
    let answer = notes.page().answer;
    // What is cut ends in the middle of something.
    if answer.status != 200 || !is_html(answer) || answer.is_cut {
        return;
    }
    for found in conformance::check(&answer.body, charset(answer)) {
        let is_title = found.rule == "child-missing" && found.message.contains("“title”");
        if is_title || SPOKEN_OF.contains(&found.rule) {
            continue;
        }
        let severity = match found.severity {
            Weight::Error => Severity::Warning,
            Weight::Warning => Severity::Notice,
            // What has no effect is nothing to be told.
            Weight::Info => continue,
        };
        let place = Place { line: found.line.into(), column: found.column.into() };
        notes.add(format!("{PREFIX}{}", found.rule), severity, place, found.message);
    }
}
