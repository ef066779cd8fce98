//! `SELECT`, and the parts of it that the binary API sends alone.

use super::Unreadable;
use super::condition::read_where;
use super::cursor::Cursor;
use super::statement::{Column, Expression, Operator, Options, Order, Select};
use super::token::Token;

/// As many rows as come where nobody says how many.
const LIMIT: usize = 20;
const COLUMNS_MAX: usize = 256;
const DEPTH_MAX: u8 = 32;

pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Select, Unreadable> {
    cursor.next();
    let mut select = Select { columns: columns(cursor)?, limit: LIMIT, ..Select::default() };
    if !cursor.has("from") {
        // `SELECT @@version_comment LIMIT 1`
        if cursor.has("limit") {
            read_limit(cursor, &mut select)?;
        }
        return Ok(select);
    }
    if cursor.sign("(") {
        return Err(cursor.refuse("a select from a select"));
    }
    select.indexes = cursor.list(Cursor::name)?;
    select.filter = read_where(cursor, false)?;
    if cursor.has_both("group", "by") {
        select.group_by = Some(key(cursor)?);
        if *cursor.peek() == Token::Sign(",") {
            return Err(cursor.refuse("GROUP BY of several attributes"));
        }
    }
    if cursor.has("within") {
        cursor.expect("group")?;
        cursor.expect("order")?;
        cursor.expect("by")?;
        select.within = orders(cursor)?;
    }
    if cursor.peek().is("having") {
        return Err(cursor.refuse("HAVING"));
    }
    if cursor.has_both("order", "by") {
        select.order = orders(cursor)?;
    }
    if cursor.has("limit") {
        read_limit(cursor, &mut select)?;
    }
    if cursor.has("option") {
        select.options = read_options(cursor)?;
    }
    if cursor.peek().is("facet") {
        return Err(cursor.refuse("FACET"));
    }
    Ok(select)
}

/// Reads a select list alone.
///
/// # Errors
/// It isn't one.
pub fn read_columns(text: &str) -> Result<Vec<Column>, Unreadable> {
    let mut cursor = Cursor::new(text);
    let columns = columns(&mut cursor)?;
    cursor.end().map(|()| columns)
}

/// Reads an order alone.
///
/// # Errors
/// It isn't one.
pub fn read_order(text: &str) -> Result<Vec<Order>, Unreadable> {
    let mut cursor = Cursor::new(text);
    let orders = orders(&mut cursor)?;
    cursor.end().map(|()| orders)
}

fn columns(cursor: &mut Cursor<'_>) -> Result<Vec<Column>, Unreadable> {
    let columns = cursor.list(column)?;
    if columns.len() > COLUMNS_MAX {
        return Err(cursor.wrong(&format!("more than {COLUMNS_MAX} columns")));
    }
    Ok(columns)
}

fn column(cursor: &mut Cursor<'_>) -> Result<Column, Unreadable> {
    const CLAUSES: [&str; 10] =
        ["from", "where", "group", "within", "having", "order", "limit", "option", "facet", "and"];
    if CLAUSES.iter().any(|clause| cursor.peek().is(clause)) {
        return Err(cursor.unexpected(None));
    }
    let mark = cursor.mark();
    if cursor.sign("*") {
        return Ok(Column { value: Expression::Star, name: "*".to_owned() });
    }
    let value = sum(cursor, 0)?;
    let written = cursor.since(mark);
    let name = if cursor.has("as") {
        cursor.name()?
    } else {
        match cursor.peek().clone() {
            Token::Name(name) => {
                cursor.next();
                name
            }
            Token::Word(name) if CLAUSES.iter().all(|clause| !cursor.peek().is(clause)) => {
                cursor.next();
                name
            }
            _ => match &value {
                // Without the quotes that it was written in.
                Expression::Attribute(name) => name.clone(),
                _ => written,
            },
        }
    };
    Ok(Column { value, name })
}

