//! Keeping books on a thread of their own, so that no database is in anybody's way.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use base::complaint::complain;
use base::{Clock, Shutdown};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::contract::Contract;
use super::keeper::Keeper;
use super::link::Place;
use super::loader::Loader;
use super::push::Pushes;
use super::status::{Shared, Status};
use super::writer::Writer;

/// Books that are kept.
pub struct Books {
    status: Shared,
    shutdown: Shutdown,
    wake: Arc<Notify>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Books {
    /// Begins to read and to write, every so often.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub fn begin(
        place: Place,
        contract: Contract,
        every: Duration,
        keeper: Arc<dyn Keeper>,
    ) -> io::Result<Self> {
        let status = Shared::default();
        let shutdown = Shutdown::default();
        let wake = Arc::new(Notify::new());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (told, stop, woken) = (status.clone(), shutdown.clone(), wake.clone());
        let work = move || {
            runtime.block_on(async {
                let clock = Clock::machine();
                let (there, held) = (place.clone(), keeper.clone());
                let loader =
                    Loader::new(there, contract.clone(), clock.clone(), told.clone(), held);
                let writer = Writer::new(place, contract, every, clock, told, keeper);
                tokio::join!(loader.run(stop.clone(), woken), writer.run(stop));
            });
        };
        let thread = std::thread::Builder::new().name("tracker-books".to_owned()).spawn(work)?;
        Ok(Self { status, shutdown, wake, thread: Mutex::new(Some(thread)) })
    }

    /// How they stand.
    #[must_use]
    pub fn status(&self) -> Status {
        self.status.read()
    }

    /// Takes pushes that bear `secret`, for the same `keeper`.
    #[must_use]
    pub fn pushes(&self, secret: String, keeper: Arc<dyn Keeper>) -> Pushes {
        Pushes::new(secret, keeper, self.wake.clone())
    }

    /// Writes what there is, as long as that lasts seconds, and ends. Waits.
    pub fn end(&self) {
        self.shutdown.begin();
        let ended = self.thread.lock().take().map(JoinHandle::join);
        if matches!(ended, Some(Err(_))) {
            complain("the thread of the tracker's books panicked; please report it");
        }
    }
}
