//! A feed: the listener's side of whatever watches a database or files.

use std::path::PathBuf;

use tokio::task::JoinHandle;

use crate::nudge::Nudge;
use crate::queue::{Inlet, Outlet, queue};
use crate::tap::{self, Tap};
use crate::{Address, Event, binlog, files, poll, postgres, sqlite};

/// What changes in one source. Dropping it ends the watching.
pub struct Feed {
    outlet: Outlet,
    /// None where somebody else watches.
    task: Option<JoinHandle<()>>,
    nudge: Option<Nudge>,
}

/// The other end of a feed that tells what its owner says.
pub struct Teller(Inlet);

impl Teller {
    /// Tells the listener one thing more.
    pub fn tell(&self, event: Event) {
        self.0.tell(event);
    }
}

impl Feed {
    /// One that tells what somebody says.
    #[must_use]
    pub fn told() -> (Teller, Self) {
        let (inlet, outlet) = queue();
        (Teller(inlet), Self { outlet, task: None, nudge: None })
    }

    /// Follows the log of a MariaDB or MySQL server, within a runtime of tokio.
    #[must_use]
    pub fn binlog(address: Address) -> Self {
        let (inlet, outlet) = queue();
        Self::watched(outlet, binlog::follow(address, inlet))
    }

    /// Asks a MariaDB or MySQL server, as the app's own user, when its tables changed:
    /// each change is of a whole table, and of unknown kind.
    #[must_use]
    pub fn poll(address: Address) -> Self {
        let (inlet, outlet) = queue();
        Self::watched(outlet, poll::follow(address, inlet))
    }

    /// Follows the log of a PostgreSQL server.
    #[must_use]
    pub fn postgres(address: Address) -> Self {
        let (inlet, outlet) = queue();
        Self::watched(outlet, postgres::follow(address, inlet))
    }

    /// Asks a PostgreSQL server, as the app's own user, what changed: each change is of a
    /// whole table or of any, and of unknown kind.
    #[must_use]
    pub fn poll_postgres(address: Address) -> Self {
        let (inlet, outlet) = queue();
        Self::watched(outlet, postgres::poll(address, inlet))
    }

    /// Hears what an app writes through `tap`, row by row, and nothing of what anybody else
    /// does: for where nobody else writes, and nothing writes by triggers or cascades.
    #[must_use]
    pub fn tap(tap: &Tap) -> Self {
        let (inlet, outlet) = queue();
        Self::watched(outlet, tap::follow(tap.shared(), inlet))
    }

    /// Hears what an app writes through `tap`, row by row, and asks the server which tables
    /// others changed: those are told as wholes. What it misses stands in `tap/together.rs`.
    #[must_use]
    pub fn tap_and_poll(tap: &Tap) -> Self {
        let (inlet, outlet) = queue();
        Self::watched(outlet, tap::follow_together(tap.shared(), inlet))
    }

    /// Watches a file of SQLite: each change is of rows, up to 16 MiB; of a larger file, and of
    /// one that is written all the time, each is of unknown tables.
    #[must_use]
    pub fn sqlite(path: PathBuf) -> Self {
        let (inlet, outlet) = queue();
        let nudge = Nudge::new();
        let watching = sqlite::follow(path, inlet, nudge.clone());
        let mut feed = Self::watched(outlet, watching);
        feed.nudge = Some(nudge);
        feed
    }

    /// Watches a folder with all that is below it, or a single file. The table of a change
    /// is the folder, its key the file's name.
    #[must_use]
    pub fn files(path: PathBuf) -> Self {
        let (inlet, outlet) = queue();
        Self::watched(outlet, files::follow(path, inlet))
    }

    fn watched(outlet: Outlet, watching: impl Future<Output = ()> + Send + 'static) -> Self {
        Self { outlet, task: Some(tokio::spawn(watching)), nudge: None }
    }

    /// Asks it to look at once, if it looks now and then and can be asked.
    #[must_use]
    pub fn nudge(&self) -> Option<Nudge> {
        self.nudge.clone()
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
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}