fn sum(cursor: &mut Cursor<'_>, depth: u8) -> Result<Expression, Unreadable> {
    let mut left = product(cursor, depth)?;
    loop {
        let operator = match cursor.peek() {
            Token::Sign("+") => Operator::Add,
            Token::Sign("-") => Operator::Subtract,
            _ => return Ok(left),
        };
        cursor.next();
        let right = product(cursor, depth)?;
        left = binary(cursor, left, operator, right)?;
    }
}

fn product(cursor: &mut Cursor<'_>, depth: u8) -> Result<Expression, Unreadable> {
    let mut left = factor(cursor, depth)?;
    loop {
        let operator = match cursor.peek() {
            Token::Sign("*") => Operator::Multiply,
            Token::Sign("/") => Operator::Divide,
            Token::Sign("%") => Operator::Remainder,
            _ => return Ok(left),
        };
        cursor.next();
        let right = factor(cursor, depth)?;
        left = binary(cursor, left, operator, right)?;
    }
}

fn factor(cursor: &mut Cursor<'_>, depth: u8) -> Result<Expression, Unreadable> {
    if depth >= DEPTH_MAX {
        return Err(cursor.wrong(&format!("more than {DEPTH_MAX} parentheses within each other")));
    }
    match cursor.peek().clone() {
        Token::Sign("(") => {
            cursor.next();
            let inner = sum(cursor, depth + 1)?;
            cursor.expect_sign(")")?;
            Ok(inner)
        }
        Token::Sign("-") | Token::Int(_) | Token::Float(_) | Token::Text(_) => {
            cursor.literal().map(Expression::Literal)
        }
        Token::System(name) => {
            cursor.next();
            Ok(Expression::System(name))
        }
        Token::At(name) => {
            cursor.next();
            named(cursor, &name)
        }
        Token::Word(name) if *cursor.ahead(1) == Token::Sign("(") => {
            let function = call(cursor, &name.to_ascii_lowercase())?;
            Ok(function)
        }
        Token::Word(_) | Token::Name(_) => {
            let name = cursor.name()?;
            Ok(if name.eq_ignore_ascii_case("id") {
                Expression::Id
            } else {
                Expression::Attribute(name)
            })
        }
        _ => Err(cursor.unexpected(None)),
    }
}

/// `@id` and its like, which older clients write.
fn named(cursor: &Cursor<'_>, name: &str) -> Result<Expression, Unreadable> {
    Ok(match name.to_ascii_lowercase().as_str() {
        "id" => Expression::Id,
        "weight" | "relevance" | "rank" => Expression::Weight,
        "count" => Expression::Count,
        "group" | "groupby" => Expression::GroupBy,
        other => return Err(cursor.refuse(&format!("@{other}"))),
    })
}

fn call(cursor: &mut Cursor<'_>, name: &str) -> Result<Expression, Unreadable> {
    let mark = cursor.mark();
    cursor.next();
    cursor.next();
    let value = match name {
        "weight" => Expression::Weight,
        "groupby" => Expression::GroupBy,
        "id" => Expression::Id,
        "database" | "version" | "user" | "schema" | "connection_id" => {
            Expression::System(format!("{name}()"))
        }
        "count" if cursor.sign("*") => Expression::Count,
        "count" => {
            cursor.expect("distinct")?;
            Expression::Distinct(cursor.name()?)
        }
        _ => {
            let written = cursor.since(mark);
            return Err(cursor.refuse(&format!("{written}…)")));
        }
    };
    cursor.expect_sign(")")?;
    Ok(value)
}

fn binary(
    cursor: &Cursor<'_>,
    left: Expression,
    operator: Operator,
    right: Expression,
) -> Result<Expression, Unreadable> {
    // What is nested deeper than this is nested to the left, by many operators in a row.
    if height(&left) >= u16::from(DEPTH_MAX) {
        return Err(cursor.wrong("an expression of too many parts"));
    }
    Ok(Expression::Binary(Box::new(left), operator, Box::new(right)))
}

