//! The notebook: what was learned about the sites, kept over a restart.
//!
//! Notes come from the road, which must not wait; they go through a bounded queue to a
//! thread of their own, and from there into the [`File`], many in one transaction.
//! Invariants: 1. A note that finds the queue full is dropped and counted. 2. What was
//! taken is written at the latest [`WRITE_AFTER`] later, and at the end. 3. Nothing that is
//! wrong with the file stops anything else.

mod file;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use base::Counter;
use base::complaint::complain;
use server::{Note, Notes, StoredNote};
use tokio::sync::oneshot;

use crate::finishing;

pub(crate) use self::file::NotebookError;
use self::file::{Bounds, File};

/// The file's name in the state folder.
const FILE: &str = "learned.sqlite3";
/// Notes that may wait for the disk, and what they may weigh together.
const NOTES_MAX: usize = 4096;
const BYTES_MAX: usize = 8 << 20;
/// How long a note may wait for others, and how many are written at once.
const WRITE_AFTER: Duration = Duration::from_millis(200);
const BATCH_MAX: usize = 512;

/// An open notebook.
#[derive(Debug)]
pub(crate) struct Notebook {
    sender: SyncSender<Message>,
    /// What has been taken and not been written yet, in bytes.
    waiting_bytes: Arc<AtomicUsize>,
    lost: Arc<Counter>,
}

enum Message {
    Note(Note),
    Load {
        site: String,
        answer: mpsc::Sender<Vec<StoredNote>>,
    },
    /// Write everything out and close the file, so that another process may have it.
    Lend(oneshot::Sender<()>),
    /// Open it again.
    TakeBack,
    /// Write everything out, close the file, then answer.
    Finish(oneshot::Sender<()>),
}

/// The thread's end of the queue.
struct Writer {
    messages: Receiver<Message>,
    waiting_bytes: Arc<AtomicUsize>,
    lost: Arc<Counter>,
}

impl Notebook {
    /// Opens the notebook in a state folder, or begins one.
    pub(crate) fn open(state: &Path) -> Result<Self, NotebookError> {
        let path = state.join(FILE);
        let unwritable = |error| NotebookError::Folder(state.to_owned(), error);
        std::fs::create_dir_all(state).map_err(unwritable)?;
        let file = File::open(&path, Bounds::default())?;
        let (notebook, writer) = Self::queue();
        std::thread::Builder::new()
            .name("notebook".into())
            .spawn(move || writer.write_notes(file, &path))
            .map_err(unwritable)?;
        Ok(notebook)
    }

    fn queue() -> (Self, Writer) {
        let (sender, messages) = mpsc::sync_channel(NOTES_MAX);
        let notebook = Self { sender, waiting_bytes: Arc::default(), lost: Arc::default() };
        let (waiting_bytes, lost) = (notebook.waiting_bytes.clone(), notebook.lost.clone());
        (notebook, Writer { messages, waiting_bytes, lost })
    }

    /// Notes that were not kept.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.read()
    }

    /// Lets another process have the file; until it is taken back notes are lost.
    pub(crate) async fn lend(&self) {
        finishing::finish(&self.sender, Message::Lend).await;
    }

    /// Goes on after all: the other process has not come.
    pub(crate) fn take_back(&self) {
        // A thread that has ended has said so by itself.
        let _ = self.sender.send(Message::TakeBack);
    }

    /// Waits until what was taken so far is written and the file is closed; not for ever,
    /// as a disk may hang. Notes that come later are lost.
    pub(crate) async fn finish(&self) {
        finishing::finish(&self.sender, Message::Finish).await;
    }
}

impl Notes for Notebook {
    fn load(&self, site: &str) -> Vec<StoredNote> {
        let (answer, notes) = mpsc::channel();
        // A thread that has ended drops the message, and with it the sender.
        let _ = self.sender.send(Message::Load { site: site.to_owned(), answer });
        notes.recv().unwrap_or_default()
    }

    fn write(&self, note: Note) {
        let bytes = weight(&note);
        let waiting = self.waiting_bytes.fetch_add(bytes, Ordering::Relaxed);
        let has_room = waiting.saturating_add(bytes) <= BYTES_MAX;
        if !has_room || self.sender.try_send(Message::Note(note)).is_err() {
            self.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.lost.bump();
        }
    }
}

/// What a note takes while it waits.
fn weight(note: &Note) -> usize {
    size_of::<Note>() + note.site.len() + note.key.len() + note.value.as_ref().map_or(0, Vec::len)
}

