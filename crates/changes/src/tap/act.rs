//! Acts: what a statement that an app sends does to what others can read.
//!
//! In: the text of one command, which may hold several statements. Out: an [`Act`] for each.
//! Invariants: 1. [`Act::Read`] and [`Act::Other`] are given only to verbs that are known to
//! change no row themselves; what isn't known is [`Act::Unread`]. 2. What functions and
//! triggers do behind a statement doesn't show in its text.

use crate::statement::{self, Name, RowsStatement, Statement};

/// Texts of more statements are not read.
const STATEMENTS_MAX: usize = 64;

/// What a statement does.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Nothing but read.
    Read,
    /// It changes no row, and may end a transaction.
    Other,
    /// It begins a transaction, which ends the one before.
    Begin,
    /// It ends a transaction.
    Commit,
    /// It takes a transaction back.
    Rollback,
    /// Another database is in use from now on.
    Use(Box<str>),
    /// It changes how the statements after it are to be read.
    Reading(Doubt),
    /// It changes rows of one table.
    Rows(RowsStatement),
    /// It empties a table.
    Truncate(Name),
    /// It changes a definition.
    Schema,
    /// It may do anything.
    Unread,
}

impl Act {
    /// Whether the server counts it among those of [`super::together`].
    pub(super) fn is_counted(&self) -> bool {
        matches!(self, Self::Rows(_) | Self::Truncate(_) | Self::Begin | Self::Commit)
    }
}

/// What makes the texts of a connection uncertain, until it ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Doubt {
    /// A backslash or a quote may be the second byte of a letter.
    pub(super) of_letters: bool,
    /// Text in double quotes may be a name.
    pub(super) of_quotes: bool,
    /// A backslash may be a letter like any other.
    pub(super) of_backslashes: bool,
}

impl Doubt {
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            of_letters: self.of_letters || other.of_letters,
            of_quotes: self.of_quotes || other.of_quotes,
            of_backslashes: self.of_backslashes || other.of_backslashes,
        }
    }

    fn forbids(self, text: &str) -> bool {
        self.of_letters && !text.is_ascii()
            || self.of_quotes && text.contains('"')
            || self.of_backslashes && text.contains('\\')
    }
}

/// Reads the text of a command, which may be several statements if `may_be_several`.
///
/// If one of several can't be read, none is: nobody knows how many answers it has.
pub(super) fn read(text: &str, may_be_several: bool, doubt: Doubt) -> Vec<Act> {
    let text = text.trim_end_matches(|letter: char| letter == ';' || letter.is_whitespace());
    if !text.contains(';') {
        return vec![one(text, doubt)];
    }
    if doubt.forbids(text) {
        return vec![Act::Unread];
    }
    let Some(parts) = split(text) else { return vec![Act::Unread] };
    if let [only] = parts[..] {
        return vec![one(only, doubt)];
    }
    let acts: Vec<Act> = parts.into_iter().map(|part| one(part, doubt)).collect();
    let is_unsure = |act: &Act| matches!(act, Act::Unread | Act::Use(_) | Act::Reading(_));
    if !may_be_several || acts.iter().any(is_unsure) { vec![Act::Unread] } else { acts }
}

/// Where comments that nobody executes and blanks before a statement end.
fn begin(mut text: &str) -> &str {
    loop {
        text = text.trim_start();
        let line = text.starts_with('#') || text.starts_with("-- ") || text.starts_with("--\n");
        if line {
            text = text.find('\n').map_or("", |end| &text[end..]);
        } else if text.starts_with("/*") && !is_executed(text) {
            text = text.find("*/").map_or("", |end| &text[end + 2..]);
        } else {
            return text;
        }
    }
}

/// Whether the comment that `text` begins with is executed.
fn is_executed(text: &str) -> bool {
    text.starts_with("/*!") || text.starts_with("/*M!")
}

fn first_word(text: &str) -> (&str, &str) {
    let end = text.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    text.split_at(end.unwrap_or(text.len()))
}

