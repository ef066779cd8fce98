//! Conditions, as an index knows them: numbers in quotes are numbers where the attribute is one.

use crate::sphinx::catalogue::Held;
use crate::sphinx::ql::{Column, Condition, Expression, Literal, Test};
use crate::{AttributeKind, Filter, FilterKind};

type Bound<'a> = Option<&'a (Literal, bool)>;

/// The filters that conditions come to.
pub(in crate::sphinx) fn filters(
    conditions: &[Condition],
    columns: &[Column],
    held: &Held,
) -> Result<Vec<Filter>, String> {
    conditions.iter().map(|condition| filter(condition, columns, held)).collect()
}

fn filter(condition: &Condition, columns: &[Column], held: &Held) -> Result<Filter, String> {
    let attribute = place(&condition.name, columns, held)?;
    let shape = held.index.shape();
    let kind = attribute.map_or(AttributeKind::Bigint, |place| shape.attributes[place].kind);
    let test = match (&condition.test, kind) {
        (Test::In(values), AttributeKind::Text) => {
            FilterKind::TextIn(values.iter().map(text).collect())
        }
        (Test::Range { .. }, AttributeKind::Text) => {
            return Err(format!("a range of texts ('{}') is not supported", condition.name));
        }
        (Test::In(values), AttributeKind::Float) => match &values[..] {
            [value] => {
                let value = float(value, &condition.name)?;
                FilterKind::FloatRange(value, value)
            }
            _ => return Err(format!("a list of floats ('{}') is not supported", condition.name)),
        },
        (Test::Range { least, most }, AttributeKind::Float) => {
            float_range(least.as_ref(), most.as_ref(), &condition.name)?
        }
        (Test::In(values), _) => {
            let whole = |value| whole(value, &condition.name);
            FilterKind::In(values.iter().map(whole).collect::<Result<_, _>>()?)
        }
        (Test::Range { least, most }, _) => {
            whole_range(least.as_ref(), most.as_ref(), &condition.name)?
        }
    };
    Ok(Filter { attribute, kind: test, is_excluded: condition.is_excluded })
}

/// An attribute's place by its name or alias; none is the id.
fn place(name: &str, columns: &[Column], held: &Held) -> Result<Option<usize>, String> {
    if name.eq_ignore_ascii_case("id") || name.eq_ignore_ascii_case("@id") {
        return Ok(None);
    }
    let shape = held.index.shape();
    if let Some(place) = shape.attribute_at(name) {
        return Ok(Some(place));
    }
    let alias = columns.iter().find(|column| column.name.eq_ignore_ascii_case(name));
    match alias.map(|column| &column.value) {
        Some(Expression::Id) => Ok(None),
        Some(Expression::Attribute(own)) if shape.attribute_at(own).is_some() => {
            Ok(shape.attribute_at(own))
        }
        Some(Expression::Attribute(_)) | None if !name.ends_with("()") => {
            Err(format!("no such filter attribute '{name}'"))
        }
        _ => Err(format!("a condition on the expression '{name}' is not supported by Wick")),
    }
}

fn whole_range(least: Bound<'_>, most: Bound<'_>, name: &str) -> Result<FilterKind, String> {
    let mut range = (i64::MIN, i64::MAX);
    if let Some((value, is_included)) = least {
        range.0 = whole(value, name)?.saturating_add(i64::from(!is_included));
    }
    if let Some((value, is_included)) = most {
        range.1 = whole(value, name)?.saturating_sub(i64::from(!is_included));
    }
    Ok(FilterKind::Range(range.0, range.1))
}

fn float_range(least: Bound<'_>, most: Bound<'_>, name: &str) -> Result<FilterKind, String> {
    let mut range = (f64::NEG_INFINITY, f64::INFINITY);
    if let Some((value, is_included)) = least {
        let value = float(value, name)?;
        range.0 = if *is_included { value } else { value.next_up() };
    }
    if let Some((value, is_included)) = most {
        let value = float(value, name)?;
        range.1 = if *is_included { value } else { value.next_down() };
    }
    Ok(FilterKind::FloatRange(range.0, range.1))
}

/// A whole number, also in quotes.
#[expect(clippy::cast_possible_truncation, reason = "a fraction is cut, as searchd does")]
pub(in crate::sphinx) fn whole(value: &Literal, name: &str) -> Result<i64, String> {
    match value {
        Literal::Int(number) => Ok(*number),
        Literal::Float(number) => Ok(*number as i64),
        Literal::Text(text) => match text.trim() {
            "" => Ok(0),
            "true" => Ok(1),
            "false" => Ok(0),
            text => text
                .parse()
                .or_else(|_| text.parse::<u64>().map(u64::cast_signed))
                .or_else(|_| text.parse::<f64>().map(|number| number as i64))
                .map_err(|_| format!("attribute '{name}' is a number, not '{text}'")),
        },
        Literal::List(_) => Err(format!("attribute '{name}' has one value, not several")),
    }
}

/// A number of 32 bits, which is what attributes of this type have.
#[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "see above")]
pub(in crate::sphinx) fn float(value: &Literal, name: &str) -> Result<f64, String> {
    let number = match value {
        Literal::Int(number) => *number as f64,
        Literal::Float(number) => *number,
        Literal::Text(text) if text.trim().is_empty() => 0.0,
        Literal::Text(text) => text
            .trim()
            .parse()
            .map_err(|_| format!("attribute '{name}' is a number, not '{text}'"))?,
        Literal::List(_) => return Err(format!("attribute '{name}' has one value, not several")),
    };
    Ok(f64::from(number as f32))
}

/// A value as a text.
pub(in crate::sphinx) fn text(value: &Literal) -> String {
    match value {
        Literal::Int(number) => number.to_string(),
        Literal::Float(number) => number.to_string(),
        Literal::Text(text) => text.clone(),
        Literal::List(_) => String::new(),
    }
}
