//! What somebody wrote to that the index doesn't have: the crawl asks for it before all else, once
//! the site itself leads there.
//!
//! An address that a writing names may be its author's alone, so it is never asked for by that.
//! Bounds: [`HASTENED_MAX`] wait, and of more the oldest are forgotten: the crawl comes to them in
//! their turn.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::{keep_latest, unpoisoned};

pub(super) const HASTENED_MAX: usize = 16;
/// Who looks at a page so soon after a writing may look at what was written.
const LOOKS_WITHIN: Duration = Duration::from_secs(10);

/// The addresses that the crawl is to hasten.
#[derive(Default)]
pub(super) struct Hastened {
    inner: Mutex<Inner>,
    told: Notify,
}

#[derive(Default)]
struct Inner {
    /// Hosts and targets, the latest at the end.
    places: VecDeque<(String, String)>,
    written: Option<Instant>,
}

impl Hastened {
    /// Somebody wrote to what the index doesn't have.
    pub(super) fn put(&self, host: String, target: String) {
        let mut inner = unpoisoned(&self.inner);
        keep_latest(&mut inner.places, (host, target), HASTENED_MAX);
        drop(inner);
        self.told.notify_one();
    }

    /// Something was written to the site.
    pub(super) fn note_written(&self) {
        unpoisoned(&self.inner).written = Some(Instant::now());
    }

    /// Somebody with a session looks at a page of which nothing is known that was written to.
    pub(super) fn note_look(&self, host: &str, target: &str) {
        let written = unpoisoned(&self.inner).written;
        if written.is_some_and(|written| written.elapsed() < LOOKS_WITHIN) {
            self.put(host.to_owned(), target.to_owned());
        }
    }

    /// The targets of this host; those of others are let be.
    pub(super) fn take(&self, host: &str) -> Vec<String> {
        let places = std::mem::take(&mut unpoisoned(&self.inner).places);
        places.into_iter().filter(|place| place.0 == host).map(|place| place.1).collect()
    }

    /// Waits until something is there to be taken.
    pub(super) async fn told(&self) {
        self.told.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_counts_behind_a_writing_only_and_the_latest_are_kept() {
        let hastened = Hastened::default();
        hastened.note_look("a.test", "/seen");
        assert_eq!(hastened.take("a.test"), Vec::<String>::new());
        hastened.note_written();
        hastened.note_look("a.test", "/seen");
        hastened.put("b.test".to_owned(), "/other".to_owned());
        hastened.put("a.test".to_owned(), "/seen".to_owned());
        assert_eq!(hastened.take("a.test"), ["/seen"]);
        for number in 0..=HASTENED_MAX {
            hastened.put("a.test".to_owned(), format!("/{number}"));
        }
        let taken = hastened.take("a.test");
        assert_eq!((taken.len(), taken[0].as_str()), (HASTENED_MAX, "/1"));
    }
}