fn one(text: &str, doubt: Doubt) -> Act {
    let text = begin(text);
    if text.starts_with('(') {
        // Nothing but a query begins with a bracket.
        return Act::Read;
    }
    let (verb, rest) = first_word(text);
    let rest = begin(rest);
    let next = first_word(rest).0;
    let is_next = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(next));
    match verb.to_ascii_uppercase().as_str() {
        "SELECT" | "SHOW" | "DESCRIBE" | "DESC" | "EXPLAIN" | "HELP" | "VALUES" | "TABLE"
        | "HANDLER" | "DO" => Act::Read,
        "WITH" if !mentions(text, &["INSERT", "UPDATE", "DELETE", "REPLACE"]) => Act::Read,
        "LOCK" | "UNLOCK" | "CHECK" | "CHECKSUM" | "CACHE" | "KILL" | "PREPARE" | "DEALLOCATE" => {
            Act::Other
        }
        "USE" => match rest.trim().trim_matches('`') {
            "" => Act::Unread,
            name => Act::Use(name.into()),
        },
        "SET" if is_next(&["STATEMENT"]) => Act::Unread,
        "SET" => setting(rest),
        "BEGIN" if rest.is_empty() || is_next(&["WORK"]) => Act::Begin,
        "START" if is_next(&["TRANSACTION"]) => Act::Begin,
        "COMMIT" => Act::Commit,
        "ROLLBACK" if mentions(rest, &["TO"]) => Act::Other,
        "ROLLBACK" => Act::Rollback,
        "SAVEPOINT" | "RELEASE" | "XA" | "GRANT" | "REVOKE" | "FLUSH" | "OPTIMIZE" | "ANALYZE"
        | "CREATE" | "DROP" | "ALTER" | "RENAME" | "TRUNCATE" | "INSERT" | "REPLACE" | "UPDATE"
        | "DELETE"
            if !doubt.forbids(text) =>
        {
            of(statement::read(text))
        }
        _ => Act::Unread,
    }
}

fn of(statement: Statement) -> Act {
    match statement {
        Statement::Nothing => Act::Other,
        Statement::Commit => Act::Commit,
        Statement::Rows(rows) => Act::Rows(rows),
        Statement::Truncate(name) => Act::Truncate(name),
        Statement::Schema => Act::Schema,
        Statement::Unread => Act::Unread,
    }
}

/// Whether one of `words` stands in `text`, be it within quotes.
fn mentions(text: &str, words: &[&str]) -> bool {
    let mut own = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    own.any(|own| words.iter().any(|word| word.eq_ignore_ascii_case(own)))
}

/// What is set; the words that matter may stand anywhere in it.
fn setting(rest: &str) -> Act {
    const LETTERS: &[&str] =
        &["gbk", "gb2312", "gb18030", "big5", "sjis", "cp932", "ujis", "eucjpms", "euckr"];
    // Modes of other databases have these in them.
    const QUOTES: &[&str] =
        &["ansi", "ansi_quotes", "oracle", "mssql", "db2", "postgresql", "maxdb"];
    let is_names = mentions(rest, &["names", "character_set_client", "charset", "character"]);
    let is_mode = mentions(rest, &["sql_mode"]);
    let doubt = Doubt {
        of_letters: is_names && mentions(rest, LETTERS),
        of_quotes: is_mode && mentions(rest, QUOTES),
        of_backslashes: is_mode && mentions(rest, &["no_backslash_escapes"]),
    };
    if doubt == Doubt::default() { Act::Other } else { Act::Reading(doubt) }
}

/// The statements between the semicolons outside of quotes and comments; empty ones are none.
fn split(text: &str) -> Option<Vec<&str>> {
    let bytes = text.as_bytes();
    let mut parts = Vec::new();
    let (mut from, mut at) = (0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b';' => {
                parts.push(&text[from..at]);
                from = at + 1;
                at += 1;
            }
            quote @ (b'\'' | b'"' | b'`') => at = quote_end(bytes, at + 1, quote)?,
            b'#' => at = line_end(bytes, at),
            b'-' if is_line_comment(&bytes[at..]) => at = line_end(bytes, at),
            b'/' if bytes[at..].starts_with(b"/*") => {
                if is_executed(&text[at..]) {
                    return None;
                }
                at += 2 + text[at + 2..].find("*/")? + 2;
            }
            _ => at += 1,
        }
        if parts.len() > STATEMENTS_MAX {
            return None;
        }
    }
    parts.push(&text[from..]);
    parts.retain(|part| !begin(part).is_empty());
    Some(parts)
}

fn is_line_comment(bytes: &[u8]) -> bool {
    bytes.starts_with(b"--") && bytes.get(2).is_none_or(|next| *next <= b' ')
}

fn line_end(bytes: &[u8], from: usize) -> usize {
    bytes[from..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| from + end)
}

