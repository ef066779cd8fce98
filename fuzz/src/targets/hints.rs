//! Early hints: what a page's fields and its head name, told in one field.

use policy::hints::{Hints, LINKS_MAX, TEXT_BYTES_MAX};
use wire::Fields;

use crate::sections::{sections, values};

pub(crate) fn run(input: &[u8]) {
    let [links, body] = sections(input);
    let mut hints = Hints::of(&values("link", links));
    let found = align::preloads(body);
    found.iter().for_each(|link| hints.add(link.as_bytes()));
    let text = hints.into_text();
    assert!(text.len() <= TEXT_BYTES_MAX);
    // It can stand in a field, and whoever reads that finds the same links.
    let mut fields = Fields::new();
    if !text.is_empty() {
        fields.try_push(b"link", &text).expect("no link may hold a control character");
    }
    assert_eq!(Hints::of(&fields).into_text(), text);
    // Each that was found in a page is read as one link, with the same words.
    for link in found.iter().take(LINKS_MAX) {
        let mut fields = Fields::new();
        fields.try_push(b"link", link.as_bytes()).expect("a link is printable");
        let read = Hints::of(&fields);
        assert!(read.left_out == 1 || *read.into_text() == *link.as_bytes(), "{link}");
    }
}
