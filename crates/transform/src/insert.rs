//! Something put into a page while it comes: just before the end of its head.
//!
//! In: a page's bytes, cut anywhere. Out: the same bytes, with the insertion before the first
//! `</head` or `<body` that is markup; a page without either, such as a fragment that a script
//! asks for, stays as it is. What stands in a comment, a script, a style or a title isn't
//! markup.
//! Bounds: the search ends after [`HEAD_BYTES_MAX`]; at most [`WORD_BYTES_MAX`] bytes wait for
//! those behind them.

use bytes::Bytes;

/// A head that is longer is left as it is.
const HEAD_BYTES_MAX: usize = 512 << 10;
/// The longest beginning of a tag that is looked at: `</noscript` and the byte behind it.
const WORD_BYTES_MAX: usize = 11;

/// Elements of a head within which `<` begins nothing but their own end.
const RAW: [&[u8]; 5] = [b"script", b"style", b"title", b"noscript", b"template"];

/// Puts one insertion into one page.
#[derive(Debug)]
pub struct Inserter {
    /// None once it is in, or can't be any more.
    insertion: Option<Bytes>,
    state: State,
    /// What may be the beginning of a tag, from its `<` on.
    held: Vec<u8>,
    seen_bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Between tags.
    Text,
    /// Behind a `<`, as long as what follows may matter.
    Word,
    /// In a tag that doesn't matter.
    Tag(Part),
    /// In a start tag of `RAW[_]`, whose content follows.
    RawTag(usize, Part),
    /// In the content of `RAW[_]`, of whose end tag so many bytes have come.
    Raw(usize, usize),
    /// In a comment, with so many bytes of `-->` seen.
    Comment(usize),
}

/// A part of a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Where a quote is a byte like others.
    Names,
    /// Behind a `=`.
    Equals,
    /// In a value that this quote ends.
    Value(u8),
}

/// What the beginning of a tag turned out to be.
enum Word {
    Undecided,
    Text,
    HeadEnds,
    Comment,
    Raw(usize),
    Other,
}

impl Inserter {
    /// Puts `insertion` into the page whose first byte comes next.
    #[must_use]
    pub fn new(insertion: Bytes) -> Self {
        Self { insertion: Some(insertion), state: State::Text, held: Vec::new(), seen_bytes: 0 }
    }

    /// Whether the rest of the page passes as it is.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.insertion.is_none() && self.held.is_empty()
    }

    /// Takes a piece of the page, and hands what may go on to `out`, in order.
    pub fn write(&mut self, piece: Bytes, mut out: impl FnMut(Bytes)) {
        if self.insertion.is_none() {
            out(piece);
            return;
        }
        // Where what wasn't handed out yet begins.
        let mut start = 0;
        for (at, &byte) in piece.iter().enumerate() {
            self.state = match self.step(byte) {
                Step::To(state) => state,
                Step::Hold => {
                    if self.held.is_empty() {
                        hand(&piece, start..at, &mut out);
                    }
                    self.held.push(byte);
                    start = at + 1;
                    State::Word
                }
                Step::Release(state) => {
                    self.held.push(byte);
                    out(std::mem::take(&mut self.held).into());
                    start = at + 1;
                    state
                }
                Step::Insert => {
                    self.held.push(byte);
                    out(self.insertion.take().unwrap_or_default());
                    out(std::mem::take(&mut self.held).into());
                    hand(&piece, at + 1..piece.len(), &mut out);
                    return;
                }
            };
        }
        hand(&piece, start..piece.len(), &mut out);
        self.seen_bytes = self.seen_bytes.saturating_add(piece.len());
        if self.seen_bytes > HEAD_BYTES_MAX {
            self.insertion = None;
            self.finish(out);
        }
    }

    /// The page is whole: hands out what was still looked at.
    pub fn finish(&mut self, mut out: impl FnMut(Bytes)) {
        if !self.held.is_empty() {
            out(std::mem::take(&mut self.held).into());
        }
    }

    fn step(&self, byte: u8) -> Step {
        match self.state {
            State::Text if byte == b'<' => Step::Hold,
            State::Text => Step::To(State::Text),
            State::Word => match word(&self.held, byte) {
                Word::Undecided => Step::Hold,
                Word::Text => Step::Release(State::Text),
                Word::HeadEnds => Step::Insert,
                Word::Comment => Step::Release(State::Comment(0)),
                Word::Raw(kind) => Step::Release(tag(byte, |part| State::RawTag(kind, part))),
                Word::Other => Step::Release(tag(byte, State::Tag)),
            },
            State::Tag(part) => Step::To(match within_tag(part, byte) {
                Some(part) => State::Tag(part),
                None => State::Text,
            }),
            State::RawTag(kind, part) => Step::To(match within_tag(part, byte) {
                Some(part) => State::RawTag(kind, part),
                None => State::Raw(kind, 0),
            }),
            State::Raw(kind, came) => Step::To(raw(kind, came, byte)),
            State::Comment(2) if byte == b'>' => Step::To(State::Text),
            State::Comment(came) if byte == b'-' => Step::To(State::Comment((came + 1).min(2))),
            State::Comment(_) => Step::To(State::Comment(0)),
        }
    }
}

