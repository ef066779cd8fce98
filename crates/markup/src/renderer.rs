//! Renderers: a dialect and its options, ready to make HTML of one post after another.
//!
//! In: a post's bytes. Out: HTML behind what is in the buffer already, and what was met with.
//! Everything that is the same for all posts is made here once; what a post needs in between
//! is a [`Scratch`] that the caller may keep.

use std::borrow::Cow;

use sha2::{Digest, Sha256};

use crate::closers::Closers;
use crate::dialect::Dialect;
use crate::escape::{Meaning, escape, escape_typed, meaning};
use crate::marks::{Marks, Wanted};
use crate::pass::{Counts, Pass};
use crate::smilies::Smilies;
use crate::tree::Open;
use crate::written::Form;

/// Tags that may be open within each other. What goes deeper stays text.
pub const DEPTH_MAX: usize = 32;
/// Of how many bytes of output one byte of input may be the cause…
pub const OUTPUT_FACTOR: usize = 8;
/// …beside these. A tag, a smiley or a link that would lead beyond stays text.
pub const OUTPUT_SLACK: usize = 16 << 10;
/// A longer text is escaped and nothing else.
pub const TEXT_BYTES_MAX: usize = 2 << 20;

/// Counts up with every change of what this crate makes of any text.
const RENDERER_VERSION: u32 = 1;
/// Closing tags for which a [`Scratch`] keeps its memory.
const CLOSERS_KEPT_MAX: usize = 4096;
/// Bytes of a value for which it does.
const VALUE_BYTES_KEPT_MAX: usize = 4096;
/// Bytes of a text for whose marks it does.
const MARKED_BYTES_KEPT_MAX: usize = 256 << 10;

/// What a site may want otherwise than its dialect has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// In which form texts come, if not in the dialect's.
    pub form: Option<Form>,
    /// Codes become images.
    pub smilies: bool,
    /// Addresses in the text become links, where the dialect has it so.
    pub links: bool,
    /// Images are shown; otherwise their tags stay text.
    pub images: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { form: None, smilies: true, links: true, images: true }
    }
}

/// A text that is to be rendered.
#[derive(Debug, Clone, Copy)]
pub enum Text<'t> {
    /// Was seen to be UTF-8, as whoever reads JSON sees it.
    Read(&'t str),
    /// May be anything.
    Unread(&'t [u8]),
}

impl<'t> From<&'t str> for Text<'t> {
    fn from(text: &'t str) -> Self {
        Self::Read(text)
    }
}

impl<'t> From<&'t [u8]> for Text<'t> {
    fn from(text: &'t [u8]) -> Self {
        Self::Unread(text)
    }
}

impl<'t> Text<'t> {
    /// As it was written.
    pub fn as_bytes(self) -> &'t [u8] {
        match self {
            Self::Read(text) => text.as_bytes(),
            Self::Unread(text) => text,
        }
    }

    /// The text as UTF-8. A byte that belongs to no character becomes a question mark: one
    /// for one, so that what may come of a text still follows from its length.
    fn readable(self) -> Cow<'t, [u8]> {
        let text = self.as_bytes();
        if matches!(self, Self::Read(_)) || simdutf8::basic::from_utf8(text).is_ok() {
            return Cow::Borrowed(text);
        }
        let mut readable = Vec::with_capacity(text.len());
        for chunk in text.utf8_chunks() {
            readable.extend_from_slice(chunk.valid().as_bytes());
            readable.extend(std::iter::repeat_n(b'?', chunk.invalid().len()));
        }
        Cow::Owned(readable)
    }
}

/// What a rendering met with.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Rendered {
    /// Tags that stayed text because [`DEPTH_MAX`] were open.
    pub too_deep: u32,
    /// Tags, smilies and links that stayed text because of [`OUTPUT_FACTOR`].
    pub too_much: u32,
    /// Bytes and tags that were looked at, each time that they were.
    pub steps: u64,
}

/// The buffers that a rendering works with, kept for the next.
#[derive(Default)]
pub struct Scratch {
    pub(crate) marks: Marks,
    pub(crate) counts: Counts,
    pub(crate) closers: Closers,
    pub(crate) stack: Vec<Open>,
    /// Those that are opened again behind what closed them.
    pub(crate) aside: Vec<Open>,
    /// A value as it is written into HTML.
    pub(crate) value: Vec<u8>,
    /// A value as it was meant, its entities read.
    pub(crate) meant: Vec<u8>,
}

/// What a rendering depends on, in 32 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key(pub [u8; 32]);

/// A dialect with its options.
pub struct Renderer {
    pub(crate) dialect: Dialect,
    pub(crate) options: Options,
    pub(crate) form: Form,
    /// What each byte may mean.
    pub(crate) senses: [Sense; 256],
    /// The bytes that may mean something.
    wanted: Wanted,
    /// The hash of all that isn't the text.
    keyed: Sha256,
}

