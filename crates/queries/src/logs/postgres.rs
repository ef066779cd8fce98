//! What PostgreSQL logs of durations and plans, in its three layouts.
//!
//! `duration: 0.718 ms  statement: …` or `execute NAME: …` is an execution; `duration: …
//! plan:` is what `auto_explain` knows of one. A plan that the same process's statement
//! follows belongs to it, and is an execution of its own otherwise. What only parses or
//! binds is no execution.
//! Invariant: no more than [`PROCESSES_MAX`] plans wait for their statements.

use std::borrow::Cow;
use std::collections::HashMap;

use memchr::{memchr, memmem};
use serde::Deserialize;

use super::numbers::{date, nanoseconds, whole};
use super::plans::{Summary, parts};
use super::{Faults, Format, Sink, csv};
use crate::query::Query;
use crate::tokens::Dialect;

const MILLISECOND: u64 = 1_000_000;
const PROCESSES_MAX: usize = 256;
/// Of a plan that waits no more is kept.
const PLAN_BYTES_MAX: usize = 8 << 10;

/// How records are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    Stderr,
    Csv,
    Json,
}

/// Reads PostgreSQL's logs.
#[derive(Debug)]
pub(super) struct PostgresLog {
    layout: Layout,
    waiting: HashMap<u64, Waiting>,
    /// Lines of a message put together.
    text: Vec<u8>,
}

/// Who did what when.
#[derive(Clone, Copy, Debug, Default)]
struct Frame<'a> {
    time: Option<i64>,
    process: u64,
    user: &'a [u8],
    database: &'a [u8],
    host: &'a [u8],
}

/// A plan whose statement may follow.
#[derive(Debug)]
struct Waiting {
    nanoseconds: u64,
    time: Option<i64>,
    user: Vec<u8>,
    database: Vec<u8>,
    host: Vec<u8>,
    statement: Vec<u8>,
    plan: Vec<u8>,
    summary: Summary,
}

/// A line of `jsonlog`.
#[derive(Debug, Deserialize)]
struct Line<'a> {
    #[serde(borrow, default)]
    timestamp: Cow<'a, str>,
    #[serde(borrow, default)]
    user: Cow<'a, str>,
    #[serde(borrow, default)]
    dbname: Cow<'a, str>,
    #[serde(default)]
    pid: u64,
    #[serde(borrow, default)]
    remote_host: Cow<'a, str>,
    #[serde(borrow, default)]
    message: Cow<'a, str>,
}

impl PostgresLog {
    pub(super) fn new(layout: Layout) -> Self {
        Self { layout, waiting: HashMap::new(), text: Vec::new() }
    }

    pub(super) fn format(&self) -> Format {
        match self.layout {
            Layout::Stderr => Format::PostgresStderr,
            Layout::Csv => Format::PostgresCsv,
            Layout::Json => Format::PostgresJson,
        }
    }