/// What becomes of one byte.
enum Step {
    /// It goes on.
    To(State),
    /// It may be part of the tag that is looked for.
    Hold,
    /// It and what was held go on.
    Release(State),
    /// The insertion belongs before what was held.
    Insert,
}

fn hand(piece: &Bytes, range: std::ops::Range<usize>, out: &mut impl FnMut(Bytes)) {
    if !range.is_empty() {
        out(piece.slice(range));
    }
}

/// The state behind the byte that ended a tag's name.
fn tag(byte: u8, within: impl FnOnce(Part) -> State) -> State {
    let within = within(Part::Names);
    match (byte, within) {
        (b'>', State::RawTag(kind, _)) => State::Raw(kind, 0),
        (b'>', _) => State::Text,
        _ => within,
    }
}

/// The part of a tag that follows this byte of it; none: the tag is over.
fn within_tag(part: Part, byte: u8) -> Option<Part> {
    match (part, byte) {
        (Part::Value(quote), _) if byte == quote => Some(Part::Names),
        (Part::Value(_), _) => Some(part),
        (_, b'>') => None,
        (Part::Equals, b'"' | b'\'') => Some(Part::Value(byte)),
        (_, b'=') => Some(Part::Equals),
        _ if byte.is_ascii_whitespace() => Some(part),
        _ => Some(Part::Names),
    }
}

/// The state behind a byte of a raw element's content: its end tag is looked for.
fn raw(kind: usize, came: usize, byte: u8) -> State {
    let name = RAW[kind];
    let expected = match came {
        0 => Some(b'<'),
        1 => Some(b'/'),
        _ => name.get(came - 2).copied(),
    };
    match expected {
        Some(expected) if byte.eq_ignore_ascii_case(&expected) => State::Raw(kind, came + 1),
        None if byte == b'>' => State::Text,
        None if byte.is_ascii_whitespace() || byte == b'/' => State::Tag(Part::Names),
        _ if byte == b'<' => State::Raw(kind, 1),
        _ => State::Raw(kind, 0),
    }
}

