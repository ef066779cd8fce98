//! A door that is cut: a socket before a database's, whose connections end at a byte.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// To the database: what is cut off was never asked.
    There,
    /// From it: what is cut off was done, and nobody heard.
    Back,
}

#[derive(Default)]
struct Plan {
    /// Bytes that still pass before the cut.
    there: Option<usize>,
    back: Option<usize>,
    /// So many bytes still come back once a commit has gone there.
    after_commit: Option<usize>,
    /// Bytes that passed since the plan was made.
    passed: [usize; 2],
}

/// The door.
pub(crate) struct Door {
    folder: TempDir,
    plan: Arc<Mutex<Plan>>,
    task: JoinHandle<()>,
}

impl Drop for Door {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Door {
    /// One before the socket at `to`, under the name that clients look for.
    pub(crate) fn before(to: PathBuf, name: &str) -> Self {
        let folder = TempDir::with_prefix("dr").expect("a folder");
        let listener = UnixListener::bind(folder.path().join(name)).expect("a socket");
        let plan = Arc::<Mutex<Plan>>::default();
        let task = tokio::spawn(serve(listener, to, plan.clone()));
        Self { folder, plan, task }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// From now on so many bytes go that way; then the connection ends.
    pub(crate) fn cut(&self, way: Way, bytes: usize) {
        let mut plan = self.plan.lock().expect("no panic");
        *plan = Plan::default();
        match way {
            Way::There => plan.there = Some(bytes),
            Way::Back => plan.back = Some(bytes),
        }
    }

    /// A commit is done, and of its acknowledgement come so many bytes.
    pub(crate) fn cut_after_commit(&self, bytes: usize) {
        let after_commit = Some(bytes);
        *self.plan.lock().expect("no panic") = Plan { after_commit, ..Plan::default() };
    }

    /// Waits until so many bytes have gone that way since it was opened.
    pub(crate) async fn passed(&self, way: Way, bytes: usize) {
        let at = usize::from(way == Way::Back);
        while self.plan.lock().expect("no panic").passed[at] < bytes {
            tokio::task::yield_now().await;
        }
    }

    /// Nothing is cut any more; how many bytes went there and back since it was said last.
    pub(crate) fn open(&self) -> [usize; 2] {
        std::mem::take(&mut *self.plan.lock().expect("no panic")).passed
    }
}

async fn serve(listener: UnixListener, to: PathBuf, plan: Arc<Mutex<Plan>>) {
    while let Ok((client, _)) = listener.accept().await {
        let Ok(server) = UnixStream::connect(&to).await else { continue };
        let (client_reads, client_writes) = client.into_split();
        let (server_reads, server_writes) = server.into_split();
        let end = Arc::new(Notify::new());
        for (mut from, mut into, way) in
            [(client_reads, server_writes, Way::There), (server_reads, client_writes, Way::Back)]
        {
            let (plan, end) = (plan.clone(), end.clone());
            tokio::spawn(async move {
                let mut buffer = vec![0; 4096];
                loop {
                    let read = tokio::select! {
                        biased;
                        () = end.notified() => break,
                        read = from.read(&mut buffer) => read.unwrap_or(0),
                    };
                    let passes = allowed(&plan, way, &buffer[..read]);
                    let is_over = read == 0 || passes < read;
                    if into.write_all(&buffer[..passes]).await.is_err() || is_over {
                        break;
                    }
                }
                // The other way ends too; this one's ends are dropped here.
                end.notify_one();
            });
        }
    }
}

fn allowed(plan: &Mutex<Plan>, way: Way, bytes: &[u8]) -> usize {
    let mut plan = plan.lock().expect("no panic");
    if way == Way::There && bytes.windows(6).any(|window| window == b"COMMIT") {
        plan.back = plan.after_commit.take().or(plan.back);
    }
    let bytes = bytes.len();
    plan.passed[usize::from(way == Way::Back)] += bytes;
    let left = match way {
        Way::There => &mut plan.there,
        Way::Back => &mut plan.back,
    };
    let Some(left) = left else { return bytes };
    let passes = bytes.min(*left);
    *left -= passes;
    passes
}
