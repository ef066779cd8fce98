//! Differences: the spans of two chunks that were paired.
//!
//! In tags attribute is compared with attribute, in scripts unit with unit; what a person
//! reads is one span. Two chunks of different build have no spans: they are *torn*.
//! Invariant: every difference of a pair is a span, or the pair is torn, or is a comment.

use std::ops::Range;

use crate::chunk::{Chunk, ChunkKind};
use crate::class::{self, Class};
use crate::compare::TooDifferent;
use crate::document::Document;
use crate::escape::{entity, json};
use crate::literal;
use crate::span::Span;
use crate::tag::{self, Attribute};
use crate::unit::{self, Unit, UnitKind};

/// Two copies that differ in more places are given up.
pub(crate) const SPANS_MAX: usize = 20_000;
/// How many units in front of a value may be its key.
const KEY_UNITS: usize = 4;
/// A script's literal that is longer is no value of its own.
const LITERAL_BYTES_MAX: usize = 400;

/// Whether a pair has one build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Build {
    Same,
    Torn,
}

/// Collects the spans of pair after pair.
pub(crate) struct Differences<'a> {
    old: &'a Document,
    new: &'a Document,
    pub(crate) spans: Vec<Span>,
    /// The pair at hand.
    chunks: (u32, u32),
}

/// Where a value stands in both copies.
#[derive(Clone)]
struct Places(Range<u32>, Range<u32>);

impl<'a> Differences<'a> {
    pub(crate) fn new(old: &'a Document, new: &'a Document) -> Self {
        Self { old, new, spans: Vec::new(), chunks: (0, 0) }
    }

    /// Adds the spans of one pair.
    pub(crate) fn add(&mut self, a: u32, b: u32) -> Result<Build, TooDifferent> {
        self.chunks = (a, b);
        let (a, b) = (self.old.chunks()[a as usize], self.new.chunks()[b as usize]);
        let known = self.spans.len();
        let build = if a.kind != b.kind {
            Build::Torn
        } else {
            match a.kind {
                ChunkKind::Comment => Build::Same,
                ChunkKind::Tag => self.tags(a, b),
                ChunkKind::Script => self.scripts(a, b),
                ChunkKind::Text => {
                    self.texts(a.start..a.end, b.start..b.end);
                    Build::Same
                }
            }
        };
        if build == Build::Torn {
            self.spans.truncate(known);
        }
        if self.spans.len() > SPANS_MAX { Err(TooDifferent) } else { Ok(build) }
    }

    fn tags(&mut self, a: Chunk, b: Chunk) -> Build {
        let (old, new) = (self.old, self.new);
        let (a_bytes, b_bytes) = (old.bytes(a), new.bytes(b));
        if !is_same_build(a_bytes, b_bytes) {
            return Build::Torn;
        }
        let a_text = a.start + tag::length(a_bytes) as u32..a.end;
        let b_text = b.start + tag::length(b_bytes) as u32..b.end;
        let before = self.spans.len();
        self.texts(a_text, b_text);
        let reads_differently =
            self.spans[before..].iter().any(|span| span.class == Class::Visible);
        let mut element = None;
        for (x, y) in tag::attributes(a_bytes).zip(tag::attributes(b_bytes)) {
            if x.value != y.value {
                let element = element.get_or_insert_with(|| Element::read(a_bytes));
                let places = Places(place(a.start, &x), place(b.start, &y));
                self.attributes(element, x, y, &places, reads_differently);
            }
        }
        Build::Same
    }

    fn attributes(
        &mut self,
        element: &Element,
        x: Attribute<'_>,
        y: Attribute<'_>,
        places: &Places,
        reads_differently: bool,
    ) {
        let (old, new) = (entity::decode(x.value), entity::decode(y.value));
        if is_read_by_people(&x) || x.is("value") && element.is_button {
            return self.push(x.name, &old, &new, places, class::of_text(&old, &new));
        }
        if x.is("value") && element.is_filled_in {
            // It is sent as well: besides being judged as a text it is translated as a value.
            self.push(x.name, &old, &new, places, class::of_text(&old, &new));
        }
        if x.is("name") || !reads_differently && (x.is("id") || x.is("for")) {
            return self.push(b"", &old, &new, places, Class::FieldName);
        }
        if x.is("content") && old.iter().any(u8::is_ascii_whitespace) {
            return self.push(&element.field, &old, &new, places, class::of_text(&old, &new));
        }
        let is_value = x.is("value") || x.is("content");
        let own = x.name.to_ascii_lowercase();
        let key: &[u8] = if is_value { &element.field } else { &own };
        let class_of = |old: &[u8], new: &[u8]| match reads_differently && !is_value {
            true => Class::Content,
            false => class::of_machine(old, new),
        };
        if is_value {
            self.push(key, &old, &new, places, class_of(&old, &new));
        }
        if own.starts_with(b"on") && self.programs(&old, &new, key, places, &class_of) {
            return;
        }
        let mut told = Vec::new();
        let is_machine = literal::parts(key, &old, &new, &mut |key, old, new| {
            told.push((key.to_vec(), old.to_vec(), new.to_vec()));
        });
        if !is_machine && !is_value {
            return self.push(key, &old, &new, places, class::of_text(&old, &new));
        }
        for (key, old, new) in told {
            self.push(&key, &old, &new, places, class_of(&old, &new));
        }
    }