/// What `held`, from its `<` on, and this byte behind it begin.
fn word(held: &[u8], byte: u8) -> Word {
    let name = &held[1..];
    if name == b"!-" && byte == b'-' {
        return Word::Comment;
    }
    if name.is_empty() && !byte.is_ascii_alphabetic() && !matches!(byte, b'/' | b'!' | b'?') {
        return Word::Text;
    }
    let may_go_on = byte.is_ascii_alphabetic() || matches!(byte, b'/' | b'!' | b'-');
    if may_go_on && held.len() < WORD_BYTES_MAX {
        return Word::Undecided;
    }
    let is = |known: &[u8]| name.eq_ignore_ascii_case(known);
    if byte != b'>' && byte != b'/' && !byte.is_ascii_whitespace() {
        return Word::Other;
    }
    if is(b"/head") || is(b"body") {
        return Word::HeadEnds;
    }
    RAW.iter().position(|known| is(known)).map_or(Word::Other, Word::Raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page with `^` put in, cut into pieces of this many bytes.
    fn insert(page: &str, piece_bytes: usize) -> String {
        let mut inserter = Inserter::new(Bytes::from_static(b"^"));
        let mut out = Vec::new();
        for piece in page.as_bytes().chunks(piece_bytes) {
            inserter.write(Bytes::copy_from_slice(piece), |bytes| out.extend_from_slice(&bytes));
        }
        inserter.finish(|bytes| out.extend_from_slice(&bytes));
        String::from_utf8(out).expect("nothing is cut")
    }

    #[test]
    fn it_stands_before_the_end_of_the_head_however_the_page_comes() {
        for (page, expected) in [
            ("<html><head></head><body>", "<html><head>^</head><body>"),
            ("<HEAD><p></HEAD >", "<HEAD><p>^</HEAD >"),
            ("<title>a</title><body class=x>", "<title>a</title>^<body class=x>"),
            ("<!-- </head> --></head>", "<!-- </head> -->^</head>"),
            ("<!-- a -- </head> --></head>", "<!-- a -- </head> -->^</head>"),
            ("<script>'</head>'</script></head>", "<script>'</head>'</script>^</head>"),
            ("<script>1<2</script ></head>", "<script>1<2</script >^</head>"),
            (
                "<script>'</scriptx</head>'</script></head>",
                "<script>'</scriptx</head>'</script>^</head>",
            ),
            ("<style>a{}<</style></head>", "<style>a{}<</style>^</head>"),
            ("<TITLE>a </head> b</TITLE></head>", "<TITLE>a </head> b</TITLE>^</head>"),
            ("<meta content='</head>'></head>", "<meta content='</head>'>^</head>"),
            ("<meta content=\"'</head>\"></head>", "<meta content=\"'</head>\">^</head>"),
            ("<script src='>'></script></head>", "<script src='>'></script>^</head>"),
            ("<header><headx></header>a<body>", "<header><headx></header>a^<body>"),
            ("<bodyguard></head>", "<bodyguard>^</head>"),
            ("a < b <3 </head>", "a < b <3 ^</head>"),
            ("<p don't></head>", "<p don't>^</head>"),
            ("<p a= '>'></head>", "<p a= '>'>^</head>"),
            ("<<head></head>", "<<head>^</head>"),
            ("<head></head><body></head>", "<head>^</head><body></head>"),
            ("<p>a fragment</p>", "<p>a fragment</p>"),
            ("<title>never ends</head>", "<title>never ends</head>"),
            ("cut off <", "cut off <"),
            ("cut off </hea", "cut off </hea"),
            ("", ""),
        ] {
            for piece_bytes in 1..=page.len().max(1) {
                assert_eq!(insert(page, piece_bytes), expected, "in pieces of {piece_bytes}");
            }
        }
    }

    #[test]
    fn a_head_without_an_end_is_not_searched_for_ever() {
        let long = format!("{}<body>", "<p>".repeat(HEAD_BYTES_MAX / 2));
        assert!(insert(&long, 1000) == long, "nothing is put in");
        let short = format!("{}<body>", "<p>".repeat(1000));
        assert!(insert(&short, 1000) == short.replace("<body>", "^<body>"), "it is put in");
    }

    #[test]
    fn whatever_comes_nothing_of_it_is_lost_nor_changed() {
        use rand::{Rng, SeedableRng, rngs::StdRng};
        let mut dice = StdRng::seed_from_u64(7);
        const WORDS: [&str; 12] =
            ["<", "/", "head", "body", ">", "script", "!--", "-", "\"", " ", "</script", "x"];
        for _ in 0..20_000 {
            let count = dice.random_range(0..14);
            let page: String =
                (0..count).map(|_| WORDS[dice.random_range(0..WORDS.len())]).collect();
            let whole = insert(&page, page.len().max(1));
            assert_eq!(whole.replacen('^', "", 1), page);
            for piece_bytes in 1..4 {
                assert_eq!(insert(&page, piece_bytes), whole, "{page} in pieces of {piece_bytes}");
            }
        }
    }
}
