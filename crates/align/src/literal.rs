//! Two values that differ: which parts of them do, and what each part is called.
//!
//! In: two texts without escapes of markup or script, and the key of the whole. Out: pairs
//! of parts, percent codes read, keyed by the word before `=` where there is one.
//! An address is tried in three ways, the finest first: as words and marks (equal marks,
//! some words differ); as the parts between `?`, `&`, `;` and `#`; as one value.

use crate::escape::percent::{self, Place};

/// A value that is no token for its length.
const WHOLE_BYTES_MAX: usize = 400;
/// Addresses within addresses within addresses.
const DEPTH_MAX: u32 = 3;

/// Receives a pair of parts: key, old, new.
pub(crate) type Part<'a> = dyn FnMut(&[u8], &[u8], &[u8]) + 'a;

/// Tells each pair of parts that differ; false if the values are no machine's.
pub(crate) fn parts(key: &[u8], old: &[u8], new: &[u8], tell: &mut Part<'_>) -> bool {
    parts_within(key, old, new, 0, tell)
}

fn parts_within(key: &[u8], old: &[u8], new: &[u8], depth: u32, tell: &mut Part<'_>) -> bool {
    if old == new {
        return true;
    }
    if depth < DEPTH_MAX
        && (by_words(key, old, new, depth, tell) || by_parameters(key, old, new, depth, tell))
    {
        return true;
    }
    let is_prose =
        |text: &[u8]| text.iter().any(|b| b.is_ascii_whitespace() || b"<>{}".contains(b));
    if is_prose(old) || is_prose(new) || old.len().max(new.len()) >= WHOLE_BYTES_MAX {
        return false;
    }
    tell_decoded(key, old, new, depth, tell);
    true
}

/// Bytes that a token, a path's segment or a coded value is made of.
fn is_run(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_.-+~%".contains(&byte) || byte >= 0x80
}

/// Runs and single marks.
fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    text.chunk_by(|a, b| is_run(*a) && is_run(*b))
}

/// Same marks, and words that differ.
fn by_words(key: &[u8], old: &[u8], new: &[u8], depth: u32, tell: &mut Part<'_>) -> bool {
    let fits = |(a, b): (&[u8], &[u8])| a == b || is_run(a[0]) && is_run(b[0]);
    let (old_words, new_words) = (words(old), words(new));
    if old_words.clone().count() != new_words.clone().count()
        || !old_words.clone().zip(new_words.clone()).all(fits)
    {
        return false;
    }
    let mut before: [&[u8]; 2] = [b"", b""];
    for (a, b) in old_words.zip(new_words) {
        if a != b {
            let own = if before[1] == b"=" && is_run_of(before[0]) { before[0] } else { key };
            tell_decoded(own, a, b, depth, tell);
        }
        before = [before[1], a];
    }
    true
}

fn is_run_of(word: &[u8]) -> bool {
    word.first().is_some_and(|&byte| is_run(byte))
}

/// Same parameters, and values that differ: those of base64 hold marks of their own.
fn by_parameters(key: &[u8], old: &[u8], new: &[u8], depth: u32, tell: &mut Part<'_>) -> bool {
    let split = |text| <[u8]>::split(text, |byte: &u8| matches!(byte, b'?' | b'&' | b';' | b'#'));
    let pairs = || split(old).zip(split(new)).filter(|(a, b)| a != b);
    let fits = |(a, b): (&[u8], &[u8])| match (parameter(a), parameter(b)) {
        (Some((a_name, _)), Some((b_name, _))) => a_name == b_name,
        _ => false,
    };
    if split(old).count() != split(new).count() || split(old).count() < 2 || !pairs().all(fits) {
        return false;
    }
    let mut is_machine = true;
    for (a, b) in pairs() {
        if let (Some((name, a)), Some((_, b))) = (parameter(a), parameter(b)) {
            let own = if name.is_empty() { key } else { name };
            is_machine &= parts_within(own, a, b, DEPTH_MAX.min(depth + 2), tell);
        }
    }
    is_machine
}

fn parameter(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let equals = memchr::memchr(b'=', text)?;
    Some((&text[..equals], &text[equals + 1..]))
}

/// Tells a pair without percent codes, and, if it hid an address, that address's parts.
fn tell_decoded(key: &[u8], old: &[u8], new: &[u8], depth: u32, tell: &mut Part<'_>) {
    let (a, b) = (percent::decode(old, Place::Path), percent::decode(new, Place::Path));
    tell(key, &a, &b);
    let was_coded = a.len() != old.len() || b.len() != new.len();
    if was_coded && a != b && depth < DEPTH_MAX && a.contains(&b'=') && b.contains(&b'=') {
        parts_within(key, &a, &b, depth + 1, tell);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(old: &str, new: &str, expected: &[&str]) {
        let text = String::from_utf8_lossy;
        let mut found = Vec::new();
        let is_machine = parts(b"key", old.as_bytes(), new.as_bytes(), &mut |key, old, new| {
            found.push(format!("{}: {} -> {}", text(key), text(old), text(new)));
        });
        if !is_machine {
            found.push("prose".to_owned());
        }
        assert_eq!(found, expected, "{old} / {new}");
    }

    #[test]
    fn words_that_differ_are_keyed_by_the_word_before_the_equals_sign() {
        check("abc", "def", &["key: abc -> def"]);
        check("/i.php?a=1&sid=xx#p", "/i.php?a=1&sid=yy#p", &["sid: xx -> yy"]);
        check("/t/1-x/?k=1", "/t/2-x/?k=2", &["key: 1-x -> 2-x", "k: 1 -> 2"]);
        check("same", "same", &[]);
    }

    #[test]
    fn codes_are_read_and_what_they_hide_is_told_as_well() {
        check("r=a%20b", "r=a%20c", &["r: a b -> a c"]);
        check(
            "?to=%2Fi%3Fsid%3Dx1",
            "?to=%2Fi%3Fsid%3Dx2",
            &["to: /i?sid=x1 -> /i?sid=x2", "sid: x1 -> x2"],
        );
    }

    #[test]
    fn values_with_marks_of_their_own_are_values_all_the_same() {
        check("/?t=ab/c==&u=1", "/?t=abcd&u=1", &["t: ab/c== -> abcd"]);
        check("ab/c==", "abcd", &["key: ab/c== -> abcd"]);
        check("/a?x=1", "/a", &["key: /a?x=1 -> /a"]);
    }

    #[test]
    fn prose_is_no_machines() {
        check("by Ann Lee", "by Bob", &["prose"]);
        check("by Ann", "by Bob", &["key: Ann -> Bob"]);
        check(&"a/".repeat(200), "b", &["prose"]);
    }
}
