//! Statements that change rows of one table: INSERT, REPLACE, UPDATE, DELETE.

use std::collections::BTreeSet;

use super::condition::{self, Literal, literal};
use super::tokens::Token;
use crate::keys::{Key, KeyColumn};
use crate::{Change, Column, KeyClass, Operation};

/// The most rows of one statement whose keys are told apart.
const ROWS_MAX: usize = 64;

/// A table's name as a statement writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    /// None means the database that was in use.
    pub(crate) database: Option<Box<str>>,
    pub(crate) table: Box<str>,
}

/// What is done to rows of one table.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RowsStatement {
    pub(crate) name: Name,
    /// One, or an insert with the update that takes its place.
    acts: Vec<(Operation, BTreeSet<Column>)>,
    chosen: Chosen,
}

/// Which rows.
#[derive(Debug, PartialEq, Eq)]
enum Chosen {
    /// That can't be told.
    Any,
    /// Those whose columns equal these: a column, and the values that it may have.
    Where(Vec<(String, Vec<Literal>)>),
    /// New ones: the names of the columns, if they were named, and the values.
    Values(Option<Vec<String>>, Vec<Vec<Option<Literal>>>),
}

impl RowsStatement {
    /// What changed, by what is known of the table's keys.
    pub(crate) fn changes(&self, database: &str, key: Key<'_>) -> Vec<Change> {
        let classes = self.classes(key);
        let mut changes = Vec::new();
        for (operation, columns) in &self.acts {
            for class in &classes {
                let database = self.name.database.as_deref().unwrap_or(database);
                let change = Change::of(database, &self.name.table, *operation);
                changes.push(Change { columns: columns.clone(), key: class.clone(), ..change });
            }
        }
        changes
    }

    fn classes(&self, key: Key<'_>) -> BTreeSet<KeyClass> {
        let columns = match key {
            Key::Unknown => return BTreeSet::from([KeyClass::Unknown]),
            Key::Plain => return BTreeSet::from([KeyClass::Plain]),
            Key::Columns(columns) => columns,
        };
        let classes = match &self.chosen {
            Chosen::Any => None,
            Chosen::Where(conditions) => classes_where(columns, conditions),
            Chosen::Values(names, rows) => classes_of_values(columns, names.as_deref(), rows),
        };
        let classes = classes.filter(|classes| !classes.is_empty());
        classes.unwrap_or_else(|| BTreeSet::from([KeyClass::Unknown]))
    }
}

/// The classes that conditions leave; none unless they settle every column of the key.
fn classes_where(
    columns: &[KeyColumn],
    conditions: &[(String, Vec<Literal>)],
) -> Option<BTreeSet<KeyClass>> {
    let mut keys: Vec<Vec<&str>> = vec![Vec::new()];
    for column in columns {
        let (_, values) = conditions.iter().find(|(name, _)| *name == *column.name)?;
        if keys.len() * values.len() > ROWS_MAX {
            return None;
        }
        keys = keys
            .iter()
            .flat_map(|key| values.iter().map(|value| [&key[..], &[&**value]].concat()))
            .collect();
    }
    Some(keys.into_iter().map(KeyClass::of).collect())
}

fn classes_of_values(
    columns: &[KeyColumn],
    names: Option<&[String]>,
    rows: &[Vec<Option<Literal>>],
) -> Option<BTreeSet<KeyClass>> {
    let places: Option<Vec<usize>> = columns
        .iter()
        .map(|column| match names {
            Some(names) => names.iter().position(|name| **name == *column.name),
            None => Some(column.ordinal),
        })
        .collect();
    let places = places?;
    let class = |row: &Vec<Option<Literal>>| {
        let values: Option<Vec<&str>> =
            places.iter().map(|place| row.get(*place)?.as_deref()).collect();
        values.map(KeyClass::of)
    };
    rows.iter().map(class).collect()
}

