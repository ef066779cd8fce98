//! The pulse: now and then a followed site is visited though everybody is served from memory.
//!
//! Many apps do what is due (publish a post, send a mail) when somebody comes by. Nobody
//! would, so a persona does, as long as strangers come at all. What it finds shows whether
//! something changed that no source told of: then all is swept, and pages of that kind are
//! fresh for seconds. Soon after a sweep it looks as well: an app may have a cache of its own
//! from which what is made right after a change is still what was before.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::Following;
use super::wanted;
use crate::Server;
use crate::site::Site;
use crate::strangers::again::{learn, see_again};
use crate::strangers::fill::Order;

/// How often, while strangers come.
const EVERY: Duration = Duration::from_secs(15);
/// How long after a sweep it is looked whether pages are what they were made as.
const AFTER: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(8)];
/// So many sweeps are looked after that way; one in [`AFTERLOOKS_RARE`] later, unless
/// something was found.
const AFTERLOOKS: u32 = 8;
const AFTERLOOKS_RARE: u32 = 16;

/// Beats for ever, and restores what was swept.
pub(super) async fn beat(server: Arc<Server>, site: Arc<Site>, following: Arc<Following>) {
    tokio::join!(
        wanted::restore(server.clone(), site.clone(), following.clone()),
        pulse(&server, &site, &following),
        look_after(&server, &site, &following),
    );
}

async fn pulse(server: &Server, site: &Arc<Site>, following: &Arc<Following>) {
    let (mut asked_before, mut turn) = (0, 0usize);
    loop {
        sleep(EVERY).await;
        let orders = following.unasked(site);
        let asked: u64 = orders.iter().map(|(want, _)| u64::from(*want)).sum();
        let is_visited = asked != asked_before;
        asked_before = asked;
        if !is_visited || orders.is_empty() || !following.is_heard() {
            continue;
        }
        // The most wanted page every other time, and all in turn between.
        let place = if turn.is_multiple_of(2) { 0 } else { (turn / 2) % orders.len() };
        turn = turn.wrapping_add(1);
        look(server, site, &orders[place].1).await;
    }
}

/// Whether the app's own cache gave old pages after a sweep.
async fn look_after(server: &Server, site: &Arc<Site>, following: &Arc<Following>) {
    let (mut sweeps, mut found) = (0u32, false);
    loop {
        following.wanted.settled().await;
        sweeps = sweeps.saturating_add(1);
        if !found && sweeps > AFTERLOOKS && !sweeps.is_multiple_of(AFTERLOOKS_RARE) {
            continue;
        }
        let content = site.generations.content();
        for after in AFTER {
            sleep(after).await;
            let Some((_, order)) = following.unasked(site).into_iter().next() else { break };
            if site.generations.content() != content {
                break;
            }
            found |= see_again(&order).await == crate::strangers::again::Seen::Another
                && sweep(server, site, content);
        }
    }
}

/// One look, and what follows from it.
async fn look(server: &Server, site: &Arc<Site>, order: &Order) {
    let Some(strangers) = &site.strangers else { return };
    let content = site.generations.content();
    let seen = see_again(order).await;
    if site.generations.content() == content && learn(strangers, &order.brief.target, seen) {
        sweep(server, site, content);
    }
}

/// Sweeps here and on other nodes, unless that was done since the site's content was looked at.
fn sweep(server: &Server, site: &Site, content: u64) -> bool {
    let is_same = site.generations.content() == content;
    if is_same {
        // First they are told, so that none is asked for what is known to be old.
        server.tell_changed(site);
        site.generations.note_change();
        if let Some(following) = &site.following {
            following.counts.unheard.bump();
        }
    }
    is_same
}
