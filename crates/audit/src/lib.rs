//! An audit: every address of a site found, fetched once, and held against a table of tests.
//!
//! In: a [`Plan`]. Out: a [`Report`], and a book in the state folder by which an interrupted run
//! goes on and the next one knows what is new and what was mended.
//! Invariants: 1. an address is fetched once for all tests; only probes and a browser ask again.
//! 2. nothing is sent but GET and HEAD, nothing to an address that may do something, nothing that
//! `robots.txt` forbids, and nothing to another machine that nobody named. 3. what was fetched
//! is written down before the next is.
//! Start at [`run()`]; one site's visit is `visit.rs`, the tests are `tests/`.

mod baseline;
mod book;
mod browser;
mod errand;
mod fetch;
mod finding;
mod gate;
mod kind;
mod live;
mod outside;
mod pace;
mod page;
mod plan;
mod probe;
pub mod report;
pub mod rules;
mod run;
mod scope;
mod standing;
mod tests;
mod visit;
mod workers;

pub use baseline::{Baseline, BaselineError};
pub use book::BookError;
pub use browser::{BrowserError, BrowserPlan};
pub use fetch::FetchError;
pub use finding::{Finding, Place, Severity};
pub use kind::{Kind, Tests};
pub use live::Live;
pub use plan::{AuditError, Plan};
pub use report::Report;
pub use run::run;
pub use standing::{Counts, RouteCount, RuleCount, Standing, judged, standing_report, sum_of};
pub use workers::{
    Crew, Desk, Door, DoorError, Errand, Hands, JoinError, TokenError, Welcome, Worker,
    WorkersToken,
};
