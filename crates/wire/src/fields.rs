//! Header fields: one flat buffer, in the order they came, with their case kept.
//!
//! A message's fields are one allocation for text and one for offsets, both kept
//! from request to request on a connection; names that Wick knows are recognised
//! once, while parsing. Law: RFC 9110 §5.
//! Invariant: no value holds CR, LF or NUL; [`Fields::push`] is for what we wrote
//! ourselves, [`Fields::try_push`] for what anybody sent.

use std::fmt;

use crate::Name;

/// Room made with a message's first field: most messages need no more, and growing there
/// step by step costs more than all else about them.
const TEXT_BYTES: usize = 512;
const LINES: usize = 16;

/// Header or trailer fields of one message.
#[derive(Clone, Default)]
pub struct Fields {
    text: Vec<u8>,
    lines: Vec<Line>,
    present: u64,
}

#[derive(Clone, Copy)]
struct Line {
    start: u32,
    value_length: u32,
    name_length: u16,
    known: Option<Name>,
}

/// A field that may not stand in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldError {
    /// The name is empty, too long or not a token.
    #[error("a field name is not a token")]
    Name,
    /// The value holds a control character.
    #[error("a field value holds a control character")]
    Value,
}

impl Fields {
    /// No fields.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads `name: value` lines ended by LF or CRLF; for tests and stored heads.
    ///
    /// # Errors
    /// The first line that is not a field.
    pub fn parse(text: &[u8]) -> Result<Self, FieldError> {
        let mut fields = Self::new();
        for line in text.split(|&b| b == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() {
                continue;
            }
            let colon = line.iter().position(|&b| b == b':').ok_or(FieldError::Name)?;
            fields.try_push(&line[..colon], &line[colon + 1..])?;
        }
        Ok(fields)
    }

    /// The fields for which `keep(known, name, value)` holds, with room for a few more.
    #[must_use]
    pub fn filtered(&self, mut keep: impl FnMut(Option<Name>, &[u8], &[u8]) -> bool) -> Self {
        let mut kept = Self::new();
        kept.text.reserve(self.text.len() + TEXT_BYTES);
        kept.lines.reserve(self.lines.len() + LINES);
        for (known, name, value) in self.iter_known() {
            if keep(known, name, value) {
                kept.add(name, value, known);
            }
        }
        kept
    }

    /// Forgets all fields and keeps the memory.
    pub fn clear(&mut self) {
        self.text.clear();
        self.lines.clear();
        self.present = 0;
    }

    /// Adds a field of ours. The value must hold no CR, LF or NUL.
    pub fn push(&mut self, name: &str, value: impl AsRef<[u8]>) {
        debug_assert!(value.as_ref().iter().all(|&b| !matches!(b, b'\r' | b'\n' | 0)));
        self.add(name.as_bytes(), value.as_ref(), Name::of(name.as_bytes()));
    }

    /// Adds a field of ours by its known name. The value must hold no CR, LF or NUL.
    pub fn put(&mut self, name: Name, value: impl AsRef<[u8]>) {
        debug_assert!(value.as_ref().iter().all(|&b| !matches!(b, b'\r' | b'\n' | 0)));
        self.add(name.as_str().as_bytes(), value.as_ref(), Some(name));
    }

    /// Removes every field of this name and adds one of ours.
    pub fn set(&mut self, name: Name, value: impl AsRef<[u8]>) {
        self.remove(name);
        self.put(name, value);
    }

    /// Adds a field that somebody sent; white space around the value goes.
    ///
    /// # Errors
    /// The name is not a token, or the value holds a control character.
    pub fn try_push(&mut self, name: &[u8], value: &[u8]) -> Result<(), FieldError> {
        self.try_push_known(name, value, Name::of(name))
    }

