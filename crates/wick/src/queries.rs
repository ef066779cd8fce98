//! `wick queries`: which queries a database's time goes to.
//!
//! Reading, counting and telling are done by the `queries` crate; here its sources are
//! opened, and what comes out is written.

mod progress;
mod site;

use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use changes::{Address, AddressError};
use clap::{Args, ValueEnum};
use queries::advice::server::advise;
use queries::classes::Classes;
use queries::digests::{self, DigestError};
use queries::files::{self, Growing};
use queries::logs::{Faults, Reading};
use queries::report::{Report, Wanted};
use queries::saved::Saved;
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::announce::say;
use crate::control::ControlError;
use crate::live_line::LiveLine;
use crate::plan;
use crate::run::{RunError, single_threaded};

/// How often a log that grows is looked at.
const PAUSE: Duration = Duration::from_millis(200);
/// After so many queries of a log it is looked whether it is time to tell of them.
const LOOK_EACH: u64 = 1 << 16;

/// `wick queries`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Queries {
    /// Slow logs of MySQL or MariaDB, logs of PostgreSQL (stderr, csv or json), as they are or
    /// packed by gzip or zstd, "-" for standard input; or a server, as in
    /// mysql://user:password@host or postgres://user:password@host/database.
    #[arg(required_unless_present = "site", conflicts_with = "site", value_name = "LOG")]
    pub(crate) sources: Vec<String>,
    /// Watch the queries of this site, which the running Wick serves with changes = "tap": also
    /// which requests run them, and what caching those would save.
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "")]
    pub(crate) site: Option<String>,
    /// The state folder of that Wick [default: /var/lib/wick for root, else the user's state
    /// folder].
    #[arg(long, value_name = "DIR", requires = "site")]
    pub(crate) state: Option<PathBuf>,
    /// How the report is written to standard output.
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
    /// Write the report to this file too, as a page with plots that needs nothing else.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// How many classes to tell of.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) top: usize,
    /// Show examples with their literals, which may be passwords or addresses.
    #[arg(long)]
    pub(crate) literals: bool,
    /// Keep what the classes come to in this file, for --since.
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
    /// Tell what is new, gone and worse since the run that was saved in this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) since: Option<PathBuf>,
    /// Go on as the log grows, also over its rotation, and report at Ctrl-C.
    #[arg(long)]
    pub(crate) follow: bool,
    /// Ask this server for advice: which indexes would help the classes that are told, tried
    /// where it can be, and which nobody uses. Nothing that others see is changed.
    #[arg(long, value_name = "URL")]
    pub(crate) explain: Option<String>,
    /// How long a server or a site is watched.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = read_window)]
    pub(crate) window: Duration,
}

