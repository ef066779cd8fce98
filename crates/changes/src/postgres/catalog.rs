//! The catalog: which tables there are, of what shape, and how many rows were written.
//!
//! In: a server's own tables about tables, as every user may read them. Out: [`Catalog`]
//! and [`Counters`], and what differs between two of them.
//!
//! Limits: a table that was emptied, or rewritten as a whole, has another file. Views are
//! looked at as tables are. Functions, and tables of other servers, are not.

use std::collections::BTreeMap;

use super::connection::{Connection, Line, quoted};
use super::reader::{Keys, named};
use crate::keys::{IndexLine, TableKeys};
use crate::{Change, Lost, Operation};

/// The most tables that are watched; a line about one takes some 200 bytes.
const TABLES_MAX: usize = 16 << 10;
/// The publication of tables whose rows are known by something.
pub(super) const ROWS: &str = "wick_rows";
/// The publication of those of which only what is added may be published.
pub(super) const INSERTS: &str = "wick_inserts";

/// What makes a table another: its own settings, its columns, its indexes, its rules. The
/// `xmin` of a line is the transaction that wrote it, which is cheap to hold together.
///
/// A row is known by something under the rule of the server's own check
/// (`RelationGetReplicaIndex`): the primary key or the index that was named for it, unless
/// it is deferrable or of a part of the table, or all columns. Where that fails and updates
/// are published, the server refuses them.
const RELATIONS: &str = "\
    SELECT c.oid::int8, n.nspname, c.relname, c.relkind, c.relpersistence, c.relfilenode::int8, \
        hashtextextended(concat_ws(' ', c.relreplident, c.relispartition, c.relacl, c.relowner, \
            (SELECT string_agg(concat_ws(':', a.attnum, a.xmin), ' ' ORDER BY a.attnum) \
                FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0), \
            (SELECT string_agg(concat_ws(':', i.indexrelid, i.xmin), ' ' ORDER BY i.indexrelid) \
                FROM pg_index i WHERE i.indrelid = c.oid), \
            (SELECT string_agg(concat_ws(':', r.oid, r.xmin), ' ' ORDER BY r.oid) \
                FROM pg_rewrite r WHERE r.ev_class = c.oid)), 0), \
        c.relreplident = 'f' OR EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid \
            AND i.indisvalid AND i.indisunique AND i.indimmediate AND i.indpred IS NULL \
            AND CASE c.relreplident WHEN 'd' THEN i.indisprimary WHEN 'i' THEN i.indisreplident \
                ELSE false END), \
        pg_has_role(c.relowner, 'USAGE'), \
        EXISTS (SELECT FROM pg_publication_rel l JOIN pg_publication p ON p.oid = l.prpubid \
            WHERE l.prrelid = c.oid AND p.pubname = 'wick_rows'), \
        EXISTS (SELECT FROM pg_publication_rel l JOIN pg_publication p ON p.oid = l.prpubid \
            WHERE l.prrelid = c.oid AND p.pubname = 'wick_inserts') \
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
    WHERE c.relkind IN ('r', 'm', 'v') AND c.relpersistence <> 't' \
        AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%' \
        OR c.oid = 'pg_largeobject'::regclass";

/// Each column, with each index by columns alone and of the whole table that it is in.
const KEYS: &str = "\
    SELECT a.attrelid::int8, a.attname, a.attnum, t.typcategory = 'S', \
        CASE WHEN i.indisprimary THEN 'PRIMARY' ELSE i.indexrelid::text END, \
        i.indisunique, i.place \
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
    JOIN pg_type t ON t.oid = a.atttypid \
    LEFT JOIN (SELECT x.indrelid, x.indexrelid, x.indisprimary, x.indisunique, \
            k.attnum, k.place \
        FROM pg_index x, unnest(x.indkey::int2[]) WITH ORDINALITY k (attnum, place) \
        WHERE x.indisvalid AND x.indpred IS NULL AND x.indexprs IS NULL \
            AND k.place <= x.indnkeyatts) i ON i.indrelid = c.oid AND i.attnum = a.attnum \
    WHERE c.relkind = 'r' AND c.relpersistence <> 't' \
        AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%'";

/// The tables of a database by the server's numbers for them.
pub(super) type Catalog = BTreeMap<u32, Relation>;

/// A table or a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Relation {
    pub(super) schema: String,
    pub(super) name: String,
    kind: char,
    /// Whether the log tells of it.
    is_logged: bool,
    file: u64,
    shape: i64,
    /// Whether its rows are known by something, so that updates may be published.
    has_identity: bool,
    /// Whether we own it, and may publish it.
    pub(super) is_own: bool,
    /// Whether it is published with all that is done to it…
    pub(super) is_in_rows: bool,
    /// …and with what is added to it.
    pub(super) is_in_inserts: bool,
}

