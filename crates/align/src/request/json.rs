//! JSON bodies: strings and numbers, keyed by the name that leads to them.
//!
//! The text is not parsed into a tree: strings are found where they stand, so that
//! everything else keeps its bytes, and text that is no JSON does no harm. Values of an
//! array bear the array's name.
//! Limits: names are remembered over [`DEPTH_MAX`] levels, up to [`NAME_BYTES_MAX`] bytes.

use std::ops::Range;

use super::Exchange;
use crate::escape::json;

const DEPTH_MAX: usize = 64;
const NAME_BYTES_MAX: usize = 256;

/// The text with what was exchanged; none if nothing was.
pub(super) fn rewrite(text: &[u8], exchange: &mut dyn Exchange) -> Option<Vec<u8>> {
    let mut walk =
        Walk { text, out: Vec::new(), done: 0, name: 0..0, names: Vec::new(), deeper: 0 };
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        at = match byte {
            b'"' => match literal_end(text, at) {
                Some(end) => walk.literal(at, end, exchange),
                None => break,
            },
            b'-' | b'0'..=b'9' => walk.number(at, exchange),
            b'{' | b'[' => walk.open(at),
            b'}' | b']' => walk.close(at),
            _ => at + 1,
        };
    }
    if walk.done == 0 {
        return None;
    }
    walk.out.extend_from_slice(&text[walk.done..]);
    Some(walk.out)
}

struct Walk<'a> {
    text: &'a [u8],
    out: Vec<u8>,
    /// How far the text is in `out`; zero as long as nothing was exchanged.
    done: usize,
    /// Where the name stands that leads here.
    name: Range<usize>,
    /// The names that led to the objects and arrays around.
    names: Vec<Range<usize>>,
    /// Levels beyond the limit.
    deeper: usize,
}

impl Walk<'_> {
    fn open(&mut self, at: usize) -> usize {
        if self.names.len() < DEPTH_MAX {
            self.names.push(self.name.clone());
        } else {
            self.deeper += 1;
        }
        at + 1
    }

    fn close(&mut self, at: usize) -> usize {
        if self.deeper > 0 {
            self.deeper -= 1;
        } else {
            self.name = self.names.pop().unwrap_or_default();
        }
        at + 1
    }

    fn literal(&mut self, at: usize, end: usize, exchange: &mut dyn Exchange) -> usize {
        let inner = at + 1..end - 1;
        let plain = json::decode(&self.text[inner.clone()]);
        let behind = self.text[end..].iter().find(|byte| !byte.is_ascii_whitespace());
        let new = if behind == Some(&b':') {
            self.name = if inner.len() <= NAME_BYTES_MAX { inner.clone() } else { 0..0 };
            exchange.name(&plain)
        } else {
            let name = json::decode(&self.text[self.name.clone()]);
            exchange.value(&name, &plain)
        };
        if let Some(new) = new {
            self.put(inner, &json::encode(&new));
        }
        end
    }

    /// A number is exchanged for a number only.
    fn number(&mut self, at: usize, exchange: &mut dyn Exchange) -> usize {
        let rest = &self.text[at..];
        let is_part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
        let end = at + rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        let name = json::decode(&self.text[self.name.clone()]);
        let new = exchange.value(&name, &self.text[at..end]);
        let is_number = |new: &Vec<u8>| {
            !new.is_empty()
                && new.iter().all(u8::is_ascii_digit)
                && (new.len() == 1 || new[0] != b'0')
        };
        if let Some(new) = new.filter(is_number) {
            self.put(at..end, &new);
        }
        end
    }

    fn put(&mut self, place: Range<usize>, bytes: &[u8]) {
        self.out.extend_from_slice(&self.text[self.done..place.start]);
        self.out.extend_from_slice(bytes);
        self.done = place.end;
    }
}

/// Behind the closing quote of the literal that begins here.
fn literal_end(text: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::Recorder;
    use super::*;

    fn check(text: &str, seen: &str, expected: &str) {
        let mut recorder = Recorder::default();
        let found = rewrite(text.as_bytes(), &mut recorder);
        let found = found.map_or(text.to_owned(), |f| String::from_utf8_lossy(&f).into_owned());
        assert_eq!((recorder.0.join(" | ").as_str(), found.as_str()), (seen, expected), "{text}");
    }

    #[test]
    fn values_bear_the_name_that_leads_to_them() {
        check(
            r#"{"a":"x","b":{"c":["y",{"d":1}],"e" : true}, "f":"z"}"#,
            "a | a=x | b | c | c=y | d | d=1 | e | f | f=z",
            r#"{"a":"x","b":{"c":["y",{"d":1}],"e" : true}, "f":"z"}"#,
        );
        check(r#"{"a":["x",["y"],"z"]}"#, "a | a=x | a=y | a=z", r#"{"a":["x",["y"],"z"]}"#);
        check(r#"["x"]"#, "=x", r#"["x"]"#);
    }

    #[test]
    fn only_what_is_exchanged_is_spelled_anew() {
        check(
            r#"{ "\u006fld" : "o\u006cd", "u": "\/" }"#,
            "old | old=old | u | u=/",
            r#"{ "n\"e w" : "n\"e w&/", "u": "\/" }"#,
        );
    }

    #[test]
    fn text_that_is_no_json_stays() {
        for text in ["", "{", "\"a", "{\"a\":\"b\\", "}}]]", "nonsense: \"x", "[[[[-1e5"] {
            assert_eq!(rewrite(text.as_bytes(), &mut Recorder::default()), None, "{text}");
        }
        let deep = "[".repeat(100_000);
        assert_eq!(rewrite(deep.as_bytes(), &mut Recorder::default()), None);
    }

    #[test]
    fn a_number_is_exchanged_for_a_number_only() {
        struct Sixes(&'static str);
        impl Exchange for Sixes {
            fn name(&mut self, _: &[u8]) -> Option<Vec<u8>> {
                None
            }
            fn value(&mut self, _: &[u8], value: &[u8]) -> Option<Vec<u8>> {
                (value == b"5").then(|| self.0.as_bytes().to_vec())
            }
        }
        assert_eq!(
            rewrite(b"{\"a\":5,\"b\":55}", &mut Sixes("6")),
            Some(b"{\"a\":6,\"b\":55}".to_vec())
        );
        for no_number in ["x", "06", ""] {
            assert_eq!(rewrite(b"[5]", &mut Sixes(no_number)), None, "{no_number}");
        }
    }
}
