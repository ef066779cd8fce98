//! Making a stored page's codings: at once, or behind everybody's back.
//!
//! Bounds: one page at a time is coded in the background, on a thread that serves nobody, and
//! only while the store can set aside what that takes; who finds the press taken goes without,
//! and whoever asks next tries again. So there is no queue.

use std::sync::Arc;

use base::task;
use store::Key;
use tokio::sync::Semaphore;
use transform::Effort;
use wire::Coding;

use super::coded::Coded;
use crate::Server;
use crate::page::Page;
use crate::pipeline;
use crate::serve_stored::Asked;
use crate::strangers::verify::apart;

/// Answers that are coded as they come, at one time.
const STREAMS_MAX: usize = 64;

/// Places for those who code.
#[derive(Debug)]
pub(crate) struct Press {
    /// The one in the background.
    pub(super) behind: Arc<Semaphore>,
    pub(super) streams: Arc<Semaphore>,
}

impl Default for Press {
    fn default() -> Self {
        Self { behind: Arc::new(Semaphore::new(1)), streams: Arc::new(Semaphore::new(STREAMS_MAX)) }
    }
}

/// Codes a small page for who waits for it, and keeps that.
pub(super) fn in_place(asked: &Asked<'_>, page: &Arc<Page>, coding: Coding) -> Option<Arc<Coded>> {
    let coded = Arc::new(made(page, coding, Effort::Quick)?);
    keep(asked.server, page, asked.key, &coded);
    Some(coded)
}

/// Codes a page while nobody waits for it, unless that is done already, or there is no room.
pub(super) fn behind(asked: &Asked<'_>, page: &Arc<Page>, coding: Coding, effort: Effort) {
    let Some(stored) = page.as_stored() else { return };
    if stored.coded.has_given_up() || !stored.coded.claim() {
        return;
    }
    let server = asked.server;
    let place = server.press.behind.clone().try_acquire_owned().ok();
    let working_bytes = transform::working_bytes(coding, effort, stored.body.len());
    let room = place.is_some().then(|| server.store.reserve(working_bytes).ok()).flatten();
    if place.is_some() && room.is_none() && effort == Effort::Best {
        stored.coded.be_content();
    }
    let Some((place, room)) = place.zip(room) else {
        server.counters.codings_put_off.bump();
        stored.coded.pressed();
        return;
    };
    let (server, page, key) = (server.clone(), page.clone(), asked.key.to_vec());
    let panics = server.counters.panics.clone();
    task::spawn_counted(&panics, async move {
        let coded_page = page.clone();
        let coded = apart(move || made(&coded_page, coding, effort)).await;
        drop(room);
        if let Some(coded) = coded {
            keep(&server, &page, &key, &Arc::new(coded));
        }
        if let Some(stored) = page.as_stored() {
            stored.coded.pressed();
        }
        drop(place);
    });
}

/// The page in this coding; none if there is no memory for it.
fn made(page: &Page, coding: Coding, effort: Effort) -> Option<Coded> {
    let stored = page.as_stored()?;
    let body = transform::compress(coding, effort, &stored.body).ok()?;
    // A copy of its own size: what is stored must not hold more than it weighs.
    let body = body.into_boxed_slice().into();
    Some(Coded::new(stored.status, stored.fields(), coding, effort, body))
}

/// Keeps a coding with its page, if that is still stored.
fn keep(server: &Server, page: &Arc<Page>, key: &[u8], coded: &Arc<Coded>) {
    let Some(stored) = page.as_stored() else { return };
    let key = Key { hash: pipeline::hash(key), text: key };
    let put = || stored.coded.put(coded.clone());
    if !server.store.amend(&key, page, coded.weight(), put) {
        stored.coded.give_up();
    }
}

#[cfg(test)]
#[path = "press_tests.rs"]
mod tests;
