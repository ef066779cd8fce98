//! Sessions: what nodes tell and lay down of those that they begin, so that a visitor may write to
//! any of them from a page that is still open.
//!
//! Who is there when a session begins, or a page is closed, is told through the stream. For who
//! begins later, or missed something, three things lie under names of their own: which session a
//! cookie's value names, what was open when the session began, and, for each page that is closed,
//! that it is. None of them is ever taken back, so nothing that is laid down later, or again, opens
//! a page. A closing lies there before it is told: who is told so late that it doesn't hear of it
//! finds it, and who looks too early to find it hears of it.
//! Invariants: 1. what another node began is relied on when it was looked up since the last doubt
//! what is closed of it, and not where that can't be told. 2. nothing is looked for unless a write
//! carries something like a token, nor when this node has heard all for as long as a session lasts.
//! Bounds: [`CLOSINGS_MAX`] closings wait to be laid down; what a session may tell of itself.

use std::sync::Arc;
use std::time::Duration;

use align::Request;
use base::task;
use futures_util::future::{join_all, try_join_all};
use policy::strangers::Standing;
use tokio::sync::{Semaphore, oneshot};
use wire::RequestHead;

use super::deposits::{Deposits, Untold};
use super::learned::LearnedTold;
use super::news::Told;
use crate::Server;
use crate::site::Site;
use crate::strangers::Strangers;
use crate::strangers::copies::tokens_of;
use crate::strangers::holders::{Bound, Mark, SessionTold, naming};

/// A session that would take more to tell isn't told of.
const SESSION_BYTES_MAX: usize = 32 << 10;
/// Pages of one that are looked at.
const OPEN_MAX: usize = 16;
/// Closings that NATS didn't take at once; what is more is told alone.
const CLOSINGS_MAX: usize = 1024;
static CLOSINGS: Semaphore = Semaphore::const_new(CLOSINGS_MAX);
/// When it is tried again, and how often: until the session is over.
const AGAIN_AFTER: Duration = Duration::from_secs(5);
const TRIES_MAX: usize = 720;

impl Server {
    /// A session began here.
    pub(crate) fn tell_begun(&self, site: &Site, host: &str, bound: &Bound) {
        let told = written(bound);
        if let (Some(deposits), Some(told)) = (self.deposits(site), told) {
            deposits.lay_down(&begun_name(bound.id), &told);
            self.tell_followed(site, host, bound);
        }
    }

    /// It has other values than before.
    pub(crate) fn tell_followed(&self, site: &Site, host: &str, bound: &Bound) {
        let Some(deposits) = self.deposits(site) else { return };
        let (marks, nobodys) = bound.marks();
        marks.iter().for_each(|mark| deposits.lay_down(&session_name(host, *mark), &bound.id));
        nobodys.iter().for_each(|mark| deposits.lay_down(&session_name(host, *mark), b""));
        self.tell_session(site, bound);
    }

    fn tell_session(&self, site: &Site, bound: &Bound) {
        let Some(deposits) = self.deposits(site) else { return };
        if let Some(sealed) = written(bound).and_then(|told| deposits.seal(&told)) {
            self.tell_fellows(site, || vec![Told::Learned(LearnedTold::of_session(sealed))]);
        }
    }

    /// Another node tells of a session.
    pub(super) fn hear_session(&self, site: &Site, sealed: &str) {
        let (Some(deposits), Some(strangers)) = (self.deposits(site), &site.strangers) else {
            return;
        };
        let told = deposits.open(sealed);
        if let Some(told) = told.and_then(|told| serde_json::from_slice::<SessionTold>(&told).ok())
        {
            strangers.holders.hear(told, self.clock.now());
        }
    }

    /// A page of a session was closed here. Returns when all nodes that are there are told, and
    /// who begins later finds it, unless NATS doesn't take that now.
    pub(crate) async fn close_everywhere(
        self: &Arc<Self>,
        site: &Arc<Site>,
        bound: &Arc<Bound>,
        page: Vec<u8>,
    ) {
        if self.deposits(site).is_none() {
            return;
        }
        let (server, site, bound) = (self.clone(), site.clone(), bound.clone());
        let (told, is_told) = oneshot::channel();
        // Of its own: a visitor who doesn't wait for the page has closed it nevertheless.
        task::spawn_counted(&self.counters.panics, async move {
            server.lay_down_closed(&site, &bound, &page, told).await;
        });
        // Should it panic that is counted, and nobody waits.
        let _ = is_told.await;
    }

    async fn lay_down_closed(
        &self,
        site: &Site,
        bound: &Bound,
        page: &[u8],
        told: oneshot::Sender<()>,
    ) {
        let Some(deposits) = self.deposits(site) else { return };
        let name = closed_name(bound.id, page);
        let mut is_laid = deposits.lay_down_surely(&name, b"").await;
        self.tell_session(site, bound);
        let _ = told.send(());
        let Ok(_place) = CLOSINGS.try_acquire() else { return };
        for _ in 0..TRIES_MAX {
            if is_laid {
                return;
            }
            tokio::time::sleep(AGAIN_AFTER).await;
            is_laid = deposits.lay_down_surely(&name, b"").await;
            if is_laid {
                // For who began after it was told, and looked before it lay there.
                self.tell_session(site, bound);
            }
        }
    }

    /// Notes that somebody of whose session nothing is known loads a page; false where no session
    /// comes from other nodes.
    pub(crate) fn note_loaded_unknown(
        &self,
        site: &Site,
        strangers: &Strangers,
        head: &RequestHead,
        page: &[u8],
    ) -> bool {
        let is_noted = self.deposits(site).is_some();
        if is_noted {
            let marks = own_marks(strangers, head);
            strangers.reloaded.note(&marks, page, self.clock.now().ticks_ms);
        }
        is_noted
    }

