//! Newlines: breaks, gaps, and those that a block makes itself.

use crate::bracket::Head;
use crate::escape::stored_break;
use crate::pass::Pass;
use crate::written::AroundBlocks;

impl Pass<'_> {
    /// Takes all newlines that follow each other; tells whether there is one.
    pub(crate) fn newlines(&mut self) -> bool {
        let (count, length) = newlines_of(&self.text[self.at..], self.form.is_escaped());
        if count == 0 {
            return false;
        }
        self.write_run();
        self.rendered.steps += length as u64;
        self.go_on(self.at + length);
        if !self.takes_text {
            return true;
        }
        if self.kept_newlines > 0 {
            self.out.extend(std::iter::repeat_n(b'\n', count));
            return true;
        }
        let around_blocks = self.dialect.around_blocks;
        let left_out = match around_blocks {
            AroundBlocks::Keep => 0,
            AroundBlocks::One => usize::from(self.is_after_block),
            AroundBlocks::All => {
                let beside = self.is_after_block || self.is_before_block();
                if beside { count } else { 0 }
            }
        };
        let count = count - left_out;
        if count == 0 {
            return true;
        }
        self.make_place();
        let gap =
            self.dialect.gap.as_ref().filter(|gap| count > 1 && self.affords(gap.len(), self.at));
        match gap {
            Some(gap) => gap.append_to(self.out),
            None => (0..count).for_each(|_| self.out.extend_from_slice(b"<br>")),
        }
        true
    }

    /// Whether a block's tag begins or ends here.
    fn is_before_block(&mut self) -> bool {
        let text = self.text;
        if text.get(self.at) != Some(&b'[') {
            return false;
        }
        if text.get(self.at + 1) == Some(&b'/') {
            self.rendered.steps += self.closers.pass(self.at);
            return self.closers.here(self.at).is_some_and(|closer| self.tag(closer.tag).is_block);
        }
        let head = &Head::read(&text[self.at..], self.form, &mut self.rendered.steps);
        let tag = head.as_ref().and_then(|head| self.dialect.find(head, self.form));
        tag.is_some_and(|tag| self.tag(tag).is_block)
    }
}

/// How many newlines stand at the beginning, and in how many bytes.
fn newlines_of(text: &[u8], is_escaped: bool) -> (usize, usize) {
    let (mut count, mut at) = (0, 0);
    while let Some(byte) = text.get(at) {
        at += match byte {
            b'\r' if text.get(at + 1) == Some(&b'\n') => 2,
            b'\n' | b'\r' => 1,
            b'<' if is_escaped => match stored_break(&text[at..]) {
                Some(length) => length,
                None => break,
            },
            _ => break,
        };
        count += 1;
    }
    (count, at)
}