    /// Reads the records of `bytes`; how many bytes they have.
    pub(super) fn read(
        &mut self,
        bytes: &[u8],
        is_end: bool,
        faults: &mut Faults,
        sink: Sink<'_>,
    ) -> usize {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            let read = match self.layout {
                Layout::Stderr => self.stderr(rest, is_end, faults, sink),
                Layout::Csv => self.csv(rest, is_end, faults, sink),
                Layout::Json => self.json(rest, is_end, faults, sink),
            };
            let Some(read) = read else { break };
            at += read.max(1);
        }
        at
    }

    /// Plans that still wait were executions.
    pub(super) fn end(&mut self, sink: Sink<'_>) {
        let mut all: Vec<_> = self.waiting.drain().collect();
        all.sort_by_key(|(process, _)| *process);
        all.iter().for_each(|(_, waiting)| tell(waiting, sink));
    }

    fn stderr(
        &mut self,
        bytes: &[u8],
        is_end: bool,
        faults: &mut Faults,
        sink: Sink<'_>,
    ) -> Option<usize> {
        let length = lines_length(bytes, is_end)?;
        let record = &bytes[..length];
        let first = &record[..memchr(b'\n', record).unwrap_or(length)];
        let Some((level_at, level)) = level(first) else {
            if !first.trim_ascii().is_empty() {
                faults.unread(first);
            }
            return Some(length);
        };
        if level != b"LOG:  " {
            return Some(length);
        }
        let frame = prefix(&record[..level_at]);
        let message = &record[level_at + level.len()..];
        if !message.starts_with(b"duration: ") {
            return Some(length);
        }
        // Lines after the first begin with a tab that isn't the statement's.
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        let mut rest = message;
        while let Some(end) = memmem::find(rest, b"\n\t") {
            text.extend_from_slice(&rest[..=end]);
            rest = &rest[end + 2..];
        }
        text.extend_from_slice(rest);
        self.message(frame, &text, faults, sink);
        self.text = text;
        Some(length)
    }

    fn csv(
        &mut self,
        bytes: &[u8],
        is_end: bool,
        faults: &mut Faults,
        sink: Sink<'_>,
    ) -> Option<usize> {
        let first = memchr(b'\n', bytes).map_or(bytes, |end| &bytes[..end]);
        if first.len() == bytes.len() && !is_end {
            return None;
        }
        let line = (first.len() + 1).min(bytes.len());
        if first.is_empty() {
            return Some(line);
        }
        if !csv::is_record(first) {
            faults.unread(first);
            return Some(line);
        }
        let (length, record) = csv::record(bytes, is_end)?;
        match record {
            Some(record) => {
                let frame = Frame {
                    time: date(&record.time),
                    process: whole(&record.process).unwrap_or(0),
                    user: &record.user,
                    database: &record.database,
                    host: &record.host,
                };
                self.message(frame, &record.message, faults, sink);
            }
            None => faults.unread(first),
        }
        Some(length)
    }

    fn json(
        &mut self,
        bytes: &[u8],
        is_end: bool,
        faults: &mut Faults,
        sink: Sink<'_>,
    ) -> Option<usize> {
        let end = memchr(b'\n', bytes).or_else(|| is_end.then_some(bytes.len()))?;
        let line = &bytes[..end];
        match serde_json::from_slice::<Line<'_>>(line) {
            Ok(line) => {
                let frame = Frame {
                    time: date(line.timestamp.as_bytes()),
                    process: line.pid,
                    user: line.user.as_bytes(),
                    database: line.dbname.as_bytes(),
                    host: line.remote_host.as_bytes(),
                };
                self.message(frame, line.message.as_bytes(), faults, sink);
            }
            Err(_) if line.trim_ascii().is_empty() => {}
            Err(_) => faults.unread(line),
        }
        Some((end + 1).min(bytes.len()))
    }

    fn message(&mut self, frame: Frame<'_>, text: &[u8], faults: &mut Faults, sink: Sink<'_>) {
        let Some(rest) = text.strip_prefix(b"duration: ") else { return };
        let Some(taken) = nanoseconds(rest, MILLISECOND) else { return faults.unread(text) };
        // `log_duration` alone tells of no statement.
        let Some(at) = memmem::find(rest, b" ms  ") else { return };
        let told = &rest[at + 5..];
        if let Some(plan) = told.strip_prefix(b"plan:") {
            return self.plan(frame, taken, plan.trim_ascii_start(), sink);
        }
        let Some(colon) = memmem::find(told, b": ") else { return faults.unread(text) };
        let kind = &told[..colon];
        if kind.starts_with(b"parse ") || kind.starts_with(b"bind ") {
            return;
        }
        let statement = strip(&told[colon + 2..]);
        let mut query = query_of(frame, taken, statement);
        let waiting = self.waiting.remove(&frame.process);
        match &waiting {
            Some(waiting) if waiting.nanoseconds <= taken => {
                waiting.summary.into_query(&mut query);
                query.plan = &waiting.plan;
            }
            Some(waiting) => tell(waiting, sink),
            None => {}
        }
        sink(&query);
    }

    fn plan(&mut self, frame: Frame<'_>, taken: u64, text: &[u8], sink: Sink<'_>) {
        if let Some(before) = self.waiting.remove(&frame.process) {
            tell(&before, sink);
        }
        if self.waiting.len() >= PROCESSES_MAX {
            self.end(sink);
        }
        let (statement, plan) = parts(text);
        let waiting = Waiting {
            nanoseconds: taken,
            time: frame.time,
            user: frame.user.to_vec(),
            database: frame.database.to_vec(),
            host: frame.host.to_vec(),
            statement: strip(&statement).to_vec(),
            plan: plan[..plan.len().min(PLAN_BYTES_MAX)].to_vec(),
            summary: Summary::of(plan),
        };
        self.waiting.insert(frame.process, waiting);
    }
}

