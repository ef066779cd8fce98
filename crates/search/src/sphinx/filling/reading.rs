//! An index is filled from its sources.
//!
//! Law: Sphinx 2.2's indexer: `sql_query_pre`, then ranges, then each range's rows, then what
//! other queries bring, then `sql_query_post`.
//! Invariants: 1. rows are put as they come. 2. what other queries bring is bounded:
//! [`VALUES_MAX`] values, [`KILLED_MAX`] ids; texts are put where they belong one by one.
//! 3. whatever is wrong ends it, and nobody sees what was put until then.
//! Start at [`fill`].

use std::collections::HashMap;

use super::layout::{Layout, Places, id_of, whole};
use super::place::place_of;
use crate::database::{Database, Go, Stop, Told, Trouble, ranged, steps};
use crate::sphinx::catalogue::Held;
use crate::sphinx::conf::{Joined, MultiFrom, Source};
use crate::sphinx::table::Kind;

/// Values of `sql_attr_multi` that queries bring, of one source.
const VALUES_MAX: usize = 8_000_000;
/// Ids of all `sql_query_killlist` of an index.
const KILLED_MAX: usize = 100_000;

/// What became of it.
#[derive(Debug, Default)]
pub(super) struct Filled {
    /// Rows without an id, which are left out.
    pub(super) skipped: u64,
    /// Rows that were put.
    pub(super) rows: u64,
    /// The largest id of each source.
    pub(super) largest: Vec<u64>,
    /// What indexes before this are not to show, in order.
    pub(super) killed: Vec<u64>,
    /// What didn't matter enough to end it.
    pub(super) warning: Option<String>,
}

/// Fills an index, which `open` makes when the columns of the first source are known.
pub(super) fn fill(
    sources: &[Source],
    stop: &Stop,
    open: &mut dyn FnMut(&Layout) -> Result<Held, Trouble>,
) -> Result<(Layout, Held, Filled), Trouble> {
    let mut filled = Filled::default();
    let mut opened = None;
    for source in sources {
        let of = |trouble| match trouble {
            Trouble::Away(why) => Trouble::Away(format!("{why}, in source {}", source.name)),
            Trouble::Refused(why) => Trouble::Refused(format!("source {}: {why}", source.name)),
            Trouble::Stopped => Trouble::Stopped,
        };
        let mut database = Database::connect(&place_of(source), stop).map_err(of)?;
        let mut reading = Reading { source, open, opened, filled, largest: 0 };
        reading.all(&mut database).map_err(of)?;
        let largest = reading.largest;
        (opened, filled) = (reading.opened, reading.filled);
        filled.largest.push(largest);
    }
    let Some((layout, held)) = opened else {
        return Err(Trouble::Refused("its sources have no columns".to_owned()));
    };
    filled.killed.sort_unstable();
    filled.killed.dedup();
    held.index.gather(false);
    if held.index.takes_wish_for_sources() {
        return Err(Trouble::Refused("what was read could not be written to the disk".to_owned()));
    }
    Ok((layout, held, filled))
}

/// One source that is read.
struct Reading<'a> {
    source: &'a Source,
    open: &'a mut dyn FnMut(&Layout) -> Result<Held, Trouble>,
    opened: Option<(Layout, Held)>,
    filled: Filled,
    largest: u64,
}

