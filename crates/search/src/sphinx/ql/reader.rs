//! Reads statements, with semicolons between.

use super::cursor::Cursor;
use super::statement::{Literal, Statement};
use super::token::Token;
use super::{Unreadable, call, condition, definition, select, show};

/// Of one query.
const STATEMENTS_MAX: usize = 32;

/// Reads all statements of a query.
///
/// # Errors
/// One of them isn't SphinxQL, or is more of it than Wick obeys.
pub fn read(text: &str) -> Result<Vec<Statement>, Unreadable> {
    let mut cursor = Cursor::new(text);
    let mut statements = Vec::new();
    loop {
        while cursor.sign(";") {}
        if *cursor.peek() == Token::End {
            break;
        }
        if statements.len() >= STATEMENTS_MAX {
            return Err(cursor.wrong(&format!("more than {STATEMENTS_MAX} statements at once")));
        }
        let statement = read_one(&mut cursor)?;
        cursor.end()?;
        statements.push(statement);
    }
    if statements.is_empty() { Err(cursor.unexpected(None)) } else { Ok(statements) }
}

fn read_one(cursor: &mut Cursor<'_>) -> Result<Statement, Unreadable> {
    let Token::Word(verb) = cursor.peek() else { return Err(cursor.unexpected(None)) };
    let verb = verb.to_ascii_lowercase();
    match verb.as_str() {
        "select" => select::read(cursor).map(|select| Statement::Select(Box::new(select))),
        "insert" => read_insert(cursor, false),
        "replace" => read_insert(cursor, true),
        "update" => read_update(cursor),
        "delete" => read_delete(cursor),
        "truncate" => read_truncate(cursor),
        "create" => definition::read_create(cursor),
        "drop" => definition::read_drop(cursor),
        "show" => show::read(cursor),
        "desc" | "describe" => show::read_describe(cursor),
        "call" => call::read(cursor),
        "rollback" => {
            cursor.next();
            Ok(Statement::Rollback)
        }
        "set" | "begin" | "commit" | "use" | "start" | "flush" | "optimize" => {
            read_nothing(cursor, &verb)
        }
        "alter" | "attach" | "explain" | "reload" | "import" | "freeze" | "unfreeze" | "kill" => {
            Err(cursor.refuse(&verb.to_ascii_uppercase()))
        }
        _ => Err(cursor.unexpected(None)),
    }
}

/// What changes nothing here. Its words are read to the end all the same.
fn read_nothing(cursor: &mut Cursor<'_>, verb: &str) -> Result<Statement, Unreadable> {
    cursor.next();
    match verb {
        "start" => cursor.expect("transaction")?,
        "use" => drop(cursor.name()?),
        "begin" | "commit" => {}
        _ => {
            if matches!(cursor.peek(), Token::End | Token::Sign(";")) {
                return Err(cursor.unexpected(None));
            }
            while !matches!(cursor.peek(), Token::End | Token::Sign(";") | Token::Odd(_)) {
                cursor.next();
            }
        }
    }
    Ok(Statement::Nothing)
}

fn read_insert(cursor: &mut Cursor<'_>, replaces: bool) -> Result<Statement, Unreadable> {
    cursor.next();
    cursor.expect("into")?;
    let index = cursor.name()?;
    let mut columns = Vec::new();
    if cursor.sign("(") {
        columns = cursor.list(Cursor::name)?;
        cursor.expect_sign(")")?;
    }
    cursor.expect("values")?;
    let rows = cursor.list(|cursor| {
        cursor.expect_sign("(")?;
        let row = cursor.list(read_value)?;
        if !columns.is_empty() && row.len() != columns.len() {
            return Err(cursor.wrong("wrong number of values here"));
        }
        cursor.expect_sign(")")?;
        Ok(row)
    })?;
    Ok(Statement::Insert { index, columns, rows, replaces })
}

/// A value, or several in parentheses.
fn read_value(cursor: &mut Cursor<'_>) -> Result<Literal, Unreadable> {
    if !cursor.sign("(") {
        return cursor.literal();
    }
    let mut values = Vec::new();
    if !cursor.sign(")") {
        values = cursor.list(Cursor::literal)?;
        cursor.expect_sign(")")?;
    }
    Ok(Literal::List(values))
}

