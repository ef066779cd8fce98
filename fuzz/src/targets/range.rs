//! Ranges: the request's fields, the stored ones, and the length of the body.

use policy::Selection;
use policy::range::{RANGES_MAX, select};

use crate::sections::{fields, sections};

pub(crate) fn run(input: &[u8]) {
    let [request, stored, length] = sections(input);
    let length = std::str::from_utf8(length).ok().and_then(|text| text.trim().parse().ok());
    let length: u64 = length.unwrap_or(1000);
    match select(&fields(request), &fields(stored), length) {
        Selection::Full | Selection::Unsatisfiable => {}
        Selection::Partial(range) => assert!(range.start() <= range.end() && *range.end() < length),
        Selection::Several(ranges) => {
            assert!((2..=RANGES_MAX).contains(&ranges.len()));
            assert!(ranges.iter().all(|range| range.start() <= range.end()));
            assert!(ranges.iter().all(|range| *range.end() < length));
            let mut sorted = ranges.clone();
            sorted.sort_unstable_by_key(|range| *range.start());
            assert!(sorted.windows(2).all(|pair| pair[0].end() < pair[1].start()), "{ranges:?}");
        }
    }
}
