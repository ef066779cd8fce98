//! Chunks: a page cut into one tag with the text after it, or one line.
//!
//! In: the text of a page. Out: chunks by their offsets, in order, without white space at
//! their ends, so that indentation and empty lines are no difference.
//! Scripts are cut at line ends, in front of `{` and behind `;`, so that a page whose data
//! comes as one line of JSON still falls into objects that can be told apart. Elements
//! whose content is text by the HTML standard (§13.1.2) are not searched for tags.
//! Invariants: 1. chunks lie apart, and between them is only white space. 2. only what a
//! browser takes for a comment is marked as one, because comments are never compared.

use memchr::{memchr, memchr2, memmem};

use crate::document::Kind;
use crate::{tag, unit};

/// A page of more chunks than this is not compared.
pub(crate) const CHUNKS_MAX: usize = 1 << 18;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ChunkKind {
    /// A tag and the text behind it.
    Tag,
    /// A line of text, or a part of one.
    Text,
    /// A piece of program or data.
    Script,
    Comment,
}

/// Where a chunk stands in its document's text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk {
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) kind: ChunkKind,
}

/// Elements whose content holds no tags and no comments.
const TEXT_ELEMENTS: &[&str] =
    &["script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"];

/// Cuts the text; `None` if it has more chunks than [`CHUNKS_MAX`]. The first
/// `markup_bytes` are markup whatever the kind.
pub(crate) fn cut(text: &[u8], kind: Kind, markup_bytes: usize) -> Option<Vec<Chunk>> {
    let mut cutter = Cutter { text, chunks: Vec::with_capacity(text.len() / 48) };
    cutter.markup(0, markup_bytes);
    match kind {
        Kind::Html => cutter.markup(markup_bytes, text.len()),
        Kind::Xml => cutter.xml(markup_bytes, text.len()),
        Kind::Script => cutter.script(markup_bytes, text.len()),
        Kind::Text => cutter.lines(markup_bytes, text.len()),
    }
    (cutter.chunks.len() <= CHUNKS_MAX).then_some(cutter.chunks)
}

struct Cutter<'a> {
    text: &'a [u8],
    chunks: Vec<Chunk>,
}

