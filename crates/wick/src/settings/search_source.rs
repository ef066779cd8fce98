//! `[[site.search_source]]`, as an owner writes it.

use std::path::PathBuf;

use changes::Source;
use serde::Deserialize;
use serde::de::{self, Deserializer};

use super::Seconds;

/// One `[[site.search_source]]`: rows that are found beside the site's pages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SearchSourceSettings {
    /// Where the rows are: `"mysql://user:password@host/database?socket=/run/mysqld/mysqld.sock"`,
    /// `"postgres://user:password@host/database"` or `"sqlite:/path/to/file"`. A user who may only
    /// read is enough. Default: none; then `file` names them.
    pub(crate) database: Option<RowDatabase>,
    /// The query that brings all rows, with columns called `address` (a path or URL of the site),
    /// `title`, `text`, `changed` (seconds since 1970, or a date in UTC), `language` (`"en"`) and
    /// `public`. Rows of which `public` is true are found by these words; others aren't. Without
    /// that column each address is read as a stranger is given it, and found by what it says
    /// then. Default: none.
    pub(crate) query: Option<String>,
    /// A query for the least and the largest id, where `query` has `$start` and `$end` and is to
    /// be asked in ranges, as in `"SELECT MIN(id), MAX(id) FROM posts"`. Default: none.
    pub(crate) range: Option<String>,
    /// How many ids a range has. Default: `1000`.
    pub(crate) step: Option<u64>,
    /// A query for the rows that have changed since `$since`, in seconds since 1970, those that
    /// are public no more among them; with the same columns. Default: none; all rows are read
    /// each time.
    pub(crate) delta: Option<String>,
    /// A file with an object of JSON on each line, whose names are those of the columns; it is
    /// read again when it has changed. Default: none.
    pub(crate) file: Option<PathBuf>,
    /// Whether the texts are HTML, of which the tags are left out. Default: `false`.
    pub(crate) html: Option<bool>,
    /// How often it is asked: for `delta` where there is one, else for all; less often where that
    /// would take more than a twentieth of the time. Default: `1m`.
    pub(crate) every: Option<Seconds>,
    /// How often all rows are read where there is a `delta`, so that those that are gone without
    /// a trace are found no more. Default: `1h`.
    pub(crate) all_every: Option<Seconds>,
}

/// A database that can be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RowDatabase(pub(crate) Source);

impl<'de> Deserialize<'de> for RowDatabase {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.parse() {
            Ok(Source::Files(_) | Source::Other(_)) => Err(de::Error::custom(
                "that is no database: write mysql://user:password@host/database, \
                 postgres://user:password@host/database or sqlite:/path/to/file",
            )),
            Ok(source) => Ok(Self(source)),
            // It never repeats the text, which may bear a password.
            Err(error) => Err(de::Error::custom(error)),
        }
    }
}