    /// A program in an attribute; false if its two copies are built differently.
    fn programs(
        &mut self,
        old: &[u8],
        new: &[u8],
        key: &[u8],
        places: &Places,
        class_of: &dyn Fn(&[u8], &[u8]) -> Class,
    ) -> bool {
        let Some(pairs) = pairs_of_units(old, new) else { return false };
        for pair in pairs {
            let key = pair.key.unwrap_or(key);
            self.unit(&old[pair.old], &new[pair.new], key, places, class_of);
        }
        true
    }

    fn scripts(&mut self, a: Chunk, b: Chunk) -> Build {
        let (old, new) = (self.old.bytes(a), self.new.bytes(b));
        let Some(pairs) = pairs_of_units(old, new) else { return Build::Torn };
        for pair in pairs {
            let place =
                |start: u32, at: &Range<usize>| start + at.start as u32..start + at.end as u32;
            let places = Places(place(a.start, &pair.old), place(b.start, &pair.new));
            let key = pair.key.unwrap_or_default();
            self.unit(&old[pair.old], &new[pair.new], key, &places, &class::of_machine);
        }
        Build::Same
    }

    /// Two units of one kind that differ.
    fn unit(
        &mut self,
        x: &[u8],
        y: &[u8],
        key: &[u8],
        places: &Places,
        class_of: &dyn Fn(&[u8], &[u8]) -> Class,
    ) {
        if !matches!(x[0], b'"' | b'\'') {
            return self.push(key, x, y, places, class_of(x, y));
        }
        let (old, new) = (json::decode(&x[1..x.len() - 1]), json::decode(&y[1..y.len() - 1]));
        let mut told = Vec::new();
        let is_machine = literal::parts(key, &old, &new, &mut |key, old, new| {
            told.push((key.to_vec(), old.to_vec(), new.to_vec()));
        });
        if !is_machine {
            return self.push(key, &old, &new, places, class::of_text(&old, &new));
        }
        for (key, old, new) in told {
            self.push(&key, &old, &new, places, class_of(&old, &new));
        }
        if !old.contains(&b'=') && old.len() < LITERAL_BYTES_MAX {
            self.push(key, &old, &new, places, class_of(&old, &new));
        }
    }

    /// What a person reads: one span, white space at its ends aside.
    fn texts(&mut self, a: Range<u32>, b: Range<u32>) {
        let trimmed = |document: &'a Document, range: Range<u32>| {
            let raw = &document.text()[range.start as usize..range.end as usize];
            let text = raw.trim_ascii_start();
            let start = range.start + (raw.len() - text.len()) as u32;
            (text.trim_ascii_end(), start)
        };
        let ((x, x_at), (y, y_at)) = (trimmed(self.old, a), trimmed(self.new, b));
        if x == y {
            return;
        }
        let places = Places(x_at..x_at + x.len() as u32, y_at..y_at + y.len() as u32);
        let (old, new) = (entity::decode(x), entity::decode(y));
        self.push(b"", &old, &new, &places, class::of_text(&old, &new));
    }

    fn push(&mut self, key: &[u8], old: &[u8], new: &[u8], places: &Places, class: Class) {
        // Values that differ only in their spelling are the same value.
        if old == new {
            return;
        }
        let span = Span {
            old_place: places.0.clone(),
            new_place: places.1.clone(),
            old: old.to_vec(),
            new: new.to_vec(),
            key: key.to_vec(),
            class,
            chunks: self.chunks,
        };
        if self.spans.last() != Some(&span) {
            self.spans.push(span);
        }
    }
}

