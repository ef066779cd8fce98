//! The result of a run: a line for each specimen, printed and kept in `target/strangers.md`.

use std::fmt::Write;
use std::path::Path;

use crate::browser::Outcome;

/// What one specimen came to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    pub(crate) specimen: String,
    pub(crate) pages: usize,
    /// HTML answers from the second round on, and how many of them came from memory.
    pub(crate) answers: usize,
    pub(crate) from_memory: usize,
    pub(crate) log_in: &'static str,
    pub(crate) guest: &'static str,
    /// Whether everybody read what the origin shows.
    pub(crate) as_origin: &'static str,
}

/// The rows so far.
#[derive(Default)]
pub(crate) struct Table {
    rows: Vec<Row>,
}

impl Table {
    pub(crate) fn add(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Prints the table and writes it down; a run without specimens has none.
    pub(crate) fn show(&self) -> Outcome<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let text = self.text();
        println!("\n{text}");
        let target = Path::new(env!("CARGO_BIN_EXE_wick")).ancestors().nth(2);
        let path = target.unwrap_or(Path::new(".")).join("strangers.md");
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    }

    fn text(&self) -> String {
        let mut rows = self.rows.clone();
        rows.sort_by(|a, b| a.specimen.cmp(&b.specimen));
        let mut text = String::from(
            "| specimen | pages | hits from the second visit on | login | guest flow | as the origin |\n\
             | --- | --- | --- | --- | --- | --- |\n",
        );
        for row in rows {
            let share = row.from_memory * 100 / row.answers.max(1);
            // Writing to a string can't fail.
            let _ = writeln!(
                text,
                "| {} | {} | {} of {} ({share} %) | {} | {} | {} |",
                row.specimen,
                row.pages,
                row.from_memory,
                row.answers,
                row.log_in,
                row.guest,
                row.as_origin
            );
        }
        text
    }
}
