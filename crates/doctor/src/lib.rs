//! What a machine should change to be quick, and why: `wick doctor`.
//!
//! 1. [`read::look`] reads the machine, twice where things count, and changes nothing.
//! 2. [`Budget::of`] plans its memory as a whole.
//! 3. [`checks::examine`] runs a table of checks over both; each finds something, says why all
//!    is fine, or what it couldn't see.
//! 4. [`report`] says it in order of what it saves a day where Wick serves the site, else of what
//!    is at stake.
//! 5. [`apply`] writes a finding's changes into files of our own name, watches, and takes them
//!    back.
//!
//! Invariants: 1. checks are pure: a recorded machine gets the same advice. 2. no secret is in
//! a finding: what is read of settings is named one by one. 3. nothing is changed but by
//! [`apply`], and that never trades durability.

pub mod apply;
mod budget;
pub mod checks;
mod finding;
mod machine;
pub mod read;
pub mod report;
pub mod settings_file;
mod temporary;
pub mod traffic;
pub mod trial;

pub use budget::{Budget, Children, Part};
pub use finding::{Change, Class, Confidence, Finding, Fix, Place, settle};
pub use machine::{
    Backup, Counters, Directive, Disk, FileSystem, Keeper, Machine, Pool, Process, Unseen,
};
pub use traffic::Traffic;
