//! Slow logs of MySQL and MariaDB, with and without extended fields.
//!
//! ```text
//! # Time: 261123  6:05:33                       or 2026-11-23T06:12:02.885112Z
//! # User@Host: root[root] @ localhost []  Id:     8
//! # Thread_id: 4  Schema: site  QC_hit: No
//! # Query_time: 0.000435  Lock_time: 0.000069  Rows_sent: 1  Rows_examined: 3000
//! # Full_scan: Yes …, # Filesort: No …, # explain: …      MariaDB
//! …  Rows_examined: 3000 Thread_id: 7 … Read_first: 1 …   MySQL, by log_slow_extra
//! use site;
//! SET timestamp=1795413933;
//! SELECT …;
//! ```
//!
//! Invariants: 1. an entry begins only where a head does that tells a `Query_time`, so
//! that a line of a text that looks like a head's first is no entry. 2. what no entry
//! begins with is counted as unread, line by line.

use memchr::{memchr, memmem, memmem::Finder};

use super::numbers::{date, nanoseconds, short_date, whole};
use super::{Faults, Sink};
use crate::query::{Marks, Query};
use crate::tokens::Dialect;

const SECOND: u64 = 1_000_000_000;
/// Lines that a head has at most; beyond that it is none.
const HEAD_LINES_MAX: usize = 64;
/// Fields that are read of a line.
const FIELDS_READ: usize = 5;
/// Counts of MySQL's that are read from `Read_first` on.
const COUNTS_READ: usize = 13;
const COMMAND: &[u8] = b"# administrator command: ";

/// Reads slow logs.
#[derive(Debug)]
pub(super) struct SlowLog {
    /// What `use` said last; servers repeat it only when it changes.
    database: Vec<u8>,
    /// What `# Time:` said last; older servers write it once a second.
    time: Option<i64>,
    next_head: Finder<'static>,
    next_start: Finder<'static>,
}

/// What a head tells.
#[derive(Clone, Copy, Debug, Default)]
struct Head<'a> {
    time: Option<i64>,
    user: &'a [u8],
    host: &'a [u8],
    schema: Option<&'a [u8]>,
    nanoseconds: Option<u64>,
    lock_nanoseconds: u64,
    rows_sent: u64,
    rows_examined: u64,
    marks: Marks,
    plan: &'a [u8],
}

impl Default for SlowLog {
    fn default() -> Self {
        Self {
            database: Vec::new(),
            time: None,
            next_head: Finder::new(b"\n# "),
            next_start: Finder::new(b"\nTcp port: "),
        }
    }
}

