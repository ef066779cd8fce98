//! What an engine is told, in SphinxQL, and what its answers mean.
//!
//! Invariant: whatever is in a document or a search, it is inside of a literal.

use std::fmt::Write;

use super::Trouble;
use super::link::Cells;
use super::words::{Matched, matched};
use crate::site::{SHAPE_CHANGED, SHAPE_HOST, SHAPE_LANGUAGE, SHAPE_SECTION};
use crate::site::{SHAPE_SUM, SHAPE_TOPIC, shape};
use crate::{Document, Filter, FilterKind, GroupBy, Hit, Search, Sort, SortKey, Value};

/// What words are looked for in, in the order of [`shape`]'s fields. (`text` is a type's name in
/// Manticore.)
pub(super) const FIELDS: [&str; 4] = ["title", "headings", "body", "address"];
/// The places of two of them, of which the text is kept to be shown.
const TITLE: usize = 0;
const BODY: usize = 2;
/// The attributes that are kept, by their places in [`shape`]. What is not here counts for nothing.
const URL: usize = 0;
const SEEN: usize = 4;
const TEXTS: [(&str, usize); 4] =
    [("url", URL), ("host", SHAPE_HOST), ("language", SHAPE_LANGUAGE), ("section", SHAPE_SECTION)];
const NUMBERS: [(&str, usize); 4] =
    [("changed", SHAPE_CHANGED), ("seen", SEEN), ("sum", SHAPE_SUM), ("topic", SHAPE_TOPIC)];
/// The texts that are shown.
const SHOWN: [&str; 2] = ["shown_title", "shown_text"];
/// So much of a text is kept to be shown: excerpts look no further. An engine has it in memory.
const SHOWN_BYTES_MAX: usize = 64 << 10;
/// More isn't looked for.
const FIELD_BYTES_MAX: usize = 1 << 20;

/// The statement that puts documents.
pub(super) fn replace<'a>(index: &str, documents: impl Iterator<Item = &'a Document>) -> String {
    let mut statement = format!("REPLACE INTO {index} (id");
    let names = FIELDS.iter().chain(TEXTS.iter().chain(&NUMBERS).map(|(name, _)| name));
    for name in names.chain(&SHOWN) {
        let _ = write!(statement, ", {name}");
    }
    statement.push_str(") VALUES ");
    for (number, document) in documents.enumerate() {
        let _ = write!(statement, "{}({}", if number > 0 { ", " } else { "" }, document.id);
        let field = |at: usize| document.fields.get(at).map_or("", String::as_str);
        for at in 0..FIELDS.len() {
            push_text(&mut statement, field(at), FIELD_BYTES_MAX);
        }
        for (_, at) in TEXTS {
            let text = match document.attributes.get(at) {
                Some(Value::Text(text)) => text,
                _ => "",
            };
            push_text(&mut statement, text, SHOWN_BYTES_MAX);
        }
        for (_, at) in NUMBERS {
            let number = match document.attributes.get(at) {
                Some(Value::Int(number)) => *number,
                _ => 0,
            };
            // An engine has no literal for the least of numbers.
            let _ = write!(statement, ", {}", number.max(-i64::MAX));
        }
        for at in [TITLE, BODY] {
            push_text(&mut statement, field(at), SHOWN_BYTES_MAX);
        }
        statement.push(')');
    }
    statement
}

fn push_text(statement: &mut String, text: &str, bytes_max: usize) {
    statement.push_str(", ");
    push_literal(statement, &text[..text.floor_char_boundary(bytes_max)]);
}

fn push_literal(statement: &mut String, text: &str) {
    statement.push('\'');
    for one in text.chars() {
        match one {
            '\'' | '\\' => statement.extend(['\\', one]),
            '\0' => statement.push(' '),
            _ => statement.push(one),
        }
    }
    statement.push('\'');
}

/// The statement that takes documents out.
pub(super) fn delete(index: &str, ids: &[u64]) -> String {
    format!("DELETE FROM {index} WHERE id IN ({})", list(ids.iter()))
}

/// What of an index there is to be known of these documents.
pub(super) fn find(index: &str, ids: &[u64]) -> String {
    let columns = columns(false);
    let (ids, count) = (list(ids.iter()), ids.len());
    format!("SELECT {columns} FROM {index} WHERE id IN ({ids}) LIMIT 0,{count}")
}

pub(super) fn count(index: &str) -> String {
    format!("SELECT COUNT(*) FROM {index}")
}

pub(super) fn describe(index: &str) -> String {
    format!("DESC {index}")
}

fn list<T: ToString>(each: impl Iterator<Item = T>) -> String {
    each.map(|one| one.to_string()).collect::<Vec<_>>().join(",")
}

fn columns(has_texts: bool) -> String {
    let mut names: Vec<&str> = vec!["id"];
    names.extend(TEXTS.iter().chain(&NUMBERS).map(|(name, _)| *name));
    if has_texts {
        names.extend(SHOWN);
    }
    names.join(", ")
}

