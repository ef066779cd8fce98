//! Sphinx's two protocols, so that a site that searches by Sphinx changes a port and nothing else.
//!
//! `api` is the binary one that `sphinxapi.php` speaks; `mysql` carries SphinxQL, which `ql`
//! reads. Both come to a question (`ask`) that `run` answers with a `table`. `conf` reads what an
//! existing `sphinx.conf` says, `filling` makes indexes of its sources, and `catalogue` has them by
//! their names.

pub mod api;
mod ask;
mod bytes;
mod catalogue;
mod change;
pub mod conf;
mod counters;
mod excerpt;
mod filling;
mod html;
pub mod mysql;
pub mod ql;
mod run;
mod serve;
mod session;
pub mod table;

pub use ask::Ask;
pub use catalogue::{Catalogue, Held, shape_of};
pub use counters::Figures;
pub use filling::{Filling, IndexStatus, SourceFound, State, Tried, Wishes, try_out};
pub use run::{Outcome, run};
pub use serve::{CONNECTIONS_MAX, Door, IDLE_MAX, Protocol};
pub use session::Session;
