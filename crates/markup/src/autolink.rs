//! Addresses that stand in the text.
//!
//! In: a place at which one may be: behind a scheme, behind `www`, at an `@`. Out: a link,
//! or nothing.
//! Invariant: what was looked at in vain is not looked at again.

use crate::address::{self, ADDRESS_BYTES_MAX, is_host, is_mail_name};
use crate::escape::{escape, unescape};
use crate::pass::Pass;

/// The longest scheme that is looked for in the text.
const SCHEME_BYTES_MAX: usize = 5;
/// The longest name before an `@`.
const MAIL_NAME_BYTES_MAX: usize = 64;
/// What stands in the middle of an address that is shown shortened.
const ELLIPSIS: &str = "…";

impl Pass<'_> {
    /// At a colon behind a scheme, or at the dot behind `www`.
    pub(crate) fn address(&mut self, byte: u8) -> bool {
        let renderer = self.renderer;
        let wanted = renderer.options.links && self.dialect.links_itself;
        if !wanted || self.links > 0 || self.at < self.no_links_before {
            return false;
        }
        let before = &self.text[self.run..self.at];
        let length = match byte {
            b':' if self.text[self.at..].starts_with(b"://") => {
                let before = &before[before.len().saturating_sub(SCHEME_BYTES_MAX)..];
                let letters = before.iter().rev().take_while(|b| b.is_ascii_alphabetic()).count();
                let scheme = &before[before.len() - letters..];
                let is_web = [&b"http"[..], b"https", b"ftp", b"ftps"]
                    .iter()
                    .any(|web| scheme.eq_ignore_ascii_case(web));
                if !is_web {
                    return false;
                }
                letters
            }
            b'.' if before.len() >= 3
                && before[before.len() - 3..].eq_ignore_ascii_case(b"www") =>
            {
                3
            }
            _ => return false,
        };
        let start = self.at - length;
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte >= 0x80;
        if start > 0 && is_word(self.text[start - 1]) {
            return false;
        }
        let end = self.end_of_address(start);
        if !self.link(start, end, |pass, meant, value| pass.dialect.addresses.link(meant, value)) {
            self.no_links_before = end;
            return false;
        }
        true
    }

    /// At an `@`.
    pub(crate) fn mail(&mut self) -> bool {
        let wanted = self.renderer.options.links && self.dialect.links_mail;
        if !wanted || self.links > 0 || self.at < self.no_links_before {
            return false;
        }
        let from =
            self.run.max(self.no_links_before).max(self.at.saturating_sub(MAIL_NAME_BYTES_MAX));
        let name = self.text[from..self.at].iter().rev().take_while(|b| is_mail_name(**b)).count();
        let host = &self.text[self.at + 1..];
        let host = &host[..host.len().min(256)];
        let host = host.iter().take_while(|b| is_host(**b)).count();
        let end = self.at + 1 + host;
        let shown = self.text[..end].trim_ascii_end();
        let dots = shown.iter().rev().take_while(|b| matches!(b, b'.' | b'-')).count();
        self.rendered.steps += (name + host) as u64;
        let at = self.at;
        if !self.link(at - name, end - dots, |_, meant, value| address::mail(meant, value)) {
            self.no_links_before = at + 1;
            return false;
        }
        true
    }

    /// Where an address that begins at `start` ends.
    fn end_of_address(&mut self, start: usize) -> usize {
        let text = &self.text[start..];
        let is_end = |(at, byte): (usize, &u8)| match byte {
            b'"' | b'\'' | b'<' | b'>' | b'[' | b']' | b'\\' | b'`' | b'{' | b'}' | b'|' | b'^' => {
                true
            }
            b'&' if self.form.is_escaped() => {
                let stops = [&b"&quot;"[..], b"&lt;", b"&gt;", b"&#39;", b"&#039;", b"&nbsp;"];
                stops.iter().any(|stop| text[at..].starts_with(stop))
            }
            byte => *byte <= b' ' || *byte == 0x7f,
        };
        let mut end = text.iter().enumerate().position(is_end).unwrap_or(text.len());
        self.rendered.steps += 2 * end as u64;
        let mut too_many = None;
        while let Some(last) = end.checked_sub(1).map(|last| text[last]) {
            match last {
                b'.' | b',' | b':' | b'!' | b'?' | b'*' | b'_' | b'~' => {}
                b';' if !self.form.is_escaped() => {}
                b')' => {
                    let left =
                        too_many.get_or_insert_with(|| closing_more_than_opening(&text[..end]));
                    let Some(fewer) = left.checked_sub(1) else { break };
                    *left = fewer;
                }
                _ => break,
            }
            end -= 1;
        }
        start + end
    }

    /// Makes a link of `start..end`, which may begin in the text that waits.
    fn link(
        &mut self,
        start: usize,
        end: usize,
        read: impl FnOnce(&Self, &[u8], &mut Vec<u8>) -> Option<()>,
    ) -> bool {
        let written = &self.text[start..end];
        if end <= self.at || written.len() > ADDRESS_BYTES_MAX {
            return false;
        }
        let mut meant = std::mem::take(self.meant);
        let mut value = std::mem::take(self.value);
        meant.clear();
        value.clear();
        match self.form.is_escaped() {
            true => unescape(written, &mut meant),
            false => meant.extend_from_slice(written),
        }
        let is_good = read(self, &meant, &mut value).is_some();
        (*self.meant, *self.value) = (meant, value);
        if !is_good {
            return false;
        }
        let at = std::mem::replace(&mut self.at, start);
        self.write_run();
        if !self.write_link(written, end) {
            self.at = at;
            return false;
        }
        self.go_on(end);
        true
    }

    /// Writes a link to `self.value` that shows what was written.
    pub(crate) fn write_link(&mut self, written: &[u8], consumed: usize) -> bool {
        self.make_place();
        let start = self.out.len();
        self.out.extend_from_slice(b"<a href=\"");
        self.out.extend_from_slice(self.value);
        self.out.push(b'"');
        self.dialect.link_attributes.append_to(self.out);
        self.out.push(b'>');
        self.write_shown(written);
        self.out.extend_from_slice(b"</a>");
        if self.affords(0, consumed) {
            return true;
        }
        self.out.truncate(start);
        self.rendered.too_much += 1;
        false
    }

    /// Writes an address as it is shown, shortened in its middle if it is long.
    pub(crate) fn write_shown(&mut self, written: &[u8]) {
        let is_escaped = self.form.is_escaped();
        self.rendered.steps += written.len() as u64;
        let most = self.dialect.shown_max;
        // Entities are many characters; what has them is shown whole.
        if most < 16
            || written.len() <= most
            || (is_escaped && memchr::memchr(b'&', written).is_some())
        {
            escape(written, is_escaped, self.out);
            return;
        }
        let text = std::str::from_utf8(written).unwrap_or_default();
        let tail = text.len().saturating_sub(most / 4);
        let tail = (tail..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
        let head = most - most / 4 - 1;
        let head = (0..=head).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        escape(&written[..head], is_escaped, self.out);
        self.out.extend_from_slice(ELLIPSIS.as_bytes());
        escape(&written[tail..], is_escaped, self.out);
    }
}

/// How many brackets are closed that weren't opened.
fn closing_more_than_opening(text: &[u8]) -> usize {
    let count = |byte: u8| memchr::memchr_iter(byte, text).count();
    count(b')').saturating_sub(count(b'('))
}
