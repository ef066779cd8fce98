//! From a page's bytes to its template.
//!
//! A stack of open elements says what text and tags mean where they stand. An element that is
//! closed out of turn closes those within it; one that is never closed ends with the page.

use std::ops::Range;

use super::expression::Expression;
use super::scanner::{Event, Scanner};
use super::tag::Tag;
use super::template::{Hole, Inline, Keeping, Step, Template};
use super::variables::has_variable;

/// Elements within elements; what stands deeper is left out.
const NEST_MAX: usize = 16;
/// Steps of one page; what comes behind them stays as it is.
const STEPS_MAX: usize = 4096;
/// Parts that one page brings itself.
const INLINES_MAX: usize = 64;

/// Reads a page as it comes.
#[derive(Debug)]
pub struct Compiler {
    scanner: Scanner,
    builder: Builder,
}

#[derive(Debug, Default)]
struct Builder {
    steps: Vec<Step>,
    inlines: Vec<Inline>,
    open: Vec<Element>,
    /// Elements that are open and too deep.
    too_deep: usize,
    template: Template,
}

#[derive(Debug)]
enum Element {
    Remove,
    Inline {
        name: Box<str>,
        start: usize,
    },
    Vars,
    /// Where its branches leave it.
    Choose(Vec<usize>),
    /// Where it is decided.
    When(usize),
    Otherwise,
    Try,
    Attempt,
    Except,
}

impl Element {
    const fn name(&self) -> &'static str {
        match self {
            Self::Remove => "remove",
            Self::Inline { .. } => "inline",
            Self::Vars => "vars",
            Self::Choose(_) => "choose",
            Self::When(_) => "when",
            Self::Otherwise => "otherwise",
            Self::Try => "try",
            Self::Attempt => "attempt",
            Self::Except => "except",
        }
    }
}

impl Default for Compiler {
    fn default() -> Self {
        Self::new()
    }
}

impl Compiler {
    /// At the beginning of a page.
    #[must_use]
    pub fn new() -> Self {
        Self { scanner: Scanner::new(), builder: Builder::default() }
    }

    /// The template of a page that is here whole.
    #[must_use]
    pub fn compile(page: &[u8]) -> Template {
        let mut compiler = Self::new();
        compiler.write(page);
        compiler.finish()
    }

    /// Reads on.
    pub fn write(&mut self, bytes: &[u8]) {
        let Self { scanner, builder } = self;
        scanner.write(bytes, &mut |event| builder.take(event));
    }

    /// The page is over.
    #[must_use]
    pub fn finish(mut self) -> Template {
        let Self { scanner, builder } = &mut self;
        scanner.finish(&mut |event| builder.take(event));
        while !builder.open.is_empty() {
            // A part of the page's own that is never closed ends nowhere, and is none.
            builder.close_last(0);
        }
        let Builder { steps, inlines, template, .. } = self.builder;
        Template { steps: steps.into(), inlines: inlines.into(), ..template }
    }
}

