//! `source`: a database, and what is asked of it.

use std::fmt;

use changes::Secret;

use super::sections::{ConfError, Section};
use super::{Remark, remark};
use crate::sphinx::table::Kind;

/// indexer's own.
const RANGE_STEP: u64 = 1024;

/// Which database it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// MariaDB or MySQL.
    MySql,
    /// PostgreSQL.
    Postgres,
    /// A file of SQLite, which `sql_db` names. Sphinx itself has no such sources.
    Sqlite,
}

/// Where documents come from.
#[derive(Clone, PartialEq)]
pub struct Source {
    /// Its name.
    pub name: String,
    /// The sources that it is like, the nearest first.
    pub parents: Vec<String>,
    /// Which database it is.
    pub kind: SourceKind,
    /// `localhost` unless said.
    pub host: String,
    /// Who we are there.
    pub user: String,
    /// Never shown.
    pub password: Secret,
    /// Which of its databases.
    pub database: String,
    /// Of its own kind unless said.
    pub port: Option<u16>,
    /// A socket instead of a host.
    pub socket: Option<String>,
    /// Run when connected.
    pub queries_before: Vec<String>,
    /// The least and the largest id.
    pub range: Option<String>,
    /// So many ids at a time.
    pub range_step: u64,
    /// The documents, the id first.
    pub query: String,
    /// Run when all rows were read.
    pub query_after: Option<String>,
    /// Run when all is found, with `$maxid`.
    pub query_after_index: Option<String>,
    /// Ids that indexes before this one's are not to show.
    pub killlist: Option<String>,
    /// Columns that are attributes; others are fields.
    pub attributes: Vec<(String, Kind)>,
    /// Columns that are a field and a text attribute of the same name.
    pub field_strings: Vec<String>,
    /// Attributes of several values.
    pub multi: Vec<Multi>,
    /// Fields that other queries bring.
    pub joined: Vec<Joined>,
}

/// An attribute of several values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Multi {
    /// Its name.
    pub name: String,
    /// Whether its values are of 64 bits.
    pub is_large: bool,
    /// Where they are.
    pub from: MultiFrom,
}

/// Where an attribute's values are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MultiFrom {
    /// A column with commas or spaces between.
    Column,
    /// A query of ids and values.
    Query(String),
    /// The same in ranges, whose ends another query tells.
    Ranged {
        /// Ids and values.
        query: String,
        /// Its ends, by another query.
        range: String,
    },
}

/// A field that another query brings: ids and texts, in the order of ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    /// Its name.
    pub name: String,
    /// Ids and texts.
    pub query: String,
    /// Its ends, where it is asked in ranges.
    pub range: Option<String>,
}

const NOT_OBEYED: &[(&str, &str)] = &[
    ("sql_file_field", "files aren't read; the column's text is indexed"),
    ("sql_attr_json", "JSON isn't looked into; it is kept as a text"),
    ("sql_column_buffers", "rows are read as they come"),
    ("unpack_zlib", "columns aren't unpacked"),
    ("unpack_mysqlcompress", "columns aren't unpacked"),
    ("mysql_ssl_cert", "connections to databases aren't encrypted"),
    ("mysql_ssl_key", "connections to databases aren't encrypted"),
    ("mysql_ssl_ca", "connections to databases aren't encrypted"),
    ("sql_query_post_index_delta", "there is no such query"),
];

/// What is obeyed, and what only says how indexer does its work.
const KNOWN: &[&str] = &[
    "type",
    "sql_host",
    "sql_port",
    "sql_user",
    "sql_pass",
    "sql_db",
    "sql_sock",
    "sql_query_pre",
    "sql_query_range",
    "sql_range_step",
    "sql_query",
    "sql_query_killlist",
    "sql_query_post",
    "sql_query_post_index",
    "sql_attr_uint",
    "sql_attr_bool",
    "sql_attr_bigint",
    "sql_attr_float",
    "sql_attr_timestamp",
    "sql_attr_string",
    "sql_attr_multi",
    "sql_field_string",
    "sql_joined_field",
    "sql_ranged_throttle",
    "sql_query_info",
    "mysql_connect_flags",
];

impl fmt::Debug for Source {
    /// All but the password; two sources that read the same are the same.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source")
            .field("name", &self.name)
            .field("parents", &self.parents)
            .field("place", &(self.kind, &self.host, self.port, &self.socket))
            .field("login", &(&self.user, &self.database))
            .field("before", &self.queries_before)
            .field("range", &(&self.range, self.range_step))
            .field("query", &self.query)
            .field("after", &(&self.query_after, &self.query_after_index, &self.killlist))
            .field("attributes", &(&self.attributes, &self.field_strings))
            .field("others", &(&self.multi, &self.joined))
            .finish()
    }
}

