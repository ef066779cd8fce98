//! Remaking: a page that strangers share is made anew after something changed.
//!
//! Whoever asks waits for the new copy, as for any flight. One persona fetches it, and the
//! old copy vouches for what it is: that costs the origin a third of what a page costs that
//! nobody knows yet.
//! Invariants: 1. what was made before the change is never served as fresh. 2. it stands in,
//! marked as stale, only while the origin fails or takes longer than [`PATIENCE`].

use std::sync::Arc;
use std::time::Duration;

use base::task;
use policy::{MissReason, StaleReason, Verdict};
use store::Lead;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::fetch::{self, Claim, Landing, stored_reply};
use crate::journey::Journey;
use crate::page::Page;
use crate::reply::Reply;
use crate::serve_stored::{self, Shown};

use super::fill::{Made, remake};
use super::welcome::order;

/// So long visitors wait for the new copy before they are shown the old one as what it is.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the leader waits for: the new page, or the flight to go on with.
enum Outcome {
    Made(Arc<Page>),
    /// The origin fails.
    Failed(Lead<Landing>),
    /// It can't be shared any more, or there is no room to make it.
    NotShared(Lead<Landing>),
}

/// Makes a swept page anew for everybody who waits for it.
pub(crate) async fn lead(
    journey: Journey,
    hash: u64,
    lead: Lead<Landing>,
    old: Arc<Page>,
) -> Reply {
    // Whoever has it began before the last sweep, so what they make is of no use here.
    let claim = Claim::of(&old);
    let (tell, told) = oneshot::channel();
    let (order, made_from) = (order(&journey, hash), old.clone());
    let panics = journey.server.counters.panics.clone();
    task::spawn_counted(&panics, async move {
        let made = remake(&order, &made_from).await;
        drop(claim);
        let outcome = match made {
            Made::Page(page) => {
                let (page_too, verdict) = (page.clone(), Verdict::Collapsed);
                lead.land(Landing::Page { page: page_too, verdict });
                Outcome::Made(page)
            }
            Made::Failed => Outcome::Failed(lead),
            Made::NotShared => Outcome::NotShared(lead),
        };
        // One who has lost patience isn't there any more; the flight ends all the same.
        drop(tell.send(outcome));
    });
    match timeout(PATIENCE, told).await {
        Ok(Ok(Outcome::Made(page))) => {
            let verdict = Verdict::Miss(MissReason::Swept);
            let shown = Shown { verdict, ttl_ms: None, origin_status: None, is_new: true };
            serve_stored::reply(page, &journey.asked(), shown)
        }
        Ok(Ok(Outcome::Failed(lead))) => stand_in(&journey, Some(lead), old, StaleReason::Error),
        Ok(Ok(Outcome::NotShared(lead))) => {
            fetch::lead(journey, hash, lead, None, MissReason::Swept).await
        }
        // It panicked, and that was counted.
        Ok(Err(_)) => Reply::failed(
            &origin::OriginError::Reset("the page could not be made".into()),
            &journey.key,
        ),
        Err(_) => stand_in(&journey, None, old, StaleReason::Slow),
    }
}

/// Waits for what another makes of a swept page, but for no longer than its leader does.
pub(crate) async fn wait_for(
    journey: &Journey,
    wait: store::Wait<Landing>,
    old: Arc<Page>,
) -> Result<Option<Landing>, Reply> {
    let outcome = timeout(PATIENCE, wait.outcome()).await;
    outcome.map_err(|_| stand_in(journey, None, old, StaleReason::Slow))
}

/// The old copy, marked as stale.
fn stand_in(
    journey: &Journey,
    lead: Option<Lead<Landing>>,
    old: Arc<Page>,
    reason: StaleReason,
) -> Reply {
    let verdict = Verdict::Stale(reason);
    if let Some(lead) = lead {
        lead.land(Landing::Page { page: old.clone(), verdict });
    }
    stored_reply(journey, old, verdict, None)
}
