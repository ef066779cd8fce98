//! The select list, as places in documents.

use super::order::{Key, What, resolve};
use super::{Match, nothing};
use crate::sphinx::api::GroupFunction;
use crate::sphinx::ask::Ask;
use crate::sphinx::catalogue::Held;
use crate::sphinx::ql::{Expression, Literal, Operator};
use crate::sphinx::table::{Cell, Kind};
use crate::{AttributeKind, Value};

/// What is taken of a match.
#[derive(Clone, Debug)]
enum Wanted {
    Id,
    Weight,
    Count,
    Group,
    Distinct,
    Attribute(usize),
    Field(usize),
    Constant(Cell),
    Binary(Box<Wanted>, Operator, Box<Wanted>),
}

/// How a question is answered.
pub(super) struct Plan {
    columns: Vec<(String, Kind, Wanted)>,
    /// In which order; none: the best first.
    pub(super) order: Vec<Key>,
    /// Which of a group.
    pub(super) within: Vec<Key>,
    /// The attribute whose values make groups.
    pub(super) group: Option<usize>,
    pub(super) distinct: Option<usize>,
    /// Every document is its own group.
    pub(super) is_by_id: bool,
    /// Stored texts are wanted.
    pub(super) has_fields: bool,
    is_multiple: bool,
    is_segmented: bool,
}

impl Plan {
    pub(super) fn new(ask: &Ask, held: &Held) -> Result<Self, String> {
        let (select, shape) = (&ask.select, held.index.shape());
        let attribute = |name: &str, what: &str| {
            let alias = select.columns.iter().find_map(|column| match &column.value {
                Expression::Attribute(own) if column.name.eq_ignore_ascii_case(name) => Some(own),
                _ => None,
            });
            shape
                .attribute_at(name)
                .or_else(|| alias.and_then(|own| shape.attribute_at(own)))
                .ok_or_else(|| format!("{what} attribute '{name}' not found"))
        };
        let is_by_id = select.group_by.as_deref().is_some_and(|name| {
            name.eq_ignore_ascii_case("id") || name.eq_ignore_ascii_case("@id")
        });
        let group_by = select.group_by.as_deref().filter(|_| !is_by_id);
        let group = group_by.map(|name| attribute(name, "group-by")).transpose()?;
        let distinct = ask.distinct.as_deref().map(|name| attribute(name, "group-count-distinct"));
        let mut order = resolve(&select.order, &select.columns, held)?;
        if let Some(name) = &ask.segments {
            let what = What::Segment(attribute(name, "sort-by")?);
            order.insert(0, Key { what, is_descending: false });
        }
        let mut plan = Self {
            columns: Vec::new(),
            within: resolve(&select.within, &select.columns, held)?,
            is_multiple: group.is_some_and(|at| shape.attributes[at].kind == AttributeKind::Multi),
            is_segmented: ask.segments.is_some(),
            distinct: distinct.transpose()?,
            has_fields: false,
            order,
            group,
            is_by_id,
        };
        plan.add_columns(ask, held)?;
        Ok(plan)
    }

    fn add_columns(&mut self, ask: &Ask, held: &Held) -> Result<(), String> {
        for column in &ask.select.columns {
            if column.value == Expression::Star {
                self.add_all(ask, held);
                continue;
            }
            let (kind, wanted) = self.wanted(&column.value, ask, held)?;
            self.columns.push((column.name.clone(), kind, wanted));
        }
        if ask.is_api && (self.group.is_some() || self.is_by_id) {
            let kind = self.group_kind(ask, held);
            self.columns.push(("@groupby".to_owned(), kind, Wanted::Group));
            self.columns.push(("@count".to_owned(), Kind::Uint, Wanted::Count));
            if self.distinct.is_some() {
                self.columns.push(("@distinct".to_owned(), Kind::Uint, Wanted::Distinct));
            }
        }
        Ok(())
    }

