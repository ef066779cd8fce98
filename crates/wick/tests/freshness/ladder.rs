//! The rungs below the log: the app's own user, who may only poll; a tap beside that, where
//! readings write all the time; and nothing at all.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use tempfile::TempDir;

use crate::browser::Outcome;
use crate::client::Answer;
use crate::figures::{Figures, Times};
use crate::served::Served;
use crate::server::Server;
use crate::site::{Followed, Site, address, explain, settings_of, sweeps};
use crate::stranger::{self, PATIENCE, Stranger};
use crate::{amount, specimen, trial};

const TITLE: &str = "Without a log";
const COLUMNS: &[&str] = &["rung", "edits", "p50", "p99", "max"];
/// A poll hears an edit, and strangers see it, within this: that is promised.
const POLLED_MAX: Duration = Duration::from_secs(3);
/// How long pages of a site that isn't followed are fresh, with some time to make a new one.
const SHORT_MAX: Duration = Duration::from_secs(10 + 2);
/// Edits of each rung; of the lowest, each of which takes ten seconds, a tenth as many.
const EDITS: usize = 20;
/// What others write beside a tap, strangers see within this: that is promised.
const TAPPED_MAX: Duration = Duration::from_secs(5);
/// Readings that ask the app, after learning…
const READS: usize = 200;
/// …of which so many may sweep: a session's name that is drawn may look like one that was
/// chosen, once in some ten thousand.
const SWEEPS_MAX: usize = 2;
/// Learning is over when readings swept nothing for so long: more than the 2.6 s for which a
/// tap that has just begun to hear takes everything for others' doing.
const QUIET: Duration = Duration::from_secs(4);

pub(crate) fn trials(figures: &Arc<Figures>) -> Vec<Trial> {
    vec![
        trial(figures, "ladder::poll".to_owned(), |figures| {
            let edits = amount("FRESHNESS_EDITS", EDITS);
            rung(figures, "poll, the app's own user", Followed::ByApp, edits, POLLED_MAX)
        }),
        trial(figures, "ladder::off".to_owned(), |figures| {
            let edits = amount("FRESHNESS_EDITS", EDITS).div_ceil(10);
            rung(figures, "off", Followed::Not, edits, SHORT_MAX)
        }),
        trial(figures, "ladder::tap".to_owned(), |figures| {
            let site = Tapped::start("sessions-in-table")?;
            let edits = amount("FRESHNESS_EDITS", EDITS);
            tap(&site, figures, edits).map_err(|error| {
                let said = explain(&site.wick, "/post/1");
                format!("{error}\n{said}\nwick said:\n{}", site.wick.complaints())
            })
        }),
    ]
}

fn rung(
    figures: &Figures,
    name: &str,
    followed: Followed,
    edits: usize,
    seen_max: Duration,
) -> Outcome<()> {
    let site = Site::start("session-everywhere", &[], followed)?;
    let told = |error: String| format!("{error}\n{}", explain(&site.wick, "/post/1"));
    let mut stranger = Stranger::new(site.wick.port);
    let mut times = Times::default();
    for number in 0..edits {
        until_in_memory(&mut stranger, followed).map_err(told)?;
        site.ask(&format!("UPDATE posts SET body = 'Edited {number}.' WHERE id = 1"));
        let shows = |answer: &Answer| answer.body.contains(&format!("Edited {number}."));
        let seen = stranger.until("/post/1", Instant::now(), PATIENCE, shows).map_err(told)?;
        times.add(seen.after);
    }
    let mut row = vec![name.to_owned(), times.len().to_string()];
    row.extend(times.cells());
    figures.add(TITLE, COLUMNS, row);
    match times.max() <= seen_max {
        true => Ok(()),
        false => Err(told(format!("an edit was seen only after {:?}", times.max()))),
    }
}

/// For long where the site is followed, and else for as short as may be.
fn until_in_memory(stranger: &mut Stranger, followed: Followed) -> Outcome<()> {
    if followed != Followed::Not {
        return stranger.until_kept("/post/1").map(drop);
    }
    let hit = stranger::each(PATIENCE, || {
        let answer = stranger.read("/post/1")?;
        Ok(answer.is_from_memory().then(|| stranger::ttl_seconds(&answer)))
    })?;
    match hit.ok_or("it never came from memory")? {
        Some(ttl) if Duration::from_secs(ttl.unsigned_abs()) <= SHORT_MAX => Ok(()),
        ttl => Err(format!("a page of a site that isn't followed is fresh for {ttl:?} s")),
    }
}

