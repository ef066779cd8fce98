//! Marked blocks of a page filled while it comes: each `<!--wick NONCE NAME-->text<!--/wick NONCE-->`
//! becomes what a function makes of its text.
//!
//! In: a page's bytes, cut anywhere, and the nonce that the page was announced with. Out: the
//! same bytes with the blocks filled. The text of a block is escaped as PHP's
//! `htmlspecialchars` does it, so a page that nobody fills is still safe to show; what is filled
//! in is unescaped first.
//! Bounds: a marker's beginning waits for its end; a block's text up to [`TEXT_BYTES_MAX`],
//! and a longer one goes out as it came.
//! Invariant: nothing is a marker that doesn't bear the nonce, which nobody could guess who
//! wrote a part of the page.

use bytes::Bytes;

/// The longest text of a block, escaped.
const TEXT_BYTES_MAX: usize = 4 << 20;
/// The longest name of a block's kind.
const NAME_BYTES_MAX: usize = 64;
/// The longest nonce, and the shortest that can't be guessed.
const NONCE_BYTES: std::ops::RangeInclusive<usize> = 16..=64;

const OPEN: &[u8] = b"<!--wick ";
const CLOSE: &[u8] = b"<!--/wick ";
const END: &[u8] = b"-->";

/// Fills the blocks of one page.
#[derive(Debug)]
pub struct Blocks {
    /// What a block begins with, up to its name, and what it ends with.
    head: Box<[u8]>,
    tail: Box<[u8]>,
    /// What came and can't go on yet.
    held: Vec<u8>,
    /// How much of `held` was looked through in vain.
    searched: usize,
}

/// What the bytes that are held begin with.
enum Found {
    /// So many bytes that may go on.
    Plain(usize),
    /// A block: its name, its text, and where it ends.
    Block { name: (usize, usize), text: (usize, usize), end: usize },
    /// More has to come.
    Undecided,
}

impl Blocks {
    /// For a page that was announced with this nonce; none if it is no nonce.
    #[must_use]
    pub fn new(nonce: &[u8]) -> Option<Self> {
        let is_nonce = NONCE_BYTES.contains(&nonce.len())
            && nonce.iter().all(|&byte| byte.is_ascii_alphanumeric());
        is_nonce.then(|| Self {
            head: [OPEN, nonce, b" "].concat().into(),
            tail: [CLOSE, nonce, END].concat().into(),
            held: Vec::new(),
            searched: 0,
        })
    }

    /// Takes a piece of the page and hands what may go on to `out`, in order. `fill` is given a
    /// block's name and its text, and appends what takes its place; false leaves the block as it
    /// came.
    pub fn write(
        &mut self,
        piece: &Bytes,
        fill: impl FnMut(&str, &[u8], &mut Vec<u8>) -> bool,
        mut out: impl FnMut(Bytes),
    ) {
        if self.held.is_empty() && memchr::memchr(b'<', piece).is_none() {
            out(piece.clone());
            return;
        }
        self.held.extend_from_slice(piece);
        self.go_through(fill, out);
    }

    /// The page is whole: hands out what was still waited with.
    pub fn finish(&mut self, mut out: impl FnMut(Bytes)) {
        if !self.held.is_empty() {
            out(std::mem::take(&mut self.held).into());
        }
    }

    fn go_through(
        &mut self,
        mut fill: impl FnMut(&str, &[u8], &mut Vec<u8>) -> bool,
        mut out: impl FnMut(Bytes),
    ) {
        let held = std::mem::take(&mut self.held);
        let (mut ready, mut at) = (Vec::with_capacity(held.len()), 0);
        loop {
            match self.look(&held[at..]) {
                Found::Plain(0) => break,
                Found::Plain(bytes) => {
                    ready.extend_from_slice(&held[at..at + bytes]);
                    at += bytes;
                }
                Found::Block { name, text, end } => {
                    let block = &held[at..at + end];
                    let name = std::str::from_utf8(&block[name.0..name.1]).unwrap_or_default();
                    let before = ready.len();
                    if !fill(name, &unescaped(&block[text.0..text.1]), &mut ready) {
                        ready.truncate(before);
                        ready.extend_from_slice(block);
                    }
                    at += end;
                    self.searched = 0;
                }
                Found::Undecided => break,
            }
        }
        self.held = held[at..].to_vec();
        if !ready.is_empty() {
            out(ready.into());
        }
    }

    /// What is at the beginning of these bytes.
    fn look(&mut self, bytes: &[u8]) -> Found {
        let Some(start) = memchr::memchr(b'<', bytes) else { return Found::Plain(bytes.len()) };
        if start > 0 {
            return Found::Plain(start);
        }
        let head = &self.head;
        let known = bytes.len().min(head.len());
        if bytes[..known] != head[..known] {
            return Found::Plain(1);
        }
        if known < head.len() {
            return Found::Undecided;
        }
        let rest = &bytes[head.len()..];
        let name_end = rest.iter().position(|&byte| !byte.is_ascii_alphanumeric() && byte != b'_');
        let name_end = match name_end {
            Some(end) if end <= NAME_BYTES_MAX => end,
            None if rest.len() <= NAME_BYTES_MAX => return Found::Undecided,
            _ => return Found::Plain(1),
        };
        let behind = &rest[name_end..];
        let known = behind.len().min(END.len());
        if behind[..known] != END[..known] {
            return Found::Plain(1);
        }
        if known < END.len() {
            return Found::Undecided;
        }
        let text = head.len() + name_end + END.len();
        // Escaped text has no `<`: the next one ends it, or is no text of ours.
        let from = self.searched.max(text);
        let Some(end) = memchr::memchr(b'<', &bytes[from..]) else {
            if bytes.len() - text > TEXT_BYTES_MAX {
                self.searched = 0;
                return Found::Plain(1);
            }
            self.searched = bytes.len();
            return Found::Undecided;
        };
        let (end, tail) = (from + end, &self.tail);
        if end - text > TEXT_BYTES_MAX {
            self.searched = 0;
            return Found::Plain(1);
        }
        let known = (bytes.len() - end).min(tail.len());
        if bytes[end..end + known] != tail[..known] {
            self.searched = 0;
            return Found::Plain(1);
        }
        if known < tail.len() {
            self.searched = end;
            return Found::Undecided;
        }
        let name = (head.len(), head.len() + name_end);
        Found::Block { name, text: (text, end), end: end + tail.len() }
    }
}

