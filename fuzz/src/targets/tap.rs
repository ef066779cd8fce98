//! A conversation of an app with its database: both directions, in turns.

use changes::tap::{Conversation, Heard};

use crate::cuts::pieces;

/// The same is heard however the bytes were cut, and nothing once it can't be read.
///
/// The input is a row of turns: a byte whose lowest bit says who speaks and whose others how
/// many bytes, and those bytes.
pub(crate) fn run(input: &[u8]) {
    let whole = hear(input, |bytes| vec![bytes]);
    assert_eq!(whole, hear(input, |bytes| pieces(bytes).collect()));
    let unread = whole.iter().position(|heard| *heard == Heard::Unreadable);
    assert!(unread.is_none_or(|at| at + 1 == whole.len()), "{whole:?}");
}

fn hear<'a>(mut input: &'a [u8], cut: impl Fn(&'a [u8]) -> Vec<&'a [u8]>) -> Vec<Heard> {
    let mut conversation = Conversation::default();
    let mut heard = Vec::new();
    while let Some((turn, rest)) = input.split_first() {
        let length = usize::from(turn >> 1);
        let (said, rest) = rest.split_at(rest.len().min(length));
        input = rest;
        for bytes in cut(said) {
            heard.extend(match turn & 1 {
                0 => conversation.client(bytes),
                _ => conversation.server(bytes),
            });
        }
    }
    heard.extend(conversation.end());
    assert!(!conversation.awaits() && conversation.end().is_empty());
    heard
}
