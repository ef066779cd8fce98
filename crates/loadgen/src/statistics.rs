//! Whether two targets differ, by how much, and what difference could have been seen at all.
//!
//! In: a figure of each round, such as a median. Out: by what share the second is larger, with
//! an interval of confidence. Figures are compared by their logarithms, since noise of times is
//! in proportion to them: Student's t over pairs of rounds, Welch's t for two runs.
//! Invariant: of two targets that are the same, at most one in a hundred comparisons says that
//! they differ ([`CONFIDENCE`]); a test plays a thousand.

use serde::{Deserialize, Serialize};

/// Of so many intervals that are told, this share has the true difference in it.
pub const CONFIDENCE: f64 = 0.99;
/// With fewer samples nothing is said.
pub const SAMPLES_MIN: usize = 4;

/// Quantiles of Student's t for 1 to 10 degrees of freedom, and of the normal distribution.
struct Quantiles {
    few: [f64; 10],
    normal: f64,
}

/// What both ends of the interval are at: half of what is left beyond [`CONFIDENCE`] each.
const ENDS: Quantiles = Quantiles {
    few: [63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169],
    normal: 2.575_829,
};
/// A difference is "what could have been seen" if it is found four times out of five.
const POWER: Quantiles = Quantiles {
    few: [1.376, 1.061, 0.978, 0.941, 0.920, 0.906, 0.896, 0.889, 0.883, 0.879],
    normal: 0.841_621,
};

impl Quantiles {
    fn at(&self, degrees: f64) -> f64 {
        let degrees = degrees.max(1.0);
        if degrees <= 10.0 {
            // Between two whole numbers the lower one, whose quantile is larger.
            return self.few[(degrees.floor() as usize - 1).min(9)];
        }
        // The expansion of Abramowitz and Stegun, 26.7.5: right to three digits from here on.
        let z = self.normal;
        let (z3, z5, z7) = (z.powi(3), z.powi(5), z.powi(7));
        z + (z3 + z) / (4.0 * degrees)
            + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * degrees.powi(2))
            + (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / (384.0 * degrees.powi(3))
    }
}

/// By what share the second figure is larger than the first: 0.05 is five percent more.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The best guess.
    pub share: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The smallest difference that such a measurement finds four times out of five.
    pub smallest: f64,
    /// Samples of each.
    pub samples: usize,
}

impl Difference {
    /// Whether the interval leaves out that there is none.
    #[must_use]
    pub fn is_one(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }

    fn of(mean: f64, error: f64, degrees: f64, samples: usize) -> Self {
        let share = |log: f64| log.exp() - 1.0;
        let reach = ENDS.at(degrees) * error;
        let smallest = share(reach + POWER.at(degrees) * error);
        Self {
            share: share(mean),
            low: share(mean - reach),
            high: share(mean + reach),
            smallest,
            samples,
        }
    }
}

/// Of figures that were measured in turns: each pair in the same round.
#[must_use]
pub fn paired(pairs: &[(f64, f64)]) -> Option<Difference> {
    let logs = pairs.iter().filter(|(one, other)| *one > 0.0 && *other > 0.0);
    let logs: Vec<_> = logs.map(|(one, other)| (other / one).ln()).collect();
    let (mean, variance) = moments(&logs)?;
    let count = logs.len() as f64;
    Some(Difference::of(mean, (variance / count).sqrt(), count - 1.0, logs.len()))
}

/// Of figures of two runs, each with its own samples.
#[must_use]
pub fn apart(first: &[f64], second: &[f64]) -> Option<Difference> {
    let logs = |figures: &[f64]| -> Vec<f64> {
        figures.iter().filter(|figure| **figure > 0.0).map(|figure| figure.ln()).collect()
    };
    let (first, second) = (logs(first), logs(second));
    let ((one, one_variance), (two, two_variance)) = (moments(&first)?, moments(&second)?);
    let (n, m) = (first.len() as f64, second.len() as f64);
    let (a, b) = (one_variance / n, two_variance / m);
    // Welch and Satterthwaite; two runs without any noise have as many degrees as samples.
    let degrees = (a + b).powi(2) / (a * a / (n - 1.0) + b * b / (m - 1.0));
    let degrees = if degrees.is_finite() { degrees } else { n + m - 2.0 };
    Some(Difference::of(two - one, (a + b).sqrt(), degrees, first.len().min(second.len())))
}