    /// Whether a holder's write may come from a page that is open in a session of which this node
    /// hasn't heard.
    pub(crate) fn may_be_of_another_node(
        &self,
        site: &Site,
        strangers: &Strangers,
        head: &RequestHead,
    ) -> bool {
        self.deposits(site).is_some()
            && strangers.holders.may_lack(self.clock.now().ticks_ms)
            && !own_marks(strangers, head).is_empty()
    }

    /// The session that a write is of, if another node began it and that is found.
    pub(crate) async fn session_begun_elsewhere(
        self: &Arc<Self>,
        site: &Arc<Site>,
        strangers: &Strangers,
        head: &RequestHead,
        body: &[u8],
    ) -> Option<Arc<Bound>> {
        let deposits = self.deposits(site)?;
        let request = Request { target: head.target.as_bytes(), fields: &head.fields, body };
        tokens_of(&request).ok().filter(|tokens| !tokens.is_empty())?;
        // Before anything is looked at: what is missed from here on is looked up again.
        let doubts = strangers.holders.doubts();
        let marks = own_marks(strangers, head);
        let (id, mut named) = named(deposits, &head.host, marks).await?;
        let begun = deposits.find(&begun_name(id)).await.ok()??;
        let mut told: SessionTold = serde_json::from_slice(&begun).ok()?;
        if told.id != id {
            return None;
        }
        told.open.truncate(OPEN_MAX);
        let closed = closed(deposits, id, &told.open).await.ok()?;
        told.open.retain(|page| !closed.contains(page));
        named.append(&mut told.marks);
        told.marks = named;
        // What was heard of it meanwhile is known already, and stays closed.
        let bound = strangers.holders.hear(told, self.clock.now())?;
        bound.note_sure(doubts);
        self.close_loaded(site, strangers, &bound).await;
        Some(bound)
    }

    /// Whether what is open of a session here is for sure no more than on other nodes. What may
    /// have been missed of it is looked up.
    pub(crate) async fn knows_closed(
        self: &Arc<Self>,
        site: &Arc<Site>,
        strangers: &Strangers,
        bound: &Arc<Bound>,
    ) -> bool {
        let Some(deposits) = self.deposits(site) else { return true };
        if strangers.holders.is_sure(bound) {
            return true;
        }
        let doubts = strangers.holders.doubts();
        let Ok(closed) = closed(deposits, bound.id, &bound.open()).await else { return false };
        for page in closed {
            bound.close(&page);
        }
        bound.note_sure(doubts);
        self.close_loaded(site, strangers, bound).await;
        true
    }

    /// Closes what its visitor loaded here before this node knew the session.
    async fn close_loaded(
        self: &Arc<Self>,
        site: &Arc<Site>,
        strangers: &Strangers,
        bound: &Arc<Bound>,
    ) {
        let (marks, _) = bound.marks();
        for page in bound.open() {
            if strangers.reloaded.has(&marks, &page) && bound.close(&page) {
                self.close_everywhere(site, bound, page).await;
            }
        }
    }
}

/// What a holder's session may be known by.
fn own_marks(strangers: &Strangers, head: &RequestHead) -> Vec<Mark> {
    naming(&head.fields, |name| strangers.names.standing(name) != Standing::Foreign)
}

/// The one session that these marks lead to, and those of them that do; none where they lead to
/// several, or that can't be told.
async fn named(deposits: &dyn Deposits, host: &str, marks: Vec<Mark>) -> Option<(Mark, Vec<Mark>)> {
    let names: Vec<_> = marks.iter().map(|mark| session_name(host, *mark)).collect();
    let found = join_all(names.iter().map(|name| deposits.find(name))).await;
    let mut named: Option<(Mark, Vec<Mark>)> = None;
    for (mark, found) in marks.into_iter().zip(found) {
        // What is no session's id says that the value names none.
        let Some(id) = found.ok()?.and_then(|id| Mark::try_from(id).ok()) else { continue };
        let (first, marks) = named.get_or_insert_with(|| (id, Vec::new()));
        (*first == id).then(|| marks.push(mark))?;
    }
    named
}

/// Those of a session's pages that are closed.
async fn closed(
    deposits: &dyn Deposits,
    id: Mark,
    open: &[Vec<u8>],
) -> Result<Vec<Vec<u8>>, Untold> {
    let names: Vec<_> = open.iter().map(|page| closed_name(id, page)).collect();
    let found = try_join_all(names.iter().map(|name| deposits.find(name))).await?;
    let closed = open.iter().zip(found).filter(|(_, found)| found.is_some());
    Ok(closed.map(|(page, _)| page.clone()).collect())
}

/// What is told of a session; none if that is too much.
fn written(bound: &Bound) -> Option<Vec<u8>> {
    // Numbers and lists of them: nothing that JSON lacks.
    let told = serde_json::to_vec(&bound.told()).unwrap_or_default();
    (told.len() <= SESSION_BYTES_MAX).then_some(told)
}

fn session_name(host: &str, mark: Mark) -> Vec<u8> {
    [b"session\0", host.as_bytes(), b"\0", &mark].concat()
}

fn begun_name(id: Mark) -> Vec<u8> {
    [&b"begun\0"[..], &id].concat()
}

fn closed_name(id: Mark, page: &[u8]) -> Vec<u8> {
    [&b"closed\0"[..], &id, page].concat()
}

#[cfg(test)]
#[path = "sessions_tests.rs"]
mod tests;
