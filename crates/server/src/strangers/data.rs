//! Data: what may differ between two strangers in an answer that a script reads.
//!
//! In a page a short value in a machine place goes back by a form, and is translated then. In
//! data it may as well be what the script shows: a name, a town, an address. So there only
//! tokens and numbers may differ, and what differs from fetch to fetch by itself.

use align::{Class, Comparison, Document, compare};

/// Refuses data that tell one stranger from another. `again` are later fetches by the first.
pub(super) fn is_for_all(
    first: &Document,
    again: &[&Document],
    other: &Document,
) -> Result<(), align::Refusal> {
    let comparison = compare(first, other)?;
    let Some(span) = texts(&comparison).next() else { return Ok(()) };
    let mut changing = Vec::new();
    for later in again {
        let places = compare(first, later)?;
        changing.extend(texts(&places).map(|span| span.old_place.clone()));
    }
    let is_steady = |span: &&align::Span| !changing.contains(&span.old_place);
    match texts(&comparison).find(is_steady) {
        Some(_) => Err(align::Refusal::Personal { old: span.old.clone(), new: span.new.clone() }),
        None => Ok(()),
    }
}

/// Differences that are neither tokens nor numbers.
fn texts(comparison: &Comparison) -> impl Iterator<Item = &align::Span> {
    let is_number = |value: &[u8]| value.iter().all(u8::is_ascii_digit);
    comparison.spans.iter().filter(move |span| {
        span.class == Class::Weak && !(is_number(&span.old) && is_number(&span.new))
    })
}

#[cfg(test)]
mod tests {
    use align::Kind;
    use wire::Fields;

    use super::*;

    fn check(first: &str, again: &[&str], other: &str, expected: bool) {
        let document = |text: &str| {
            Document::new(Kind::Script, &Fields::new(), text.as_bytes()).expect("it is short")
        };
        let again: Vec<Document> = again.iter().map(|text| document(text)).collect();
        let again: Vec<&Document> = again.iter().collect();
        let judged = is_for_all(&document(first), &again, &document(other));
        assert_eq!(judged.is_ok(), expected, "{first} {other}: {judged:?}");
    }

    #[test]
    fn data_may_differ_in_tokens_and_numbers_only() {
        check(r#"{"news": 3}"#, &[], r#"{"news": 3}"#, true);
        check(r#"{"views": 3}"#, &[], r#"{"views": 4}"#, true);
        let (one, two) = (r#"{"key": "tok1a2b3c4d5e6f7a8b"}"#, r#"{"key": "tok9f8e7d6c5b4a3f2e"}"#);
        check(one, &[], two, true);
        check(r#"{"me": "203.0.113.9"}"#, &[], r#"{"me": "192.0.2.17"}"#, false);
        check(r#"{"me": "Otter"}"#, &[r#"{"me": "Otter"}"#], r#"{"me": "Heron"}"#, false);
        check(r#"{"tip": "Otter"}"#, &[r#"{"tip": "Raven"}"#], r#"{"tip": "Heron"}"#, true);
    }
}