    /// The same for a name that was looked up already.
    ///
    /// # Errors
    /// As those of [`Fields::try_push`].
    pub(crate) fn try_push_known(
        &mut self,
        name: &[u8],
        value: &[u8],
        known: Option<Name>,
    ) -> Result<(), FieldError> {
        let is_name =
            || !name.is_empty() && name.len() <= 1024 && name.iter().all(|&b| is_token(b));
        // A known name is one.
        if known.is_none() && !is_name() {
            return Err(FieldError::Name);
        }
        let value = trim(value);
        // Without leaving early the compiler looks at many bytes at once.
        let is_control = |b: u8| (b < 0x20 && b != b'\t') || b == 0x7f;
        if value.iter().fold(false, |found, &b| found | is_control(b)) {
            return Err(FieldError::Value);
        }
        self.add(name, value, known);
        Ok(())
    }

    fn add(&mut self, name: &[u8], value: &[u8], known: Option<Name>) {
        if self.lines.capacity() == 0 {
            self.text.reserve(TEXT_BYTES);
            self.lines.reserve(LINES);
        }
        self.lines.push(Line {
            start: self.text.len() as u32,
            value_length: value.len() as u32,
            name_length: name.len() as u16,
            known,
        });
        self.text.extend_from_slice(name);
        self.text.extend_from_slice(value);
        self.present |= known.map_or(0, Name::bit);
    }

    /// How many fields there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Bytes of names and values together.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Whether a field of this name is there; costs one mask.
    #[must_use]
    pub fn has(&self, name: Name) -> bool {
        self.present & name.bit() != 0
    }

    /// The first value of this name.
    #[must_use]
    pub fn first(&self, name: Name) -> Option<&[u8]> {
        self.all(name).next()
    }

    /// The first value of this name if it is text.
    #[must_use]
    pub fn text(&self, name: Name) -> Option<&str> {
        self.first(name).and_then(|value| std::str::from_utf8(value).ok())
    }

    /// Every value of this name, in order.
    pub fn all(&self, name: Name) -> impl Iterator<Item = &[u8]> + Clone {
        let lines: &[Line] = if self.has(name) { &self.lines } else { &[] };
        lines.iter().filter(move |line| line.known == Some(name)).map(|line| self.value(line))
    }

    /// Every value of a name given as text, in order, in any letter case.
    pub fn all_named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> + Clone {
        self.iter().filter(move |(n, _)| n.eq_ignore_ascii_case(name.as_bytes())).map(|(_, v)| v)
    }

    /// The members of a comma-separated list over all lines of this name, trimmed;
    /// commas within quoted strings do not separate; empty members are left out.
    pub fn members(&self, name: Name) -> impl Iterator<Item = &[u8]> + Clone {
        self.all(name).flat_map(split_list)
    }

    /// Whether a list field has this member, in any letter case.
    #[must_use]
    pub fn has_member(&self, name: Name, member: &str) -> bool {
        self.members(name).any(|m| m.eq_ignore_ascii_case(member.as_bytes()))
    }

    /// Every field as (name as sent, value), in order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> + Clone {
        self.lines.iter().map(|line| (self.name(line), self.value(line)))
    }

    /// Every field with its known name, if it has one.
    pub fn iter_known(&self) -> impl Iterator<Item = (Option<Name>, &[u8], &[u8])> + Clone {
        self.lines.iter().map(|line| (line.known, self.name(line), self.value(line)))
    }

    /// Removes every field of this name.
    pub fn remove(&mut self, name: Name) {
        if self.has(name) {
            self.lines.retain(|line| line.known != Some(name));
            self.present &= !name.bit();
        }
    }

    /// Keeps the fields for which `keep(known, name, value)` holds.
    pub fn retain(&mut self, mut keep: impl FnMut(Option<Name>, &[u8], &[u8]) -> bool) {
        let text = &self.text;
        let mut present = 0;
        self.lines.retain(|line| {
            let start = line.start as usize;
            let (name, rest) = text[start..].split_at(line.name_length as usize);
            let kept = keep(line.known, name, &rest[..line.value_length as usize]);
            present |= if kept { line.known.map_or(0, Name::bit) } else { 0 };
            kept
        });
        self.present = present;
    }

    /// Appends `name: value CRLF` for every field.
    pub fn render(&self, out: &mut Vec<u8>) {
        for (name, value) in self.iter() {
            out.extend_from_slice(name);
            out.extend_from_slice(b": ");
            out.extend_from_slice(value);
            out.extend_from_slice(b"\r\n");
        }
    }

    fn name(&self, line: &Line) -> &[u8] {
        let start = line.start as usize;
        &self.text[start..start + line.name_length as usize]
    }

    fn value(&self, line: &Line) -> &[u8] {
        let start = line.start as usize + line.name_length as usize;
        &self.text[start..start + line.value_length as usize]
    }
}