fn read_update(cursor: &mut Cursor<'_>) -> Result<Statement, Unreadable> {
    cursor.next();
    let index = cursor.name()?;
    cursor.expect("set")?;
    let values = cursor.list(|cursor| {
        let name = cursor.name()?;
        cursor.expect_sign("=")?;
        Ok((name, read_value(cursor)?))
    })?;
    let filter = condition::read_where(cursor, true)?;
    if cursor.has("option") {
        select::read_options(cursor)?;
    }
    Ok(Statement::Update { index, values, filter })
}

fn read_delete(cursor: &mut Cursor<'_>) -> Result<Statement, Unreadable> {
    cursor.next();
    cursor.expect("from")?;
    let index = cursor.name()?;
    let filter = condition::read_where(cursor, true)?;
    Ok(Statement::Delete { index, filter })
}

fn read_truncate(cursor: &mut Cursor<'_>) -> Result<Statement, Unreadable> {
    cursor.next();
    if !cursor.has("rtindex") && !cursor.has("table") {
        return Err(cursor.unexpected(Some("RTINDEX")));
    }
    let index = cursor.name()?;
    // The same settings are kept.
    if cursor.has("with") {
        cursor.expect("reconfigure")?;
    }
    Ok(Statement::Truncate(index))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str, expected: &str) {
        let error = read(text).expect_err(text).to_string();
        assert_eq!(error, format!("sphinxql: {expected}"), "{text}");
    }

    /// What searchd 2.2.11 says of the same.
    #[test]
    fn errors_are_in_searchds_words() {
        refused("FOO BAR", "syntax error, unexpected IDENT near 'FOO BAR'");
        refused("SELECT FROM posts", "syntax error, unexpected FROM near 'FROM posts'");
        refused("INSERT INTO posts (id,title) VALUES (9)", "wrong number of values here near ')'");
        refused(
            "SELECT * FROM posts WHERE forum_id=1 OR forum_id=2",
            "syntax error, unexpected OR, expecting $end near 'OR forum_id=2'",
        );
        refused(
            "SELECT * FROM posts WHERE MATCH('a') AND MATCH('b')",
            "too many MATCH() clauses near ')'",
        );
        refused(
            "SELECT id FROM posts LIMIT 1 OFFSET",
            "syntax error, unexpected $end, expecting CONST_INT near ''",
        );
        refused("", "syntax error, unexpected $end near ''");
    }

    #[test]
    fn rows_are_read_with_quoted_numbers_and_lists() {
        let read =
            read("REPLACE INTO `t` (id, tags, x) VALUES ('1', (3,2), -5), (2, (), 'it\\'s')");
        let text = |text: &str| Literal::Text(text.to_owned());
        let expected = Statement::Insert {
            index: "t".to_owned(),
            columns: ["id", "tags", "x"].map(str::to_owned).to_vec(),
            rows: vec![
                vec![
                    text("1"),
                    Literal::List(vec![Literal::Int(3), Literal::Int(2)]),
                    Literal::Int(-5),
                ],
                vec![Literal::Int(2), Literal::List(vec![]), text("it's")],
            ],
            replaces: true,
        };
        assert_eq!(read, Ok(vec![expected]));
    }

    #[test]
    fn several_statements_are_read_as_several() {
        let count = |text: &str| read(text).map(|statements| statements.len());
        assert_eq!(count("SELECT id FROM a; SHOW META;"), Ok(2));
        for text in [
            "SET NAMES utf8",
            "SET autocommit=0",
            "SET GLOBAL x = 'y'",
            "BEGIN",
            "START TRANSACTION",
            "COMMIT",
            "ROLLBACK",
            "USE site",
            "FLUSH RTINDEX a",
            "OPTIMIZE INDEX a",
            "TRUNCATE RTINDEX a",
            "TRUNCATE TABLE a",
            "DELETE FROM a WHERE id IN (1, 2)",
            "UPDATE a SET b = 1, c = (1,2) WHERE id = '7'",
        ] {
            assert_eq!(count(text), Ok(1), "{text}");
        }
    }
}