/// `INSERT` and `REPLACE`, after the verb.
pub(super) fn insert(tokens: &[Token<'_>]) -> Option<RowsStatement> {
    let tokens = skip(tokens, &["LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "IGNORE", "INTO"]);
    let (name, tokens) = table(tokens)?;
    let (values, updated) = match find(tokens, &["ON"]) {
        Some(at) if is_on_duplicate(&tokens[at..]) => {
            (&tokens[..at], Some(assigned(&tokens[at + 4..])?))
        }
        _ => (tokens, None),
    };
    let mut acts = vec![(Operation::Insert, BTreeSet::new())];
    acts.extend(updated.map(|columns| (Operation::Update, columns)));
    Some(RowsStatement { name, acts, chosen: inserted(values)? })
}

fn is_on_duplicate(tokens: &[Token<'_>]) -> bool {
    let words = ["ON", "DUPLICATE", "KEY", "UPDATE"];
    tokens.len() > words.len() && words.iter().zip(tokens).all(|(word, token)| token.is(word))
}

/// The rows of an insert: column names, if there are, and then values in some form.
fn inserted(tokens: &[Token<'_>]) -> Option<Chosen> {
    let (names, tokens) = match tokens {
        [Token::Sign('('), ..] => {
            let (inner, rest) = in_brackets(tokens)?;
            let names: Option<Vec<String>> = split(inner)
                .map(|part| column(part).filter(|(_, rest)| rest.is_empty()))
                .map(|one| one.map(|(name, _)| name))
                .collect();
            match names {
                Some(names) => (Some(names), rest),
                // A select in brackets.
                None if inner.first().is_some_and(|token| token.is("SELECT")) => {
                    return Some(Chosen::Any);
                }
                None => return None,
            }
        }
        _ => (None, tokens),
    };
    let (verb, mut rest) = tokens.split_first()?;
    if verb.is("SET") {
        let pairs = split(rest).map(|part| {
            let (name, rest) = column(part)?;
            let value = rest.strip_prefix(&[Token::Sign('=')])?;
            Some((name, literal(value)))
        });
        let (names, values): (Vec<String>, Vec<_>) =
            pairs.collect::<Option<Vec<_>>>()?.into_iter().unzip();
        return Some(Chosen::Values(Some(names), vec![values]));
    }
    if !verb.is_any(&["VALUES", "VALUE"]) {
        return verb.is_any(&["SELECT", "WITH", "TABLE"]).then_some(Chosen::Any);
    }
    let mut rows = Vec::new();
    while let [Token::Sign('('), ..] = rest {
        let (inner, after) = in_brackets(rest)?;
        rows.push(split(inner).map(literal).collect());
        if rows.len() > ROWS_MAX {
            return Some(Chosen::Any);
        }
        let Some(next) = after.strip_prefix(&[Token::Sign(',')]) else { break };
        rest = next;
    }
    Some(Chosen::Values(names, rows))
}

/// `UPDATE`, after the verb.
pub(super) fn update(tokens: &[Token<'_>]) -> Option<RowsStatement> {
    let tokens = skip(tokens, &["LOW_PRIORITY", "IGNORE"]);
    let (name, tokens) = table(tokens)?;
    let set = find(tokens, &["SET"])?;
    // Nothing but another name for the table may stand between.
    match &tokens[..set] {
        [] | [Token::Word(_) | Token::Name(_)] => {}
        [first, Token::Word(_) | Token::Name(_)] if first.is("AS") => {}
        _ => return None,
    }
    let tokens = &tokens[set + 1..];
    let end = find(tokens, &["WHERE", "ORDER", "LIMIT", "RETURNING"]).unwrap_or(tokens.len());
    let columns = assigned(&tokens[..end])?;
    Some(RowsStatement {
        name,
        acts: vec![(Operation::Update, columns)],
        chosen: chosen(&tokens[end..]),
    })
}

/// `DELETE`, after the verb.
pub(super) fn delete(tokens: &[Token<'_>]) -> Option<RowsStatement> {
    let tokens = skip(tokens, &["LOW_PRIORITY", "QUICK", "IGNORE"]);
    let (from, tokens) = tokens.split_first()?;
    let (name, tokens) = table(tokens).filter(|_| from.is("FROM"))?;
    let is_one =
        tokens.first().is_none_or(|token| token.is_any(&["WHERE", "ORDER", "LIMIT", "RETURNING"]));
    let acts = vec![(Operation::Delete, BTreeSet::new())];
    is_one.then(|| RowsStatement { name, acts, chosen: chosen(tokens) })
}

/// `TRUNCATE`, after the verb.
pub(super) fn truncate(tokens: &[Token<'_>]) -> Option<Name> {
    table(skip(tokens, &["TABLE"])).map(|(name, _)| name)
}

/// Which rows a statement's end leaves.
fn chosen(tokens: &[Token<'_>]) -> Chosen {
    let Some((_, rest)) = tokens.split_first().filter(|(first, _)| first.is("WHERE")) else {
        return Chosen::Any;
    };
    let end = find(rest, &["ORDER", "LIMIT", "RETURNING"]).unwrap_or(rest.len());
    condition::read(&rest[..end]).map_or(Chosen::Any, Chosen::Where)
}

/// The columns on the left of `a = 1, t.b = 2`.
fn assigned(tokens: &[Token<'_>]) -> Option<BTreeSet<Column>> {
    let one = |part| {
        let (name, rest) = column(part)?;
        matches!(rest, [Token::Sign('='), _, ..]).then(|| Column::named(&name))
    };
    split(tokens).map(one).collect()
}

/// A table at the beginning, and what follows it.
fn table<'a, 'b>(tokens: &'a [Token<'b>]) -> Option<(Name, &'a [Token<'b>])> {
    let (first, rest) = name(tokens)?;
    let Some(after) = rest.strip_prefix(&[Token::Sign('.')]) else {
        return Some((Name { database: None, table: first.into() }, rest));
    };
    let (second, rest) = name(after)?;
    Some((Name { database: Some(first.into()), table: second.into() }, rest))
}

/// A column at the beginning, in small letters and without its table, and what follows it.
pub(super) fn column<'a, 'b>(tokens: &'a [Token<'b>]) -> Option<(String, &'a [Token<'b>])> {
    let (mut last, mut rest) = name(tokens)?;
    while let Some(after) = rest.strip_prefix(&[Token::Sign('.')]) {
        (last, rest) = name(after)?;
    }
    Some((last.to_lowercase(), rest))
}

fn name<'a, 'b>(tokens: &'a [Token<'b>]) -> Option<(&'a str, &'a [Token<'b>])> {
    let (first, rest) = tokens.split_first()?;
    match first {
        Token::Word(word) => Some((word, rest)),
        Token::Name(name) => Some((name, rest)),
        _ => None,
    }
}

fn skip<'a, 'b>(mut tokens: &'a [Token<'b>], words: &[&str]) -> &'a [Token<'b>] {
    while let [first, rest @ ..] = tokens
        && first.is_any(words)
    {
        tokens = rest;
    }
    tokens
}

/// Where one of `words` stands outside of all brackets.
pub(super) fn find(tokens: &[Token<'_>], words: &[&str]) -> Option<usize> {
    let mut depth = 0_usize;
    tokens.iter().position(|token| {
        match token {
            Token::Sign('(') => depth += 1,
            Token::Sign(')') => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && token.is_any(words)
    })
}

/// What stands in the brackets that `tokens` begin with, and what follows them.
pub(super) fn in_brackets<'a, 'b>(
    tokens: &'a [Token<'b>],
) -> Option<(&'a [Token<'b>], &'a [Token<'b>])> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Sign('(') => depth += 1,
            Token::Sign(')') if depth == 1 => return Some((&tokens[1..at], &tokens[at + 1..])),
            Token::Sign(')') => depth = depth.checked_sub(1)?,
            _ if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

/// The parts between the commas that stand outside of all brackets.
pub(super) fn split<'a, 'b>(tokens: &'a [Token<'b>]) -> impl Iterator<Item = &'a [Token<'b>]> {
    let mut depth = 0_usize;
    tokens.split(move |token| {
        match token {
            Token::Sign('(') => depth += 1,
            Token::Sign(')') => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && *token == Token::Sign(',')
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Statement, read};
    use super::*;

    fn check(text: &str, key: &[(usize, &str)], expected: &[&str]) {
        let columns: Vec<KeyColumn> = key
            .iter()
            .map(|(ordinal, name)| KeyColumn { ordinal: *ordinal, name: (*name).into() })
            .collect();
        let key = if key.is_empty() { Key::Plain } else { Key::Columns(&columns) };
        let Statement::Rows(rows) = read(text) else { panic!("not read: {text}") };
        let shown: Vec<String> = rows.changes("site", key).iter().map(show).collect();
        assert_eq!(shown, expected, "{text}");
    }

    fn show(change: &Change) -> String {
        let columns: Vec<&str> =
            change.columns.iter().map(|column| column.name().unwrap_or("?")).collect();
        let key = match &change.key {
            KeyClass::Of(class) => class,
            KeyClass::Plain => "plain",
            KeyClass::Unknown => "unknown",
        };
        let Change { database, table, operation, .. } = change;
        format!("{operation:?} {database}.{table} {} {key}", columns.join("+"))
    }

    const OPTION: &[(usize, &str)] = &[(1, "option_name")];

    #[test]
    fn updates_tell_the_assigned_columns_and_the_key() {
        check(
            "UPDATE `wp_options` SET `option_value` = 'My blog' WHERE `option_name` = 'blogname'",
            OPTION,
            &["Update site.wp_options option_value blogname"],
        );
        check(
            "update low_priority blog.posts as p set p.Views = p.views + 1, seen=NOW() where id = 5 limit 1",
            &[],
            &["Update blog.posts seen+views plain"],
        );
        check(
            "UPDATE o SET v = IF(a, (SELECT 1 FROM x WHERE y), 2) WHERE (option_name IN ('a1', 'b')) AND z > 3",
            OPTION,
            &["Update site.o v a#", "Update site.o v b"],
        );
        check("UPDATE o SET v = 1", OPTION, &["Update site.o v unknown"]);
    }

    #[test]
    fn conditions_that_do_not_settle_the_key_leave_it_unknown() {
        for condition in [
            "option_name = 'a' OR 1",
            "NOT option_name = 'a'",
            "option_name LIKE 'a'",
            "option_name = CONCAT('a', 'b')",
            "option_name = 'a' || 1",
            "option_name BETWEEN 'a' AND option_name = 'b'",
            "x = 'a'",
        ] {
            let text = format!("DELETE FROM o WHERE {condition}");
            check(&text, OPTION, &["Delete site.o  unknown"]);
        }
    }

    #[test]
    fn inserts_tell_the_keys_of_their_rows() {
        check(
            "INSERT INTO `o` (`option_name`, `v`) VALUES ('_t_1', 'x'), ('_t_2', NOW())",
            OPTION,
            &["Insert site.o  _t_#"],
        );
        check("INSERT IGNORE o VALUES (1, _utf8mb4'abc')", OPTION, &["Insert site.o  abc"]);
        check("REPLACE INTO s SET option_name = 'x', v = 1", OPTION, &["Insert site.s  x"]);
        check(
            "INSERT INTO o (option_name, v) VALUES ('cron', '1') ON DUPLICATE KEY UPDATE v = VALUES(v)",
            OPTION,
            &["Insert site.o  cron", "Update site.o v cron"],
        );
        for text in [
            "INSERT INTO o SELECT * FROM p",
            "INSERT INTO o (option_name) SELECT a FROM p",
            "INSERT INTO o (SELECT 1)",
            "INSERT INTO o (v) VALUES (1)",
            "INSERT INTO o (option_name) VALUES (CONCAT('a'))",
        ] {
            check(text, OPTION, &["Insert site.o  unknown"]);
        }
    }

    #[test]
    fn a_key_of_several_columns_is_settled_by_all_of_them() {
        let key = &[(0, "id"), (1, "name")];
        check("DELETE FROM t WHERE name = 'a' AND id = 5", key, &["Delete site.t  #,a"]);
        check("DELETE FROM t WHERE name = 'a'", key, &["Delete site.t  unknown"]);
    }
}