/// Where what follows a quoted text begins. Two quotes within are two texts side by side.
fn quote_end(bytes: &[u8], mut at: usize, quote: u8) -> Option<usize> {
    loop {
        match *bytes.get(at)? {
            byte if byte == quote => return Some(at + 1),
            b'\\' if quote != b'`' => at += 2,
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        check_in(Doubt::default(), text, expected);
    }

    fn check_in(doubt: Doubt, text: &str, expected: &[&str]) {
        let acts = read(text, true, doubt);
        let shown: Vec<String> = acts
            .iter()
            .map(|act| match act {
                Act::Rows(rows) => format!("Rows {}", rows.name.table),
                Act::Truncate(name) => format!("Truncate {}", name.table),
                Act::Use(name) => format!("Use {name}"),
                Act::Reading(_) => "Reading".to_owned(),
                other => format!("{other:?}"),
            })
            .collect();
        assert_eq!(shown, expected, "{text}");
    }

    #[test]
    fn verbs_that_change_nothing_are_known() {
        for text in [
            "SELECT 1",
            "  /* hint */ select * from t for update",
            "-- note\nSELECT 1",
            "(SELECT 1) UNION (SELECT 2)",
            "SELECT /*!40001 SQL_NO_CACHE */ * FROM t",
            "SHOW TABLES",
            "WITH a AS (SELECT 1) SELECT * FROM a",
            "DO RELEASE_LOCK('x')",
            "SELECT 'a;b';",
        ] {
            check(text, &["Read"]);
        }
        for text in ["SET NAMES utf8mb4", "SET autocommit=0", "LOCK TABLES t WRITE", "SAVEPOINT a"]
        {
            check(text, &["Other"]);
        }
        check("ROLLBACK TO SAVEPOINT a", &["Other"]);
        check("ROLLBACK AND CHAIN", &["Rollback"]);
        check("START TRANSACTION READ WRITE", &["Begin"]);
        check("commit;", &["Commit"]);
        check("USE `site`", &["Use site"]);
    }

    #[test]
    fn what_may_write_unseen_is_not_read() {
        for text in [
            "CALL p()",
            "BEGIN NOT ATOMIC UPDATE t SET a = 1; END",
            "SET STATEMENT max_statement_time=1 FOR UPDATE t SET a = 1",
            "WITH a AS (SELECT 1) DELETE FROM t",
            "EXECUTE s",
            "LOAD DATA LOCAL INFILE 'x' INTO TABLE t",
            "/*!40101 UPDATE t SET a = 1 */",
            "ANALYZE UPDATE t SET a = 1",
            "INSERT INTO t VALUES (1); CALL p()",
            "SELECT 1; USE other; UPDATE t SET a = 1",
            "SELECT 1 /*! ; DELETE FROM t */; SELECT 2",
            "REPAIR TABLE t",
            "BEGIN; /* open",
        ] {
            check(text, &["Unread"]);
        }
        assert_eq!(read("SELECT 1; SELECT 2", false, Doubt::default()), [Act::Unread]);
    }

    #[test]
    fn several_statements_are_read_one_by_one() {
        check(
            "UPDATE t SET a = ';'; DELETE FROM u WHERE b = 'it''s;' ; -- c\n; TRUNCATE v;",
            &["Rows t", "Rows u", "Truncate v"],
        );
        check("SELECT 'a\\';b'; INSERT INTO `a;b` VALUES (1)", &["Read", "Rows a;b"]);
        check("BEGIN; UPDATE t SET a = 1; COMMIT", &["Begin", "Rows t", "Commit"]);
    }

    #[test]
    fn texts_that_may_mean_something_else_are_not_read() {
        let letters = Doubt { of_letters: true, ..Doubt::default() };
        check_in(letters, "UPDATE t SET a = 'ä'", &["Unread"]);
        check_in(letters, "UPDATE t SET a = 'a'", &["Rows t"]);
        let quotes = Doubt { of_quotes: true, ..Doubt::default() };
        check_in(quotes, "UPDATE t SET a = 1 WHERE b = \"c\"", &["Unread"]);
        let backslashes = Doubt { of_backslashes: true, ..Doubt::default() };
        check_in(backslashes, "UPDATE t SET a = '\\'", &["Unread"]);
        check("SET NAMES gbk", &["Reading"]);
        check("SET SESSION sql_mode='ANSI,STRICT_ALL_TABLES'", &["Reading"]);
        check("SET sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION'", &["Other"]);
    }

    #[test]
    fn no_text_makes_it_panic() {
        let whole = "SELECT 'é\\'; /* x */ UPDATE `t` SET a = \"ö\" # b\n; -- c\n/*! d */; (e)";
        let cuts: Vec<usize> = whole.char_indices().map(|(at, _)| at).collect();
        for from in &cuts {
            for to in cuts.iter().filter(|to| *to >= from) {
                let _ = read(&whole[*from..*to], true, Doubt::default());
            }
        }
    }
}
