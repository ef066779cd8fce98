//! SEARCH: one query as the binary API sends it.
//!
//! Law: versions 0x113 to 0x11e; what a later one added is read where the version says so.

use crate::sphinx::bytes::{Bytes, Cut};

const FILTERS_MAX: usize = 256;
/// searchd's `max_filter_values`.
const VALUES_MAX: usize = 4096;
const WEIGHTS_MAX: usize = 256;
/// The ranker whose formula follows it.
const RANK_EXPRESSION: u32 = 8;

/// How a query's text is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// All words.
    All,
    /// Any of them.
    Any,
    /// Them in this order, and nothing between.
    Phrase,
    /// `&`, `|`, `-` and parentheses.
    Boolean,
    /// Sphinx's own language.
    #[default]
    Extended,
    /// Everything that the filters let through.
    FullScan,
}

/// The text, and how it is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matching {
    /// See [`Mode`].
    pub mode: Mode,
    /// What was typed.
    pub text: String,
}

/// How matches are ordered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Sorting {
    /// The best first.
    #[default]
    Relevance,
    /// The largest first.
    Descending(String),
    /// The smallest first.
    Ascending(String),
    /// Of the last hour, day, week, month, three months, then the rest; in these the best first.
    TimeSegments(String),
    /// As SQL says it.
    Extended(String),
    /// By a formula, which isn't obeyed.
    Expression(String),
}

/// What a match's attribute must be.
#[derive(Clone, Debug, PartialEq)]
pub enum Filter {
    /// One of these.
    Values(Vec<i64>),
    /// Within, ends included.
    Range(i64, i64),
    /// Within, ends included.
    Floats(f32, f32),
    /// One of these texts.
    Texts(Vec<String>),
}

/// What of an attribute makes a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GroupFunction {
    /// The day of a time, as `YYYYMMDD`.
    #[default]
    Day,
    /// The day that its week began on, as `YYYYDDD` with the day of the year.
    Week,
    /// `YYYYMM`.
    Month,
    /// `YYYY`.
    Year,
    /// The value itself.
    Value,
    /// A pair of values, which isn't obeyed.
    Pair,
}

/// One query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Query {
    /// Matches passed over.
    pub offset: usize,
    /// Matches wanted.
    pub limit: usize,
    /// The text.
    pub matching: Matching,
    /// By its number; sets don't depend on it.
    pub ranker: u32,
    /// The order; within groups, where there are groups.
    pub sorting: Sorting,
    /// With commas or spaces between; `*` is all.
    pub indexes: String,
    /// By the fields' order.
    pub weights: Vec<u32>,
    /// The least and the largest id; none: all.
    pub id_range: Option<(u64, u64)>,
    /// An attribute, what it must be, and whether it must not.
    pub filters: Vec<(String, Filter, bool)>,
    /// No group if the attribute is empty.
    pub group_by: String,
    /// What of it makes a group.
    pub group_function: GroupFunction,
    /// The order of groups.
    pub group_sort: String,
    /// Values of this attribute are counted in each group.
    pub distinct: String,
    /// Matches that are kept.
    pub max_matches: usize,
    /// The search may end after so many; it doesn't.
    pub cutoff: usize,
    /// Distances on the globe are asked for.
    pub has_anchor: bool,
    /// By name.
    pub index_weights: Vec<(String, u32)>,
    /// By name.
    pub field_weights: Vec<(String, u32)>,
    /// The search ends after so long; 0: never.
    pub query_milliseconds_max: u32,
    /// Values of attributes are to be replaced for this query.
    pub has_overrides: bool,
    /// As SQL lists columns.
    pub select: String,
    /// The client's version, which decides how it is answered.
    pub version: u16,
}

/// Reads one query of a request.
pub(super) fn read(bytes: &mut Bytes<'_>, version: u16) -> Result<Query, Cut> {
    let mut query = Query { version, select: "*".to_owned(), ..Query::default() };
    let flags = if version >= 0x11b { bytes.number()? } else { 0 };
    query.offset = bytes.count(usize::MAX)?;
    query.limit = bytes.count(usize::MAX)?;
    query.matching.mode = mode(bytes.number()?)?;
    query.ranker = bytes.number()?;
    if query.ranker == RANK_EXPRESSION && version >= 0x119 {
        bytes.text()?;
    }
    let sorting = bytes.number()?;
    query.sorting = sorting_of(sorting, bytes.text()?)?;
    query.matching.text = bytes.text()?;
    query.weights = bytes.many(WEIGHTS_MAX, Bytes::number)?;
    query.indexes = bytes.text()?;
    query.id_range = read_id_range(bytes)?;
    query.filters = bytes.many(FILTERS_MAX, read_filter)?;
    read_group(bytes, &mut query)?;
    read_bounds(bytes, &mut query)?;
    if version >= 0x116 {
        query.select = bytes.text()?;
    }
    // A time that the query may be predicted to take, where a flag says so.
    if version >= 0x11b && flags & 4 != 0 {
        bytes.number()?;
    }
    if version >= 0x11d {
        // An outer order with its offset and limit, which aren't obeyed.
        bytes.text()?;
        bytes.take(3 * 4)?;
    }
    Ok(query)
}

fn mode(number: u32) -> Result<Mode, Cut> {
    Ok(match number {
        0 => Mode::All,
        1 => Mode::Any,
        2 => Mode::Phrase,
        3 => Mode::Boolean,
        4 | 6 => Mode::Extended,
        5 => Mode::FullScan,
        _ => return Err(Cut),
    })
}

