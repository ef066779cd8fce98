//! Trouble with the database: it dies, its log goes, a right is taken away.
//!
//! Throughout, a stranger reads a page every 20 ms, and somebody edits it behind Wick's
//! back. [`Story`] notes when each edit was done and what each answer showed. Afterwards
//! every answer that came fresh from memory is held against the edits: while the database
//! could be followed, none may be older than an edit one second ago; while it couldn't,
//! none older than pages live that nobody follows.

mod story;

use std::sync::Arc;
use std::time::Duration;

use libtest_mimic::Trial;

use crate::browser::Outcome;
use crate::figures::{Figures, ms};
use crate::site::{Followed, LOG, Site, explain};
use crate::stranger::{self, PATIENCE};
use crate::trial;

use story::{Hearing, Reader, Story};

const TITLE: &str = "Trouble";
const COLUMNS: &[&str] = &[
    "what happens",
    "edits",
    "readings",
    "from memory",
    "oldest while followed",
    "oldest while not",
    "what Wick says meanwhile",
];
/// The page that is edited and read.
pub(crate) const PAGE: &str = "/post/1";
/// Edits before, during and after each trouble.
const EDITS: usize = 5;
/// Between two edits.
const BETWEEN: Duration = Duration::from_millis(400);
/// What Wick says of a source that it hears, and of one that it doesn't.
const HEARD: &str = ": heard for";
const NOT_HEARD: &str = ": not heard for";

pub(crate) fn trials(figures: &Arc<Figures>) -> Vec<Trial> {
    let troubles: [(&str, &'static str, &'static str, Trouble); 5] = [
        ("killed", "kill -9 of the server", NOT_HEARD, killed),
        ("new_log", "FLUSH LOGS", HEARD, |run| run.while_followed("FLUSH LOGS")),
        ("purged_log", "PURGE BINARY LOGS", HEARD, |run| {
            run.while_followed("FLUSH LOGS; PURGE BINARY LOGS BEFORE NOW() + INTERVAL 1 DAY")
        }),
        ("log_from_the_beginning", "RESET MASTER", HEARD, reset),
        ("right_revoked", "REVOKE REPLICATION SLAVE", NOT_HEARD, revoked),
    ];
    let one = |(name, title, said, trouble): (&str, &'static str, &'static str, Trouble)| {
        let play = move |figures: &Figures| play(figures, title, said, trouble);
        trial(figures, format!("trouble::{name}"), play)
    };
    troubles.into_iter().map(one).collect()
}

type Trouble = fn(&mut Run) -> Outcome<()>;

/// A site in trouble.
struct Run {
    site: Site,
    story: Arc<Story>,
    edits: usize,
    /// What Wick said while the trouble lasted.
    said: String,
}

/// Plays one trouble, while which Wick has to say that its source is `said`.
fn play(figures: &Figures, title: &str, said: &str, trouble: Trouble) -> Outcome<()> {
    let site = Site::start("session-everywhere", LOG, Followed::ByLog)?;
    let story = Arc::new(Story::default());
    let reader = Reader::start(site.wick.port, &story);
    let mut run = Run { site, story: story.clone(), edits: 0, said: String::new() };
    let done = run.until_followed().and_then(|()| {
        run.edit(EDITS, Hearing::Follows)?;
        trouble(&mut run)?;
        run.until_followed()?;
        run.edit(EDITS, Hearing::Follows)
    });
    let read = reader.stop();
    let told = |error: String| {
        let (now, complaints) = (explain(&run.site.wick, PAGE), run.site.wick.complaints());
        format!("{error}\nmeanwhile: {}\nin the end: {now}\nwick said:\n{complaints}", run.said)
    };
    done.and(read).map_err(told)?;
    let (judged, line) = (story.judge(), changes_line(&run.said));
    let is_told = line.contains(said);
    figures.add(
        TITLE,
        COLUMNS,
        vec![
            title.to_owned(),
            run.edits.to_string(),
            judged.readings.to_string(),
            judged.from_memory.to_string(),
            ms(judged.oldest_followed),
            ms(judged.oldest_deaf),
            line,
        ],
    );
    judged.verdict().map_err(told)?;
    match is_told {
        true => Ok(()),
        false => Err(told(format!("Wick didn't say {said:?}"))),
    }
}

