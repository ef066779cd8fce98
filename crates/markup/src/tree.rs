//! The tree: what is open, and what closing it does to the rest.
//!
//! In: openings and closings as `pass.rs` meets them. Out: balanced HTML.
//! Invariants: 1. what is closed is the innermost open element. 2. a list holds items only, a
//! table rows, a row cells: what else comes gets one. 3. `pending` is the length of all end
//! tags that are owed, so that they always fit into what may be written.
//! Misnested tags are closed and opened again, as browsers and forums do; but nothing that
//! is open in the line reaches out of a block.

use crate::pass::Pass;
use crate::renderer::{OUTPUT_FACTOR, OUTPUT_SLACK};
use crate::template::Template;

/// What implicit items, rows and cells may take, set aside when their parent is opened.
const IMPLICIT_BYTES: usize = "<tr><td></td></tr>".len();
/// Set aside for the same after what was closed.
const RESERVE_BYTES: usize = 1 << 10;
/// Closes a placeholder.
const SPAN: &[u8] = b"</span>";

/// Something open.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Open {
    pub(crate) shape: Shape,
    pub(crate) place: Place,
    /// Where its opening was written.
    opening: (usize, usize),
    /// Its end tags' bytes, and those of parts that it may need.
    owed: usize,
    /// It was closed from within a block, and ends with it.
    is_ended: bool,
    is_link: bool,
    keeps_newlines: bool,
}

/// By which template something was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Plain(u8),
    Valued(u8),
    Placeholder(u8),
    Item,
    Row,
    Cell,
}

impl Shape {
    pub(crate) fn tag(self) -> Option<u8> {
        match self {
            Self::Plain(tag) | Self::Valued(tag) | Self::Placeholder(tag) => Some(tag),
            Self::Item | Self::Row | Self::Cell => None,
        }
    }
}

/// What something is to those around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Inline,
    Block,
    List,
    Item,
    Table,
    Row,
    Cell,
}

impl Place {
    /// Takes text as it comes.
    pub(crate) fn takes_text(self) -> bool {
        !matches!(self, Self::List | Self::Table | Self::Row)
    }

    /// Whether one looks through it for an enclosing `wanted`.
    fn is_part_of(self, wanted: Self) -> bool {
        match wanted {
            Self::List => matches!(self, Self::Inline | Self::Item),
            Self::Table => matches!(self, Self::Inline | Self::Row | Self::Cell),
            Self::Row => matches!(self, Self::Inline | Self::Cell),
            _ => false,
        }
    }

    /// Counts against the depth; parts count with what they are parts of.
    pub(crate) fn is_deep(self) -> bool {
        !matches!(self, Self::Item | Self::Row | Self::Cell)
    }
}

