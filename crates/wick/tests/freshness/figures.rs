//! What the trials measured: a table for each kind, printed and kept in
//! `target/freshness.md`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::browser::Outcome;

/// All tables of a run.
#[derive(Default)]
pub(crate) struct Figures {
    tables: Mutex<BTreeMap<&'static str, Table>>,
}

struct Table {
    columns: &'static [&'static str],
    rows: Vec<Vec<String>>,
}

impl Figures {
    /// Adds a row to the table of this title.
    pub(crate) fn add(
        &self,
        title: &'static str,
        columns: &'static [&'static str],
        row: Vec<String>,
    ) {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        tables.entry(title).or_insert(Table { columns, rows: Vec::new() }).rows.push(row);
    }

    /// Prints the tables and writes them down; a run that measured nothing has none.
    pub(crate) fn show(&self) -> Outcome<()> {
        let tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        if tables.is_empty() {
            return Ok(());
        }
        let mut text = String::new();
        for (title, table) in tables.iter() {
            let dashes = vec!["---"; table.columns.len()].join(" | ");
            // Writing to a string can't fail.
            let _ = writeln!(text, "## {title}\n\n| {} |\n| {dashes} |", table.columns.join(" | "));
            for row in &table.rows {
                let _ = writeln!(text, "| {} |", row.join(" | "));
            }
            text.push('\n');
        }
        eprintln!("\n{text}");
        let target = Path::new(env!("CARGO_BIN_EXE_wick")).ancestors().nth(2);
        let path = target.unwrap_or(Path::new(".")).join("freshness.md");
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    }
}

/// How long something took, each time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times(Vec<Duration>);

impl Times {
    pub(crate) fn add(&mut self, time: Duration) {
        let at = self.0.partition_point(|known| *known <= time);
        self.0.insert(at, time);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn max(&self) -> Duration {
        self.0.last().copied().unwrap_or_default()
    }

    /// p50, p99 and the longest, as cells.
    pub(crate) fn cells(&self) -> Vec<String> {
        [50, 99]
            .map(|percent| self.percentile(percent))
            .into_iter()
            .chain([self.max()])
            .map(ms)
            .collect()
    }

    /// The shortest time that so many of a hundred don't exceed.
    fn percentile(&self, percent: usize) -> Duration {
        let rank = (self.0.len() * percent).div_ceil(100);
        self.0.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    }
}

/// As tables show it.
pub(crate) fn ms(time: Duration) -> String {
    format!("{} ms", time.as_millis())
}
