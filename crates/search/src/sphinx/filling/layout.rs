//! What an index of a `sphinx.conf` holds, as the columns of its sources say it; and a row as a
//! document.
//!
//! Law: Sphinx 2.2: the first column is the id, one that is named as an attribute is one, any
//! other is a field. Fields that other queries bring come behind those, and so do attributes.
//! Invariant: a layout is kept beside its index, so that an index opens while its database is
//! away.

use std::collections::HashMap;

use crate::database::Trouble;
use crate::sphinx::catalogue::{Held, attribute_kind};
use crate::sphinx::change::in_order;
use crate::sphinx::conf::{MultiFrom, Source};
use crate::sphinx::run::nothing;
use crate::sphinx::table::Kind;
use crate::{Document, Value};

/// Fields and attributes, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) fields: Vec<String>,
    pub(super) attributes: Vec<(String, Kind)>,
}

/// Words for types, as they are kept.
const KINDS: [(&str, Kind); 8] = [
    ("uint", Kind::Uint),
    ("timestamp", Kind::Timestamp),
    ("bool", Kind::Bool),
    ("bigint", Kind::Bigint),
    ("float", Kind::Float),
    ("string", Kind::Text),
    ("multi", Kind::Multi),
    ("multi64", Kind::MultiBigint),
];
const FIELD: &str = "field";

impl Layout {
    /// The layout that a source's columns come to.
    pub(super) fn of(source: &Source, columns: &[String]) -> Self {
        let mut layout = Self::default();
        for column in columns.iter().skip(1) {
            let is_both = source.field_strings.iter().any(|own| is_same(own, column));
            match kind_of(source, column) {
                Some(kind) => layout.add_attribute(column, kind),
                None if is_both => {
                    layout.add_field(column);
                    layout.add_attribute(column, Kind::Text);
                }
                None => layout.add_field(column),
            }
        }
        source.joined.iter().for_each(|joined| layout.add_field(&joined.name));
        for multi in source.multi.iter().filter(|multi| multi.from != MultiFrom::Column) {
            layout.add_attribute(&multi.name, multi_kind(multi.is_large));
        }
        layout
    }

    fn add_field(&mut self, name: &str) {
        if self.field_at(name).is_none() {
            self.fields.push(name.to_lowercase());
        }
    }

    fn add_attribute(&mut self, name: &str, kind: Kind) {
        if self.attribute_at(name).is_none() {
            self.attributes.push((name.to_lowercase(), kind));
        }
    }

    pub(super) fn field_at(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|own| is_same(own, name))
    }

    pub(super) fn attribute_at(&self, name: &str) -> Option<usize> {
        self.attributes.iter().position(|(own, _)| is_same(own, name))
    }

    /// As it is kept: a line for each part.
    pub(super) fn written(&self) -> String {
        let fields = self.fields.iter().map(|name| format!("{FIELD} {name}\n"));
        let attributes = self.attributes.iter().map(|(name, kind)| {
            let known = KINDS.iter().find(|(_, own)| own == kind);
            format!("{} {name}\n", known.map_or("uint", |(word, _)| word))
        });
        fields.chain(attributes).collect()
    }

    /// The same read; none where it isn't one.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut layout = Self::default();
        for line in text.lines() {
            let (word, name) = line.split_once(' ')?;
            if word == FIELD {
                layout.fields.push(name.to_owned());
                continue;
            }
            let kind = KINDS.iter().find(|(own, _)| *own == word)?.1;
            layout.attributes.push((name.to_owned(), kind));
        }
        Some(layout)
    }
}

