//! Status: how a site's changes are followed, in words for its owner.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;

use changes::{Lost, Nudge, Operation, Place, SQLITE_BYTES_MAX, Signature, Source};

use super::Following;
use super::ear::Means;

/// The last changes that swept.
const LAST_MAX: usize = 8;

/// Tables of which it is counted how often their changes swept; all others are one.
const TABLES_MAX: usize = 64;

/// Kinds of change that are told one by one.
const LINES_MAX: usize = 12;

/// How each source is heard.
pub(crate) struct Status {
    sources: Vec<SourceStatus>,
    /// What swept last, newest first, and how often in a row.
    last: VecDeque<(Signature, u64)>,
    /// How often changes of which table swept since the start.
    tables: BTreeMap<Box<str>, u64>,
}

struct SourceStatus {
    name: String,
    /// Where it is a file of a database.
    file: Option<PathBuf>,
    means: Option<Means>,
    nudge: Option<Nudge>,
    since_ticks_ms: u64,
    state: State,
    is_restless: bool,
}

enum State {
    /// Nothing was heard of it yet.
    Begins,
    Heard,
    Lost(String),
}

impl Status {
    pub(super) fn of(sources: &[Source]) -> Self {
        let sources = sources.iter().map(|source| SourceStatus {
            name: name(source),
            file: match source {
                Source::Sqlite(path) => Some(path.clone()),
                _ => None,
            },
            means: None,
            nudge: None,
            since_ticks_ms: 0,
            state: State::Begins,
            is_restless: false,
        });
        Self { sources: sources.collect(), last: VecDeque::new(), tables: BTreeMap::new() }
    }

    pub(super) fn by(&mut self, index: usize, means: Means) {
        if let Some(source) = self.sources.get_mut(index) {
            source.means = Some(means);
            source.nudge = None;
        }
    }

    pub(super) fn asked(&mut self, index: usize, nudge: Nudge) {
        if let Some(source) = self.sources.get_mut(index) {
            source.nudge = Some(nudge);
        }
    }

    /// Whether a source is heard by what tells how far it is.
    pub(super) fn tells_places(&self, index: usize) -> bool {
        let means = self.sources.get(index).and_then(|source| source.means);
        matches!(means, Some(Means::Log | Means::Told))
    }

    /// Asks all sources that are only looked at now and then for a look at once: all that was
    /// written before is told when these places are reached.
    pub(super) fn look(&self) -> Vec<Place> {
        self.sources.iter().filter_map(|source| Some(source.nudge.as_ref()?.look())).collect()
    }

    pub(super) fn heard(&mut self, index: usize, ticks_ms: u64) {
        if let Some(source) = self.sources.get_mut(index) {
            (source.state, source.since_ticks_ms) = (State::Heard, ticks_ms);
        }
    }

    pub(super) fn lost(&mut self, index: usize, lost: &Lost, ticks_ms: u64) {
        if let Some(source) = self.sources.get_mut(index) {
            if !matches!(source.state, State::Lost(_)) {
                source.since_ticks_ms = ticks_ms;
            }
            source.state = State::Lost(lost.to_string());
        }
    }

    pub(super) fn restless(&mut self, index: usize, is_restless: bool) {
        if let Some(source) = self.sources.get_mut(index) {
            source.is_restless = is_restless;
        }
    }

    /// How often changes of which table swept since the start; without a name: of all others.
    pub(super) fn swept_by(&self) -> Vec<(String, u64)> {
        self.tables.iter().map(|(table, count)| (table.to_string(), *count)).collect()
    }

    pub(super) fn changed(&mut self, signature: &Signature) {
        let table = &*signature.rows.table;
        let has_room = self.tables.len() < TABLES_MAX || self.tables.contains_key(table);
        let table = if has_room { table } else { "" };
        match self.tables.get_mut(table) {
            Some(count) => *count += 1,
            None => drop(self.tables.insert(table.into(), 1)),
        }
        match self.last.front_mut() {
            Some((known, times)) if known == signature => *times += 1,
            _ => {
                self.last.push_front((signature.clone(), 1));
                self.last.truncate(LAST_MAX);
            }
        }
    }
}

