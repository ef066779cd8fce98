//! What a browser is told of a page while it waits for it: `103 Early Hints` of our own.
//!
//! ```text
//! must wait ─ the page that is stored, stale or for others ─┬─ its hints are known: sent at once
//!                                                            └─ read now, beside the way to the
//!                                                               origin; sent, and kept with it
//! ```
//! Law: RFC 8297. Bounds: those of [`policy::hints`] and [`align::preloads`].
//! Invariants: 1. only what anybody could have been shown teaches: what lies in the store. 2. a
//! variant that was chosen by another visitor's cookie tells nothing. 3. what was
//! purged tells nothing. 4. a hit is never delayed or made larger.

use std::sync::Arc;

use base::task;
use policy::hints::Hints;
use policy::media_type::essence;
use store::Key;
use tokio::sync::mpsc;
use wire::{Fields, Name, RequestHead, ResponseHead};

use crate::Server;
use crate::page::Page;
use crate::pipeline::{Errand, Task};
use crate::purge::generations::Standing;

/// Whether requests like this one are told of what their page will need.
pub(crate) fn may_be_told(errand: &Errand, head: &RequestHead) -> bool {
    errand.site.rules().early_hints && policy::hints::are_of_use(head)
}

/// Tells what is known of the page that somebody is about to wait for.
pub(crate) fn tell(
    server: &Arc<Server>,
    errand: &Errand,
    head: &RequestHead,
    key_text: &[u8],
    to: &mpsc::Sender<ResponseHead>,
) {
    let Some(page) = teacher(server, errand, head, key_text) else { return };
    let Some(stored) = page.as_stored() else { return };
    if let Some(text) = stored.hints.get() {
        return send(server, text, to);
    }
    let (server, to, key_text, hash) = (server.clone(), to.clone(), key_text.to_vec(), errand.hash);
    let panics = server.counters.panics.clone();
    task::spawn_counted(&panics, async move {
        let text = learn(&server, &page, &Key { hash, text: &key_text });
        send(&server, &text, &to);
    });
}

/// The stored page that shows what the next one will need.
fn teacher(
    server: &Server,
    errand: &Errand,
    head: &RequestHead,
    key_text: &[u8],
) -> Option<Arc<Page>> {
    let key = Key { hash: errand.hash, text: key_text };
    let page = match &errand.task {
        Task::Validate { page, .. } | Task::Remake(page) => page.clone(),
        Task::Fill(_) | Task::Pass(_) => server.store.find(&key, |page| {
            page.as_stored().is_some()
                && page.vary().is_none_or(|vary| vary.may_teach(&head.fields))
        })?,
        // What is on the disk is answered before anything could be told.
        Task::Recall(_) | Task::Deliver { .. } | Task::Purge | Task::Companion(_) => {
            return None;
        }
    };
    let ticks_ms = server.clock.now().ticks_ms;
    let is_gone = errand.site.generations.standing(&page.marks, &key, ticks_ms) == Standing::Gone;
    let is_whole = page.as_stored().is_some_and(|stored| stored.status == 200);
    (is_whole && !is_gone).then_some(page)
}

/// Reads a page's links, and keeps them with it if it is still stored.
fn learn(server: &Server, page: &Arc<Page>, key: &Key<'_>) -> Box<[u8]> {
    let Some(stored) = page.as_stored() else { return Box::default() };
    let fields = stored.fields();
    let mut hints = Hints::of(&fields);
    if is_html(&fields) {
        align::preloads(&stored.body).iter().for_each(|link| hints.add(link.as_bytes()));
    }
    server.counters.hints_left_out.add(hints.left_out);
    let text = hints.into_text();
    let kept = text.clone();
    server.store.amend(key, page, store::allocated_bytes(text.len()), || {
        // Somebody else may have been faster, and has read the same.
        let _ = stored.hints.set(kept);
    });
    text
}

fn is_html(fields: &Fields) -> bool {
    let kind = fields.first(Name::ContentType).unwrap_or_default();
    !fields.has(Name::ContentEncoding) && essence(kind).eq_ignore_ascii_case(b"text/html")
}

/// Hints are worth nothing late: what finds the channel full, or closed, is dropped.
fn send(server: &Server, text: &[u8], to: &mpsc::Sender<ResponseHead>) {
    if text.is_empty() {
        return;
    }
    let mut fields = Fields::new();
    fields.put(Name::Link, text);
    if to.try_send(ResponseHead { status: 103, fields }).is_ok() {
        server.counters.hints_sent.bump();
    }
}