    /// `*`: what isn't there already; the binary API has ids apart.
    fn add_all(&mut self, ask: &Ask, held: &Held) {
        let shape = held.index.shape();
        let is_there = |own: &Self, name: &str| own.columns.iter().any(|(own, ..)| own == name);
        if !ask.is_api && !is_there(self, "id") {
            self.columns.push(("id".to_owned(), Kind::Bigint, Wanted::Id));
        }
        for (at, field) in shape.fields.iter().enumerate() {
            let is_attribute = shape.attribute_at(&field.name).is_some();
            if field.is_stored && !is_attribute && !is_there(self, &field.name) {
                self.columns.push((field.name.clone(), Kind::Text, Wanted::Field(at)));
                self.has_fields = true;
            }
        }
        for (at, attribute) in shape.attributes.iter().enumerate() {
            if !is_there(self, &attribute.name) {
                let column = (attribute.name.clone(), held.kinds[at], Wanted::Attribute(at));
                self.columns.push(column);
            }
        }
    }

    fn wanted(
        &mut self,
        value: &Expression,
        ask: &Ask,
        held: &Held,
    ) -> Result<(Kind, Wanted), String> {
        Ok(match value {
            Expression::Star => return Err("parse error: * is no value".to_owned()),
            Expression::Id => (Kind::Bigint, Wanted::Id),
            Expression::Weight => (Kind::Uint, Wanted::Weight),
            Expression::Count => (Kind::Uint, Wanted::Count),
            Expression::Distinct(_) => (Kind::Uint, Wanted::Distinct),
            Expression::GroupBy => (self.group_kind(ask, held), Wanted::Group),
            Expression::System(_) => (Kind::Text, Wanted::Constant(Cell::Text(String::new()))),
            Expression::Literal(literal) => constant(literal),
            Expression::Attribute(name) => {
                let shape = held.index.shape();
                if let Some(at) = shape.attribute_at(name) {
                    (held.kinds[at], Wanted::Attribute(at))
                } else if let Some(at) =
                    shape.field_at(name).filter(|at| shape.fields[*at].is_stored)
                {
                    self.has_fields = true;
                    (Kind::Text, Wanted::Field(at))
                } else {
                    return Err(format!("parse error: unknown column: {name}"));
                }
            }
            Expression::Binary(left, operator, right) => {
                let (left_kind, left) = self.wanted(left, ask, held)?;
                let (right_kind, right) = self.wanted(right, ask, held)?;
                let is_number =
                    |kind| !matches!(kind, Kind::Text | Kind::Multi | Kind::MultiBigint);
                if !is_number(left_kind) || !is_number(right_kind) {
                    return Err("parse error: only numbers can be reckoned with".to_owned());
                }
                let kinds = [left_kind, right_kind];
                let kind = if kinds.contains(&Kind::Float) || *operator == Operator::Divide {
                    Kind::Float
                } else if kinds.contains(&Kind::Bigint) || *operator == Operator::Subtract {
                    Kind::Bigint
                } else {
                    Kind::Uint
                };
                (kind, Wanted::Binary(Box::new(left), *operator, Box::new(right)))
            }
        })
    }

    fn group_kind(&self, ask: &Ask, held: &Held) -> Kind {
        match self.group {
            None => Kind::Bigint,
            Some(_) if ask.group_function != GroupFunction::Value => Kind::Uint,
            Some(place) => match held.kinds[place] {
                Kind::Text => Kind::Text,
                Kind::Bigint | Kind::MultiBigint => Kind::Bigint,
                Kind::Float => Kind::Float,
                _ => Kind::Uint,
            },
        }
    }

    /// Whether matches are to be fetched and ordered here.
    pub(super) fn is_gathered(&self, ask: &Ask, indexes: usize) -> bool {
        let is_counted = |(_, _, wanted): &(_, _, Wanted)| matches!(wanted, Wanted::Count);
        indexes > 1
            || self.is_by_id
            || self.is_multiple
            || self.is_segmented
            || self.distinct.is_some()
            // `count(*)` without groups counts everything.
            || ask.select.group_by.is_none() && self.columns.iter().any(is_counted)
    }

