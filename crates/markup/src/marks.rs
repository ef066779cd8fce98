//! Marks: where a text has bytes that may mean something, a bit a byte.
//!
//! In: a text, and which bytes are wanted. Out: the place of the next one, wherever one asks
//! from. Most of a post means nothing, so what does is found for all of it at once, many
//! bytes at a time, before the pass begins.
//! Invariant: no wanted byte is left out. Others may be marked: who asks looks again.

/// How many bytes are looked at together.
const BLOCK: usize = 64;
/// What follows a text's end in its last block: it means nothing anywhere.
const FILLING: u8 = b' ';

/// Which bytes are wanted, beside those that [`is_usual`] finds.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    unusual: Vec<u8>,
}

impl Wanted {
    /// All bytes of which `is_wanted` is true; the dot behind `www` always is.
    pub(crate) fn new(is_wanted: impl Fn(u8) -> bool) -> Self {
        let unusual = (0..=u8::MAX).filter(|byte| is_wanted(*byte) && !is_usual(*byte, 0));
        Self { unusual: unusual.collect() }
    }
}

/// The marks of one text, in memory that is used again for the next.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    blocks: Vec<u64>,
}

impl Marks {
    /// Marks the wanted bytes of `text`.
    pub(crate) fn read(&mut self, text: &[u8], wanted: &Wanted) {
        self.blocks.clear();
        self.blocks.reserve(text.len() / BLOCK + 1);
        // The last block is filled up, and the first has nothing before it.
        let mut edge = [FILLING; 1 + BLOCK];
        let first = text.len().min(BLOCK);
        edge[1..=first].copy_from_slice(&text[..first]);
        self.blocks.push(marks_of(&edge, wanted));
        let mut at = BLOCK;
        while let Some(block) = text.get(at - 1..).and_then(|rest| rest.first_chunk()) {
            self.blocks.push(marks_of(block, wanted));
            at += BLOCK;
        }
        if let Some(rest) = text.get(at - 1..) {
            edge = [FILLING; 1 + BLOCK];
            edge[..rest.len()].copy_from_slice(rest);
            self.blocks.push(marks_of(&edge, wanted));
        }
    }

    /// The first marked byte at `from` or behind it.
    #[inline]
    pub(crate) fn next(&self, from: usize) -> Option<usize> {
        let mut at = from / BLOCK;
        let mut marks = self.blocks.get(at)? >> (from % BLOCK) << (from % BLOCK);
        while marks == 0 {
            at += 1;
            marks = *self.blocks.get(at)?;
        }
        Some(at * BLOCK + marks.trailing_zeros() as usize)
    }

    /// Bytes that it holds on to for the next text.
    pub(crate) fn shrink(&mut self, most: usize) {
        self.blocks.clear();
        self.blocks.shrink_to(most / BLOCK);
    }
}

/// Whether a byte means something in most dialects: HTML's characters, controls, brackets,
/// what smilies begin with and what addresses have in them.
///
/// Written without branches, so that sixteen bytes are judged by a few instructions; and
/// where one more byte makes them fewer, as `#` does, it is marked too.
#[inline]
fn is_usual(byte: u8, before: u8) -> bool {
    let is_control = byte <= 0x1f;
    let is_quote = byte & !0b101 == b'"'; // and `#`, `&`, `'`
    let is_colon = byte | 1 == b';'; // and `:`
    let is_angle = byte & !0b10 == b'<'; // and `>`
    let is_bracket = byte & !0b10_0100 == b'['; // and `_`, `{`, DEL
    // Sentences end with one that means nothing.
    let is_dot = (byte == b'.') & (before | 0x20 == b'w');
    is_control | is_quote | is_colon | is_angle | is_bracket | is_dot
}

/// The marks of a block behind its first byte, which is the one before it. The first bit is
/// the lowest.
#[inline]
fn marks_of(text: &[u8; 1 + BLOCK], wanted: &Wanted) -> u64 {
    let mut found = [0_u8; BLOCK];
    for at in 0..BLOCK {
        found[at] = u8::from(is_usual(text[at + 1], text[at]));
    }
    for unusual in &wanted.unusual {
        for at in 0..BLOCK {
            found[at] |= u8::from(text[at + 1] == *unusual);
        }
    }
    let (eights, _) = found.as_chunks::<8>();
    let mut marks = 0;
    for (at, eight) in eights.iter().enumerate() {
        // Eight bytes that are 0 or 1 become the eight bits at the top: no two of the
        // product's terms that reach them fall on the same bit.
        let bits = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        marks |= bits << (8 * at);
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wanted_byte_is_marked_wherever_it_stands() {
        for unusual in [&b""[..], b"8o=", b".", &[0x80, 0xff]] {
            let wanted = Wanted::new(|byte| unusual.contains(&byte));
            let mut marks = Marks::default();
            for length in [0, 1, 63, 64, 65, 127, 128, 129, 700] {
                for stride in [7, 69, 131] {
                    let text: Vec<u8> = (0..length).map(|at| (at * stride % 256) as u8).collect();
                    let text = [&text[..], b"www."].concat();
                    marks.read(&text, &wanted);
                    let is_marked = |at: &usize| {
                        let before = if *at > 0 { text[at - 1] } else { 0 };
                        is_usual(text[*at], before) || unusual.contains(&text[*at])
                    };
                    for from in 0..=text.len() {
                        let plain = (from..text.len()).find(is_marked);
                        assert_eq!(marks.next(from), plain, "{unusual:?} {length} {from}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_text_ends_where_it_ends() {
        let mut marks = Marks::default();
        for length in [0, 1, 63, 64, 65, 127, 128, 129] {
            marks.read(&vec![b'['; length], &Wanted::default());
            assert_eq!(marks.next(length), None, "{length}");
            assert_eq!((0..length).find(|at| marks.next(*at) != Some(*at)), None, "{length}");
        }
    }
}
