//! The access log: a line an answer, written by a thread of its own.
//!
//! A log that can't keep up loses lines, and counts them; it never holds up an answer.
//! What has been taken is written at the latest a second later, and at the end. On a disk that is
//! full it waits for room, and goes on. A file that was
//! moved is made anew when somebody asks for that ([`AccessLog::reopen`]).

use std::fs::OpenOptions;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender, TrySendError};
use std::time::{Duration, Instant};

use base::Counter;
use base::complaint::complain;
use serde::Deserialize;
use server::{AccessLine, AccessSink};
use tokio::sync::oneshot;

use crate::{finishing, own_user};

mod format;

/// Lines that may wait for the disk.
const LINES_MAX: usize = 16_384;
/// How long a line may wait in the buffer.
const FLUSH_AFTER: Duration = Duration::from_secs(1);

/// How a line looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    /// What became of the request, and how long it took.
    #[default]
    Wick,
    /// The format of Apache and nginx that bears this name.
    Combined,
    /// An object of JSON.
    Json,
}

/// An open log.
pub(crate) struct AccessLog {
    sender: SyncSender<Message>,
    lost: Arc<Counter>,
}

type Target = Box<dyn Write + Send>;

enum Message {
    Line(AccessLine),
    /// Write everything out, and go on in a new file at the same place.
    Reopen,
    /// Write everything out, then answer.
    Finish(oneshot::Sender<()>),
}

impl AccessLog {
    /// Opens a log at `path`; `-` is standard error. Lines that it can't take are counted.
    pub(crate) fn open(path: &Path, format: LogFormat, lost: Arc<Counter>) -> io::Result<Self> {
        let (target, path): (Target, _) = match path == Path::new("-") {
            true => (Box::new(io::stderr()), None),
            false => (open_file(path)?, Some(path.to_owned())),
        };
        Self::to(target, path, format, lost)
    }

    fn to(
        target: Target,
        path: Option<PathBuf>,
        format: LogFormat,
        lost: Arc<Counter>,
    ) -> io::Result<Self> {
        let (sender, receiver) = mpsc::sync_channel(LINES_MAX);
        let (out, flush_due) = (BufWriter::new(target), Instant::now() + FLUSH_AFTER);
        let writer = Writer { out, path, format, lost: lost.clone(), is_failing: false, flush_due };
        std::thread::Builder::new()
            .name("access-log".into())
            .spawn(move || writer.run(&receiver))?;
        Ok(Self { sender, lost })
    }

    /// Where lines go.
    pub(crate) fn sink(&self) -> AccessSink {
        let (sender, lost) = (self.sender.clone(), self.lost.clone());
        Arc::new(move |line| match sender.try_send(Message::Line(line)) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => lost.bump(),
        })
    }

    /// Goes on in a new file where the old one was moved away; without an answer, since a
    /// log that can't be opened anew goes on in the old one and says so.
    pub(crate) fn reopen(&self) {
        if self.sender.try_send(Message::Reopen).is_err() {
            complain("the access log is too busy to be opened anew; ask again");
        }
    }

    /// Lines that could not be taken.
    #[cfg(test)]
    fn lost(&self) -> u64 {
        self.lost.read()
    }

    /// Waits until what was taken so far is written; not for ever, as a disk may hang.
    pub(crate) async fn finish(&self) {
        finishing::finish(&self.sender, Message::Finish).await;
    }
}

fn open_file(path: &Path) -> io::Result<Target> {
    let open = || OpenOptions::new().create(true).append(true).open(path);
    let file = match open() {
        Err(error) if error.kind() == ErrorKind::PermissionDenied && own_user::make_log(path) => {
            open()
        }
        opened => opened,
    };
    Ok(Box::new(file?))
}

/// Writes what comes. What can't be written waits in the buffer and is tried again; while
/// that lasts, new lines are lost, so that the log goes on with a whole line.
struct Writer {
    out: BufWriter<Target>,
    path: Option<PathBuf>,
    format: LogFormat,
    lost: Arc<Counter>,
    is_failing: bool,
    flush_due: Instant,
}

