//! What a database really has of a contract's tables: columns, their room, and whether its
//! tables keep transactions.
//!
//! In: a contract and a connection. Out: a [`Shape`], with a column only where it is there.
//! Law: a column with `?` behind its name may be missing; any other is a [`Trouble::Refused`]
//! that names it.

use std::collections::BTreeMap;

use super::contract::{Contract, Dialect, Each, Expression, Field, Given, Manner, Only, Reading};
use super::contract::{DeniedAddresses, DeniedClients, FreeTaking, Log, Times, Write};
use super::denials::DENIED_MAX;
use super::figure::Figure;
use super::gratis::FREE_MAX;
use super::link::{Link, Place, Trouble};
use super::value::quoted;

/// A contract as it is kept here.
pub(crate) struct Shape {
    pub(crate) dialect: Dialect,
    pub(crate) torrents: Asked,
    pub(crate) users: Asked,
    pub(crate) writes: Vec<Written>,
    pub(crate) looks_up: bool,
    /// None for a contract that knows of none.
    pub(crate) denials: Option<Denials>,
    /// None where no table says so.
    pub(crate) free: Vec<FreeAsked>,
    /// Tables that keep no transactions.
    pub(crate) loose: Vec<String>,
    /// Tables that the database's user may read and not write, where the contract can do without.
    pub(crate) kept_from_us: Vec<String>,
    /// Bytes that a statement may have.
    pub(crate) statement_bytes_max: usize,
}

/// What is read of a table: its expressions, the number first.
pub(crate) struct Asked {
    /// The table, quoted.
    pub(crate) table: String,
    /// The column of numbers, quoted.
    pub(crate) id: String,
    pub(crate) fields: Vec<(Field, String)>,
}

/// The questions for whom a site turns away, where it has a table that says so.
pub(crate) struct Denials {
    /// For the first and the last address of ranges.
    pub(crate) addresses: Option<String>,
    /// For how peer ids begin.
    pub(crate) clients: Option<String>,
}

/// The question for users who take for nothing, and for which torrents if it says so.
pub(crate) struct FreeAsked {
    pub(crate) question: String,
    pub(crate) names_torrents: bool,
}

/// What is written to a table.
pub(crate) struct Written {
    /// The table, quoted.
    pub(crate) table: String,
    pub(crate) each: Each,
    pub(crate) manner: Manner,
    pub(crate) only: Option<Only>,
    pub(crate) columns: Vec<Column>,
    /// Whether a statement is done wholly or not at all.
    pub(crate) is_whole: bool,
}

/// What is written to a log.
pub(crate) struct LogTable {
    /// The table, quoted.
    pub(crate) table: String,
    pub(crate) columns: Vec<Column>,
}

pub(crate) struct Column {
    /// Quoted.
    pub(crate) name: String,
    pub(crate) given: Given,
    pub(crate) part: Part,
    /// The largest number that it holds.
    pub(crate) max: u64,
    /// How it holds times.
    pub(crate) times: Times,
}

/// What becomes of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Key,
    Add,
    Set,
    Once,
    First,
}

/// Columns of a table by their name in small letters.
type Columns = BTreeMap<String, Kind>;

/// What a column holds.
#[derive(Clone, Copy)]
struct Kind {
    max: u64,
    /// None where its type doesn't say.
    times: Option<Times>,
}

/// Statements are no longer than this, whatever the server takes: one holds its locks while it
/// runs.
const STATEMENT_BYTES_MAX: usize = 1 << 20;

