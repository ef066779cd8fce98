//! Terms: what was decided about a response when it was stored.
//!
//! Small enough to be copied, and all that [`crate::judge`] needs on a hit.
//! Law: RFC 9111 §4.2.3 (age).

/// How a stored response may be used, and from when to when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// When the response arrived, in ticks.
    pub stored_ticks_ms: u64,
    /// How old it was when it arrived (`corrected_initial_age`).
    pub initial_age_ms: u64,
    /// How old it may become and still be fresh.
    pub lifetime_ms: u64,
    /// What the response says about being served stale while it is refreshed.
    pub stale_while_revalidate_seconds: Option<u32>,
    /// What the response says about being served stale when the origin fails.
    pub stale_if_error_seconds: Option<u32>,
    /// It must never be served stale.
    pub must_revalidate: bool,
    /// It must be validated before each use.
    pub no_cache: bool,
    /// It says itself that requests with credentials may be given it (RFC 9111 §3.5).
    pub shared_with_authorization: bool,
    /// It says itself that it is for everybody: it has a lifetime of its own, or `public`.
    /// What doesn't is kept from those who bear a cookie.
    pub explicit: bool,
}

impl Terms {
    /// Terms under which a response that arrived then is good for nothing more.
    #[must_use]
    pub const fn expired(stored_ticks_ms: u64) -> Self {
        Self {
            stored_ticks_ms,
            initial_age_ms: 0,
            lifetime_ms: 0,
            stale_while_revalidate_seconds: None,
            stale_if_error_seconds: None,
            must_revalidate: true,
            no_cache: true,
            shared_with_authorization: false,
            explicit: false,
        }
    }

    /// The same for a response that was made stale at that time: what of its lifetime was
    /// left then is gone.
    #[must_use]
    pub const fn stale_since(self, ticks_ms: u64) -> Self {
        let age_ms = self.age_ms(ticks_ms);
        let lifetime_ms = if age_ms < self.lifetime_ms { age_ms } else { self.lifetime_ms };
        Self { lifetime_ms, ..self }
    }

    /// How old the response is.
    #[must_use]
    pub const fn age_ms(&self, ticks_ms: u64) -> u64 {
        self.initial_age_ms.saturating_add(ticks_ms.saturating_sub(self.stored_ticks_ms))
    }

    /// Whether those who waited for this very response may have it as well: it was fresh
    /// when it arrived, and need not be validated for each of them (RFC 9111 §4).
    #[must_use]
    pub const fn answers_waiters(&self) -> bool {
        !self.no_cache && self.lifetime_ms > self.initial_age_ms
    }
}

/// How long the response stays fresh; negative once it is stale.
#[must_use]
pub const fn ttl_ms(terms: &Terms, ticks_ms: u64) -> i64 {
    // Wrapping would be wrong only past 2^63 milliseconds; there the cut is as good.
    const MOST: u64 = i64::MAX as u64;
    let age_ms = terms.age_ms(ticks_ms);
    let (lifetime_ms, age_ms) = (
        if terms.lifetime_ms > MOST { MOST } else { terms.lifetime_ms },
        if age_ms > MOST { MOST } else { age_ms },
    );
    lifetime_ms as i64 - age_ms as i64
}

/// The response's age in whole seconds, for the `Age` field; at most 2^31.
#[must_use]
pub const fn age_seconds(terms: &Terms, ticks_ms: u64) -> u64 {
    let seconds = terms.age_ms(ticks_ms) / 1000;
    if seconds > 1 << 31 { 1 << 31 } else { seconds }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn age_grows_with_the_time_spent_here() {
        let terms = Terms { initial_age_ms: 5_500, lifetime_ms: 10_000, ..Terms::expired(1_000) };
        for (ticks, age, ttl) in [
            (1_000, 5, 4_500),
            (1_499, 5, 4_001),
            (5_500, 10, 0),
            (6_500, 11, -1_000),
            (0, 5, 4_500),
        ] {
            assert_eq!(age_seconds(&terms, ticks), age, "{ticks}");
            assert_eq!(ttl_ms(&terms, ticks), ttl, "{ticks}");
        }
        assert_eq!(age_seconds(&terms, u64::MAX), 1 << 31);
    }

    #[test]
    fn terms_are_small() {
        assert!(size_of::<Terms>() <= 64);
    }
}
