//! Keys of orders: what is compared, by a name that may be an alias.

use super::Match;
use crate::sphinx::catalogue::Held;
use crate::sphinx::ql::{Column, Expression, Order};
use crate::{Sort, SortKey, Value};
use std::cmp::Ordering;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Weight,
    Id,
    Count,
    Group,
    Distinct,
    Attribute(usize),
    /// How long ago this was, in steps.
    Segment(usize),
}

/// One key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) what: What,
    pub(super) is_descending: bool,
}

/// Finds what each key of an order is.
pub(super) fn resolve(
    order: &[Order],
    columns: &[Column],
    held: &Held,
) -> Result<Vec<Key>, String> {
    let key = |order: &Order| {
        let what = what(&order.key, columns, held)?;
        Ok(Key { what, is_descending: order.is_descending })
    };
    order.iter().map(key).collect()
}

fn what(name: &str, columns: &[Column], held: &Held) -> Result<What, String> {
    let missing = || format!("sort-by attribute '{name}' not found");
    match name.to_ascii_lowercase().as_str() {
        "@weight" | "@rank" | "@relevance" => return Ok(What::Weight),
        "@id" | "id" => return Ok(What::Id),
        "@count" => return Ok(What::Count),
        "@group" | "@groupby" => return Ok(What::Group),
        "@distinct" => return Ok(What::Distinct),
        "@random" => return Err("a random order is not supported by Wick".to_owned()),
        _ => {}
    }
    if let Some(place) = held.index.shape().attribute_at(name) {
        return Ok(What::Attribute(place));
    }
    let alias = columns.iter().find(|column| column.name.eq_ignore_ascii_case(name));
    match alias.map(|column| &column.value) {
        Some(Expression::Weight) => Ok(What::Weight),
        Some(Expression::Id) => Ok(What::Id),
        Some(Expression::Count) => Ok(What::Count),
        Some(Expression::GroupBy) => Ok(What::Group),
        Some(Expression::Distinct(_)) => Ok(What::Distinct),
        Some(Expression::Attribute(name)) => {
            held.index.shape().attribute_at(name).map(What::Attribute).ok_or_else(missing)
        }
        Some(_) => Err(format!("an order by the expression '{name}' is not supported by Wick")),
        None => Err(missing()),
    }
}

/// The key as an index knows it.
pub(super) fn sort_of(key: &Key) -> Option<Sort> {
    let is_descending = key.is_descending;
    let key = match key.what {
        What::Weight => SortKey::Relevance,
        What::Id => SortKey::Id,
        What::Count => SortKey::GroupCount,
        What::Group => SortKey::GroupKey,
        What::Attribute(place) => SortKey::Attribute(place),
        What::Distinct | What::Segment(_) => return None,
    };
    Some(Sort { key, is_descending })
}

/// Compares two matches by some keys; what is equal by these stays as it was.
pub(super) fn compare(keys: &[Key], now: i64, one: &Match, other: &Match) -> Ordering {
    for key in keys {
        let ordering = compare_by(key.what, now, one, other);
        let ordering = if key.is_descending { ordering.reverse() } else { ordering };
        if ordering != Ordering::Equal {
            return ordering;
        }
    }
    one.hit.id.cmp(&other.hit.id)
}

fn compare_by(what: What, now: i64, one: &Match, other: &Match) -> Ordering {
    match what {
        What::Weight => one.hit.score.total_cmp(&other.hit.score),
        What::Id => one.hit.id.cmp(&other.hit.id),
        What::Count => one.hit.group_count.cmp(&other.hit.group_count),
        What::Distinct => one.distinct.cmp(&other.distinct),
        What::Group => match (&one.hit.group_key, &other.hit.group_key) {
            (Some(one), Some(other)) => compare_values(one, other),
            _ => Ordering::Equal,
        },
        What::Attribute(place) => {
            match (one.hit.attributes.get(place), other.hit.attributes.get(place)) {
                (Some(one), Some(other)) => compare_values(one, other),
                _ => Ordering::Equal,
            }
        }
        What::Segment(place) => segment(now, one, place).cmp(&segment(now, other, place)),
    }
}

/// The last hour, day, week, month, three months, and the rest.
fn segment(now: i64, one: &Match, place: usize) -> usize {
    const HOUR: i64 = 3600;
    const DAY: i64 = 24 * HOUR;
    let Some(Value::Int(time)) = one.hit.attributes.get(place) else { return usize::MAX };
    let age = now.saturating_sub(*time);
    let ends = [HOUR, DAY, 7 * DAY, 30 * DAY, 90 * DAY];
    ends.iter().position(|end| age <= *end).unwrap_or(ends.len())
}

fn compare_values(one: &Value, other: &Value) -> Ordering {
    match (one, other) {
        (Value::Int(one), Value::Int(other)) => one.cmp(other),
        (Value::Float(one), Value::Float(other)) => one.total_cmp(other),
        (Value::Text(one), Value::Text(other)) => one.cmp(other),
        (Value::Multi(one), Value::Multi(other)) => one.cmp(other),
        _ => Ordering::Equal,
    }
}