/// How a report is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub(crate) enum QueriesError {
    /// A log can't be read.
    #[error("can't read {0}: {1}; name a log that this user may read, or - for standard input")]
    Unreadable(String, io::Error),
    /// It is no log that is known.
    #[error(
        "{0} is no log that is known: a slow log of MySQL or MariaDB, or a log of PostgreSQL \
         (stderr, csvlog or jsonlog) with durations"
    )]
    Unknown(String),
    /// An address that is none.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// A server and something else.
    #[error("name one server, or one or several logs")]
    Mixed,
    /// Several logs can't be followed, nor what isn't a file.
    #[error("--follow takes one log, not packed and not standard input")]
    Follow,
    /// A server can't be asked.
    #[error(transparent)]
    Digests(#[from] DigestError),
    /// A file can't be written.
    #[error("can't write {0}: {1}")]
    Unwritable(PathBuf, io::Error),
    /// A saved run can't be read.
    #[error("{0} is no run that --save wrote: {1}")]
    Saved(PathBuf, String),
    /// The running Wick can't be asked.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// Ctrl-C can't be heard.
    #[error("can't hear Ctrl-C: {0}")]
    Signals(io::Error),
    /// What everything stands on.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// What was counted, and what a report says besides.
struct Looked {
    classes: Classes,
    faults: Faults,
    report: Report,
}

/// `wick queries`.
pub(crate) fn run(arguments: &Queries) -> Result<(), QueriesError> {
    let before = arguments.since.as_deref().map(read_saved).transpose()?;
    let is_server = |source: &String| source.contains("://");
    let state = arguments.state.clone().unwrap_or_else(plan::default_state);
    let looked = match arguments.sources.as_slice() {
        [] => {
            let name = arguments.site.as_deref().unwrap_or_default();
            site::watch(&state, name, arguments.window)?
        }
        [one] if is_server(one) => ask(one, arguments)?,
        many if many.iter().any(is_server) => return Err(QueriesError::Mixed),
        many => read(many, arguments.follow)?,
    };
    let wanted = Wanted { top: arguments.top, literals: arguments.literals };
    let mut report = Report {
        sources: looked.report.sources,
        bytes: looked.report.bytes,
        window_seconds: looked.report.window_seconds,
        notes: looked.report.notes,
        ..Report::of(&looked.classes, &looked.faults, wanted)
    };
    if arguments.site.is_some() {
        site::explain_misses(&state, &mut report)?;
    }
    if let Some(server) = &arguments.explain {
        let address = Address::from_str(server)?;
        let asked = advise(&address, is_mysql(server), &looked.classes, &report.top);
        let (advice, notes) = single_threaded()?.block_on(asked)?;
        if advice.is_empty() {
            report.notes.push("No index was found that would help these queries.".into());
        }
        report.advice = advice;
        report.notes.extend(notes);
    }
    let now = Saved::of(&looked.classes);
    if let Some(before) = &before {
        report.compare(before, &now);
    }
    if let Some(path) = &arguments.save {
        write(path, &to_json(&now))?;
    }
    if let Some(path) = &arguments.html {
        write(path, &queries::html::html(&report))?;
    }
    match arguments.format {
        Format::Text => say(&queries::text::text(&report)),
        Format::Json => say(&(to_json(&report) + "\n")),
    }
    Ok(())
}

/// Reads logs to their ends, or one of them for as long as it grows.
fn read(paths: &[String], follows: bool) -> Result<Looked, QueriesError> {
    let (mut classes, mut faults) = (Classes::default(), Faults::default());
    let mut report = Report { sources: paths.to_vec(), ..Report::default() };
    let mut progress = LiveLine::default();
    for name in paths {
        let unreadable = |error| QueriesError::Unreadable(name.clone(), error);
        let mut reading = Reading::default();
        if follows {
            if paths.len() > 1 || name == "-" {
                return Err(QueriesError::Follow);
            }
            follow(Path::new(name), &mut reading, &mut classes, &mut progress)
                .map_err(unreadable)?;
        } else {
            let mut log = files::open(Path::new(name)).map_err(unreadable)?;
            let taken = reading.take_all(&mut log, &mut |query| {
                classes.take(query);
                if classes.all.count.is_multiple_of(LOOK_EACH) {
                    progress::tell(&mut progress, &classes);
                }
            });
            taken.map_err(unreadable)?;
        }
        reading.end(&mut |query| classes.take(query));
        if reading.format().is_none() && reading.bytes() > 0 {
            return Err(QueriesError::Unknown(name.clone()));
        }
        report.bytes += reading.bytes();
        faults.join(reading.faults());
    }
    Ok(Looked { classes, faults, report })
}

fn follow(
    path: &Path,
    reading: &mut Reading,
    classes: &mut Classes,
    progress: &mut LiveLine,
) -> io::Result<()> {
    let has_ended = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, has_ended.clone())?;
    }
    let mut log = Growing::open(path)?;
    while !has_ended.load(Ordering::Relaxed) {
        reading.take_all(&mut log, &mut |query| classes.take(query))?;
        // What came between the last look and the rotation is read before the new file.
        if !log.turn_over()? {
            progress::tell(progress, classes);
            std::thread::sleep(PAUSE);
        }
    }
    reading.take_all(&mut log, &mut |query| classes.take(query))
}

/// Watches a server for a while, or until Ctrl-C.
fn ask(source: &str, arguments: &Queries) -> Result<Looked, QueriesError> {
    let address = Address::from_str(source)?;
    let window = arguments.window;
    let watched = single_threaded()?.block_on(async {
        let wait = async {
            tokio::select! {
                () = progress::wait(window) => {}
                _ = tokio::signal::ctrl_c() => {}
            }
        };
        digests::watch(&address, is_mysql(source), wait).await
    })?;
    let mut notes = Vec::new();
    if watched.was_reset {
        notes.push("The server's counts were emptied meanwhile: some of it is missing.".into());
    }
    let report = Report {
        sources: vec![format!("{address:?}")],
        window_seconds: Some(watched.window.as_secs_f64()),
        notes,
        ..Report::default()
    };
    Ok(Looked { classes: watched.classes, faults: Faults::default(), report })
}

fn is_mysql(address: &str) -> bool {
    address.starts_with("mysql") || address.starts_with("mariadb")
}

fn read_saved(path: &Path) -> Result<Saved, QueriesError> {
    let wrong = |why: String| QueriesError::Saved(path.to_owned(), why);
    let text = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
    serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))
}

fn write(path: &Path, text: &str) -> Result<(), QueriesError> {
    std::fs::write(path, text).map_err(|error| QueriesError::Unwritable(path.to_owned(), error))
}

/// What has only texts, numbers and lists can always be written.
fn to_json(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

fn read_window(text: &str) -> Result<Duration, String> {
    base::amount::parse_duration(text).map_err(|error| error.to_string())
}
