//! Skeletons: what remains of a chunk when everything that may differ is left out.
//!
//! Two chunks with one skeleton are taken for the same place of two copies. Of a tag stay
//! its name and its attributes' names; of a script all but the content of literals that
//! name nothing, since a token may hold any marks; of text stay words, but those with a
//! digit or of more than fifteen characters become one mark, and so does every number.

use crate::chunk::ChunkKind;
use crate::tag;
use crate::unit::{self, UnitKind};

const WORD_CHARACTERS_MIN: usize = 4;
const WORD_CHARACTERS_MAX: usize = 15;

/// Appends the skeleton of a chunk.
pub(crate) fn write(kind: ChunkKind, chunk: &[u8], out: &mut Vec<u8>) {
    out.push(kind as u8);
    match kind {
        ChunkKind::Tag => write_tag(chunk, out),
        ChunkKind::Script => write_script(chunk, out),
        ChunkKind::Text | ChunkKind::Comment => mask(chunk, out),
    }
}

fn write_tag(chunk: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&chunk[..2.min(chunk.len())]);
    out.extend_from_slice(tag::name(chunk));
    for attribute in tag::attributes(chunk) {
        out.push(b' ');
        mask(attribute.name, out);
    }
    out.push(b'>');
    mask(chunk[tag::length(chunk)..].trim_ascii(), out);
}

fn write_script(chunk: &[u8], out: &mut Vec<u8>) {
    let mut units = unit::units(chunk).peekable();
    while let Some(unit) = units.next() {
        let next = units.peek().map(|next| chunk[next.range.start]);
        match unit.kind {
            UnitKind::Literal(quote) if next != Some(b':') => out.extend([quote, quote]),
            UnitKind::Literal(_) | UnitKind::Word => mask(&chunk[unit.range], out),
            UnitKind::Mark => out.push(chunk[unit.range.start]),
        }
    }
}

fn mask(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(&first) = rest.first() {
        if !unit::is_word(first) {
            out.push(first);
            rest = &rest[1..];
            continue;
        }
        let (mut length, mut digits, mut characters) = (0, 0, 0);
        for &byte in rest.iter().take_while(|&&byte| unit::is_word(byte)) {
            length += 1;
            digits += usize::from(byte.is_ascii_digit());
            characters += usize::from(byte & 0xc0 != 0x80);
        }
        let (word, behind) = rest.split_at(length);
        if digits == 0 && characters <= WORD_CHARACTERS_MAX {
            out.extend_from_slice(word);
        } else if digits == length || characters < WORD_CHARACTERS_MIN {
            mask_digits(word, out);
        } else {
            out.push(b'#');
        }
        rest = behind;
    }
}

fn mask_digits(word: &[u8], out: &mut Vec<u8>) {
    for run in word.chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit()) {
        out.extend_from_slice(if run[0].is_ascii_digit() { b"0" } else { run });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: ChunkKind, chunk: &str, expected: &str) {
        let mut found = Vec::new();
        write(kind, chunk.as_bytes(), &mut found);
        assert_eq!(String::from_utf8_lossy(&found[1..]), expected, "{chunk}");
    }

    #[test]
    fn tags_keep_their_names_and_texts_their_words() {
        let tag = ChunkKind::Tag;
        check(tag, "<a href='x' class=y>12 views, 1.5", "<aa href class>0 views, 0.0");
        check(tag, "</a>", "</a>");
        check(tag, "<input name=\"a1\" data-v-7f3a9c>", "<iinput name #>");
        check(tag, "<h1>It's 2024", "<hh1>It's 0");
    }

    #[test]
    fn tokens_and_numbers_become_marks() {
        let text = ChunkKind::Text;
        check(text, "abc1 ab1 abcdefghijklmnop word 17", "# ab0 # word 0");
        check(ChunkKind::Script, "var k = 'a b';", "vark='';");
        check(ChunkKind::Script, r#"{"key":"a/b","n1":12}"#, r#"{"key":"","n0":0}"#);
        check(text, "글자글자글자글자글자 가나", "글자글자글자글자글자 가나");
    }

    #[test]
    fn kinds_are_never_the_same() {
        let of = |kind| {
            let mut out = Vec::new();
            write(kind, b"x", &mut out);
            out
        };
        assert_ne!(of(ChunkKind::Text), of(ChunkKind::Script));
    }
}
