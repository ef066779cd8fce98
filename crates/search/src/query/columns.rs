//! Attributes of one part of the index: read, compared and held against conditions.

use tantivy::columnar::StrColumn;
use tantivy::fastfield::Column;
use tantivy::{DocId, SegmentReader};

use crate::index::attribute_name;
use crate::{AttributeKind, Filter, FilterKind, GroupBy, SearchError, Shape, Value};

/// The values of one attribute in one part of the index.
pub(super) enum Values {
    Id(Column<u64>),
    Whole(Column<i64>, AttributeKind),
    Fraction(Column<f64>),
    Text(StrColumn),
    /// Nothing here has any.
    None(AttributeKind),
}

impl Values {
    pub(super) fn of(
        segment: &SegmentReader,
        shape: &Shape,
        attribute: Option<usize>,
    ) -> tantivy::Result<Self> {
        let columns = segment.fast_fields();
        let Some(at) = attribute else { return Ok(Self::Id(columns.u64("id")?)) };
        let kind = shape.attributes.get(at).map_or(AttributeKind::Uint, |one| one.kind);
        let name = attribute_name(at);
        let found = match kind {
            AttributeKind::Float => columns.column_opt::<f64>(&name)?.map(Self::Fraction),
            AttributeKind::Text => columns.str(&name)?.map(Self::Text),
            _ => columns.column_opt::<i64>(&name)?.map(|column| Self::Whole(column, kind)),
        };
        Ok(found.unwrap_or(Self::None(kind)))
    }

    /// What a document has.
    pub(super) fn value(&self, doc: DocId) -> Value {
        match self {
            Self::Id(column) => Value::Int(column.first(doc).map_or(0, u64::cast_signed)),
            Self::Whole(column, AttributeKind::Multi) => {
                Value::Multi(column.values_for_doc(doc).collect())
            }
            Self::Whole(column, _) => Value::Int(column.first(doc).unwrap_or(0)),
            Self::Fraction(column) => Value::Float(column.first(doc).unwrap_or(0.0)),
            Self::Text(column) => Value::Text(self.text(column.term_ords(doc).next())),
            Self::None(AttributeKind::Float) => Value::Float(0.0),
            Self::None(AttributeKind::Text) => Value::Text(String::new()),
            Self::None(AttributeKind::Multi) => Value::Multi(Vec::new()),
            Self::None(_) => Value::Int(0),
        }
    }

    /// A number that orders documents of this part as their values do.
    pub(super) fn key(&self, doc: DocId) -> u64 {
        match self {
            Self::Id(column) => column.first(doc).unwrap_or(0),
            Self::Whole(column, _) => whole_key(column.first(doc).unwrap_or(0)),
            Self::Fraction(column) => fraction_key(column.first(doc).unwrap_or(0.0)),
            // What has none is before the empty string, which is before all others.
            Self::Text(column) => column.term_ords(doc).next().map_or(0, |ord| ord + 1),
            Self::None(AttributeKind::Text) => 0,
            Self::None(AttributeKind::Float) => fraction_key(0.0),
            Self::None(_) => whole_key(0),
        }
    }

    /// The text behind a key that [`Values::key`] made.
    pub(super) fn text_of_key(&self, key: u64) -> String {
        self.text(key.checked_sub(1))
    }

    fn text(&self, ord: Option<u64>) -> String {
        let mut text = String::new();
        if let (Self::Text(column), Some(ord)) = (self, ord) {
            let _ = column.ord_to_str(ord, &mut text);
        }
        text
    }

    /// Calls with each raw value: numbers as they are, texts and fractions as their keys.
    pub(super) fn each_raw(&self, doc: DocId, visit: &mut dyn FnMut(i64)) {
        match self {
            Self::Whole(column, AttributeKind::Multi) => {
                column.values_for_doc(doc).for_each(visit);
            }
            Self::Whole(column, _) => visit(column.first(doc).unwrap_or(0)),
            Self::None(AttributeKind::Multi) => {}
            Self::None(AttributeKind::Float | AttributeKind::Text) | Self::Text(_) => {
                visit(self.key(doc).cast_signed());
            }
            Self::None(_) => visit(0),
            Self::Id(_) | Self::Fraction(_) => visit(self.key(doc).cast_signed()),
        }
    }