/// A specimen whose every reading writes, with a tap before its database, which keeps no log.
pub(crate) struct Tapped {
    pub(crate) wick: Served,
    database: Server,
    _folder: TempDir,
}

impl Tapped {
    pub(crate) fn start(name: &str) -> Outcome<Self> {
        let database = Server::start(&[]).ok_or("there is no MariaDB")?;
        let folder = TempDir::new().map_err(|error| error.to_string())?;
        let variables = [
            ("SPECIMEN_DB_SOCKET", "localhost"),
            ("SPECIMEN_DB_NAME", "site"),
            ("SPECIMEN_DB_USER", "app"),
            ("SPECIMEN_DB_PASSWORD", "app"),
        ];
        specimen::copy(name, folder.path(), &variables).map_err(|error| error.to_string())?;
        leave_the_socket_to_php(&folder.path().join("lib/data.php"))?;
        let socket = database.socket().display().to_string();
        let changes = format!("tap:{}", address("app", "app", &socket));
        let wick = Served::with(&folder.path().join(name), &settings_of(&changes), &[])?;
        Ok(Self { wick, database, _folder: folder })
    }
}

/// Specimens name a socket; most apps say `localhost`.
fn leave_the_socket_to_php(script: &Path) -> Outcome<()> {
    let text = std::fs::read_to_string(script).map_err(|error| error.to_string())?;
    let changed = text.replace(
        "unix_socket=' . self::told('SPECIMEN_DB_SOCKET')",
        "host=' . self::told('SPECIMEN_DB_SOCKET')",
    );
    if changed == text {
        return Err("the specimens' way to a database is written otherwise".to_owned());
    }
    std::fs::write(script, changed).map_err(|error| error.to_string())
}

/// Readings sweep nothing once they are known, and edits that don't pass the tap are seen
/// while they go on.
fn tap(site: &Tapped, figures: &Figures, edits: usize) -> Outcome<()> {
    let mut reader = Reader::new(&site.wick);
    reader.learn(&site.wick)?;
    if !explain(&site.wick, "/").contains("by the app's own statements") {
        return Err("it isn't heard by a tap".to_owned());
    }
    let (mut times, before) = (Times::default(), sweeps(&site.wick)?);
    for _ in 0..READS {
        reader.ask_the_app()?;
    }
    let swept = sweeps(&site.wick)? - before;
    if swept > SWEEPS_MAX {
        return Err(format!("{READS} readings swept {swept} times"));
    }
    for number in 0..edits {
        reader.ask_the_app()?;
        reader.stranger.until_kept("/post/1")?;
        let edit = format!("UPDATE posts SET body = 'Edited {number}.' WHERE id = 1");
        site.database.ask(&format!("USE site; {edit}"));
        let shows = |answer: &Answer| answer.body.contains(&format!("Edited {number}."));
        let seen = reader.stranger.until("/post/1", Instant::now(), PATIENCE, shows)?;
        times.add(seen.after);
    }
    let mut row = vec!["tap and poll, readings that write".to_owned(), times.len().to_string()];
    row.extend(times.cells());
    figures.add(TITLE, COLUMNS, row);
    match times.max() <= TAPPED_MAX {
        true => Ok(()),
        false => Err(format!("an edit was seen only after {:?}", times.max())),
    }
}

/// A stranger who searches for words that nobody searched for, so that the app is asked.
pub(crate) struct Reader {
    stranger: Stranger,
    words: usize,
}

impl Reader {
    pub(crate) fn new(wick: &Served) -> Self {
        Self { stranger: Stranger::new(wick.port), words: 0 }
    }

    pub(crate) fn ask_the_app(&mut self) -> Outcome<()> {
        self.words += 1;
        let answer = self.stranger.read(&format!("/search?q=word{}", self.words))?;
        match answer.is_from_memory() {
            false => Ok(()),
            true => Err(format!("a first search was served from memory: {}", answer.head)),
        }
    }

    /// Reads until readings sweep no more.
    fn learn(&mut self, wick: &Served) -> Outcome<()> {
        let (mut since, mut swept) = (Instant::now(), sweeps(wick)?);
        let learned = stranger::each(PATIENCE, || {
            self.stranger.until_kept("/post/1")?;
            self.ask_the_app()?;
            let now = sweeps(wick)?;
            if now != swept {
                (since, swept) = (Instant::now(), now);
            }
            Ok((since.elapsed() >= QUIET).then_some(()))
        })?;
        learned.ok_or_else(|| "readings sweep and sweep".to_owned())
    }
}