impl Builder {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Text(range) => self.text(range),
            Event::Tag(tag, range) if self.steps.len() < STEPS_MAX => self.tag(tag, range),
            Event::Tag(_, range) => {
                self.template.is_cut = true;
                self.text(range);
            }
        }
    }

    fn text(&mut self, range: Range<usize>) {
        if self.too_deep > 0 {
            return;
        }
        match self.open.last() {
            Some(Element::Remove | Element::Inline { .. } | Element::Choose(_) | Element::Try) => {}
            _ if self.open.iter().any(|element| matches!(element, Element::Vars)) => {
                self.steps.push(Step::Expand(range));
            }
            _ => match self.steps.last_mut() {
                // Jumps lead behind a step, never into one: only neighbours are joined, and
                // never across the border of an element.
                Some(Step::Text(before)) if before.end == range.start => before.end = range.end,
                _ => self.steps.push(Step::Text(range)),
            },
        }
    }

    fn tag(&mut self, text: &[u8], range: Range<usize>) {
        let tag = Tag::read(text);
        let name = tag.name.as_str();
        // Within these nothing counts but their end.
        if let Some(raw @ (Element::Remove | Element::Inline { .. })) = self.open.last() {
            if tag.is_closing && raw.name() == name {
                self.close_last(range.start);
            }
            return;
        }
        if tag.is_closing {
            return self.close(name, range.start);
        }
        match name {
            "include" if self.too_deep == 0 && self.is_shown() => self.include(&tag),
            "include" | "comment" => {}
            _ if tag.is_empty => {}
            _ => self.open(&tag, range.end),
        }
    }

    /// Whether what stands here is part of the page.
    fn is_shown(&self) -> bool {
        !matches!(self.open.last(), Some(Element::Choose(_) | Element::Try))
    }

    fn include(&mut self, tag: &Tag) {
        let Some(source) = tag.value("src").map(str::trim).filter(|source| !source.is_empty())
        else {
            return;
        };
        let alternative = tag.value("alt").map(str::trim).filter(|text| !text.is_empty());
        let is_variable = |text: &str| has_variable(text.as_bytes());
        self.template.has_includes = true;
        self.template.reads_request |= is_variable(source) || alternative.is_some_and(is_variable);
        let hole = Hole {
            source: source.into(),
            alternative: alternative.map(Into::into),
            goes_on: tag.value("onerror").is_some_and(|it| it.eq_ignore_ascii_case("continue")),
            keeping: keeping(tag),
        };
        self.steps.push(Step::Include(Box::new(hole)));
    }

    fn open(&mut self, tag: &Tag, end: usize) {
        if self.open.len() >= NEST_MAX || self.too_deep > 0 {
            self.template.is_cut = true;
            self.too_deep += 1;
            return;
        }
        let element = match (tag.name.as_str(), self.open.last_mut()) {
            ("remove", _) => Element::Remove,
            ("inline", _) => {
                let name = tag.value("name").unwrap_or_default().trim();
                Element::Inline { name: name.into(), start: end }
            }
            ("vars", _) => {
                self.template.reads_request = true;
                Element::Vars
            }
            ("choose", _) => Element::Choose(Vec::new()),
            ("when", Some(Element::Choose(_))) => {
                self.template.reads_request = true;
                let test = tag.value("test").and_then(Expression::read).map(Box::new);
                self.steps.push(Step::Unless(test, usize::MAX));
                Element::When(self.steps.len() - 1)
            }
            ("otherwise", Some(Element::Choose(_))) => Element::Otherwise,
            ("try", _) => {
                self.steps.push(Step::Try);
                Element::Try
            }
            ("attempt", Some(Element::Try)) => {
                self.steps.push(Step::Attempt);
                Element::Attempt
            }
            ("except", Some(Element::Try)) => {
                self.steps.push(Step::Except);
                Element::Except
            }
            // Unknown, or where it means nothing: the tag is left out.
            _ => return,
        };
        self.open.push(element);
    }

    /// Closes the innermost element of this name, and those within it.
    fn close(&mut self, name: &str, at: usize) {
        if self.too_deep > 0 {
            self.too_deep -= 1;
            return;
        }
        let Some(place) = self.open.iter().rposition(|element| element.name() == name) else {
            return;
        };
        while self.open.len() > place {
            self.close_last(at);
        }
    }

    fn close_last(&mut self, at: usize) {
        let Some(element) = self.open.pop() else { return };
        match element {
            Element::Inline { name, start } if start <= at && !name.is_empty() => {
                if self.inlines.len() < INLINES_MAX {
                    self.inlines.push(Inline { name, content: start..at });
                } else {
                    self.template.is_cut = true;
                }
            }
            Element::When(place) => {
                self.leave();
                let next = self.steps.len();
                if let Some(Step::Unless(_, there)) = self.steps.get_mut(place) {
                    *there = next;
                }
            }
            Element::Otherwise => self.leave(),
            Element::Choose(exits) => {
                let next = self.steps.len();
                for place in exits {
                    if let Some(Step::Jump(there)) = self.steps.get_mut(place) {
                        *there = next;
                    }
                }
            }
            Element::Try => self.steps.push(Step::EndTry),
            Element::Remove
            | Element::Inline { .. }
            | Element::Vars
            | Element::Attempt
            | Element::Except => {}
        }
    }

    /// The end of a branch: goes on behind all of them.
    fn leave(&mut self) {
        self.steps.push(Step::Jump(usize::MAX));
        let place = self.steps.len() - 1;
        if let Some(Element::Choose(exits)) = self.open.last_mut() {
            exits.push(place);
        }
    }
}

/// `ttl="60"`, `ttl="5m"`, and LiteSpeed's `cache-control="private,max-age=60"`.
fn keeping(tag: &Tag) -> Keeping {
    let mut keeping = Keeping { seconds: tag.value("ttl").and_then(seconds), ..Keeping::default() };
    for word in tag.value("cache-control").unwrap_or_default().split([',', '|']).map(str::trim) {
        match word.to_ascii_lowercase().as_str() {
            "private" => keeping.is_private = true,
            "no-cache" | "no-store" => keeping.is_forbidden = true,
            other => {
                let age = other.strip_prefix("max-age=");
                keeping.seconds = age.and_then(|age| age.parse().ok()).or(keeping.seconds);
            }
        }
    }
    keeping
}

/// A number of seconds, or of what a letter behind it says.
fn seconds(text: &str) -> Option<u32> {
    let text = text.trim();
    let unit = match text.bytes().last()? {
        b's' | b'S' => 1,
        b'm' | b'M' => 60,
        b'h' | b'H' => 3600,
        b'd' | b'D' => 86_400,
        _ => return text.parse().ok(),
    };
    text[..text.len() - 1].trim().parse::<u32>().ok()?.checked_mul(unit)
}
