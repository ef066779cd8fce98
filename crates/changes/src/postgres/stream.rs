//! The stream of the log: a temporary slot, and what comes out of it.
//!
//! Invariants: 1. The slot is temporary: it goes with the connection, and no log is kept
//! for anybody who is gone. 2. At most [`EVENTS_MAX`] messages of at most [`MESSAGE_MAX`]
//! wait for us, 128 MB if every one is a row of that size, some kilobytes as a rule; a
//! larger row ends the session, and the next one begins behind it.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::RwLock;
use pgwire_replication::{
    Lsn, PgWireError, ReplicationClient, ReplicationConfig, ReplicationEvent,
};
use tokio::time::{Instant, timeout};

use super::catalog::{INSERTS, ROWS};
use super::connection::{CONNECT_MAX, Connection, NAME, database, refused, socket};
use super::reader::{Keys, Reader};
use crate::queue::Inlet;
use crate::{Address, Door, Event, Lost, Place};

const EVENTS_MAX: usize = 8;
const MESSAGE_MAX: usize = 16 << 20;
/// How often the server hears how far we are, so that it may throw its log away.
const STATUS: Duration = Duration::from_secs(1);
/// After so long the listener hears why it takes long.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the session's two halves share.
#[derive(Default)]
pub(super) struct Shared {
    pub(super) keys: RwLock<Keys>,
    /// The place up to which all was told…
    pub(super) told: AtomicU64,
    /// …and how often something came.
    pub(super) heard: AtomicU64,
}

/// A stream that has begun.
pub(super) struct Stream {
    client: ReplicationClient,
    reader: Reader,
    shared: Arc<Shared>,
    inlet: Inlet,
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.client.abort();
    }
}

impl Stream {
    /// Begins at the present. The server waits until whoever is writing has ended, which
    /// may take long: giving up and asking again would only take slots away.
    pub(super) async fn begin(
        address: &Address,
        beside: &Connection,
        shared: Arc<Shared>,
        inlet: Inlet,
    ) -> Result<Self, Lost> {
        let slot = format!("wick_{:016x}", rand::random::<u64>());
        let client = ReplicationClient::connect_gated(config(address, &slot)).await;
        let client = client.map_err(|error| lost(&error))?;
        let reader = Reader::new(database(address));
        let mut stream = Self { client, reader, shared, inlet };
        let about = timeout(CONNECT_MAX, stream.client.identify_system()).await;
        about.map_err(|_| Lost::Silent)?.map_err(|error| lost(&error))?;
        let make =
            format!("CREATE_REPLICATION_SLOT {slot} TEMPORARY LOGICAL pgoutput NOEXPORT_SNAPSHOT");
        let inlet = stream.inlet.clone();
        tokio::select! {
            made = stream.client.simple_query(&make) => made.map_err(|error| lost(&error))?,
            lost = wait(beside, &inlet) => return Err(lost),
        };
        let start = async {
            stream.client.start().await?;
            stream.client.wait_started().await
        };
        let started = timeout(CONNECT_MAX, start).await.map_err(|_| Lost::Silent)?;
        started.map_err(|error| lost(&error))?;
        Ok(stream)
    }

    /// Tells what comes, until nothing comes any more.
    pub(super) async fn follow(&mut self) -> Result<Infallible, Lost> {
        loop {
            let event = match self.client.recv().await {
                Ok(Some(event)) => event,
                Ok(None) => return Err(Lost::Disconnected),
                Err(error) => return Err(lost(&error)),
            };
            self.shared.heard.fetch_add(1, Ordering::Relaxed);
            self.hear(event)?;
        }
    }

    fn hear(&mut self, event: ReplicationEvent) -> Result<(), Lost> {
        match event {
            ReplicationEvent::Begin { .. } | ReplicationEvent::Message { .. } => {}
            ReplicationEvent::XLogData { data, .. } => {
                let changes = self.reader.read(&data, &self.shared.keys.read())?;
                changes.into_iter().for_each(|change| self.inlet.tell(Event::Change(change)));
            }
            ReplicationEvent::Commit { end_lsn, .. } => {
                self.reader.end();
                self.reach(end_lsn);
            }
            // All that is before there and was published has been sent.
            ReplicationEvent::KeepAlive { wal_end, .. } => self.reach(wal_end),
            ReplicationEvent::StoppedAt { .. } => return Err(Lost::Disconnected),
        }
        Ok(())
    }

    fn reach(&self, place: Lsn) {
        let place = place.as_u64();
        if self.shared.told.fetch_max(place, Ordering::Relaxed) < place {
            self.client.update_applied_lsn(Lsn::from_u64(place));
            self.inlet.tell(Event::Commit(Some(Place::Lsn(place))));
        }
    }
}

/// Waits for ever, while the server is there.
async fn wait(beside: &Connection, inlet: &Inlet) -> Lost {
    let began = Instant::now();
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        if let Err(lost) = beside.run("SELECT 1").await {
            return lost;
        }
        if began.elapsed() >= PATIENCE {
            let why = "the log can be followed once the transactions that are open have ended";
            inlet.tell(Event::Lost(Lost::Waiting(why.to_owned())));
        }
    }
}

fn config(address: &Address, slot: &str) -> ReplicationConfig {
    let (host, port) = match &address.door {
        Door::Tcp(host, port) => (host.clone(), *port),
        Door::Socket(path) => {
            let (folder, port) = socket(path);
            (folder.to_string_lossy().into_owned(), port)
        }
    };
    let publications = [ROWS, INSERTS];
    let password = address.password.reveal();
    let mut config = ReplicationConfig::new(
        host,
        &address.user,
        password,
        database(address),
        slot,
        publications,
    )
    .with_port(port)
    .with_application_name(NAME)
    .with_max_message_size(MESSAGE_MAX)
    .with_buffer_size(EVENTS_MAX)
    .with_status_interval(STATUS)
    .with_wakeup_interval(STATUS);
    config.start_lsn = Lsn::ZERO;
    config
}

/// What an error means for who listens.
fn lost(error: &PgWireError) -> Lost {
    match error {
        PgWireError::Server(text) => {
            let (message, code) = text.rsplit_once(" (SQLSTATE ").unwrap_or((text, ""));
            refused(code.trim_end_matches(')'), message)
        }
        PgWireError::Io(_) | PgWireError::Task(_) => Lost::Disconnected,
        // The library's own words about what the server asked for.
        PgWireError::Auth(text) => Lost::Impossible(text.clone()),
        _ => Lost::Unreadable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_has_its_code() {
        let lost = |text: &str| lost(&PgWireError::Server(text.to_owned()));
        let refused = |code: &str, message: &str| Lost::Refused {
            code: code.to_owned(),
            message: message.to_owned(),
        };
        assert_eq!(lost("no (x) (SQLSTATE 42501)"), refused("42501", "no (x)"));
        assert_eq!(lost("no"), refused("", "no"));
        assert_eq!(lost("going (SQLSTATE 57P01)"), Lost::Disconnected);
    }
}
