//! Contracts: which tables and columns of a site mean what, as data.
//!
//! In: a file of TOML, one of ours or the owner's. Out: [`Contract`], with names replaced as
//! the owner says. What a database really has is found out in `shape`.
//! Invariant: a contract names only the figures of [`Figure`] and the fields of [`Field`], so
//! one that can't be kept is refused when it is read.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

pub(super) use self::logs::Log;
use super::figure::Figure;
use crate::site_log::LogOf;

mod logs;

/// Contracts that come with us, by name.
pub const KNOWN: &[(&str, &str)] = &[
    ("wick", include_str!("contracts/wick.toml")),
    ("xbt", include_str!("contracts/xbt.toml")),
    ("xbt2019", include_str!("contracts/xbt2019.toml")),
    ("torrentpier3", include_str!("contracts/torrentpier3.toml")),
    ("gazelle", include_str!("contracts/gazelle.toml")),
    ("unit3d", include_str!("contracts/unit3d.toml")),
];

/// What a site's tables mean.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contract {
    /// For people.
    pub note: String,
    /// Where it may be kept.
    pub servers: Vec<Dialect>,
    /// How its columns of time are written.
    pub times: Times,
    /// Where the key of passkeys that are computed stands.
    pub computed_passkeys: Option<SiteSetting>,
    /// Whom the site turns away by address, where it says so.
    pub denied_addresses: Option<DeniedAddresses>,
    /// And by what a client calls itself.
    pub denied_clients: Option<DeniedClients>,
    /// Where it stands that what a user takes costs nothing.
    #[serde(default)]
    pub free: Vec<FreeTaking>,
    /// Where torrents come from.
    pub torrents: Reading,
    /// Where users come from.
    pub users: Reading,
    /// What is written, in this order.
    pub writes: Vec<Write>,
    /// What is written of each announce, or scrape, where that is wanted.
    #[serde(default)]
    pub logs: Vec<Log>,
}

/// A contract by its difference from one of ours.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Like {
    like: String,
    /// `table = "other"` and `"table.column" = "other"`.
    names: BTreeMap<String, String>,
}

/// Which SQL is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// MariaDB and MySQL.
    MySql,
    /// PostgreSQL.
    Postgres,
    /// A file of SQLite.
    Sqlite,
}

/// How times are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Times {
    /// Seconds since 1970.
    Unix,
    /// `2026-11-22 19:44:00`, in UTC.
    Utc,
}

/// A row of a table of settings that the site has.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SiteSetting {
    /// The table, of names and values.
    pub table: String,
    /// Its column of names.
    pub name: String,
    /// Its column of values.
    pub value: String,
    /// The name of the row.
    pub is: String,
}

/// A table of ranges of IPv4 addresses, as numbers. It may be missing.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeniedAddresses {
    /// Which.
    pub table: String,
    /// Its column of a range's first address.
    pub first: String,
    /// Its column of a range's last.
    pub last: String,
}

/// A table of how peer ids begin. It may be missing.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeniedClients {
    /// Which.
    pub table: String,
    /// Its column of beginnings.
    pub start: String,
}

/// A table of users who take for nothing, of one torrent or of any. It may be missing.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreeTaking {
    /// Which.
    pub table: String,
    /// Its column of users.
    pub user: String,
    /// Its column of torrents; without it a row counts for all.
    pub torrent: Option<String>,
    /// A column that says by anything but 0 that a row is over.
    pub over: Option<String>,
}

/// What is read of a table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// Which.
    pub table: String,
    /// The column of a row's number, which counts up.
    pub id: String,
    /// What is told by what.
    pub read: BTreeMap<Field, Expression>,
}

/// What may be known of a torrent or a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// 20 bytes, or 40 digits.
    InfoHash,
    /// The same of a hybrid's second name; of 32 bytes the first 20 count.
    InfoHashV2,
    /// Times completed.
    Completed,
    /// The torrent's size.
    Bytes,
    /// Unix seconds of its making.
    Made,
    /// Who uploaded it.
    Poster,
    /// What the site calls its kind, to be written back.
    Kind,
    /// The secret.
    Passkey,
    /// Which of XBT's computed passkeys counts.
    PasskeyVersion,
    /// Whether they may take.
    MayLeech,
    /// Seconds before they may.
    WaitSeconds,
    /// Peers at one torrent.
    PeersMax,
    /// Torrents at one time.
    TorrentsMax,
    /// Hundredths that a byte sent is worth.
    WorthUploaded,
    /// The same for bytes taken.
    WorthDownloaded,
    /// Anything but 0 and nothing means that the row is as good as deleted.
    Gone,
}

