//! HTML as its specification wants it: what the crate `conformance` finds in a page.
//!
//! Its rules bear its names behind [`PREFIX`]. Browsers mend what is wrong there, and nobody is
//! kept from the page: so its errors are warnings here, and its warnings notices. What a rule of
//! our own table says, it doesn't say a second time.

use conformance::Severity as Weight;

use super::Notes;
use crate::finding::{Place, Severity};
use crate::kind::Kind;
use crate::page::{charset, is_html};
use crate::rules::HTML as PREFIX;

/// Rules of which one of our own table speaks, of that kind.
const SPOKEN_OF: [(&str, Kind); 8] = [
    ("alt-missing", Kind::Accessibility),
    ("charset-undeclared", Kind::Http),
    ("duplicate-id", Kind::Accessibility),
    ("empty-title", Kind::Metadata),
    ("heading-level-skipped", Kind::Accessibility),
    ("lang-missing", Kind::Metadata),
    ("no-top-heading", Kind::Accessibility),
    ("viewport-fixed", Kind::Accessibility),
];

pub(crate) fn run(notes: &mut Notes<'_>) {
    let answer = notes.page().answer;
    // What is cut ends in the middle of something.
    if answer.status != 200 || !is_html(answer) || answer.is_cut {
        return;
    }
    for found in conformance::check(&answer.body, charset(answer)) {
        let is_title = found.rule == "child-missing" && found.message.contains("“title”");
        let of_table = SPOKEN_OF.iter().find(|(rule, _)| *rule == found.rule);
        let other = of_table.map(|(_, kind)| *kind).or(is_title.then_some(Kind::Metadata));
        if other.is_some_and(|kind| notes.has(kind)) {
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
