//! Keeping books on a thread of their own, so that no database is in anybody's way.
//!
//! Invariant: a fault of ours in there, which panics, ends no bookkeeping: the owner is told, the
//! status says so, and it begins anew.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use base::complaint::complain;
use base::{Clock, Shutdown};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::contract::Contract;
use super::keeper::Keeper;
use super::link::{Place, Trouble};
use super::loader::Loader;
use super::log_writer::LogWriter;
use super::push::Pushes;
use super::status::{Shared, Side, Status};
use super::unix_seconds;
use super::writer::Writer;

/// What failed by a fault of ours is tried again after this.
const FAULT_PAUSE: Duration = Duration::from_secs(1);

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
        let keep = move || {
            runtime.block_on(async {
                let clock = Clock::machine();
                let (there, contract, held) = (place.clone(), contract.clone(), keeper.clone());
                let loader =
                    Loader::new(there, contract.clone(), clock.clone(), told.clone(), held);
                let (place, told, keeper) = (place.clone(), told.clone(), keeper.clone());
                let (there, meant, held) = (place.clone(), contract.clone(), keeper.clone());
                let logs = LogWriter::new(there, meant, clock.clone(), told.clone(), held);
                let writer = Writer::new(place, contract, every, clock, told, keeper);
                let reading = loader.run(stop.clone(), woken.clone());
                tokio::join!(reading, writer.run(stop.clone()), logs.run(stop.clone()));
            });
        };
        let (told, stop) = (status.clone(), shutdown.clone());
        let work = move || {
            // Whoever begins anew asks the database what stands in it, as after a restart.
            while catch_unwind(AssertUnwindSafe(&keep)).is_err() && !stop.has_begun() {
                told.fails(Side::Writing, &fault(), unix_seconds(&Clock::machine()));
                std::thread::sleep(FAULT_PAUSE);
            }
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

fn fault() -> Trouble {
    Trouble::Refused(
        "keeping books panicked, which is a fault of Wick's; it begins anew each second; please \
         report what was said before this"
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
    use std::time::Instant;

    use base::Now;

    use super::super::status::State;
    use super::*;
    use crate::credit::Batch;
    use crate::rights::{Torrent, TorrentId, User, UserId};

    /// Its first batches are a fault.
    #[derive(Default)]
    struct Faulty(AtomicU32);

    impl Keeper for Faulty {
        fn resume(&self, _: u64) {}
        fn take_batch(&self, _: Now) -> Option<Arc<Batch>> {
            let asked = self.0.fetch_add(1, Relaxed);
            assert!(asked >= 2, "a fault, as a test wants one");
            None
        }
        fn written(&self, _: u64) {}
        fn begin_loading(&self) {}
        fn finish_loading(&self) {}
        fn put_torrent(&self, _: &Torrent) {}
        fn remove_torrent(&self, _: TorrentId) {}
        fn put_user(&self, _: &User) {}
        fn remove_user(&self, _: UserId) {}
        fn set_passkey_key(&self, _: &str) {}
    }

    #[test]
    fn a_fault_of_ours_is_told_and_books_are_kept_anew() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = Place::Sqlite(folder.path().join("tracker.sqlite"));
        let contract = Contract::known("wick").expect("one of ours");
        let faulty = Arc::new(Faulty::default());
        let every = Duration::from_millis(10);
        let books = Books::begin(place, contract, every, faulty.clone()).expect("a thread");
        let bound = Instant::now() + Duration::from_secs(60);
        let mut faults = 0;
        while faulty.0.load(Relaxed) < 4 || books.status().state != State::Good {
            let status = books.status();
            faults = faults.max(status.failures);
            assert!(!status.why.contains("panicked") || status.state == State::Refused);
            assert!(Instant::now() < bound, "{status:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!((faults, books.status().failures), (2, 2), "each was told");
        books.end();
    }

    /// Has another batch as long as it isn't over.
    #[derive(Default)]
    struct Endless {
        last: AtomicU64,
        users: AtomicU32,
        is_over: AtomicBool,
    }

    impl Keeper for Endless {
        fn resume(&self, _: u64) {}
        fn take_batch(&self, _: Now) -> Option<Arc<Batch>> {
            let number = self.last.load(Relaxed) + 1;
            let batch = Batch { number, ..Batch::default() };
            (!self.is_over.load(Relaxed)).then(|| Arc::new(batch))
        }
        fn written(&self, number: u64) {
            self.last.store(number, Relaxed);
        }
        fn begin_loading(&self) {}
        fn finish_loading(&self) {}
        fn put_torrent(&self, _: &Torrent) {}
        fn remove_torrent(&self, _: TorrentId) {}
        fn put_user(&self, _: &User) {
            self.users.fetch_add(1, Relaxed);
        }
        fn remove_user(&self, _: UserId) {}
        fn set_passkey_key(&self, _: &str) {}
    }

    #[test]
    fn a_file_is_read_while_batch_after_batch_is_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tracker.sqlite");
        let place = Place::Sqlite(path.clone());
        let contract = Contract::known("wick").expect("one of ours");
        let endless = Arc::new(Endless::default());
        let every = Duration::from_millis(10);
        let books = Books::begin(place, contract, every, endless.clone()).expect("a thread");
        let bound = Instant::now() + Duration::from_secs(60);
        let wait = |is_so: &dyn Fn() -> bool| {
            while !is_so() {
                assert!(Instant::now() < bound, "{:?}", books.status());
                std::thread::sleep(Duration::from_millis(5));
            }
        };
        wait(&|| endless.last.load(Relaxed) > 0);
        let site = rusqlite::Connection::open(path).expect("a file");
        site.busy_timeout(Duration::from_secs(60)).expect("it waits");
        site.execute_batch("INSERT INTO wick_users (id, passkey) VALUES (1, 'one')")
            .expect("a row");
        wait(&|| endless.users.load(Relaxed) > 0);
        endless.is_over.store(true, Relaxed);
        books.end();
    }
}