impl Cutter<'_> {
    fn push(&mut self, start: usize, end: usize, kind: ChunkKind) {
        let raw = &self.text[start..end];
        let trimmed = raw.trim_ascii_start();
        let start = start + raw.len() - trimmed.len();
        let end = start + trimmed.trim_ascii_end().len();
        // One more than the limit is enough to know that it is passed.
        if start < end && self.chunks.len() <= CHUNKS_MAX {
            self.chunks.push(Chunk { start: start as u32, end: end as u32, kind });
        }
    }

    fn markup(&mut self, mut at: usize, end: usize) {
        while at < end && self.chunks.len() <= CHUNKS_MAX {
            let rest = &self.text[at..end];
            if let Some(length) = comment_length(rest) {
                self.push(at, at + length, ChunkKind::Comment);
                at += length;
            } else if is_tag(rest) {
                at = self.tag(at, end);
            } else {
                let length = text_length(rest);
                self.push(at, at + length, ChunkKind::Text);
                at += length;
            }
        }
    }

    /// Markup in which every element may hold elements, and a section may hold text alone (XML
    /// §2.7): to HTML that would be a comment, which nobody compares.
    fn xml(&mut self, mut at: usize, end: usize) {
        while at < end && self.chunks.len() <= CHUNKS_MAX {
            let rest = &self.text[at..end];
            if rest.starts_with(b"<!--") {
                let length = up_to(rest, b"-->");
                self.push(at, at + length, ChunkKind::Comment);
                at += length;
            } else if rest.starts_with(b"<![CDATA[") {
                let length = up_to(rest, b"]]>");
                self.lines(at, at + length);
                at += length;
            } else if is_tag(rest) {
                let length = tag::length(rest);
                let length = length + text_length_behind(&rest[length..]);
                self.push(at, at + length, ChunkKind::Tag);
                at += length;
            } else {
                let length = text_length(rest);
                self.push(at, at + length, ChunkKind::Text);
                at += length;
            }
        }
    }

    /// A tag with the text behind it, or a whole element whose content is text.
    fn tag(&mut self, at: usize, end: usize) -> usize {
        let rest = &self.text[at..end];
        let length = tag::length(rest);
        let name = tag::name(rest);
        let is = |known: &&&str| name.eq_ignore_ascii_case(known.as_bytes());
        let element = TEXT_ELEMENTS.iter().find(is).filter(|_| rest.get(1) != Some(&b'/'));
        let Some(element) = element else {
            let length = length + text_length_behind(&rest[length..]);
            self.push(at, at + length, ChunkKind::Tag);
            return at + length;
        };
        self.push(at, at + length, ChunkKind::Tag);
        let content = at + length;
        let content_end = content + content_length(&self.text[content..end], element);
        if *element == "script" {
            self.script(content, content_end);
        } else {
            self.lines(content, content_end);
        }
        content_end
    }

    fn lines(&mut self, mut at: usize, end: usize) {
        while at < end {
            let length = memchr(b'\n', &self.text[at..end]).map_or(end - at, |length| length + 1);
            self.push(at, at + length, ChunkKind::Text);
            at += length;
        }
    }

    fn script(&mut self, mut at: usize, end: usize) {
        while at < end && self.chunks.len() <= CHUNKS_MAX {
            let length = memchr(b'\n', &self.text[at..end]).map_or(end - at, |length| length + 1);
            let line = &self.text[at..at + length];
            let mut start = 0;
            for unit in unit::units(line).filter(|unit| unit.kind == unit::UnitKind::Mark) {
                let border = match line[unit.range.start] {
                    b'{' => unit.range.start,
                    b';' => unit.range.end,
                    _ => continue,
                };
                self.push(at + start, at + border, ChunkKind::Script);
                start = border;
            }
            self.push(at + start, at + length, ChunkKind::Script);
            at += length;
        }
    }
}

/// Whether a tag begins here; a lone `<` is text.
fn is_tag(text: &[u8]) -> bool {
    matches!(text, [b'<', b'a'..=b'z' | b'A'..=b'Z' | b'/' | b'!', ..])
}

/// The length of the comment that begins here, by the standard's rules for its end.
fn comment_length(text: &[u8]) -> Option<usize> {
    const OPENING: usize = 4;
    let content = text.strip_prefix(b"<!--")?;
    if content.starts_with(b">") {
        return Some(OPENING + 1);
    }
    if content.starts_with(b"->") {
        return Some(OPENING + 2);
    }
    // One search for both endings: a search for each would read to the end of the page for
    // every comment that has the other.
    let mut at = 0;
    while let Some(step) = memmem::find(&content[at..], b"--") {
        at += step + 2;
        match &content[at..] {
            [b'>', ..] => return Some(OPENING + at + 1),
            [b'!', b'>', ..] => return Some(OPENING + at + 2),
            // `--->` ends a comment as well.
            _ => at -= 1,
        }
    }
    Some(text.len())
}

/// The length up to this ending and with it, or of all.
fn up_to(text: &[u8], ending: &[u8]) -> usize {
    memmem::find(text, ending).map_or(text.len(), |at| at + ending.len())
}

/// The length of the text up to a line's end or the next tag; at least one byte.
fn text_length(text: &[u8]) -> usize {
    1 + text_length_behind(&text[1..])
}

fn text_length_behind(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(step) = memchr2(b'<', b'\n', &text[at..]) {
        at += step;
        if text[at] == b'\n' || is_tag(&text[at..]) {
            return at;
        }
        at += 1;
    }
    text.len()
}

