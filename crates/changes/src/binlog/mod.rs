//! Following the log of a MariaDB or MySQL server.
//!
//! [`follow`] keeps a connection and tries again when it breaks; `session` is one of
//! them; `reader` knows the events; `table`, `rows` and `query` take them apart; `lookup`
//! asks by which columns rows are told apart, `end` where the log ends.
//! Invariant: it always begins at the present. What happened while nobody followed is
//! swept when [`Event::Recovered`](crate::Event::Recovered) is told, so nothing is
//! gained by hearing it late, and a log that is gone or starts anew is no trouble.

pub(crate) mod bytes;
pub(crate) mod end;
mod inflate;
pub(crate) mod lookup;
mod query;
mod reader;
mod rows;
mod session;
mod table;

use crate::Address;
use crate::queue::Inlet;
use crate::repeat::repeat;

/// Follows the log of the server at `address` for ever.
pub(crate) async fn follow(address: Address, inlet: Inlet) {
    repeat(&inlet, || session::run(address.clone(), inlet.clone())).await;
}
