//! One session: from the connection to the moment when nothing is followed any more.

use std::convert::Infallible;
use std::time::Duration;

use futures_util::StreamExt;
use mysql_async::binlog::events::{Event as LogEvent, TransactionPayloadEvent};
use mysql_async::prelude::Queryable;
use mysql_async::{BinlogStream, BinlogStreamRequest};
use tokio::time::timeout;

use super::end;
use super::lookup::Lookup;
use super::reader::{Meaning, Reader};
use crate::connect::{connect, lost};
use crate::moment::Moment;
use crate::queue::Inlet;
use crate::statement::{RowsStatement, Statement};
use crate::{Address, Change, Event, Gtid, Lost, Operation, Place};

/// How often a server without news says that it is there.
const HEARTBEAT: Duration = Duration::from_secs(1);
/// After so long without a word the connection is taken for dead.
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// MySQL's compressed transaction, which the driver takes apart, if it can.
const PAYLOAD: u8 = 40;

/// Follows the log until that fails.
pub(super) async fn run(address: Address, inlet: Inlet) -> Result<Infallible, Lost> {
    let (mut stream, reader) = begin(&address).await?;
    let mut session = Session {
        database: address.database.clone(),
        reader,
        is_suspicious: false,
        lookup: Lookup::new(address),
        inlet,
    };
    // A refusal comes in the place of the first event, so this is the proof.
    let mut is_first = true;
    loop {
        let event = match timeout(SILENCE_MAX, stream.next()).await {
            Err(_) => return Err(Lost::Silent),
            Ok(None) => return Err(Lost::Disconnected),
            Ok(Some(Err(error))) => return Err(lost(&error)),
            Ok(Some(Ok(event))) => event,
        };
        if std::mem::take(&mut is_first) {
            session.inlet.tell(Event::Recovered);
        }
        session.hear(&event).await?;
    }
}

/// The stream of events from now on, and the reader of it.
async fn begin(address: &Address) -> Result<(BinlogStream, Reader), Lost> {
    let mut connection = connect(address).await?;
    let has_log: Option<u8> = timed(connection.query_first("SELECT @@global.log_bin")).await?;
    if has_log.ok_or(Lost::Unreadable)? == 0 {
        return Err(Lost::Impossible("the server keeps no log: log_bin is off".to_owned()));
    }
    // Two followers of one number knock each other off for ever (error 4052, or 1236),
    // so each session draws its own.
    let server = rand::random_range(1_000_000_000..=u32::MAX);
    let request = BinlogStreamRequest::new(server);
    let heartbeat = HEARTBEAT.as_nanos();
    // The place is read before the stream begins: what comes between is streamed.
    if within(end::is_mariadb(&mut connection)).await? {
        let place = within(end::mariadb(&mut connection)).await?;
        let reader = Reader::after(&Gtid::list(&place).ok_or(Lost::Unreadable)?);
        let set = format!(
            "SET @mariadb_slave_capability = 4, @slave_gtid_strict_mode = 0, \
             @slave_gtid_ignore_duplicates = 0, @master_heartbeat_period = {heartbeat}, \
             @slave_connect_state = '{place}'"
        );
        timed(connection.query_drop(set)).await?;
        return Ok((timed(connection.get_binlog_stream(request)).await?, reader));
    }
    let (file, position) = within(end::mysql(&mut connection)).await?;
    let set = format!(
        "SET @master_heartbeat_period = {heartbeat}, @source_heartbeat_period = {heartbeat}"
    );
    timed(connection.query_drop(set)).await?;
    let reader = Reader::in_file(Place::in_file(&file, position));
    let request = request.with_filename(file.as_bytes()).with_pos(position);
    Ok((timed(connection.get_binlog_stream(request)).await?, reader))
}

async fn timed<T>(asked: impl Future<Output = mysql_async::Result<T>>) -> Result<T, Lost> {
    within(async { asked.await.map_err(|error| lost(&error)) }).await
}

