//! The tracker's books: the database from which torrents and users come, and which is credited.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use tracker::Tracker;
use tracker::books::{self, Awaited, NODES, Pushes, State};

use super::BooksPlan;
use super::asking::at;

/// A database that is kept.
pub(crate) struct Books(books::Books);

impl Books {
    /// Begins to read it and to credit it.
    pub(crate) fn begin(
        plan: &BooksPlan,
        tracker: &Arc<Tracker>,
        folder: &Path,
    ) -> Result<Self, String> {
        let (place, contract) = (plan.place(folder)?, plan.contract()?);
        let begun = books::Books::begin(place, contract, plan.flush, tracker.clone());
        begun.map(Self).map_err(|error| error.to_string())
    }

    /// Takes a site's pushes, if the settings say what they bear.
    pub(crate) fn pushes(&self, plan: &BooksPlan, tracker: &Arc<Tracker>) -> Option<Pushes> {
        let secret = plan.push_secret.as_ref()?;
        Some(self.0.pushes(secret.0.clone(), tracker.clone()))
    }

    /// How it stands, for programs.
    pub(crate) fn told(&self) -> Value {
        serde_json::to_value(self.0.status()).unwrap_or_default()
    }

    /// The same for people.
    pub(crate) fn sentence(&self) -> String {
        let status = self.0.status();
        let (users, torrents) = (status.users, status.torrents);
        let mut said = match status.state {
            State::Starting => "not reached yet".to_owned(),
            State::Good => format!("well; {users} users, {torrents} torrents"),
            State::Waiting | State::Refused => {
                format!("not well since {}: {}", at(status.since), status.why)
            }
        };
        if status.free > 0 {
            said += &format!("; {} free", status.free);
        }
        if status.rows_unreadable > 0 {
            said += &format!("; {} rows can't be read", status.rows_unreadable);
        }
        if status.rows_refused > 0 {
            said += &format!("; {} rows refused, {}", status.rows_refused, status.last_refused);
        }
        if let Some(Awaited { id, name, told }) = &status.awaited {
            let since = match told {
                0 => "at all".to_owned(),
                told => format!("since {}", at(*told)),
            };
            said += &format!(
                "; keeps each announce for node {name}, which hasn't told {since}: if it is gone \
                 for good, wick cluster forget {name}; if only its former folder is, UPDATE \
                 {NODES} SET is_gone = 1 WHERE id = {id}"
            );
        }
        if status.log_rows > 0 || status.log_rows_left_out > 0 {
            let (rows, out) = (status.log_rows, status.log_rows_left_out);
            said += &format!("; {rows} rows in the site's log, {out} left out");
        }
        if !status.log_why.is_empty() {
            said += &format!("; the site's log isn't written: {}", status.log_why);
        }
        if !status.unwritten_tables.is_empty() {
            said += &format!("; may not write {}", status.unwritten_tables.join(", "));
        }
        if !status.loose_tables.is_empty() {
            said += &format!("; without transactions: {}", status.loose_tables.join(", "));
        }
        said
    }

    /// Writes what there is, and ends. Waits.
    pub(crate) fn end(&self) {
        self.0.end();
    }
}
