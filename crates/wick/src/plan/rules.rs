//! What is written of a site or of limits, as the rules by which they are obeyed.

use std::time::Duration;

use origin::HealthCheck;
use policy::scope::Demands;
use server::{DefenceRules, FollowRules, Limits, MarkNewRules, Rate, StrangerRules};

use crate::settings::{ChangesScope, LimitSettings, Often, Seconds, SiteSettings};

pub(super) fn health_check(site: &SiteSettings) -> Option<HealthCheck> {
    let path = site.origin_health.as_ref()?.0.clone();
    let or = |set: Option<Seconds>, seconds| set.map_or(Duration::from_secs(seconds), |set| set.0);
    Some(HealthCheck {
        path,
        host: site.hosts.first().cloned().unwrap_or_default(),
        // Not more often than once in a tenth of a second, whatever was written.
        every: or(site.origin_health_every, 5).max(Duration::from_millis(100)),
        timeout: or(site.origin_health_timeout, 2),
        status: site.origin_health_status.map(|status| status.0),
    })
}

/// What copies for binding may take of the owner's memory: an eighth, and at most 64 MiB.
pub(super) fn copies_bytes(memory_bytes: u64) -> usize {
    usize::try_from(memory_bytes / 8).unwrap_or(usize::MAX).min(64 << 20)
}

pub(super) fn stranger_rules(site: &SiteSettings) -> StrangerRules {
    let mut rules = StrangerRules {
        own_cookies: site.app_cookies.clone(),
        foreign_cookies: site.foreign_cookies.clone(),
        never: site.never_share.clone(),
        ignore_no_store: site.ignore_no_store.clone(),
        // For tests that show what comparing is for; nobody else may want it.
        trust_personas: std::env::var_os("WICK_TEST_TRUST_PERSONAS").is_some(),
        ..StrangerRules::default()
    };
    let milliseconds = |time: Seconds| u64::try_from(time.0.as_millis()).unwrap_or(u64::MAX);
    set(&mut rules.fresh_ms, site.strangers_fresh.map(milliseconds));
    set(&mut rules.stale_ms, site.strangers_stale.map(milliseconds));
    set(&mut rules.sample, site.strangers_sample);
    rules
}

pub(super) fn follow_rules(site: &SiteSettings) -> FollowRules {
    let mut rules = FollowRules {
        ignored: site.changes_ignored.clone(),
        heeded: site.changes_heeded.clone(),
        scope: match site.changes_scope.unwrap_or_default() {
            ChangesScope::Site => None,
            ChangesScope::Proved => Some(Demands::default()),
        },
        ..FollowRules::default()
    };
    set(&mut rules.fresh, site.changes_fresh.map(|time| time.0));
    rules
}

/// Requests that may come at once before a rate counts.
const RATE_BURST: u32 = 100;

pub(super) fn defence_rules(site: &SiteSettings) -> DefenceRules {
    let burst = site.rate_burst.unwrap_or(RATE_BURST);
    let interval = site.rate.and_then(|Often(interval)| interval);
    let mut rules = DefenceRules {
        rate: interval.map(|interval| Rate::new(interval, burst)),
        ..DefenceRules::default()
    };
    set(&mut rules.rate_hits, site.rate_hits);
    set(&mut rules.concurrency, site.concurrency);
    set(&mut rules.security_headers, site.security_headers);
    rules
}

pub(super) fn mark_new_rules(site: &SiteSettings) -> MarkNewRules {
    let mut rules = MarkNewRules { everywhere: site.mark_new.is_some(), ..Default::default() };
    let marks = &mut rules.marks;
    set(&mut marks.items, site.mark_new.clone().map(|selector| selector.0));
    set(&mut marks.date, site.mark_new_date.clone().map(|selector| selector.0));
    set(&mut marks.class, site.mark_new_class.clone().map(|name| name.0));
    set(&mut marks.look, site.mark_new_style.clone());
    rules
}

pub(super) fn limits(written: &LimitSettings) -> Limits {
    let mut limits = Limits::default();
    set(&mut limits.head_bytes_max, written.head.map(|bytes| bytes.0 as usize));
    set(&mut limits.body_bytes_max, written.body.map(|bytes| bytes.0));
    set(&mut limits.head_timeout, written.head_timeout.map(|time| time.0));
    set(&mut limits.idle_timeout, written.idle_timeout.map(|time| time.0));
    set(&mut limits.body_timeout, written.body_timeout.map(|time| time.0));
    set(&mut limits.write_timeout, written.write_timeout.map(|time| time.0));
    set(&mut limits.tunnel_timeout, written.tunnel_timeout.map(|time| time.0));
    set(&mut limits.slowest.bytes_a_second, written.min_rate.map(|bytes| bytes.0));
    set(&mut limits.slowest.after, written.min_rate_after.map(|time| time.0));
    set(&mut limits.connections_max, written.connections);
    set(&mut limits.connections_per_address_max, written.connections_per_address);
    set(&mut limits.grace, written.grace.map(|time| time.0));
    set(&mut limits.upgrade_grace, written.upgrade_grace.map(|time| time.0));
    limits
}

/// Takes what the owner wrote, if anything.
pub(super) fn set<T>(place: &mut T, written: Option<T>) {
    if let Some(value) = written {
        *place = value;
    }
}

pub(super) fn whole_seconds(time: Seconds) -> u32 {
    u32::try_from(time.0.as_secs()).unwrap_or(u32::MAX)
}