async fn within<T>(asked: impl Future<Output = Result<T, Lost>>) -> Result<T, Lost> {
    timeout(SILENCE_MAX, asked).await.unwrap_or(Err(Lost::Silent))
}

struct Session {
    /// The database that matters; empty for all.
    database: String,
    reader: Reader,
    /// Whether the log's end was elsewhere when it was last quiet.
    is_suspicious: bool,
    lookup: Lookup,
    inlet: Inlet,
}

impl Session {
    async fn hear(&mut self, event: &LogEvent) -> Result<(), Lost> {
        let header = event.header();
        let kind = header.event_type_raw();
        let is_unread =
            kind == PAYLOAD && event.read_event::<TransactionPayloadEvent<'_>>().is_err();
        if self.reader.misses_content(kind) || is_unread {
            self.tell(Change::anything("", ""));
        }
        self.reader.pass(header.log_pos());
        let meaning = self.reader.read(kind, header.flags_raw(), header.server_id(), event.data());
        if matches!(meaning, Meaning::Heartbeat) {
            return self.quiet().await;
        }
        self.is_suspicious = false;
        match meaning {
            Meaning::Nothing | Meaning::Heartbeat => {}
            Meaning::Commit(place) => self.inlet.tell(Event::Commit(place)),
            Meaning::Rows(rows) if self.matters(&rows.table.database) => {
                let keys = self.lookup.keys(&rows.table.database, &rows.table.name).await;
                let now = Moment::at(header.timestamp().into());
                rows.changes(&keys, now).into_iter().for_each(|change| self.tell(change));
            }
            Meaning::Rows(_) => {}
            Meaning::Statement(statement, database, place) => {
                self.statement(&statement, &database).await;
                if place.is_some() {
                    self.inlet.tell(Event::Commit(place));
                }
            }
            Meaning::Unread(database, table) => self.tell(Change::anything(&database, &table)),
            Meaning::Unknown => self.tell(Change::anything("", "")),
            Meaning::Incident => return Err(Lost::Incident),
        }
        Ok(())
    }

    /// A heartbeat proves that the server is there, not that it still sends us its log:
    /// after `RESET MASTER` MariaDB 10.11 goes on beating over a file that is gone. So
    /// what was read is held against the end of the log, twice: between a commit and its
    /// event the first look may be wrong.
    async fn quiet(&mut self) -> Result<(), Lost> {
        self.inlet.tell(Event::Idle);
        let end = self.lookup.end(self.reader.is_mariadb()).await;
        let is_astray = end.is_some_and(|end| !self.reader.is_at(&end));
        let was_astray = std::mem::replace(&mut self.is_suspicious, is_astray);
        if is_astray && was_astray { Err(Lost::Incident) } else { Ok(()) }
    }

    async fn statement(&mut self, statement: &Statement, database: &str) {
        match statement {
            Statement::Nothing | Statement::Commit => {}
            Statement::Rows(rows) => self.rows(rows, database).await,
            Statement::Truncate(name) => {
                let database = name.database.as_deref().unwrap_or(database);
                self.tell(Change::anything(database, &name.table));
            }
            Statement::Schema => {
                self.lookup.forget();
                self.tell(Change::of("", "", Operation::Schema));
            }
            Statement::Unread => self.tell(Change::anything("", "")),
        }
    }

    async fn rows(&mut self, rows: &RowsStatement, in_use: &str) {
        let database = rows.name.database.as_deref().unwrap_or(in_use);
        if self.matters(database) {
            let keys = self.lookup.keys(database, &rows.name.table).await;
            rows.changes(in_use, keys.key()).into_iter().for_each(|change| self.tell(change));
        }
    }

    fn tell(&self, change: Change) {
        if self.matters(&change.database) {
            self.inlet.tell(Event::Change(change));
        }
    }

    /// What has no database may be of any.
    fn matters(&self, database: &str) -> bool {
        self.database.is_empty()
            || database.is_empty()
            || self.database.eq_ignore_ascii_case(database)
    }
}