impl Renderer {
    /// Makes a dialect ready.
    pub fn new(dialect: Dialect, options: Options) -> Self {
        let form = options.form.unwrap_or(dialect.form);
        let mut keyed = Sha256::new();
        keyed.update(RENDERER_VERSION.to_le_bytes());
        // Smilies and all settings are in the dialect's file.
        keyed.update(dialect.digest);
        keyed.update([
            form as u8,
            u8::from(options.smilies),
            u8::from(options.links),
            u8::from(options.images),
        ]);
        let (senses, wanted) = ([Sense::default(); 256], Wanted::default());
        let mut renderer = Self { dialect, options, form, senses, wanted, keyed };
        for byte in 0..=u8::MAX {
            renderer.senses[usize::from(byte)] = renderer.sense(byte);
        }
        renderer.wanted = Wanted::new(|byte| {
            let sense = renderer.senses[usize::from(byte)];
            // Of dots those are marked anyway that may be part of an address.
            sense.begins_smiley || (sense.kind != Kind::Text && byte != b'.')
        });
        renderer
    }

    /// Writes a post's HTML behind what is in `out`.
    pub fn render<'t>(&self, text: impl Into<Text<'t>>, out: &mut Vec<u8>) -> Rendered {
        self.render_with(&mut Scratch::default(), text, out)
    }

    /// The same, with buffers that were used before.
    pub fn render_with<'t>(
        &self,
        scratch: &mut Scratch,
        text: impl Into<Text<'t>>,
        out: &mut Vec<u8>,
    ) -> Rendered {
        let text = text.into().readable();
        out.reserve(text.len() + text.len() / 4);
        if text.len() > TEXT_BYTES_MAX {
            escape(&text, self.form.is_escaped(), out);
            return Rendered { too_much: 1, steps: text.len() as u64, ..Rendered::default() };
        }
        scratch.marks.read(&text, &self.wanted);
        let rendered = Pass::new(self, &text, scratch, out).run();
        scratch.marks.shrink(MARKED_BYTES_KEPT_MAX);
        scratch.closers.shrink(CLOSERS_KEPT_MAX);
        scratch.value.shrink_to(VALUE_BYTES_KEPT_MAX);
        scratch.meant.shrink_to(VALUE_BYTES_KEPT_MAX);
        rendered
    }

    /// What names the HTML of this text, wherever it is kept: another dialect, option, pack
    /// of smilies, text or version of this crate is another key.
    pub fn key(&self, text: &[u8]) -> Key {
        let mut hash = self.keyed.clone();
        hash.update(text);
        Key(hash.finalize().into())
    }

    pub(crate) fn smilies(&self) -> &Smilies {
        match self.form.is_escaped() {
            true => &self.dialect.escaped_smilies,
            false => &self.dialect.smilies,
        }
    }

    fn sense(&self, byte: u8) -> Sense {
        let links = self.options.links && self.dialect.links_itself;
        let mail = self.options.links && self.dialect.links_mail;
        let kind = match byte {
            b'[' => Kind::Bracket,
            b'\n' | b'\r' => Kind::Newline,
            b':' | b'.' if links => Kind::Address,
            b'@' if mail => Kind::Mail,
            b'<' if self.form.is_escaped() => Kind::Stored,
            _ => match meaning(byte) {
                Meaning::Text => Kind::Text,
                Meaning::Special(_) => Kind::Entity,
                Meaning::Ampersand if !self.form.is_escaped() => Kind::Entity,
                Meaning::Ampersand | Meaning::Dropped => Kind::Escaped,
            },
        };
        let mut sense = Sense { kind, ..Sense::default() };
        sense.begins_smiley = self.options.smilies && self.smilies().may_begin(byte);
        if kind == Kind::Entity {
            let mut written = Vec::new();
            escape_typed(&[byte], &mut written);
            sense.entity_bytes = written.len();
            sense.entity[..written.len()].copy_from_slice(&written);
        }
        sense
    }
}

/// What a byte may mean to a renderer.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sense {
    pub(crate) begins_smiley: bool,
    pub(crate) kind: Kind,
    /// How the byte is written, and what may stand behind that: a copy of eight bytes is one
    /// instruction.
    pub(crate) entity: [u8; 8],
    pub(crate) entity_bytes: usize,
}

/// What it may be, if not a smiley's beginning.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    #[default]
    Text,
    Bracket,
    Newline,
    /// Of an address in the text: what stands behind a scheme or `www`.
    Address,
    Mail,
    /// What a forum put in when the text was stored.
    Stored,
    /// Is written as an entity.
    Entity,
    /// May be an entity already, or nothing.
    Escaped,
}