/// What tells a field.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Expression {
    /// A column; with a `?` behind it, one that may be missing.
    Column(String),
    /// An expression, told where all columns that it needs are there.
    Sql {
        /// In the words of the database.
        sql: String,
        /// Columns.
        needs: Vec<String>,
        /// Columns of other tables, which may be missing, or kept from us, as well.
        #[serde(default)]
        also: BTreeMap<String, Vec<String>>,
    },
}

/// What is written to a table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Write {
    /// Which.
    pub table: String,
    /// Whether it may be missing, or kept from us; then it isn't written.
    #[serde(default)]
    pub is_optional: bool,
    /// What a row is for.
    pub each: Each,
    /// What becomes of rows that aren't there.
    pub manner: Manner,
    /// Credits that matter.
    pub only: Option<Only>,
    /// Columns that name the row.
    pub key: BTreeMap<String, Given>,
    /// Columns that are added to.
    #[serde(default)]
    pub add: BTreeMap<String, Given>,
    /// Columns that are set.
    #[serde(default)]
    pub set: BTreeMap<String, Given>,
    /// Columns that are set as long as they hold nothing.
    #[serde(default)]
    pub once: BTreeMap<String, Given>,
    /// Columns that are set when the row is made.
    #[serde(default)]
    pub first: BTreeMap<String, Given>,
}

/// What a row is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Each {
    /// A user and a torrent.
    Credit,
    /// Each of a user's clients at a torrent.
    Session,
    /// A user, with all their torrents added up.
    User,
    /// A torrent's swarm.
    Torrent,
}

/// What becomes of rows that aren't there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Manner {
    /// They are made.
    Upsert,
    /// They are left alone: whom a site deleted stays deleted.
    Update,
    /// They are made, and those that are there stay as they are.
    Insert,
}

/// Which credits matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Only {
    /// Those with a completion.
    Completed,
    /// Those of which something was taken with a token.
    Token,
}

/// What a column is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Given {
    /// The same for all.
    Number(u32),
    /// What the tracker knows.
    Figure(Figure),
}

/// Why there is no contract.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContractError {
    /// It isn't TOML, or doesn't say what a contract says.
    #[error("{0}")]
    Unreadable(String),
    /// Nobody knows it.
    #[error("there is no contract `{0}`; there are {names}, or the path of a file", names = names())]
    Unknown(String),
    /// Nothing has this name.
    #[error(
        "the contract has no table or column `{0}`; names are written `table` or `table.column`"
    )]
    Name(String),
}

fn names() -> String {
    let names: Vec<&str> = KNOWN.iter().map(|(name, _)| *name).collect();
    names.join(", ")
}

impl fmt::Display for Dialect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::MySql => "MariaDB or MySQL",
            Self::Postgres => "PostgreSQL",
            Self::Sqlite => "SQLite",
        })
    }
}

impl Dialect {
    /// What begins a transaction. SQLite's would else wait for its first write, and fail there.
    pub(crate) fn begin(self) -> &'static str {
        match self {
            Self::MySql => "START TRANSACTION",
            Self::Postgres => "BEGIN",
            Self::Sqlite => "BEGIN IMMEDIATE",
        }
    }
}

