//! Marked blocks of a page: whatever the page says, and however it comes.

use std::cell::RefCell;

use bytes::Bytes;
use transform::Blocks;

use crate::cuts::pieces;

const NONCE: &[u8] = b"0123456789abcdef";
/// What stands for a block that was filled; no input of a fuzzer has it by chance.
const FILLED: &[u8] = b"\x00(filled)\x00";

pub(crate) fn run(input: &[u8]) {
    // A nonce is too long to be found by trying.
    let page = replaced(input, b"NONCE", NONCE);
    let (whole, texts) = filled([&page[..]].into_iter());
    let in_pieces = filled(pieces(&page));
    assert_eq!(in_pieces, (whole.clone(), texts.clone()), "however it comes");
    if texts.is_empty() {
        assert_eq!(whole, page, "nothing else changes");
    }
    // What goes out is what came, but for as many blocks as were filled.
    let count = memchr::memmem::find_iter(&whole, FILLED).count();
    assert!(count >= texts.len());
    assert!(whole.len() <= page.len() + texts.len() * FILLED.len());
}

/// What the page becomes, and the names and texts of the blocks that were filled.
fn filled<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<u8>, Vec<(String, Vec<u8>)>) {
    let mut blocks = Blocks::new(NONCE).expect("a nonce");
    let texts = RefCell::new(Vec::new());
    let fill = |name: &str, text: &[u8], out: &mut Vec<u8>| {
        out.extend_from_slice(FILLED);
        let is_filled = name != "left";
        if is_filled {
            texts.borrow_mut().push((name.to_owned(), text.to_vec()));
        }
        is_filled
    };
    let mut out = Vec::new();
    for piece in pieces {
        let piece = Bytes::copy_from_slice(piece);
        blocks.write(&piece, fill, |bytes| out.extend_from_slice(&bytes));
    }
    blocks.finish(|bytes| out.extend_from_slice(&bytes));
    (out, texts.into_inner())
}

fn replaced(input: &[u8], word: &[u8], by: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = input;
    while let Some(at) = memchr::memmem::find(rest, word) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(by);
        rest = &rest[at + word.len()..];
    }
    out.extend_from_slice(rest);
    out
}