    /// The value behind what [`Values::each_raw`] gave.
    pub(super) fn value_of_raw(&self, raw: i64) -> Value {
        match self {
            Self::Text(_) | Self::None(AttributeKind::Text) => {
                Value::Text(self.text_of_key(raw.cast_unsigned()))
            }
            Self::Fraction(_) | Self::None(AttributeKind::Float) => {
                Value::Float(fraction_of_key(raw.cast_unsigned()))
            }
            _ => Value::Int(raw),
        }
    }
}

pub(super) fn whole_key(value: i64) -> u64 {
    value.cast_unsigned() ^ (1 << 63)
}

pub(super) fn fraction_key(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits >> 63 == 0 { bits ^ (1 << 63) } else { !bits }
}

fn fraction_of_key(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 { key ^ (1 << 63) } else { !key })
}

/// A condition, ready for one part of the index.
pub(super) struct Test {
    values: Values,
    condition: Condition,
    is_excluded: bool,
}

enum Condition {
    In(Vec<i64>),
    Range(i64, i64),
    FloatRange(f64, f64),
    /// Keys of the texts that this part has.
    Keys(Vec<u64>),
}

impl Test {
    pub(super) fn of(
        segment: &SegmentReader,
        shape: &Shape,
        filter: &Filter,
    ) -> tantivy::Result<Self> {
        let values = Values::of(segment, shape, filter.attribute)?;
        let condition = match &filter.kind {
            FilterKind::In(numbers) => {
                let mut numbers = numbers.clone();
                numbers.sort_unstable();
                Condition::In(numbers)
            }
            FilterKind::Range(from, to) => Condition::Range(*from, *to),
            FilterKind::FloatRange(from, to) => Condition::FloatRange(*from, *to),
            FilterKind::TextIn(texts) => Condition::Keys(keys_of(&values, texts)?),
        };
        Ok(Self { values, condition, is_excluded: filter.is_excluded })
    }

    pub(super) fn passes(&self, doc: DocId) -> bool {
        self.fits(doc) != self.is_excluded
    }

    fn fits(&self, doc: DocId) -> bool {
        match &self.condition {
            Condition::Keys(keys) => keys.contains(&self.values.key(doc)),
            Condition::In(numbers) => self.any(doc, |one| numbers.binary_search(&one).is_ok()),
            Condition::Range(from, to) => self.any(doc, |one| (*from..=*to).contains(&one)),
            Condition::FloatRange(from, to) => match &self.values {
                Values::Fraction(column) => {
                    (*from..=*to).contains(&column.first(doc).unwrap_or(0.0))
                }
                #[expect(clippy::cast_precision_loss, reason = "a fraction is asked for")]
                _ => self.any(doc, |one| (*from..=*to).contains(&(one as f64))),
            },
        }
    }

    fn any(&self, doc: DocId, mut is_fit: impl FnMut(i64) -> bool) -> bool {
        match &self.values {
            Values::Id(column) => is_fit(column.first(doc).map_or(0, u64::cast_signed)),
            Values::Whole(column, AttributeKind::Multi) => column.values_for_doc(doc).any(is_fit),
            Values::Whole(column, _) => is_fit(column.first(doc).unwrap_or(0)),
            Values::None(AttributeKind::Multi) => false,
            Values::None(_) => is_fit(0),
            #[expect(clippy::cast_possible_truncation, reason = "whole numbers are asked for")]
            Values::Fraction(column) => is_fit(column.first(doc).unwrap_or(0.0) as i64),
            Values::Text(_) => false,
        }
    }
}

