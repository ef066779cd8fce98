//! The pass: a post's way from its first byte to its last.
//!
//! In: a text and a renderer. Out: HTML. What means nothing is copied in runs; what may mean
//! something is decided here, and done in the files beside this one.
//! Invariants: 1. `run..at` is text that waits to be written as it is. 2. whatever can't be
//! what it looks like is text, and the pass goes on behind its first byte.

use crate::bracket::Head;
use crate::closers::{Closer, Closers, TAGS_MAX};
use crate::dialect::{Dialect, Tag};
use crate::escape::escape_at;
use crate::marks::Marks;
use crate::renderer::{Kind, Rendered, Renderer, Scratch};
use crate::snippet::append;
use crate::tree::Open;
use crate::written::Form;

/// How many of each tag are what: none, when a pass begins.
pub(crate) struct Counts {
    /// Open.
    pub(crate) open: [u32; TAGS_MAX],
    /// Openings that stayed text, whose closings do too.
    pub(crate) shown: [u32; TAGS_MAX],
    /// Whether there was any of those.
    pub(crate) has_shown: bool,
}

impl Default for Counts {
    fn default() -> Self {
        Self { open: [0; TAGS_MAX], shown: [0; TAGS_MAX], has_shown: false }
    }
}

/// One post being rendered.
pub(crate) struct Pass<'a> {
    pub(crate) renderer: &'a Renderer,
    pub(crate) dialect: &'a Dialect,
    pub(crate) form: Form,
    pub(crate) text: &'a [u8],
    pub(crate) out: &'a mut Vec<u8>,
    /// Where this post's HTML begins.
    pub(crate) base: usize,
    /// The byte that is looked at.
    pub(crate) at: usize,
    /// The first byte that was not written.
    pub(crate) run: usize,
    marks: &'a Marks,
    pub(crate) closers: &'a mut Closers,
    pub(crate) stack: &'a mut Vec<Open>,
    pub(crate) aside: &'a mut Vec<Open>,
    pub(crate) value: &'a mut Vec<u8>,
    pub(crate) meant: &'a mut Vec<u8>,
    /// Bytes of end tags that are owed.
    pub(crate) pending: usize,
    pub(crate) depth: usize,
    pub(crate) links: u32,
    pub(crate) kept_newlines: u32,
    pub(crate) takes_text: bool,
    pub(crate) is_after_block: bool,
    pub(crate) counts: &'a mut Counts,
    /// Up to here no address is looked for.
    pub(crate) no_links_before: usize,
    /// What was withheld so far.
    pub(crate) withheld: u32,
    pub(crate) rendered: Rendered,
}

impl<'a> Pass<'a> {
    pub(crate) fn new(
        renderer: &'a Renderer,
        text: &'a [u8],
        scratch: &'a mut Scratch,
        out: &'a mut Vec<u8>,
    ) -> Self {
        scratch.stack.clear();
        let base = out.len();
        Self {
            renderer,
            dialect: &renderer.dialect,
            form: renderer.form,
            text,
            out,
            base,
            at: 0,
            run: 0,
            marks: &scratch.marks,
            closers: &mut scratch.closers,
            stack: &mut scratch.stack,
            aside: &mut scratch.aside,
            value: &mut scratch.value,
            meant: &mut scratch.meant,
            pending: 0,
            depth: 0,
            links: 0,
            kept_newlines: 0,
            takes_text: true,
            is_after_block: false,
            counts: &mut scratch.counts,
            no_links_before: 0,
            withheld: 0,
            rendered: Rendered::default(),
        }
    }

    /// Reads the text to its end and closes what is open.
    pub(crate) fn run(mut self) -> Rendered {
        self.rendered.steps += self.closers.read(self.text, self.dialect, self.form);
        self.rendered.steps += self.text.len() as u64;
        while let Some(at) = self.marks.next(self.at) {
            self.at = at;
            self.special(self.text[at]);
        }
        self.at = self.text.len();
        self.write_run();
        self.close_to(0);
        if self.counts.has_shown {
            *self.counts = Counts::default();
        }
        self.rendered
    }