impl Pass<'_> {
    /// Opens what `write` writes, or leaves everything as it was if that would be too much.
    pub(crate) fn open(
        &mut self,
        shape: Shape,
        place: Place,
        consumed: usize,
        write: impl FnOnce(&mut Self),
    ) -> bool {
        let start = self.out.len();
        write(self);
        let owed = self.closing_bytes_of(shape) + implicit_of(place);
        if !self.affords(owed, consumed) {
            self.out.truncate(start);
            return false;
        }
        let template = self.template_of(shape);
        let is_link = template.is_some_and(|template| template.is_link);
        let keeps_newlines = shape.tag().is_some_and(|tag| self.tag(tag).keeps_newlines);
        let opening = (start, self.out.len());
        self.push(Open { shape, place, opening, owed, is_ended: false, is_link, keeps_newlines });
        true
    }

    /// Whether what is written, and what is owed, and so much more, fits.
    pub(crate) fn affords(&self, more: usize, consumed: usize) -> bool {
        let written = self.out.len() - self.base;
        written + self.pending + more <= OUTPUT_FACTOR * consumed + OUTPUT_SLACK - RESERVE_BYTES
    }

    /// Makes a place for text and what stands in a line, where only parts may stand.
    pub(crate) fn make_place(&mut self) {
        self.is_after_block = false;
        while !self.takes_text {
            let (shape, place) = match self.stack.last().map(|open| open.place) {
                Some(Place::List) => (Shape::Item, Place::Item),
                Some(Place::Table) => (Shape::Row, Place::Row),
                _ => (Shape::Cell, Place::Cell),
            };
            self.open_part(shape, place);
        }
    }

    /// Opens an implicit part, for which there is room.
    pub(crate) fn open_part(&mut self, shape: Shape, place: Place) {
        let start = self.out.len();
        let dialect = self.dialect;
        match shape {
            Shape::Item => dialect.implicit_item.open(b"", self.out),
            Shape::Row => dialect.implicit_row.open(b"", self.out),
            _ => dialect.implicit_cell.open(b"", self.out),
        }
        let opening = (start, self.out.len());
        self.push(Open {
            shape,
            place,
            opening,
            owed: self.closing_bytes_of(shape) + implicit_of(place),
            is_ended: false,
            is_link: false,
            keeps_newlines: false,
        });
    }

    /// The innermost list, table or row, if no other block lies between.
    pub(crate) fn nearest(&mut self, wanted: Place) -> Option<usize> {
        for (at, open) in self.stack.iter().enumerate().rev() {
            self.rendered.steps += 1;
            if open.place == wanted {
                return Some(at);
            }
            if !open.place.is_part_of(wanted) {
                return None;
            }
        }
        None
    }

    /// Closes all that is open above `depth`.
    pub(crate) fn close_to(&mut self, depth: usize) {
        while self.stack.len() > depth {
            self.pop();
        }
    }

    /// Closes the innermost tag of this kind, which is open; what lies above it in the line
    /// goes on behind it.
    pub(crate) fn close_tag(&mut self, tag: u8, consumed: usize) {
        let is_this = |open: &Open| open.shape.tag() == Some(tag) && !open.is_ended;
        let Some(depth) = self.stack.iter().rposition(is_this) else { return };
        let above = &self.stack[depth + 1..];
        self.rendered.steps += 1 + above.len() as u64;
        let place = self.stack[depth].place;
        if place == Place::Inline && above.iter().any(|open| open.place != Place::Inline) {
            self.stack[depth].is_ended = true;
            self.counts.open[usize::from(tag)] -= 1;
            return;
        }
        self.aside.clear();
        if matches!(place, Place::Inline | Place::Block | Place::List | Place::Table) {
            let goes_on = |open: &&Open| open.place == Place::Inline && !open.is_ended;
            self.aside.extend(above.iter().filter(goes_on).copied());
        }
        self.close_to(depth);
        for at in 0..self.aside.len() {
            let open = self.aside[at];
            self.open_again(open, consumed);
        }
    }

    fn open_again(&mut self, open: Open, consumed: usize) {
        let wanted = open.shape.tag().is_some_and(|tag| self.closers.ahead(tag) > 0);
        if !wanted {
            return;
        }
        self.make_place();
        let (start, end) = open.opening;
        let opened = self.open(open.shape, open.place, consumed, |pass| {
            pass.out.extend_from_within(start..end);
        });
        self.rendered.too_much += u32::from(!opened);
    }

    fn push(&mut self, open: Open) {
        self.pending += open.owed;
        if let Some(tag) = open.shape.tag() {
            self.counts.open[usize::from(tag)] += 1;
        }
        self.depth += usize::from(open.place.is_deep());
        self.links += u32::from(open.is_link);
        self.kept_newlines += u32::from(open.keeps_newlines);
        self.takes_text = open.place.takes_text();
        self.stack.push(open);
    }

    /// Closes the innermost, and what ended within it.
    fn pop(&mut self) {
        let Some(open) = self.stack.pop() else { return };
        self.pending -= open.owed;
        match self.template_of(open.shape) {
            Some(template) => template.closing().append_to(self.out),
            None => self.out.extend_from_slice(SPAN),
        }
        if let Some(tag) = open.shape.tag()
            && !open.is_ended
        {
            self.counts.open[usize::from(tag)] -= 1;
        }
        self.depth -= usize::from(open.place.is_deep());
        self.links -= u32::from(open.is_link);
        self.kept_newlines -= u32::from(open.keeps_newlines);
        self.is_after_block = open.place != Place::Inline;
        self.takes_text = self.stack.last().is_none_or(|open| open.place.takes_text());
        if self.stack.last().is_some_and(|open| open.is_ended) {
            self.pop();
        }
    }

    fn closing_bytes_of(&self, shape: Shape) -> usize {
        self.template_of(shape).map_or(SPAN.len(), |template| template.closing().len())
    }
}

impl<'a> Pass<'a> {
    fn template_of(&self, shape: Shape) -> Option<&'a Template> {
        let dialect = self.dialect;
        match shape {
            Shape::Plain(tag) => dialect.tags[usize::from(tag)].plain.as_ref(),
            Shape::Valued(tag) => dialect.tags[usize::from(tag)].valued.as_ref(),
            Shape::Placeholder(_) => None,
            Shape::Item => Some(&dialect.implicit_item),
            Shape::Row => Some(&dialect.implicit_row),
            Shape::Cell => Some(&dialect.implicit_cell),
        }
    }
}

fn implicit_of(place: Place) -> usize {
    if place.takes_text() { 0 } else { IMPLICIT_BYTES }
}
