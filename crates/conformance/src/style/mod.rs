//! Style: what of a style sheet browsers drop without a word, and where.
//!
//! In: the text of a sheet, or of a `style` attribute. Out: [`Finding`]s of `css-syntax`,
//! `css-property` and `css-value`. The sheet is walked as CSS Syntax says (`cssparser`), so a
//! mistake costs what it costs in a browser and no more; which selectors and values there are
//! is asked of `lightningcss`, which names of properties of a table (`properties.txt`).
//! Law: CSS Syntax 3, CSS Nesting.
//! Invariants: 1. any text is read to its end, without a panic. 2. What is nested deeper than
//! [`shape::DEPTH_MAX`] is told and not read, so no text takes more stack than that. 3. What
//! was written for one browser on purpose (prefixes, `*zoom`, `\9`) is no mistake.
//! Start at [`check_style`].

mod property;
mod shape;
mod walk;

use std::borrow::Cow;

use crate::findings::{Finding, Findings};
use crate::source::Source;

/// What a text of CSS is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// A file, or what stands in a `style` element.
    Sheet,
    /// What stands in a `style` attribute.
    Attribute,
}

/// What browsers drop of a style sheet, in its order.
///
/// Findings of [`crate::Severity::Error`] are dropped by each browser; of
/// [`crate::Severity::Warning`] by those that are known.
#[must_use]
pub fn check_style(css: &str, style: Style) -> Vec<Finding> {
    let mut findings = Findings::default();
    if shape::check(css, &mut findings) {
        match style {
            Style::Sheet => walk::sheet(css, &mut findings),
            Style::Attribute => walk::attribute(css, &mut findings),
        }
    }
    findings.placed(&Source { text: Cow::Borrowed(css) })
}
