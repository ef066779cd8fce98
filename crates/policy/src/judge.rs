//! A stored response against a request: served, validated, or not used.
//!
//! In: the response's [`Terms`], the request's fields, the time, the owner's rules.
//! Out: a [`Judgement`]. Allocates nothing; a request without `Cache-Control`, `Pragma`,
//! cookie and credentials costs four masks and two subtractions.
//! Law: RFC 9111 §4, §4.2.4 (stale), §5.2.1 (requests); RFC 5861.
//! Invariants: 1. `no-cache`, `must-revalidate`, `proxy-revalidate` and `s-maxage` are
//! never served stale, whatever the owner's rules or the client say. 2. a client that asks
//! for validation is never answered without one.

use wire::{Fields, Name};

use crate::directives::RequestDirectives;
use crate::reason::{MissReason, PassReason, StaleReason};
use crate::rules::Rules;
use crate::terms::{Terms, ttl_ms};

/// What to do with a stored response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// Serve it.
    Fresh {
        /// How long it stays fresh, in milliseconds.
        ttl_ms: i64,
    },
    /// Serve it, and see to a newer one meanwhile.
    StaleButServable {
        /// For how long it has been stale, in milliseconds, as a negative number.
        ttl_ms: i64,
        /// Who allows it.
        reason: StaleReason,
    },
    /// Ask the origin whether it is still good.
    Validate {
        /// How long it stays fresh, in milliseconds; negative if it is stale.
        ttl_ms: i64,
        /// Why it can't be served at once.
        why: MissReason,
    },
    /// Answer 504: it can't be served at once, and the client wants nothing else.
    OnlyIfCached,
    /// Not for this visitor.
    Pass(PassReason),
}

/// Judges a stored response that the request selects.
#[must_use]
pub fn judge(terms: &Terms, request: &Fields, ticks_ms: u64, rules: &Rules) -> Judgement {
    let asked = RequestDirectives::of(request);
    let judgement = match withheld(terms, request) {
        Some(reason) => Judgement::Pass(reason),
        None => judge_freshness(terms, &asked, ticks_ms, rules),
    };
    match judgement {
        Judgement::Validate { .. } | Judgement::Pass(_) if asked.only_if_cached => {
            Judgement::OnlyIfCached
        }
        judgement => judgement,
    }
}

/// Why a response must be kept from whoever sends these fields, however fresh it is.
///
/// By the letter of the law it could be served; but a page that doesn't say that it is for
/// everybody was made for a stranger, and this visitor isn't one.
#[must_use]
pub fn withheld(terms: &Terms, request: &Fields) -> Option<PassReason> {
    if request.has(Name::Authorization) && !terms.shared_with_authorization {
        Some(PassReason::Authorization)
    } else if request.has(Name::Cookie) && !terms.explicit {
        Some(PassReason::Cookie)
    } else {
        None
    }
}

fn judge_freshness(
    terms: &Terms,
    asked: &RequestDirectives,
    ticks_ms: u64,
    rules: &Rules,
) -> Judgement {
    let ttl_ms = ttl_ms(terms, ticks_ms);
    let validate = |why| Judgement::Validate { ttl_ms, why };
    if terms.no_cache {
        return validate(MissReason::NoCache);
    }
    if asked.no_cache {
        return validate(MissReason::RequestNoCache);
    }
    // `max-age=0` is how a browser reloads, so an age of exactly that much is too old already.
    if asked.max_age.is_some_and(|seconds| terms.age_ms(ticks_ms) >= milliseconds(seconds)) {
        return validate(MissReason::RequestMaxAge);
    }
    let min_fresh_ms = asked.min_fresh.map_or(0, milliseconds).cast_signed();
    if ttl_ms > 0 && ttl_ms >= min_fresh_ms {
        return Judgement::Fresh { ttl_ms };
    }
    if min_fresh_ms > 0 {
        return validate(MissReason::RequestMinFresh);
    }
    if terms.must_revalidate {
        return validate(MissReason::Expired);
    }
    let stale_ms = ttl_ms.unsigned_abs();
    if stale_ms < while_revalidate_ms(terms, rules) {
        return Judgement::StaleButServable { ttl_ms, reason: StaleReason::WhileRevalidate };
    }
    match asked.max_stale {
        Some(seconds) if stale_ms <= milliseconds(seconds) => {
            Judgement::StaleButServable { ttl_ms, reason: StaleReason::Request }
        }
        _ => validate(MissReason::Expired),
    }
}

