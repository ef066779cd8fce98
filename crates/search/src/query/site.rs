//! The language of a site's search field.
//!
//! Words are all wanted. `"a b"` is a phrase, `"a b"~3` words near each other, `-a` leaves
//! out, `a OR b` and `a | b` is one of both, brackets group, `title:a` looks in one field,
//! `wor*` and `*ord` and `w?rd` leave something open, `word~` allows for a wrong letter,
//! `=word` is that form only.
//! Invariant: whatever is written means something; there are no errors.

use super::tree::{DEPTH_MAX, Form, Query, WORDS_MAX, Word};
use crate::Shape;

/// Reads what a person wrote.
#[must_use]
pub fn read_query(text: &str, shape: &Shape) -> Query {
    let mut reader = Reader { rest: text, shape, words_left: WORDS_MAX };
    reader.alternatives(0).unwrap_or(Query::All)
}

struct Reader<'a> {
    rest: &'a str,
    shape: &'a Shape,
    words_left: usize,
}

impl Reader<'_> {
    /// Rows of words with `OR` between them, until a bracket closes or the text ends.
    fn alternatives(&mut self, depth: usize) -> Option<Query> {
        let mut alternatives = Vec::new();
        let mut row = Vec::new();
        loop {
            self.rest = self.rest.trim_start();
            if self.rest.is_empty() || self.words_left == 0 {
                break;
            }
            if let Some(rest) = self.rest.strip_prefix(')') {
                self.rest = rest;
                if depth > 0 {
                    break;
                }
            } else if self.operator(&["OR", "|", "||"]) {
                alternatives.extend(finish(&mut row));
            } else if self.operator(&["AND", "&", "&&", "+"]) {
                // Words are all wanted anyway.
            } else if let Some(part) = self.part(depth) {
                row.push(part);
            }
        }
        alternatives.extend(finish(&mut row));
        (!alternatives.is_empty()).then(|| Query::one_of(alternatives))
    }

    /// Takes one of these, where it stands alone.
    fn operator(&mut self, names: &[&str]) -> bool {
        for name in names {
            if let Some(rest) = self.rest.strip_prefix(name)
                && (rest.is_empty() || rest.starts_with(char::is_whitespace))
            {
                self.rest = rest;
                return true;
            }
        }
        false
    }

    fn part(&mut self, depth: usize) -> Option<Query> {
        if depth >= DEPTH_MAX {
            self.rest = self.rest.trim_start_matches(['(', '-', '!', '+']);
        }
        if self.operator(&["NOT"]) {
            self.rest = self.rest.trim_start();
            return self.part(depth + 1).map(negate);
        }
        if let Some(rest) = self.rest.strip_prefix(['-', '!'])
            && rest.starts_with(|first: char| !first.is_whitespace() && first != '-')
            && depth < DEPTH_MAX
        {
            self.rest = rest;
            return self.part(depth + 1).map(negate);
        }
        if let Some(rest) = self.rest.strip_prefix('+') {
            self.rest = rest;
        }
        if let Some(rest) = self.rest.strip_prefix('(')
            && depth < DEPTH_MAX
        {
            self.rest = rest;
            return self.alternatives(depth + 1);
        }
        if let Some(fields) = self.field_name() {
            if self.rest.is_empty() || self.rest.starts_with(char::is_whitespace) {
                return None;
            }
            let query = Box::new(self.part(depth + 1)?);
            return Some(Query::Field { fields, within: None, query });
        }
        if self.rest.starts_with('"') {
            return self.phrase();
        }
        let end = self.rest.find([' ', '\t', '\n', '\r', '"', '(', ')']).unwrap_or(self.rest.len());
        let end = self.rest[..end].find(char::is_whitespace).unwrap_or(end);
        // Always at least one character, so that the text comes to an end.
        let end = end.max(self.rest.chars().next().map_or(0, char::len_utf8));
        let (written, rest) = self.rest.split_at(end);
        self.rest = rest;
        self.words_left -= 1;
        word(written).map(Query::Word)
    }

    /// `title:` before what is looked for there.
    fn field_name(&mut self) -> Option<Vec<usize>> {
        let (name, rest) = self.rest.split_once(':')?;
        let place = self.shape.field_at(name)?;
        self.rest = rest;
        Some(vec![place])
    }

    fn phrase(&mut self) -> Option<Query> {
        let inside = &self.rest[1..];
        let (written, rest) = inside.split_once('"').unwrap_or((inside, ""));
        self.rest = rest;
        let mut words = Vec::new();
        for written in written.split_whitespace().take(self.words_left) {
            words.extend(phrase_word(written));
        }
        self.words_left -= words.len();
        if let Some(rest) = self.rest.strip_prefix('~') {
            let digits = rest.find(|one: char| !one.is_ascii_digit()).unwrap_or(rest.len());
            if let Ok(distance) = rest[..digits].parse::<u32>() {
                self.rest = &rest[digits..];
                let parts = words.into_iter().map(Query::Word).collect();
                return Some(Query::Near { parts, distance: distance.min(100) });
            }
        }
        (!words.is_empty()).then_some(Query::Phrase(words))
    }
}

fn finish(row: &mut Vec<Query>) -> Option<Query> {
    (!row.is_empty()).then(|| Query::all_of(std::mem::take(row)))
}

/// Not not is nothing.
fn negate(query: Query) -> Query {
    match query {
        Query::Not(inner) => *inner,
        other => Query::Not(Box::new(other)),
    }
}

/// In a phrase only a star at the end of a word means something.
fn phrase_word(written: &str) -> Option<Word> {
    let (text, form) = match written.strip_suffix('*') {
        Some(text) => (text, Form::Prefix),
        None => (written, Form::Exact),
    };
    has_letters(text).then(|| Word::of(text, form))
}

fn word(written: &str) -> Option<Word> {
    if !has_letters(written) {
        return None;
    }
    if let Some(text) = written.strip_prefix('=') {
        return Some(Word::of(text, Form::Exact));
    }
    if let Some((text, letters)) = written.rsplit_once('~')
        && let Some(letters) = if letters.is_empty() { Some(1) } else { letters.parse().ok() }
        && has_letters(text)
    {
        return Some(Word::of(text, Form::Fuzzy(1.max(letters).min(2))));
    }
    Some(open_word(written, true))
}

/// A word with stars; a question mark at its end is a question's unless stars are there.
pub(super) fn open_word(written: &str, is_questions: bool) -> Word {
    let bare = written.trim_matches('*');
    let inner = bare.trim_end_matches('?');
    if bare.contains('*') || (is_questions && inner.contains('?')) {
        return Word::of(written, Form::Pattern);
    }
    let form = match (written.starts_with('*'), written.ends_with('*')) {
        (false, false) => Form::Any,
        (false, true) => Form::Prefix,
        (true, false) => Form::Suffix,
        (true, true) => Form::Infix,
    };
    Word::of(if form == Form::Any { written } else { bare }, form)
}

pub(super) fn has_letters(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric)
}
