//! Load, and what came of it: the toolshed's generator, never on the road.
//!
//! In: a [`Plan`]: whom to load, with what, and when. Out: an [`Outcome`], and reports of it.
//! By default arrivals keep to a schedule and a latency begins at the moment at which its
//! request was intended, so that a target that stalls can't hide it (docs/decisions/bench.md).
//! Invariants: 1. What the generator itself was late for is never told as the target's.
//! 2. Memory doesn't grow with the length of a run.
//! Start at [`run()`]; one thread's share is `worker.rs`, one request `visit.rs`.

mod alarm;
mod connection;
mod cookies;
mod dial;
mod http2;
mod http3;
mod line;
pub mod permission;
pub mod plan;
pub mod recorded;
pub mod replay;
pub mod report;
pub mod request;
pub mod response;
mod run;
pub mod schedule;
pub mod statistics;
pub mod story;
pub mod tally;
pub mod target;
mod visit;
mod worker;

pub use plan::Plan;
pub use run::{Glance, LATE_SHARE_MAX, Live, Outcome, RunError, run};
