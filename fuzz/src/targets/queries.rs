//! Statements and logs of databases: no literal is told, and cuts change nothing.

use queries::classes::Classes;
use queries::fingerprint::{FINGERPRINT_BYTES_MAX, Fingerprinter};
use queries::logs::Reading;
use queries::query::Query;
use queries::tokens::{Dialect, Kind, Tokens, redact};

use crate::cuts::pieces;

pub(crate) fn run_fingerprint(input: &[u8]) {
    let mut maker = Fingerprinter::default();
    for dialect in [Dialect::MySql, Dialect::Postgres] {
        let mut bytes = 0;
        for token in Tokens::new(input, dialect) {
            assert!(!token.text.is_empty());
            bytes += token.text.len();
        }
        assert!(bytes <= input.len());
        let first = maker.of(input, dialect).to_vec();
        assert!(first.len() <= FINGERPRINT_BYTES_MAX + 300);
        assert_eq!(maker.of(&first, dialect), first, "{}", first.escape_ascii());
        // What is no UTF-8 is told as something longer.
        let redacted = std::str::from_utf8(input).map(|_| redact(input, dialect));
        for text in [first.as_slice(), redacted.unwrap_or_default().as_bytes()] {
            let literals = Tokens::new(text, dialect).filter(|one| one.kind == Kind::Literal);
            for literal in literals {
                assert!(matches!(literal.text, b"?" | b"?+"), "{}", text.escape_ascii());
            }
        }
    }
}

pub(crate) fn run_log(input: &[u8]) {
    let whole = told([input].into_iter());
    assert_eq!(told(pieces(input)), whole);
}

/// All that is told of a log in these pieces, with what couldn't be read.
fn told<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<String>, String) {
    let (mut all, mut reading) = (Vec::new(), Reading::default());
    let mut classes = Classes::default();
    let mut take = |query: &Query<'_>| {
        classes.take(query);
        all.push(format!("{query:?}"));
    };
    pieces.for_each(|piece| reading.take(piece, &mut take));
    reading.end(&mut take);
    assert_eq!(classes.all.count, all.len() as u64);
    (all, format!("{:?} {:?}", reading.format(), reading.faults()))
}
