//! What happened while a site was in trouble: edits, and what was read, in one order.
//!
//! In: when each edit was done, and what each answer showed. Out: [`Judged`]: how old the
//! oldest answer was that came fresh from memory.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::PAGE;
use crate::browser::Outcome;
use crate::client::Answer;
use crate::stranger::{self, EACH, Stranger};

/// An answer may lack an edit that was done so long ago while the database was followed…
const LATE_MAX: Duration = Duration::from_secs(1);
/// …and while it couldn't be: what pages live that nobody follows, and one second.
const LATE_DEAF_MAX: Duration = Duration::from_secs(10 + 1);

/// Whether an edit could be heard of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hearing {
    /// The feed was there.
    Follows,
    /// It couldn't be.
    Deaf,
}

#[derive(Default)]
pub(super) struct Story {
    told: Mutex<Told>,
}

#[derive(Default)]
struct Told {
    /// Edit number n stands at n - 1.
    edits: Vec<(Instant, Hearing)>,
    readings: Vec<Reading>,
    is_last_kept: bool,
}

/// One answer.
struct Reading {
    asked: Instant,
    /// The last edit that it shows; none where it was no page at all.
    shows: Option<usize>,
    is_fresh_from_memory: bool,
}

/// What a story came to.
#[derive(Debug, Default)]
pub(super) struct Judged {
    pub(super) readings: usize,
    pub(super) from_memory: usize,
    /// How long an edit was done already that a fresh page from memory lacked.
    pub(super) oldest_followed: Duration,
    pub(super) oldest_deaf: Duration,
}

impl Story {
    fn told(&self) -> std::sync::MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Edit `number` is done.
    pub(super) fn edited(&self, number: usize, hearing: Hearing) {
        let mut told = self.told();
        told.edits.push((Instant::now(), hearing));
        debug_assert_eq!(told.edits.len(), number, "edits are counted from one");
    }

    /// Whether the last answer came from memory and is fresh for long.
    pub(super) fn is_last_kept(&self) -> bool {
        self.told().is_last_kept
    }

    /// Whether the last answer shows the last edit.
    pub(super) fn is_last_shown(&self) -> bool {
        let told = self.told();
        told.readings.last().and_then(|reading| reading.shows) == Some(told.edits.len())
    }

    fn read(&self, asked: Instant, answer: &Answer) {
        let mut told = self.told();
        told.is_last_kept = stranger::is_kept(answer);
        let is_fresh = stranger::ttl_seconds(answer).is_some_and(|ttl| ttl >= 0);
        let is_page = answer.status == 200 && answer.body.contains("<article>");
        told.readings.push(Reading {
            asked,
            shows: is_page.then(|| edit_in(&answer.body)),
            is_fresh_from_memory: answer.is_from_memory() && is_fresh,
        });
    }

    /// Holds every reading against the edits that were done before it.
    pub(super) fn judge(&self) -> Judged {
        let told = self.told();
        let mut judged = Judged { readings: told.readings.len(), ..Judged::default() };
        for reading in told.readings.iter().filter(|reading| reading.is_fresh_from_memory) {
            judged.from_memory += 1;
            let Some(shows) = reading.shows else { continue };
            for (done, hearing) in told.edits.iter().skip(shows) {
                let age = reading.asked.saturating_duration_since(*done);
                let oldest = match hearing {
                    Hearing::Follows => &mut judged.oldest_followed,
                    Hearing::Deaf => &mut judged.oldest_deaf,
                };
                *oldest = age.max(*oldest);
            }
        }
        judged
    }
}

impl Judged {
    pub(super) fn verdict(&self) -> Outcome<()> {
        let is_good = self.oldest_followed <= LATE_MAX && self.oldest_deaf <= LATE_DEAF_MAX;
        match is_good {
            true if self.from_memory > 0 => Ok(()),
            true => Err("nothing was ever served fresh from memory".to_owned()),
            false => Err(format!("older pages were served as fresh: {self:?}")),
        }
    }
}

/// The number of the last edit that a page shows; 0 before the first.
fn edit_in(html: &str) -> usize {
    let rest = html.split_once("Edit &lt;").map(|(_, rest)| rest);
    rest.and_then(|rest| rest.split_once("&gt;"))
        .and_then(|(number, _)| number.parse().ok())
        .unwrap_or(0)
}

/// A stranger who reads until it is stopped.
pub(super) struct Reader {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Outcome<()>>,
}

impl Reader {
    pub(super) fn start(port: u16, story: &Arc<Story>) -> Self {
        let (story, is_over) = (story.clone(), Arc::new(AtomicBool::new(false)));
        let over = is_over.clone();
        let thread = std::thread::spawn(move || {
            let mut stranger = Stranger::new(port);
            while !over.load(Ordering::Relaxed) {
                let asked = Instant::now();
                let answer = stranger.read(PAGE)?;
                story.read(asked, &answer);
                std::thread::sleep(EACH.saturating_sub(asked.elapsed()));
            }
            Ok(())
        });
        Self { is_over, thread }
    }

    /// Lets it go; whether it was always answered.
    pub(super) fn stop(self) -> Outcome<()> {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_else(|_| Err("the reader panicked".to_owned()))
    }
}
