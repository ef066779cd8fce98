//! Closers: which closing tags a text has, found before it is read.
//!
//! A tag that nothing closes is text in most forums, and whoever writes `a[i] = b[i]` means
//! it so. One look over the text finds all closing tags; an opening one counts while more of
//! them lie ahead than are wanted by what is open.
//! Invariant: closers are passed in order, so all questions together cost one walk.

use memchr::memmem::Finder;

use crate::bracket::Head;
use crate::dialect::Dialect;
use crate::written::Form;

/// Tags of a dialect, aliases not counted.
pub(crate) const TAGS_MAX: usize = 96;

/// One closing tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Closer {
    pub(crate) at: u32,
    pub(crate) tag: u8,
    pub(crate) length: u8,
}

/// All of a text's closing tags, and how many of each lie ahead.
pub(crate) struct Closers {
    /// Of what they all begin with.
    finder: Finder<'static>,
    all: Vec<Closer>,
    /// The first that was not passed.
    next: usize,
    ahead: [u32; TAGS_MAX],
    /// For each tag where its next closer was last found.
    found: [usize; TAGS_MAX],
}

impl Default for Closers {
    fn default() -> Self {
        Self {
            finder: Finder::new(b"[/"),
            all: Vec::new(),
            next: 0,
            ahead: [0; TAGS_MAX],
            found: [0; TAGS_MAX],
        }
    }
}

impl Closers {
    /// Finds all of `text`; tells how many bytes were looked at.
    pub(crate) fn read(&mut self, text: &[u8], dialect: &Dialect, form: Form) -> u64 {
        for closer in self.all.drain(..) {
            self.ahead[usize::from(closer.tag)] = 0;
            self.found[usize::from(closer.tag)] = 0;
        }
        self.next = 0;
        let mut looked = text.len() as u64;
        for at in self.finder.find_iter(text) {
            let head = &Head::read(&text[at..], form, &mut looked);
            let Some(head) = head else { continue };
            let Some(tag) = dialect.find(head, form) else { continue };
            self.ahead[usize::from(tag)] += 1;
            // A name and a suffix or two: never near the limit of a byte.
            let (at, length) = (at as u32, head.length.min(255) as u8);
            self.all.push(Closer { at, tag, length });
        }
        looked
    }

    /// Passes all that lie before `at`; tells how many.
    pub(crate) fn pass(&mut self, at: usize) -> u64 {
        let before = self.next;
        while let Some(closer) = self.all.get(self.next)
            && (closer.at as usize) < at
        {
            self.ahead[usize::from(closer.tag)] -= 1;
            self.next += 1;
        }
        (self.next - before) as u64
    }

    /// The closer that stands at `at`, to which all was passed.
    pub(crate) fn here(&self, at: usize) -> Option<Closer> {
        self.all.get(self.next).copied().filter(|closer| closer.at as usize == at)
    }

    /// How many closers of a tag lie ahead.
    pub(crate) fn ahead(&self, tag: u8) -> u32 {
        self.ahead[usize::from(tag)]
    }

    /// The next closer of a tag, and how many were looked at to find it.
    pub(crate) fn next_of(&mut self, tag: u8) -> (Option<Closer>, u64) {
        if self.ahead(tag) == 0 {
            return (None, 1);
        }
        let from = self.found[usize::from(tag)].max(self.next);
        let rest = self.all.get(from..).unwrap_or_default();
        let Some(length) = rest.iter().position(|closer| closer.tag == tag) else {
            return (None, rest.len() as u64);
        };
        self.found[usize::from(tag)] = from + length;
        (Some(rest[length]), 1 + length as u64)
    }

    /// Closing tags that it holds on to memory for.
    pub(crate) fn shrink(&mut self, most: usize) {
        if self.all.capacity() > most {
            *self = Self::default();
        }
    }
}
