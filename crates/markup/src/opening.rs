//! Openings: what an opening tag does, by its kind.
//!
//! In: a tag of the dialect and how it was written. Out: whether it was what it looked like;
//! if not, it stays text, and so does its closing tag.

use crate::address;
use crate::bracket::Head;
use crate::dialect::Tag;
use crate::escape::{escape, escape_typed, unescape};
use crate::pass::Pass;
use crate::renderer::DEPTH_MAX;
use crate::tree::{Place, Shape};
use crate::values;
use crate::written::Does;

impl Pass<'_> {
    /// Opens a tag, or tells that it is text.
    pub(crate) fn open_tag(&mut self, id: u8, head: &Head<'_>) -> bool {
        let tag = self.tag(id);
        let is_done = match tag.does {
            Does::Void => return self.void(tag, head),
            Does::Item => return self.item(id, head),
            Does::Row | Does::Cell => return self.table_part(id, head),
            _ if !self.will_close(id) => return false,
            Does::Verbatim | Does::Withheld | Does::Image | Does::Video => self.raw(id, head),
            Does::Link | Does::Email if head.value.is_none() => self.raw(id, head),
            _ => self.wrap(id, head),
        };
        if !is_done {
            self.counts.shown[usize::from(id)] += 1;
            self.counts.has_shown = true;
        }
        is_done
    }

    /// Whether a closing tag lies ahead that no other opening wants.
    fn will_close(&self, id: u8) -> bool {
        let tag = usize::from(id);
        self.closers.ahead(id) > self.counts.open[tag] + self.counts.shown[tag]
    }

    /// Opens a tag around what follows.
    fn wrap(&mut self, id: u8, head: &Head<'_>) -> bool {
        if self.depth >= DEPTH_MAX {
            self.rendered.too_deep += 1;
            return false;
        }
        let tag = self.tag(id);
        let Some(shape) = self.read_value(id, tag, head) else { return false };
        let leads = matches!(tag.does, Does::Link | Does::Email);
        if leads && self.links > 0 {
            return false;
        }
        let place = match tag.does {
            Does::List => Place::List,
            Does::Table => Place::Table,
            _ if tag.is_block => Place::Block,
            _ => Place::Inline,
        };
        let end = self.at + head.length;
        self.write_run();
        self.make_place();
        let is_open = self.open(shape, place, end, |pass| pass.write_opening(shape));
        if !is_open {
            self.rendered.too_much += 1;
            return false;
        }
        self.is_after_block = place != Place::Inline;
        self.go_on(end);
        true
    }

    fn write_opening(&mut self, shape: Shape) {
        let dialect = self.dialect;
        let template = match shape {
            Shape::Plain(tag) => dialect.tags[usize::from(tag)].plain.as_ref(),
            Shape::Valued(tag) => dialect.tags[usize::from(tag)].valued.as_ref(),
            Shape::Placeholder(tag) => return self.write_placeholder(tag, None),
            Shape::Item | Shape::Row | Shape::Cell => None,
        };
        if let Some(template) = template {
            template.open(self.value, self.out);
        }
    }

    /// What the site fills: the tag's name and value, and the number of what was withheld.
    pub(crate) fn write_placeholder(&mut self, id: u8, number: Option<u32>) {
        self.out.extend_from_slice(b"<span data-bbcode=\"");
        self.out.extend_from_slice(&self.tag(id).name);
        if !self.value.is_empty() {
            self.out.extend_from_slice(b"\" data-value=\"");
            self.out.extend_from_slice(self.value);
        }
        if let Some(number) = number {
            self.out.extend_from_slice(format!("\" data-number=\"{number}").as_bytes());
        }
        self.out.extend_from_slice(b"\">");
    }

    /// Reads the value into `self.value`, and says which template it wants.
    pub(crate) fn read_value(&mut self, id: u8, tag: &Tag, head: &Head<'_>) -> Option<Shape> {
        self.value.clear();
        self.meant.clear();
        let named: [&[u8]; 4] = [b"author", b"type", b"title", b"name"];
        let written = match head.value {
            None if !head.extras.is_empty() => named.iter().find_map(|key| head.extra(key)),
            value => value,
        };
        self.rendered.steps += 4 * head.extras.len() as u64;
        let written = written.unwrap_or_default();
        match self.form.is_escaped() {
            true => unescape(written, self.meant),
            false => self.meant.extend_from_slice(written),
        }
        let (meant, value) = (&self.meant[..], &mut *self.value);
        let css = match tag.does {
            Does::Colour => values::colour(meant),
            Does::Font => values::font(meant),
            Does::Align => values::align(meant),
            Does::List => values::marker(meant, tag.marker_is_type),
            Does::Size => {
                return values::size(meant, tag.sizes.as_ref()?, value).map(|()| Shape::Valued(id));
            }
            Does::Titled | Does::Placeholder | Does::Withheld => {
                escape_typed(values::title(meant), value);
                None
            }
            Does::Link => {
                self.dialect.addresses.link(meant, value)?;
                return Some(Shape::Plain(id));
            }
            Does::Email => {
                address::mail(meant, value)?;
                return Some(Shape::Plain(id));
            }
            // A wrapping tag with a value is something else: `[b=1]`.
            Does::Wrap if head.value.is_some() => return None,
            _ => None,
        };
        value.extend_from_slice(css.unwrap_or_default());
        Some(match tag.does {
            Does::Colour | Does::Font | Does::Align => css.map(|_| Shape::Valued(id))?,
            Does::Placeholder | Does::Withheld => Shape::Placeholder(id),
            _ if tag.valued.is_some() && !self.value.is_empty() => Shape::Valued(id),
            _ => Shape::Plain(id),
        })
    }

    /// Something that stands alone, such as a rule.
    fn void(&mut self, tag: &Tag, head: &Head<'_>) -> bool {
        let Some(template) = &tag.plain else { return false };
        let end = self.at + head.length;
        self.write_run();
        self.make_place();
        let start = self.out.len();
        template.open(b"", self.out);
        template.closing().append_to(self.out);
        if !self.affords(0, end) {
            self.out.truncate(start);
            self.rendered.too_much += 1;
            return false;
        }
        self.is_after_block = tag.is_block;
        self.go_on(end);
        true
    }

    /// `[*]`, which closes the item before it.
    fn item(&mut self, id: u8, head: &Head<'_>) -> bool {
        let Some(list) = self.nearest(Place::List) else { return false };
        self.write_run();
        self.close_to(list + 1);
        self.open_as_part(id, Place::Item, head)
    }

    /// A row, which closes the one before it, or a cell, which does too.
    fn table_part(&mut self, id: u8, head: &Head<'_>) -> bool {
        let is_row = self.tag(id).does == Does::Row;
        let row = if is_row { None } else { self.nearest(Place::Row) };
        if let Some(row) = row {
            self.write_run();
            self.close_to(row + 1);
            return self.open_as_part(id, Place::Cell, head);
        }
        let Some(table) = self.nearest(Place::Table) else { return false };
        self.write_run();
        self.close_to(table + 1);
        if is_row {
            return self.open_as_part(id, Place::Row, head);
        }
        self.open_part(Shape::Row, Place::Row);
        self.open_as_part(id, Place::Cell, head)
    }

    fn open_as_part(&mut self, id: u8, place: Place, head: &Head<'_>) -> bool {
        let end = self.at + head.length;
        self.value.clear();
        let shape = Shape::Plain(id);
        if !self.open(shape, place, end, |pass| pass.write_opening(shape)) {
            self.rendered.too_much += 1;
            return false;
        }
        self.is_after_block = true;
        self.go_on(end);
        true
    }

    /// A tag whose content is no markup: code, an address.
    fn raw(&mut self, id: u8, head: &Head<'_>) -> bool {
        let (closer, steps) = self.closers.next_of(id);
        self.rendered.steps += steps;
        let Some(closer) = closer else { return false };
        let start = self.at + head.length;
        let Some(content) = self.text.get(start..closer.at as usize) else { return false };
        let end = closer.at as usize + usize::from(closer.length);
        let tag = self.tag(id);
        let shape = match tag.does {
            Does::Verbatim | Does::Withheld => self.read_value(id, tag, head),
            _ => self.read_address(id, tag, content),
        };
        let Some(shape) = shape else { return false };
        self.write_run();
        self.make_place();
        let before = self.out.len();
        self.write_raw(shape, tag, head, content);
        // Of the content nothing becomes more than sixfold.
        if !self.affords(0, end) {
            self.out.truncate(before);
            self.rendered.too_much += 1;
            return false;
        }
        self.is_after_block = tag.is_block;
        self.go_on(end);
        true
    }

    fn write_raw(&mut self, shape: Shape, tag: &Tag, head: &Head<'_>, content: &[u8]) {
        if let (Does::Withheld, Shape::Placeholder(id)) = (tag.does, shape) {
            self.write_placeholder(id, Some(self.withheld));
            self.out.extend_from_slice(b"</span>");
            self.withheld += 1;
            return;
        }
        let side = head.value.unwrap_or_default();
        let side =
            tag.sides.iter().find(|(one, _)| side.eq_ignore_ascii_case(one.name().as_bytes()));
        let template = match (side, shape) {
            (Some((_, template)), _) => Some(template),
            (None, Shape::Valued(_)) => tag.valued.as_ref(),
            (None, _) => tag.plain.as_ref(),
        };
        let Some(template) = template else { return };
        template.open(self.value, self.out);
        match tag.does {
            Does::Verbatim => {
                self.rendered.steps += content.len() as u64;
                self.write_verbatim(tag.breaks, template.begins_in_pre, content);
            }
            Does::Link | Does::Email => self.write_shown(content.trim_ascii()),
            _ => {}
        }
        template.closing().append_to(self.out);
    }

    fn write_verbatim(&mut self, breaks: bool, begins_in_pre: bool, content: &[u8]) {
        let is_escaped = self.form.is_escaped();
        if breaks {
            for (at, line) in content.split(|byte| *byte == b'\n').enumerate() {
                if at > 0 {
                    self.out.extend_from_slice(b"<br>");
                }
                escape(line.strip_suffix(b"\r").unwrap_or(line), is_escaped, self.out);
            }
            return;
        }
        let content = content.strip_prefix(b"\r").unwrap_or(content);
        let content = content.strip_prefix(b"\n").unwrap_or(content);
        if begins_in_pre && matches!(content, [b'\n' | b'\r', ..]) {
            // HTML has a first newline left out there.
            self.out.push(b'\n');
        }
        escape(content, is_escaped, self.out);
    }

    /// Reads the content as an address.
    fn read_address(&mut self, id: u8, tag: &Tag, content: &[u8]) -> Option<Shape> {
        if content.len() > address::ADDRESS_BYTES_MAX
            || (tag.does == Does::Image && !self.renderer.options.images)
            || (matches!(tag.does, Does::Link | Does::Email) && self.links > 0)
        {
            return None;
        }
        // The same tag again: whoever wrote many must not have each read to the one end.
        let again = &self.text[self.at..self.at + 1 + tag.name.len().min(2)];
        // Most have no bracket at all.
        let found = memchr::memchr(b'[', content)
            .and_then(|first| memchr::memmem::find(&content[first..], again));
        self.rendered.steps += found.unwrap_or(content.len()) as u64;
        if found.is_some() {
            return None;
        }
        self.rendered.steps += content.len() as u64;
        self.value.clear();
        self.meant.clear();
        match self.form.is_escaped() {
            true => unescape(content, self.meant),
            false => self.meant.extend_from_slice(content),
        }
        let (meant, value) = (&self.meant[..], &mut *self.value);
        match tag.does {
            Does::Image => self.dialect.addresses.image(meant, value)?,
            Does::Video => address::video(meant, value)?,
            Does::Email => address::mail(meant, value)?,
            _ => self.dialect.addresses.link(meant, value)?,
        }
        Some(Shape::Plain(id))
    }
}
