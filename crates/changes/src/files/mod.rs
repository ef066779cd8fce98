//! Watching files: what an app keeps in folders, and the files of its settings.
//!
//! `kernel` is inotify; `tree` knows which folders are watched and what was heard in
//! them; `calm` tells of a file that is written all the time now and then; `class` makes
//! a change of it that can be learned.
//!
//! A change's table is the folder, from the source's own name on (`pages/wiki`); its key
//! is the file's name; both are masked as keys are. What is created or moved in is an
//! insert, what is written or gets other rights an update, what is deleted or moved out a
//! delete. Nothing is left out by name.
//!
//! How the rules of [`noise`](crate::noise) hold here:
//!
//! - A kind of change is operation, folder class and name class: the files of a cache
//!   whose names are hashes are one kind, and so are the folders that are hashes'
//!   beginnings. Each that every reading writes is proved as such.
//! - A file that readers create is theirs (rows that readers make), with all files of
//!   its class in its folder: its filling, renaming and deletion need no proof.
//! - Updates have no columns here, so the rule of the subset says nothing, and **a file
//!   that holds content and is written by every reading (a counter within an article)
//!   can't be told from one that is edited**: edits are then noise, unless one was seen
//!   while nobody asked. Such files are not to be followed.
//! - A cache whose files have names (`cache/about-us.html`) is as many kinds as pages, each
//!   to be proved by itself, and more than 64 new ones within a minute end all that was
//!   learned; temporary files with letters by chance are new for ever. Better to name only
//!   the folders that hold content, as the hints do.
//! - Nothing here is a changed definition, so nothing else ends what was learned.
//!
//! Invariants: 1. [`Event::Recovered`] is told when all watches stand. 2. What happened is
//! told at once; only writings of a file that stays open wait, for at most 100 ms. 3. Only
//! names and states are read, never content. Bounds: 16,384 folders and 1,024 links a
//! source (memory: see `tree`); 1,024 of the kernel's events a turn, told as one change for
//! each kind; what is faster overruns a queue, the kernel's or ours, and is
//! [`Lost::Overrun`].
//!
//! Unheard are what another machine writes to a shared disk, what reaches a file by a hard
//! link from elsewhere, and what is written through memory until the file is closed.
//! PHP may run a file as it was for two seconds more: see [`Change::fence`].

mod calm;
mod class;
mod kernel;
#[cfg(test)]
mod stories;
mod tree;

use std::convert::Infallible;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until};

use crate::queue::Inlet;
use crate::repeat::repeat;
use crate::{Change, Event, Lost};
use tree::Tree;

/// After so long without news the listener hears that nothing happens, and it is looked
/// where links lead.
const QUIET: Duration = Duration::from_secs(1);

/// Watches the folder, or the file, at `path` for ever.
pub(crate) async fn follow(path: PathBuf, inlet: Inlet) {
    repeat(&inlet, || watch(path.clone(), inlet.clone())).await;
}

async fn watch(path: PathBuf, inlet: Inlet) -> Result<Infallible, Lost> {
    let mut tree = apart(move || Tree::stand(&path)).await??;
    let heard = wait_at(tree.handle()?)?;
    inlet.tell(Event::Recovered);
    let mut told_at = Instant::now();
    let mut look_at = told_at + QUIET;
    let mut is_more = false;
    loop {
        if !is_more {
            let until = tree.due().map_or(look_at, |due| look_at.min(due.into()));
            tokio::select! {
                ready = heard.readable() => ready.map_err(|_| Lost::Unreadable)?.clear_ready(),
                () = sleep_until(until) => {}
            }
        }
        let now = Instant::now();
        let is_look = now >= look_at;
        let turned = apart(move || {
            if is_look {
                tree.look()?;
            }
            let turned = tree.turn(now.into())?;
            Ok::<_, Lost>((tree, turned))
        });
        let changes: Vec<Change>;
        (tree, (changes, is_more)) = turned.await??;
        if is_look {
            look_at = now + QUIET;
        }
        if !changes.is_empty() {
            told_at = now;
            changes.into_iter().for_each(|change| inlet.tell(Event::Change(change)));
            inlet.tell(Event::Commit(None));
        } else if is_look && now >= told_at + QUIET {
            inlet.tell(Event::Idle);
        }
    }
}

/// The older way to register is without `unsafe`: what it can't rule out, a handle that
/// changes or is closed meanwhile, is nothing that an owned one can do.
#[expect(deprecated)]
fn wait_at(handle: OwnedFd) -> Result<AsyncFd<OwnedFd>, Lost> {
    AsyncFd::with_interest(handle, Interest::READABLE).map_err(|_| Lost::Unreadable)
}

/// Does what may wait for a disk, where nobody else has to wait for it.
async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Lost> {
    spawn_blocking(work).await.map_err(|_| Lost::Unreadable)
}
