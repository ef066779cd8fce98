//! A small reader of statements: which table, what was done, which columns, which rows.
//!
//! In: a statement from a log that is not written row by row. Out: [`Statement`].
//! Invariant: it reads only what it is certain of. Several tables, a form that it
//! doesn't know or a word that it didn't expect are [`Statement::Unread`], and then
//! everything may have changed.

mod condition;
mod rows;
mod tokens;

pub(crate) use rows::{Name, RowsStatement};

use tokens::{Token, tokens};

/// What a statement does to what others can read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Statement {
    /// Nothing.
    Nothing,
    /// It ends a transaction.
    Commit,
    /// It changes rows of one table.
    Rows(RowsStatement),
    /// It empties a table.
    Truncate(Name),
    /// It changes a definition.
    Schema,
    /// It may do anything.
    Unread,
}

/// Temporary tables are seen by one connection; this is how the log drops them.
const DROPS_TEMPORARY: &str = "DROP /*!40005 TEMPORARY */ TABLE";

/// Reads a statement.
pub(crate) fn read(text: &str) -> Statement {
    if text.starts_with(DROPS_TEMPORARY) {
        return Statement::Nothing;
    }
    let Some(tokens) = tokens(text) else { return Statement::Unread };
    let mut tokens = tokens.as_slice();
    while let [rest @ .., Token::Sign(';')] = tokens {
        tokens = rest;
    }
    let Some((verb, rest)) = tokens.split_first() else { return Statement::Nothing };
    // Two statements in one; what the first says would not be all.
    if rest.contains(&Token::Sign(';')) {
        return Statement::Unread;
    }
    let Token::Word(verb) = verb else { return Statement::Unread };
    let next = |words: &[&str]| rest.first().is_some_and(|token| token.is_any(words));
    let when = |is_so, so, otherwise| if is_so { so } else { otherwise };
    match verb.to_ascii_uppercase().as_str() {
        "BEGIN" | "START" | "SAVEPOINT" | "RELEASE" | "GRANT" | "REVOKE" | "FLUSH" | "OPTIMIZE" => {
            Statement::Nothing
        }
        "COMMIT" => Statement::Commit,
        "ROLLBACK" => when(rest.is_empty(), Statement::Commit, Statement::Nothing),
        "XA" => when(next(&["COMMIT"]), Statement::Unread, Statement::Nothing),
        "SET" => {
            when(next(&["PASSWORD", "DEFAULT", "ROLE"]), Statement::Nothing, Statement::Unread)
        }
        // Followed by another verb it does what that says.
        "ANALYZE" => when(
            next(&["TABLE", "LOCAL", "NO_WRITE_TO_BINLOG"]),
            Statement::Nothing,
            Statement::Unread,
        ),
        "CREATE" | "DROP" | "ALTER" | "RENAME" => {
            when(next(&["TEMPORARY", "USER", "ROLE"]), Statement::Nothing, Statement::Schema)
        }
        "TRUNCATE" => rows::truncate(rest).map_or(Statement::Unread, Statement::Truncate),
        "INSERT" | "REPLACE" => rows::insert(rest).map_or(Statement::Unread, Statement::Rows),
        "UPDATE" => rows::update(rest).map_or(Statement::Unread, Statement::Rows),
        "DELETE" => rows::delete(rest).map_or(Statement::Unread, Statement::Rows),
        _ => Statement::Unread,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_change_no_row_are_known() {
        for text in [
            "BEGIN",
            "START TRANSACTION",
            "SAVEPOINT `a`",
            "ROLLBACK TO `a`",
            "CREATE TEMPORARY TABLE t (a int)",
            "DROP /*!40005 TEMPORARY */ TABLE IF EXISTS `t`",
            "GRANT ALL ON *.* TO a@b",
            "ANALYZE TABLE t",
            "",
        ] {
            assert_eq!(read(text), Statement::Nothing, "{text}");
        }
        for text in ["COMMIT", "commit;", "ROLLBACK"] {
            assert_eq!(read(text), Statement::Commit, "{text}");
        }
    }

    #[test]
    fn definitions_are_told() {
        for text in ["CREATE TABLE t (a int)", "alter table t add b int", "DROP TABLE `t`"] {
            assert_eq!(read(text), Statement::Schema, "{text}");
        }
        let name = |database: Option<&str>| {
            Statement::Truncate(Name { database: database.map(Into::into), table: "t".into() })
        };
        assert_eq!(read("TRUNCATE t"), name(None));
        assert_eq!(read("TRUNCATE TABLE `d`.`t`"), name(Some("d")));
    }

    #[test]
    fn what_is_not_certain_is_not_read() {
        for text in [
            "CALL p()",
            "LOAD DATA INFILE 'x' INTO TABLE t",
            "SELECT `d`.`f`()",
            "XA COMMIT 'a'",
            "SET STATEMENT max_statement_time=1 FOR UPDATE t SET a = 1",
            "ANALYZE UPDATE t SET a = 1",
            "UPDATE t SET a = 1; DELETE FROM u",
            "UPDATE t, u SET t.a = u.a",
            "UPDATE t JOIN u ON t.a = u.a SET t.b = 1",
            "UPDATE t SET 1 = 1",
            "DELETE t FROM t JOIN u",
            "DELETE FROM t USING t, u",
            "INSERT /*! IGNORE */ INTO t VALUES (1)",
            "INSERT INTO t PARTITION (p) VALUES (1)",
            "UPDATE t SET a = 'open",
            "(SELECT 1)",
        ] {
            assert_eq!(read(text), Statement::Unread, "{text}");
        }
    }

    #[test]
    fn no_text_makes_it_panic() {
        let whole = "INSERT INTO `a`.b (c, `d`) VALUES (1, _utf8'é\\'x'), (f(\"y\"), NULL) \
            ON DUPLICATE KEY UPDATE c = VALUES(c); UPDATE t AS u SET u.a = 1 WHERE (b = 'c' AND d IN (1, 2)) \
            LIMIT 1 -- e\n/* f */ # g";
        let cuts: Vec<usize> = whole.char_indices().map(|(at, _)| at).collect();
        for from in &cuts {
            for to in cuts.iter().filter(|to| *to >= from) {
                let _ = read(&whole[*from..*to]);
                let _ = read(&format!("DELETE FROM t WHERE {}", &whole[*from..*to]));
            }
        }
        let deep =
            format!("DELETE FROM t WHERE {}a = 'b'{}", "(".repeat(20_000), ")".repeat(20_000));
        assert!(matches!(read(&deep), Statement::Rows(_)));
    }
}
