//! The tables of a file: their columns, and by what their rows are told apart.

use rusqlite::{Connection, Result};

use crate::keys::{IndexLine, PRIMARY, TableKeys};

/// A table whose rows lie in the file.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) name: Box<str>,
    /// The page at which it begins.
    pub(super) root: u32,
    /// Names of columns in the order of a row's values; empty where those can't be read.
    pub(super) columns: Vec<Box<str>>,
    /// The column that holds the row's own number, and is left out of the row.
    pub(super) row_column: Option<usize>,
    pub(super) keys: TableKeys,
}

/// A column as `table_xinfo` shows it.
struct Column {
    name: String,
    declared: String,
    is_key: bool,
    is_generated: bool,
}

/// All tables but SQLite's own.
pub(super) fn tables(connection: &Connection) -> Result<Vec<Table>> {
    // A row's values can't be told from their bytes in another coding.
    let coding: String = connection.query_row("PRAGMA encoding", [], |row| row.get(0))?;
    let mut statement = connection.prepare(
        "SELECT name, rootpage FROM sqlite_schema \
         WHERE type = 'table' AND rootpage > 0 AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
    )?;
    let found = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let found: Vec<(String, u32)> = found.collect::<Result<_>>()?;
    found.into_iter().map(|(name, root)| table(connection, name, root, &coding)).collect()
}

fn table(connection: &Connection, name: String, root: u32, coding: &str) -> Result<Table> {
    let columns = columns(connection, &name)?;
    let mut keys = columns.iter().enumerate().filter(|(_, column)| column.is_key);
    let row_column = match (keys.next(), keys.next()) {
        (Some((at, column)), None) if column.declared == "integer" => Some(at),
        _ => None,
    };
    let keys = table_keys(connection, &name, &columns, row_column)?;
    let is_read = coding == "UTF-8" && !columns.iter().any(|column| column.is_generated);
    let columns = columns.into_iter().map(|column| column.name.into_boxed_str());
    let columns = if is_read { columns.collect() } else { Vec::new() };
    Ok(Table { name: name.into(), root, columns, row_column, keys })
}

fn columns(connection: &Connection, table: &str) -> Result<Vec<Column>> {
    let mut statement = connection
        .prepare("SELECT name, type, pk, hidden FROM pragma_table_xinfo(?1) ORDER BY cid")?;
    let columns = statement.query_map([table], |row| {
        Ok(Column {
            name: row.get(0)?,
            declared: row.get::<_, String>(1)?.to_ascii_lowercase(),
            is_key: row.get::<_, i64>(2)? > 0,
            is_generated: row.get::<_, i64>(3)? != 0,
        })
    })?;
    columns.collect()
}

fn table_keys(
    connection: &Connection,
    table: &str,
    columns: &[Column],
    row_column: Option<usize>,
) -> Result<TableKeys> {
    let line = |at: usize, index: Option<&str>, is_unique, place| IndexLine {
        column: columns[at].name.clone(),
        ordinal: at as u32 + 1,
        data_type: family(&columns[at].declared).to_owned(),
        index: index.map(str::to_owned),
        is_unique,
        place,
    };
    let mut lines: Vec<_> = (0..columns.len()).map(|at| line(at, None, false, 0)).collect();
    // It has an index of its own that no list names.
    lines.extend(row_column.map(|at| line(at, Some("the row's number"), true, 1)));
    let mut list = connection.prepare(
        "SELECT name, \"unique\" AND NOT partial, origin = 'pk' \
         FROM pragma_index_list(?1) ORDER BY seq",
    )?;
    let indexes = list.query_map([table], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let indexes: Vec<(String, bool, bool)> = indexes.collect::<Result<_>>()?;
    for (index, is_unique, is_primary) in indexes {
        let mut info =
            connection.prepare("SELECT cid, seqno FROM pragma_index_info(?1) ORDER BY seqno")?;
        let parts = info.query_map([&index], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let parts: Vec<(i64, u32)> = parts.collect::<Result<_>>()?;
        // One over an expression tells apart by what no column holds.
        let places = parts.iter().map(|(column, place)| {
            let at = usize::try_from(*column).ok().filter(|at| *at < columns.len())?;
            let index = if is_primary { PRIMARY } else { &index };
            Some(line(at, Some(index), is_unique, place + 1))
        });
        lines.extend(places.collect::<Option<Vec<_>>>().unwrap_or_default());
    }
    Ok(TableKeys::from_lines(&lines).unwrap_or_default())
}

/// The type in the words of other databases: whatever holds text counts as `varchar`, since
/// SQLite's own word for names is the one for long texts too.
fn family(declared: &str) -> &'static str {
    if ["char", "clob", "text"].iter().any(|word| declared.contains(word)) { "varchar" } else { "" }
}