fn sorting_of(number: u32, by: String) -> Result<Sorting, Cut> {
    Ok(match number {
        0 => Sorting::Relevance,
        1 => Sorting::Descending(by),
        2 => Sorting::Ascending(by),
        3 => Sorting::TimeSegments(by),
        4 => Sorting::Extended(by),
        5 => Sorting::Expression(by),
        _ => return Err(Cut),
    })
}

/// Two zeros, or nothing above the first, mean all.
fn read_id_range(bytes: &mut Bytes<'_>) -> Result<Option<(u64, u64)>, Cut> {
    let (least, most) = match bytes.number()? {
        0 => (bytes.number()?.into(), bytes.number()?.into()),
        _ => (bytes.large()?, bytes.large()?),
    };
    let most = if most == 0 { u64::MAX } else { most };
    Ok((least > 0 || most < u64::MAX).then_some((least, most)))
}

fn read_filter(bytes: &mut Bytes<'_>) -> Result<(String, Filter, bool), Cut> {
    let attribute = bytes.text()?;
    let filter = match bytes.number()? {
        0 => Filter::Values(bytes.many(VALUES_MAX, Bytes::signed)?),
        1 => Filter::Range(bytes.signed()?, bytes.signed()?),
        2 => Filter::Floats(bytes.float()?, bytes.float()?),
        3 => Filter::Texts(vec![bytes.text()?]),
        6 => Filter::Texts(bytes.many(VALUES_MAX, Bytes::text)?),
        _ => return Err(Cut),
    };
    Ok((attribute, filter, bytes.number()? != 0))
}

fn read_group(bytes: &mut Bytes<'_>, query: &mut Query) -> Result<(), Cut> {
    query.group_function = match bytes.number()? {
        0 => GroupFunction::Day,
        1 => GroupFunction::Week,
        2 => GroupFunction::Month,
        3 => GroupFunction::Year,
        4 => GroupFunction::Value,
        5 => GroupFunction::Pair,
        _ => return Err(Cut),
    };
    query.group_by = bytes.text()?;
    query.max_matches = bytes.count(usize::MAX)?;
    query.group_sort = bytes.text()?;
    query.cutoff = bytes.count(usize::MAX)?;
    // How often and when agents are asked again.
    bytes.take(2 * 4)?;
    query.distinct = bytes.text()?;
    Ok(())
}

fn read_bounds(bytes: &mut Bytes<'_>, query: &mut Query) -> Result<(), Cut> {
    query.has_anchor = bytes.number()? != 0;
    if query.has_anchor {
        bytes.text()?;
        bytes.text()?;
        bytes.take(2 * 4)?;
    }
    let weight = |bytes: &mut Bytes<'_>| Ok((bytes.text()?, bytes.number()?));
    query.index_weights = bytes.many(WEIGHTS_MAX, weight)?;
    query.query_milliseconds_max = bytes.number()?;
    query.field_weights = bytes.many(WEIGHTS_MAX, weight)?;
    // A comment, for the log.
    bytes.text()?;
    let overrides = bytes.many(WEIGHTS_MAX, |bytes| {
        bytes.text()?;
        let value_bytes = if bytes.number()? == 6 { 8 } else { 4 };
        bytes.many(usize::MAX, |bytes| bytes.take(8 + value_bytes).map(drop))
    })?;
    query.has_overrides = !overrides.is_empty();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `sphinxapi.php` of 2.0 packs it, with a filter of each kind.
    fn packed() -> Vec<u8> {
        let mut out = Vec::new();
        let number = |out: &mut Vec<u8>, number: u32| out.extend(number.to_be_bytes());
        let text = |out: &mut Vec<u8>, text: &str| {
            out.extend(u32::try_from(text.len()).unwrap().to_be_bytes());
            out.extend(text.as_bytes());
        };
        [10, 20, 6, 0, 4].iter().for_each(|it| number(&mut out, *it));
        text(&mut out, "posted DESC");
        text(&mut out, "@title hello");
        number(&mut out, 0);
        text(&mut out, "delta;main");
        number(&mut out, 1);
        out.extend([0; 16]);
        number(&mut out, 2);
        text(&mut out, "forum_id");
        [0, 1, 0, 2, 1].iter().for_each(|it| number(&mut out, *it));
        text(&mut out, "rating");
        number(&mut out, 2);
        out.extend(1.5_f32.to_be_bytes());
        out.extend(2.5_f32.to_be_bytes());
        [0, 4].iter().for_each(|it| number(&mut out, *it));
        text(&mut out, "topic_id");
        number(&mut out, 20000);
        text(&mut out, "@group desc");
        [0, 0, 0, 0, 0, 0, 0, 1].iter().for_each(|it| number(&mut out, *it));
        text(&mut out, "title");
        number(&mut out, 5);
        text(&mut out, "");
        number(&mut out, 0);
        text(&mut out, "*");
        out
    }

    #[test]
    fn a_query_is_read_and_a_part_of_it_is_not() {
        let whole = packed();
        let mut bytes = Bytes(&whole);
        let query = read(&mut bytes, 0x119).unwrap();
        assert!(bytes.0.is_empty());
        assert_eq!((query.offset, query.limit, query.max_matches), (10, 20, 20000));
        assert_eq!(query.sorting, Sorting::Extended("posted DESC".to_owned()));
        assert_eq!(query.indexes, "delta;main");
        let filters = [
            ("forum_id".to_owned(), Filter::Values(vec![2]), true),
            ("rating".to_owned(), Filter::Floats(1.5, 2.5), false),
        ];
        assert_eq!(query.filters, filters);
        assert_eq!(query.group_function, GroupFunction::Value);
        assert_eq!(query.field_weights, [("title".to_owned(), 5)]);
        for end in 0..whole.len() {
            assert_eq!(read(&mut Bytes(&whole[..end]), 0x119), Err(Cut), "{end}");
        }
    }
}
