//! The units of a script: quoted literals, words, and single marks.
//!
//! Invariants: 1. units come in order and lie apart; only white space lies between them.
//! 2. reading a line is linear, whatever stands in it.

use std::ops::Range;

/// What a unit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnitKind {
    /// From quote to quote; the quote that it uses.
    Literal(u8),
    Word,
    Mark,
}

/// One unit and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    pub(crate) kind: UnitKind,
    pub(crate) range: Range<usize>,
}

/// Whether a byte is part of a word. All that is not ASCII counts as letters.
pub(crate) fn is_word(byte: u8) -> bool {
    WORD[usize::from(byte)]
}

/// Asked for every byte of a page.
const WORD: [bool; 256] = {
    let mut word = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let ascii = byte as u8;
        word[byte] = ascii.is_ascii_alphanumeric() || matches!(ascii, b'_' | b'-' | 0x80..);
        byte += 1;
    }
    word
};

/// The units of one line.
pub(crate) fn units(line: &[u8]) -> Units<'_> {
    Units { line, at: 0, has_no_end: [false; 2] }
}

/// See [`units`].
pub(crate) struct Units<'a> {
    line: &'a [u8],
    at: usize,
    /// For `"` and `'`: a literal was found to have no end. Whoever comes later on the
    /// line stands behind an escaped quote, reads the same escapes, and has none either.
    has_no_end: [bool; 2],
}

impl Iterator for Units<'_> {
    type Item = Unit;

    fn next(&mut self) -> Option<Unit> {
        let space = self.line[self.at..].iter().position(|byte| !byte.is_ascii_whitespace())?;
        let start = self.at + space;
        let first = self.line[start];
        let (kind, length) = if is_word(first) {
            let rest = &self.line[start..];
            let length = rest.iter().position(|&byte| !is_word(byte)).unwrap_or(rest.len());
            (UnitKind::Word, length)
        } else {
            match self.literal_length(first, start) {
                Some(length) => (UnitKind::Literal(first), length),
                None => (UnitKind::Mark, 1),
            }
        };
        self.at = start + length;
        Some(Unit { kind, range: start..self.at })
    }
}

impl Units<'_> {
    fn literal_length(&mut self, quote: u8, start: usize) -> Option<usize> {
        let slot = match quote {
            b'"' => 0,
            b'\'' => 1,
            _ => return None,
        };
        if self.has_no_end[slot] {
            return None;
        }
        let mut at = start + 1;
        while let Some(step) = memchr::memchr2(quote, b'\\', self.line.get(at..)?) {
            at += step;
            if self.line[at] == quote {
                return Some(at + 1 - start);
            }
            at += 2;
            if at > self.line.len() {
                break;
            }
        }
        self.has_no_end[slot] = true;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &[&str]) {
        let found: Vec<_> = units(line.as_bytes()).map(|unit| &line[unit.range]).collect();
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    fn a_line_falls_into_literals_words_and_marks() {
        check("var t = 'a b';", &["var", "t", "=", "'a b'", ";"]);
        check(
            r#"{"a":"x\"y",b:-12.5}"#,
            &["{", "\"a\"", ":", r#""x\"y""#, ",", "b", ":", "-12", ".", "5", "}"],
        );
        check("", &[]);
        check("  ", &[]);
    }

    #[test]
    fn a_quote_without_an_end_is_a_mark() {
        check("don't x", &["don", "'", "t", "x"]);
        check(r#"a "b\"#, &["a", "\"", "b", "\\"]);
        check(r#""\"\"'x'"#, &["\"", "\\", "\"", "\\", "\"", "'x'"]);
    }

    #[test]
    fn a_line_of_escaped_quotes_is_read_once() {
        let line = "\\\"".repeat(200_000);
        assert_eq!(units(line.as_bytes()).count(), 400_000);
    }
}