fn tell(waiting: &Waiting, sink: Sink<'_>) {
    let frame = Frame {
        time: waiting.time,
        process: 0,
        user: &waiting.user,
        database: &waiting.database,
        host: &waiting.host,
    };
    let mut query = query_of(frame, waiting.nanoseconds, &waiting.statement);
    waiting.summary.into_query(&mut query);
    query.plan = &waiting.plan;
    sink(&query);
}

fn query_of<'a>(frame: Frame<'a>, taken: u64, statement: &'a [u8]) -> Query<'a> {
    let mut query = Query::new(statement, Dialect::Postgres);
    query.nanoseconds = taken;
    query.unix_seconds = frame.time;
    (query.user, query.database, query.host) = (frame.user, frame.database, frame.host);
    query
}

fn strip(statement: &[u8]) -> &[u8] {
    let statement = statement.trim_ascii();
    statement.strip_suffix(b";").unwrap_or(statement)
}

/// How long a record is: a line, and those after it that begin with a tab.
fn lines_length(bytes: &[u8], is_end: bool) -> Option<usize> {
    let mut at = 0;
    loop {
        let Some(end) = memchr(b'\n', &bytes[at..]) else {
            return is_end.then_some(bytes.len());
        };
        at += end + 1;
        match bytes.get(at) {
            Some(b'\t') => {}
            None if !is_end => return None,
            _ => return Some(at),
        }
    }
}

/// Where a line names its severity, with the colon and the blanks behind it.
fn level(line: &[u8]) -> Option<(usize, &[u8])> {
    const LEVELS: [&[u8]; 13] = [
        b"LOG",
        b"ERROR",
        b"DETAIL",
        b"STATEMENT",
        b"HINT",
        b"WARNING",
        b"FATAL",
        b"CONTEXT",
        b"NOTICE",
        b"INFO",
        b"PANIC",
        b"DEBUG",
        b"QUERY",
    ];
    let mut at = 0;
    loop {
        let colon = at + memchr(b':', &line[at..])?;
        at = colon + 1;
        if line[at..].starts_with(b"  ") {
            let before = line[..colon].iter().rposition(|byte| !byte.is_ascii_uppercase());
            let start = before.map_or(0, |before| before + 1);
            if LEVELS.contains(&&line[start..colon]) {
                return Some((start, &line[start..colon + 3]));
            }
        }
    }
}

/// What `log_line_prefix` told, as far as it can be known whatever it is: a date, the
/// process in brackets, and `user@database`.
fn prefix(text: &[u8]) -> Frame<'_> {
    let mut frame = Frame { time: date(text), ..Frame::default() };
    for word in text.split(|byte| *byte == b' ') {
        if let Some(number) = word.strip_prefix(b"[") {
            frame.process = whole(number).unwrap_or(frame.process);
        } else if let Some(at) = memchr(b'@', word) {
            frame.user = &word[..at];
            frame.database = word[at + 1..].strip_suffix(b":").unwrap_or(&word[at + 1..]);
        } else if let Some(name) = word.strip_prefix(b"user=") {
            let end = memchr(b',', name).unwrap_or(name.len());
            frame.user = &name[..end];
        }
        if memchr(b'=', word).is_none() {
            continue;
        }
        for (name, is_host) in [(&b"db="[..], false), (b"client=", true)] {
            if let Some(at) = memmem::find(word, name) {
                let value = &word[at + name.len()..];
                let value = &value[..memchr(b',', value).unwrap_or(value.len())];
                *(if is_host { &mut frame.host } else { &mut frame.database }) = value;
            }
        }
    }
    frame
}
