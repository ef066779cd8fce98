//! The tap: a socket between an app and its MariaDB or MySQL, which reads what passes.
//!
//! For those whose server's log can't be read, and whose app writes on every reading, so
//! that asking which table changed says nothing useful.
//!
//! ```text
//! PHP ──▶ the tap's socket ──▶ the server's socket
//!            └─ packets → conversation → act → transaction → feed
//! ```
//!
//! `packets` cuts bytes, `conversation` knows who says what, `act` what a statement does,
//! `prepared` what it says with its values, `transaction` when that is to be told, `tables`
//! which rows those are. `relay` and `door` pass the bytes on, `alone` and `together` make
//! feeds of it; `passing` keeps statements for somebody who watches.
//!
//! Invariants: 1. **It fails open**: bytes pass as they came whatever is made of them; what
//! can't be read may have changed anything, and a conversation that can't be read (TLS,
//! compression, a protocol that isn't known) takes back, while it lives, that changes are
//! heard. 2. A change is told before the server's word that it is done is passed on: who asks
//! after that finds it swept. 3. **It lends nobody its own rights**: it goes to the server as
//! the user that came to it. 4. What it keeps is bounded.
//!
//! It doesn't see: writers that go to the server by another way, and what a statement does by
//! triggers, cascades and functions, in other tables than its own. [`Feed::tap`] alone is
//! therefore for sites that have none of these; [`Feed::tap_and_poll`] is for all others, and
//! what it misses stands in `together`.
//!
//! When the tap goes, its socket and all connections through it go, and PHP fails as it does
//! without its database. A tap lives in the process that also starts and ends that PHP, so
//! there is nobody left to notice.
//!
//! [`Feed::tap`]: crate::Feed::tap
//! [`Feed::tap_and_poll`]: crate::Feed::tap_and_poll

mod act;
mod alone;
mod answer;
mod conversation;
#[cfg(test)]
mod conversation_tests;
mod door;
mod greeting;
mod hearers;
mod judge;
mod packets;
mod passing;
mod prepared;
mod relay;
mod tables;
mod together;
mod transaction;

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::UnixListener;
use tokio::task::JoinHandle;

pub(crate) use alone::follow;
pub use conversation::{Conversation, Ended, Heard};
use hearers::Hearers;
use passing::Passing;
pub use passing::{Batch, Passed, Witness};
use tables::Tables;
pub(crate) use together::follow as follow_together;

use crate::{Address, Door};

/// A tap that stands. Dropping it ends every connection through it.
pub struct Tap {
    shared: Arc<Shared>,
    socket: PathBuf,
    task: JoinHandle<()>,
}

/// What the tap, its connections and its feeds have in common.
pub(crate) struct Shared {
    /// Where the server is, and as whom it is asked about its tables.
    address: Address,
    server: PathBuf,
    tables: Tables,
    hearers: Hearers,
    passing: Passing,
}

impl Tap {
    /// Stands at `socket`, before the server whose socket `address` names, within a runtime
    /// of tokio. Everybody who can reach the folder may connect, as to the server itself.
    pub fn stand(socket: &Path, address: Address) -> io::Result<Self> {
        let Door::Socket(server) = address.door.clone() else {
            let why = "a tap stands before a Unix socket";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        };
        let listener = listen(socket)?;
        let tables = Tables::new(address.clone());
        let shared = Arc::new(Shared {
            address,
            server,
            tables,
            hearers: Hearers::default(),
            passing: Passing::default(),
        });
        let task = tokio::spawn(relay::serve(listener, shared.clone()));
        Ok(Self { shared, socket: socket.to_owned(), task })
    }

    /// Where it stands.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// The statements that have passed since this was last asked and were over so long ago, by
    /// visits that `witness` knows. Who asks first begins to watch, and does so as long as
    /// they go on asking.
    #[must_use]
    pub fn passed(&self, witness: Arc<dyn Witness>, age: Duration) -> Batch {
        self.shared.passing.take(witness, age)
    }

    pub(crate) fn shared(&self) -> Arc<Shared> {
        self.shared.clone()
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.task.abort();
        self.shared.hearers.close();
        let _ = std::fs::remove_file(&self.socket);
    }
}

/// Listens at `socket`, where one that nobody listens at any more may lie.
fn listen(socket: &Path) -> io::Result<UnixListener> {
    let listener = match UnixListener::bind(socket) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            if std::os::unix::net::UnixStream::connect(socket).is_ok() {
                return Err(error);
            }
            std::fs::remove_file(socket)?;
            UnixListener::bind(socket)?
        }
        listener => listener?,
    };
    std::fs::set_permissions(socket, std::fs::Permissions::from_mode(0o666))?;
    Ok(listener)
}
