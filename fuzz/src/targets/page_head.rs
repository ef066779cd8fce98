//! What is put into the head of a page, and the policies that have to allow it.

use bytes::Bytes;
use policy::permit_script::permit_script;
use transform::Inserter;

use crate::cuts::pieces;
use crate::sections::{sections, values};

const INSERTION: &[u8] = b"<script>it</script>";
const HASH: &str = "'sha256-it'";

pub(crate) fn run(input: &[u8]) {
    let [policies, page] = sections(input);
    let mut response = values("content-security-policy", policies);
    permit_script(&mut response, HASH);
    let once = response.clone();
    permit_script(&mut response, HASH);
    assert_eq!(response, once, "what is allowed is not allowed twice");
    insert(page);
}

fn insert(page: &[u8]) {
    let whole = inserted([page].into_iter());
    assert_eq!(inserted(pieces(page)), whole, "however it comes");
    if whole.len() == page.len() {
        assert_eq!(whole, page);
        return;
    }
    // One insertion, before a tag, and nothing else changed.
    let mut places = memchr::memmem::find_iter(&whole, INSERTION);
    assert!(places.any(|at| {
        let (before, after) = (&whole[..at], &whole[at + INSERTION.len()..]);
        after.first() == Some(&b'<') && [before, after].concat() == page
    }));
}

fn inserted<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut inserter = Inserter::new(Bytes::from_static(INSERTION));
    let mut out = Vec::new();
    for piece in pieces {
        inserter.write(Bytes::copy_from_slice(piece), |bytes| out.extend_from_slice(&bytes));
    }
    inserter.finish(|bytes| out.extend_from_slice(&bytes));
    out
}