impl Relation {
    fn of(line: &Line) -> Result<(u32, Self), Lost> {
        let letter = |index| line.text(index).chars().next().unwrap_or_default();
        let is_system = line.text(1) == "pg_catalog";
        Ok((
            line.number(0)?,
            Self {
                schema: line.text(1).to_owned(),
                name: line.text(2).to_owned(),
                kind: letter(3),
                is_logged: letter(4) == 'p' && !is_system,
                file: line.number(5)?,
                shape: line.number(6)?,
                has_identity: line.is_true(7),
                is_own: line.is_true(8),
                is_in_rows: line.is_true(9),
                is_in_inserts: line.is_true(10),
            },
        ))
    }

    /// Whether it has rows of its own in the log.
    pub(super) fn is_table(&self) -> bool {
        self.kind == 'r' && self.is_logged
    }

    pub(super) fn may_publish_rows(&self) -> bool {
        self.is_table() && self.has_identity
    }

    pub(super) fn may_publish_inserts(&self) -> bool {
        self.is_table() && !self.has_identity
    }

    /// Whether some of what is done to it is not in the log that we read.
    pub(super) fn is_counted(&self) -> bool {
        self.has_rows() && !self.is_in_rows
    }

    /// Whether the log tells when it is emptied.
    pub(super) fn is_published(&self) -> bool {
        self.is_in_rows || self.is_in_inserts
    }

    /// Whether its rows are counted.
    pub(super) fn has_rows(&self) -> bool {
        matches!(self.kind, 'r' | 'm')
    }

    /// Its name as a statement writes it.
    pub(super) fn quoted(&self) -> String {
        format!("{}.{}", quoted(&self.schema), quoted(&self.name))
    }

    /// Its name as changes bear it.
    pub(super) fn named(&self) -> Box<str> {
        named(&self.schema, &self.name)
    }
}

/// The tables that there are now.
pub(super) async fn read(connection: &Connection) -> Result<Catalog, Lost> {
    let lines = connection.ask(RELATIONS).await?;
    if lines.len() > TABLES_MAX {
        return Err(Lost::Impossible(format!("the database has over {TABLES_MAX} tables")));
    }
    lines.iter().map(Relation::of).collect()
}

/// What happened to tables themselves between two looks. Those that `are_told` of by the
/// log when they are emptied need not be told of here.
pub(super) fn compare(
    database: &str,
    before: &Catalog,
    now: &Catalog,
    are_told: impl Fn(&Relation) -> bool,
) -> Vec<Change> {
    let of = |relation: &Relation, operation| Change::of(database, &relation.named(), operation);
    let gone = before.iter().filter(|(number, _)| !now.contains_key(number));
    let mut changes: Vec<Change> =
        gone.map(|(_, relation)| of(relation, Operation::Schema)).collect();
    for (number, relation) in now {
        let shape = |relation: &Relation| {
            (relation.shape, relation.schema.clone(), relation.name.clone(), relation.is_logged)
        };
        match before.get(number) {
            Some(old) if shape(old) == shape(relation) && old.file == relation.file => {}
            Some(old) if shape(old) == shape(relation) => {
                if !(are_told(old) && are_told(relation)) {
                    changes.push(of(relation, Operation::Other));
                }
            }
            _ => changes.push(of(relation, Operation::Schema)),
        }
    }
    changes
}

/// By what the rows of each table are told apart.
pub(super) async fn keys(connection: &Connection) -> Result<Keys, Lost> {
    let mut tables: BTreeMap<u32, Vec<IndexLine>> = BTreeMap::new();
    for line in connection.ask(KEYS).await? {
        let index = Some(line.text(4)).filter(|index| !index.is_empty()).map(str::to_owned);
        tables.entry(line.number(0)?).or_default().push(IndexLine {
            column: line.text(1).to_owned(),
            ordinal: line.number(2)?,
            // All that PostgreSQL calls text has a bound where it matters: in an index.
            data_type: if line.is_true(3) { "varchar" } else { "" }.to_owned(),
            place: if index.is_some() { line.number(6)? } else { 0 },
            is_unique: line.is_true(5),
            index,
        });
    }
    let keys = |(number, lines): (u32, Vec<IndexLine>)| {
        TableKeys::from_lines(&lines).map(|keys| (number, keys))
    };
    Ok(tables.into_iter().filter_map(keys).collect())
}

/// How many rows were added to tables, changed and removed, by anybody, ever.
pub(super) type Counters = BTreeMap<u32, [i64; 3]>;

/// The counters of the tables that `are_counted`, and of no others.
pub(super) async fn counters(
    connection: &Connection,
    catalog: &Catalog,
    are_counted: impl Fn(&Relation) -> bool,
) -> Result<Counters, Lost> {
    let numbers: Vec<String> = catalog
        .iter()
        .filter(|(_, relation)| are_counted(relation))
        .map(|(number, _)| number.to_string())
        .collect();
    if numbers.is_empty() {
        return Ok(Counters::new());
    }
    let question = format!(
        "SELECT o::int8, pg_stat_get_tuples_inserted(o), pg_stat_get_tuples_updated(o), \
         pg_stat_get_tuples_deleted(o) FROM unnest('{{{}}}'::oid[]) o",
        numbers.join(",")
    );
    let lines = connection.ask(&question).await?;
    let line =
        |line: &Line| Ok((line.number(0)?, [line.number(1)?, line.number(2)?, line.number(3)?]));
    lines.iter().map(line).collect()
}