impl Shape {
    pub(crate) async fn find(
        link: &mut Link,
        place: &Place,
        contract: &Contract,
    ) -> Result<Self, Trouble> {
        let dialect = place.dialect();
        if !contract.servers.contains(&dialect) {
            return Err(Trouble::Refused(format!("this contract can't be kept in {dialect}")));
        }
        let mut tables = Tables { link, place, known: BTreeMap::new(), loose: Vec::new() };
        let torrents = tables.asked(&contract.torrents).await?;
        let users = tables.asked(&contract.users).await?;
        let (mut writes, mut kept_from_us) = (Vec::new(), Vec::new());
        for write in &contract.writes {
            let written = match tables.written(write, contract.times).await {
                Err(Trouble::Table(_)) if write.is_optional => continue,
                written => written?,
            };
            match write.is_optional && !tables.may_change(&written).await? {
                true => kept_from_us.push(write.table.clone()),
                false => writes.push(written),
            }
        }
        let loose = tables.loose.clone();
        let denials = tables.denials(contract).await?;
        let free = tables.free(contract).await?;
        let packet = match dialect {
            Dialect::MySql => link.ask("SELECT @@max_allowed_packet").await?,
            Dialect::Postgres | Dialect::Sqlite => Vec::new(),
        };
        let packet = packet.first().and_then(|row| row.number(0)).unwrap_or(u64::MAX) / 2;
        Ok(Self {
            dialect,
            torrents,
            users,
            writes,
            looks_up: contract.looks_up(),
            denials,
            free,
            loose,
            kept_from_us,
            statement_bytes_max: usize::try_from(packet)
                .unwrap_or(usize::MAX)
                .min(STATEMENT_BYTES_MAX),
        })
    }
}

impl Shape {
    /// What torrents were completed in all is known to the database alone where several trackers
    /// write: what is set elsewhere is added to.
    pub(crate) fn add_completions(&mut self) {
        for column in self.writes.iter_mut().flat_map(|written| &mut written.columns) {
            let is_total = column.given == Given::Figure(Figure::CompletedTotal);
            if is_total && column.part == Part::Set {
                column.given = Given::Figure(Figure::Completed);
                (column.part, column.max) = (Part::Add, u64::MAX);
            }
        }
    }
}

impl LogTable {
    pub(crate) async fn find(
        link: &mut Link,
        place: &Place,
        log: &Log,
        times: Times,
    ) -> Result<Self, Trouble> {
        let mut tables = Tables { link, place, known: BTreeMap::new(), loose: Vec::new() };
        let columns = tables.given(&log.table, &[(Part::First, &log.row)], times).await?;
        Ok(Self { table: quoted(&log.table, place.dialect()), columns })
    }
}

struct Tables<'a> {
    link: &'a mut Link,
    place: &'a Place,
    known: BTreeMap<String, Columns>,
    loose: Vec<String>,
}

