//! A question of either protocol, as it is answered by `run`.

use super::api::{self, Filter, GroupFunction, Mode, Sorting};
use super::ql::{
    Column, Condition, Expression, Literal, Options, Order, Select, Test, Where, read_columns,
    read_order,
};

/// A select, and what only the binary API can say.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    /// What is asked.
    pub select: Select,
    /// How the text is read.
    pub mode: Mode,
    /// What of the group's attribute makes a group.
    pub group_function: GroupFunction,
    /// Values of this attribute are counted in each group.
    pub distinct: Option<String>,
    /// Matches are ordered by how long ago this was, in steps.
    pub segments: Option<String>,
    /// By the fields' order.
    pub weights: Vec<u32>,
    /// Groups are shown beside what was asked for, under their older names.
    pub is_api: bool,
    /// Whether the words' counts are wanted.
    pub has_words: bool,
}

impl From<Select> for Ask {
    fn from(select: Select) -> Self {
        let distinct = select.columns.iter().find_map(|column| match &column.value {
            Expression::Distinct(name) => Some(name.clone()),
            _ => None,
        });
        Self {
            select,
            mode: Mode::Extended,
            group_function: GroupFunction::Value,
            distinct,
            segments: None,
            weights: Vec::new(),
            is_api: false,
            has_words: false,
        }
    }
}

impl Ask {
    /// What a query of the binary API asks.
    ///
    /// # Errors
    /// It asks for what isn't obeyed, or can't be read.
    pub fn of_api(query: &api::Query) -> Result<Self, String> {
        refuse(query)?;
        let sorting = order_of(&query.sorting)?;
        let group_order = read_order(&query.group_sort).map_err(|error| error.to_string());
        let is_grouped = !query.group_by.is_empty();
        let select = Select {
            columns: columns(&query.select)?,
            indexes: names(&query.indexes),
            filter: Where {
                matching: Some(query.matching.text.clone()),
                conditions: conditions(query),
            },
            group_by: is_grouped.then(|| query.group_by.clone()),
            within: if is_grouped { sorting.clone() } else { Vec::new() },
            order: if is_grouped { group_order? } else { sorting },
            offset: query.offset,
            limit: query.limit,
            options: Options {
                ranker: (query.ranker == 2).then(|| "none".to_owned()),
                max_matches: Some(query.max_matches).filter(|most| *most > 0),
                cutoff: None,
                max_query_milliseconds: Some(query.query_milliseconds_max).filter(|it| *it > 0),
                field_weights: query.field_weights.clone(),
                index_weights: query.index_weights.clone(),
                not_obeyed: Vec::new(),
            },
        };
        Ok(Self {
            select,
            mode: query.matching.mode,
            group_function: query.group_function,
            distinct: Some(query.distinct.clone()).filter(|name| is_grouped && !name.is_empty()),
            segments: match &query.sorting {
                Sorting::TimeSegments(by) => Some(by.clone()),
                _ => None,
            },
            weights: query.weights.clone(),
            is_api: true,
            has_words: true,
        })
    }
}

fn refuse(query: &api::Query) -> Result<(), String> {
    let refused = [
        (matches!(query.sorting, Sorting::Expression(_)), "sorting by an expression"),
        (query.group_function == GroupFunction::Pair, "grouping by pairs"),
        (query.has_anchor, "a geographical anchor"),
        (query.has_overrides, "an override of attributes"),
    ];
    match refused.iter().find(|(is_asked, _)| *is_asked) {
        Some((_, what)) => Err(format!("{what} is not supported by Wick")),
        None => Ok(()),
    }
}

/// Names with anything else between them.
fn names(list: &str) -> Vec<String> {
    if list.trim() == "*" {
        return vec!["*".to_owned()];
    }
    let is_name = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-');
    let names = list.split(|letter| !is_name(letter)).filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

fn columns(select: &str) -> Result<Vec<Column>, String> {
    if select.trim().is_empty() {
        return Ok(vec![Column { value: Expression::Star, name: "*".to_owned() }]);
    }
    read_columns(select).map_err(|error| error.to_string())
}

fn order_of(sorting: &Sorting) -> Result<Vec<Order>, String> {
    let by = |key: &str, is_descending| vec![Order { key: key.trim().to_owned(), is_descending }];
    Ok(match sorting {
        Sorting::Relevance | Sorting::Expression(_) => by("@weight", true),
        Sorting::Descending(key) => by(key, true),
        Sorting::Ascending(key) => by(key, false),
        // Within a segment the best is first.
        Sorting::TimeSegments(_) => by("@weight", true),
        Sorting::Extended(clause) => read_order(clause).map_err(|error| error.to_string())?,
    })
}

fn conditions(query: &api::Query) -> Vec<Condition> {
    let range = |least, most| Test::Range { least: Some((least, true)), most: Some((most, true)) };
    let test = |filter: &Filter| match filter {
        Filter::Values(values) => Test::In(values.iter().copied().map(Literal::Int).collect()),
        Filter::Range(least, most) => range(Literal::Int(*least), Literal::Int(*most)),
        Filter::Floats(least, most) => {
            range(Literal::Float((*least).into()), Literal::Float((*most).into()))
        }
        Filter::Texts(texts) => Test::In(texts.iter().cloned().map(Literal::Text).collect()),
    };
    let mut conditions: Vec<_> = query
        .filters
        .iter()
        .map(|(name, filter, is_excluded)| Condition {
            name: name.clone(),
            test: test(filter),
            is_excluded: *is_excluded,
        })
        .collect();
    if let Some((least, most)) = query.id_range {
        let bound = |id: u64| Literal::Int(i64::try_from(id).unwrap_or(i64::MAX));
        let test = range(bound(least), bound(most));
        conditions.push(Condition { name: "@id".to_owned(), test, is_excluded: false });
    }
    conditions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_names_have_anything_between() {
        assert_eq!(names("index_delta;index_main"), ["index_delta", "index_main"]);
        assert_eq!(names("a, b c"), ["a", "b", "c"]);
        assert_eq!(names("*"), ["*"]);
    }

    #[test]
    fn what_is_not_obeyed_is_refused() {
        let query = api::Query {
            sorting: Sorting::Expression("a*2".to_owned()),
            group_sort: "@group desc".to_owned(),
            ..api::Query::default()
        };
        let refused = Ask::of_api(&query).unwrap_err();
        assert_eq!(refused, "sorting by an expression is not supported by Wick");
    }
}
