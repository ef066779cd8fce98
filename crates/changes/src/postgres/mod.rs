//! Following a PostgreSQL server.
//!
//! `session` is one following: `stream` reads the log through a temporary slot, while
//! `watch` looks after the tables beside it. `message` takes the log apart, `reader` makes
//! changes of it, `memory` knows what rows were. `publications` are of which tables the
//! log tells, `catalog` which there are. `poll` is the rung below, `standing` tells which
//! of them can be had.
//!
//! Invariants: 1. No write of the site is refused because of us, but for the one case that
//! `publications` tells of. 2. Nothing stays that costs anything when nobody follows.
//! 3. It always begins at the present: what happened before is swept when
//! [`Event::Recovered`](crate::Event::Recovered) is told.
//!
//! Needed: version 13 or later.

mod catalog;
mod connection;
pub(crate) mod figures;
mod identity;
mod memory;
mod message;
mod poll;
mod publications;
mod reader;
mod session;
mod standing;
mod stream;
mod watch;

pub(crate) use connection::Connection;
pub use connection::postgres_options;
pub(crate) use figures::figures;
pub(crate) use identity::identity;
pub(crate) use standing::standing;

use crate::Address;
use crate::queue::Inlet;
use crate::repeat::repeat;

/// Follows the log of the server at `address` for ever.
pub(crate) async fn follow(address: Address, inlet: Inlet) {
    repeat(&inlet, || session::run(address.clone(), inlet.clone())).await;
}

/// Watches the tables of `address` for ever.
pub(crate) async fn poll(address: Address, inlet: Inlet) {
    repeat(&inlet, || poll::watch(address.clone(), inlet.clone())).await;
}
