//! A feed: the listener's side of whatever watches a database.

use std::path::PathBuf;

use tokio::task::JoinHandle;

use crate::queue::{Outlet, queue};
use crate::{Address, Event, binlog, poll, sqlite};

/// What changes in one database. Dropping it ends the watching.
pub struct Feed {
    outlet: Outlet,
    task: JoinHandle<()>,
}

impl Feed {
    /// Follows the log of a MariaDB or MySQL server, within a runtime of tokio.
    #[must_use]
    pub fn binlog(address: Address) -> Self {
        let (inlet, outlet) = queue();
        Self { outlet, task: tokio::spawn(binlog::follow(address, inlet)) }
    }

    /// Asks a MariaDB or MySQL server, as the app's own user, when its tables changed:
    /// each change is of a whole table, and of unknown kind.
    #[must_use]
    pub fn poll(address: Address) -> Self {
        let (inlet, outlet) = queue();
        Self { outlet, task: tokio::spawn(poll::follow(address, inlet)) }
    }

    /// Watches a file of SQLite: each change is of unknown tables.
    #[must_use]
    pub fn sqlite(path: PathBuf) -> Self {
        let (inlet, outlet) = queue();
        Self { outlet, task: tokio::spawn(sqlite::follow(path, inlet)) }
    }

    /// The next event; waits for it. Giving up and asking again loses nothing.
    pub async fn next(&mut self) -> Event {
        self.outlet.next().await
    }

    /// The next event, if it is there already.
    pub fn ready(&mut self) -> Option<Event> {
        self.outlet.ready()
    }

    /// How often the listener was too slow, and heard [`Lost::Overrun`](crate::Lost).
    #[must_use]
    pub fn overruns(&self) -> u64 {
        self.outlet.overruns()
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.task.abort();
    }
}
