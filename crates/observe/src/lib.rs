//! What happened, counted by route and reason, priced and kept; and the machine beside it.
//!
//! Nothing here stands on the road: what happened is told to it, and it never waits.
//! Start at [`Ledger`], which each answer is told to; [`history`] is what is kept of it,
//! [`findings`] what it says about the origin's time.

mod answer;
mod counts;
mod findings;
mod ledger;
mod recent;
mod remedies;
mod sampler;

pub mod alerts;
pub mod histogram;
pub mod history;
pub mod kept;
pub mod machine;
pub mod metrics;
pub mod profile;
pub mod routes;
pub mod traces;

pub use answer::{Answer, is_hit};
pub use counts::{ClassTimes, RouteCounts, Tally};
pub use findings::{Finding, findings};
pub use ledger::{Ledger, Wanted};
pub use recent::Seen;
pub use remedies::{Remedy, of_unstored, of_verdict};
pub use sampler::{Outside, Sampler};