/// The length of an element's content, up to its end tag.
fn content_length(text: &[u8], element: &str) -> usize {
    let mut at = 0;
    while let Some(step) = memchr(b'<', &text[at..]) {
        at += step;
        let name = text.get(at + 2..at + 2 + element.len());
        let behind = text.get(at + 2 + element.len());
        if text.get(at + 1) == Some(&b'/')
            && name.is_some_and(|name| name.eq_ignore_ascii_case(element.as_bytes()))
            && behind.is_none_or(|byte| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>'))
        {
            return at;
        }
        at += 1;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each chunk as a letter for its kind and its text.
    fn check(kind: Kind, text: &str, expected: &[&str]) {
        let chunks = cut(text.as_bytes(), kind, 0).expect("the page is short");
        let found: Vec<_> = chunks
            .iter()
            .map(|chunk| {
                let letter = match chunk.kind {
                    ChunkKind::Tag => 'g',
                    ChunkKind::Text => 't',
                    ChunkKind::Script => 's',
                    ChunkKind::Comment => 'c',
                };
                format!("{letter} {}", &text[chunk.start as usize..chunk.end as usize])
            })
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn a_tag_keeps_the_text_behind_it_and_lines_stand_alone() {
        check(
            Kind::Html,
            "<p>One <b>two</b>\n  three\n\n</p>",
            &["g <p>One", "g <b>two", "g </b>", "t three", "g </p>"],
        );
        check(Kind::Html, "a < b <3 <i>c", &["t a < b <3", "g <i>c"]);
    }

    #[test]
    fn scripts_fall_into_lines_objects_and_statements() {
        check(
            Kind::Html,
            "<script>\nvar a='{;';b();\n</SCRIPT >x",
            &["g <script>", "s var a='{;';", "s b();", "g </SCRIPT >x"],
        );
        check(Kind::Script, r#"[{"a":1},{"a":2}]"#, &["s [", r#"s {"a":1},"#, r#"s {"a":2}]"#]);
    }

    #[test]
    fn comments_end_where_a_browser_ends_them() {
        check(Kind::Html, "<!-- a <b> -->x", &["c <!-- a <b> -->", "t x"]);
        check(Kind::Html, "<!-->x<!--->y", &["c <!-->", "t x", "c <!--->", "t y"]);
        check(Kind::Html, "<!-- a --!>x-->", &["c <!-- a --!>", "t x-->"]);
        check(Kind::Html, "<!-- a", &["c <!-- a"]);
        check(Kind::Html, "<!DOCTYPE html>", &["g <!DOCTYPE html>"]);
    }

    #[test]
    fn elements_of_text_hold_neither_tags_nor_comments() {
        check(Kind::Html, "<title><!-- a</title>b", &["g <title>", "t <!-- a", "g </title>b"]);
        check(
            Kind::Html,
            "<textarea>a\n<b>\n</textarea>",
            &["g <textarea>", "t a", "t <b>", "g </textarea>"],
        );
        check(Kind::Html, "<style>a</styles>", &["g <style>", "t a</styles>"]);
    }

    #[test]
    fn sections_of_xml_hold_text_and_no_element_does() {
        check(
            Kind::Xml,
            "<title><![CDATA[a <b>\nc --> d]]></title>e",
            &["g <title>", "t <![CDATA[a <b>", "t c --> d]]>", "g </title>e"],
        );
        check(
            Kind::Xml,
            "<title><i>a</i></title>",
            &["g <title>", "g <i>a", "g </i>", "g </title>"],
        );
        check(Kind::Xml, "<!-- a -- b --!> -->c", &["c <!-- a -- b --!> -->", "t c"]);
        check(Kind::Xml, "<!-- a", &["c <!-- a"]);
        check(Kind::Xml, "a<![CDATA[ b", &["t a", "t <![CDATA[ b"]);
    }

    #[test]
    fn plain_text_falls_into_lines() {
        check(Kind::Text, "a <b>\n\nc", &["t a <b>", "t c"]);
    }

    #[test]
    fn too_many_chunks_are_refused() {
        let lines = "x\n".repeat(CHUNKS_MAX);
        assert!(cut(lines.as_bytes(), Kind::Text, 0).is_some());
        assert!(cut((lines + "y").as_bytes(), Kind::Text, 0).is_none());
    }
}
