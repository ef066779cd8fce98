//! Statements as they pass, for somebody who watches for a while.
//!
//! Whose a statement is follows from its connection: a child of php-fpm's serves one visit at
//! a time, so a connection that was opened while all visits were for one thing is for that
//! until they have ended and others may say something on it.
//! Invariants: 1. nothing is kept unless somebody watches, and no longer than [`WATCHED`]
//! after they last took what there was. 2. at most [`PASSED_MAX`] statements of
//! [`TEXT_BYTES_MAX`] are kept; those that don't fit are counted. 3. a statement of which it
//! isn't certain whose it is is nobody's.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Statements that are kept at once, and bytes of each.
const PASSED_MAX: usize = 2048;
pub(super) const TEXT_BYTES_MAX: usize = 2 << 10;
/// Bytes that are given at once.
const BATCH_BYTES_MAX: usize = 128 << 10;
/// How long after they last asked somebody still watches.
const WATCHED: Duration = Duration::from_secs(10);

/// Knows which visits are at the origin.
pub trait Witness: Send + Sync {
    /// What all visits that there are are for, if that is one thing, and the number of the
    /// last of them.
    fn visit(&self) -> Option<(u64, String)>;
    /// Whether one of the visits up to that number goes on, or nobody has come since.
    fn may_go_on(&self, visit: u64) -> bool;
}

/// A statement that has passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passed {
    /// Its text, or the beginning of that.
    pub text: String,
    /// What the visit was for that said it, as in `GET /thread/7`; none where that isn't certain.
    pub visit: Option<String>,
    /// From its way to the server to the end of the answer.
    pub took: Duration,
}

/// What has passed since it was last taken.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// The statements, oldest first.
    pub passed: Vec<Passed>,
    /// How many there were besides.
    pub missed: u64,
    /// Whether there are more to be taken.
    pub are_more: bool,
}

/// What passes a tap.
#[derive(Default)]
pub(super) struct Passing {
    is_watched: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    watch: Option<(Arc<dyn Witness>, Instant)>,
    kept: VecDeque<(Instant, Passed)>,
    missed: u64,
}

impl Passing {
    /// Gives what has passed since somebody last asked and is as old as that, and watches on.
    pub(super) fn take(&self, witness: Arc<dyn Witness>, age: Duration) -> Batch {
        let mut state = self.state.lock();
        state.watch = Some((witness, Instant::now() + WATCHED));
        self.is_watched.store(true, Ordering::Relaxed);
        let mut batch = Batch { missed: std::mem::take(&mut state.missed), ..Batch::default() };
        let mut bytes = 0;
        let is_ripe = |ended: Instant| ended.elapsed() >= age;
        while let Some((_, passed)) = state.kept.pop_front_if(|(ended, _)| is_ripe(*ended)) {
            bytes += passed.text.len();
            batch.passed.push(passed);
            if bytes > BATCH_BYTES_MAX {
                break;
            }
        }
        batch.are_more = state.kept.front().is_some_and(|(ended, _)| is_ripe(*ended));
        batch
    }

    /// Who knows the visits, if somebody watches.
    pub(super) fn witness(&self) -> Option<Arc<dyn Witness>> {
        if !self.is_watched.load(Ordering::Relaxed) {
            return None;
        }
        let mut state = self.state.lock();
        if state.watch.as_ref().is_some_and(|(_, until)| *until < Instant::now()) {
            self.is_watched.store(false, Ordering::Relaxed);
            *state = State::default();
        }
        state.watch.as_ref().map(|(witness, _)| witness.clone())
    }

    pub(super) fn note(&self, passed: Passed) {
        let mut state = self.state.lock();
        match state.watch.is_some() && state.kept.len() < PASSED_MAX {
            true => state.kept.push_back((Instant::now(), passed)),
            false => state.missed += u64::from(state.watch.is_some()),
        }
    }
}

/// What one connection is saying.
#[derive(Default)]
pub(super) struct Saying {
    visit: Option<(u64, String)>,
    begun: VecDeque<(Instant, Box<str>, Option<String>)>,
}

impl Saying {
    /// On a connection that was opened just now.
    pub(super) fn opened(passing: &Passing) -> Self {
        let visit = passing.witness().and_then(|witness| witness.visit());
        Self { visit, begun: VecDeque::new() }
    }

