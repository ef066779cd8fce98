//! A page that was read once: what to do, step by step, over its bytes.

use std::ops::Range;

use super::expression::Expression;

/// A page with holes; it belongs to the bytes that it was made of.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Template {
    pub(super) steps: Box<[Step]>,
    pub(super) inlines: Box<[Inline]>,
    pub(super) has_includes: bool,
    pub(super) reads_request: bool,
    pub(super) is_cut: bool,
}

/// What to do next. Jumps lead forwards only.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    Text(Range<usize>),
    /// A text with variables.
    Expand(Range<usize>),
    Include(Box<Hole>),
    /// Goes on there unless the test holds.
    Unless(Option<Box<Expression>>, usize),
    Jump(usize),
    Try,
    Attempt,
    Except,
    EndTry,
}

/// An include as it is written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Hole {
    pub(super) source: Box<str>,
    pub(super) alternative: Option<Box<str>>,
    pub(super) goes_on: bool,
    pub(super) keeping: Keeping,
}

/// What an include says about how long its part may be kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keeping {
    /// It is for one visitor.
    pub is_private: bool,
    /// It must not be kept.
    pub is_forbidden: bool,
    /// For so long.
    pub seconds: Option<u32>,
}

/// A part that the page itself brings.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Inline {
    pub(super) name: Box<str>,
    pub(super) content: Range<usize>,
}

impl Template {
    /// Whether nothing of it is left to be done: the page can go out as it is.
    #[must_use]
    pub fn is_plain(&self, body_bytes: usize) -> bool {
        match &*self.steps {
            [] => body_bytes == 0,
            [Step::Text(range)] => *range == (0..body_bytes),
            _ => false,
        }
    }

    /// Whether what comes of it may differ from request to request by more than its parts.
    #[must_use]
    pub fn reads_request(&self) -> bool {
        self.reads_request
    }

    /// Whether it has parts that must be got.
    #[must_use]
    pub fn has_includes(&self) -> bool {
        self.has_includes
    }

    /// Whether the page had more of this than is heeded.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Bytes that it takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let of_step = |step: &Step| match step {
            Step::Include(hole) => {
                let alternative = hole.alternative.as_ref().map_or(0, |text| text.len());
                size_of::<Hole>() + hole.source.len() + alternative
            }
            Step::Unless(Some(test), _) => size_of::<Expression>() + test.bytes(),
            _ => 0,
        };
        size_of_val(&*self.steps)
            + size_of_val(&*self.inlines)
            + self.steps.iter().map(of_step).sum::<usize>()
            + self.inlines.iter().map(|inline| inline.name.len()).sum::<usize>()
    }
}
