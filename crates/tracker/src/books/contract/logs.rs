//! Logs of what a tracker was asked, as a contract names them.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Given, SiteSetting};
use crate::site_log::LogOf;

/// A table that has a row for each announce, or for each scrape, where somebody wants it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// Which.
    pub table: String,
    /// What a row is for.
    pub of: LogOf,
    /// Where the site says by anything but 0 that it wants them.
    pub wanted_by: Option<SiteSetting>,
    /// What becomes of its columns.
    pub row: BTreeMap<String, Given>,
    /// Whether our own settings want them.
    #[serde(skip)]
    pub is_wanted: bool,
}

impl Log {
    /// Why it can't be kept, if it can't.
    pub(super) fn is_wrong(&self, others: &[Self]) -> Option<String> {
        let Self { table, of, row, .. } = self;
        if others.iter().any(|other| other.of == *of) {
            return Some(format!(
                "the log `{table}` is the second of its kind: one table has them"
            ));
        }
        let is_wrong = |given: &&Given| matches!(given, Given::Figure(it) if !it.is_logged());
        row.values().find(is_wrong).map(|given| {
            format!("the log `{table}` can't tell {given:?}, which isn't known of one announce")
        })
    }
}
