//! What an app does when somebody comes by is done, though all strangers are served from
//! memory.
//!
//! A post is to appear in some seconds. Strangers read the front page every 20 ms, from
//! memory. Somebody has to ask the app when the time has come, and when the app then
//! publishes, in the middle of a reading, strangers have to see it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use libtest_mimic::Trial;

use crate::apps;
use crate::browser::Outcome;
use crate::client::Answer;
use crate::edit_to_seen::{Editor, ready, serve};
use crate::figures::{Figures, ms};
use crate::served::Served;
use crate::site::{Followed, LOG, Site, explain};
use crate::stranger::{self, PATIENCE, Stranger};
use crate::trial;
use crate::zero_sweeps::Reading;

const TITLE: &str = "What is due is done";
const COLUMNS: &[&str] = &[
    "app",
    "who asks the app then",
    "published after its time",
    "seen after publication",
    "readings until then",
    "from memory",
];
/// What strangers see when it has appeared.
const POST: &str = "A lamp in time";
/// Strangers see it so soon after it was published: that is promised.
const SEEN_MAX: Duration = Duration::from_secs(1);
/// Until a post's time comes: long enough for the front page to be in memory again.
const DUE: Duration = Duration::from_secs(20);
/// WordPress publishes at once what is due in less than a minute.
const DUE_IN_WORDPRESS: Duration = Duration::from_secs(65);

pub(crate) fn trials(figures: &Arc<Figures>) -> Vec<Trial> {
    vec![
        trial(figures, "scheduled::wordpress".to_owned(), wordpress),
        trial(figures, "scheduled::specimen".to_owned(), |figures| specimen(figures, false)),
        trial(figures, "scheduled::specimen_asked".to_owned(), |figures| specimen(figures, true)),
    ]
}

fn wordpress(figures: &Figures) -> Outcome<()> {
    let Some(app) = ready(apps::wordpress(LOG))? else { return Ok(()) };
    let wick = serve(&app)?;
    let mut editor = Editor::start(&app)?;
    let mut stranger = Stranger::new(wick.port);
    stranger.until_kept("/").map_err(|error| format!("{error}\n{}", explain(&wick, "/")))?;
    let due = Instant::now() + DUE_IN_WORDPRESS;
    let id = editor.order(&format!("schedule\t{}\t{POST}", DUE_IN_WORDPRESS.as_secs()))?;
    let is_published = || Ok(editor.order(&format!("status\t{id}"))? == "publish");
    let told = watch(&wick, &mut stranger, due, is_published, || Ok(()))?;
    figures.add(TITLE, COLUMNS, told.row("WordPress", "Wick alone"));
    told.verdict(&wick)
}

/// The same on a specimen, where somebody may ask the app when the time has come.
fn specimen(figures: &Figures, is_asked: bool) -> Outcome<()> {
    let site = Site::start("poor-mans-cron", LOG, Followed::ByLog)?;
    let mut reading = Reading::new(&site);
    reading.learn().map_err(|error| format!("{error}\n{}", explain(&site.wick, "/")))?;
    let mut stranger = Stranger::new(site.wick.port);
    site.ask(&format!(
        "INSERT INTO drafts (title, body, due) \
         VALUES ('{POST}', 'It was due.', UNIX_TIMESTAMP() + {})",
        DUE.as_secs()
    ));
    let due = Instant::now() + DUE;
    let count = format!("SELECT COUNT(*) FROM posts WHERE title = '{POST}'");
    let is_published = || Ok(site.ask(&count) == "1");
    let asked = || if is_asked { reading.search() } else { Ok(()) };
    let told = watch(&site.wick, &mut stranger, due, is_published, asked)?;
    let who = if is_asked { "a stranger's search" } else { "Wick alone" };
    figures.add(TITLE, COLUMNS, told.row("poor-mans-cron", who));
    told.verdict(&site.wick)
}

/// What was seen of a post that was due.
#[derive(Default)]
struct Told {
    published_after: Option<Duration>,
    seen_after: Option<Duration>,
    readings: usize,
    from_memory: usize,
}

/// Reads the front page until it shows the post, and asks the database whether it is out.
/// When its time has come, and only once, `when_due` is done.
fn watch(
    wick: &Served,
    stranger: &mut Stranger,
    due: Instant,
    mut is_published: impl FnMut() -> Outcome<bool>,
    mut when_due: impl FnMut() -> Outcome<()>,
) -> Outcome<Told> {
    let shows = |answer: &Answer| answer.body.contains(POST);
    let before =
        stranger.until_kept("/").map_err(|why| format!("{why}\n{}", explain(wick, "/")))?;
    if Instant::now() > due || shows(&before) {
        return Err("the front page came to memory too late".to_owned());
    }
    let (mut told, mut published, mut was_due) = (Told::default(), None, false);
    stranger::each(due.saturating_duration_since(Instant::now()) + PATIENCE, || {
        if !was_due && Instant::now() > due {
            was_due = true;
            when_due()?;
        }
        // Asked before the page is, so that what the page shows was out by then.
        if published.is_none() && is_published()? {
            let now = Instant::now();
            published = Some(now);
            told.published_after = Some(now.saturating_duration_since(due));
        }
        let answer = stranger.read("/")?;
        if shows(&answer) {
            // Out since the database was asked: the page came first.
            let published = published.unwrap_or_else(Instant::now);
            told.seen_after = Some(published.elapsed());
            told.published_after.get_or_insert(published.saturating_duration_since(due));
            return Ok(Some(()));
        }
        told.readings += 1;
        told.from_memory += usize::from(answer.is_from_memory());
        Ok(None)
    })?;
    Ok(told)
}

impl Told {
    fn row(&self, app: &str, who: &str) -> Vec<String> {
        let time = |time: Option<Duration>| time.map_or("never".to_owned(), ms);
        vec![
            app.to_owned(),
            who.to_owned(),
            time(self.published_after),
            time(self.seen_after),
            self.readings.to_string(),
            self.from_memory.to_string(),
        ]
    }

    fn verdict(&self, wick: &Served) -> Outcome<()> {
        let fault = match (self.published_after, self.seen_after) {
            (None, _) => format!("nobody asked the app for {PATIENCE:?} after it was due"),
            (_, None) => "it was published, and no stranger saw it".to_owned(),
            (_, Some(after)) if after > SEEN_MAX => format!("seen {after:?} after publication"),
            _ => return Ok(()),
        };
        Err(format!("{fault}\n{}", explain(wick, "/")))
    }
}