/// The statement that answers a search; none where nothing can be found.
pub(super) fn select(index: &str, search: &Search) -> Result<Option<String>, Trouble> {
    let query = search.query.clone().widened(&search.synonyms);
    let mut conditions = Vec::new();
    match matched(&query) {
        Matched::All => {}
        Matched::Nothing => return Ok(None),
        Matched::By(words) => {
            let mut condition = "MATCH(".to_owned();
            push_literal(&mut condition, &words);
            conditions.push(condition + ")");
        }
    }
    for filter in &search.filters {
        conditions.extend(condition(filter)?);
    }
    let columns = columns(search.has_fields);
    let mut statement = format!("SELECT {columns}, WEIGHT() AS w FROM {index}");
    if !conditions.is_empty() {
        let _ = write!(statement, " WHERE {}", conditions.join(" AND "));
    }
    if let Some(group) = &search.group {
        let GroupBy::Attribute(at) = group.by else { return Err(unfit("a group of moments")) };
        let (name, order) = (name_of(at)?, order(&group.within)?);
        let _ = write!(statement, " GROUP BY {name} WITHIN GROUP ORDER BY {order}");
    }
    let (offset, limit) = (search.offset, search.limit.max(1));
    let most = search.max_matches.max(1);
    let _ = write!(
        statement,
        " ORDER BY {} LIMIT {offset},{limit} OPTION max_matches={most}, field_weights=({})",
        order(&search.sort)?,
        weights()
    );
    if let Some(deadline) = search.deadline {
        let left = deadline.saturating_duration_since(std::time::Instant::now());
        let _ = write!(statement, ", max_query_time={}", left.as_millis().max(1));
    }
    Ok(Some(statement))
}

/// As the index of our own weighs them; engines know whole numbers.
fn weights() -> String {
    let shape = shape();
    let each = FIELDS.iter().zip(&shape.fields);
    list(each.map(|(name, field)| format!("{name}={:.0}", field.weight * 10.0)))
}

fn condition(filter: &Filter) -> Result<Option<String>, Trouble> {
    let name = match filter.attribute {
        None => "id",
        Some(at) => name_of(at)?,
    };
    let is_excluded = filter.is_excluded;
    Ok(Some(match &filter.kind {
        FilterKind::In(numbers) => {
            let not = if is_excluded { "NOT " } else { "" };
            format!("{name} {not}IN ({})", list(numbers.iter()))
        }
        FilterKind::TextIn(texts) => {
            let [text] = texts.as_slice() else { return Err(unfit("one of several texts")) };
            let mut condition = format!("{name} {} ", if is_excluded { "!=" } else { "=" });
            push_literal(&mut condition, text);
            condition
        }
        FilterKind::Range(from, i64::MAX) if !is_excluded => format!("{name} >= {from}"),
        FilterKind::Range(..) | FilterKind::FloatRange(..) => return Err(unfit("a range")),
    }))
}

fn order(sort: &[Sort]) -> Result<String, Trouble> {
    let mut keys = Vec::new();
    for one in sort {
        let way = if one.is_descending { "DESC" } else { "ASC" };
        let name = match one.key {
            SortKey::Relevance => "w",
            SortKey::Id => "id",
            SortKey::Attribute(at) => name_of(at)?,
            SortKey::GroupCount | SortKey::GroupKey => return Err(unfit("an order of groups")),
        };
        keys.push(format!("{name} {way}"));
    }
    if keys.is_empty() {
        keys.push("w DESC".to_owned());
    }
    if !sort.iter().any(|one| one.key == SortKey::Id) {
        keys.push("id ASC".to_owned());
    }
    Ok(keys.join(", "))
}

fn name_of(at: usize) -> Result<&'static str, Trouble> {
    let found = TEXTS.iter().chain(&NUMBERS).find(|(_, place)| *place == at);
    found.map(|(name, _)| *name).ok_or_else(|| unfit("an attribute that it doesn't have"))
}

fn unfit(what: &str) -> Trouble {
    Trouble::Refused(format!("it isn't asked for {what}"))
}

/// A row of [`select`] or [`find`] as a hit; none where it is none of ours.
pub(super) fn hit(cells: Cells, has_texts: bool) -> Option<Hit> {
    let mut cells = cells.into_iter();
    let id = cells.next()?.parse().ok()?;
    let mut attributes: Vec<Value> = shape().attributes.iter().map(|_| Value::Int(0)).collect();
    for (_, at) in TEXTS {
        *attributes.get_mut(at)? = Value::Text(cells.next()?);
    }
    for (_, at) in NUMBERS {
        *attributes.get_mut(at)? = Value::Int(cells.next()?.parse().ok()?);
    }
    let mut fields = Vec::new();
    if has_texts {
        fields.resize(FIELDS.len(), String::new());
        fields[TITLE] = cells.next()?;
        fields[BODY] = cells.next()?;
    }
    let score = cells.next().and_then(|weight| weight.parse().ok()).unwrap_or(0.0);
    let (group_key, snippets) = (None, Vec::new());
    Some(Hit { id, score, attributes, group_key, group_count: 1, snippets, fields })
}

