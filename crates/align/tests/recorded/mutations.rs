//! What must hold for any bytes: pages that are broken in seeded ways.

use align::{Binding, Class, Comparison, Document, Kind, Likeness, Request, compare};
use align::{for_each_carried, may_share};
use wire::Fields;

use crate::pairs::PAIRS;

/// How often each pair is broken.
const ROUNDS: usize = 60;

/// xorshift64: the same row of numbers in each run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    /// A few bytes changed, removed, doubled, moved, or put in.
    fn broken(&mut self, bytes: &[u8]) -> Vec<u8> {
        const MARKS: &[u8] = b"<>\"'=/&;%{}[]!-\\\n \x00\xff\xc3";
        let mut bytes = bytes.to_vec();
        for _ in 0..=self.below(6) {
            let at = self.below(bytes.len() + 1);
            let end = (at + 1 + self.below(40)).min(bytes.len());
            match self.below(5) {
                0 => bytes.insert(at, MARKS[self.below(MARKS.len())]),
                1 if at < bytes.len() => bytes[at] = self.below(256) as u8,
                2 if at < end => drop(bytes.drain(at..end)),
                3 if at < end => {
                    let stretch: Vec<u8> = bytes.drain(at..end).collect();
                    let to = self.below(bytes.len() + 1);
                    bytes.splice(to..to, stretch);
                }
                _ => {
                    let stretch = bytes[at..end.max(at)].to_vec();
                    bytes.splice(at..at, stretch);
                }
            }
        }
        bytes
    }
}

fn read(kind: Kind, body: &[u8]) -> Document {
    Document::new(kind, &Fields::new(), body).expect("pages of moderate length")
}

fn content_type(text: &str) -> Fields {
    Fields::parse(format!("content-type: {text}\nx-token: a1b2c3d4\n").as_bytes())
        .expect("the fields are well formed")
}

#[test]
fn a_copy_compared_with_itself_is_the_same_however_broken() {
    let mut dice = Dice(0x5eed);
    for pair in PAIRS {
        for kind in [Kind::Html, Kind::Xml, Kind::Script, Kind::Text] {
            for _ in 0..ROUNDS / 4 {
                let copy = read(kind, &dice.broken(pair.old_copy().text()));
                let comparison = compare(&copy, &copy).expect("equal ends cost nothing");
                assert_eq!(comparison.likeness(), Likeness::Same, "{}", pair.name);
                assert_eq!(may_share(&copy, &[&copy], &copy, &[]), Ok(()), "{}", pair.name);
            }
        }
    }
}

#[test]
fn broken_pairs_are_compared_and_every_place_is_within_its_copy() {
    let mut dice = Dice(0xfeed);
    for pair in PAIRS {
        let (old_text, new_text) =
            (pair.old_copy().text().to_vec(), pair.new_copy().text().to_vec());
        for _ in 0..ROUNDS {
            let old = read(Kind::Html, &dice.broken(&old_text));
            let new = read(Kind::Html, &dice.broken(&new_text));
            let Ok(comparison) = compare(&old, &new) else { continue };
            assert!(comparison.left <= old.chunk_count() + new.chunk_count());
            for span in &comparison.spans {
                assert_ne!(span.old, span.new, "{}", pair.name);
                assert!(old.text().get(place(&span.old_place)).is_some(), "{}", pair.name);
                assert!(new.text().get(place(&span.new_place)).is_some(), "{}", pair.name);
            }
            translate_anything(&old, &new, &comparison, &mut dice);
        }
    }
}

fn place(range: &std::ops::Range<u32>) -> std::ops::Range<usize> {
    range.start as usize..range.end as usize
}

/// Feeds pieces of a page to the binding as if they were a request.
fn translate_anything(old: &Document, new: &Document, comparison: &Comparison, dice: &mut Dice) {
    const TYPES: &[&str] = &[
        "application/x-www-form-urlencoded",
        "application/json",
        "multipart/form-data; boundary=a",
        "text/plain",
    ];
    let Ok(binding) = Binding::new(old, new, comparison.strong_values()) else { return };
    let text = old.text();
    let at = dice.below(text.len() + 1);
    let piece = &text[at..(at + 400).min(text.len())];
    let fields = content_type(TYPES[dice.below(TYPES.len())]);
    let request = Request { target: piece, fields: &fields, body: piece };
    let found = binding.translate(&request).expect("a short body");
    let is_as_it_was = found.target == piece && *found.fields == fields && found.body == piece;
    assert!(found.replaced > 0 || is_as_it_was, "only what is counted is changed");
    for_each_carried(&request, &mut |value| assert!(!value.is_empty())).expect("a short body");
}

