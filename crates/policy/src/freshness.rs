//! How old a response is on arrival, and how old it may become.
//!
//! In: a response, when it was asked for and when it came. Out: milliseconds.
//! Law: RFC 9111 §4.2.1 (lifetime), §4.2.2 (heuristics), §4.2.3 (age), §5.1, §5.3.

use base::Now;
use wire::fields::{split_list, trim};
use wire::{Fields, Name, RequestHead};

use crate::date;
use crate::digits;
use crate::directives::ResponseDirectives;
use crate::rules::Rules;

/// How old the response is on arrival: by its `Date`, or by its `Age` and the time that
/// the request took, whichever is more.
pub(crate) fn initial_age_ms(response: &Fields, request_ticks_ms: u64, now: Now) -> u64 {
    let delay_ms = now.ticks_ms.saturating_sub(request_ticks_ms);
    let by_age = age_value_seconds(response).saturating_mul(1000).saturating_add(delay_ms);
    let by_date = date_seconds(response).map_or(0, |date| {
        let now_seconds = now.unix_seconds().cast_signed();
        now_seconds.saturating_sub(date).max(0).unsigned_abs().saturating_mul(1000)
    });
    by_age.max(by_date)
}

/// The `Age` that came along: the first member counts, and one that is no number of
/// seconds is ignored (§5.1).
fn age_value_seconds(response: &Fields) -> u64 {
    let first = response.first(Name::Age).and_then(|line| split_list(line).next());
    first.and_then(digits::read_seconds).map_or(0, u64::from)
}

/// The one `Date`, if it is one.
fn date_seconds(response: &Fields) -> Option<i64> {
    single(response, Name::Date).and_then(date::parse)
}

fn single(fields: &Fields, name: Name) -> Option<&[u8]> {
    let mut values = fields.all(name);
    let value = values.next()?;
    values.next().is_none().then_some(trim(value))
}

/// The lifetime that the response states, if it states one. `Expires` that is no date, or
/// is there more than once, lies in the past.
pub(crate) fn explicit_ms(
    response: &Fields,
    directives: &ResponseDirectives,
    is_targeted: bool,
    now: Now,
) -> Option<u64> {
    if let Some(seconds) = directives.s_maxage.or(directives.max_age) {
        return Some(u64::from(seconds) * 1000);
    }
    if is_targeted || !response.has(Name::Expires) {
        return None;
    }
    let expires = single(response, Name::Expires).and_then(date::parse);
    let date = date_seconds(response).unwrap_or(now.unix_seconds().cast_signed());
    let seconds = expires.map_or(0, |expires| expires.saturating_sub(date)).clamp(0, 1 << 31);
    Some(seconds.unsigned_abs() * 1000)
}

/// A tenth of the time since the page was last changed, where guessing is safe: for
/// strangers' requests without a query, by the owner's leave.
pub(crate) fn heuristic_ms(
    request: &RequestHead,
    response: &Fields,
    rules: &Rules,
    now: Now,
) -> Option<u64> {
    let is_strangers =
        !request.fields.has(Name::Cookie) && !request.fields.has(Name::Authorization);
    if !rules.heuristic || !is_strangers || request.query().is_some() {
        return None;
    }
    let modified = single(response, Name::LastModified).and_then(date::parse)?;
    let date = date_seconds(response).unwrap_or(now.unix_seconds().cast_signed());
    let unchanged_seconds = date.saturating_sub(modified).max(0).unsigned_abs();
    Some((unchanged_seconds * 100).min(u64::from(rules.heuristic_seconds_max) * 1000))
}
