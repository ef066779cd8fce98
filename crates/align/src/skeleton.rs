//! Skeletons: what remains of a chunk when everything that may differ is left out.
//!
//! Two chunks with one skeleton are taken for the same place of two copies. Of a tag stay
//! its name and its attributes' names, and what a field is called if both copies call one
//! so; of a script all but the content of literals that name nothing, since a token may hold
//! any marks; of text stay words, but those with a digit or of more than fifteen characters
//! become one mark, and so does every number.

use hashbrown::HashSet;

use crate::chunk::ChunkKind;
use crate::fields::is_field;
use crate::tag;
use crate::unit::{self, UnitKind};

const WORD_CHARACTERS_MIN: usize = 4;
const WORD_CHARACTERS_MAX: usize = 15;

/// Appends the skeleton of a chunk; `names` are those of fields that both copies have.
pub(crate) fn write(kind: ChunkKind, chunk: &[u8], names: &HashSet<&[u8]>, out: &mut Vec<u8>) {
    out.push(kind as u8);
    match kind {
        ChunkKind::Tag => write_tag(chunk, names, out),
        ChunkKind::Script => write_script(chunk, out),
        ChunkKind::Text | ChunkKind::Comment => mask(chunk, out),
    }
}

fn write_tag(chunk: &[u8], names: &HashSet<&[u8]>, out: &mut Vec<u8>) {
    out.extend_from_slice(&chunk[..2.min(chunk.len())]);
    out.extend_from_slice(tag::name(chunk));
    let is_field = is_field(chunk);
    for attribute in tag::attributes(chunk) {
        out.push(b' ');
        mask(attribute.name, out);
        if is_field && attribute.is("name") && names.contains(attribute.value) {
            out.push(b'=');
            out.extend_from_slice(attribute.value);
        }
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
        let names = HashSet::from([&b"key1"[..]]);
        write(kind, chunk.as_bytes(), &names, &mut found);
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
    fn fields_keep_a_name_that_both_copies_have() {
        let tag = ChunkKind::Tag;
        check(tag, "<input name=key1 value=key1>", "<iinput name=key1 value>");
        check(tag, "<META NAME='key1' content=x>", "<MMETA NAME=key1 content>");
        check(tag, "<input name=key2>", "<iinput name>");
        check(tag, "<a name=key1>", "<aa name>");
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
            write(kind, b"x", &HashSet::new(), &mut out);
            out
        };
        assert_ne!(of(ChunkKind::Text), of(ChunkKind::Script));
    }
}
