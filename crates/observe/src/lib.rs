//! What happened, counted by route and reason, priced and kept; and the machine beside it.
//!
//! Nothing here stands on the road: what happened is told to it, and it never waits.

pub mod alerts;
pub mod machine;
pub mod metrics;
