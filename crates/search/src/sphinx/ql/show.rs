//! `SHOW` and `DESCRIBE`.

use super::Unreadable;
use super::cursor::Cursor;
use super::statement::Statement;
use super::token::Token;

pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Statement, Unreadable> {
    cursor.next();
    for scope in ["global", "session", "full"] {
        cursor.has(scope);
    }
    if cursor.has_both("character", "set") || cursor.has("charset") {
        return Ok(Statement::ShowCharacterSet);
    }
    let Token::Word(what) = cursor.peek().clone() else { return Err(cursor.unexpected(None)) };
    let statement: fn(Option<String>) -> Statement = match what.to_ascii_lowercase().as_str() {
        "meta" => |_| Statement::ShowMeta,
        "warnings" | "errors" => |_| Statement::ShowWarnings,
        "status" => Statement::ShowStatus,
        "tables" => Statement::ShowTables,
        "variables" => Statement::ShowVariables,
        "collation" => |_| Statement::ShowCollation,
        "databases" | "engines" | "plugins" => |_| Statement::Nothing,
        "agent" | "create" | "index" | "table" | "plan" | "profile" | "threads" => {
            return Err(cursor.refuse(&format!("SHOW {}", what.to_ascii_uppercase())));
        }
        _ => return Err(cursor.unexpected(None)),
    };
    cursor.next();
    if cursor.has("from") {
        cursor.name()?;
    }
    Ok(statement(if cursor.has("like") { Some(cursor.text()?) } else { None }))
}

pub(super) fn read_describe(cursor: &mut Cursor<'_>) -> Result<Statement, Unreadable> {
    cursor.next();
    cursor.name().map(Statement::Describe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_read() {
        for (text, expected) in [
            ("SHOW META", Statement::ShowMeta),
            ("SHOW WARNINGS", Statement::ShowWarnings),
            ("SHOW TABLES LIKE 'po%'", Statement::ShowTables(Some("po%".to_owned()))),
            ("SHOW GLOBAL STATUS", Statement::ShowStatus(None)),
            ("SHOW SESSION VARIABLES", Statement::ShowVariables(None)),
            ("SHOW CHARACTER SET", Statement::ShowCharacterSet),
            ("SHOW DATABASES", Statement::Nothing),
        ] {
            assert_eq!(read(&mut Cursor::new(text)), Ok(expected), "{text}");
        }
    }
}
