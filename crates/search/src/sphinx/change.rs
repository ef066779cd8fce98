//! Statements that change documents.
//!
//! Invariants: 1. a row is checked before it is put, and a statement's rows before any of them.
//! 2. what isn't given is empty, or 0.

use super::ask::Ask;
use super::catalogue::{Catalogue, Held};
use super::ql::{Literal, Select, Where};
use super::run::{filters, float, run, text, whole};
use super::table::Kind;
use crate::{AttributeKind, Document, Filter, Value};

/// Found at one time, to be changed or removed.
const BATCH: usize = 10_000;

/// Puts rows, in the place of those with the same ids or beside them.
pub(super) fn insert(
    held: &Held,
    columns: &[String],
    rows: &[Vec<Literal>],
    replaces: bool,
) -> Result<u64, String> {
    if !held.is_realtime {
        return Err(format!("index '{}' does not support INSERT", held.name));
    }
    let shape = held.index.shape();
    let named: Vec<String> = if columns.is_empty() {
        let fields = shape.fields.iter().map(|field| field.name.clone());
        let attributes = shape.attributes.iter().map(|attribute| attribute.name.clone());
        std::iter::once("id".to_owned()).chain(fields).chain(attributes).collect()
    } else {
        columns.to_vec()
    };
    let documents =
        rows.iter().map(|row| document(held, &named, row)).collect::<Result<Vec<_>, _>>()?;
    if !replaces {
        let taken = documents.iter().find(|document| held.index.get(document.id).is_some());
        if let Some(taken) = taken {
            return Err(format!("duplicate id '{}'", taken.id));
        }
    }
    let count = documents.len() as u64;
    documents.into_iter().for_each(|document| held.index.put(document));
    Ok(count)
}

fn document(held: &Held, columns: &[String], row: &[Literal]) -> Result<Document, String> {
    let shape = held.index.shape();
    let mut document = Document {
        id: 0,
        fields: vec![String::new(); shape.fields.len()],
        attributes: shape.attributes.iter().map(|own| super::run::nothing(own.kind)).collect(),
    };
    if columns.len() != row.len() {
        return Err("column count does not match value count".to_owned());
    }
    for (name, value) in columns.iter().zip(row) {
        if name.eq_ignore_ascii_case("id") {
            document.id = whole(value, "id")?.cast_unsigned();
            continue;
        }
        let (field, attribute) = (shape.field_at(name), shape.attribute_at(name));
        if field.is_none() && attribute.is_none() {
            return Err(format!("unknown column: '{name}'"));
        }
        if let Some(at) = field {
            document.fields[at] = held.prepared(&text(value));
        }
        if let Some(at) = attribute {
            document.attributes[at] = attribute_value(held, at, value)?;
        }
    }
    if document.id == 0 {
        return Err("column 'id' must be given, and not 0".to_owned());
    }
    Ok(document)
}

/// A value as its attribute has it.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "32 bits are kept")]
fn attribute_value(held: &Held, at: usize, value: &Literal) -> Result<Value, String> {
    let attribute = &held.index.shape().attributes[at];
    let name = &attribute.name;
    let fitted = |number: i64| match held.kinds[at] {
        Kind::Bool => i64::from(number != 0),
        Kind::Bigint | Kind::MultiBigint => number,
        _ => i64::from(number as u32),
    };
    Ok(match (attribute.kind, value) {
        (AttributeKind::Float, value) => Value::Float(float(value, name)?),
        (AttributeKind::Text, value) => Value::Text(text(value)),
        (AttributeKind::Multi, Literal::List(values)) => {
            let values = values.iter().map(|value| Ok(fitted(whole(value, name)?)));
            Value::Multi(in_order(values.collect::<Result<_, String>>()?))
        }
        // `'1,2,3'` and `'(1,2,3)'`.
        (AttributeKind::Multi, Literal::Text(text)) => {
            let inner = text.trim().trim_start_matches('(').trim_end_matches(')');
            let parts = inner.split(|letter: char| letter == ',' || letter.is_whitespace());
            let values = parts
                .filter(|part| !part.is_empty())
                .map(|part| Ok(fitted(whole(&Literal::Text(part.to_owned()), name)?)));
            Value::Multi(in_order(values.collect::<Result<_, String>>()?))
        }
        (AttributeKind::Multi, value) => Value::Multi(vec![fitted(whole(value, name)?)]),
        (_, value) => Value::Int(fitted(whole(value, name)?)),
    })
}

/// Each once, the smallest first.
pub(crate) fn in_order(mut values: Vec<i64>) -> Vec<i64> {
    values.sort_unstable();
    values.dedup();
    values
}

/// Gives what fits `filter` other attributes; how many that were.
pub(super) fn update(
    held: &Held,
    values: &[(String, Literal)],
    filter: &Where,
    catalogue: &Catalogue,
) -> Result<u64, String> {
    let shape = held.index.shape();
    let values = values
        .iter()
        .map(|(name, value)| {
            let at = shape
                .attribute_at(name)
                .ok_or_else(|| format!("index {}: attribute '{name}' not found", held.name))?;
            Ok((at, attribute_value(held, at, value)?))
        })
        .collect::<Result<Vec<_>, String>>()?;
    let ids = ids(held, filter, catalogue)?;
    Ok(ids.into_iter().filter(|id| held.update(*id, &values)).count() as u64)
}

/// Takes out what fits `filter`; how many that were.
pub(super) fn delete(held: &Held, filter: &Where, catalogue: &Catalogue) -> Result<u64, String> {
    if !held.is_realtime {
        return Err(format!("index '{}' does not support DELETE", held.name));
    }
    if filter.matching.is_none() && named_ids(filter).is_none() {
        let filters: Vec<Filter> = filters(&filter.conditions, &[], held)
            .map_err(|why| format!("index {}: {why}", held.name))?;
        let removed = held.index.remove_where(&filters);
        return removed.map(|count| count as u64).map_err(|error| error.to_string());
    }
    let mut count = 0;
    for id in ids(held, filter, catalogue)? {
        count += u64::from(held.index.get(id).is_some());
        held.index.remove(id);
    }
    Ok(count)
}

/// The ids that fit: those that are named, or those that a search finds.
fn ids(held: &Held, filter: &Where, catalogue: &Catalogue) -> Result<Vec<u64>, String> {
    if let Some(ids) = named_ids(filter) {
        return ids;
    }
    held.index.commit();
    let select = Select {
        indexes: vec![held.name.clone()],
        columns: Vec::new(),
        filter: filter.clone(),
        limit: BATCH,
        options: super::ql::Options { max_matches: Some(BATCH), ..Default::default() },
        ..Select::default()
    };
    let found = run(&Ask::from(select), catalogue, 0)?;
    if found.meta.total_found > BATCH as u64 {
        return Err(format!("more than {BATCH} documents fit; change fewer at one time"));
    }
    Ok(found.table.rows.iter().map(|row| row.id).collect())
}

/// The ids that a condition names, where it names nothing else.
fn named_ids(filter: &Where) -> Option<Result<Vec<u64>, String>> {
    let [condition] = &filter.conditions[..] else { return None };
    let is_id = condition.name.eq_ignore_ascii_case("id") || condition.name == "@id";
    let super::ql::Test::In(values) = &condition.test else { return None };
    if !is_id || condition.is_excluded || filter.matching.is_some() {
        return None;
    }
    Some(values.iter().map(|value| whole(value, "id").map(i64::cast_unsigned)).collect())
}
