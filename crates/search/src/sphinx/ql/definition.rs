//! `CREATE TABLE` and `DROP TABLE`, as Manticore has them.

use super::Unreadable;
use super::cursor::Cursor;
use super::statement::{CreateTable, Statement};
use super::token::Token;

const COLUMNS_MAX: usize = 256;

pub(super) fn read_create(cursor: &mut Cursor<'_>) -> Result<Statement, Unreadable> {
    cursor.next();
    cursor.expect("table")?;
    let mut table = CreateTable { is_optional: has_if(cursor, true)?, ..CreateTable::default() };
    table.name = cursor.name()?;
    if cursor.sign("(") && !cursor.sign(")") {
        table.columns = cursor.list(column)?;
        cursor.expect_sign(")")?;
    }
    if table.columns.len() > COLUMNS_MAX {
        return Err(cursor.wrong(&format!("more than {COLUMNS_MAX} columns")));
    }
    while let Token::Word(_) = cursor.peek() {
        let name = cursor.name()?.to_ascii_lowercase();
        cursor.expect_sign("=")?;
        table.options.push((name, cursor.literal()?));
    }
    Ok(Statement::CreateTable(table))
}

pub(super) fn read_drop(cursor: &mut Cursor<'_>) -> Result<Statement, Unreadable> {
    cursor.next();
    cursor.expect("table")?;
    let is_optional = has_if(cursor, false)?;
    Ok(Statement::DropTable { name: cursor.name()?, is_optional })
}

fn has_if(cursor: &mut Cursor<'_>, is_not: bool) -> Result<bool, Unreadable> {
    if !cursor.has("if") {
        return Ok(false);
    }
    if is_not {
        cursor.expect("not")?;
    }
    cursor.expect("exists").map(|()| true)
}

/// A name, a type, and words such as `stored` and `indexed`, also with values.
fn column(cursor: &mut Cursor<'_>) -> Result<(String, String, Vec<String>), Unreadable> {
    let name = cursor.name()?;
    let kind = cursor.name()?.to_ascii_lowercase();
    let mut words = Vec::new();
    while let Token::Word(word) = cursor.peek().clone() {
        cursor.next();
        words.push(word.to_ascii_lowercase());
        if cursor.sign("=") {
            cursor.literal()?;
        }
    }
    Ok((name, kind, words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sphinx::ql::Literal;

    #[test]
    fn a_table_is_read_with_its_options() {
        let text = "CREATE TABLE IF NOT EXISTS `posts_rt` (title text, body text stored indexed, \
                    forum_id int, tags multi) morphology='stem_enru' min_prefix_len = '2'";
        let Ok(Statement::CreateTable(table)) = read_create(&mut Cursor::new(text)) else {
            panic!("not read");
        };
        assert_eq!((table.name.as_str(), table.is_optional), ("posts_rt", true));
        let kinds: Vec<_> = table.columns.iter().map(|(_, kind, _)| kind.as_str()).collect();
        assert_eq!(kinds, ["text", "text", "int", "multi"]);
        assert_eq!(table.columns[1].2, ["stored", "indexed"]);
        let text = |text: &str| Literal::Text(text.to_owned());
        let named = [
            ("morphology".to_owned(), text("stem_enru")),
            ("min_prefix_len".to_owned(), text("2")),
        ];
        assert_eq!(table.options, named);
        assert_eq!(
            read_drop(&mut Cursor::new("DROP TABLE IF EXISTS a")),
            Ok(Statement::DropTable { name: "a".to_owned(), is_optional: true })
        );
    }
}
