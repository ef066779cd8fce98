//! Times as a histogram: how many were below each of a few bounds, and traces that show such.

use crate::histogram::{self, Histogram};
use crate::traces::exemplars::Each;

use super::{Family, Kind, Page};

/// Times that were counted, with a trace for each class of which one is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// The counts.
    pub counts: Histogram,
    /// The traces.
    pub exemplars: Each,
}

impl Page {
    /// A histogram in seconds.
    pub fn times(&mut self, name: &str, help: &str, times: &Times) {
        let written = self.family(Family { name, kind: Kind::Histogram, help });
        let count = times.counts.count();
        let bounds = histogram::bounds().map(|bound_us| seconds(bound_us).to_string());
        let below = times.counts.below().into_iter().chain([count]);
        let rows = bounds.chain(["+Inf".to_owned()]).zip(below).zip(times.exemplars);
        for ((bound, below), exemplar) in rows {
            let shown = exemplar.map(|it| {
                let (took, when) = (seconds(it.took_us), it.unix_ms as f64 / 1e3);
                format!(" # {{trace_id=\"{:032x}\"}} {took} {when:.3}", it.trace)
            });
            written.add("_bucket", &[("le", &bound)], below, shown.unwrap_or_default());
        }
        written.add("_sum", &[], seconds(times.counts.sum_us()), String::new());
        written.add("_count", &[], count, String::new());
    }
}

fn seconds(microseconds: u64) -> f64 {
    microseconds as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Format;
    use crate::traces::{Exemplar, Exemplars};

    #[test]
    fn times_are_told_by_bounds_with_a_trace_where_one_is_known() {
        let mut times = Times::default();
        [100, 300, 300, 700_000, 99_000_000].iter().for_each(|time| times.counts.add(*time));
        let exemplars = Exemplars::default();
        for took_us in [700_000, 99_000_000] {
            exemplars.note(Exemplar { trace: 0xabc, took_us, unix_ms: 1_789_000_000_500 });
        }
        times.exemplars = exemplars.each();
        let mut page = Page::default();
        page.times("wick_answer_seconds", "How long.", &times);
        let text = page.finish(Format::OpenMetrics);
        for line in [
            "# TYPE wick_answer_seconds histogram\n# UNIT wick_answer_seconds seconds\n",
            "wick_answer_seconds_bucket{le=\"0.000256\"} 1\n",
            "wick_answer_seconds_bucket{le=\"0.000512\"} 3\n",
            "wick_answer_seconds_bucket{le=\"1.048576\"} 4 \
             # {trace_id=\"00000000000000000000000000000abc\"} 0.7 1789000000.500\n",
            "wick_answer_seconds_bucket{le=\"+Inf\"} 5 \
             # {trace_id=\"00000000000000000000000000000abc\"} 99 1789000000.500\n",
            "wick_answer_seconds_count 5\n",
        ] {
            assert!(text.contains(line), "{line}{text}");
        }
        let older = page.finish(Format::Prometheus);
        assert!(!older.contains("trace_id") && !older.contains("UNIT") && !older.contains("EOF"));
        assert_eq!(older.lines().count(), 2 + histogram::BOUNDS + 3);
    }
}
