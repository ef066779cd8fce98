//! The access log: a line an answer, written by a thread of its own.
//!
//! A log that can't keep up loses lines, and counts them; it never holds up an answer.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender, TrySendError};
use std::time::Duration;

use base::Counter;
use server::{AccessLine, AccessSink};

/// Lines that may wait for the disk.
const LINES_MAX: usize = 16_384;
/// How long a line may wait in the buffer when nothing else comes.
const FLUSH_AFTER: Duration = Duration::from_secs(1);

/// Opens a log (`-`: standard error) and returns where lines go and the count of those lost.
pub(crate) fn open(path: &Path) -> io::Result<(AccessSink, Arc<Counter>)> {
    let target: Box<dyn Write + Send> = if path == Path::new("-") {
        Box::new(io::stderr())
    } else {
        Box::new(append_to(path)?)
    };
    let (sender, receiver) = mpsc::sync_channel(LINES_MAX);
    std::thread::Builder::new()
        .name("access-log".into())
        .spawn(move || write_lines(&receiver, target))?;
    let lost = Arc::new(Counter::default());
    Ok((sink(sender, lost.clone()), lost))
}

fn append_to(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

fn sink(sender: SyncSender<AccessLine>, lost: Arc<Counter>) -> AccessSink {
    Arc::new(move |line| {
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) = sender.try_send(line) {
            lost.bump();
        }
    })
}

fn write_lines(lines: &mpsc::Receiver<AccessLine>, target: Box<dyn Write + Send>) {
    let mut out = BufWriter::new(target);
    loop {
        let written = match lines.recv_timeout(FLUSH_AFTER) {
            Ok(line) => writeln!(out, "{}", show(&line)),
            Err(RecvTimeoutError::Timeout) => out.flush(),
            Err(RecvTimeoutError::Disconnected) => return drop(out.flush()),
        };
        if let Err(error) = written {
            eprintln!("wick: the access log can't be written ({error}); it ends here");
            return;
        }
    }
}

/// `1789000000.123 203.0.113.7 GET example.org /path 200 hit 0ms`
fn show(line: &AccessLine) -> String {
    format!(
        "{}.{:03} {} {} {} {} {} {} {}ms",
        line.unix_ms / 1000,
        line.unix_ms % 1000,
        line.peer,
        line.method,
        if line.host.is_empty() { "-" } else { &line.host },
        line.path,
        line.status,
        line.verdict,
        line.took_ms
    )
}
