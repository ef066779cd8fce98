//! The writer of logs: what a tracker was asked goes into the tables that a site keeps for that.
//!
//! In: rows of a [`SiteLog`]. Out: many of them in one statement, which is a transaction of its
//! own, on a connection of its own: no credit waits for a log, and none fails with one.
//! Law: a statement of which nobody knows what came of it isn't said again, and its rows count as
//! left out. A row that is lost is less wrong than one that is there twice.
//! Invariant: where nobody wants a log, nothing is kept of what is asked, nor any connection.
//! Start at [`LogWriter::step`]; `tests/books/logs.rs` plays it against a real database.

use std::sync::Arc;
use std::time::Duration;

use base::complaint::complain;
use base::{Clock, Shutdown};

use super::contract::{Contract, Dialect, Given, Log, SiteSetting};
use super::keeper::Keeper;
use super::link::{Link, Place, Trouble};
use super::schema::log_grants;
use super::shape::LogTable;
use super::status::Shared;
use super::value::quoted;
use crate::site_log::{LogOf, LogRow, SiteLog};

/// Between two looks for rows.
const EVERY: Duration = Duration::from_secs(1);
/// What fails is tried again after this at last.
const PAUSE_MAX: Duration = Duration::from_secs(15);
/// Between two questions whether the site wants logs.
const ASKED_EVERY_MS: u64 = 60_000;
/// Rows of one statement, of some 300 bytes each.
const ROWS_AT_ONCE: usize = 500;
/// What waits when we stop is tried so long.
const FAREWELL: Duration = Duration::from_secs(2);

/// Who writes logs.
pub struct LogWriter {
    place: Place,
    contract: Contract,
    clock: Clock,
    status: Shared,
    keeper: Arc<dyn Keeper>,
    /// As long as a log is wanted.
    link: Option<Link>,
    tables: Vec<(LogOf, LogTable)>,
    /// When the site is asked again, in ticks.
    asks_at_ms: u64,
    /// Rows that are written one by one, for the database refuses one of them.
    alone: usize,
}

impl LogWriter {
    /// One that writes for `keeper`.
    #[must_use]
    pub fn new(
        place: Place,
        contract: Contract,
        clock: Clock,
        status: Shared,
        keeper: Arc<dyn Keeper>,
    ) -> Self {
        // What our own settings want is kept from now on, whether the database is there or not.
        if let Some(kept) = keeper.site_log() {
            contract.logs.iter().for_each(|log| kept.want(log.of, log.is_wanted));
        }
        let (link, tables) = (None, Vec::new());
        Self { place, contract, clock, status, keeper, link, tables, asks_at_ms: 0, alone: 0 }
    }

