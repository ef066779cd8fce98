//! A table read in ranges of ids, so that no answer is endless.
//!
//! Bound: [`STEPS_MAX`] ranges.

use super::{Database, Go, Told, Trouble};

/// Ranges of one source.
const STEPS_MAX: u64 = 10_000_000;

/// The ranges that a query is asked in; one without a beginning where there are none.
pub(crate) fn steps(
    database: &mut Database,
    range: Option<&str>,
    step: u64,
) -> Result<impl Iterator<Item = (u64, u64)> + use<>, Trouble> {
    let (least, most) = match range {
        None => (0, 0),
        Some(query) => bounds(database, query)?,
    };
    let count = ((most - least) / step).saturating_add(1);
    if count > STEPS_MAX {
        return Err(Trouble::Refused(format!(
            "ids from {least} to {most} are more than {STEPS_MAX} ranges; write a larger step \
             (sql_range_step)"
        )));
    }
    let ends = move |at: u64| {
        let start = least + at * step;
        (start, start.saturating_add(step - 1).min(most))
    };
    Ok((0..count).map(ends))
}

/// The least and the largest id; both 0 where there is none.
pub(crate) fn bounds(database: &mut Database, query: &str) -> Result<(u64, u64), Trouble> {
    let mut ends = None;
    database.each(query, &mut |told| {
        let Told::Row(row) = told else { return Ok(Go::On) };
        let number = |at: usize| {
            let bytes = row.get(at).and_then(Option::as_deref)?;
            std::str::from_utf8(bytes).ok()?.trim().parse::<u64>().ok()
        };
        // An empty table has neither.
        ends = Some((number(0).unwrap_or(0), number(1).unwrap_or(0)));
        Ok(Go::NoFurther)
    })?;
    match ends {
        None => Err(Trouble::Refused("the query of the range has no row".to_owned())),
        Some((least, most)) if least > most => Err(Trouble::Refused(format!(
            "the query of the range tells {least} for the least id and {most} for the largest"
        ))),
        Some(ends) => Ok(ends),
    }
}

/// A query for one range.
pub(crate) fn ranged(query: &str, start: u64, end: u64) -> String {
    query.replace("$start", &start.to_string()).replace("$end", &end.to_string())
}
