//! Smilies: short codes that become images.
//!
//! In: a dialect's codes with their images. Out: for a place in a text the longest code that
//! stands there, and its HTML.
//! Invariant: an image's address is a path or by HTTP, and was escaped when it was read.

use std::cmp::Reverse;

use crate::address::{Address, is_image_address};
use crate::escape::escape_typed;
use crate::snippet::Snippet;
use crate::written::{Boundary, Form, WrittenSmilies};

/// The most codes of a pack.
pub(crate) const CODES_MAX: usize = 512;
/// The longest code.
const CODE_BYTES_MAX: usize = 32;

/// A pack made ready.
#[derive(Debug, Default)]
pub(crate) struct Smilies {
    /// By their first two bytes, then the longest first.
    codes: Vec<Smiley>,
    /// Where the codes of each first byte lie.
    ranges: Vec<(u16, u16)>,
    boundary: Boundary,
}

#[derive(Debug)]
pub(crate) struct Smiley {
    code: Box<[u8]>,
    pub(crate) html: Snippet,
}

impl Smilies {
    /// Makes a pack ready for texts of this form.
    pub(crate) fn new(written: &WrittenSmilies, form: Form) -> Result<Self, String> {
        if written.images.len() > CODES_MAX {
            return Err(format!("there are more than {CODES_MAX} smilies; leave some out"));
        }
        let mut codes = Vec::with_capacity(written.images.len());
        for (code, image) in &written.images {
            codes.push(Smiley::new(code, image, written, form)?);
        }
        codes.sort_by_key(|one: &Smiley| (one.code[0], one.code[1], Reverse(one.code.len())));
        let mut ranges = vec![(0, 0); 256];
        for (at, smiley) in codes.iter().enumerate() {
            let range: &mut (u16, u16) = &mut ranges[usize::from(smiley.code[0])];
            // CODES_MAX keeps both in their type.
            let at = at as u16;
            *range = if range.1 == 0 { (at, at + 1) } else { (range.0, at + 1) };
        }
        Ok(Self { codes, ranges, boundary: written.boundary })
    }

    /// Whether a code begins with this byte.
    pub(crate) fn may_begin(&self, byte: u8) -> bool {
        self.ranges.get(usize::from(byte)).is_some_and(|range| range.1 > 0)
    }

    /// The smiley at `at`, with its length, and how many codes were compared.
    pub(crate) fn find(&self, text: &[u8], at: usize) -> (Option<(&Smiley, usize)>, u64) {
        let Some((from, to)) = self.ranges.get(usize::from(text[at])).copied() else {
            return (None, 0);
        };
        if !self.ends_word(at.checked_sub(1).map(|before| text[before])) {
            return (None, 1);
        }
        let Some(second) = text.get(at + 1) else { return (None, 1) };
        let codes = &self.codes[usize::from(from)..usize::from(to)];
        let first = codes.partition_point(|smiley| smiley.code[1] < *second);
        let codes = codes[first..].iter().take_while(|smiley| smiley.code[1] == *second);
        let mut steps =
            1 + u64::from(usize::BITS - codes.size_hint().1.unwrap_or(0).leading_zeros());
        let mut codes = codes.inspect(|_| steps += 1);
        let found = codes.find(|smiley| {
            let end = at + smiley.code.len();
            text[at..].starts_with(&smiley.code) && self.begins_word(text.get(end).copied())
        });
        let found = found.map(|smiley| (smiley, smiley.code.len()));
        (found, steps)
    }

    /// The smiley of a whole code.
    pub(crate) fn named(&self, code: &[u8]) -> Option<&Smiley> {
        let (from, to) = *self.ranges.get(usize::from(*code.first()?))?;
        self.codes[usize::from(from)..usize::from(to)].iter().find(|one| &*one.code == code)
    }

    fn ends_word(&self, before: Option<u8>) -> bool {
        self.is_bound(before, b']')
    }

    fn begins_word(&self, after: Option<u8>) -> bool {
        self.is_bound(after, b'[')
    }

    fn is_bound(&self, neighbour: Option<u8>, bracket: u8) -> bool {
        let Some(byte) = neighbour else { return true };
        match self.boundary {
            Boundary::Free => true,
            Boundary::Space => byte.is_ascii_whitespace() || byte == bracket,
            Boundary::Word => !(byte.is_ascii_alphanumeric() || byte >= 0x80),
        }
    }
}

impl Smiley {
    fn new(code: &str, image: &str, pack: &WrittenSmilies, form: Form) -> Result<Self, String> {
        let is_visible = code.chars().all(|c| !c.is_whitespace() && !c.is_control());
        if !(2..=CODE_BYTES_MAX).contains(&code.len()) || !is_visible {
            return Err(format!("`{code}` can't be a smiley; write 2 to 32 visible characters"));
        }
        let source = format!("{}{image}", pack.folder);
        if !is_image_address(&source) {
            return Err(format!(
                "`{source}` can't be an image; begin the folder with / or https://"
            ));
        }
        let mut html = b"<img".to_vec();
        if let Some(class) = &pack.class {
            html.extend_from_slice(format!(" class=\"{}\"", class.0).as_bytes());
        }
        html.extend_from_slice(b" src=\"");
        Address::write_encoded(source.as_bytes(), &mut html);
        html.extend_from_slice(b"\" alt=\"");
        escape_typed(code.as_bytes(), &mut html);
        html.extend_from_slice(b"\">");
        let mut written = Vec::new();
        match form.is_escaped() {
            true => escape_typed(code.as_bytes(), &mut written),
            false => written.extend_from_slice(code.as_bytes()),
        }
        Ok(Self { code: written.into(), html: Snippet::new(&html) })
    }
}
