//! What changed in a site's database or files behind our back, and which of it is noise.
//!
//! A page may live for hours once every write that could change it is heard of. A
//! [`Feed`] tells those that never pass Wick: an editor behind another door, a cron job,
//! a command line. A [`Learner`] tells which of them no reader can see.
//!
//! 1. [`find_settings`] reads where the database is from the app's own settings;
//!    [`standing_of`] asks how well it can be followed, and what would
//!    make it better.
//! 2. [`Feed::binlog`], [`Feed::postgres`], [`Feed::poll`], [`Feed::poll_postgres`],
//!    [`Feed::sqlite`] or [`Feed::files`] begins to tell [`Event`]s, for each of
//!    [`Found::sources`]; or, where a [`Tap`] stands between an app and its database,
//!    [`Feed::tap_and_poll`].
//! 3. [`Signature`] is what two changes of one kind have in common; the learner takes it.
//!
//! What a listener owes, for pages to be right:
//!
//! - A feed that begins follows nothing: until [`Event::Recovered`], and again from
//!   [`Event::Lost`] on, pages live as if there were no feed. Both sweep.
//! - [`Event::Change`] sweeps unless it is noise, each of them: what an app derives from a
//!   change is written after it. A change without a table sweeps like any other.
//! - **A change may be heard before others can read it**, by some milliseconds. So a
//!   page whose fetch began earlier than [`FENCE`] after the sweep is not stored, and the
//!   sweep is done again when that time is over. A poll hears counters that move before
//!   the commit, so there the last sweep is done at the first [`Event::Idle`].
//! - Whoever wrote shall read it: [`LogEnd`] says where the log ends when the answer to an
//!   unsafe request does, and [`Progress`] when the feed has come that far.
//! - Every request that reaches the origin is told to the learner, with its end; else
//!   what it writes looks like somebody else's doing and counts as content.
//! - PHP runs a changed file only seconds later: [`Change::fence`] says when the sweep is
//!   to be done again.
//! - A database doesn't tell of files: an app that keeps some of its content there has
//!   more than one source.
//! - Nor is what a server keeps out of its log: `sql_log_bin = 0`, filters, and, in its
//!   statements, what triggers and cascades do in other tables.
//! - PostgreSQL's log lacks what is changed in tables without a primary key, and in those
//!   that are unlogged. It is counted, and heard of up to ten seconds late where the
//!   connection that wrote it stays.
//!
//! ```no_run
//! use changes::{Event, Feed, Learner, Signature, Source};
//!
//! # async fn watch(folder: &std::path::Path, now: impl Fn() -> u64, sweep: impl Fn()) {
//! let Some(found) = changes::find_settings(folder) else { return };
//! let mut feed = match found.source {
//!     Source::MySql(address) => Feed::binlog(address),
//!     Source::Sqlite(path) => Feed::sqlite(path),
//!     Source::Files(path) => Feed::files(path),
//!     _ => return,
//! };
//! let mut learner = Learner::default();
//! loop {
//!     match feed.next().await {
//!         Event::Change(change) => {
//!             let signature = Signature::from(&change);
//!             learner.saw(&signature, now());
//!             if !learner.is_noise(&signature) {
//!                 sweep();
//!             }
//!         }
//!         Event::Lost(_) | Event::Recovered => sweep(),
//!         Event::Commit(_) | Event::Idle => learner.settle(now()),
//!     }
//! }
//! # }
//! ```

mod address;
mod binlog;
pub mod connect;
mod event;
mod feed;
mod figures;
mod files;
mod identity;
mod key_class;
mod keys;
mod letter_pairs;
mod log_end;
mod moment;
pub mod noise;
mod nudge;
mod pattern;
mod place;
mod poll;
mod postgres;
mod queue;
#[doc(hidden)]
pub mod readers;
mod repeat;
mod rung;
mod secret;
mod settings;
mod signature;
mod source;
mod sqlite;
mod statement;
mod statements;
pub mod tap;
mod values;

use std::time::Duration;

pub use address::{Address, AddressError, Door};
pub use event::{Change, Column, Event, Lost, Operation};
pub use feed::{Feed, Teller};
pub use figures::{Figures, Gauge};
pub use identity::identity_of;
pub use key_class::KeyClass;
pub use log_end::LogEnd;
pub use noise::Learner;
pub use nudge::Nudge;
pub use pattern::{Pattern, PatternError};
pub use place::{Gtid, Place, Progress};
pub use rung::{Rung, Standing, WARNING, standing, standing_of};
pub use secret::Secret;
pub use settings::{Found, find_settings};
pub use signature::{Rows, Signature};
pub use source::{Source, SourceError};
pub use sqlite::FILE_BYTES_MAX as SQLITE_BYTES_MAX;
pub use statements::Statement;
pub use tap::Tap;
pub use values::{Values, value_hash};

/// How long after a change was heard an answer may still be made of what was before it.
/// MariaDB 10.11 wrote to its log up to 2.4 ms before others could read.
pub const FENCE: Duration = Duration::from_millis(50);

/// The same for a file of PHP. It is compiled once, and looked at again every 2 s
/// (`opcache.revalidate_freq`); the third is for a request that had looked just before.
pub const FENCE_OF_CODE: Duration = Duration::from_secs(3);