impl Following {
    /// Says, topic by topic, what is heard and what was learned.
    pub(crate) fn tell(&self, ticks_ms: u64, say: &mut dyn FnMut(&'static str, String)) {
        let status = self.status.lock();
        for source in &status.sources {
            say("changes", source.told(ticks_ms));
        }
        let followed = match self.is_heard() {
            true => format!(
                "followed: pages are fresh for {} s, and swept by changes",
                self.rules.fresh.as_secs()
            ),
            false => "not followed at the moment: pages are fresh for seconds only".to_owned(),
        };
        say("following", followed);
        let counts = &self.counts;
        say(
            "heard",
            format!(
                "changes {}, of them noise {}; sweeps {}, because of what \
                 nobody told {}; pages made anew unasked {}; probes {}",
                counts.heard.read(),
                counts.noise.read(),
                counts.sweeps.read(),
                counts.unheard.read(),
                counts.restored.read(),
                counts.probes.read(),
            ),
        );
        for (signature, times) in &status.last {
            let again = if *times > 1 { format!(", {times} times") } else { String::new() };
            say("swept by", format!("{}{again}", show(signature)));
        }
        drop(status);
        let learner = self.learner.lock();
        tell_some("noise", learner.proved().map(show), say);
        let suspects = self.suspects.lock();
        let suspected = suspects.iter().map(|(one, seen)| format!("{}, {seen} times", show(one)));
        tell_some("suspect", suspected, say);
    }
}

impl Following {
    /// Kinds of change that were proved to be noise, and those that are suspected, a few.
    pub(crate) fn kinds(&self) -> [Vec<String>; 2] {
        let noise = self.learner.lock().proved().take(LINES_MAX).map(show).collect();
        let suspects = self.suspects.lock();
        let suspected = suspects.iter().take(LINES_MAX).map(|(one, _)| show(one)).collect();
        [noise, suspected]
    }

    /// What is listened to and how that goes, and what swept last.
    pub(crate) fn heard(&self, ticks_ms: u64) -> [Vec<String>; 2] {
        let status = self.status.lock();
        let sources = status.sources.iter().map(|source| source.told(ticks_ms)).collect();
        let last = status.last.iter().map(|(signature, times)| match times {
            0 | 1 => show(signature),
            _ => format!("{}, {times} times", show(signature)),
        });
        [sources, last.collect()]
    }
}

impl SourceStatus {
    fn is_too_large(&self) -> bool {
        let about = self.file.as_ref().and_then(|file| file.metadata().ok());
        about.is_some_and(|about| about.len() > SQLITE_BYTES_MAX as u64)
    }

    fn told(&self, ticks_ms: u64) -> String {
        let means = match self.means {
            Some(Means::Log) => ", by its log",
            Some(Means::Poll) => ", by asking when its tables changed",
            Some(Means::Tap) => ", by the app's own statements and by asking which tables changed",
            Some(Means::Pages) if self.is_too_large() => {
                ", by its counter of changes alone, as it is too large for its pages to be looked at"
            }
            Some(Means::Pages) => ", by its counter of changes and its pages",
            Some(Means::Files) => ", by the system's word",
            Some(Means::Fellow { .. }) => ", by another node, which reads it for all",
            Some(Means::Told) | None => "",
        };
        let seconds = ticks_ms.saturating_sub(self.since_ticks_ms) / 1000;
        match &self.state {
            State::Begins => format!("{}: not heard yet", self.name),
            State::Heard if self.is_restless => format!(
                "{}: its tables change all the time, and which rows can't be told{means}; \
                 \"wick check\" says what it takes to follow its log",
                self.name
            ),
            State::Heard => format!("{}: heard for {seconds} s{means}", self.name),
            State::Lost(why) => format!("{}: not heard for {seconds} s: {why}", self.name),
        }
    }
}

/// Says the first of many lines, and how many there are.
fn tell_some(
    topic: &'static str,
    lines: impl Iterator<Item = String>,
    say: &mut dyn FnMut(&'static str, String),
) {
    let mut left = 0;
    for (index, line) in lines.enumerate() {
        match index {
            0..LINES_MAX => say(topic, line),
            _ => left += 1,
        }
    }
    if left > 0 {
        say(topic, format!("and {left} more kinds"));
    }
}

/// A source without its password, for people.
fn name(source: &Source) -> String {
    match source {
        Source::MySql(address) => format!("MariaDB or MySQL {address:?}"),
        Source::PostgreSql(address) => format!("PostgreSQL {address:?}"),
        Source::Sqlite(path) => format!("SQLite {}", path.display()),
        Source::Files(path) => format!("files in {}", path.display()),
        Source::Other(name) => name.clone(),
    }
}

/// A kind of change in one line: `update wp_options[_transient_#] (option_value)`.
pub(super) fn show(signature: &Signature) -> String {
    let operation = match signature.operation {
        Operation::Insert => "insert",
        Operation::Update => "update",
        Operation::Delete => "delete",
        Operation::Schema => "definition",
        Operation::Other => "change",
    };
    let table = match &*signature.rows.table {
        "" => "of unknown tables",
        table => table,
    };
    let key = match &signature.rows.key {
        changes::KeyClass::Of(class) => format!("[{class}]"),
        _ => String::new(),
    };
    let columns: Vec<String> = signature.columns.iter().map(ToString::to_string).collect();
    match columns.is_empty() {
        true => format!("{operation} {table}{key}"),
        false => format!("{operation} {table}{key} ({})", columns.join(", ")),
    }
}