impl SlowLog {
    /// Reads the entries of `bytes`; how many bytes they have.
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
            let read = match rest[0] {
                b'#' => self.entry(rest, is_end, faults, sink),
                _ => between(rest, is_end, faults),
            };
            let Some(read) = read else { break };
            at += read;
        }
        at
    }

    /// Reads an entry; nothing unless all of it is there.
    fn entry(
        &mut self,
        bytes: &[u8],
        is_end: bool,
        faults: &mut Faults,
        sink: Sink<'_>,
    ) -> Option<usize> {
        let mut head = Head::default();
        let mut at = 0;
        let mut plan_at = None;
        while bytes.get(at) == Some(&b'#') && !bytes[at..].starts_with(COMMAND) {
            let line = line(&bytes[at..], is_end)?;
            if line.starts_with(b"# explain: ") {
                head.plan = &bytes[*plan_at.get_or_insert(at)..at + line.len()];
            }
            read_line(&mut head, line);
            at += line.len() + 1;
        }
        if !is_end && at >= bytes.len() {
            return None;
        }
        if let Some(time) = head.time {
            self.time = Some(time);
        }
        let Some(taken) = head.nanoseconds else {
            let head = &bytes[..at.min(bytes.len())];
            let lines = head.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            lines.for_each(|line| faults.unread(line));
            return Some(at.min(bytes.len()).max(1));
        };
        let text = bytes.get(at..).unwrap_or_default();
        let length = self.length(text, is_end)?;
        let mut query = Query::new(b"", Dialect::MySql);
        query.unix_seconds = self.time;
        let mut statement = self.preamble(&text[..length], &mut query);
        if let Some(command) = statement.strip_prefix(COMMAND) {
            query.is_command = true;
            statement = command;
        }
        query.statement =
            statement.trim_ascii().strip_suffix(b";").unwrap_or(statement.trim_ascii());
        query.nanoseconds = taken;
        query.lock_nanoseconds = head.lock_nanoseconds;
        query.rows_sent = head.rows_sent;
        query.rows_examined = head.rows_examined;
        (query.user, query.host) = (head.user, head.host);
        query.database = head.schema.unwrap_or(&self.database);
        (query.marks, query.plan) = (head.marks, head.plan);
        if query.statement.is_empty() {
            faults.unread(&bytes[..at.min(bytes.len()).saturating_sub(1)]);
        } else {
            sink(&query);
        }
        Some(at.min(bytes.len()) + length)
    }

    /// Goes over `use` and `SET timestamp`; what is behind them.
    fn preamble<'a>(&mut self, text: &'a [u8], query: &mut Query<'a>) -> &'a [u8] {
        let mut rest = text;
        if let Some(name) = rest.strip_prefix(b"use ")
            && let Some(end) = memmem::find(name, b";\n")
            && name[end + 2..].starts_with(b"SET timestamp=")
        {
            self.database.clear();
            self.database.extend_from_slice(name[..end].trim_ascii());
            self.database.retain(|byte| *byte != b'`');
            rest = &name[end + 2..];
        }
        if let Some(stamp) = rest.strip_prefix(b"SET timestamp=")
            && let Some(end) = memchr(b'\n', stamp)
        {
            if let Some(seconds) = whole(stamp) {
                query.unix_seconds = i64::try_from(seconds).ok();
            }
            rest = &stamp[end + 1..];
        }
        rest
    }

    /// How long a statement is, up to the next entry or the server's next start.
    fn length(&self, text: &[u8], is_end: bool) -> Option<usize> {
        let mut at = 0;
        let mut end = None;
        while let Some(found) = self.next_head.find(&text[at..]) {
            let head = at + found + 1;
            match is_head(&text[head..], is_end) {
                Some(true) => {
                    end = Some(head);
                    break;
                }
                Some(false) => at = head,
                None => return None,
            }
        }
        let statement = &text[..end.unwrap_or(text.len())];
        if let Some(start) = self.next_start.find(statement) {
            // The line before it names the server.
            let line = statement[..start].iter().rposition(|byte| *byte == b'\n');
            return Some(line.map_or(start, |line| line + 1));
        }
        end.or_else(|| is_end.then_some(text.len()))
    }
}

/// Whether an entry begins here; nothing where that can't be known yet.
fn is_head(bytes: &[u8], is_end: bool) -> Option<bool> {
    const FIRST: [&[u8]; 3] = [b"# Time: ", b"# User@Host: ", b"# Query_time: "];
    if !FIRST.iter().any(|first| bytes.starts_with(first)) {
        let is_cut = !is_end && FIRST.iter().any(|first| first.starts_with(bytes));
        return if is_cut { None } else { Some(false) };
    }
    let mut at = 0;
    for _ in 0..HEAD_LINES_MAX {
        let rest = bytes.get(at..).unwrap_or_default();
        if rest.starts_with(b"# Query_time: ") {
            return Some(true);
        }
        let Some(end) = memchr(b'\n', rest) else {
            return if is_end { Some(false) } else { None };
        };
        if rest[0] != b'#' {
            return Some(false);
        }
        at += end + 1;
    }
    Some(false)
}

/// What stands between entries: what a server writes when it starts, or anything.
fn between(bytes: &[u8], is_end: bool, faults: &mut Faults) -> Option<usize> {
    let line = line(bytes, is_end)?;
    let bare = line.trim_ascii();
    let is_start = bare.starts_with(b"Tcp port: ")
        || bare.starts_with(b"TCP Port: ")
        || bare.ends_with(b"started with:")
        || (bare.starts_with(b"Time") && bare.ends_with(b"Argument"));
    if !is_start && !bare.is_empty() {
        faults.unread(line);
    }
    Some((line.len() + 1).min(bytes.len()))
}