#[test]
fn an_empty_binding_lets_every_request_through_as_it_is() {
    let mut dice = Dice(0xbeef);
    for pair in PAIRS {
        for _ in 0..ROUNDS {
            let bytes = dice.broken(pair.old_copy().text());
            for kind in ["application/x-www-form-urlencoded", "a/json", "text/html"] {
                let fields = content_type(kind);
                let request = Request { target: &bytes, fields: &fields, body: &bytes };
                let found = Binding::default().translate(&request).expect("a short body");
                assert_eq!((&*found.target, &*found.body), (&bytes[..], &bytes[..]));
                assert_eq!(*found.fields, fields);
                assert_eq!((found.replaced, found.missing.len()), (0, 0));
            }
        }
    }
}

#[test]
fn a_token_put_into_any_page_is_the_only_difference_and_is_translated() {
    let mut dice = Dice(0xcafe);
    let places = [
        "<input type=hidden name=own value='TOKEN'>",
        "<a href=\"/?own=TOKEN&amp;x=1\">x</a>",
        "<script>own('TOKEN');</script>",
        "<meta name=own content=\"TOKEN\">",
    ];
    let (old_token, new_token) = ("0a9b8c7d6e5f4031", "f1e2d3c4b5a60718");
    let mut entered = 0;
    for pair in PAIRS {
        let text = pair.old_copy().text().to_vec();
        // Two of the pairs are data without markup.
        let Some(body_at) = find(&text, b"<body") else { continue };
        entered += 1;
        let body_end = body_at + find(&text[body_at..], b">").expect("the tag ends") + 1;
        let markup = places[dice.below(places.len())];
        let with = |token: &str| {
            let markup = markup.replace("TOKEN", token);
            let parts = [&text[..body_end], markup.as_bytes(), &text[body_end..]];
            read(Kind::Html, &parts.concat())
        };
        let (old, new) = (with(old_token), with(new_token));
        for (a, b, a_token, b_token) in
            [(&old, &new, old_token, new_token), (&new, &old, new_token, old_token)]
        {
            let comparison = compare(a, b).expect("one difference");
            assert_eq!(comparison.likeness(), Likeness::Translatable, "{} {markup}", pair.name);
            for span in &comparison.spans {
                assert_eq!(span.class, Class::Strong, "{} {markup}", pair.name);
                assert_eq!(
                    (&span.old[..], &span.new[..]),
                    (a_token.as_bytes(), b_token.as_bytes())
                );
            }
            let binding = Binding::new(a, b, comparison.strong_values()).expect("one token");
            let target = format!("/page?own={a_token}&x=1");
            let fields = Fields::new();
            let request = Request { target: target.as_bytes(), fields: &fields, body: b"" };
            let found = binding.translate(&request).expect("no body");
            assert_eq!(&*found.target, format!("/page?own={b_token}&x=1").as_bytes());
        }
    }
    assert_eq!(entered, PAIRS.len() - 2);
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}

#[test]
fn white_space_at_line_ends_is_no_difference() {
    for pair in PAIRS {
        let (old, new) = (pair.old_copy(), pair.new_copy());
        let mut spaced = Vec::new();
        for line in new.text().split_inclusive(|&byte| byte == b'\n') {
            spaced.extend_from_slice(line);
            if line.ends_with(b"\n") {
                spaced.extend_from_slice(b"\r\n \t");
            }
        }
        let plain = compare(&old, &new).expect("pages of moderate length");
        let spaced = compare(&old, &read(Kind::Html, &spaced)).expect("hardly longer");
        let values = |comparison: &Comparison| -> Vec<_> {
            let spans = comparison.spans.iter();
            spans.map(|s| (s.key.clone(), s.old.clone(), s.new.clone(), s.class)).collect()
        };
        assert_eq!(values(&plain), values(&spaced), "{}", pair.name);
        assert_eq!(plain.left, spaced.left, "{}", pair.name);
    }
}
