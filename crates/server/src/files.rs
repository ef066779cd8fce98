//! Files of a site's folder, kept in memory for as long as they lie there unchanged.
//!
//! A file that was read is a page of the store under its address without the query, as that
//! says nothing to a file. Before it is sent it is held against the folder, once a millisecond
//! at most: the address must still stand for it, its folders' `.htaccess` must still allow it,
//! and its stamp must be the same. So an edit shows at once, as if the file had been opened.
//! Invariants: 1. what was read while it may have been written to is not kept. 2. a file that
//! lies there compressed as well is not kept: which of the two goes is decided by looking.
//! 3. it is dated and aged by the moment at which it is sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use base::Now;
use bytes::Bytes;
use http::Method;
use origin::{FileAt, OpenFile};
use policy::{Rules, Terms, Verdict};
use store::{Key, allocated_bytes};
use wire::{Codings, RequestHead, ResponseHead};

use crate::Server;
use crate::esi::Within;
use crate::fetch::object_bytes_max;
use crate::journey::{Journey, Peers};
use crate::page::Page;
use crate::pipeline;
use crate::purge::marks::Marks;
use crate::reply::Reply;
use crate::serve_stored::{self, Asked, Shown};
use crate::site::Site;

/// Larger files are sent from where they lie: what a copy of the kernel's costs is little beside
/// their way.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// A compressed file that is put beside another is seen within so many milliseconds.
const BESIDE_MS: u64 = 1_000;

/// Which file a page is, and when that was last looked at.
#[derive(Debug)]
pub(crate) struct Kept {
    at: FileAt,
    /// How often the sites had been replaced when it was read: by others it may be sent in
    /// another dress.
    sites: u64,
    looked_ticks_ms: AtomicU64,
    looked_beside_ticks_ms: AtomicU64,
}

impl Kept {
    pub(crate) fn weight(&self) -> usize {
        allocated_bytes(size_of::<Self>()) + allocated_bytes(self.at.path().as_os_str().len())
    }

    /// Whether what lies there is still the same.
    fn is_there(&self, server: &Server, site: &Site, head: &RequestHead, now: Now) -> bool {
        if self.looked_ticks_ms.load(Ordering::Relaxed) == now.ticks_ms {
            return true;
        }
        let is_same = self.sites == server.sites().number()
            && site.origin.file_at(head.path()).as_ref() == Some(&self.at);
        let looked = &self.looked_beside_ticks_ms;
        let looks_beside = now.ticks_ms >= looked.load(Ordering::Relaxed) + BESIDE_MS;
        if !is_same || (looks_beside && self.at.has_beside(site.rules().codings)) {
            return false;
        }
        if looks_beside {
            looked.store(now.ticks_ms, Ordering::Relaxed);
        }
        self.looked_ticks_ms.store(now.ticks_ms, Ordering::Relaxed);
        true
    }
}

/// Appends what a file lies under to the key of the request for it, and says where that begins.
/// The keys of pages begin with a scheme.
fn push_key(key: &mut Vec<u8>) -> usize {
    let (start, end) = (key.len(), memchr::memchr(b'?', key).unwrap_or(key.len()));
    key.extend_from_slice(b"file|");
    key.extend_from_within(..end);
    start
}

/// The reply that a file in memory makes; none if none is there, or it isn't what lies in the
/// folder by now. `key` is the page's, and is left as it was.
#[allow(clippy::too_many_arguments, reason = "it is what a request is on its road")]
pub(crate) fn reply(
    server: &Arc<Server>,
    site: &Arc<Site>,
    rules: &Rules,
    head: &RequestHead,
    now: Now,
    key: &mut Vec<u8>,
    peers: Peers,
    within: Option<&Arc<Within>>,
) -> Option<Reply> {
    if !site.origin.has_files() {
        return None;
    }
    let start = push_key(key);
    let text = &key[start..];
    let reply = find(server, site, head, now, text).map(|page| {
        page.note_asked(now.ticks_ms);
        let codings = rules.codings;
        let asked = Asked { server, site, codings, head, key: text, now, peers, within };
        let shown =
            Shown { verdict: Verdict::Hit, ttl_ms: None, origin_status: None, is_new: false };
        serve_stored::reply(page, &asked, shown)
    });
    key.truncate(start);
    reply
}

/// Whether a file in memory would answer.
pub(crate) fn answers(
    server: &Server,
    site: &Site,
    head: &RequestHead,
    now: Now,
    key: &[u8],
) -> bool {
    let mut text = key.to_vec();
    let start = push_key(&mut text);
    site.origin.has_files() && find(server, site, head, now, &text[start..]).is_some()
}

fn find(
    server: &Server,
    site: &Site,
    head: &RequestHead,
    now: Now,
    text: &[u8],
) -> Option<Arc<Page>> {
    let key = Key { hash: pipeline::hash(text), text };
    let page = server.store.find(&key, |_| true)?;
    if page.file.as_ref().is_some_and(|kept| kept.is_there(server, site, head, now)) {
        return Some(page);
    }
    server.store.remove_if(&key, |stored| std::ptr::eq(stored, &*page));
    None
}

/// Keeps the file that an answer is, unless something speaks against it, and says what is
/// replied with it.
pub(crate) async fn keep(
    journey: &Journey,
    answer: &ResponseHead,
    file: &OpenFile,
    verdict: Verdict,
) -> Option<Reply> {
    let Journey { server, site, head, .. } = journey;
    let fits = file.length <= FILE_BYTES_MAX.min(object_bytes_max(server));
    let is_plain = answer.status == 200 && head.method == Method::GET;
    if !fits || !is_plain || settled(site, head, file).is_none() {
        return None;
    }
    let room = server.store.reserve(file.length as usize).ok()?;
    let sites = server.sites().number();
    let body = file.whole().await.ok()?;
    // After it was read: what was written meanwhile shows here, if it ever will.
    let at = settled(site, head, file)?;
    drop(room);
    let now = journey.now();
    let kept = Kept {
        at,
        sites,
        looked_ticks_ms: AtomicU64::new(now.ticks_ms),
        looked_beside_ticks_ms: AtomicU64::new(now.ticks_ms),
    };
    let mut text = journey.key.clone();
    let start = push_key(&mut text);
    let text = &text[start..];
    let page = Arc::new(page(answer, text, body, site.rules().codings, now).of_file(kept));
    server.store.insert(&Key { hash: pipeline::hash(text), text }, page.clone());
    let origin_status = Some(answer.status);
    let shown = Shown { verdict, ttl_ms: None, origin_status, is_new: true };
    Some(serve_stored::reply(page, &Asked { key: text, ..journey.asked() }, shown))
}

/// The file that was read, if the address stands for it, it is done being written to, and
/// nothing lies beside it.
fn settled(site: &Site, head: &RequestHead, file: &OpenFile) -> Option<FileAt> {
    // What an app sends by its name stands under no address.
    let at = site.origin.file_at(head.path()).filter(|at| at.is(file))?;
    let is_settled = at.stamp.is_settled(SystemTime::now());
    (is_settled && !at.has_beside(site.rules().codings)).then_some(at)
}

fn page(answer: &ResponseHead, key: &[u8], body: Bytes, codings: Codings, now: Now) -> Page {
    let fields = policy::clean_for_store(answer);
    let head = ResponseHead { status: answer.status, fields };
    let terms = Terms::expired(now.ticks_ms);
    Page::stored(head, key, body, terms, None, Marks::default(), codings)
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