impl Tables<'_> {
    async fn columns(&mut self, table: &str) -> Result<Columns, Trouble> {
        if let Some(known) = self.known.get(table) {
            return Ok(known.clone());
        }
        let database = self.place.database();
        let (schema, name) = table.split_once('.').unwrap_or((database, table));
        let literal = |text: &str| text.replace(['\'', '\\'], "");
        let (schema, name) = (literal(schema), literal(name));
        let question = match self.place.dialect() {
            Dialect::MySql => format!(
                "SELECT LOWER(COLUMN_NAME), LOWER(COLUMN_TYPE), LOWER(ENGINE) \
                 FROM information_schema.COLUMNS JOIN information_schema.TABLES \
                 USING (TABLE_SCHEMA, TABLE_NAME) \
                 WHERE TABLE_SCHEMA = '{schema}' AND TABLE_NAME = '{name}'"
            ),
            Dialect::Postgres => format!(
                "SELECT lower(column_name), data_type, 'whole' FROM information_schema.columns \
                 WHERE table_name = '{name}' AND table_schema = ANY (current_schemas(false))"
            ),
            Dialect::Sqlite => {
                format!("SELECT lower(name), lower(type), 'whole' FROM pragma_table_info('{name}')")
            }
        };
        let rows = self.link.ask(&question).await?;
        if rows.is_empty() {
            return Err(Trouble::Table(table.to_owned()));
        }
        if matches!(rows[0].text(2), Some("myisam" | "aria" | "memory" | "csv")) {
            self.loose.push(table.to_owned());
        }
        let dialect = self.place.dialect();
        let column = |row: &super::link::Row| {
            Some((row.text(0)?.to_owned(), kind(row.text(1).unwrap_or_default(), dialect)))
        };
        let columns: Columns = rows.iter().filter_map(column).collect();
        self.known.insert(table.to_owned(), columns.clone());
        Ok(columns)
    }

    async fn asked(&mut self, reading: &Reading) -> Result<Asked, Trouble> {
        let dialect = self.place.dialect();
        let columns = self.columns(&reading.table).await?;
        let has = |name: &str| columns.contains_key(&name.to_lowercase());
        let mut fields = Vec::new();
        for (field, expression) in &reading.read {
            let sql = match expression {
                Expression::Column(name) => {
                    let Some(name) = present(name, &reading.table, &columns)? else { continue };
                    quoted(name, dialect)
                }
                Expression::Sql { sql, needs, also } => {
                    if !needs.iter().all(|name| has(name)) || !self.may_read(also).await? {
                        continue;
                    }
                    sql.clone()
                }
            };
            fields.push((*field, sql));
        }
        if !has(&reading.id) {
            return Err(missing(&reading.table, &reading.id));
        }
        let (table, id) = (quoted(&reading.table, dialect), quoted(&reading.id, dialect));
        Ok(Asked { table, id, fields })
    }

    /// Whether other tables are there, with these columns. Where there is no right to a table it
    /// isn't seen.
    async fn may_read(&mut self, also: &BTreeMap<String, Vec<String>>) -> Result<bool, Trouble> {
        for (table, needs) in also {
            let known = match self.columns(table).await {
                Err(Trouble::Table(_)) => return Ok(false),
                known => known?,
            };
            if !needs.iter().all(|name| known.contains_key(&name.to_lowercase())) {
                return Ok(false);
            }
            // Nothing is written there.
            self.loose.retain(|loose| loose != table);
        }
        Ok(true)
    }

    /// What is only read may keep no transactions.
    async fn denials(&mut self, contract: &Contract) -> Result<Option<Denials>, Trouble> {
        let Contract { denied_addresses, denied_clients, .. } = contract;
        if denied_addresses.is_none() && denied_clients.is_none() {
            return Ok(None);
        }
        let mut denials = Denials { addresses: None, clients: None };
        let rest = format!("LIMIT {DENIED_MAX}");
        if let Some(DeniedAddresses { table, first, last }) = denied_addresses {
            let bits = |name: String| format!("{name} & 4294967295");
            denials.addresses = self.question(table, &[first, last], bits, &rest).await?;
        }
        if let Some(DeniedClients { table, start }) = denied_clients {
            denials.clients = self.question(table, &[start], |name| name, &rest).await?;
        }
        Ok(Some(denials))
    }

    async fn free(&mut self, contract: &Contract) -> Result<Vec<FreeAsked>, Trouble> {
        let mut free = Vec::new();
        for FreeTaking { table, user, torrent, over } in &contract.free {
            let columns: Vec<&String> = [user].into_iter().chain(torrent).collect();
            let which = match over {
                Some(over) => format!("WHERE {} = '0'", quoted(over, self.place.dialect())),
                None => String::new(),
            };
            let rest = format!("{which} LIMIT {FREE_MAX}");
            let question = self.question(table, &columns, |name| name, &rest).await?;
            let names_torrents = torrent.is_some();
            free.extend(question.map(|question| FreeAsked { question, names_torrents }));
        }
        Ok(free)
    }

    /// For columns of a table that may be missing; none where it is.
    async fn question(
        &mut self,
        table: &str,
        columns: &[&String],
        asked: impl Fn(String) -> String,
        rest: &str,
    ) -> Result<Option<String>, Trouble> {
        let known = match self.columns(table).await {
            Err(Trouble::Table(_)) => return Ok(None),
            known => known?,
        };
        let dialect = self.place.dialect();
        let mut wanted = Vec::new();
        for name in columns {
            if !known.contains_key(&name.to_lowercase()) {
                return Err(missing(table, name));
            }
            wanted.push(asked(quoted(name, dialect)));
        }
        let (wanted, table) = (wanted.join(", "), quoted(table, dialect));
        Ok(Some(format!("SELECT {wanted} FROM {table} {rest}")))
    }

    /// Whether rows may be changed: asked by a statement that finds none.
    async fn may_change(&mut self, written: &Written) -> Result<bool, Trouble> {
        let changed = written.columns.iter().filter(|column| column.part != Part::Key);
        let same: Vec<String> = changed.map(|it| format!("{0} = {0}", it.name)).collect();
        let statement = format!("UPDATE {} SET {} WHERE 1 = 0", written.table, same.join(", "));
        match self.link.run(&statement).await {
            Err(Trouble::Right(_)) => Ok(false),
            done => done.map(|_| true),
        }
    }

    async fn written(&mut self, write: &Write, times: Times) -> Result<Written, Trouble> {
        let parts = [
            (Part::Key, &write.key),
            (Part::Add, &write.add),
            (Part::Set, &write.set),
            (Part::Once, &write.once),
            (Part::First, &write.first),
        ];
        let columns = self.given(&write.table, &parts, times).await?;
        Ok(Written {
            table: quoted(&write.table, self.place.dialect()),
            each: write.each,
            manner: write.manner,
            only: write.only,
            columns,
            is_whole: !self.loose.contains(&write.table),
        })
    }

    /// The columns that are given something, as far as they are there.
    async fn given(
        &mut self,
        table: &str,
        parts: &[(Part, &BTreeMap<String, Given>)],
        times: Times,
    ) -> Result<Vec<Column>, Trouble> {
        let known = self.columns(table).await?;
        let mut columns = Vec::new();
        for &(part, given) in parts {
            for (name, given) in given {
                let Some(name) = present(name, table, &known)? else { continue };
                let Some(kind) = known.get(&name.to_lowercase()) else { continue };
                columns.push(Column {
                    name: quoted(name, self.place.dialect()),
                    given: *given,
                    part,
                    // A sum that doesn't fit is not cut: the server says so.
                    max: if part == Part::Add { u64::MAX } else { kind.max },
                    times: kind.times.unwrap_or(times),
                });
            }
        }
        Ok(columns)
    }
}

