//! Making the index anew: whether what it lacks is known to be lacking, and who brings it.
//!
//! What an index of another format has is put into the one that takes its place, from its own
//! files: nobody is asked for it, and it is found in the order in which it is put. What was read
//! meanwhile is newer and stays. Of one that can't be read nothing is left to be put; then the crawl
//! fills it. Until that is done each answer says that not all is found yet, and `wick search status`
//! says how far it is. Nothing is told of how many pages there are: not all may be public.
//! Invariant: what is put here is shown only as everything is, if it is vouched for or was asked for.
//! Bound: one page at a time, with a rest as long as some of them took.

use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use ::search::rows::Row;
use ::search::{Document, Former};

use super::{SiteSearch, unpoisoned};

/// Pages between two rests.
const AT_ONCE: u64 = 32;
const REST_MAX: Duration = Duration::from_secs(1);
/// Where nobody says when it is filled, it is said for so long that it isn't.
const FILLED_AFTER: Duration = Duration::from_secs(3600);

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Making {
    /// So many of so many pages of the former index were looked at.
    Moved(u64, u64),
    /// It was begun with nothing, then.
    Filling(Instant),
}

impl Making {
    /// How much of it is done, in percent, where that is known.
    pub(super) fn percent(self) -> Option<u64> {
        match self {
            Self::Moved(moved, all) => Some((moved * 100).checked_div(all).unwrap_or(0).min(99)),
            Self::Filling(_) => None,
        }
    }

    /// The same in words.
    pub(super) fn told(self) -> String {
        match self {
            Self::Moved(moved, all) => {
                format!("has read {moved} of {all} pages of the former index")
            }
            Self::Filling(_) => "was begun with nothing, and fills as pages are read".to_owned(),
        }
    }
}

/// What an index is made of, if it is being made anew.
#[derive(Default)]
pub(super) struct MadeAnew(Mutex<Option<Making>>);

impl MadeAnew {
    pub(super) fn set(&self, making: Making) {
        *unpoisoned(&self.0) = Some(making);
    }

    /// All is there that would be there without it.
    pub(super) fn end(&self) {
        *unpoisoned(&self.0) = None;
    }

    pub(super) fn now(&self) -> Option<Making> {
        let making = *unpoisoned(&self.0);
        making.filter(|making| match making {
            Making::Moved(..) => true,
            Making::Filling(begun) => begun.elapsed() < FILLED_AFTER,
        })
    }

    /// The crawl went over the whole site.
    pub(super) fn note_crawled(&self) {
        let mut making = unpoisoned(&self.0);
        *making = making.filter(|making| matches!(making, Making::Moved(..)));
    }
}

/// Puts the pages of a former index into the one that took its place.
pub(super) async fn move_all(search: Arc<SiteSearch>, former: Former) {
    let folder = search.folder.clone();
    let search = {
        search.made_anew.set(Making::Moved(0, former.documents()));
        Arc::downgrade(&search)
    };
    let moving = search.clone();
    let moved = tokio::task::spawn_blocking(move || move_in(&moving, former)).await;
    // Its files are damaged.
    if let Some(former) = Former::of(&folder).filter(|_| moved.is_err()) {
        former.remove();
    }
    if let Some(search) = search.upgrade() {
        search.made_anew.end();
    }
}

/// It may wait for the disk.
fn move_in(search: &Weak<SiteSearch>, former: Former) {
    let all = former.documents();
    let (mut moved, mut began) = (0, Instant::now());
    let is_whole = former.each(|document| {
        let Some(search) = search.upgrade() else { return false };
        moved += 1;
        search.made_anew.set(Making::Moved(moved, all));
        let goes_on = search.move_one(document);
        drop(search);
        if moved % AT_ONCE == 0 {
            std::thread::sleep(began.elapsed().min(REST_MAX));
            began = Instant::now();
        }
        goes_on
    });
    if is_whole {
        former.remove();
    }
}

impl SiteSearch {
    /// Puts a page of the former index, unless it was read since. False at the end.
    fn move_one(self: &Arc<Self>, document: Document) -> bool {
        // As whoever reads pages: what is older is never put behind what is newer.
        let _one_at_a_time = unpoisoned(&self.blocks);
        let Some(index) = self.index() else { return false };
        // Sources give their rows anew at each start.
        if !Row::is_row(&document.attributes) && index.get(document.id).is_ok_and(|it| it.is_none())
        {
            index.put(document);
        }
        true
    }
}
