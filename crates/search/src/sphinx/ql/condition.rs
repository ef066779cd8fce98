//! `WHERE`: what must hold for a row.

use super::Unreadable;
use super::cursor::Cursor;
use super::statement::{Condition, Literal, Test, Where};
use super::token::Token;

/// Of one statement.
const CONDITIONS_MAX: usize = 256;
/// Parentheses within parentheses.
const DEPTH_MAX: u8 = 16;

/// Reads `WHERE …`, if it is there or must be.
pub(super) fn read_where(cursor: &mut Cursor<'_>, is_wanted: bool) -> Result<Where, Unreadable> {
    let mut found = Where::default();
    if !is_wanted && !cursor.peek().is("where") {
        return Ok(found);
    }
    cursor.expect("where")?;
    loop {
        read_one(cursor, &mut found, 0)?;
        if !cursor.has("and") {
            return Ok(found);
        }
    }
}

fn read_one(cursor: &mut Cursor<'_>, found: &mut Where, depth: u8) -> Result<(), Unreadable> {
    if found.conditions.len() >= CONDITIONS_MAX {
        return Err(cursor.wrong(&format!("more than {CONDITIONS_MAX} conditions")));
    }
    if cursor.peek().is("match") && *cursor.ahead(1) == Token::Sign("(") {
        cursor.next();
        cursor.next();
        let text = cursor.text()?;
        if found.matching.is_some() {
            return Err(cursor.wrong("too many MATCH() clauses"));
        }
        cursor.expect_sign(")")?;
        found.matching = Some(text);
        return Ok(());
    }
    // In parentheses there may be one condition, which changes nothing, or OR, which isn't ours.
    if depth < DEPTH_MAX && cursor.sign("(") {
        read_one(cursor, found, depth + 1)?;
        while cursor.has("and") {
            read_one(cursor, found, depth + 1)?;
        }
        return cursor.expect_sign(")");
    }
    found.conditions.push(read_condition(cursor)?);
    Ok(())
}

fn read_condition(cursor: &mut Cursor<'_>) -> Result<Condition, Unreadable> {
    let name = read_name(cursor)?;
    let sign = cursor.next();
    let is_excluded = match &sign {
        Token::Sign("<>" | "!=") => true,
        token if token.is("not") => {
            if !cursor.has("in") {
                return Err(cursor.unexpected(Some("IN")));
            }
            return Ok(Condition { name, test: read_list(cursor)?, is_excluded: true });
        }
        _ => false,
    };
    let test = match sign {
        Token::Sign("=" | "<>" | "!=") => Test::In(vec![cursor.literal()?]),
        Token::Sign(">") => Test::Range { least: Some((cursor.literal()?, false)), most: None },
        Token::Sign(">=") => Test::Range { least: Some((cursor.literal()?, true)), most: None },
        Token::Sign("<") => Test::Range { least: None, most: Some((cursor.literal()?, false)) },
        Token::Sign("<=") => Test::Range { least: None, most: Some((cursor.literal()?, true)) },
        token if token.is("in") => read_list(cursor)?,
        token if token.is("between") => {
            let least = Some((cursor.literal()?, true));
            cursor.expect("and")?;
            Test::Range { least, most: Some((cursor.literal()?, true)) }
        }
        _ => {
            cursor.back();
            return Err(cursor.unexpected(None));
        }
    };
    Ok(Condition { name, test, is_excluded })
}

/// `attribute`, `@id`, `ANY(attribute)`, `weight()`.
fn read_name(cursor: &mut Cursor<'_>) -> Result<String, Unreadable> {
    if let Token::At(name) = cursor.peek().clone() {
        cursor.next();
        return Ok(format!("@{name}"));
    }
    let name = cursor.name()?;
    if !cursor.sign("(") {
        return Ok(name);
    }
    if cursor.sign(")") {
        return Ok(format!("{}()", name.to_ascii_lowercase()));
    }
    if !name.eq_ignore_ascii_case("any") {
        return Err(cursor.refuse(&format!("{}() in a condition", name.to_ascii_uppercase())));
    }
    let name = cursor.name()?;
    cursor.expect_sign(")")?;
    Ok(name)
}

fn read_list(cursor: &mut Cursor<'_>) -> Result<Test, Unreadable> {
    cursor.expect_sign("(")?;
    let values: Vec<Literal> = cursor.list(Cursor::literal)?;
    cursor.expect_sign(")")?;
    Ok(Test::In(values))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, name: &str, test: Test, is_excluded: bool) {
        let text = format!("WHERE {text}");
        let read = read_where(&mut Cursor::new(&text), true).expect(&text);
        assert_eq!(read.conditions, [Condition { name: name.to_owned(), test, is_excluded }]);
    }

    #[test]
    fn each_comparison_is_read() {
        let one = || Literal::Int(1);
        let quoted = || Literal::Text("1".to_owned());
        check("a = 1", "a", Test::In(vec![one()]), false);
        check("a <> '1'", "a", Test::In(vec![quoted()]), true);
        check("a IN (1, '1')", "a", Test::In(vec![one(), quoted()]), false);
        check("a NOT IN (1)", "a", Test::In(vec![one()]), true);
        check("@id != 1", "@id", Test::In(vec![one()]), true);
        check("a > 1", "a", Test::Range { least: Some((one(), false)), most: None }, false);
        check("(a <= 1)", "a", Test::Range { least: None, most: Some((one(), true)) }, false);
        let between = Test::Range { least: Some((one(), true)), most: Some((one(), true)) };
        check("a BETWEEN 1 AND 1", "a", between, false);
        check("ANY(a) = 1", "a", Test::In(vec![one()]), false);
    }
}