/// The tables whose rows were counted otherwise.
pub(super) fn counted<'a>(
    before: &'a Counters,
    now: &'a Counters,
    catalog: &'a Catalog,
) -> impl Iterator<Item = &'a Relation> {
    differ(before, now, catalog, |_| 0)
}

/// Those of them of which the log doesn't tell it.
pub(super) fn counted_unheard<'a>(
    before: &'a Counters,
    now: &'a Counters,
    catalog: &'a Catalog,
) -> impl Iterator<Item = &'a Relation> {
    differ(before, now, catalog, |relation| usize::from(relation.is_in_inserts))
}

fn differ<'a>(
    before: &'a Counters,
    now: &'a Counters,
    catalog: &'a Catalog,
    first: impl Fn(&Relation) -> usize,
) -> impl Iterator<Item = &'a Relation> {
    now.iter().filter_map(move |(number, counts)| {
        let relation = catalog.get(number)?;
        // One that is new has been told as such.
        let old = before.get(number)?;
        let first = first(relation);
        (counts[first..] != old[first..]).then_some(relation)
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Tables such as `posts r 1 1 rows`: name, kind, file, shape, publication.
    pub(in crate::postgres) fn catalog(lines: &[&str]) -> Catalog {
        lines.iter().map(|line| relation(line)).collect()
    }

    fn relation(line: &str) -> (u32, Relation) {
        let words: Vec<&str> = line.split(' ').collect();
        let word = |at: usize| words.get(at).copied().unwrap_or_default();
        let number = word(0).bytes().fold(0, |sum: u32, byte| sum * 31 + u32::from(byte));
        let relation = Relation {
            schema: "public".to_owned(),
            name: word(0).to_owned(),
            kind: word(1).chars().next().unwrap_or('r'),
            is_logged: true,
            file: word(2).parse().unwrap_or(1),
            shape: word(3).parse().unwrap_or(1),
            has_identity: word(4) != "inserts",
            is_own: true,
            is_in_rows: word(4) == "rows",
            is_in_inserts: word(4) == "inserts",
        };
        (number, relation)
    }

    fn check(before: &[&str], now: &[&str], expected: &[&str]) {
        let changes = compare("db", &catalog(before), &catalog(now), Relation::is_published);
        let shown: Vec<String> = changes
            .iter()
            .map(|change| format!("{:?} {}", change.operation, change.table))
            .collect();
        assert_eq!(shown, expected, "{before:?} {now:?}");
    }

    #[test]
    fn tables_that_are_new_or_gone_or_of_another_shape_are_told() {
        check(&["a r 1 1"], &["a r 1 1"], &[]);
        check(
            &["a r 1 1", "b r 1 1"],
            &["a r 1 2", "c r 1 1"],
            &["Schema b", "Schema a", "Schema c"],
        );
        // Emptied, or written anew.
        check(&["a r 1 1"], &["a r 2 1"], &["Other a"]);
        check(&["a r 1 1"], &["a r 2 1 rows"], &["Other a"]);
        check(&["a r 1 1 rows"], &["a r 2 1 inserts"], &[]);
        check(&["a v 0 1"], &["a v 0 2"], &["Schema a"]);
        // Our own doing is not.
        check(&["a r 1 1"], &["a r 1 1 rows"], &[]);
    }

    #[test]
    fn counters_tell_what_the_log_does_not() {
        let catalog = catalog(&["a r 1 1", "b r 1 1 inserts"]);
        let counters = |a, b| -> Counters { catalog.keys().copied().zip([a, b]).collect() };
        for (before, now, expected) in [
            (counters([1, 1, 1], [1, 1, 1]), counters([1, 1, 1], [1, 1, 1]), &[][..]),
            (counters([1, 1, 1], [1, 1, 1]), counters([2, 1, 1], [2, 1, 1]), &["a"]),
            (counters([1, 1, 1], [1, 1, 1]), counters([1, 1, 1], [2, 2, 1]), &["b"]),
            // A server that counts anew.
            (counters([1, 1, 1], [1, 1, 9]), counters([0, 0, 0], [0, 0, 0]), &["a", "b"]),
            (Counters::new(), counters([1, 1, 1], [1, 1, 1]), &[]),
        ] {
            let told: Vec<&str> = counted_unheard(&before, &now, &catalog)
                .map(|relation| relation.name.as_str())
                .collect();
            assert_eq!(told, expected, "{before:?} {now:?}");
        }
    }
}
