//! Files of a site's folder, kept in memory for as long as they lie there unchanged.
//!
//! A file that was read is a page of the store under its address without the query, as that
//! says nothing to a file. Before it is sent it is held against the folder, once a millisecond
//! at most: the address must still stand for it, its folders' `.htaccess` must still allow it,
//! and its stamp must be the same. So an edit shows at once, as if the file had been opened.
//! A compressed file that lies beside it is a page of its own, which goes in its place.
//! Invariants: 1. what was read while it may have been written to is not kept. 2. a page is
//! dated by the moment at which it is sent, as it is as good as read then.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use base::Now;
use bytes::Bytes;
use http::Method;
use origin::{FileAt, OpenFile, Stamp};
use policy::representation::{encode_fields, may_be_coded, vary_by_coding};
use policy::{Rules, Terms, Verdict};
use store::{Key, allocated_bytes};
use tokio::sync::OwnedSemaphorePermit;
use wire::{Body, Coding, Codings, Name, RequestHead, ResponseHead, Version, body};

use crate::Server;
use crate::coding::{passing, pick};
use crate::esi::Within;
use crate::fetch::{Fetch, object_bytes_max};
use crate::journey::{Journey, Peers};
use crate::page::Page;
use crate::pipeline;
use crate::purge::marks::Marks;
use crate::reply::{Head, Payload, Reply};
use crate::serve_stored::{self, Asked, Shown};
use crate::site::Site;

/// Larger files are sent from where they lie, by the kernel and without a copy.
const FILE_BYTES_MAX: u64 = 256 << 10;

/// The same for those that are sent in codings, which are made once and kept beside.
const CODED_FILE_BYTES_MAX: u64 = 1 << 20;

/// From this length on a file that is kept is held open, and sent by the kernel.
const SENT_BYTES_MIN: u64 = 128 << 10;

/// So many files are held open.
pub(crate) const OPEN_FILES_MAX: usize = 512;

/// What becomes of a compressed file beside another is seen within so many milliseconds.
const BESIDE_MS: u64 = 1_000;

/// Bytes of a file that go out as they lie there.
pub(crate) struct Stretch {
    pub(crate) file: OpenFile,
    pub(crate) first: u64,
    pub(crate) end: u64,
}

impl Stretch {
    pub(crate) fn length(&self) -> u64 {
        self.end - self.first
    }

    /// What is sent by who can't have the kernel do it.
    pub(crate) fn into_body(self) -> Body {
        self.file.body(self.first, self.end)
    }
}

/// A file that is held open, and its place among those.
pub(crate) type Open = Box<(OpenFile, OwnedSemaphorePermit)>;

/// Holds a file open if that is worth it, and not too many are.
fn held_open(server: &Server, file: &OpenFile) -> Option<Open> {
    let is_long = file.length() >= SENT_BYTES_MIN;
    let place = server.open_files.clone().try_acquire_owned().ok().filter(|_| is_long)?;
    Some(Box::new((file.clone(), place)))
}

/// What one takes of memory.
pub(crate) fn open_weight(open: &Open) -> usize {
    let (file, _) = &**open;
    let texts = [file.at.path().as_os_str().len(), file.etag.len(), file.content_type.len()];
    allocated_bytes(size_of_val(&**open)) + texts.map(allocated_bytes).iter().sum::<usize>()
}

/// The file that lies open for what is sent of it, if the kernel is to send it.
pub(crate) fn open<'a>(head: &'a Head, body: &Bytes) -> Option<&'a OpenFile> {
    let Head::Stored { page, coded: None, .. } = head else { return None };
    let (file, _) = &**page.open.as_ref()?;
    (body.len() as u64 == file.length() && file.is_warm(0, file.length())).then_some(file)
}

/// Which file a page is, and when that was last looked at.
#[derive(Debug)]
pub(crate) struct Kept {
    at: FileAt,
    /// The compressed files that lie beside it.
    beside: Vec<(Coding, Stamp)>,
    /// How often the sites had been replaced when it was read: by others it may be sent in
    /// another dress.
    sites: u64,
    looked_ticks_ms: AtomicU64,
    looked_beside_ticks_ms: AtomicU64,
}