pub(super) fn read(section: &Section, remarks: &mut Vec<Remark>) -> Result<Source, ConfError> {
    remark(section, NOT_OBEYED, KNOWN, remarks);
    let text = |key: &str| section.text(key).unwrap_or_default().to_owned();
    let maybe = |key: &str| section.text(key).map(str::to_owned);
    let mut source = Source {
        name: section.name.clone(),
        parents: section.parents.clone(),
        kind: kind(section)?,
        host: maybe("sql_host").unwrap_or_else(|| "localhost".to_owned()),
        user: text("sql_user"),
        password: Secret::new(text("sql_pass")),
        database: text("sql_db"),
        port: number(section, "sql_port")?.and_then(|port| u16::try_from(port).ok()),
        socket: maybe("sql_sock"),
        queries_before: section.all("sql_query_pre").map(|value| value.text.clone()).collect(),
        range: maybe("sql_query_range"),
        range_step: number(section, "sql_range_step")?.unwrap_or(RANGE_STEP).max(1),
        query: text("sql_query"),
        query_after: maybe("sql_query_post"),
        query_after_index: maybe("sql_query_post_index"),
        killlist: maybe("sql_query_killlist"),
        attributes: Vec::new(),
        field_strings: section.all("sql_field_string").map(|value| value.text.clone()).collect(),
        multi: Vec::new(),
        joined: Vec::new(),
    };
    if source.query.is_empty() {
        let what = format!("source {} has no sql_query", source.name);
        return Err(ConfError { line: section.line, what });
    }
    read_parts(section, &mut source)?;
    Ok(source)
}

/// Attributes, and fields that other queries bring.
fn read_parts(section: &Section, source: &mut Source) -> Result<(), ConfError> {
    for value in &section.values {
        if value.text.is_empty() {
            continue;
        }
        let kind = match value.key.as_str() {
            "sql_attr_uint" => Kind::Uint,
            "sql_attr_bool" => Kind::Bool,
            "sql_attr_bigint" => Kind::Bigint,
            "sql_attr_float" => Kind::Float,
            "sql_attr_timestamp" => Kind::Timestamp,
            "sql_attr_string" | "sql_attr_json" => Kind::Text,
            "sql_attr_multi" => {
                let multi = multi(&value.text).ok_or_else(|| ConfError {
                    line: value.line,
                    what: format!(
                        "{} is no sql_attr_multi; write uint NAME from field, or from query; \
                         SELECT …",
                        value.text
                    ),
                })?;
                source.multi.push(multi);
                continue;
            }
            "sql_joined_field" => {
                let joined = joined(&value.text).ok_or_else(|| ConfError {
                    line: value.line,
                    what: format!(
                        "{} is no sql_joined_field; write NAME from query; SELECT …",
                        value.text
                    ),
                })?;
                source.joined.push(joined);
                continue;
            }
            _ => continue,
        };
        // `flags:3` is three bits, which take a whole number here.
        let name = value.text.split(':').next().unwrap_or_default().trim();
        source.attributes.push((name.to_owned(), kind));
    }
    Ok(())
}

fn kind(section: &Section) -> Result<SourceKind, ConfError> {
    Ok(match section.text("type").unwrap_or_default() {
        "mysql" => SourceKind::MySql,
        "pgsql" => SourceKind::Postgres,
        "sqlite" => SourceKind::Sqlite,
        other => {
            let what = format!(
                "sources of the type {other} aren't read; there are mysql, pgsql and sqlite"
            );
            return Err(ConfError { line: section.line, what });
        }
    })
}

pub(super) fn number(section: &Section, key: &str) -> Result<Option<u64>, ConfError> {
    let Some(value) = section.value(key) else { return Ok(None) };
    value.text.parse().map(Some).map_err(|_| ConfError {
        line: value.line,
        what: format!("{key} is a number, not {}", value.text),
    })
}

/// `uint NAME from query; SELECT …[; SELECT …]`
fn multi(text: &str) -> Option<Multi> {
    let (head, queries) = text.split_once(';').unwrap_or((text, ""));
    let words: Vec<_> = head.split_whitespace().collect();
    let [kind, name, from, what] = words[..] else { return None };
    let query = queries.trim();
    let from = match (from, what) {
        ("from", "field") => MultiFrom::Column,
        ("from", "query" | "ranged-main-query") if !query.is_empty() => {
            MultiFrom::Query(query.to_owned())
        }
        ("from", "ranged-query") => {
            let (query, range) = query.split_once(';')?;
            MultiFrom::Ranged { query: query.trim().to_owned(), range: range.trim().to_owned() }
        }
        _ => return None,
    };
    Some(Multi { name: name.to_owned(), is_large: kind == "bigint", from })
}

/// `NAME from query; SELECT …[; SELECT …]`
fn joined(text: &str) -> Option<Joined> {
    let (head, queries) = text.split_once(';')?;
    let words: Vec<_> = head.split_whitespace().collect();
    let [name, "from", what] = words[..] else { return None };
    let (query, range) = match what {
        "query" | "payload-query" => (queries, None),
        "ranged-query" => {
            let (query, range) = queries.split_once(';')?;
            (query, Some(range.trim().to_owned()))
        }
        _ => return None,
    };
    Some(Joined { name: name.to_owned(), query: query.trim().to_owned(), range })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_values_come_from_a_column_or_a_query() {
        let from = |text: &str| multi(text).map(|multi| multi.from);
        assert_eq!(from("uint tags from field"), Some(MultiFrom::Column));
        assert_eq!(
            from("bigint tags from ranged-query; SELECT a; SELECT b"),
            Some(MultiFrom::Ranged { query: "SELECT a".to_owned(), range: "SELECT b".to_owned() })
        );
        assert_eq!(from("uint tags from query"), None);
        assert_eq!(from("tags"), None);
        assert!(joined("a from query; SELECT 1, 2").is_some());
        assert_eq!(joined("a"), None);
    }
}
