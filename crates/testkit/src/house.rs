//! The Wick in this process that a scene is played to, and that it may begin anew.
//!
//! Invariant: what was begun for a Wick ends with it, as if its process had ended.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::{Shutdown, task};
use server::{DiskFound, Server, ServerConfig, hash_seed};
use store::disk::{Disk, DiskOptions};
use tempfile::TempDir;
use tokio::io::DuplexStream;
use tokio::task::JoinHandle;

use crate::stream::PIPE_BYTES;
use crate::world::World;

/// What the index of the disk may take of memory.
const INDEX_BYTES_MAX: usize = 1 << 20;

/// A Wick, and the folder that outlives it.
pub(crate) struct House {
    wick: Mutex<Wick>,
    disk: Option<Kept>,
}

/// What is kept on the disk, and how much of it.
pub(crate) struct Kept {
    folder: TempDir,
    size_bytes: u64,
}

struct Wick {
    server: Arc<Server>,
    tasks: Vec<JoinHandle<()>>,
}

impl Kept {
    /// An empty folder.
    pub(crate) fn new(size_bytes: u64) -> io::Result<Self> {
        Ok(Self { folder: TempDir::new()?, size_bytes })
    }
}

impl House {
    /// A Wick that serves from now on.
    pub(crate) fn begin(
        config: ServerConfig,
        disk: Option<Kept>,
        world: &World,
    ) -> io::Result<Self> {
        let wick = Mutex::new(begin(config, disk.as_ref(), world)?);
        Ok(Self { wick, disk })
    }

    pub(crate) fn server(&self) -> Arc<Server> {
        self.wick().server.clone()
    }

    /// Has this done for as long as this Wick lives.
    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        let mut wick = self.wick();
        let panics = wick.server.counters().panics.clone();
        wick.tasks.retain(|task| !task.is_finished());
        wick.tasks.push(task::spawn_counted(&panics, future));
    }

    /// Stops it in good order, and begins another with the same folder.
    pub(crate) async fn restart(&self, config: ServerConfig, world: &World) -> io::Result<()> {
        let (server, tasks) = {
            let mut wick = self.wick();
            (wick.server.clone(), std::mem::take(&mut wick.tasks))
        };
        for task in tasks {
            task.abort();
            // Whether it had ended before makes no difference.
            let _ = task.await;
        }
        server.close_disk();
        drop(server);
        let next = begin(config, self.disk.as_ref(), world)?;
        *self.wick() = next;
        Ok(())
    }

    /// Another connection of the client at this address.
    pub(crate) fn connect(&self, address: Ipv4Addr) -> DuplexStream {
        let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
        let peer = SocketAddr::new(IpAddr::V4(address), 50_000);
        let local = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(198, 51, 100, 1)), 80);
        self.spawn(self.server().serve_connection(theirs, peer, local));
        ours
    }

    fn wick(&self) -> MutexGuard<'_, Wick> {
        self.wick.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn begin(mut config: ServerConfig, disk: Option<&Kept>, world: &World) -> io::Result<Wick> {
    if let Some(kept) = disk {
        config.disk = Some(Disk::begin(DiskOptions {
            folder: kept.folder.path().join("disk"),
            size_bytes: kept.size_bytes,
            index_bytes_max: INDEX_BYTES_MAX,
            boot: b"scene".to_vec(),
            unix_seconds: world.clock.now().unix_seconds(),
            complain: Box::new(|_| {}),
            secret: &hash_seed,
        })?);
    }
    let server = Server::new(config, world.clock.clone());
    if let Some(DiskFound { emptied: Some(why), .. }) = server.open_disk() {
        return Err(io::Error::other(why));
    }
    let panics = server.counters().panics.clone();
    let housekeeping = server.clone().housekeeping(Shutdown::default());
    let tasks = vec![task::spawn_counted(&panics, housekeeping)];
    Ok(Wick { server, tasks })
}