/// Judges a page that is shared among strangers by Wick's own leave: the wishes of clients
/// are for caches that stand between them and the origin, and here Wick stands for the
/// origin (RFC 9111 §5.2.1 lets even a cache answer without heeding them).
#[must_use]
pub fn judge_shared(terms: &Terms, ticks_ms: u64) -> Judgement {
    let ttl_ms = ttl_ms(terms, ticks_ms);
    let stale_ms = milliseconds(terms.stale_while_revalidate_seconds.unwrap_or(0));
    if ttl_ms > 0 {
        Judgement::Fresh { ttl_ms }
    } else if ttl_ms.unsigned_abs() < stale_ms {
        Judgement::StaleButServable { ttl_ms, reason: StaleReason::WhileRevalidate }
    } else {
        Judgement::Validate { ttl_ms, why: MissReason::Expired }
    }
}

/// A page that was purged softly at `since_ticks_ms`, while one refresh is made for that:
/// `judge` is how it is judged on given terms.
///
/// By its own terms it may still be fresh, so that no law forbids to serve it: a soft purge
/// is a wish of the owner's, who gives leave for the time that the refresh takes.
#[must_use]
pub fn judge_softened(
    terms: &Terms,
    since_ticks_ms: u64,
    has_leave: bool,
    judge: impl Fn(&Terms) -> Judgement,
) -> Judgement {
    match judge(&terms.stale_since(since_ticks_ms)) {
        Judgement::Validate { ttl_ms, why: MissReason::Expired }
            if has_leave && matches!(judge(terms), Judgement::Fresh { .. }) =>
        {
            Judgement::StaleButServable { ttl_ms, reason: StaleReason::Purged }
        }
        judgement => judgement,
    }
}

/// Whether a stored response may stand in for an origin that failed just now. Where it
/// may not, the failure is told: 504, or what the origin sent.
///
/// A client's `max-age` doesn't forbid it, as RFC 5861 §4 puts the leave to be stale above
/// other freshness; its `no-cache` does, as does an owner's every word against staleness.
#[must_use]
pub fn may_serve_on_error(terms: &Terms, request: &Fields, ticks_ms: u64, rules: &Rules) -> bool {
    let asked = RequestDirectives::of(request);
    let is_withheld = (request.has(Name::Authorization) && !terms.shared_with_authorization)
        || (request.has(Name::Cookie) && !terms.explicit);
    if is_withheld || terms.no_cache || asked.no_cache {
        return false;
    }
    let ttl_ms = ttl_ms(terms, ticks_ms);
    if ttl_ms > 0 {
        return true;
    }
    let by_response = terms.stale_if_error_seconds.or(if terms.lifetime_ms > 0 {
        rules.stale_if_error_seconds
    } else {
        None
    });
    let leave = milliseconds(by_response.max(asked.stale_if_error).unwrap_or(0));
    let leave = leave.max(while_revalidate_ms(terms, rules));
    !terms.must_revalidate && ttl_ms.unsigned_abs() < leave
}

/// Whether the client wants nothing that would have to be asked for (RFC 9111 §5.2.1.7).
#[must_use]
pub fn is_only_if_cached(request: &Fields) -> bool {
    request.has(Name::CacheControl) && RequestDirectives::of(request).only_if_cached
}

/// The owner's rule is for responses that were fresh once: `max-age=0` asks not to be kept.
fn while_revalidate_ms(terms: &Terms, rules: &Rules) -> u64 {
    let by_rule = if terms.lifetime_ms > 0 { rules.stale_while_revalidate_seconds } else { None };
    milliseconds(terms.stale_while_revalidate_seconds.or(by_rule).unwrap_or(0))
}

const fn milliseconds(seconds: u32) -> u64 {
    seconds as u64 * 1000
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