/// What the attributes of a tag say about each other.
struct Element {
    /// What the element's value is called.
    field: Vec<u8>,
    /// Its value is its inscription.
    is_button: bool,
    /// A person reads its value, and may write another.
    is_filled_in: bool,
}

impl Element {
    fn read(bytes: &[u8]) -> Self {
        let value_of = |name: &str| tag::attributes(bytes).find(|attribute| attribute.is(name));
        // What is sent is called by `name`; ids and the names of meta tags come after it.
        let field = ["name", "property", "http-equiv", "id"].iter().find_map(|n| value_of(n));
        let field = field.map(|attribute| entity::decode(attribute.value).into_owned());
        let kind = value_of("type").map_or(&b""[..], |attribute| attribute.value);
        let is_one =
            |words: &[&str]| words.iter().any(|word| kind.eq_ignore_ascii_case(word.as_bytes()));
        Self {
            field: field.unwrap_or_default(),
            is_button: is_one(&["submit", "button", "reset"]),
            is_filled_in: tag::name(bytes).eq_ignore_ascii_case(b"input")
                && !is_one(&UNREAD_INPUTS)
                && !is_hidden(bytes),
        }
    }
}

/// Inputs whose value nobody reads; a type that nobody knows is a line of text.
const UNREAD_INPUTS: [&str; 9] =
    ["hidden", "password", "checkbox", "radio", "file", "image", "submit", "button", "reset"];

/// Whether a tag says of itself that nobody sees it, as that of a trap for robots does.
fn is_hidden(bytes: &[u8]) -> bool {
    tag::attributes(bytes).any(|attribute| {
        attribute.is("hidden")
            || attribute.is("style") && {
                let style = attribute.value.to_ascii_lowercase();
                let style: Vec<u8> =
                    style.into_iter().filter(|b| !b.is_ascii_whitespace()).collect();
                memchr::memmem::find(&style, b"display:none").is_some()
            }
    })
}

/// Whether two tags have one name and the same attributes, in any letter case.
fn is_same_build(a: &[u8], b: &[u8]) -> bool {
    let (mut a_attributes, mut b_attributes) = (tag::attributes(a), tag::attributes(b));
    if a.get(1) != b.get(1) || !tag::name(a).eq_ignore_ascii_case(tag::name(b)) {
        return false;
    }
    loop {
        match (a_attributes.next(), b_attributes.next()) {
            (None, None) => return true,
            (Some(x), Some(y)) if x.name.eq_ignore_ascii_case(y.name) => {}
            _ => return false,
        }
    }
}

fn place(start: u32, attribute: &Attribute<'_>) -> Range<u32> {
    let at = start + attribute.value_at as u32;
    at..at + attribute.value.len() as u32
}

fn is_read_by_people(attribute: &Attribute<'_>) -> bool {
    ["title", "alt", "placeholder", "label", "summary", "aria-label", "aria-description"]
        .iter()
        .any(|name| attribute.is(name))
}

/// Two units that differ, and the word in front of the old one.
struct UnitPair<'a> {
    old: Range<usize>,
    new: Range<usize>,
    key: Option<&'a [u8]>,
}

/// Pairs of units that differ; `None` if the two programs are built differently.
fn pairs_of_units<'a>(old: &'a [u8], new: &[u8]) -> Option<Vec<UnitPair<'a>>> {
    let old_units: Vec<_> = unit::units(old).collect();
    let mut pairs = Vec::new();
    let mut count = 0;
    for (at, y) in unit::units(new).enumerate() {
        let x = old_units.get(at)?;
        count += 1;
        if old[x.range.clone()] == new[y.range.clone()] {
            continue;
        }
        if x.kind != y.kind || x.kind == UnitKind::Mark {
            return None;
        }
        let before = &old_units[at.saturating_sub(KEY_UNITS)..at];
        let key = before.iter().rev().find_map(|unit| word_of(old, unit));
        pairs.push(UnitPair { old: x.range.clone(), new: y.range, key });
    }
    (count == old_units.len()).then_some(pairs)
}

/// What a unit says if it has a letter in it, without quotes.
fn word_of<'a>(text: &'a [u8], unit: &Unit) -> Option<&'a [u8]> {
    let bytes = &text[unit.range.clone()];
    let inner = match unit.kind {
        UnitKind::Mark => return None,
        UnitKind::Word => bytes,
        UnitKind::Literal(_) => &bytes[1..bytes.len() - 1],
    };
    let is_word = |&byte: &u8| byte != b'-' && unit::is_word(byte);
    inner.iter().any(is_word).then_some(inner)
}
