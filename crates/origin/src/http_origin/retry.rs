//! Whether a request that failed at one server may go to another.
//!
//! Law: RFC 9110 §9.2.2. Pure but for the budget's counter.
//! Invariants: 1. what a server may have seen is sent again only if doing it twice is doing
//! it once. 2. all in all no more than a fifth of the requests are sent again, after a
//! reserve that lets each request survive that was with a server when it died: servers that
//! are slow under their load are not asked twice for everything.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::OriginError;

/// What is known of an attempt that failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempted<'a> {
    pub(crate) error: &'a OriginError,
    /// The method is idempotent, and there is no body, which could not be had again.
    pub(crate) is_repeatable: bool,
    /// Not a byte of the request was sent.
    pub(crate) is_unsent: bool,
}

/// Whether another server may be asked.
pub(crate) fn may_go_elsewhere(attempted: Attempted<'_>) -> bool {
    let is_unanswered = matches!(
        attempted.error,
        OriginError::Unreachable(_)
            | OriginError::Untrusted(_)
            | OriginError::ConnectTimeout { .. }
            | OriginError::FirstByteTimeout { .. }
            | OriginError::Reset(_)
    );
    is_unanswered && (attempted.is_unsent || attempted.is_repeatable)
}

/// Whether an error speaks against the server's health. An error of the visitor's doesn't.
pub(crate) fn is_trouble(error: &OriginError) -> bool {
    matches!(
        error,
        OriginError::Unreachable(_)
            | OriginError::Untrusted(_)
            | OriginError::ConnectTimeout { .. }
            | OriginError::FirstByteTimeout { .. }
            | OriginError::Reset(_)
            | OriginError::Malformed(_)
    )
}

/// What one retry costs, in requests.
const COST: u32 = 5;

/// How many requests may be sent again.
#[derive(Debug)]
pub(crate) struct Budget {
    earned: AtomicU32,
    most: u32,
}

impl Budget {
    /// One that may be overdrawn by `reserve` retries.
    pub(crate) fn new(reserve: usize) -> Self {
        let most = u32::try_from(reserve).unwrap_or(u32::MAX).saturating_mul(COST);
        Self { earned: AtomicU32::new(most), most }
    }

    /// A request came.
    pub(crate) fn earn(&self) {
        // Most of the time it is full, and there is nothing to write.
        if self.earned.load(Ordering::Relaxed) < self.most {
            self.change(|earned| Some((earned + 1).min(self.most)));
        }
    }

    /// Takes what a retry costs; false if it isn't there.
    pub(crate) fn spend(&self) -> bool {
        self.change(|earned| earned.checked_sub(COST))
    }

    fn change(&self, next: impl FnMut(u32) -> Option<u32>) -> bool {
        self.earned.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use wire::BodyError;

    use super::*;

    #[test]
    fn only_what_was_not_seen_or_may_be_done_twice_goes_elsewhere() {
        let refused = OriginError::Unreachable(String::new());
        let reset = OriginError::Reset(String::new());
        let silent = OriginError::FirstByteTimeout { seconds: 60 };
        let malformed = OriginError::Malformed(String::new());
        let client = OriginError::Client(BodyError::Client(String::new()));
        let full = OriginError::QueueFull { waiting: 1 };
        for (error, is_repeatable, is_unsent, expected) in [
            (&refused, true, true, true),
            (&refused, false, true, true),
            (&reset, true, false, true),
            (&reset, false, true, true),
            (&reset, false, false, false),
            (&silent, true, false, true),
            (&silent, false, false, false),
            // It was answered, if by nonsense.
            (&malformed, true, false, false),
            (&client, true, true, false),
            (&full, true, true, false),
        ] {
            let attempted = Attempted { error, is_repeatable, is_unsent };
            assert_eq!(may_go_elsewhere(attempted), expected, "{attempted:?}");
        }
    }

    #[test]
    fn after_the_reserve_one_request_in_five_may_be_sent_again() {
        let budget = Budget::new(10);
        (0..10).for_each(|_| assert!(budget.spend()));
        assert!(!budget.spend());
        let mut retries = 0;
        for _ in 0..1_000 {
            budget.earn();
            retries += u32::from(budget.spend());
        }
        assert_eq!(retries, 200);
        (0..1_000).for_each(|_| budget.earn());
        assert_eq!((0..1_000).filter(|_| budget.spend()).count(), 10, "no more than the reserve");
    }
}