    /// Writes until it is told to stop.
    pub async fn run(mut self, shutdown: Shutdown) {
        if self.contract.logs.is_empty() {
            return;
        }
        let mut pause = EVERY;
        while !shutdown.has_begun() {
            pause = match self.step().await {
                Ok(()) => EVERY,
                Err(_) => (pause * 2).min(PAUSE_MAX),
            };
            tokio::select! {
                () = shutdown.begun() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
        let _ = tokio::time::timeout(FAREWELL, self.step()).await;
    }

    /// Writes all that waits; asks before that, once a minute, whether the site wants it.
    ///
    /// # Errors
    /// If that can't be done; the status says so too.
    pub async fn step(&mut self) -> Result<(), Trouble> {
        let keeper = self.keeper.clone();
        let Some(kept) = keeper.site_log() else { return Ok(()) };
        let stepped = self.attempt(kept).await;
        let why = match &stepped {
            Ok(()) => String::new(),
            Err(trouble) => {
                (self.link, self.asks_at_ms) = (None, 0);
                trouble.to_string()
            }
        };
        self.status.change(|status| {
            if status.log_why.is_empty() && !why.is_empty() {
                complain(format_args!(
                    "tracker: the log of what is asked isn't written until this is over: {why}"
                ));
            }
            status.log_why = why;
            status.log_rows_left_out = kept.left_out();
        });
        stepped
    }

    async fn attempt(&mut self, kept: &SiteLog) -> Result<(), Trouble> {
        let now_ms = self.clock.now().ticks_ms;
        if self.asks_at_ms == 0 || now_ms >= self.asks_at_ms {
            self.look(kept).await?;
            self.asks_at_ms = now_ms + ASKED_EVERY_MS;
        }
        for at in 0..self.tables.len() {
            while self.write_some(kept, at).await? {}
        }
        Ok(())
    }

    /// Finds out what is wanted, and where it goes.
    async fn look(&mut self, kept: &SiteLog) -> Result<(), Trouble> {
        self.tables.clear();
        let mut link = match self.link.take() {
            Some(link) => link,
            None => self.place.connect(false).await?,
        };
        for log in &self.contract.logs {
            let is_wanted = is_wanted(&mut link, &self.place, log).await?;
            kept.want(log.of, is_wanted);
            if is_wanted {
                self.tables
                    .push((log.of, table(&mut link, &self.place, &self.contract, log).await?));
            }
        }
        self.link = (!self.tables.is_empty()).then_some(link);
        Ok(())
    }

    /// One statement; false if nothing waits.
    async fn write_some(&mut self, kept: &SiteLog, at: usize) -> Result<bool, Trouble> {
        let (of, table) = &self.tables[at];
        let rows = kept.first(*of, if self.alone > 0 { 1 } else { ROWS_AT_ONCE });
        let Some(link) = self.link.as_mut().filter(|_| !rows.is_empty()) else { return Ok(false) };
        let count = rows.len();
        match link.run(&statement(table, &rows, self.place.dialect())).await {
            Ok(_) => {
                kept.written(*of, count);
                self.status.change(|status| status.log_rows += count as u64);
            }
            Err(Trouble::Row(_)) if count > 1 => {
                self.alone = count;
                return Ok(true);
            }
            Err(Trouble::Row(why)) => {
                kept.lost(*of, count);
                self.status.change(|status| {
                    status.rows_refused += 1;
                    status.last_refused = format!("a row of {}: {why}", table.table);
                });
            }
            Err(trouble) => {
                if matches!(trouble, Trouble::Away(_)) {
                    kept.lost(*of, count);
                }
                return Err(trouble);
            }
        }
        self.alone = self.alone.saturating_sub(1);
        Ok(true)
    }
}

/// Looks whether the logs that are wanted can be written; changes nothing.
pub(crate) async fn check(
    link: &mut Link,
    place: &Place,
    contract: &Contract,
) -> Result<(), Trouble> {
    for log in &contract.logs {
        if !is_wanted(link, place, log).await? {
            continue;
        }
        let LogTable { table, columns } = table(link, place, contract, log).await?;
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let nothing = vec!["NULL"; names.len()].join(", ");
        let (names, none) = (names.join(", "), "FROM (SELECT 1 AS one) AS one WHERE 1 = 0");
        let put = format!("INSERT INTO {table} ({names}) SELECT {nothing} {none}");
        link.run(&put).await.map_err(|trouble| advised(trouble, place, contract, log))?;
    }
    Ok(())
}

/// A site without such a setting wants none.
async fn is_wanted(link: &mut Link, place: &Place, log: &Log) -> Result<bool, Trouble> {
    let Some(setting) = log.wanted_by.as_ref().filter(|_| !log.is_wanted) else {
        return Ok(log.is_wanted);
    };
    match link.ask(&setting.question(place.dialect())).await {
        Ok(rows) => Ok(rows.first().and_then(|row| row.number(0)).is_some_and(|said| said != 0)),
        Err(Trouble::Table(_) | Trouble::Right(_)) => Ok(false),
        Err(trouble) => Err(trouble),
    }
}

async fn table(
    link: &mut Link,
    place: &Place,
    contract: &Contract,
    log: &Log,
) -> Result<LogTable, Trouble> {
    let found = LogTable::find(link, place, log, contract.times).await;
    found.map_err(|trouble| advised(trouble, place, contract, log))
}

/// What the owner can do: who wants it is said by their own setting, or by the site's.
fn advised(trouble: Trouble, place: &Place, contract: &Contract, log: &Log) -> Trouble {
    let wanted = match &log.wanted_by {
        Some(SiteSetting { table, is, .. }) if !log.is_wanted => format!("`{is}` in `{table}`"),
        _ => "log_announces of [tracker]".to_owned(),
    };
    let mut mended =
        format!("{trouble}. {wanted} wants this log: turn it off there, or make the table");
    let grants = log_grants(contract, place).join(" ");
    if !grants.is_empty() {
        mended += &format!("; if it is there, as the database's owner run: {grants}");
    }
    match trouble {
        Trouble::Right(_) | Trouble::Table(_) => Trouble::Refused(mended),
        other => other,
    }
}

fn statement(LogTable { table, columns }: &LogTable, rows: &[LogRow], dialect: Dialect) -> String {
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let mut text = format!("INSERT INTO {table} ({}) VALUES ", names.join(", "));
    for (at, row) in rows.iter().enumerate() {
        text.push_str(if at == 0 { "(" } else { ",(" });
        for (at, column) in columns.iter().enumerate() {
            if at > 0 {
                text.push(',');
            }
            let value = match column.given {
                Given::Number(number) => super::value::Value::Number(number.into()),
                Given::Figure(figure) => figure.of_log(row),
            };
            value.write(dialect, column.times, column.max, &mut text);
        }
        text.push(')');
    }
    text
}

impl SiteSetting {
    /// What asks for its value.
    pub(crate) fn question(&self, dialect: Dialect) -> String {
        let [value, table, name] =
            [&self.value, &self.table, &self.name].map(|name| quoted(name, dialect));
        let is = self.is.replace(['\'', '\\'], "");
        format!("SELECT {value} FROM {table} WHERE {name} = '{is}'")
    }
}
