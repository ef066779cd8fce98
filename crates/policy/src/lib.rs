//! What may be stored, served, joined and swept, and why.
//!
//! Pure: heads, times and the owner's rules go in; a decision with its reason comes
//! out. Nothing here opens a socket, reads a clock or keeps anything.
//! In the order in which the road asks: [`plan()`], [`write_primary_key`], [`VaryKey`],
//! [`judge()`], [`to_origin`], [`admit()`], [`conditional`], [`range`], [`cache_status`].
//! Which pages a change leaves as they are stands in [`scope`].
//! What is asked about visitors without a cookie of the app stands in [`strangers`], what
//! plugins say to caches in [`purge`].
//! Law: RFC 9110, 9111, 5861, 9211, 9213.

pub mod admit;
pub mod cache_status;
pub mod claims;
mod clean;
mod coding;
pub mod conditional;
pub mod date;
pub mod digits;
pub mod directives;
mod entity_tag;
pub mod forwarding;
mod freshness;
pub mod hints;
mod hops;
pub mod invalidate;
pub mod judge;
pub mod key;
pub mod lscache;
pub mod media_type;
pub mod negotiation;
pub mod permit_script;
pub mod plan;
pub mod purge;
pub mod range;
pub mod reason;
mod reference;
pub mod representation;
pub mod rules;
pub mod scope;
pub mod slices;
pub mod strangers;
pub mod surrogate;
mod targeted;
pub mod terms;
mod upgrade;
pub mod vary;
pub mod verdict;

pub use admit::{Admission, admit};
pub use clean::{clean_for_store, refreshed};
pub use conditional::{
    Conditional, add_validators, evaluate, has_validator, not_modified_fields, strip_conditionals,
};
pub use directives::{RequestDirectives, ResponseDirectives};
pub use forwarding::{to_client, to_origin};
pub use invalidate::invalidated;
pub use judge::{
    Judgement, is_only_if_cached, judge, judge_shared, judge_softened, may_serve_on_error, withheld,
};
pub use key::{SCHEMES, write_key_without, write_primary_key};
pub use negotiation::Wishes;
pub use plan::{Plan, plan};
pub use range::{Selection, strip_range, wants_part};
pub use reason::{
    FailReason, MissReason, NoStore, OwnReason, PassReason, RefuseReason, StaleReason,
};
pub use reference::resolve as resolve_here;
pub use rules::Rules;
pub use targeted::effective;
pub use terms::{Terms, age_seconds, ttl_ms};
pub use upgrade::{to_client_switched, to_origin_upgrading};
pub use vary::{VaryKey, vary_is_star};
pub use verdict::Verdict;

#[cfg(test)]
mod garbage_tests;
#[cfg(test)]
mod generator;
#[cfg(test)]
mod written;
