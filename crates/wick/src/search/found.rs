//! What the searches of a cluster's nodes tell each other: addresses that somebody visited.
//!
//! A page that is new to this node's index is told; what was heard of others isn't told again.
//! What the crawl finds each node's crawl finds.
//! Bounds: [`TELLS_MAX`] a second, [`HEARD_MAX`] that are remembered.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use ::search::Document;
use server::{PublicPage, Server};

use super::taking::Taken;
use super::{Place, SiteSearch, unpoisoned};

/// Addresses that are told in a second: what makes pages old goes the same way.
const TELLS_MAX: u32 = 32;
/// Addresses of which it is remembered that they were heard; with more, all are forgotten, and
/// some are told once more.
const HEARD_MAX: usize = 65_536;

/// What was told lately, and heard.
#[derive(Default)]
pub(super) struct Found {
    heard: Mutex<HashSet<u64>>,
    /// Since when so many were told.
    told: Mutex<Option<(Instant, u32)>>,
}

impl Found {
    pub(super) fn note_heard(&self, id: u64) {
        let mut heard = unpoisoned(&self.heard);
        if heard.len() >= HEARD_MAX {
            heard.clear();
        }
        heard.insert(id);
    }

    fn may_tell(&self, id: u64, now: Instant) -> bool {
        if unpoisoned(&self.heard).contains(&id) {
            return false;
        }
        let mut told = unpoisoned(&self.told);
        let (since, count) = told.get_or_insert((now, 0));
        if now.duration_since(*since).as_secs() >= 1 {
            (*since, *count) = (now, 0);
        }
        *count += 1;
        *count <= TELLS_MAX
    }
}

impl SiteSearch {
    /// Takes in a page that somebody was given, and tells the other nodes if it is new here.
    pub(super) async fn take_visited(
        self: &Arc<Self>,
        server: &Server,
        place: Place,
        page: PublicPage,
        since: u64,
    ) {
        let is_new = server.has_fellows() && !self.has(&place).await;
        let taken = self.take(place.clone(), page, since).await;
        let Place { scheme, host, target } = place;
        let id = Document::id_of(&self.url_of(&host, &target));
        if is_new && matches!(taken, Some(Taken::In(_))) && self.found.may_tell(id, Instant::now())
        {
            server.tell_found(scheme, &host, &target);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_was_heard_is_not_told_and_so_many_a_second_at_most() {
        let (found, now) = (Found::default(), Instant::now());
        found.note_heard(7);
        assert!(!found.may_tell(7, now));
        let told = |now| (100..300).filter(|id| found.may_tell(*id, now)).count();
        assert_eq!(told(now), TELLS_MAX as usize);
        assert_eq!(told(now + Duration::from_millis(900)), 0);
        assert_eq!(told(now + Duration::from_secs(1)), TELLS_MAX as usize);
    }
}
