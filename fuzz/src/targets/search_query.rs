//! Queries of both languages, and the words of any text.

use search::text::{Analyzer, Dictionaries};
use search::{AttributeKind, Query, Shape, SphinxMode, read_query, read_sphinx};

/// Deeper trees would be walked by recursion too.
const DEPTH_MAX: usize = 100;
const WORDS_MAX: usize = 600;

fn shape() -> Shape {
    Shape::new("fuzz").field("title", 2.0).field("text", 1.0).attribute("a", AttributeKind::Uint)
}

/// A person's query is never an error.
pub(crate) fn run_site(input: &[u8]) {
    judge(&read_query(&String::from_utf8_lossy(input), &shape()));
}

/// Sphinx's may be, and says where.
pub(crate) fn run_sphinx(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    for mode in [
        SphinxMode::All,
        SphinxMode::Any,
        SphinxMode::Phrase,
        SphinxMode::Boolean,
        SphinxMode::Extended,
        SphinxMode::Fullscan,
    ] {
        match read_sphinx(&text, &shape(), mode) {
            Ok(query) => judge(&query),
            Err(error) => assert!(error.at <= text.len(), "{error}"),
        }
    }
}

/// Words stand in the text, in order, and each is something.
pub(crate) fn run_text(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let tokens = Analyzer::new(&shape(), Dictionaries::default()).tokens(&text);
    let mut before = None;
    for token in &tokens {
        assert!(token.from < token.to && text.get(token.from..token.to).is_some(), "{token:?}");
        assert!(!token.text.is_empty(), "{token:?}");
        assert!(before < Some((token.position, token.from)), "{token:?}");
        before = Some((token.position, token.from));
    }
}

fn judge(query: &Query) {
    let mut words = 0;
    query.each_word(&mut |_| words += 1);
    assert!(words <= WORDS_MAX, "{words} words");
    assert!(depth(query, 0) <= DEPTH_MAX);
}

fn depth(query: &Query, above: usize) -> usize {
    assert!(above <= DEPTH_MAX, "too deep");
    let below =
        |parts: &[Query]| parts.iter().map(|part| depth(part, above + 1)).max().unwrap_or(above);
    match query {
        Query::All | Query::Word(_) | Query::Phrase(_) => above,
        Query::And(parts) | Query::Or(parts) | Query::Before(parts) => below(parts),
        Query::Near { parts, .. } | Query::Quorum { parts, .. } => below(parts),
        Query::Not(inner) | Query::Field { query: inner, .. } => depth(inner, above + 1),
        Query::Maybe(first, second) => depth(first, above + 1).max(depth(second, above + 1)),
    }
}