fn is_same(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

fn multi_kind(is_large: bool) -> Kind {
    if is_large { Kind::MultiBigint } else { Kind::Multi }
}

/// The type of a column that is an attribute.
fn kind_of(source: &Source, column: &str) -> Option<Kind> {
    let plain = source.attributes.iter().find(|(own, _)| is_same(own, column));
    let multi = source.multi.iter().find(|multi| is_same(&multi.name, column));
    plain.map(|(_, kind)| *kind).or_else(|| multi.map(|multi| multi_kind(multi.is_large)))
}

/// Where the columns of one source go in the index.
pub(super) struct Places {
    /// Of each column behind the id.
    columns: Vec<(Option<usize>, Option<usize>)>,
}

impl Places {
    /// # Errors
    /// The source has other columns than the index's first one.
    pub(super) fn of(
        layout: &Layout,
        source: &Source,
        columns: &[String],
    ) -> Result<Self, Trouble> {
        if let Some(odd) = columns.iter().find(|name| name.contains(char::is_control)) {
            return Err(Trouble::Refused(format!(
                "a column is named {odd:?}; write AS and a name"
            )));
        }
        let own = Layout::of(source, columns);
        let (mut one, mut other) = (own.clone(), layout.clone());
        for layout in [&mut one, &mut other] {
            layout.fields.sort();
            layout.attributes.sort_by(|one, other| one.0.cmp(&other.0));
        }
        if one != other {
            return Err(Trouble::Refused(format!(
                "source {} has other fields or attributes than the index's first source; let both \
                 select the same columns",
                source.name
            )));
        }
        let place = |name: &String| (layout.field_at(name), layout.attribute_at(name));
        Ok(Self { columns: columns.iter().skip(1).map(place).collect() })
    }

    /// A row as a document, with what other queries brought for attributes by their places; none
    /// where it has no id.
    pub(super) fn document(
        &self,
        layout: &Layout,
        held: &Held,
        row: &[Option<Vec<u8>>],
        many: &[(usize, &HashMap<u64, Vec<i64>>)],
    ) -> Option<Document> {
        let id = id_of(row.first()?.as_deref()?)?;
        let mut document = Document {
            id,
            fields: vec![String::new(); layout.fields.len()],
            attributes: layout
                .attributes
                .iter()
                .map(|(_, kind)| nothing(attribute_kind(*kind)))
                .collect(),
        };
        for ((field, attribute), value) in self.columns.iter().zip(row.iter().skip(1)) {
            let Some(bytes) = value else { continue };
            let text = String::from_utf8_lossy(bytes);
            if let Some(at) = *attribute {
                document.attributes[at] = value_of(layout.attributes[at].1, &text);
            }
            if let Some(at) = *field {
                document.fields[at] = held.prepared(&text);
            }
        }
        for (at, values) in many {
            if let Some(values) = values.get(&id) {
                document.attributes[*at] = Value::Multi(in_order(values.clone()));
            }
        }
        Some(document)
    }
}

/// An id; 0 is none.
pub(super) fn id_of(bytes: &[u8]) -> Option<u64> {
    std::str::from_utf8(bytes).ok()?.trim().parse().ok().filter(|id| *id > 0)
}

/// A text as an attribute's value, read as far as it is a number.
pub(super) fn value_of(kind: Kind, text: &str) -> Value {
    match kind {
        Kind::Float => Value::Float(text.trim().parse().unwrap_or(0.0)),
        Kind::Text => Value::Text(text.to_owned()),
        Kind::Multi | Kind::MultiBigint => {
            let parts = text.split(|letter: char| letter == ',' || letter.is_whitespace());
            let values = parts.filter(|part| !part.is_empty()).map(|part| whole(kind, part));
            Value::Multi(in_order(values.collect()))
        }
        _ => Value::Int(whole(kind, text)),
    }
}

/// A number as its type keeps it: 32 bits wrap, as in Sphinx.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "32 bits are kept")]
pub(super) fn whole(kind: Kind, text: &str) -> i64 {
    let text = text.trim();
    let number = match text {
        // PostgreSQL's.
        "t" => 1,
        "f" => 0,
        _ => text.parse().unwrap_or_else(|_| text.parse::<f64>().map_or(0, |number| number as i64)),
    };
    match kind {
        Kind::Bool => i64::from(number != 0),
        Kind::Bigint | Kind::MultiBigint => number,
        _ => i64::from(number as u32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sphinx::conf;

    fn source(more: &str) -> Source {
        let text = format!("source a {{\n type = mysql\n sql_query = SELECT 1\n {more}\n}}");
        conf::read(&text).expect("it is read").sources.remove(0)
    }

    #[test]
    fn columns_become_fields_and_attributes_in_their_order() {
        let source = source(
            "sql_attr_uint = forum_id\n sql_attr_string = name\n sql_field_string = title\n \
             sql_attr_multi = uint tags from field\n sql_attr_multi = bigint far from query; \
             SELECT 1, 2\n sql_joined_field = notes from query; SELECT 1, 'a'",
        );
        let columns = ["id", "Title", "tags", "text", "forum_id", "name"].map(str::to_owned);
        let layout = Layout::of(&source, &columns);
        assert_eq!(layout.fields, ["title", "text", "notes"]);
        assert_eq!(
            layout.written(),
            "field title\nfield text\nfield notes\nstring title\nmulti tags\nuint forum_id\n\
             string name\nmulti64 far\n"
        );
        assert_eq!(Layout::read(&layout.written()), Some(layout.clone()));
        assert_eq!(Layout::read("what a\n"), None);
        assert!(Places::of(&layout, &source, &columns).is_ok());
        assert!(Places::of(&layout, &source, &columns[..5]).is_err(), "one is missing");
    }

    #[test]
    fn values_are_read_as_far_as_they_are_numbers() {
        for (kind, text, expected) in [
            (Kind::Uint, "7", Value::Int(7)),
            (Kind::Uint, "-1", Value::Int(4_294_967_295)),
            (Kind::Uint, "12.9", Value::Int(12)),
            (Kind::Bigint, "-9000000000", Value::Int(-9_000_000_000)),
            (Kind::Bool, "t", Value::Int(1)),
            (Kind::Bool, "5", Value::Int(1)),
            (Kind::Timestamp, "none", Value::Int(0)),
            (Kind::Float, "1.5", Value::Float(1.5)),
            (Kind::Text, "a b", Value::Text("a b".to_owned())),
            (Kind::Multi, "3, 1 3", Value::Multi(vec![1, 3])),
        ] {
            assert_eq!(value_of(kind, text), expected, "{text}");
        }
        assert_eq!((id_of(b"0"), id_of(b"-4"), id_of(b" 9 ")), (None, None, Some(9)));
    }
}
