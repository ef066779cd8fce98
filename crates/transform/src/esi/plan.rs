//! A template held against one request: the pieces of its page, in order.
//!
//! All tests are decided here, so that what is left is to get parts and to put them in a row;
//! all of them can be asked for at once.

use std::ops::Range;

use wire::RequestHead;

use super::template::{Hole, Keeping, Step, Template};
use super::variables::{Place, expand};

/// The pieces of one request's page.
pub type Plan = Vec<Part>;

/// One piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Bytes of the page itself.
    Text(Range<usize>),
    /// Bytes that were made for the request.
    Made(Vec<u8>),
    /// A part that must be got.
    Include(Include),
    /// The first list; or, if a part of it can't be got, the second.
    Try(Plan, Plan),
}

/// A part that must be got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Include {
    /// Where from, as the page says it.
    pub source: String,
    /// Where from if it can't be had there.
    pub alternative: Option<String>,
    /// Whether the page is whole without it.
    pub goes_on: bool,
    /// What the page says about keeping it.
    pub keeping: Keeping,
}

/// A try that is being read.
#[derive(Default)]
struct Trial {
    attempt: Plan,
    except: Plan,
    in_except: bool,
}

impl Template {
    /// The pieces of the page for a request; `page` are the bytes that this was made of.
    #[must_use]
    pub fn plan(&self, page: &[u8], request: &RequestHead) -> Plan {
        let (mut plan, mut trials) = (Plan::new(), Vec::<Trial>::new());
        let mut at = 0;
        while let Some(step) = self.steps.get(at) {
            at += 1;
            let part = match step {
                Step::Text(range) => Part::Text(range.clone()),
                Step::Expand(range) => {
                    let mut made = Vec::new();
                    let text = page.get(range.clone()).unwrap_or_default();
                    expand(text, request, Place::Page, &mut made);
                    Part::Made(made)
                }
                Step::Include(hole) => self.include(hole, request),
                Step::Unless(test, there) => {
                    if !test.as_ref().is_some_and(|test| test.holds(request)) {
                        at = *there;
                    }
                    continue;
                }
                Step::Jump(there) => {
                    at = *there;
                    continue;
                }
                Step::Try => {
                    trials.push(Trial::default());
                    continue;
                }
                Step::Attempt | Step::Except => {
                    if let Some(trial) = trials.last_mut() {
                        trial.in_except = matches!(step, Step::Except);
                    }
                    continue;
                }
                Step::EndTry => match trials.pop() {
                    Some(Trial { attempt, except, .. }) => Part::Try(attempt, except),
                    None => continue,
                },
            };
            match trials.last_mut() {
                Some(trial) if trial.in_except => trial.except.push(part),
                Some(trial) => trial.attempt.push(part),
                None => plan.push(part),
            }
        }
        plan
    }

    fn include(&self, hole: &Hole, request: &RequestHead) -> Part {
        let expanded = |text: &str| {
            let mut out = Vec::with_capacity(text.len());
            expand(text.as_bytes(), request, Place::Address, &mut out);
            String::from_utf8_lossy(&out).into_owned()
        };
        let source = expanded(&hole.source);
        match self.inlines.iter().find(|inline| *inline.name == *source) {
            Some(inline) => Part::Text(inline.content.clone()),
            None => Part::Include(Include {
                source,
                alternative: hole.alternative.as_deref().map(expanded),
                goes_on: hole.goes_on,
                keeping: hole.keeping,
            }),
        }
    }
}
