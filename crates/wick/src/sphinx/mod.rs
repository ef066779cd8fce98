//! Sphinx's clients beside the sites: their ports and indexes begun, told new settings, handed
//! over, ended.
//!
//! Ports are bound with those of the sites, and read only when the indexes are open: at an upgrade
//! that is when the process before has let go of them. Who comes meanwhile waits in the sockets,
//! which both have.
//! Invariants: 1. one process at a time has the indexes. 2. no client who has just come is turned
//! away by an upgrade. 3. nothing here tells a password of the file's.

mod asking;
mod check;
mod plan;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use search::Limits;
use search::sphinx::conf::Listen;
use search::sphinx::{Catalogue, Door, Figures, Filling};

pub(crate) use self::asking::{SphinxQuestion, ask, tell};
pub(crate) use self::check::check;
pub(crate) use self::plan::SphinxPlan;

/// Why Sphinx's clients can't be answered; each message says what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SphinxError {
    /// An address can't be had.
    #[error(
        "clients of Sphinx can't be listened for on {0}: {1}; stop what has that port (searchd, or \
         what \"ss -lntp\" names), or write another in listen of [sphinx]"
    )]
    Listen(SocketAddr, io::Error),
    /// Indexes can't be kept.
    #[error(
        "the folder of Sphinx's indexes {0} can't be used: {1}; let this user write there, or name \
         another state folder with --state"
    )]
    Folder(String, io::Error),
    /// The system refuses a thread.
    #[error("the system refuses what Sphinx's clients need: {0}")]
    System(io::Error),
}

/// A port that is bound, and perhaps not read yet.
pub(crate) type Port = (Listen, TcpListener);

/// What is known of Sphinx's clients as long as the process lives.
#[derive(Default)]
pub(crate) struct Answering {
    /// What is served; none before the indexes are open and after they are closed.
    open: Mutex<Option<Open>>,
    /// Handles on its ports, for a successor.
    handles: Mutex<Vec<Port>>,
}

/// Indexes that are found.
struct Open {
    doors: Vec<Door>,
    filling: Filling,
    catalogue: Arc<Catalogue>,
    figures: Arc<Figures>,
}

impl Answering {
    /// Binds the ports, which aren't read yet. `inherited`: those of the process before.
    pub(crate) fn bind(
        plan: &SphinxPlan,
        mut inherited: Vec<TcpListener>,
    ) -> Result<(Arc<Self>, Vec<Port>), SphinxError> {
        let mut ports = Vec::new();
        for wanted in &plan.listen {
            let failed = |error| SphinxError::Listen(wanted.address, error);
            let is_meant = |own: &TcpListener| {
                let any = |own: SocketAddr| wanted.address.port() == 0 && own.port() != 0;
                own.local_addr().is_ok_and(|own| own == wanted.address || any(own))
            };
            let listener = match inherited.iter().position(is_meant) {
                Some(at) => inherited.remove(at),
                None => TcpListener::bind(wanted.address).map_err(failed)?,
            };
            let address = listener.local_addr().map_err(failed)?;
            ports.push((Listen { address, ..*wanted }, listener));
        }
        let handle = |(listen, listener): &Port| Ok((*listen, listener.try_clone()?));
        let handles = ports.iter().map(handle).collect::<io::Result<_>>();
        let handles = Mutex::new(handles.map_err(SphinxError::System)?);
        Ok((Arc::new(Self { open: Mutex::default(), handles }), ports))
    }

    /// Opens the indexes in the state folder and begins to answer.
    pub(crate) fn begin(
        &self,
        plan: &SphinxPlan,
        state: &Path,
        ports: Vec<Port>,
    ) -> Result<(), SphinxError> {
        let folder = plan::folder(state);
        let tables = folder.join("tables");
        let failed = |error| SphinxError::Folder(folder.display().to_string(), error);
        // Texts that not everybody may read can be in it.
        let mut closed = std::fs::DirBuilder::new();
        closed.recursive(true).mode(0o700).create(&tables).map_err(failed)?;
        let wishes = plan.wishes(state);
        // Tables that clients make say nothing of Korean.
        let catalogue = Arc::new(Catalogue::new(tables, Limits::default(), None));
        catalogue.reopen();
        let filling = Filling::begin(wishes, catalogue.clone()).map_err(SphinxError::System)?;
        let figures = Arc::<Figures>::default();
        let open = |(listen, listener): Port| {
            Door::open(listener, listen.protocol, catalogue.clone(), figures.clone())
        };
        let doors = ports.into_iter().map(open).collect::<io::Result<_>>();
        let doors = doors.map_err(SphinxError::System)?;
        *lock(&self.open) = Some(Open { doors, filling, catalogue, figures });
        Ok(())
    }

    /// Goes on by other settings: all indexes are made anew, and found meanwhile as they were.
    pub(crate) fn settle(&self, plan: &SphinxPlan, state: &Path) {
        if let Some(open) = &*lock(&self.open) {
            open.filling.settle(plan.wishes(state));
        }
    }

    /// Handles on its ports.
    pub(crate) fn handles(&self) -> io::Result<Vec<OwnedFd>> {
        lock(&self.handles).iter().map(|(_, own)| Ok(own.try_clone()?.into())).collect()
    }

    /// Where it listens, and what is spoken there.
    pub(crate) fn ports(&self) -> Vec<Listen> {
        lock(&self.handles).iter().map(|(listen, _)| *listen).collect()
    }

    /// Answers who was taken, lets go of the indexes, and ends. Waits.
    pub(crate) fn end(&self) {
        lock(&self.handles).clear();
        let Some(Open { mut doors, filling, catalogue, .. }) = lock(&self.open).take() else {
            return;
        };
        // All at once: each waits for its own clients.
        std::thread::scope(|scope| {
            for door in &mut doors {
                scope.spawn(|| door.close());
            }
            filling.end();
        });
        drop(doors);
        catalogue.close();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