fn height(expression: &Expression) -> u16 {
    match expression {
        Expression::Binary(left, _, right) => 1 + height(left).max(height(right)),
        _ => 0,
    }
}

fn orders(cursor: &mut Cursor<'_>) -> Result<Vec<Order>, Unreadable> {
    let orders = cursor.list(|cursor| {
        let key = key(cursor)?;
        let is_descending = !cursor.has("asc") && cursor.has("desc");
        Ok(Order { key, is_descending })
    })?;
    // As many as searchd sorts by.
    if orders.len() > 5 {
        return Err(cursor.wrong("too many sort-by attributes; maximum count is 5"));
    }
    Ok(orders)
}

/// An attribute's name, `@id` or a function without arguments.
fn key(cursor: &mut Cursor<'_>) -> Result<String, Unreadable> {
    if let Token::At(name) = cursor.peek().clone() {
        cursor.next();
        return Ok(format!("@{}", name.to_ascii_lowercase()));
    }
    let name = cursor.name()?;
    if !cursor.sign("(") {
        return Ok(name);
    }
    cursor.sign("*");
    cursor.expect_sign(")")?;
    match name.to_ascii_lowercase().as_str() {
        "weight" => Ok("@weight".to_owned()),
        "count" => Ok("@count".to_owned()),
        "groupby" => Ok("@groupby".to_owned()),
        "rand" => Ok("@random".to_owned()),
        other => Err(cursor.refuse(&format!("{other}() in an order"))),
    }
}

fn read_limit(cursor: &mut Cursor<'_>, select: &mut Select) -> Result<(), Unreadable> {
    select.limit = cursor.count()?;
    if cursor.sign(",") {
        select.offset = select.limit;
        select.limit = cursor.count()?;
    } else if cursor.has("offset") {
        select.offset = cursor.count()?;
    }
    Ok(())
}

pub(super) fn read_options(cursor: &mut Cursor<'_>) -> Result<Options, Unreadable> {
    let mut options = Options::default();
    cursor.list(|cursor| read_option(cursor, &mut options))?;
    Ok(options)
}

fn read_option(cursor: &mut Cursor<'_>, options: &mut Options) -> Result<(), Unreadable> {
    let name = cursor.name()?.to_ascii_lowercase();
    cursor.expect_sign("=")?;
    match name.as_str() {
        "ranker" => {
            let ranker = cursor.name()?.to_ascii_lowercase();
            if cursor.sign("(") {
                cursor.text()?;
                cursor.expect_sign(")")?;
            }
            options.ranker = Some(ranker);
        }
        "max_matches" => options.max_matches = Some(cursor.count()?),
        "cutoff" => options.cutoff = Some(cursor.count()?),
        "max_query_time" => {
            options.max_query_milliseconds = Some(u32::try_from(cursor.count()?).unwrap_or(0));
        }
        "field_weights" => options.field_weights = weights(cursor)?,
        "index_weights" => options.index_weights = weights(cursor)?,
        "agent_query_timeout"
        | "boolean_simplify"
        | "comment"
        | "global_idf"
        | "idf"
        | "ignore_nonexistent_columns"
        | "ignore_nonexistent_indexes"
        | "local_df"
        | "low_priority"
        | "max_predicted_time"
        | "not_terms_only_allowed"
        | "retry_count"
        | "retry_delay"
        | "reverse_scan"
        | "sort_method"
        | "strict"
        | "rand_seed"
        | "threads" => {
            if cursor.literal().is_err() {
                cursor.name()?;
            }
            options.not_obeyed.push(name);
        }
        _ => {
            return Err(Unreadable(format!("unknown option '{name}' (or bad argument type)")));
        }
    }
    Ok(())
}