    /// Hears what was said, and keeps what has its answer.
    pub(super) fn hear(&mut self, all: Vec<Said>, passing: &Passing) {
        if all.is_empty() {
            return;
        }
        let Some(witness) = passing.witness() else { return self.begun.clear() };
        for said in all {
            match said {
                Said::Begun(text) => {
                    let goes_on = |visit: &&(u64, String)| witness.may_go_on(visit.0);
                    // Who said something once in doubt may be another from there on.
                    self.visit = self.visit.take_if(|visit| goes_on(&&*visit));
                    let visit = self.visit.as_ref().map(|visit| visit.1.clone());
                    self.begun.push_back((Instant::now(), text, visit));
                }
                Said::Ended => {
                    let Some((begun, text, visit)) = self.begun.pop_front() else { continue };
                    passing.note(Passed { text: text.into(), visit, took: begun.elapsed() });
                }
            }
        }
    }
}

/// What a conversation tells of its statements while somebody watches.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// A command with statements, by its text; empty where that can't be read.
    Begun(Box<str>),
    /// The one that began first has its whole answer.
    Ended,
}

/// The beginning of a text that is kept of it.
pub(super) fn beginning(text: &str) -> Box<str> {
    text[..text.floor_char_boundary(TEXT_BYTES_MAX)].into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Visits under way, by their numbers.
    #[derive(Default)]
    struct Visits(Mutex<Vec<u64>>);

    impl Witness for Visits {
        fn visit(&self) -> Option<(u64, String)> {
            match self.0.lock()[..] {
                [one] => Some((one, format!("GET /{one}"))),
                _ => None,
            }
        }

        fn may_go_on(&self, visit: u64) -> bool {
            let visits = self.0.lock();
            visits.is_empty() || visits.contains(&visit)
        }
    }

    fn say(saying: &mut Saying, passing: &Passing, text: &str) {
        saying.hear(vec![Said::Begun(text.into()), Said::Ended], passing);
    }

    #[test]
    fn a_statement_is_a_visits_only_where_that_is_certain() {
        let (passing, visits) = (Passing::default(), Arc::new(Visits::default()));
        let take = || passing.take(visits.clone(), Duration::ZERO).passed;
        visits.0.lock().push(1);
        let mut unwatched = Saying::opened(&passing);
        say(&mut unwatched, &passing, "nobody watches");
        assert!(take().is_empty());
        let mut first = Saying::opened(&passing);
        visits.0.lock().push(2);
        let mut second = Saying::opened(&passing);
        say(&mut first, &passing, "one of two, on its own connection");
        say(&mut second, &passing, "one of two");
        visits.0.lock().clear();
        say(&mut first, &passing, "behind its answer");
        visits.0.lock().push(3);
        say(&mut first, &passing, "another's perhaps");
        visits.0.lock().clear();
        say(&mut first, &passing, "another's perhaps");
        let told = take();
        let told: Vec<_> = told.iter().map(|it| (it.visit.as_deref(), &*it.text)).collect();
        assert_eq!(
            told,
            [
                (Some("GET /1"), "one of two, on its own connection"),
                (None, "one of two"),
                (Some("GET /1"), "behind its answer"),
                (None, "another's perhaps"),
                (None, "another's perhaps"),
            ]
        );
    }

    #[test]
    fn what_is_too_much_is_counted_and_nothing_is_kept_for_nobody() {
        let (passing, visits) = (Passing::default(), Arc::new(Visits::default()));
        assert_eq!(passing.take(visits.clone(), Duration::ZERO), Batch::default());
        let mut saying = Saying::opened(&passing);
        let text = "x".repeat(TEXT_BYTES_MAX);
        for _ in 0..PASSED_MAX + 7 {
            say(&mut saying, &passing, &text);
        }
        let young = passing.take(visits.clone(), Duration::from_secs(3600));
        assert_eq!((young.passed.len(), young.missed), (0, 7));
        let first = passing.take(visits.clone(), Duration::ZERO);
        assert!(first.are_more && first.passed.len() * TEXT_BYTES_MAX < BATCH_BYTES_MAX * 2);
        passing.state.lock().watch = Some((visits, Instant::now() - Duration::from_millis(1)));
        assert!(passing.witness().is_none());
        assert!(passing.state.lock().kept.is_empty());
    }

    #[test]
    fn a_text_is_cut_between_letters() {
        assert_eq!(beginning(&"é".repeat(TEXT_BYTES_MAX)).len(), TEXT_BYTES_MAX);
        assert_eq!(&*beginning("a"), "a");
    }
}
