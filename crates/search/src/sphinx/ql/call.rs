//! `CALL`: snippets, keywords, suggestions.

use super::Unreadable;
use super::cursor::Cursor;
use super::statement::{Literal, Named, Statement};

/// Texts of one call.
const TEXTS_MAX: usize = 10_000;

pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Statement, Unreadable> {
    cursor.next();
    let name = cursor.name()?.to_ascii_uppercase();
    cursor.expect_sign("(")?;
    let (values, options) = arguments(cursor)?;
    cursor.expect_sign(")")?;
    match name.as_str() {
        "SNIPPETS" => snippets(values, options),
        "KEYWORDS" => keywords(values, &options),
        "SUGGEST" | "QSUGGEST" => match <[Literal; 2]>::try_from(values) {
            Ok([Literal::Text(text), Literal::Text(index)]) => {
                Ok(Statement::Suggest { text, index, options })
            }
            _ => Err(Unreadable("SUGGEST() expects 2 arguments (word, index)".to_owned())),
        },
        _ => Err(Unreadable(format!("no such builtin procedure {name}"))),
    }
}

/// Values, then values with names.
fn arguments(cursor: &mut Cursor<'_>) -> Result<(Vec<Literal>, Vec<Named>), Unreadable> {
    let mut values = Vec::new();
    let mut options = Vec::new();
    cursor.list(|cursor| {
        let value = if cursor.sign("(") {
            let texts = cursor.list(Cursor::literal)?;
            cursor.expect_sign(")")?;
            if texts.len() > TEXTS_MAX {
                return Err(cursor.wrong(&format!("more than {TEXTS_MAX} texts")));
            }
            Literal::List(texts)
        } else {
            cursor.literal()?
        };
        if cursor.has("as") {
            options.push((cursor.name()?.to_ascii_lowercase(), value));
        } else if options.is_empty() {
            values.push(value);
        } else {
            return Err(cursor.unexpected(Some("AS")));
        }
        Ok(())
    })?;
    Ok((values, options))
}

fn snippets(values: Vec<Literal>, options: Vec<Named>) -> Result<Statement, Unreadable> {
    let text = |literal| match literal {
        Literal::Text(text) => Some(text),
        _ => None,
    };
    let read = || -> Option<Statement> {
        let [data, index, query] = <[Literal; 3]>::try_from(values).ok()?;
        let texts = match data {
            Literal::List(texts) => texts.into_iter().map(text).collect::<Option<_>>()?,
            other => vec![text(other)?],
        };
        Some(Statement::Snippets { texts, index: text(index)?, query: text(query)?, options })
    };
    // Its own spelling, which clients may look for.
    read().ok_or_else(|| {
        Unreadable("SNIPPETS() expectes exactly 3 arguments (data, index, query)".to_owned())
    })
}

fn keywords(values: Vec<Literal>, options: &[Named]) -> Result<Statement, Unreadable> {
    let asked =
        |name: &str| options.iter().any(|(own, value)| own == name && *value == Literal::Int(1));
    let has_hits = asked("stats") || matches!(values.get(2), Some(Literal::Int(1)));
    let mut values = values.into_iter();
    match (values.next(), values.next()) {
        (Some(Literal::Text(text)), Some(Literal::Text(index))) => {
            Ok(Statement::Keywords { text, index, has_hits })
        }
        _ => Err(Unreadable("bad argument count or types in KEYWORDS() call".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_read() {
        let read = |text: &str| read(&mut Cursor::new(text));
        let one = |text: &str| text.to_owned();
        assert_eq!(
            read("CALL SNIPPETS(('a', 'b'), 'posts', 'fox', '<i>' AS before_match, 5 AS around)"),
            Ok(Statement::Snippets {
                texts: vec![one("a"), one("b")],
                index: one("posts"),
                query: one("fox"),
                options: vec![
                    (one("before_match"), Literal::Text(one("<i>"))),
                    (one("around"), Literal::Int(5))
                ],
            })
        );
        assert_eq!(
            read("CALL KEYWORDS('Hello', 'posts', 1)"),
            Ok(Statement::Keywords { text: one("Hello"), index: one("posts"), has_hits: true })
        );
        let error = |text: &str| read(text).unwrap_err().to_string();
        assert_eq!(error("CALL FOO('a')"), "no such builtin procedure FOO");
        assert_eq!(
            error("CALL SNIPPETS('x')"),
            "SNIPPETS() expectes exactly 3 arguments (data, index, query)"
        );
    }
}
