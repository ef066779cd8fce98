//! Text and ESI tags told apart, byte by byte, without looking back.
//!
//! Invariants: 1. each byte is looked at a bounded number of times. 2. what is held is one tag
//! at most, of [`TAG_BYTES_MAX`]. 3. all text is told as ranges of the page, in order.

use std::ops::Range;

/// A longer tag is text.
pub(super) const TAG_BYTES_MAX: usize = 8 << 10;

const OPENERS: [(&[u8], Opener); 4] = [
    (b"<esi:", Opener::Tag),
    (b"</esi:", Opener::Tag),
    (b"<!--esi", Opener::Comment),
    (b"<![cdata[", Opener::Cdata),
];

/// What a page consists of.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Event<'a> {
    /// Bytes from here to there, as they are.
    Text(Range<usize>),
    /// A whole tag, from `<` to `>`, which lay there.
    Tag(&'a [u8], Range<usize>),
}

#[derive(Clone, Copy, Debug)]
enum Opener {
    Tag,
    Comment,
    Cdata,
}

#[derive(Clone, Copy, Debug)]
enum Mode {
    Text,
    /// Behind a `<` that may begin something; so many bytes of it have come.
    Opening(usize),
    /// Within a tag, and perhaps within quotes.
    Tag(Option<u8>),
    /// Within CDATA, behind so many closing brackets.
    Cdata(u8),
}

/// Reads a page.
#[derive(Debug)]
pub(super) struct Scanner {
    mode: Mode,
    /// Bytes read so far.
    position: usize,
    /// Where the text begins that was not told yet.
    text_start: usize,
    /// The beginning of what may be a tag, and then the tag.
    held: Vec<u8>,
    /// Whether a comment for us is open, and how many dashes have just come in it.
    in_comment: bool,
    dashes: u8,
}

impl Scanner {
    pub(super) const fn new() -> Self {
        Self {
            mode: Mode::Text,
            position: 0,
            text_start: 0,
            held: Vec::new(),
            in_comment: false,
            dashes: 0,
        }
    }

    /// Reads on.
    pub(super) fn write(&mut self, bytes: &[u8], take: &mut impl FnMut(Event<'_>)) {
        let mut rest = bytes;
        while let Some(&byte) = rest.first() {
            let read = match self.mode {
                Mode::Text => self.read_text(rest, take),
                Mode::Opening(count) => self.read_opener(count, byte, take),
                Mode::Tag(quote) => self.read_tag(quote, byte, take),
                Mode::Cdata(brackets) => {
                    self.mode = match (byte, brackets) {
                        (b']', count) => Mode::Cdata((count + 1).min(2)),
                        (b'>', 2) => Mode::Text,
                        _ => Mode::Cdata(0),
                    };
                    1
                }
            };
            self.position += read;
            rest = &rest[read..];
        }
    }

    /// The page is over; what was begun and not ended is text.
    pub(super) fn finish(&mut self, take: &mut impl FnMut(Event<'_>)) {
        self.tell_text(self.position, self.position, take);
        self.mode = Mode::Text;
    }

    fn tell_text(&mut self, end: usize, next: usize, take: &mut impl FnMut(Event<'_>)) {
        if self.text_start < end {
            take(Event::Text(self.text_start..end));
        }
        self.text_start = next;
    }

    /// How much was read up to the next byte that may mean something, that one included.
    fn read_text(&mut self, rest: &[u8], take: &mut impl FnMut(Event<'_>)) -> usize {
        if self.in_comment {
            return self.read_commented(rest, take);
        }
        match memchr::memchr(b'<', rest) {
            Some(at) => {
                self.begin_opener();
                at + 1
            }
            None => rest.len(),
        }
    }

    fn read_commented(&mut self, rest: &[u8], take: &mut impl FnMut(Event<'_>)) -> usize {
        if self.dashes == 0 {
            return match memchr::memchr2(b'<', b'-', rest) {
                Some(at) => {
                    match rest[at] {
                        b'<' => self.begin_opener(),
                        _ => self.dashes = 1,
                    }
                    at + 1
                }
                None => rest.len(),
            };
        }
        match rest[0] {
            b'-' => self.dashes = 2,
            b'>' if self.dashes == 2 => {
                self.tell_text(self.position - 2, self.position + 1, take);
                (self.in_comment, self.dashes) = (false, 0);
            }
            b'<' => self.begin_opener(),
            _ => self.dashes = 0,
        }
        1
    }

    fn begin_opener(&mut self) {
        self.held.clear();
        self.held.push(b'<');
        self.dashes = 0;
        self.mode = Mode::Opening(1);
    }

    /// One byte of what may be an opener; none is read if it isn't.
    fn read_opener(&mut self, count: usize, byte: u8, take: &mut impl FnMut(Event<'_>)) -> usize {
        self.held.push(byte);
        let is_beginning = |opener: &[u8]| {
            opener.get(..=count).is_some_and(|start| self.held.eq_ignore_ascii_case(start))
        };
        let Some(&(opener, kind)) = OPENERS.iter().find(|(opener, _)| is_beginning(opener)) else {
            // A `<` stands at the beginning of openers only, so that none was missed but one
            // that begins with this byte.
            self.mode = Mode::Text;
            return 0;
        };
        if opener.len() > count + 1 {
            self.mode = Mode::Opening(count + 1);
            return 1;
        }
        self.mode = match kind {
            Opener::Tag => Mode::Tag(None),
            Opener::Cdata => Mode::Cdata(0),
            Opener::Comment => Mode::Text,
        };
        if matches!(kind, Opener::Comment) {
            self.in_comment = true;
            let end = self.position + 1;
            self.tell_text(end - opener.len(), end, take);
        }
        1
    }

    fn read_tag(&mut self, quote: Option<u8>, byte: u8, take: &mut impl FnMut(Event<'_>)) -> usize {
        if self.held.len() >= TAG_BYTES_MAX {
            self.mode = Mode::Text;
            return 0;
        }
        self.held.push(byte);
        match (quote, byte) {
            (None, b'>') => {
                let start = self.position + 1 - self.held.len();
                let end = self.position + 1;
                self.tell_text(start, end, take);
                take(Event::Tag(&self.held, start..end));
                self.mode = Mode::Text;
            }
            (None, b'"' | b'\'') => self.mode = Mode::Tag(Some(byte)),
            (Some(open), _) if open == byte => self.mode = Mode::Tag(None),
            _ => {}
        }
        1
    }
}