impl Writer {
    /// The thread: gathers notes, writes them, and reads in between for those who ask.
    fn write_notes(self, file: File, path: &Path) {
        let mut file = Some(file);
        let mut batch = Vec::new();
        let mut due = Instant::now();
        loop {
            let next = if batch.is_empty() {
                self.messages.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                self.messages.recv_timeout(due.saturating_duration_since(Instant::now()))
            };
            let asked = match next {
                Ok(Message::Note(note)) => {
                    if batch.is_empty() {
                        due = Instant::now() + WRITE_AFTER;
                    }
                    batch.push(note);
                    if batch.len() < BATCH_MAX {
                        continue;
                    }
                    None
                }
                Ok(asked) => Some(asked),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return self.write(&mut file, &mut batch),
            };
            self.write(&mut file, &mut batch);
            match asked {
                Some(Message::Load { site, answer }) => {
                    // Whoever asked may have gone.
                    let _ = answer.send(file.as_mut().map_or_else(Vec::new, |f| f.load(&site)));
                }
                Some(Message::Lend(done)) => {
                    file = None;
                    // As above.
                    let _ = done.send(());
                }
                Some(Message::TakeBack) => {
                    let opened = File::open(path, Bounds::default());
                    file = opened.inspect_err(|error| complain(error)).ok();
                }
                Some(Message::Finish(done)) => {
                    // Whoever hears the answer finds file and queue closed.
                    drop((file, self));
                    let _ = done.send(());
                    return;
                }
                Some(Message::Note(_)) | None => {}
            }
        }
    }

    fn write(&self, file: &mut Option<File>, batch: &mut Vec<Note>) {
        let is_written = match file {
            Some(file) => batch.is_empty() || file.write(batch),
            None => batch.is_empty(),
        };
        if !is_written {
            self.lost.add(batch.len() as u64);
        }
        let bytes = batch.drain(..).map(|note| weight(&note)).sum();
        self.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(key: &str, value: Option<&str>) -> Note {
        let value = value.map(|value| value.as_bytes().to_vec());
        Note { site: "a".into(), kind: "cookie", key: key.into(), value }
    }

    fn keys(notebook: &Notebook, site: &str) -> Vec<String> {
        let notes = notebook.load(site).into_iter();
        notes.map(|note| String::from_utf8(note.key).expect("the test's key")).collect()
    }

    #[tokio::test]
    async fn what_was_noted_is_there_after_a_restart_and_what_was_forgotten_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = folder.path().join("made/on/the/way");
        let notebook = Notebook::open(&state).expect("a new notebook");
        (0..2 * BATCH_MAX).for_each(|at| notebook.write(note(&format!("{at}"), Some("x"))));
        (3..2 * BATCH_MAX).for_each(|at| notebook.write(note(&format!("{at}"), None)));
        notebook.write(note("0", Some("y")));
        assert_eq!(keys(&notebook, "a"), ["1", "2", "0"], "what waits is seen as well");
        notebook.write(note("1", None));
        notebook.finish().await;
        notebook.write(note("too late", Some("x")));
        assert_eq!((notebook.lost(), keys(&notebook, "a")), (1, vec![]));

        let notebook = Notebook::open(&state).expect("the same notebook");
        assert_eq!(keys(&notebook, "a"), ["2", "0"]);
        assert_eq!(notebook.load("a")[1].value, b"y");
        assert_eq!(keys(&notebook, "b"), [""; 0]);
    }

    #[test]
    fn what_finds_the_queue_full_is_dropped_and_counted() {
        let (notebook, writer) = Notebook::queue();
        (0..NOTES_MAX + 3).for_each(|_| notebook.write(note("x", None)));
        assert_eq!(notebook.lost(), 3);
        let waiting: usize = writer.messages.try_iter().take(NOTES_MAX).count();
        assert_eq!(waiting, NOTES_MAX);

        let (notebook, writer) = Notebook::queue();
        let half = "x".repeat(BYTES_MAX / 2);
        (0..3).for_each(|_| notebook.write(note("x", Some(&half))));
        assert_eq!(notebook.lost(), 2, "a half and its overhead is more than a half");
        notebook.write(note("x", Some("short")));
        assert_eq!((notebook.lost(), writer.messages.try_iter().count()), (2, 2));
    }

    #[tokio::test]
    async fn a_second_wick_with_the_same_folder_is_told_and_the_first_goes_on() {
        let folder = tempfile::tempdir().expect("a folder");
        let first = Notebook::open(folder.path()).expect("a new notebook");
        let told = Notebook::open(folder.path()).expect_err("it is taken").to_string();
        assert!(told.contains("another Wick") && told.contains("--state"), "{told}");
        first.write(note("x", Some("y")));
        assert_eq!(keys(&first, "a"), ["x"]);
        first.lend().await;
        let second = Notebook::open(folder.path()).expect("it is free");
        assert_eq!(keys(&second, "a"), ["x"]);
        second.finish().await;
        first.write(note("missed", Some("y")));
        first.take_back();
        first.write(note("z", Some("y")));
        assert_eq!((keys(&first, "a"), first.lost()), (vec!["x".to_owned(), "z".to_owned()], 1));
        first.finish().await;
        assert!(Notebook::open(folder.path()).is_ok(), "it is free again");
    }
}
