//! When a certificate is got anew, and when it is tried again after a failure.
//!
//! Pure: times and a die go in, times come out. A die is a number from 0 up to 1, thrown by
//! the caller, so that a thousand Wicks that were started together don't come together.

use std::time::Duration;

use server::Facts;

/// Why there is no certificate, as far as it matters for the next try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setback {
    /// The CA did not hear us: asking again costs it nothing.
    Unheard,
    /// It said no. CAs count those, and Let's Encrypt bears five an hour for one name.
    Refused,
}

/// The second of unix time at which a certificate is got anew: after two thirds of its life,
/// or a little later.
pub(crate) fn renewal(facts: &Facts, die: f64) -> i64 {
    let life = (facts.not_after - facts.not_before).max(0) as f64;
    facts.not_before + (life * (2.0 + 0.1 * die) / 3.0) as i64
}

/// The second after which it is dangerous to wait.
pub(crate) fn latest(facts: &Facts) -> i64 {
    let life = (facts.not_after - facts.not_before).max(0);
    facts.not_after - life / 10
}

/// How many seconds a new certificate serves at least, whatever a CA wishes.
pub(crate) fn shortest(facts: &Facts) -> i64 {
    ((facts.not_after - facts.not_before).max(0) / 20).min(3600)
}

/// The second that the CA wants: anywhere in its window (RFC 9773 §4.2).
pub(crate) fn renewal_within(start: i64, end: i64, die: f64) -> i64 {
    start + ((end - start).max(0) as f64 * die) as i64
}

/// How long to wait after so many setbacks in a row.
pub(crate) fn pause(setback: Setback, times: u32, die: f64) -> Duration {
    let (first, factor, longest): (f64, f64, f64) = match setback {
        Setback::Unheard => (4.0, 2.0, 600.0),
        Setback::Refused => (60.0, 4.0, 43_200.0),
    };
    let steps = times.saturating_sub(1).min(64);
    let whole = (first * factor.powi(steps as i32)).min(longest);
    Duration::from_secs_f64(whole * (0.5 + 0.5 * die))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_got_anew_after_two_thirds_of_its_life() {
        let facts = |not_before, not_after| Facts { not_before, not_after, ..Facts::default() };
        for (not_before, not_after, die, expected) in [
            (0, 90, 0.0, 60),
            (0, 90, 1.0, 63),
            (1000, 1300, 0.0, 1200),
            (0, 0, 0.5, 0),
            // One that ends before it begins.
            (100, 0, 0.5, 100),
        ] {
            assert_eq!(renewal(&facts(not_before, not_after), die), expected);
        }
        assert_eq!((shortest(&facts(0, 90)), shortest(&facts(0, 7_776_000))), (4, 3600));
        assert_eq!(latest(&facts(0, 90)), 81);
        assert_eq!(renewal_within(100, 200, 0.25), 125);
        assert_eq!(renewal_within(200, 100, 0.25), 200);
    }

    #[test]
    fn pauses_grow_to_a_bound_and_are_never_the_same() {
        for (setback, times, shortest, longest) in [
            (Setback::Unheard, 1, 2.0, 4.0),
            (Setback::Unheard, 3, 8.0, 16.0),
            (Setback::Unheard, 1000, 300.0, 600.0),
            (Setback::Refused, 1, 30.0, 60.0),
            (Setback::Refused, 2, 120.0, 240.0),
            (Setback::Refused, u32::MAX, 21_600.0, 43_200.0),
        ] {
            assert_eq!(pause(setback, times, 0.0).as_secs_f64(), shortest);
            assert_eq!(pause(setback, times, 1.0).as_secs_f64(), longest);
        }
    }
}