impl Reading<'_> {
    fn all(&mut self, database: &mut Database) -> Result<(), Trouble> {
        let source = self.source;
        for query in &source.queries_before {
            database.run(query)?;
        }
        let whole = whole_values(source, database)?;
        for (start, end) in steps(database, source.range.as_deref(), source.range_step)? {
            let mut own = Brought::new();
            for (name, kind, query) in of_main_query(source) {
                let ranged = ranged(query, start, end);
                values(database, &ranged, kind, own.entry(name.to_owned()).or_default())?;
            }
            self.rows(database, &ranged(&source.query, start, end), [&whole, &own])?;
        }
        for joined in &source.joined {
            self.join(database, joined)?;
        }
        if let Some(query) = &source.query_after
            && let Err(trouble) = database.run(query)
        {
            // indexer goes on, too.
            self.filled.warning = Some(format!("sql_query_post of {}: {trouble}", source.name));
        }
        if let Some(query) = &source.killlist {
            let killed = &mut self.filled.killed;
            database.each(query, &mut |told| {
                if let Told::Row(row) = told {
                    killed.extend(row.first().and_then(|id| id_of(id.as_deref()?)));
                }
                if killed.len() > KILLED_MAX {
                    return Err(Trouble::Refused(format!(
                        "sql_query_killlist has more than {KILLED_MAX} ids; make the main index anew"
                    )));
                }
                Ok(Go::On)
            })?;
        }
        Ok(())
    }

    /// The rows of one range.
    fn rows(
        &mut self,
        database: &mut Database,
        query: &str,
        brought: [&Brought; 2],
    ) -> Result<(), Trouble> {
        let mut ready: Option<(Places, Vec<_>)> = None;
        database.each(query, &mut |told| {
            match (told, &ready) {
                (Told::Columns(columns), _) => {
                    let layout = match &self.opened {
                        Some((layout, _)) => layout.clone(),
                        None => Layout::of(self.source, &columns),
                    };
                    let places = Places::of(&layout, self.source, &columns)?;
                    if self.opened.is_none() {
                        let held = (self.open)(&layout)?;
                        held.index.gather(true);
                        self.opened = Some((layout.clone(), held));
                    }
                    let placed = brought
                        .into_iter()
                        .flatten()
                        .filter_map(|(name, values)| Some((layout.attribute_at(name)?, values)));
                    let placed = placed.collect();
                    ready = Some((places, placed));
                }
                (Told::Row(row), Some((places, many))) => {
                    let Some((layout, held)) = &self.opened else { return Ok(Go::NoFurther) };
                    match places.document(layout, held, &row, many) {
                        Some(document) => {
                            self.largest = self.largest.max(document.id);
                            self.filled.rows += 1;
                            held.index.put(document);
                        }
                        None => self.filled.skipped += 1,
                    }
                }
                (Told::Row(_), None) => {}
            }
            Ok(Go::On)
        })
    }

    /// Texts that another query brings are put behind those that documents have.
    fn join(&mut self, database: &mut Database, joined: &Joined) -> Result<(), Trouble> {
        let Some((layout, held)) = &self.opened else { return Ok(()) };
        let Some(field) = layout.field_at(&joined.name) else { return Ok(()) };
        let step = self.source.range_step;
        let mut gathered: Option<(u64, String)> = None;
        let put = |(id, text): (u64, String)| {
            // Of what isn't there nothing is kept, as in Sphinx.
            if let Some(mut document) = held.index.get(id) {
                let place = &mut document.fields[field];
                if !place.is_empty() {
                    place.push(' ');
                }
                place.push_str(&text);
                held.index.put(document);
            }
        };
        for (start, end) in steps(database, joined.range.as_deref(), step)? {
            database.each(&ranged(&joined.query, start, end), &mut |told| {
                let Told::Row(row) = told else { return Ok(Go::On) };
                let value = |at: usize| row.get(at).and_then(Option::as_deref);
                let (Some(id), Some(text)) = (value(0).and_then(id_of), value(1)) else {
                    return Ok(Go::On);
                };
                let text = held.prepared(&String::from_utf8_lossy(text));
                match &mut gathered {
                    Some((last, texts)) if *last == id => {
                        texts.push(' ');
                        texts.push_str(&text);
                    }
                    other => {
                        if let Some(whole) = other.replace((id, text)) {
                            put(whole);
                        }
                    }
                }
                Ok(Go::On)
            })?;
        }
        gathered.into_iter().for_each(put);
        Ok(())
    }
}

/// Values of attributes by their names, and by ids.
type Brought = HashMap<String, HashMap<u64, Vec<i64>>>;

/// Attributes whose query has the main one's range.
fn of_main_query(source: &Source) -> impl Iterator<Item = (&str, Kind, &str)> {
    let kind = |is_large| if is_large { Kind::MultiBigint } else { Kind::Multi };
    source.multi.iter().filter_map(move |multi| match &multi.from {
        MultiFrom::Query(query) if query.contains("$start") => {
            Some((multi.name.as_str(), kind(multi.is_large), query.as_str()))
        }
        _ => None,
    })
}

/// The values of attributes that queries of their own bring.
fn whole_values(source: &Source, database: &mut Database) -> Result<Brought, Trouble> {
    let mut brought = Brought::new();
    for multi in &source.multi {
        let kind = if multi.is_large { Kind::MultiBigint } else { Kind::Multi };
        let (query, range) = match &multi.from {
            MultiFrom::Query(query) if !query.contains("$start") => (query, None),
            MultiFrom::Ranged { query, range } => (query, Some(range.as_str())),
            _ => continue,
        };
        for (start, end) in steps(database, range, source.range_step)? {
            let into = brought.entry(multi.name.clone()).or_default();
            values(database, &ranged(query, start, end), kind, into)?;
        }
    }
    Ok(brought)
}

fn values(
    database: &mut Database,
    query: &str,
    kind: Kind,
    into: &mut HashMap<u64, Vec<i64>>,
) -> Result<(), Trouble> {
    let mut count: usize = into.values().map(Vec::len).sum();
    database.each(query, &mut |told| {
        let Told::Row(row) = told else { return Ok(Go::On) };
        let value = |at: usize| row.get(at).and_then(Option::as_deref);
        if let (Some(id), Some(bytes)) = (value(0).and_then(id_of), value(1)) {
            into.entry(id).or_default().push(whole(kind, &String::from_utf8_lossy(bytes)));
            count += 1;
        }
        if count > VALUES_MAX {
            return Err(Trouble::Refused(format!(
                "a query of sql_attr_multi has more than {VALUES_MAX} values; take them from \
                 ranged-main-query"
            )));
        }
        Ok(Go::On)
    })
}
