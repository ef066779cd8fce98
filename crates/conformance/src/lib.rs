//! Conformance: what of a page is not as HTML's specification wants it.
//!
//! Pure: a page's bytes go in, [`Finding`]s come out, each with its rule, place and one
//! sentence. First the page is read as browsers read it (`read/`), which tells its parse
//! errors; then the tree is walked once and held against tables (`rules/`): which element
//! may stand where, what attributes it may have, and what they may say (`values/`).
//! Law: HTML as WHATWG publishes it, ARIA in HTML, WAI-ARIA 1.2.
//! Invariants: 1. any bytes are read to their end, without a panic. 2. Findings lie within
//! the page, in its order. 3. The work is linear in the page but for nesting, which is
//! bounded.
//! Style sheets (`style/`) and scripts (`script.rs`) are judged apart, as they are files of their
//! own or stand in a page whose reader hands them on.
//! Start at [`check`], [`check_style`] and [`Scripts`]; why it is written so: docs/decisions/conformance.md.

mod encoding;
mod findings;
mod read;
mod rules;
mod script;
mod source;
mod style;
mod values;

pub use encoding::{file_text, page_text};
pub use findings::{FINDINGS_MAX, Finding, Severity};
pub use script::{Script, ScriptFault, Scripts};
pub use style::{Style, check_style};

use findings::Findings;
use source::Source;

/// What was found in a page, in its order.
///
/// `html` is the body as it was sent, decompressed; `charset` what the HTTP head's
/// `Content-Type` names, if it does. A page with no finding of [`Severity::Error`] is valid.
pub fn check(html: &[u8], charset: Option<&str>) -> Vec<Finding> {
    let mut findings = Findings::default();
    let source = Source::new(html, charset, &mut findings);
    source::forbidden(&source.text, &mut findings);
    let tree = read::build::read(&source.text, &mut findings);
    rules::check(&tree, &mut findings);
    findings.placed(&source)
}
