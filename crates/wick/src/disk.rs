//! The disk tier's life: begun before anybody is served, opened when the folder is free, and
//! closed when nobody is served any more.
//!
//! A Wick that takes another's place finds the folder taken: it serves without what is in it
//! until the other has written all it had in memory, and let go.

use base::complaint::complain;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base::Shutdown;
use base::amount::show_bytes;
use server::{DiskFound, Server, hash_seed};
use store::disk::{Disk, DiskOptions, boot};

use crate::plan::Plan;

/// The folder's name in the state folder.
const FOLDER: &str = "disk";
/// The index of what lies there may take this part of the memory.
const INDEX_PART: u64 = 7;
/// How often it is looked whether another process has let go of the folder.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// How long a stop waits for a disk that may hang.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where pages are kept.
pub(crate) fn folder(state: &Path) -> PathBuf {
    state.join(FOLDER)
}

/// The tier that a plan wants. Without it pages are served as well, so what is wrong is said
/// and no more. It must be begun before anything is hashed: what lies there decides how.
pub(crate) fn begin(plan: &Plan) -> Option<Disk> {
    let size_bytes = plan.disk_bytes?;
    let folder = folder(&plan.state);
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let index_bytes = plan.memory_bytes / INDEX_PART;
    let begun = Disk::begin(DiskOptions {
        folder: folder.clone(),
        size_bytes,
        index_bytes_max: usize::try_from(index_bytes).unwrap_or(usize::MAX),
        boot: boot(),
        unix_seconds: since_1970.as_secs(),
        complain: Box::new(|line| complain(line)),
        secret: &hash_seed,
    });
    begun.inspect_err(|error| complain(explain(&folder, error))).ok()
}

/// Why there is no tier, and what to do.
pub(crate) fn explain(folder: &Path, error: &std::io::Error) -> String {
    format!(
        "can't keep pages in {} ({error}): make it writable for this user, choose another folder \
         with --state, or leave --disk (disk = …) out",
        folder.display()
    )
}

/// Opens the tier, now or as soon as another process has let go; what is to be told of it.
pub(crate) async fn open(server: &Arc<Server>, plan: &Plan, shutdown: &Shutdown) -> Option<String> {
    let size = show_bytes(plan.disk_bytes?);
    let found = match server.disk_counts() {
        Some(_) => look(server.clone()).await,
        None => return None,
    };
    if let Some(found) = found {
        return Some(format!("disk      {size}, {}", told(&found)));
    }
    let (server, shutdown) = (server.clone(), shutdown.clone());
    tokio::spawn(async move {
        loop {
            tokio::select! {
                () = tokio::time::sleep(LOOK_AGAIN) => {}
                () = shutdown.begun() => return,
            }
            if look(server.clone()).await.is_some() {
                return;
            }
        }
    });
    Some(format!("disk      {size}, as soon as the Wick before this one lets go of it"))
}

async fn look(server: Arc<Server>) -> Option<DiskFound> {
    tokio::task::spawn_blocking(move || server.open_disk()).await.unwrap_or_default()
}

fn told(found: &DiskFound) -> String {
    match (found.pages, found.emptied) {
        (_, Some(why)) => format!("begun anew: {why}"),
        (0, None) => "nothing kept from before".to_owned(),
        (1, None) => format!("1 page kept from before in {}", show_bytes(found.bytes)),
        (many, None) => format!("{many} pages kept from before in {}", show_bytes(found.bytes)),
    }
}

/// Writes what lies in memory, and lets go of the folder.
pub(crate) async fn close(server: &Arc<Server>) {
    if server.disk_counts().is_none() {
        return;
    }
    let server = server.clone();
    let closing = tokio::task::spawn_blocking(move || server.close_disk());
    // A disk may hang; what it misses is asked of the origin again.
    let _ = tokio::time::timeout(PATIENCE, closing).await;
}
