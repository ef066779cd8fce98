//! What phpBB 3 put into a text when it was stored: smilies and links, as HTML between
//! comments that say what they are.
//!
//! The HTML is not believed: of a smiley only its code is read, of a link only its address
//! and its text, and both are judged as if they had been typed.

use crate::address;
use crate::escape::{escape, unescape};
use crate::pass::Pass;

const COMMENT: &[u8] = b"<!-- ";
const COMMENT_END: &[u8] = b" -->";
/// The longest comment that is read.
const COMMENT_BYTES_MAX: usize = 64;

impl Pass<'_> {
    /// At a `<` of a stored text.
    pub(crate) fn stored_mark(&mut self) -> bool {
        let text = &self.text[self.at..];
        let Some((mark, end)) = comment(text) else { return false };
        let Some(body) = text.get(end..) else { return false };
        self.rendered.steps += end as u64;
        match mark {
            [b's', code @ ..] => self.stored_smiley(code, mark, body, end),
            b"m" | b"w" | b"l" | b"e" => self.stored_link(mark, body, end),
            // Around a file's name, which stays.
            [b'i', b'a', number @ ..] if number.iter().all(u8::is_ascii_digit) => {
                self.write_run();
                self.go_on(self.at + end);
                true
            }
            _ => false,
        }
    }

    fn stored_smiley(&mut self, code: &[u8], mark: &[u8], body: &[u8], start: usize) -> bool {
        let Some((_, after)) = tag(body, b"<img ") else { return false };
        self.rendered.steps += after as u64;
        let Some(length) = ends(&body[after..], mark) else { return false };
        let end = self.at + start + after + length;
        self.write_run();
        self.make_place();
        let smiley = self.renderer.smilies().named(code).filter(|_| self.renderer.options.smilies);
        match smiley {
            Some(smiley) if self.affords(smiley.html.len(), end) => {
                smiley.html.append_to(self.out);
            }
            _ => escape(code, true, self.out),
        }
        self.go_on(end);
        true
    }

    fn stored_link(&mut self, mark: &[u8], body: &[u8], start: usize) -> bool {
        let Some((attributes, after)) = tag(body, b"<a ") else { return false };
        let Some(href) = memchr::memmem::find(attributes, b"href=\"") else { return false };
        let href = &attributes[href + 6..];
        let Some(quote) = memchr::memchr(b'"', href) else { return false };
        let Some(length) = memchr::memchr(b'<', &body[after..]) else { return false };
        let shown = &body[after..after + length];
        self.rendered.steps += (2 * after + length) as u64;
        let rest = &body[after + length..];
        let Some(rest) = rest.strip_prefix(b"</a>") else { return false };
        let Some(closing) = ends(rest, mark) else { return false };
        let end = self.at + start + after + length + 4 + closing;
        self.write_run();
        self.meant.clear();
        self.value.clear();
        unescape(&href[..quote], self.meant);
        let judged = match mark {
            b"e" => {
                address::mail(self.meant.strip_prefix(b"mailto:").unwrap_or(self.meant), self.value)
            }
            _ => self.dialect.addresses.link(self.meant, self.value),
        };
        if self.links > 0 || judged.is_none() || !self.write_link(shown, end) {
            self.make_place();
            escape(shown, true, self.out);
        }
        self.go_on(end);
        true
    }
}

/// What stands in a comment at the beginning, and the comment's length.
fn comment(text: &[u8]) -> Option<(&[u8], usize)> {
    let body = text.strip_prefix(COMMENT)?;
    let body = &body[..body.len().min(COMMENT_BYTES_MAX)];
    let length = memchr::memmem::find(body, COMMENT_END)?;
    Some((&body[..length], COMMENT.len() + length + COMMENT_END.len()))
}

/// The attributes of a tag at the beginning, and the tag's length.
fn tag<'t>(text: &'t [u8], name: &[u8]) -> Option<(&'t [u8], usize)> {
    let rest = text.strip_prefix(name)?;
    let end = memchr::memchr2(b'<', b'>', rest).filter(|end| rest[*end] == b'>')?;
    Some((&rest[..end], name.len() + end + 1))
}

/// The length of the comment that ends what `mark` began.
fn ends(text: &[u8], mark: &[u8]) -> Option<usize> {
    comment(text).filter(|(found, _)| *found == mark).map(|(_, length)| length)
}
