//! Scope: which pages a change leaves as they are, where that was proved.
//!
//! Every change sweeps the whole site, unless it was seen many times that changes of its kind
//! leave all pages of one shape as they are but those whose address names a changed row.
//!
//! - [`Route`] is a page's address: its shape, and the values in it.
//! - [`Batch`] is all that changed in one moment, with what the changed rows hold in columns
//!   that point at rows.
//! - [`Proofs`] are made of pages that were made anew after a batch and held against what
//!   they were; one page that differs and shouldn't ends a proof for good.
//! - [`Ledger`] is the last batches by the site's count of content, by which a page that was
//!   made before them is kept or not.
//!
//! Invariants: 1. what isn't known sweeps the whole site. 2. between two counts of content a
//! page is kept only if batches that keep it fill all the way from one to the other. 3. of
//! what is kept a share is swept all the same, so that a proof goes on being tested.

mod batch;
mod claim;
mod ledger;
mod proofs;
mod route;
#[cfg(test)]
mod simulation;

pub use batch::Batch;
pub use ledger::{Ledger, Past};
pub use proofs::{Demands, KeptClaim, Outcome, Proofs, Seen};
pub use route::{Route, Spelled};