/// The line that `bytes` begin with, without its end.
fn line(bytes: &[u8], is_end: bool) -> Option<&[u8]> {
    match memchr(b'\n', bytes) {
        Some(end) => Some(&bytes[..end]),
        None => is_end.then_some(bytes),
    }
}

fn read_line<'a>(head: &mut Head<'a>, line: &'a [u8]) {
    let Some(text) = line.strip_prefix(b"# ") else { return };
    match text {
        [b'Q', ..] => {
            fields(text, FIELDS_READ, |name, value| match name {
                b"Query_time:" => head.nanoseconds = nanoseconds(value, SECOND),
                b"Lock_time:" => head.lock_nanoseconds = nanoseconds(value, SECOND).unwrap_or(0),
                b"Rows_sent:" => head.rows_sent = whole(value).unwrap_or(0),
                b"Rows_examined:" => head.rows_examined = whole(value).unwrap_or(0),
                _ => {}
            });
            if let Some(at) = memmem::find(text, b"Read_first: ") {
                read_counts(head, &text[at..]);
            }
        }
        [b'F', ..] => fields(text, FIELDS_READ, |name, value| {
            let is_so = value == b"Yes";
            match name {
                b"Full_scan:" => head.marks.full_scan |= is_so,
                b"Filesort:" => head.marks.sort |= is_so,
                b"Tmp_table:" => head.marks.temporary |= is_so,
                b"Tmp_table_on_disk:" | b"Filesort_on_disk:" => head.marks.on_disk |= is_so,
                _ => {}
            }
        }),
        [b'e', ..] if text.starts_with(b"explain: ") => {
            let mut columns = text[9..].split(|byte| *byte == b'\t');
            let has_table = columns.nth(2).is_some_and(|table| table != b"NULL");
            head.marks.full_scan |= has_table && columns.next() == Some(b"ALL");
        }
        [b'T', ..] if text.starts_with(b"Time: ") => {
            let told = text[6..].trim_ascii();
            head.time = date(told).or_else(|| short_date(told));
        }
        [b'U', ..] => read_user(head, text),
        _ => {
            if let Some(at) = memmem::find(text, b"Schema: ") {
                let name = &text[at + 8..];
                let end = name.iter().position(|byte| *byte == b' ').unwrap_or(name.len());
                head.schema = Some(&name[..end]);
            }
        }
    }
}

/// What `log_slow_extra` adds. A table that is read from end to end has a first row and
/// those behind it; rows of a temporary table have no first.
fn read_counts(head: &mut Head<'_>, text: &[u8]) {
    let mut has_first = false;
    fields(text, COUNTS_READ, |name, value| {
        let is_so = value != b"0";
        match name {
            b"Read_first:" => has_first = is_so,
            b"Read_rnd_next:" => head.marks.full_scan |= has_first && is_so,
            b"Sort_range_count:" | b"Sort_scan_count:" => head.marks.sort |= is_so,
            b"Created_tmp_tables:" => head.marks.temporary |= is_so,
            b"Created_tmp_disk_tables:" | b"Sort_merge_passes:" => head.marks.on_disk |= is_so,
            _ => {}
        }
    });
}

/// `User@Host: root[root] @ localhost [127.0.0.1]`
fn read_user<'a>(head: &mut Head<'a>, text: &'a [u8]) {
    let Some(text) = text.strip_prefix(b"User@Host: ") else { return };
    let (user, rest) =
        memmem::find(text, b" @ ").map_or((text, &b""[..]), |at| (&text[..at], &text[at + 3..]));
    head.user = memchr(b'[', user).map_or(user, |at| &user[..at]).trim_ascii();
    let (name, address) =
        memchr(b'[', rest).map_or((rest, &b""[..]), |at| (&rest[..at], &rest[at + 1..]));
    let address = memchr(b']', address).map_or(address, |at| &address[..at]);
    head.host = if name.trim_ascii().is_empty() { address } else { name.trim_ascii() };
}

/// The first few `Name: value` of a line.
fn fields<'a>(text: &'a [u8], most: usize, mut take: impl FnMut(&'a [u8], &'a [u8])) {
    let mut words = text.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    for _ in 0..most {
        let (Some(name), Some(value)) = (words.next(), words.next()) else { return };
        take(name, value);
    }
}
