//! Edits behind Wick's back: what a page shows after them, and how soon a stranger sees it.

use std::time::{Duration, Instant};

use crate::browser::Outcome;
use crate::client::Answer;
use crate::figures::Times;
use crate::stranger::{self, Stranger};

/// Every edit has to be seen within this: a bound against hanging.
pub(crate) const SEEN_MAX: Duration = Duration::from_secs(5);

/// Before an edit its page is fresh for longer than this.
const FRESH_SECONDS: i64 = 600;

/// One edit.
pub(crate) struct Edit<'a> {
    /// The page that shows it.
    pub(crate) target: String,
    /// Does it, and returns when it is done.
    pub(crate) make: Box<dyn FnOnce() -> Outcome<()> + 'a>,
    pub(crate) is_shown: Shown,
}

/// How a page shows an edit.
pub(crate) enum Shown {
    /// With this text.
    Text(String),
    /// By being gone.
    Gone,
}

impl Shown {
    pub(crate) fn is_in(&self, answer: &Answer) -> bool {
        match self {
            Self::Text(text) => answer.status == 200 && answer.body.contains(text),
            Self::Gone => answer.status == 404,
        }
    }
}

/// What a list of edits came to.
#[derive(Default)]
pub(crate) struct Measured {
    pub(crate) times: Times,
    /// Answers that lacked an edit which was done.
    pub(crate) older: usize,
}

impl Measured {
    /// Waits until the edit's page is in memory for long, does it, and asks until it shows.
    pub(crate) fn measure(&mut self, stranger: &mut Stranger, edit: Edit<'_>) -> Outcome<()> {
        let Edit { target, make, is_shown } = edit;
        let before = stranger.until_kept(&target)?;
        if stranger::ttl_seconds(&before).is_none_or(|ttl| ttl <= FRESH_SECONDS) {
            return Err(format!("{target} is fresh for too short a time: {}", before.head));
        }
        if is_shown.is_in(&before) {
            return Err(format!("{target} showed it before it was done"));
        }
        make()?;
        let done = Instant::now();
        let seen = stranger.until(&target, done, SEEN_MAX, |answer| is_shown.is_in(answer))?;
        self.times.add(seen.after);
        self.older += seen.older;
        Ok(())
    }
}
