//! Findings: what was found in a page, and where.
//!
//! In: rules and byte offsets, as the reader and the rules meet them. Out: [`Finding`]s in
//! the page's order, with lines and columns. Places are kept as offsets until the end, so
//! that a page without findings never counts its lines.
//! Invariants: 1. a place lies within the page. 2. At most [`FINDINGS_MAX`] are kept; what
//! comes after them is counted in one last finding, as heavy as the heaviest of them.

use crate::source::Source;

/// So many findings are told of one page.
pub const FINDINGS_MAX: usize = 5_000;

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Allowed and without effect; worth knowing.
    Info,
    /// Allowed, but probably not what was meant.
    Warning,
    /// Not conforming: a page with one is not valid.
    Error,
}

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule's name, stable, in words joined by `-`; findings are grouped by it.
    pub rule: &'static str,
    /// How much it weighs.
    pub severity: Severity,
    /// Line in the page, from 1.
    pub line: u32,
    /// Column in the line, in characters, from 1.
    pub column: u32,
    /// One sentence for the page's author.
    pub message: String,
}

/// What was found so far.
#[derive(Default)]
pub(crate) struct Findings {
    kept: Vec<(u32, &'static str, Severity, String)>,
    left_out: usize,
    /// The heaviest of those that were left out.
    left_out_severity: Option<Severity>,
}

impl Findings {
    pub(crate) fn error(&mut self, at: usize, rule: &'static str, message: impl Into<String>) {
        self.add(at, rule, Severity::Error, message);
    }

    pub(crate) fn warning(&mut self, at: usize, rule: &'static str, message: impl Into<String>) {
        self.add(at, rule, Severity::Warning, message);
    }

    pub(crate) fn info(&mut self, at: usize, rule: &'static str, message: impl Into<String>) {
        self.add(at, rule, Severity::Info, message);
    }

    fn add(
        &mut self,
        at: usize,
        rule: &'static str,
        severity: Severity,
        message: impl Into<String>,
    ) {
        if self.kept.len() >= FINDINGS_MAX {
            self.left_out += 1;
            self.left_out_severity = self.left_out_severity.max(Some(severity));
            return;
        }
        // A page is at most 4 GiB; see `check`.
        let at = u32::try_from(at).unwrap_or(u32::MAX);
        self.kept.push((at, rule, severity, message.into()));
    }

    /// All of them in the page's order.
    pub(crate) fn placed(mut self, source: &Source<'_>) -> Vec<Finding> {
        self.kept.sort_by_key(|kept| kept.0);
        if let Some(severity) = self.left_out_severity {
            let message = format!("{} more findings in this page are not listed.", self.left_out);
            let last = self.kept.last().map_or(0, |kept| kept.0);
            self.kept.push((last, "too-many-findings", severity, message));
        }
        let mut places = source.places();
        self.kept
            .into_iter()
            .map(|(at, rule, severity, message)| {
                let (line, column) = places.place(at as usize);
                Finding { rule, severity, line, column, message }
            })
            .collect()
    }
}
