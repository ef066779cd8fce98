//! A file of history: whatever is in it, points come in order, within the span, and each of
//! them is one that was written. The same bytes as records of single answers.

use observe::history::{POINTS_MAX, Span, TIERS, read_bytes};

/// The input is a span, in twelve bytes, and the file.
pub(crate) fn run(input: &[u8]) {
    let Some((span, file)) = input.split_at_checked(12) else { return };
    let number = |at: usize| -> u64 {
        span[at..at + 4].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
    };
    // No longer than takes a moment to look through.
    let from = number(0);
    let span = Span { from, to: from.saturating_add(number(4) % 200_000), step: number(8) };
    for (place, record) in (0..).zip(file.chunks(observe::kept::RECORD_BYTES)) {
        if let Some(kept) = observe::kept::read_record(record, place) {
            assert!(kept.path.len() + kept.host.len() < record.len() * 3, "{kept:?}");
        }
    }
    for tier in TIERS {
        let points = read_bytes(file, tier, span);
        assert!(points.len() as u64 <= POINTS_MAX + 2, "{} points", points.len());
        let mut before = None;
        for point in &points {
            assert!(before < Some(point.time) && point.time < span.to, "{point:?}");
            before = Some(point.time);
            let shares = [0.0, 0.5, 1.0].map(|share| point.times().percentile(share));
            assert!(shares.is_sorted(), "{point:?}");
        }
    }
}
