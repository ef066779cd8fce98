//! The rungs below the log: the app's own user, who may only poll; and nothing at all.

use std::sync::Arc;
use std::time::{Duration, Instant};

use libtest_mimic::Trial;

use crate::browser::Outcome;
use crate::client::Answer;
use crate::figures::{Figures, Times};
use crate::site::{Followed, Site, explain};
use crate::stranger::{self, PATIENCE, Stranger};
use crate::{amount, trial};

const TITLE: &str = "Without a log";
const COLUMNS: &[&str] = &["rung", "edits", "p50", "p99", "max"];
/// A poll hears an edit, and strangers see it, within this: that is promised.
const POLLED_MAX: Duration = Duration::from_secs(3);
/// How long pages of a site that isn't followed are fresh, with some time to make a new one.
const SHORT_MAX: Duration = Duration::from_secs(10 + 2);
/// Edits of each rung; of the lowest, each of which takes ten seconds, a tenth as many.
const EDITS: usize = 20;

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
