//! The files of dictionaries, whole and damaged, and texts that are taken apart by them.

use search::text::{Chinese, Japanese, Listed, Wordlist};

use crate::sections::sections;

const HEADER_BYTES: usize = 72;
const MAGIC: u32 = 0xEF71_8F77;
/// How many characters have their kind in a file.
const CHARACTERS: usize = 0xFFFF;

/// A list, a text, and what is wrong with the file of the list: a place and what it is mixed with,
/// three bytes each.
pub(crate) fn run_chinese(input: &[u8]) {
    let [list, text, wrong] = sections::<3>(input);
    let text = String::from_utf8_lossy(text);
    let mut file = Chinese::file_of(&String::from_utf8_lossy(list));
    let whole = Chinese::of_file(file.clone()).expect("what was made of a list can be read");
    judge(&whole.words(&text), &text);
    let parts = whole.parts(&text);
    judge(&parts, &text);
    assert!(parts.windows(2).all(|pair| pair[0].to <= pair[1].from), "{parts:?}");
    spoil(&mut file, wrong);
    if let Some(spoilt) = Chinese::of_file(file) {
        judge(&spoilt.words(&text), &text);
        judge(&spoilt.parts(&text), &text);
    }
}

/// A text, what is wrong, and a dictionary: how many bytes its tree has and its tokens, two bytes
/// each; then the tree, the tokens, and what is said of them. What isn't known is looked up in the
/// same.
pub(crate) fn run_japanese(input: &[u8]) {
    let [text, wrong, body] = sections::<3>(input);
    let text = String::from_utf8_lossy(text);
    let length = |at: usize| {
        body.get(at..at + 2).map_or(0, |two| usize::from(two[0]) + 256 * usize::from(two[1]))
    };
    let rest = body.get(4..).unwrap_or_default();
    let tree = length(0).min(rest.len());
    let tokens = length(2).min(rest.len() - tree);
    let mut words = vec![0; HEADER_BYTES];
    words.extend(rest);
    spoil(&mut words[HEADER_BYTES..], wrong);
    let sizes = [tree, tokens, rest.len() - tree - tokens];
    let numbers = [MAGIC ^ number(words.len()), 102, 0, 0, 0, 0];
    for (at, value) in numbers.into_iter().chain(sizes.map(number)).enumerate() {
        words[4 * at..][..4].copy_from_slice(&value.to_le_bytes());
    }
    words[40..45].copy_from_slice(b"utf-8");
    let mut matrix = vec![2, 0, 2, 0];
    matrix.extend([9, 0, 3, 0, 1, 0, 7, 0]);
    let mut characters = 1_u32.to_le_bytes().to_vec();
    characters.extend(*b"DEFAULT\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    // All are alike and of two characters at most, or what the damage says.
    let kind = wrong.first_chunk::<4>().copied().unwrap_or([1, 0, 0, 0x48]);
    characters.extend(kind.repeat(CHARACTERS));
    let japanese = Japanese::of_files([words.clone(), words, matrix, characters]);
    judge(&japanese.expect("its sizes are right").words(&text), &text);
}

fn number(length: usize) -> u32 {
    u32::try_from(length).expect("inputs are short")
}

fn spoil(file: &mut [u8], wrong: &[u8]) {
    for three in wrong.chunks_exact(3) {
        let at = usize::from(three[0]) + 256 * usize::from(three[1]);
        if let Some(byte) = file.get_mut(at) {
            *byte ^= three[2];
        }
    }
}

/// Words are in the text, by where they begin, and each is something.
fn judge(listed: &[Listed], text: &str) {
    for one in listed {
        assert!(one.from < one.to && text.get(one.from..one.to).is_some(), "{one:?}");
        assert!(one.term.as_ref().is_none_or(|term| !term.is_empty()), "{one:?}");
    }
    assert!(listed.windows(2).all(|pair| pair[0].from <= pair[1].from), "{listed:?}");
}