/// The mean and the variance.
fn moments(values: &[f64]) -> Option<(f64, f64)> {
    if values.len() < SAMPLES_MIN {
        return None;
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    Some((mean, squares / (count - 1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// xorshift64*: the same row of numbers in each run.
    struct Dice(u64);

    impl Dice {
        fn even(&mut self) -> f64 {
            self.0 ^= self.0 >> 12;
            self.0 ^= self.0 << 25;
            self.0 ^= self.0 >> 27;
            (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 53) as f64
        }

        fn normal(&mut self) -> f64 {
            let (one, two) = (self.even().max(1e-300), self.even());
            (-2.0 * one.ln()).sqrt() * (std::f64::consts::TAU * two).cos()
        }

        /// The median of a round, in milliseconds: both targets of a pair share what the
        /// machine does meanwhile, and now and then a round is disturbed.
        fn round(&mut self, slower: f64, drift: f64) -> f64 {
            let disturbed = if self.even() < 0.05 { 0.1 } else { 0.0 };
            5.0 * (1.0 + slower) * (0.015 * self.normal() + drift + disturbed).exp()
        }

        fn pairs(&mut self, count: usize, slower: f64) -> Vec<(f64, f64)> {
            let pair = |_| {
                let drift = 0.2 * self.normal();
                (self.round(0.0, drift), self.round(slower, drift))
            };
            (0..count).map(pair).collect()
        }
    }

    #[test]
    fn the_same_twice_is_hardly_ever_told_to_differ() {
        let mut dice = Dice(0x5eed);
        let mut alarms = [0; 2];
        for _ in 0..1_000 {
            let pairs = dice.pairs(10, 0.0);
            alarms[0] += u32::from(paired(&pairs).expect("rounds").is_one());
            let mut run = || (0..20).map(|_| dice.round(0.0, 0.0)).collect::<Vec<_>>();
            alarms[1] += u32::from(apart(&run(), &run()).expect("samples").is_one());
        }
        assert!(alarms.iter().all(|count| (1..=25).contains(count)), "{alarms:?} of 1000");
    }

    #[test]
    fn five_percent_more_is_found() {
        let mut dice = Dice(0x5eed);
        let mut found = 0;
        for _ in 0..200 {
            let difference = paired(&dice.pairs(20, 0.05)).expect("rounds");
            found += u32::from(difference.is_one() && difference.low > 0.0);
        }
        assert!(found >= 150, "{found} of 200");
        let clear = paired(&dice.pairs(40, 0.05)).expect("rounds");
        assert!(clear.low > 0.0 && clear.high < 0.12, "{clear:?}");
        assert!((0.01..0.05).contains(&clear.smallest), "{clear:?}");
    }

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (degrees, ends, power) in [
            (1.0, 63.657, 1.376),
            (9.0, 3.250, 0.883),
            (11.0, 3.106, 0.876),
            (30.0, 2.750, 0.854),
            (1e9, 2.576, 0.842),
        ] {
            assert!((ENDS.at(degrees) - ends).abs() < 0.002, "{degrees}: {}", ENDS.at(degrees));
            assert!((POWER.at(degrees) - power).abs() < 0.002, "{degrees}: {}", POWER.at(degrees));
        }
    }

    #[test]
    fn too_little_says_nothing() {
        assert_eq!(paired(&[(1.0, 2.0); 3]), None);
        assert_eq!(apart(&[1.0; 3], &[1.0; 9]), None);
        let sure = paired(&[(1.0, 2.0); 4]).expect("rounds");
        assert!((sure.share - 1.0).abs() < 1e-9 && sure.is_one(), "{sure:?}");
        let same = apart(&[1.0; 4], &[1.0; 4]).expect("samples");
        assert!(!same.is_one() && same.share == 0.0, "{same:?}");
    }
}
