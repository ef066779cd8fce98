//! Verdicts: how a request was answered, in one word, and why.
//!
//! One value feeds `Cache-Status`, the log, the counters and the scenes.
//! Invariant: [`Verdict::index`] is dense, and `ALL[v.index()] == v`.

use std::fmt;

use crate::reason::{FailReason, MissReason, OwnReason, PassReason, RefuseReason, StaleReason};

/// How a request was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// From the store, fresh.
    Hit,
    /// From the store, after the origin said that it is still good.
    Revalidated,
    /// With an answer that somebody else's request brought at the same time.
    Collapsed,
    /// With a page that another node of the cluster had, or fetched for all of them.
    Fellow,
    /// By Wick itself.
    Synthetic(OwnReason),
    /// From the store, no longer fresh.
    Stale(StaleReason),
    /// By the origin, for everybody.
    Miss(MissReason),
    /// By the origin, for this visitor alone.
    Pass(PassReason),
    /// Not at all: the request is at fault.
    Refused(RefuseReason),
    /// Not at all: no answer was to be had.
    Failed(FailReason),
}

const PLAIN: [Verdict; 4] =
    [Verdict::Hit, Verdict::Revalidated, Verdict::Collapsed, Verdict::Fellow];
const SYNTHETIC_START: usize = PLAIN.len();
const STALE_START: usize = SYNTHETIC_START + OwnReason::ALL.len();
const MISS_START: usize = STALE_START + StaleReason::ALL.len();
const PASS_START: usize = MISS_START + MissReason::ALL.len();
const REFUSED_START: usize = PASS_START + PassReason::ALL.len();
const FAILED_START: usize = REFUSED_START + RefuseReason::ALL.len();

impl Verdict {
    /// How many verdicts there are.
    pub const COUNT: usize = FAILED_START + FailReason::ALL.len();

    /// Every verdict, at its index.
    pub const ALL: &'static [Self] = &Self::all();

    const fn all() -> [Self; Self::COUNT] {
        let mut all = [Self::Hit; Self::COUNT];
        let mut at = 0;
        while at < Self::COUNT {
            all[at] = if at < SYNTHETIC_START {
                PLAIN[at]
            } else if at < STALE_START {
                Self::Synthetic(OwnReason::ALL[at - SYNTHETIC_START])
            } else if at < MISS_START {
                Self::Stale(StaleReason::ALL[at - STALE_START])
            } else if at < PASS_START {
                Self::Miss(MissReason::ALL[at - MISS_START])
            } else if at < REFUSED_START {
                Self::Pass(PassReason::ALL[at - PASS_START])
            } else if at < FAILED_START {
                Self::Refused(RefuseReason::ALL[at - REFUSED_START])
            } else {
                Self::Failed(FailReason::ALL[at - FAILED_START])
            };
            at += 1;
        }
        all
    }

    /// The verdict's place in [`Verdict::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        match self {
            Self::Hit => 0,
            Self::Revalidated => 1,
            Self::Collapsed => 2,
            Self::Fellow => 3,
            Self::Synthetic(reason) => SYNTHETIC_START + reason as usize,
            Self::Stale(reason) => STALE_START + reason as usize,
            Self::Miss(reason) => MISS_START + reason as usize,
            Self::Pass(reason) => PASS_START + reason as usize,
            Self::Refused(reason) => REFUSED_START + reason as usize,
            Self::Failed(reason) => FAILED_START + reason as usize,
        }
    }

    /// The verdict in one word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Revalidated => "revalidated",
            Self::Collapsed => "collapsed",
            Self::Fellow => "fellow",
            Self::Synthetic(_) => "synthetic",
            Self::Stale(_) => "stale",
            Self::Miss(_) => "miss",
            Self::Pass(_) => "pass",
            Self::Refused(_) => "refused",
            Self::Failed(_) => "failed",
        }
    }

    /// Why; empty for a verdict that needs no reason.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Hit | Self::Revalidated | Self::Collapsed | Self::Fellow => "",
            Self::Synthetic(reason) => reason.reason(),
            Self::Stale(reason) => reason.reason(),
            Self::Miss(reason) => reason.reason(),
            Self::Pass(reason) => reason.reason(),
            Self::Refused(reason) => reason.reason(),
            Self::Failed(reason) => reason.reason(),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason() {
            "" => f.write_str(self.word()),
            reason => write!(f, "{}({reason})", self.word()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verdict_stands_at_its_index_and_reads_differently() {
        let texts: Vec<_> = Verdict::ALL.iter().map(ToString::to_string).collect();
        for (at, verdict) in Verdict::ALL.iter().enumerate() {
            assert_eq!(verdict.index(), at, "{verdict}");
            assert!(!texts[..at].contains(&texts[at]), "{verdict} twice");
        }
        assert_eq!(texts.len(), Verdict::COUNT);
    }

    #[test]
    fn a_verdict_reads_as_word_and_reason() {
        assert_eq!(Verdict::Hit.to_string(), "hit");
        assert_eq!(Verdict::Miss(MissReason::UriMiss).to_string(), "miss(uri-miss)");
        assert_eq!(Verdict::Failed(FailReason::QueueFull).to_string(), "failed(queue-full)");
    }
}
