//! Attributes as the index keeps them: of the kind that the shape says.

use crate::{AttributeKind, Shape, Value};

/// Brings values into the shape: what is missing or of another kind is read as well as may
/// be, as Sphinx's indexer does.
pub(super) fn fit(shape: &Shape, values: &mut Vec<Value>) {
    values.resize(shape.attributes.len(), Value::Int(0));
    for (value, attribute) in values.iter_mut().zip(&shape.attributes) {
        if !is_of(value, attribute.kind) {
            *value = converted(value, attribute.kind);
        }
    }
}

fn is_of(value: &Value, kind: AttributeKind) -> bool {
    match value {
        Value::Int(number) => match kind {
            AttributeKind::Bigint => true,
            AttributeKind::Uint | AttributeKind::Timestamp => *number >= 0,
            AttributeKind::Bool => matches!(number, 0 | 1),
            _ => false,
        },
        Value::Float(_) => kind == AttributeKind::Float,
        Value::Text(_) => kind == AttributeKind::Text,
        Value::Multi(_) => kind == AttributeKind::Multi,
    }
}

fn converted(value: &Value, kind: AttributeKind) -> Value {
    match kind {
        AttributeKind::Float => Value::Float(fraction(value)),
        AttributeKind::Text => Value::Text(match value {
            // What a shape fills up with.
            Value::Int(0) | Value::Multi(_) => String::new(),
            Value::Int(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            Value::Text(text) => text.clone(),
        }),
        AttributeKind::Multi => Value::Multi(match value {
            Value::Int(0) => Vec::new(),
            Value::Multi(values) => values.clone(),
            Value::Text(text) => text
                .split(|one: char| one == ',' || one.is_whitespace())
                .filter_map(|one| one.parse().ok())
                .collect(),
            other => vec![whole(other)],
        }),
        AttributeKind::Bool => Value::Int(i64::from(whole(value) != 0)),
        AttributeKind::Bigint => Value::Int(whole(value)),
        AttributeKind::Uint | AttributeKind::Timestamp => Value::Int(whole(value).max(0)),
    }
}

fn whole(value: &Value) -> i64 {
    match value {
        Value::Int(number) => *number,
        #[expect(clippy::cast_possible_truncation, reason = "it saturates, which is meant")]
        Value::Float(number) => *number as i64,
        Value::Text(text) => text.trim().parse().unwrap_or(0),
        Value::Multi(values) => values.first().copied().unwrap_or(0),
    }
}

fn fraction(value: &Value) -> f64 {
    match value {
        Value::Float(number) => *number,
        Value::Text(text) => text.trim().parse().unwrap_or(0.0),
        #[expect(clippy::cast_precision_loss, reason = "a fraction is wanted")]
        other => whole(other) as f64,
    }
}