impl fmt::Debug for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        f.debug_list()
            .entries(self.iter().map(|(n, v)| format!("{}: {}", text(n), text(v))))
            .finish()
    }
}

impl PartialEq for Fields {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

/// Whether a byte may stand in a token (RFC 9110 §5.6.2).
#[must_use]
pub fn is_token(byte: u8) -> bool {
    TOKEN[byte as usize]
}

/// For each byte whether it may stand in a token.
static TOKEN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let others = b"!#$%&'*+-.^_`|~";
    let mut at = 0;
    while at < others.len() {
        table[others[at] as usize] = true;
        at += 1;
    }
    table
};

/// Takes optional white space from both ends.
#[must_use]
pub fn trim(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = value {
        value = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

/// Cuts one field value at its commas, those in quoted strings excepted.
pub fn split_list(value: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    let mut rest = Some(value);
    std::iter::from_fn(move || {
        let text = rest?;
        let end = list_end(text);
        rest = text.get(end + 1..);
        Some(trim(&text[..end]))
    })
    .filter(|member| !member.is_empty())
}

/// Where the first list member ends: the first comma outside quotes, or the end.
fn list_end(text: &[u8]) -> usize {
    let (mut quoted, mut escaped) = (false, false);
    for (at, &byte) in text.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b',' if !quoted => return at,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(text: &str) -> Fields {
        Fields::parse(text.as_bytes()).expect("the test's fields are well formed")
    }

    #[test]
    fn fields_keep_order_and_case_and_are_found_in_any_case() {
        let f = fields("HOST: a\r\nX-Odd:  b \nhost: c\n");
        assert_eq!(f.first(Name::Host), Some(&b"a"[..]));
        assert_eq!(f.all(Name::Host).collect::<Vec<_>>(), [b"a", b"c"]);
        assert_eq!(f.all_named("x-oDD").collect::<Vec<_>>(), [b"b"]);
        let mut out = Vec::new();
        f.render(&mut out);
        assert_eq!(out, b"HOST: a\r\nX-Odd: b\r\nhost: c\r\n");
    }

    #[test]
    fn removing_a_name_removes_all_its_lines() {
        let mut f = fields("a: 1\ncookie: x\nb: 2\nCookie: y\n");
        f.remove(Name::Cookie);
        assert!(!f.has(Name::Cookie));
        assert_eq!(f.len(), 2);
        f.set(Name::Host, "h");
        assert_eq!(f.text(Name::Host), Some("h"));
        assert_eq!(f.filtered(|_, name, _| name != b"b"), fields("a: 1\nhost: h\n"));
        f.retain(|_, name, _| name != b"a");
        assert!(f.has(Name::Host) && f.len() == 2);
    }

    #[test]
    fn lists_are_cut_at_commas_over_all_lines_but_not_in_quotes() {
        let f = fields("vary: a, b,,\nvary: \"x,\\\",y\" , c\n");
        let members: Vec<_> = f.members(Name::Vary).collect();
        assert_eq!(members, [&b"a"[..], b"b", b"\"x,\\\",y\"", b"c"]);
        assert!(f.has_member(Name::Vary, "C"));
    }

    #[test]
    fn what_could_split_a_message_is_refused() {
        let mut f = Fields::new();
        assert_eq!(f.try_push(b"a b", b"x"), Err(FieldError::Name));
        assert_eq!(f.try_push(b"", b"x"), Err(FieldError::Name));
        for value in [&b"x\r\ny: z"[..], b"x\0", b"x\ny", b"\x7f"] {
            assert_eq!(f.try_push(b"a", value), Err(FieldError::Value));
        }
        assert!(f.try_push(b"a", "tab\tand é".as_bytes()).is_ok());
    }
}