/// The line of an explanation that tells how the site is followed.
fn changes_line(said: &str) -> String {
    let line = said.lines().find(|line| line.trim_start().starts_with("changes"));
    let words: Vec<&str> = line.unwrap_or("nothing").split_whitespace().collect();
    words.join(" ")
}

impl Run {
    /// Edits the page so often, with pauses.
    fn edit(&mut self, count: usize, hearing: Hearing) -> Outcome<()> {
        for _ in 0..count {
            self.edits += 1;
            self.site
                .ask(&format!("UPDATE posts SET body = 'Edit <{}>.' WHERE id = 1", self.edits));
            self.story.edited(self.edits, hearing);
            std::thread::sleep(BETWEEN);
        }
        Ok(())
    }

    /// Waits until pages are fresh for long again, as only those of followed sites are.
    fn until_followed(&mut self) -> Outcome<()> {
        let kept = stranger::each(PATIENCE, || Ok(self.story.is_last_kept().then_some(())))?;
        kept.ok_or_else(|| "the site is not followed any more".to_owned())
    }

    /// Waits until the page shows the last edit.
    fn until_shown(&mut self) -> Outcome<()> {
        let shown = stranger::each(PATIENCE, || Ok(self.story.is_last_shown().then_some(())))?;
        shown.ok_or_else(|| "the last edit is never shown".to_owned())
    }

    /// Waits until pages are not fresh for long, and notes what Wick says of it.
    fn until_lost(&mut self) -> Outcome<()> {
        let lost = stranger::each(PATIENCE, || Ok((!self.story.is_last_kept()).then_some(())))?;
        self.said = explain(&self.site.wick, PAGE);
        lost.ok_or_else(|| "Wick never noticed".to_owned())
    }

    /// Trouble of which nobody should notice anything.
    fn while_followed(&mut self, statements: &str) -> Outcome<()> {
        for _ in 0..EDITS {
            self.site.ask(statements);
            self.edit(1, Hearing::Follows)?;
        }
        self.said = explain(&self.site.wick, PAGE);
        Ok(())
    }
}

fn killed(run: &mut Run) -> Outcome<()> {
    run.site.database.kill();
    run.until_lost()?;
    run.site.database.again();
    // A follower has yet to come back.
    run.edit(EDITS, Hearing::Deaf)
}

fn reset(run: &mut Run) -> Outcome<()> {
    run.site.ask("RESET MASTER");
    // The server tells nobody who follows that another log began.
    run.edit(EDITS, Hearing::Deaf)?;
    run.said = explain(&run.site.wick, PAGE);
    run.until_shown()
}

fn revoked(run: &mut Run) -> Outcome<()> {
    run.site.ask("REVOKE REPLICATION SLAVE ON *.* FROM wick@localhost; FLUSH PRIVILEGES;");
    let ids = run.site.ask("SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'wick'");
    // Who follows already goes on until the connection ends.
    run.edit(1, Hearing::Follows)?;
    for id in ids.lines() {
        // It may have ended by itself.
        run.site.ask(&format!("KILL {id};"));
    }
    // Soon it asks for tables instead, and hears again. Many more edits in a row would be a table
    // that changes all the time, which by asking can't be followed.
    for _ in 0..2 * EDITS {
        run.edit(1, Hearing::Deaf)?;
        let said = explain(&run.site.wick, PAGE);
        let is_heard = changes_line(&said).contains(HEARD);
        if !changes_line(&run.said).contains(NOT_HEARD) {
            run.said = said;
        } else if is_heard {
            break;
        }
    }
    run.site.ask("GRANT REPLICATION SLAVE ON *.* TO wick@localhost; FLUSH PRIVILEGES;");
    run.edit(1, Hearing::Deaf)
}