    /// Decides about a byte that may mean something, and moves on by one at least.
    #[inline]
    fn special(&mut self, byte: u8) {
        let sense = self.renderer.senses[usize::from(byte)];
        self.rendered.steps += 1;
        if sense.begins_smiley && self.smiley() {
            return;
        }
        let is_done = match sense.kind {
            Kind::Text => false,
            Kind::Entity => {
                self.write_run();
                self.make_place();
                self.out.extend_from_slice(&sense.entity);
                self.out.truncate(self.out.len() - sense.entity.len() + sense.entity_bytes);
                self.go_on(self.at + 1);
                true
            }
            Kind::Bracket => self.bracket(),
            Kind::Newline => self.newlines(),
            Kind::Address => self.address(byte),
            Kind::Mail => self.mail(),
            Kind::Stored => {
                let is_mark = self.form == Form::Stored && self.stored_mark();
                is_mark || self.newlines() || self.escaped()
            }
            Kind::Escaped => self.escaped(),
        };
        if !is_done {
            self.at += 1;
        }
    }

    /// What is text, but can't be written as it is.
    fn escaped(&mut self) -> bool {
        self.write_run();
        self.make_place();
        let length = escape_at(self.text, self.at, self.form.is_escaped(), self.out);
        self.go_on(self.at + length);
        true
    }

    /// Writes the text that waits.
    #[inline]
    pub(crate) fn write_run(&mut self) {
        let from = self.run;
        let waiting = &self.text[from..self.at];
        self.run = self.at;
        if waiting.is_empty() {
            return;
        }
        if !self.takes_text {
            // Between the parts of a list or a table white space is how somebody wrote it.
            self.rendered.steps += waiting.len() as u64;
            if waiting.iter().all(u8::is_ascii_whitespace) {
                return;
            }
        }
        self.make_place();
        append(self.text, from..self.at, self.out);
    }

    /// Goes on behind what was read and written.
    pub(crate) fn go_on(&mut self, at: usize) {
        self.at = at;
        self.run = at;
    }

    pub(crate) fn tag(&self, tag: u8) -> &'a Tag {
        &self.dialect.tags[usize::from(tag)]
    }

    /// A tag, or text that begins with a bracket.
    fn bracket(&mut self) -> bool {
        self.rendered.steps += self.closers.pass(self.at);
        if let Some(closer) = self.closers.here(self.at) {
            return self.close(closer);
        }
        let text = self.text;
        // Looked at where it lies: a head is large, and moving it costs as much as reading it.
        let read = &Head::read(&text[self.at..], self.form, &mut self.rendered.steps);
        let Some(head) = read else { return false };
        if head.is_closing {
            return false;
        }
        let Some(tag) = self.dialect.find(head, self.form) else { return false };
        self.open_tag(tag, head)
    }

    fn close(&mut self, closer: Closer) -> bool {
        let tag = usize::from(closer.tag);
        if self.counts.shown[tag] > 0 {
            self.counts.shown[tag] -= 1;
            return false;
        }
        if self.counts.open[tag] == 0 {
            return false;
        }
        self.write_run();
        let end = self.at + usize::from(closer.length);
        // It is taken before others are opened again, so that it isn't counted for them.
        self.rendered.steps += self.closers.pass(self.at + 1);
        self.close_tag(closer.tag, end);
        self.go_on(end);
        true
    }

    fn smiley(&mut self) -> bool {
        let smilies = self.renderer.smilies();
        let (found, steps) = smilies.find(self.text, self.at);
        self.rendered.steps += steps;
        let Some((smiley, length)) = found else { return false };
        let end = self.at + length;
        self.write_run();
        self.make_place();
        if !self.affords(smiley.html.len(), end) {
            self.rendered.too_much += 1;
            return false;
        }
        smiley.html.append_to(self.out);
        self.go_on(end);
        true
    }
}