impl Writer {
    fn run(mut self, messages: &mpsc::Receiver<Message>) {
        loop {
            match messages.recv_timeout(FLUSH_AFTER) {
                Ok(Message::Line(line)) => self.line(&line),
                Ok(Message::Reopen) => self.reopen(),
                Ok(Message::Finish(done)) => {
                    self.flush();
                    // Whoever asked may have given up waiting.
                    let _ = done.send(());
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.flush(),
            }
            if Instant::now() >= self.flush_due {
                self.flush();
            }
        }
    }

    fn line(&mut self, line: &AccessLine) {
        if self.is_failing {
            return self.lost.bump();
        }
        if !self.format.tells(line) {
            return;
        }
        // In one piece: the buffer takes all of it or nothing, unless it is larger than that.
        let written = self.out.write_all(format!("{}\n", self.format.show(line)).as_bytes());
        if written.is_err() {
            self.lost.bump();
        }
        self.judge(written);
    }

    fn flush(&mut self) {
        let written = self.out.flush();
        self.judge(written);
        self.flush_due = Instant::now() + FLUSH_AFTER;
    }

    fn reopen(&mut self) {
        self.flush();
        match self.path.as_deref().map(open_file) {
            Some(Ok(target)) => {
                // What the old file did not take goes into the new one.
                let kept = std::mem::replace(&mut self.out, BufWriter::new(target));
                let (_, rest) = kept.into_parts();
                let written = self.out.write_all(&rest.unwrap_or_default());
                self.judge(written);
                self.flush();
            }
            Some(Err(error)) => {
                complain(format_args!("the access log can't be opened anew ({error}); it goes on"));
            }
            None => {}
        }
    }

    /// Says when lines begin to be lost, and when they no longer are.
    fn judge(&mut self, written: io::Result<()>) {
        match (written, self.is_failing) {
            (Err(error), false) => complain(format_args!(
                "the access log can't be written ({error}): lines are lost until it can; \
                 make room, or move the file away and send SIGUSR1"
            )),
            (Ok(()), true) => {
                let lost = self.lost.read();
                complain(format_args!("the access log is written again; {lost} lines were lost"));
                self.is_failing = false;
                return;
            }
            (Ok(()), false) => return,
            (Err(_), true) => {}
        }
        self.is_failing = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(host: &str) -> AccessLine {
        AccessLine {
            unix_ms: 1_789_000_000_007,
            peer: [203, 0, 113, 7].into(),
            method: "GET".into(),
            host: host.into(),
            path: "/path".into(),
            protocol: "HTTP/1.1",
            referer: String::new(),
            agent: String::new(),
            bytes: None,
            status: 200,
            verdict: policy::Verdict::Hit,
            request_id: Box::default(),
            is_part: false,
            took_ms: 3,
        }
    }

    #[tokio::test]
    async fn at_the_end_every_line_that_was_taken_is_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("access.log");
        let log = AccessLog::open(&path, LogFormat::Wick, Arc::default()).expect("a log");
        let sink = log.sink();
        (0..100).for_each(|_| sink(line("a")));
        log.finish().await;
        let text = std::fs::read_to_string(&path).expect("the log is there");
        assert_eq!((text.lines().count(), log.lost()), (100, 0));
        assert!(
            AccessLog::open(folder.path(), LogFormat::Wick, Arc::default()).is_err(),
            "a folder is no log"
        );
        let moved = folder.path().join("access.log.1");
        std::fs::rename(&path, &moved).expect("it can be moved");
        sink(line("a"));
        log.reopen();
        sink(line("b"));
        log.finish().await;
        let lines = |path| std::fs::read_to_string(path).expect("the log is there").lines().count();
        assert_eq!((lines(&moved), lines(&path), log.lost()), (101, 1, 0));
    }

    /// A disk that has so much room, and takes what fits.
    #[derive(Clone, Default)]
    struct Small(Arc<std::sync::Mutex<(Vec<u8>, usize)>>);

    impl Write for Small {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let (taken, room) = &mut *self.0.lock().expect("no holder panics");
            let fits = bytes.len().min(*room);
            taken.extend_from_slice(&bytes[..fits]);
            *room -= fits;
            if fits == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(fits) }
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_full_disk_loses_lines_and_the_log_goes_on_when_there_is_room() {
        let disk = Small::default();
        disk.0.lock().expect("no holder panics").1 = 100;
        let log = AccessLog::to(Box::new(disk.clone()), None, LogFormat::Wick, Arc::default())
            .expect("a log");
        let sink = log.sink();
        (0..3).for_each(|_| sink(line("before")));
        // It fails in the middle of a line.
        log.finish().await;
        (0..5).for_each(|_| sink(line("meanwhile")));
        log.finish().await;
        assert_eq!(log.lost(), 5);
        disk.0.lock().expect("no holder panics").1 = usize::MAX;
        log.finish().await;
        sink(line("after"));
        log.finish().await;
        let text =
            String::from_utf8(disk.0.lock().expect("no holder panics").0.clone()).expect("lines");
        let hosts = ["before", "before", "before", "after"];
        assert_eq!(text.lines().count(), hosts.len(), "{text}");
        assert!(text.lines().zip(hosts).all(|(line, host)| line.contains(host)), "{text}");
        assert_eq!(log.lost(), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn a_disk_that_hangs_loses_lines_and_holds_nobody_up() {
        struct Hung(mpsc::Receiver<()>);
        impl Write for Hung {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                let _ = self.0.recv();
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let (hold, held) = mpsc::channel();
        let log = AccessLog::to(Box::new(Hung(held)), None, LogFormat::Wick, Arc::default())
            .expect("a log");
        let sink = log.sink();
        (0..LINES_MAX * 2).for_each(|_| sink(line("a")));
        log.finish().await;
        assert!(log.lost() > 0);
        drop(hold);
    }
}