impl Kept {
    /// The coding of the file beside it that goes in its place to who sent this request.
    fn beside(&self, head: &RequestHead, codings: Codings) -> Option<Coding> {
        if self.beside.is_empty() {
            return None;
        }
        let wanted = pick::wanted(&head.fields, codings);
        wanted.iter().find(|wanted| self.beside.iter().any(|(coding, _)| coding == wanted))
    }

    pub(crate) fn weight(&self) -> usize {
        allocated_bytes(size_of::<Self>())
            + allocated_bytes(self.at.path().as_os_str().len())
            + allocated_bytes(size_of_val(&*self.beside))
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
        if !is_same || (looks_beside && self.at.beside(site.rules().codings) != self.beside) {
            return false;
        }
        if looks_beside {
            looked.store(now.ticks_ms, Ordering::Relaxed);
        }
        self.looked_ticks_ms.store(now.ticks_ms, Ordering::Relaxed);
        true
    }
}

/// The key of a request for a file, and behind it what the file lies under.
struct FileKey<'a> {
    text: &'a mut Vec<u8>,
    request_bytes: usize,
}

impl<'a> FileKey<'a> {
    fn behind(text: &'a mut Vec<u8>) -> Self {
        Self { request_bytes: text.len(), text }
    }

    /// What the file lies under, or the one beside it in a coding. The keys of pages begin with
    /// a scheme.
    fn of(&mut self, coding: Option<Coding>) -> &[u8] {
        let Self { text, request_bytes } = self;
        text.truncate(*request_bytes);
        let end = memchr::memchr(b'?', text).unwrap_or(*request_bytes);
        text.extend_from_slice(b"file");
        if let Some(coding) = coding {
            text.extend_from_slice(coding.file_ending().as_bytes());
        }
        text.push(b'|');
        text.extend_from_within(..end);
        &text[*request_bytes..]
    }
}

/// Leaves the key of the request as it was.
impl Drop for FileKey<'_> {
    fn drop(&mut self) {
        self.text.truncate(self.request_bytes);
    }
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
    let (mut key, codings) = (FileKey::behind(key), rules.codings);
    let mut key_text = key.of(None);
    let mut page = find(server, site, head, now, key_text)?;
    let coding = page.file.as_ref().and_then(|kept| kept.beside(head, codings));
    if coding.is_some() {
        key_text = key.of(coding);
        page = find(server, site, head, now, key_text)?;
    }
    page.note_asked(now.ticks_ms);
    let asked = Asked { server, site, codings, head, key: key_text, now, peers, within };
    let shown = Shown { verdict: Verdict::Hit, ttl_ms: None, origin_status: None, is_new: false };
    Some(served(page, &asked, shown))
}

/// The reply that a file makes. One that is in no coding yet is coded as it is sent, as long as
/// that takes: text is never sent as it is to who wants it coded.
fn served(page: Arc<Page>, asked: &Asked<'_>, shown: Shown) -> Reply {
    let mut reply = serve_stored::reply(page.clone(), asked, shown);
    let is_plain = matches!(reply.head, Head::Stored { coded: None, .. });
    let may_stream = is_plain && asked.head.version != Version::Http10;
    let Some(stored) = page.as_stored().filter(|stored| stored.is_codable && may_stream) else {
        return reply;
    };
    let wanted = pick::wanted(&asked.head.fields, asked.codings);
    if wanted.is_empty() {
        return reply;
    }
    let (mut fields, length) = (stored.fields(), Some(stored.length()));
    let body = body::full(stored.body.clone());
    let coded = Payload::Stream { body, length };
    let coded = passing::encode(asked.server, asked.head, wanted, &mut fields, coded);
    if fields.has(Name::ContentEncoding) {
        shown.told().write(&mut fields, asked.key);
        reply.head = Head::Ready(ResponseHead { status: stored.status, fields });
        reply.payload = coded;
    }
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
    let mut key = FileKey::behind(&mut text);
    site.origin.has_files() && find(server, site, head, now, key.of(None)).is_some()
}

