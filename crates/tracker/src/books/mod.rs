//! The books: how torrents and users come in from the site's database, and credits go out to
//! it, each exactly once.
//!
//! 1. A [`Contract`] says which tables and columns of a site mean what. Six come with us
//!    (`contracts/`); the owner may name a file, and other names for tables and columns.
//! 2. The [`Writer`] writes [`Batch`](crate::Batch)es, in one transaction each, with their
//!    number.
//! 3. The [`Loader`] reads all torrents and users, and then what is new, changed or gone.
//! 4. The [`LogWriter`] writes what was asked, where a site keeps logs of that.
//! 5. [`Status`] says how it goes.
//!
//! All work for a [`Keeper`], which has the swarms. None stops for any trouble of the
//! database's: they say so, and try again.

mod contract;
mod denials;
mod figure;
mod file_changes;
mod gratis;
mod importer;
mod keeper;
mod known;
mod link;
mod loader;
mod log_writer;
mod number;
mod push;
mod registry;
mod run;
mod schema;
mod session;
mod shape;
mod shared;
mod statement;
mod status;
mod value;
mod writer;

pub use contract::{Contract, ContractError, Dialect, KNOWN};
pub use importer::Importer;
pub use keeper::Keeper;
pub use link::{Place, Trouble};
pub use loader::Loader;
pub use log_writer::LogWriter;
pub use push::{Push, PushError, Pushes};
pub use run::Books;
pub use schema::{BATCHES, batches_table, grants, own_tables};
pub use session::check;
pub use shared::{Awaited, NODES, Node, POINTS, shared_tables};
pub use status::{Shared, State, Status};
pub use writer::{Step, Writer};

/// What a clock says, as books keep it.
fn unix_seconds(clock: &base::Clock) -> u32 {
    u32::try_from(clock.now().unix_seconds()).unwrap_or(u32::MAX)
}
