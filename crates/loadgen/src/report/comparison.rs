//! Two targets, or two runs, held against each other: each figure with its interval.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::report::Summary;
use crate::report::summary::PointFigures;
use crate::statistics::{CONFIDENCE, Difference, SAMPLES_MIN, apart, paired};

/// The figure that decides.
const DECIDES: &str = "p50";

/// One figure of both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// Which.
    pub figure: String,
    /// By what share the second is larger; none if there is too little to say.
    pub difference: Option<Difference>,
}

/// What a comparison found; "second" is held against "first".
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// What was measured first, or before.
    pub first: String,
    /// What is held against it.
    pub second: String,
    /// Each figure: latencies, or service times in the closed model, and the rate.
    pub figures: Vec<Compared>,
    /// Rounds left out as one of their two runs was void.
    pub void_rounds: usize,
}

type Figure = (&'static str, fn(&Summary) -> f64);
type FigureOfSecond = (&'static str, fn(&PointFigures) -> f64);

/// Latencies are what an open run measures; a closed one has only service times.
const FIGURES: [Figure; 5] = [
    (
        "p50",
        |one| if one.model == "closed" { one.service.p50_us } else { one.latency.p50_us } as f64,
    ),
    (
        "p90",
        |one| if one.model == "closed" { one.service.p90_us } else { one.latency.p90_us } as f64,
    ),
    (
        "p99",
        |one| if one.model == "closed" { one.service.p99_us } else { one.latency.p99_us } as f64,
    ),
    ("mean", |one| if one.model == "closed" { one.service.mean_us } else { one.latency.mean_us }),
    ("rate", |one| one.answers_per_second),
];

impl Comparison {
    /// Of rounds in which both were measured, one after the other.
    #[must_use]
    pub fn of_rounds(first: &str, second: &str, rounds: &[(Summary, Summary)]) -> Self {
        let is_good =
            |(one, other): &&(Summary, Summary)| one.void.is_none() && other.void.is_none();
        let good: Vec<_> = rounds.iter().filter(is_good).collect();
        let figures = FIGURES.iter().map(|(name, figure)| {
            let pairs: Vec<_> = good.iter().map(|(a, b)| (figure(a), figure(b))).collect();
            Compared { figure: (*name).to_owned(), difference: paired(&pairs) }
        });
        let void_rounds = rounds.len() - good.len();
        let (first, second) = (first.to_owned(), second.to_owned());
        Self { first, second, figures: figures.collect(), void_rounds }
    }

    /// Of a run and one that was kept, by the seconds of each. What changed on the machine between
    /// the two is part of the difference.
    #[must_use]
    pub fn of_runs(before: &Summary, now: &Summary) -> Self {
        let figures: [FigureOfSecond; 5] = [
            ("p50", |point| point.latency.p50_us as f64),
            ("p90", |point| point.latency.p90_us as f64),
            ("p99", |point| point.latency.p99_us as f64),
            ("mean", |point| point.latency.mean_us),
            ("rate", |point| point.answered as f64),
        ];
        let compared = figures.iter().map(|(name, figure)| {
            let seconds = |run: &Summary| -> Vec<f64> {
                // The last point is not over, as a rule.
                let whole = run.points.split_last().map_or(&[][..], |(_, whole)| whole);
                let width = run.point_seconds.max(1) as f64;
                let rate = |value: f64| if *name == "rate" { value / width } else { value };
                whole.iter().map(|point| rate(figure(point))).collect()
            };
            let is_void = before.void.is_some() || now.void.is_some();
            let difference = apart(&seconds(before), &seconds(now)).filter(|_| !is_void);
            Compared { figure: (*name).to_owned(), difference }
        });
        let void_rounds = usize::from(before.void.is_some() || now.void.is_some());
        let (first, second) =
            (format!("{}, before", before.target), format!("{}, now", now.target));
        Self { first, second, figures: compared.collect(), void_rounds }
    }

    /// The difference of the figure that decides.
    #[must_use]
    pub fn deciding(&self) -> Option<Difference> {
        self.figures.iter().find(|one| one.figure == DECIDES)?.difference
    }

    /// As text.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = String::new();
        // Writing to a String can't fail.
        let _ = self.write(&mut out);
        out
    }

    /// As JSON, with a line end.
    #[must_use]
    pub fn json(&self) -> String {
        let json = serde_json::to_string_pretty(self).expect("a comparison is plain data");
        format!("{json}\n")
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        let percent = CONFIDENCE * 100.0;
        writeln!(out, "{} against {}\n", self.second, self.first)?;
        writeln!(
            out,
            "{:<8}{:>12}{:>26}{:>22}",
            "",
            "difference",
            format!("{percent} % interval"),
            "smallest to be seen"
        )?;
        for Compared { figure, difference } in &self.figures {
            match difference {
                Some(one) => {
                    let interval = format!("{} to {}", signed(one.low), signed(one.high));
                    let smallest = format!("{:.1} %", one.smallest * 100.0);
                    let share = signed(one.share);
                    writeln!(out, "{figure:<8}{share:>12}{interval:>26}{smallest:>22}")?;
                }
                None => writeln!(out, "{figure:<8}{:>12}", "unknown")?,
            }
        }
        write!(out, "\n{}", self.conclusion())
    }

    /// What follows from it, in lines.
    pub(crate) fn conclusion(&self) -> String {
        let left_out = match self.void_rounds {
            0 => String::new(),
            count => format!("void and left out: {count}\n"),
        };
        let found = match self.deciding() {
            None => format!("VOID: there are fewer than {SAMPLES_MIN} samples to compare"),
            Some(one) if !one.is_one() => format!(
                "no difference of the median was found; one of {:.1} % would have been, four times out of five",
                one.smallest * 100.0
            ),
            Some(one) => {
                let word = if one.share > 0.0 { "slower" } else { "faster" };
                format!("the second is {word}: its median is {}", signed(one.share))
            }
        };
        format!("{left_out}{found}\n")
    }
}

pub(crate) fn signed(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    fn round(number: u64, factor: f64) -> Summary {
        let mut summary = Summary { void: None, ..samples::open() };
        summary.latency.p50_us = ((5_000 + number * 10) as f64 * factor) as u64;
        summary
    }

    #[test]
    fn rounds_are_compared_in_pairs() {
        let rounds: Vec<_> =
            (0..6).map(|number| (round(number, 1.0), round(number, 1.1))).collect();
        let compared = Comparison::of_rounds("http://a/", "http://b/", &rounds);
        let text = compared.text();
        assert!(text.starts_with("http://b/ against http://a/\n"), "{text}");
        assert!(text.ends_with("the second is slower: its median is +10.0 %\n"), "{text}");
        let same: Vec<_> = (0..6).map(|number| (round(number, 1.0), round(number, 1.0))).collect();
        let text = Comparison::of_rounds("a", "b", &same).text();
        assert!(text.contains("no difference of the median was found"), "{text}");
        assert!(text.contains("rate"), "{text}");
        let read: Comparison = serde_json::from_str(&compared.json()).expect("JSON");
        assert_eq!(read.figures.len(), 5);
    }

    #[test]
    fn void_rounds_are_left_out() {
        let mut rounds: Vec<_> =
            (0..6).map(|number| (round(number, 1.0), round(number, 1.1))).collect();
        rounds.iter_mut().take(3).for_each(|(one, _)| one.void = Some("late".to_owned()));
        let compared = Comparison::of_rounds("a", "b", &rounds);
        assert_eq!((compared.deciding(), compared.void_rounds), (None, 3));
        assert!(compared.text().contains("VOID"), "{}", compared.text());
    }

    #[test]
    fn a_run_is_compared_with_one_that_was_kept() {
        let before = Summary { void: None, ..samples::open() };
        let kept: Summary =
            serde_json::from_str(&before.json()).expect("what was saved reads back");
        let same = Comparison::of_runs(&kept, &before);
        assert_eq!(same.deciding().map(|one| (one.share, one.is_one())), Some((0.0, false)));
        let mut slow = before.clone();
        slow.points.iter_mut().for_each(|point| point.latency.p50_us *= 20);
        let slower = Comparison::of_runs(&kept, &slow).deciding().expect("points");
        assert!(slower.is_one() && slower.share > 10.0, "{slower:?}");
        assert_eq!(Comparison::of_runs(&samples::open(), &before).deciding(), None);
    }
}