impl Contract {
    /// One of ours.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn known(name: &str) -> Result<Self, ContractError> {
        let known = KNOWN.iter().find(|(known, _)| *known == name);
        let (_, text) = known.ok_or_else(|| ContractError::Unknown(name.to_owned()))?;
        Self::read(text)
    }

    /// Reads one; the error says line and column.
    ///
    /// # Errors
    /// If it says what no contract says, or not what every contract says.
    pub fn read(text: &str) -> Result<Self, ContractError> {
        let unreadable = |error: toml::de::Error| ContractError::Unreadable(error.to_string());
        // A file may be like one of ours but for its names.
        if let Ok(like) = toml::from_str::<Like>(text) {
            let mut contract = Self::known(&like.like)?;
            contract.rename(&like.names)?;
            return Ok(contract);
        }
        let contract: Self = toml::from_str(text).map_err(unreadable)?;
        let mut logs = contract.logs.iter().enumerate();
        match logs.find_map(|(at, log)| log.is_wrong(&contract.logs[..at])) {
            Some(wrong) => Err(ContractError::Unreadable(wrong)),
            None => Ok(contract),
        }
    }

    /// Has a row written for each announce, whatever the site says. Whether there is a table for it.
    pub fn log_announces(&mut self) -> bool {
        let log = self.logs.iter_mut().find(|log| log.of == LogOf::Announces);
        log.map(|log| log.is_wanted = true).is_some()
    }

    /// Gives tables (`xbt_users`) and columns (`xbt_users.uid`) the names that they have here.
    ///
    /// # Errors
    /// If there is nothing of that name.
    pub fn rename(&mut self, names: &BTreeMap<String, String>) -> Result<(), ContractError> {
        // Columns first: they are named by the tables' names as the contract has them.
        for (old, new) in names.iter().filter(|(old, _)| old.contains('.')) {
            self.rename_column(old, new)?;
        }
        for (old, new) in names.iter().filter(|(old, _)| !old.contains('.')) {
            let readings = [&mut self.torrents.table, &mut self.users.table];
            let writes = self.writes.iter_mut().map(|write| &mut write.table);
            let keys = self.computed_passkeys.iter_mut().map(|key| &mut key.table);
            let addresses = self.denied_addresses.iter_mut().map(|denied| &mut denied.table);
            let clients = self.denied_clients.iter_mut().map(|denied| &mut denied.table);
            let clients = clients.chain(self.free.iter_mut().map(|free| &mut free.table));
            let logs = self.logs.iter_mut().flat_map(|log| {
                let setting = log.wanted_by.as_mut().map(|setting| &mut setting.table);
                [&mut log.table].into_iter().chain(setting)
            });
            let clients = clients.chain(logs);
            let tables = readings.into_iter().chain(writes).chain(keys).chain(addresses);
            let mut found = false;
            for table in tables.chain(clients).filter(|one| *one == old) {
                table.clone_from(new);
                found = true;
            }
            if !found {
                return Err(ContractError::Name(old.clone()));
            }
        }
        Ok(())
    }

    fn rename_column(&mut self, name: &str, new: &str) -> Result<(), ContractError> {
        let unknown = || ContractError::Name(name.to_owned());
        let (table, column) = name.split_once('.').ok_or_else(unknown)?;
        let mut found = false;
        for reading in [&mut self.torrents, &mut self.users] {
            if reading.table == table {
                found |= reading.rename(column, new);
            }
        }
        let addresses = self.denied_addresses.iter_mut().filter(|denied| denied.table == table);
        let clients = self.denied_clients.iter_mut().filter(|denied| denied.table == table);
        let addresses = addresses.flat_map(|denied| [&mut denied.first, &mut denied.last]);
        let denied = addresses.chain(clients.map(|denied| &mut denied.start));
        let free = self.free.iter_mut().filter(|free| free.table == table).flat_map(|free| {
            let FreeTaking { user, torrent, over, .. } = free;
            [Some(user), torrent.as_mut(), over.as_mut()].into_iter().flatten()
        });
        for own in denied.chain(free).filter(|own| *own == column) {
            new.clone_into(own);
            found = true;
        }
        for write in self.writes.iter_mut().filter(|write| write.table == table) {
            let parts = [&mut write.key, &mut write.add, &mut write.set];
            for part in parts.into_iter().chain([&mut write.once, &mut write.first]) {
                found |= rename_given(part, column, new);
            }
        }
        for log in self.logs.iter_mut().filter(|log| log.table == table) {
            found |= rename_given(&mut log.row, column, new);
        }
        if found { Ok(()) } else { Err(unknown()) }
    }

    /// Whether its tables are our own, to be made where they are missing.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        self.torrents.table == "wick_torrents"
    }

    /// Whether rows need what only the tables of torrents and users tell.
    #[must_use]
    pub fn looks_up(&self) -> bool {
        let givens = |write: &Write| {
            let parts = [&write.key, &write.add, &write.set, &write.once, &write.first];
            parts.iter().flat_map(|part| part.values().copied()).any(|given| match given {
                Given::Figure(figure) => figure.is_looked_up(),
                Given::Number(_) => false,
            })
        };
        self.writes.iter().any(givens)
    }
}

