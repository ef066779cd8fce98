//! What the demo measured, side by side.
//!
//! Invariant: where anything failed there is no ratio, and the reason is told.
//! Start at [`table`].

use std::collections::BTreeMap;
use std::time::Duration;

use loadgen::Outcome;

/// What a load measured.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    /// Answers with status 200.
    pub(crate) answers: u64,
    /// Anything else, by what it was.
    pub(crate) failures: BTreeMap<String, u64>,
    /// From the beginning to the last answer.
    pub(crate) time: Duration,
    /// The latency that half of the answers did not exceed.
    pub(crate) half: Duration,
    /// The same of 99 %.
    pub(crate) most: Duration,
}

impl Measured {
    /// What of a load's outcome is shown.
    pub(crate) fn of(outcome: &Outcome) -> Self {
        let tally = &outcome.tally;
        let statuses = tally.statuses.iter().filter(|(status, _)| **status != 200);
        let statuses = statuses.map(|(status, count)| (format!("status {status}"), *count));
        let failures = tally.failures.iter();
        let failures = failures.map(|(kind, failures)| (kind.shown().to_owned(), failures.count));
        let latency = |share| Duration::from_micros(tally.latency.value_at_quantile(share));
        Self {
            answers: tally.statuses.get(&200).copied().unwrap_or_default(),
            failures: statuses.chain(failures).collect(),
            time: outcome.time,
            half: latency(0.5),
            most: latency(0.99),
        }
    }

    /// Answers in a second.
    fn rate(&self) -> f64 {
        self.answers as f64 / self.time.as_secs_f64().max(1e-9)
    }

    /// Why nothing can be concluded from this; none if something can.
    fn void(&self) -> Option<String> {
        let failed = self.failures.values().sum::<u64>();
        if failed > 0 {
            let each = self.failures.iter().map(|(what, count)| format!("{what}: {count}"));
            let each = each.collect::<Vec<_>>().join(", ");
            return Some(format!("{failed} of {} requests failed ({each})", failed + self.answers));
        }
        (self.answers == 0).then(|| "no answer came in time".to_owned())
    }
}

/// One column of the table.
#[derive(Default)]
pub(crate) struct Side {
    pub(crate) measured: Measured,
    /// Used by Wick, its php-fpm and the app's database meanwhile, the load not included.
    pub(crate) processor: Duration,
    /// Requests that reached PHP meanwhile.
    pub(crate) made_by_php: u64,
}

impl Side {
    fn processor_ms_a_page(&self) -> f64 {
        self.processor.as_secs_f64() * 1000.0 / self.measured.answers.max(1) as f64
    }
}

/// Why there is nothing to conclude; none if there is.
pub(crate) fn void(sides: &[Side; 2]) -> Option<String> {
    let [plain, fast] = sides;
    let named = |side: &str, why: String| format!("{side}, {why}");
    let plain = plain.measured.void().map(|why| named("before", why));
    plain.or_else(|| fast.measured.void().map(|why| named("behind Wick", why)))
}

/// The figures side by side; ratios only where nothing failed.
pub(crate) fn table(sides: &[Side; 2]) -> String {
    let [plain, fast] = sides;
    let is_void = void(sides).is_some();
    let ms = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1000.0);
    let row = |name: &str, cells: [String; 2], ratio: Option<f64>, word: &str| {
        let ratio = ratio.filter(|ratio| ratio.is_finite() && !is_void);
        let ratio =
            ratio.map_or(String::new(), |ratio| format!("   {} times {word}", times(ratio)));
        let line = format!("  {name:<22}{:>12}{:>16}{ratio}", cells[0], cells[1]);
        format!("{}\n", line.trim_end())
    };
    let both = |cell: &dyn Fn(&Side) -> String| [cell(plain), cell(fast)];
    let mut text = String::from("\n");
    text += &row("", ["before".into(), "behind Wick".into()], None, "");
    text += &row(
        "pages a second",
        both(&|side| grouped(side.measured.rate())),
        Some(fast.measured.rate() / plain.measured.rate()),
        "as many",
    );
    text += &row(
        "CPU time a page",
        both(&|side| format!("{:.3} ms", side.processor_ms_a_page())),
        Some(plain.processor_ms_a_page() / fast.processor_ms_a_page()),
        "less",
    );
    text += &row("half are answered in", both(&|side| ms(side.measured.half)), None, "");
    text += &row("99 % are answered in", both(&|side| ms(side.measured.most)), None, "");
    text += &row("pages made by PHP", both(&|side| grouped(side.made_by_php as f64)), None, "");
    let failures = both(&|side| grouped(side.measured.failures.values().sum::<u64>() as f64));
    text += &row("failures", failures, None, "");
    text + "\n  CPU time is that of Wick, php-fpm and the app's database together, without the load's.\n"
}

/// `12345.6` as `12,346`.
pub(crate) fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A ratio with no more digits than it deserves.
fn times(ratio: f64) -> String {
    if ratio < 10.0 { format!("{ratio:.1}") } else { grouped(ratio) }
}

#[cfg(test)]
mod tests {
    use loadgen::tally::{FailureKind, Failures, Tally};

    use super::*;

    fn side(answers: u64, failures: u64, processor_ms: u64) -> Side {
        let failures = (failures > 0).then(|| ("status 503".to_owned(), failures));
        let measured = Measured {
            answers,
            failures: failures.into_iter().collect(),
            time: Duration::from_secs(2),
            ..Measured::default()
        };
        Side { measured, processor: Duration::from_millis(processor_ms), made_by_php: answers }
    }

    #[test]
    fn the_two_headlines_are_ratios_of_rate_and_of_processor_time() {
        let sides = [side(1000, 0, 2000), side(50_000, 0, 1000)];
        let text = table(&sides);
        assert!(text.contains("500          25,000   50 times as many"), "{text}");
        assert!(text.contains("2.000 ms        0.020 ms   100 times less"), "{text}");
        assert_eq!(void(&sides), None);
    }

    #[test]
    fn a_run_with_failures_has_no_ratio_and_says_why() {
        for (sides, why) in [
            ([side(9, 1, 1), side(90, 0, 1)], "before, 1 of 10 requests failed (status 503: 1)"),
            ([side(9, 0, 1), side(0, 0, 1)], "behind Wick, no answer came in time"),
        ] {
            assert_eq!(void(&sides).as_deref(), Some(why));
            assert!(!table(&sides).contains("times"), "{}", table(&sides));
        }
    }

    #[test]
    fn what_is_no_page_is_a_failure_by_its_name() {
        let mut tally = Tally::default();
        tally.statuses.extend([(200, 2), (503, 2)]);
        let unfinished = Failures { count: 1, first: String::new() };
        tally.failures.insert(FailureKind::Unfinished, unfinished);
        let (time, cpu) = (Duration::from_secs(1), Duration::ZERO);
        let measured = Measured::of(&Outcome { tally, time, cpu, busiest: 0.0, is_stopped: false });
        assert_eq!((measured.answers, measured.rate()), (2, 2.0));
        let why = measured.void().expect("failures void it");
        assert_eq!(why, "3 of 5 requests failed (status 503: 2, unfinished at the end: 1)");
    }

    #[test]
    fn numbers_are_grouped_and_ratios_are_modest() {
        for (number, text) in
            [(0.0, "0"), (999.4, "999"), (1000.0, "1,000"), (1_234_567.0, "1,234,567")]
        {
            assert_eq!(grouped(number), text);
        }
        assert_eq!((times(1.26), times(45.6)), ("1.3".into(), "46".into()));
    }
}