/// The name of a column that is there; none of one that may be missing.
fn present<'a>(name: &'a str, table: &str, columns: &Columns) -> Result<Option<&'a str>, Trouble> {
    let bare = name.trim_end_matches('?');
    match columns.contains_key(&bare.to_lowercase()) {
        true => Ok(Some(bare)),
        false if bare != name => Ok(None),
        false => Err(missing(table, bare)),
    }
}

fn missing(table: &str, column: &str) -> Trouble {
    Trouble::Refused(format!(
        "the table `{table}` has no column `{column}`: if the site calls it otherwise, a contract of \
         your own says so by [names]; if not, it keeps another contract"
    ))
}

/// What a column of this type holds. SQLite's whole numbers have 64 bits, whatever they are
/// called.
fn kind(name: &str, dialect: Dialect) -> Kind {
    let word = name.split(['(', ' ']).next().unwrap_or_default();
    let bits = match word {
        "tinyint" => 8,
        "smallint" => 16,
        "mediumint" => 24,
        "int" | "integer" => 32,
        "datetime" | "timestamp" => return Kind { max: u64::MAX, times: Some(Times::Utc) },
        "bigint" => return Kind { max: u64::MAX, times: Some(Times::Unix) },
        _ => return Kind { max: u64::MAX, times: None },
    };
    let max = match dialect {
        Dialect::Sqlite => u64::MAX,
        _ if name.contains("unsigned") => (1 << bits) - 1,
        _ => (1 << (bits - 1)) - 1,
    };
    Kind { max, times: Some(Times::Unix) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_holds_what_its_type_says() {
        for (name, expected) in [
            ("int(10) unsigned", 4_294_967_295),
            ("int(11)", 2_147_483_647),
            ("mediumint(8) unsigned", 16_777_215),
            ("tinyint(1)", 127),
            ("smallint unsigned", 65_535),
            ("integer", 2_147_483_647),
            ("bigint(20) unsigned", u64::MAX),
            ("varchar(20)", u64::MAX),
        ] {
            assert_eq!(kind(name, Dialect::MySql).max, expected, "{name}");
        }
    }
}