fn rename_given(part: &mut BTreeMap<String, Given>, column: &str, new: &str) -> bool {
    let mut found = false;
    for optional in ["", "?"] {
        if let Some(given) = part.remove(&format!("{column}{optional}")) {
            part.insert(format!("{new}{optional}"), given);
            found = true;
        }
    }
    found
}

impl Reading {
    fn rename(&mut self, column: &str, new: &str) -> bool {
        let mut found = false;
        if self.id == column {
            new.clone_into(&mut self.id);
            found = true;
        }
        for expression in self.read.values_mut() {
            if let Expression::Column(name) = expression
                && name.trim_end_matches('?') == column
            {
                let optional = if name.ends_with('?') { "?" } else { "" };
                *name = format!("{new}{optional}");
                found = true;
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_contracts_can_be_read() {
        for (name, _) in KNOWN {
            let contract = Contract::known(name);
            let contract = contract.map_err(|error| format!("{name}: {error}")).expect("one");
            assert!(contract.users.read.contains_key(&Field::Passkey), "{name}");
            assert!(contract.torrents.read.contains_key(&Field::InfoHash), "{name}");
            assert_eq!(contract.looks_up(), *name == "torrentpier3", "{name}");
        }
        let error = Contract::known("xbt2018").expect_err("none");
        assert!(error.to_string().contains("xbt2019, torrentpier3"), "{error}");
    }

    #[test]
    fn what_a_contract_cannot_say_is_refused_with_its_line() {
        let text =
            KNOWN[0].1.replace("add = { uploaded = \"uploaded\"", "add = { uploaded = \"up\"");
        let error = Contract::read(&text).expect_err("a figure that nobody knows");
        assert!(error.to_string().contains("line "), "{error}");
        let xbt = KNOWN[1].1;
        for (this, that, expected) in [
            (
                "downloaded = \"client_downloaded\"",
                "downloaded = \"downloaded\"",
                "can't tell Figure(Downloaded)",
            ),
            ("of = \"scrapes\"", "of = \"announces\"", "the second of its kind"),
        ] {
            let error = Contract::read(&xbt.replace(this, that)).expect_err(that);
            assert!(error.to_string().contains(expected), "{error}");
        }
    }

    #[test]
    fn a_file_may_name_what_it_is_like() {
        let text = "like = \"xbt\"\n[names]\nxbt_users = \"members\"\n\"xbt_files.fid\" = \"id\"";
        let contract = Contract::read(text).expect("one");
        assert_eq!(
            (contract.users.table.as_str(), contract.torrents.id.as_str()),
            ("members", "id")
        );
        let text = "like = \"xbt\"\n[names]\nusers = \"members\"";
        assert_eq!(Contract::read(text).err(), Some(ContractError::Name("users".to_owned())));
    }

    #[test]
    fn tables_and_columns_are_renamed() {
        let names = [
            ("xbt_users", "members"),
            ("xbt_users.uid", "id"),
            ("xbt_announce_log", "asked"),
            ("xbt_announce_log.ipa", "ip"),
            ("xbt_files.flags", "f"),
        ];
        let names = |count: usize| -> BTreeMap<_, _> {
            names[..count].iter().map(|(old, new)| ((*old).into(), (*new).into())).collect()
        };
        let mut contract = Contract::known("xbt").expect("one");
        contract.rename(&names(4)).expect("known names");
        let log = &contract.logs[0];
        assert!(log.table == "asked" && log.row.contains_key("ip?"), "{log:?}");
        assert_eq!((contract.users.table.as_str(), contract.users.id.as_str()), ("members", "id"));
        assert_eq!(contract.writes[1].table, "members");
        assert!(contract.writes[1].key.contains_key("id"));
        let error = contract.rename(&names(5)).expect_err("an expression is not renamed");
        assert!(matches!(error, ContractError::Name(_)));
    }
}
