//! Recorded pairs of pages against what a plain version of the comparison found in them.
//!
//! Where we differ from the record, the difference and its reason stand in
//! `differences.rs`.

use std::collections::BTreeSet;

use align::{Binding, Class, Comparison, Request, Span, compare, may_share};
use serde_json::Value;
use wire::Fields;

use crate::differences::OTHERWISE;
use crate::pairs::{PAIRS, Pair};

/// Lines of the record that we lack, and ours that it lacks.
fn differences(pair: &Pair) -> Vec<String> {
    let comparison = compare(&pair.old_copy(), &pair.new_copy()).expect("pages of moderate length");
    let record: Value = serde_json::from_str(pair.record).expect("the record is JSON");
    let (ours, theirs) = (our_lines(&comparison), recorded_lines(&record));
    let lacking = theirs.difference(&ours).map(|line| format!("- {line}"));
    let additional = ours.difference(&theirs).map(|line| format!("+ {line}"));
    lacking.chain(additional).collect()
}

fn our_lines(comparison: &Comparison) -> BTreeSet<String> {
    let text = String::from_utf8_lossy;
    let mut lines: BTreeSet<String> = comparison
        .spans
        .iter()
        .map(|span| match span.class {
            Class::Visible | Class::Counter => {
                format!("reads {} -> {}", text(&span.old), text(&span.new))
            }
            _ => format!("{}: {} -> {}", text(&span.key), text(&span.old), text(&span.new)),
        })
        .collect();
    lines.insert(format!("left {}", comparison.left));
    lines
}

fn recorded_lines(record: &Value) -> BTreeSet<String> {
    let text = |value: &Value, name: &str| {
        value[name].as_str().expect("the record has this text").to_owned()
    };
    let all = |name: &str| record[name].as_array().expect("the record has this list");
    let machine = all("machine").iter().map(|span| {
        format!("{}: {} -> {}", text(span, "key"), text(span, "old"), text(span, "new"))
    });
    let visible = all("visible")
        .iter()
        .map(|span| format!("reads {} -> {}", text(span, "old"), text(span, "new")));
    let left = [format!("left {}", record["left"])];
    machine.chain(visible).chain(left).collect()
}

#[test]
fn every_pair_gives_the_recorded_differences_or_better_ones() {
    for pair in PAIRS {
        let otherwise = OTHERWISE.iter().find(|otherwise| otherwise.name == pair.name);
        let (reason, lines) = otherwise.map_or(("none", &[][..]), |o| (o.reason, o.lines));
        assert_eq!(differences(pair), lines, "{}: {reason}", pair.name);
    }
    for otherwise in OTHERWISE {
        assert!(PAIRS.iter().any(|pair| pair.name == otherwise.name), "{}", otherwise.name);
    }
}

/// The pairs that may not be shared, and why.
const REFUSED: &[(&str, &str)] = &[
    ("greeting", "two strangers read different texts"),
    ("inserted-block", "parts that only one of two strangers has: 6"),
    ("random-block", "parts that only one of two strangers has: 2"),
];

#[test]
fn pages_are_shared_but_for_those_that_differ_by_person() {
    for pair in PAIRS {
        let (old, new) = (pair.old_copy(), pair.new_copy());
        let found = may_share(&old, &[&old], &new, &[]).map_err(|refusal| refusal.to_string());
        let refused = REFUSED.iter().find(|(name, _)| *name == pair.name);
        let expected = refused.map_or(Ok(()), |(_, why)| Err((*why).to_owned()));
        assert_eq!(found, expected, "{}", pair.name);
    }
}

#[test]
fn what_differs_from_fetch_to_fetch_is_not_personal() {
    let pair = PAIRS.iter().find(|pair| pair.name == "random-block").expect("it is there");
    let (old, new) = (pair.old_copy(), pair.new_copy());
    assert_eq!(may_share(&old, &[&old, &new], &new, &[]), Ok(()));
}

#[test]
fn every_strong_value_of_the_old_copy_becomes_one_of_the_new() {
    let mut translated = 0;
    for pair in PAIRS {
        let (old, new) = (pair.old_copy(), pair.new_copy());
        let comparison = compare(&old, &new).expect("pages of moderate length");
        let binding = Binding::new(&old, &new, comparison.strong_values()).expect("few tokens");
        assert_eq!(binding.missing().count(), 0, "{}", pair.name);
        let news: BTreeSet<&[u8]> = comparison.spans.iter().map(|span| &span.new[..]).collect();
        for span in comparison.spans.iter().filter(|span| span.class == Class::Strong) {
            let fields = Fields::new();
            let request = Request { target: b"/", fields: &fields, body: &span.old };
            let found = binding.translate(&request).expect("a short body");
            assert!(news.contains(&found.body[..]), "{}: {:?}", pair.name, found.body);
            assert_eq!((found.replaced, found.missing.len()), (1, 0), "{}", pair.name);
            translated += 1;
        }
    }
    assert!(translated > 150, "{translated} tokens are hardly a test");
}

#[test]
fn a_comparison_read_backwards_says_the_same() {
    // Of rows that changed places several sets may be kept as anchors; which, depends on
    // the side from which they are read.
    for pair in PAIRS.iter().filter(|pair| pair.name != "row-order") {
        let (old, new) = (pair.old_copy(), pair.new_copy());
        let forth = compare(&old, &new).expect("pages of moderate length");
        let back = compare(&new, &old).expect("pages of moderate length");
        let values = |span: &Span| (span.old.clone(), span.new.clone(), span.old_place.clone());
        let swapped = |span: &Span| (span.new.clone(), span.old.clone(), span.new_place.clone());
        let forth_values: BTreeSet<_> = forth.spans.iter().map(values).map(sortable).collect();
        let back_values: BTreeSet<_> = back.spans.iter().map(swapped).map(sortable).collect();
        assert_eq!(forth_values, back_values, "{}", pair.name);
        assert_eq!(forth.left, back.left, "{}", pair.name);
    }
}

type Sortable = (Vec<u8>, Vec<u8>, u32, u32);

fn sortable((old, new, place): (Vec<u8>, Vec<u8>, std::ops::Range<u32>)) -> Sortable {
    (old, new, place.start, place.end)
}
