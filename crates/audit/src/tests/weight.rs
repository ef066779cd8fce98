//! How much of a page is sent; what a page loads is added up by the tests of the site.

use wire::Name;

use super::Notes;
use crate::page::is_html;

/// Text that is shorter gains nothing by compression.
const CODED_BYTES_MIN: u64 = 1_400;
/// More HTML than this is too much.
const HTML_BYTES_MAX: usize = 1 << 20;

pub(crate) fn run(notes: &mut Notes<'_>) {
    let answer = notes.page().answer;
    if answer.status != 200 {
        return;
    }
    let said = answer.fields.text(Name::ContentType).unwrap_or("").to_ascii_lowercase();
    let kind = said.split(';').next().unwrap_or("").trim();
    let is_text = kind.starts_with("text/")
        || ["json", "javascript", "xml"].iter().any(|end| kind.ends_with(end));
    if is_text && !answer.fields.has(Name::ContentEncoding) && answer.sent_bytes >= CODED_BYTES_MIN
    {
        let message = format!("{} bytes of {kind} have no content coding", answer.sent_bytes);
        notes.note("weight-uncoded", 0, message);
    }
    if notes.page().tree.as_ref().is_some_and(|tree| tree.is_cut) {
        notes.note("weight-html", 0, "it is too large or too deeply nested to be read whole");
    } else if is_html(answer) && answer.body.len() > HTML_BYTES_MAX {
        let message = format!("{} KiB of HTML", answer.body.len() >> 10);
        notes.note("weight-html", 0, message);
    }
}
