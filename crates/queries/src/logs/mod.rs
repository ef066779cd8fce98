//! Logs: bytes, however they are cut, become executions of queries.
//!
//! Start at [`Reading`]; `slow` reads MySQL's and MariaDB's slow logs, `postgres` what
//! PostgreSQL writes, `numbers` what stands in both.
//! Invariants: 1. what is read doesn't depend on how the bytes were cut. 2. no more than
//! [`ENTRY_BYTES_MAX`] and a piece are held. 3. nothing in a log is fatal: what can't be
//! read is counted, and the first of it kept as an example.

mod csv;
mod numbers;
mod plans;
mod postgres;
mod slow;

use std::io::{self, Read};

use memchr::memmem;

use self::postgres::{Layout, PostgresLog};
use self::slow::SlowLog;
use crate::query::Query;
use crate::tokens::{Dialect, redact};

/// An entry that is longer is cut; what follows of it is unread.
pub const ENTRY_BYTES_MAX: usize = 8 << 20;
/// How much is asked for at once.
const PIECE_BYTES: usize = 256 << 10;
/// Bytes by which a log is known.
const SAMPLE_BYTES: usize = 16 << 10;
/// Unread lines that are kept, and bytes of each.
const EXAMPLES_MAX: usize = 5;
const EXAMPLE_BYTES: usize = 120;

/// Who takes queries.
pub type Sink<'a> = &'a mut dyn FnMut(&Query<'_>);

/// What a log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The slow log of a MySQL or MariaDB.
    Slow,
    /// What PostgreSQL writes to standard error.
    PostgresStderr,
    /// PostgreSQL's `csvlog`.
    PostgresCsv,
    /// PostgreSQL's `jsonlog`.
    PostgresJson,
}

/// What couldn't be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Lines, or records, that say nothing that is known.
    pub unread: u64,
    /// The first of them, with literals redacted.
    pub examples: Vec<String>,
    /// Entries that were cut because they are too long.
    pub cut: u64,
}

impl Faults {
    /// Adds those of another log.
    pub fn join(&mut self, other: &Self) {
        self.unread += other.unread;
        self.cut += other.cut;
        let room = EXAMPLES_MAX.saturating_sub(self.examples.len());
        self.examples.extend(other.examples.iter().take(room).cloned());
    }

    fn unread(&mut self, line: &[u8]) {
        self.unread += 1;
        if self.examples.len() < EXAMPLES_MAX {
            let line = &line[..line.len().min(EXAMPLE_BYTES)];
            self.examples.push(redact(line, Dialect::Postgres));
        }
    }
}

/// A log that is being read.
#[derive(Debug, Default)]
pub struct Reading {
    buffer: Vec<u8>,
    reader: Option<Reader>,
    faults: Faults,
    bytes: u64,
}

#[derive(Debug)]
enum Reader {
    Slow(Box<SlowLog>),
    Postgres(Box<PostgresLog>),
}

impl Reader {
    fn of(format: Format) -> Self {
        match format {
            Format::Slow => Self::Slow(Box::default()),
            Format::PostgresStderr => Self::Postgres(Box::new(PostgresLog::new(Layout::Stderr))),
            Format::PostgresCsv => Self::Postgres(Box::new(PostgresLog::new(Layout::Csv))),
            Format::PostgresJson => Self::Postgres(Box::new(PostgresLog::new(Layout::Json))),
        }
    }

    fn read(&mut self, bytes: &[u8], is_end: bool, faults: &mut Faults, sink: Sink<'_>) -> usize {
        match self {
            Self::Slow(log) => log.read(bytes, is_end, faults, sink),
            Self::Postgres(log) => log.read(bytes, is_end, faults, sink),
        }
    }
}

impl Reading {
    /// Reads what `source` has up to its end, which isn't the log's: see [`Self::end`].
    ///
    /// # Errors
    /// Those of `source`.
    pub fn take_all(&mut self, source: &mut dyn Read, sink: Sink<'_>) -> io::Result<()> {
        loop {
            let held = self.buffer.len();
            self.buffer.resize(held + PIECE_BYTES, 0);
            let read = source.read(&mut self.buffer[held..]);
            self.buffer.truncate(held + read.as_ref().copied().unwrap_or(0));
            match read {
                Ok(0) => return Ok(()),
                Ok(count) => {
                    self.bytes += count as u64;
                    self.advance(false, sink);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads these bytes.
    pub fn take(&mut self, bytes: &[u8], sink: Sink<'_>) {
        self.buffer.extend_from_slice(bytes);
        self.bytes += bytes.len() as u64;
        self.advance(false, sink);
    }

    /// Nothing comes any more: what is left is read as it is.
    pub fn end(&mut self, sink: Sink<'_>) {
        self.advance(true, sink);
        if let Some(Reader::Postgres(log)) = &mut self.reader {
            log.end(sink);
        }
        if self.reader.is_none() && !self.buffer.is_empty() {
            self.faults.unread(&self.buffer);
        }
        self.buffer.clear();
    }

    /// What the log is, once that is known.
    #[must_use]
    pub fn format(&self) -> Option<Format> {
        self.reader.as_ref().map(|reader| match reader {
            Reader::Slow(_) => Format::Slow,
            Reader::Postgres(log) => log.format(),
        })
    }

    /// What couldn't be read.
    #[must_use]
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Bytes that were read.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    fn advance(&mut self, is_end: bool, sink: Sink<'_>) {
        if self.reader.is_none() {
            let format = detect(&self.buffer, is_end || self.buffer.len() >= SAMPLE_BYTES);
            self.reader = format.map(Reader::of);
        }
        let Some(reader) = &mut self.reader else { return };
        let mut read = reader.read(&self.buffer, is_end, &mut self.faults, sink);
        if self.buffer.len() - read > ENTRY_BYTES_MAX {
            self.faults.cut += 1;
            read += reader.read(&self.buffer[read..], true, &mut self.faults, sink);
        }
        self.buffer.drain(..read);
    }
}

/// What a log is that begins so. Unless `is_all`, only what is certain is told, since
/// more is to come.
fn detect(sample: &[u8], is_all: bool) -> Option<Format> {
    let sample = &sample[..sample.len().min(SAMPLE_BYTES)];
    let whole = match sample.iter().rposition(|byte| *byte == b'\n') {
        Some(end) if !is_all => &sample[..=end],
        None if !is_all => return None,
        _ => sample,
    };
    for line in whole.split(|byte| *byte == b'\n') {
        if line.starts_with(b"# User@Host: ") || line.starts_with(b"# Query_time: ") {
            return Some(Format::Slow);
        }
        if line.starts_with(b"{\"timestamp\":") {
            return Some(Format::PostgresJson);
        }
        if csv::is_record(line) {
            return Some(Format::PostgresCsv);
        }
        let is_stderr = [&b"LOG:  "[..], b"ERROR:  ", b"STATEMENT:  ", b"FATAL:  "];
        if is_stderr.iter().any(|level| memmem::find(line, level).is_some()) {
            return Some(Format::PostgresStderr);
        }
    }
    // A log without entries has what its server writes at the start, and no more.
    let is_slow = memmem::find(whole, b"Tcp port: ").is_some();
    (is_all && is_slow).then_some(Format::Slow)
}