/// What is missing of an index, by the answer to [`describe`].
pub(super) fn missing(rows: &[Cells]) -> Vec<&'static str> {
    let has = |name: &str, kinds: &[&str]| {
        rows.iter().any(|row| match row.as_slice() {
            [own, kind, ..] => own.eq_ignore_ascii_case(name) && kinds.contains(&kind.as_str()),
            _ => false,
        })
    };
    let fields = FIELDS.iter().filter(|name| !has(name, &["field", "text"]));
    let texts = TEXTS.iter().map(|(name, _)| name).chain(&SHOWN);
    let texts = texts.filter(|name| !has(name, &["string"]));
    let numbers = NUMBERS.iter().map(|(name, _)| name).filter(|name| !has(name, &["bigint"]));
    fields.chain(texts).chain(numbers).copied().collect()
}

/// What an index is made by: the lines of a `sphinx.conf`, and the statement of Manticore.
pub(super) fn cure(index: &str) -> String {
    let texts: Vec<_> = TEXTS.iter().map(|(name, _)| *name).chain(SHOWN).collect();
    let lines = |setting: &str, names: &mut dyn Iterator<Item = &str>| -> String {
        names.map(|name| format!("  {setting} = {name}\n")).collect()
    };
    let conf = format!(
        "index {index}\n{{\n  type = rt\n  path = /var/lib/sphinxsearch/data/{index}\n{}{}{}  \
         min_infix_len = 2\n  index_exact_words = 1\n}}",
        lines("rt_field", &mut FIELDS.iter().copied()),
        lines("rt_attr_string", &mut texts.iter().copied()),
        lines("rt_attr_bigint", &mut NUMBERS.iter().map(|(name, _)| *name)),
    );
    let fields = FIELDS.iter().map(|name| format!("{name} text indexed"));
    let texts = texts.iter().map(|name| format!("{name} string"));
    let numbers = NUMBERS.iter().map(|(name, _)| format!("{name} bigint"));
    let columns: Vec<_> = fields.chain(texts).chain(numbers).collect();
    format!(
        "{conf}\nor, in Manticore: CREATE TABLE {index} ({}) min_infix_len='2' \
         index_exact_words='1'",
        columns.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Group, Query, Shape, read_query};

    #[test]
    fn what_is_in_a_document_stays_inside_of_its_literal() {
        let mut attributes = vec![Value::Int(0); 10];
        attributes[URL] = Value::Text("/it's".to_owned());
        attributes[SHAPE_TOPIC] = Value::Int(i64::MIN);
        let text = "a'); DROP TABLE x -- \\' \0é".to_owned();
        let fields = vec![text, String::new(), "b\\".to_owned(), String::new()];
        let told = replace("site", [Document { id: 7, fields, attributes }].iter());
        assert_eq!(
            told,
            "REPLACE INTO site (id, title, headings, body, address, url, host, language, section, \
             changed, seen, sum, topic, shown_title, shown_text) VALUES (7, 'a\\'); DROP TABLE x \
             -- \\\\\\'  é', '', 'b\\\\', '', '/it\\'s', '', '', '', 0, 0, 0, \
             -9223372036854775807, 'a\\'); DROP TABLE x -- \\\\\\'  é', 'b\\\\')"
        );
    }

    #[test]
    fn a_search_is_one_statement_whatever_it_is_narrowed_by() {
        let text = |at, text: &str| Filter {
            attribute: Some(at),
            kind: FilterKind::TextIn(vec![text.to_owned()]),
            is_excluded: false,
        };
        let changed = FilterKind::Range(5, i64::MAX);
        let search = Search {
            query: read_query("red -blue", &Shape::pages()),
            filters: vec![
                text(SHAPE_HOST, "a'b"),
                Filter { attribute: Some(SHAPE_CHANGED), kind: changed, is_excluded: false },
                Filter { attribute: None, kind: FilterKind::In(vec![1, 2]), is_excluded: true },
            ],
            group: Some(Group { by: GroupBy::Attribute(SHAPE_TOPIC), within: Vec::new() }),
            offset: 10,
            limit: 10,
            ..Search::default()
        };
        let told = select("site", &search).expect("it can be asked").expect("it may find");
        assert_eq!(
            told,
            "SELECT id, url, host, language, section, changed, seen, sum, topic, WEIGHT() AS w \
             FROM site WHERE MATCH('(red -(blue))') AND host = 'a\\'b' AND changed >= 5 AND id NOT \
             IN (1,2) GROUP BY topic WITHIN GROUP ORDER BY w DESC, id ASC ORDER BY w DESC, id ASC \
             LIMIT 10,10 OPTION max_matches=1000, \
             field_weights=(title=50,headings=20,body=10,address=10)"
        );
        let nothing = Search { query: read_query("-a", &Shape::pages()), ..Search::default() };
        assert_eq!(select("site", &nothing), Ok(None));
        let unknown = Search { query: Query::All, filters: vec![text(2, "row")], ..search };
        assert!(select("site", &unknown).is_err());
    }
}