fn keys_of(values: &Values, texts: &[String]) -> tantivy::Result<Vec<u64>> {
    let mut keys = Vec::new();
    for text in texts {
        if text.is_empty() {
            keys.push(0);
        }
        if let Values::Text(column) = values {
            keys.extend(column.dictionary().term_ord(text.as_bytes())?.map(|ord| ord + 1));
        }
    }
    Ok(keys)
}

/// Whether a condition can be asked of its attribute.
pub(super) fn check(shape: &Shape, filter: &Filter) -> Result<(), SearchError> {
    let Some(at) = filter.attribute else {
        return match filter.kind {
            FilterKind::TextIn(_) => Err(unfit("the id", "is a number")),
            _ => Ok(()),
        };
    };
    let attribute = shape
        .attributes
        .get(at)
        .ok_or_else(|| SearchError::Unfit(format!("there is no attribute {at}")))?;
    match (&filter.kind, attribute.kind) {
        (FilterKind::TextIn(_), AttributeKind::Text) => Ok(()),
        (FilterKind::TextIn(_), _) => Err(unfit(&attribute.name, "is a number")),
        (_, AttributeKind::Text) => Err(unfit(&attribute.name, "is a string")),
        _ => Ok(()),
    }
}

pub(super) fn unfit(name: &str, reason: &str) -> SearchError {
    SearchError::Unfit(format!("{name} {reason}"))
}

/// The number that a group has of a raw value.
pub(crate) fn group_number(by: GroupBy, raw: i64) -> i64 {
    const DAY: i64 = 86_400;
    let day = raw.div_euclid(DAY);
    match by {
        GroupBy::Attribute(_) => raw,
        GroupBy::Day(_) => {
            let (year, month, day) = civil(day);
            year * 10_000 + month * 100 + day
        }
        GroupBy::Week(_) => {
            // 1970 began on a Thursday; a week begins on Sunday.
            let sunday = day - (day + 4).rem_euclid(7);
            let (year, ..) = civil(sunday);
            year * 1000 + sunday - days_before(year) + 1
        }
        GroupBy::Month(_) => {
            let (year, month, _) = civil(day);
            year * 100 + month
        }
        GroupBy::Year(_) => civil(day).0,
    }
}

/// The date of a day since 1970, by the Gregorian calendar.
fn civil(day: i64) -> (i64, i64, i64) {
    // Years are counted from March, so that the odd day is the last of its year.
    let day = day + 719_468;
    let era = day.div_euclid(146_097);
    let of_era = day.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let in_month = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, in_month)
}

/// Days from 1970 to the first of January of a year.
fn days_before(year: i64) -> i64 {
    let last = year - 1;
    365 * (year - 1970) + last.div_euclid(4) - last.div_euclid(100) + last.div_euclid(400) - 477
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_have_their_days_and_weeks() {
        let cases = [
            // Thursday, the first day of all; its week began in the year before.
            (0, 19_700_101, 1_969_362, 197_001),
            (951_782_400, 20_000_229, 2_000_058, 200_002),
            (1_735_689_600, 20_250_101, 2_024_364, 202_501),
            (-1, 19_691_231, 1_969_362, 196_912),
        ];
        for (time, day, week, month) in cases {
            assert_eq!(group_number(GroupBy::Day(0), time), day);
            assert_eq!(group_number(GroupBy::Week(0), time), week, "{time}");
            assert_eq!(group_number(GroupBy::Month(0), time), month);
        }
    }

    #[test]
    fn keys_are_ordered_as_their_values() {
        let fractions = [f64::NEG_INFINITY, -2.5, -0.5, 0.0, 0.5, 2.5, f64::INFINITY];
        assert!(fractions.map(fraction_key).is_sorted());
        assert_eq!(fractions.map(|one| fraction_of_key(fraction_key(one))), fractions);
        assert!([i64::MIN, -1, 0, 1, i64::MAX].map(whole_key).is_sorted());
    }
}