/// The page that lies under this, if it is what lies in the folder.
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
    fetch: &Fetch,
) -> Option<Reply> {
    let Journey { server, site, head, .. } = journey;
    let codings = site.rules().codings;
    let is_plain = answer.status == 200 && head.method == Method::GET;
    let may_be = is_plain && file.length() <= bytes_max(server, file, answer, codings);
    if !may_be || settled(site, head, file).is_none() {
        return None;
    }
    let body = read(server, file).await?;
    // After it was read: what was written meanwhile shows here, if it ever will.
    let at = settled(site, head, file)?;
    let ticks_ms = journey.now().ticks_ms;
    let kept = Arc::new(Kept {
        beside: at.beside(codings),
        at,
        sites: fetch.sites,
        looked_ticks_ms: AtomicU64::new(ticks_ms),
        looked_beside_ticks_ms: AtomicU64::new(ticks_ms),
    });
    let mut text = journey.key.clone();
    let mut key = FileKey::behind(&mut text);
    let coding = kept.beside(head, codings);
    let mut page = put(journey, key.of(None), answer, body, kept.clone(), held_open(server, file));
    if let Some(coding) = coding {
        let most = bytes_max(server, file, answer, codings);
        let file = file.beside(coding).filter(|file| file.length() <= most)?;
        let body = read(server, &file).await?;
        let is_same = kept.beside.contains(&(coding, file.at.stamp)) && is_settled(&file.at.stamp);
        if !is_same || site.origin.file_at(head.path()).as_ref() != Some(&kept.at) {
            return None;
        }
        let mut answer = answer.clone();
        vary_by_coding(&mut answer.fields);
        encode_fields(&mut answer.fields, coding);
        answer.fields.set(Name::Etag, &file.etag);
        let open = held_open(server, &file);
        page = put(journey, key.of(Some(coding)), &answer, body, kept, open);
    }
    let verdict = Verdict::Miss(fetch.why);
    let shown = Shown { verdict, ttl_ms: None, origin_status: Some(200), is_new: true };
    let key = key.of(coding);
    Some(served(page, &Asked { key, ..journey.asked() }, shown))
}

/// How long a file may be that is kept and sent in these codings.
fn bytes_max(server: &Server, file: &OpenFile, answer: &ResponseHead, codings: Codings) -> u64 {
    let is_codable =
        !codings.is_empty() && may_be_coded(answer.status, &answer.fields, Some(file.length()));
    let most = if is_codable { CODED_FILE_BYTES_MAX } else { FILE_BYTES_MAX };
    most.min(object_bytes_max(server))
}

/// All of a file, while there is room for it.
async fn read(server: &Server, file: &OpenFile) -> Option<Bytes> {
    let room = server.store.reserve(file.length() as usize).ok()?;
    let body = file.whole().await.ok();
    drop(room);
    body
}

/// Puts a file's page where it is found.
fn put(
    journey: &Journey,
    text: &[u8],
    answer: &ResponseHead,
    body: Bytes,
    kept: Arc<Kept>,
    open: Option<Open>,
) -> Arc<Page> {
    let fields = policy::clean_for_store(answer);
    let codings = match fields.has(Name::ContentEncoding) {
        true => Codings::NONE,
        false => journey.site.rules().codings,
    };
    let head = ResponseHead { status: answer.status, fields };
    let (terms, marks) = (Terms::expired(journey.now().ticks_ms), Marks::default());
    let page = Page::stored(head, text, body, terms, None, marks, codings).of_file(kept, open);
    let page = Arc::new(page);
    journey.server.store.insert(&Key { hash: pipeline::hash(text), text }, page.clone());
    page
}

/// The file that was opened, if the address stands for it and it is done being written to.
fn settled(site: &Site, head: &RequestHead, file: &OpenFile) -> Option<FileAt> {
    // What an app sends by its name stands under no address.
    let at = site.origin.file_at(head.path()).filter(|at| *at == file.at)?;
    is_settled(&at.stamp).then_some(at)
}

fn is_settled(stamp: &Stamp) -> bool {
    stamp.is_settled(SystemTime::now())
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