    /// `count(*)` or a count of values without groups: all rows are one group.
    pub(super) fn is_one_group(&self, ask: &Ask) -> bool {
        let is_counted =
            |(_, _, wanted): &(_, _, Wanted)| matches!(wanted, Wanted::Count | Wanted::Distinct);
        ask.select.group_by.is_none() && self.columns.iter().any(is_counted)
    }

    pub(super) fn titles(&self) -> Vec<(String, Kind)> {
        self.columns.iter().map(|(name, kind, _)| (name.clone(), *kind)).collect()
    }

    pub(super) fn cells(&self, one: &Match, weight: u32) -> Vec<Cell> {
        self.columns.iter().map(|(_, _, wanted)| cell(wanted, one, weight)).collect()
    }
}

fn constant(literal: &Literal) -> (Kind, Wanted) {
    let (kind, cell) = match literal {
        Literal::Int(number) => {
            let kind = if u32::try_from(*number).is_ok() { Kind::Uint } else { Kind::Bigint };
            (kind, Cell::Int(*number))
        }
        Literal::Float(number) => (Kind::Float, Cell::Float(*number)),
        Literal::Text(text) => (Kind::Text, Cell::Text(text.clone())),
        Literal::List(_) => (Kind::Text, Cell::Text(String::new())),
    };
    (kind, Wanted::Constant(cell))
}

fn cell(wanted: &Wanted, one: &Match, weight: u32) -> Cell {
    let count = |number: u64| Cell::Int(i64::try_from(number).unwrap_or(i64::MAX));
    match wanted {
        Wanted::Id => Cell::Id(one.hit.id),
        Wanted::Weight => Cell::Int(weight.into()),
        Wanted::Count => count(one.hit.group_count),
        Wanted::Distinct => count(one.distinct),
        Wanted::Group => one.hit.group_key.clone().map_or(Cell::Int(0), cell_of),
        Wanted::Attribute(at) => {
            let value = one.hit.attributes.get(*at).cloned();
            cell_of(value.unwrap_or_else(|| nothing(AttributeKind::Uint)))
        }
        Wanted::Field(at) => Cell::Text(one.hit.fields.get(*at).cloned().unwrap_or_default()),
        Wanted::Constant(cell) => cell.clone(),
        Wanted::Binary(left, operator, right) => {
            reckon(&cell(left, one, weight), *operator, &cell(right, one, weight))
        }
    }
}

fn cell_of(value: Value) -> Cell {
    match value {
        Value::Int(number) => Cell::Int(number),
        Value::Float(number) => Cell::Float(number),
        Value::Text(text) => Cell::Text(text),
        Value::Multi(numbers) => Cell::Multi(numbers),
    }
}

/// What has no result, such as a division by nothing, is 0, as in Sphinx.
#[expect(clippy::cast_precision_loss, reason = "as floats are")]
pub(in crate::sphinx) fn reckon(left: &Cell, operator: Operator, right: &Cell) -> Cell {
    let whole = |cell: &Cell| match cell {
        Cell::Int(number) => Some(*number),
        Cell::Id(id) => Some(id.cast_signed()),
        _ => None,
    };
    if operator != Operator::Divide
        && let (Some(left), Some(right)) = (whole(left), whole(right))
    {
        return Cell::Int(match operator {
            Operator::Add => left.wrapping_add(right),
            Operator::Subtract => left.wrapping_sub(right),
            Operator::Multiply => left.wrapping_mul(right),
            Operator::Divide | Operator::Remainder => left.checked_rem(right).unwrap_or(0),
        });
    }
    let float = |cell: &Cell| match cell {
        Cell::Float(number) => *number,
        other => whole(other).unwrap_or(0) as f64,
    };
    let (left, right) = (float(left), float(right));
    let result = match operator {
        Operator::Add => left + right,
        Operator::Subtract => left - right,
        Operator::Multiply => left * right,
        Operator::Divide => left / right,
        Operator::Remainder => left % right,
    };
    Cell::Float(if result.is_finite() { result } else { 0.0 })
}