/// The text that `htmlspecialchars` was given; other references stand for themselves.
fn unescaped(text: &[u8]) -> Vec<u8> {
    const REFERENCES: [(&[u8], u8); 7] = [
        (b"&amp;", b'&'),
        (b"&lt;", b'<'),
        (b"&gt;", b'>'),
        (b"&quot;", b'"'),
        (b"&#039;", b'\''),
        (b"&#39;", b'\''),
        (b"&apos;", b'\''),
    ];
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'&', rest) {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        let known = REFERENCES.iter().find(|(reference, _)| rest.starts_with(reference));
        let (length, byte) = known.map_or((1, b'&'), |(reference, byte)| (reference.len(), *byte));
        out.push(byte);
        rest = &rest[length..];
    }
    out.extend_from_slice(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONCE: &str = "0123456789abcdef";

    /// The page with `[name:text]` for each block, cut into pieces of this many bytes; blocks
    /// called `left` are left.
    fn filled(page: &str, piece_bytes: usize) -> String {
        let mut blocks = Blocks::new(NONCE.as_bytes()).expect("a nonce");
        let mut out = Vec::new();
        let fill = |name: &str, text: &[u8], out: &mut Vec<u8>| {
            out.extend_from_slice(format!("[{name}:{}]", text.escape_ascii()).as_bytes());
            name != "left"
        };
        for piece in page.as_bytes().chunks(piece_bytes) {
            let piece = Bytes::copy_from_slice(piece);
            blocks.write(&piece, fill, |bytes| out.extend_from_slice(&bytes));
        }
        blocks.finish(|bytes| out.extend_from_slice(&bytes));
        String::from_utf8(out).expect("nothing is cut")
    }

    #[test]
    fn blocks_are_filled_however_the_page_comes_and_nothing_else_changes() {
        let block = |name: &str, text: &str| {
            format!("<!--wick {NONCE} {name}-->{text}<!--/wick {NONCE}-->")
        };
        for (page, expected) in [
            ("<p>a page</p>".to_owned(), "<p>a page</p>".to_owned()),
            (format!("<p>{}</p>", block("a", "b")), "<p>[a:b]</p>".to_owned()),
            (block("a", "1") + &block("b", "2"), "[a:1][b:2]".to_owned()),
            (block("a", ""), "[a:]".to_owned()),
            (
                block("a", "&lt;b&gt; &amp;lt; &quot;&#039;&nbsp;"),
                "[a:<b> &lt; \\\"\\'&nbsp;]".to_owned(),
            ),
            (block("left", "x"), block("left", "x")),
            // Not ours.
            (
                block("a", "b").replace(NONCE, "0123456789abcdee"),
                block("a", "b").replace(NONCE, "0123456789abcdee"),
            ),
            (block("a", "<b>"), block("a", "<b>")),
            (
                format!("<!--wick {NONCE} a-->{}", block("b", "c")),
                format!("<!--wick {NONCE} a-->[b:c]"),
            ),
            (format!("<!--wick {NONCE} a-->cut"), format!("<!--wick {NONCE} a-->cut")),
            (format!("<!--wick {NONCE} a b-->"), format!("<!--wick {NONCE} a b-->")),
            (format!("<<!--wick {NONCE}<"), format!("<<!--wick {NONCE}<")),
        ] {
            for piece_bytes in 1..=page.len() {
                assert_eq!(filled(&page, piece_bytes), expected, "in pieces of {piece_bytes}");
            }
        }
    }

    #[test]
    fn a_nonce_that_could_be_guessed_is_none() {
        for (nonce, expected) in
            [(NONCE, true), ("0123456789abcde", false), ("0123456789abcde>", false), ("", false)]
        {
            assert_eq!(Blocks::new(nonce.as_bytes()).is_some(), expected, "{nonce}");
        }
        assert!(Blocks::new(&[b'a'; 65]).is_none());
    }

    #[test]
    fn a_block_that_is_too_long_goes_out_as_it_came() {
        let page = format!("<!--wick {NONCE} a-->{}", "x".repeat(TEXT_BYTES_MAX + 1));
        let page = format!("{page}<!--/wick {NONCE}--><!--wick {NONCE} b-->c<!--/wick {NONCE}-->");
        let expected =
            page.replace(&format!("<!--wick {NONCE} b-->c<!--/wick {NONCE}-->"), "[b:c]");
        assert!(filled(&page, 1 << 20) == expected, "the long one is left, the short one filled");
    }
}