fn weights(cursor: &mut Cursor<'_>) -> Result<Vec<(String, u32)>, Unreadable> {
    cursor.expect_sign("(")?;
    let weights = cursor.list(|cursor| {
        let name = cursor.name()?;
        cursor.expect_sign("=")?;
        Ok((name, u32::try_from(cursor.count()?).unwrap_or(u32::MAX)))
    })?;
    cursor.expect_sign(")")?;
    Ok(weights)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn select(text: &str) -> Select {
        read(&mut Cursor::new(text)).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn names(text: &str) -> Vec<String> {
        select(text).columns.into_iter().map(|column| column.name).collect()
    }

    #[test]
    fn columns_are_named_as_they_were_written() {
        assert_eq!(
            names("SELECT id, weight(), `a`, b c, count( * ) AS n, a*2 + 1, * FROM t"),
            ["id", "weight()", "a", "c", "n", "a*2 + 1", "*"]
        );
        assert_eq!(names("SELECT @@version_comment LIMIT 1"), ["@@version_comment"]);
        assert_eq!(names("SELECT a*2 /* why */ FROM t"), ["a*2"]);
        assert_eq!(names("SELECT a*2 /* why"), ["a*2"]);
    }

    #[test]
    fn each_clause_is_read() {
        let read = select(
            "SELECT id FROM a, b WHERE MATCH('x') AND c = 1 GROUP BY topic_id \
             WITHIN GROUP ORDER BY posted DESC, weight() ASC ORDER BY @weight DESC LIMIT '5', 10 \
             OPTION max_matches=20000, ranker=proximity_bm25, field_weights=(title=10, body=3), \
             max_query_time=3000, sort_method=kbuffer, comment='x'",
        );
        assert_eq!(read.indexes, ["a", "b"]);
        assert_eq!(read.filter.matching.as_deref(), Some("x"));
        assert_eq!(read.filter.conditions.len(), 1);
        assert_eq!(read.group_by.as_deref(), Some("topic_id"));
        let order = |key: &str, is_descending| Order { key: key.to_owned(), is_descending };
        assert_eq!(read.within, [order("posted", true), order("@weight", false)]);
        assert_eq!(read.order, [order("@weight", true)]);
        assert_eq!((read.offset, read.limit), (5, 10));
        assert_eq!(read.options.max_matches, Some(20000));
        assert_eq!(read.options.field_weights, [("title".to_owned(), 10), ("body".to_owned(), 3)]);
        assert_eq!(read.options.not_obeyed, ["sort_method", "comment"]);
        let offset = select("SELECT id FROM a LIMIT 10 OFFSET 5");
        assert_eq!((offset.offset, offset.limit), (5, 10));
    }

    #[test]
    fn what_is_nested_deep_is_refused_and_no_stack_ends() {
        for text in [
            format!("SELECT {}1{} FROM t", "(".repeat(100_000), ")".repeat(100_000)),
            format!("SELECT 1{} FROM t", "+1".repeat(100_000)),
            format!("SELECT id FROM t WHERE {}a=1", "(".repeat(100_000)),
            format!("SELECT id FROM {}t", "a.".repeat(100_000)),
        ] {
            let _ = read(&mut Cursor::new(&text)).map_err(|error| assert!(error.0.len() < 900));
        }
    }

    #[test]
    fn what_is_not_obeyed_is_refused_by_name() {
        for (text, expected) in [
            ("SELECT id FROM a GROUP BY b, c", "GROUP BY of several attributes"),
            ("SELECT id FROM a GROUP BY b HAVING count(*) > 1", "HAVING"),
            ("SELECT sum(a) FROM a", "sum(…)"),
            ("SELECT id FROM a FACET b", "FACET"),
            ("SELECT id FROM (SELECT id FROM a)", "a select from a select"),
        ] {
            let error = read(&mut Cursor::new(text)).expect_err(text).to_string();
            let expected = format!("sphinxql: {expected} is not supported by Wick near ");
            assert!(error.starts_with(&expected), "{error}");
        }
    }
}
