//! A stored page as this request wants it: whole, its head only, a part of it, or
//! the news that the client's copy is still good.

use std::sync::Arc;

use base::Now;
use http::Method;
use policy::representation::mark_as_asked;
use policy::{Conditional, Selection, Verdict};
use wire::{Codings, Fields, Name, RequestHead, ResponseHead};

use crate::Server;
use crate::coding::pick::pick;
use crate::esi::{self, Within};
use crate::journey::Peers;
use crate::page::{Page, Stored};
use crate::parts;
use crate::reply::{Head, Payload, Reply, Told};
use crate::site::Site;
use crate::slices;

/// Who asks for a stored page, and how.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) server: &'a Arc<Server>,
    pub(crate) site: &'a Arc<Site>,
    /// Those that the site's pages may go in.
    pub(crate) codings: Codings,
    pub(crate) head: &'a RequestHead,
    /// What the page lies under.
    pub(crate) key: &'a [u8],
    pub(crate) now: Now,
    pub(crate) peers: Peers,
    /// Where in another answer it is to stand.
    pub(crate) within: Option<&'a Arc<Within>>,
}

/// How a stored page came to be served.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    pub(crate) verdict: Verdict,
    /// How long it stays fresh, unless it was made just now.
    pub(crate) ttl_ms: Option<i64>,
    /// The status that the origin gave, if it was asked just now.
    pub(crate) origin_status: Option<u16>,
    /// Whether it was stored just now, for this request.
    pub(crate) is_new: bool,
}

impl Shown {
    /// A page that lay in the store.
    pub(crate) fn found(verdict: Verdict, ttl_ms: i64) -> Self {
        Self { verdict, ttl_ms: Some(ttl_ms), origin_status: None, is_new: false }
    }

    /// The same as `Cache-Status` tells it.
    pub(crate) fn told(&self) -> Told {
        Told {
            verdict: self.verdict,
            ttl_seconds: self.ttl_ms.map(whole_seconds),
            origin_status: self.origin_status,
            stored: self.is_new.then_some(Ok(())),
        }
    }
}

/// The reply to a request that selects `page`.
pub(crate) fn reply(page: Arc<Page>, asked: &Asked<'_>, shown: Shown) -> Reply {
    let Asked { head: request, now, .. } = *asked;
    if let Some(stored) = page.as_stored()
        && let Some(object) = &stored.object
    {
        return slices::serve::reply(&page, stored, object, asked, shown);
    }
    if let Some(stored) = page.as_stored()
        && let Some(template) = &stored.template
    {
        return esi::stored(stored, page.is_for_strangers(), template, asked, shown);
    }
    if is_special(&request.fields)
        && let Some(stored) = page.as_stored()
        && let Some(reply) = special(&page, stored, asked, shown)
    {
        return reply;
    }
    let is_head = request.method == Method::HEAD;
    let coded = pick(asked, &page);
    let body = match &coded {
        Some(coded) => Some(coded.body.clone()),
        None => page.as_stored().map(|stored| stored.body.clone()),
    };
    let body = body.filter(|body| !body.is_empty());
    let payload = match body {
        Some(body) if !is_head => Payload::Whole(body),
        _ => Payload::None,
    };
    let age_seconds = age_seconds(&page, now);
    let head = Head::Stored {
        page,
        coded,
        age_seconds,
        ttl_seconds: shown.ttl_ms.map(whole_seconds),
        origin_status: shown.origin_status,
        is_new: shown.is_new,
    };
    Reply { verdict: shown.verdict, unstored: None, head, payload }
}

/// Whether a request may want anything but the whole page; three masks.
fn is_special(fields: &Fields) -> bool {
    fields.has(Name::IfNoneMatch) || fields.has(Name::IfModifiedSince) || fields.has(Name::Range)
}

/// The reply to a conditional or range request, unless it wants the whole after all.
fn special(page: &Page, stored: &Stored, asked: &Asked<'_>, shown: Shown) -> Option<Reply> {
    let Asked { head: request, key, now, .. } = *asked;
    let mut fields = stored.fields();
    let total = stored.body.len() as u64;
    let is_head = request.method == Method::HEAD;
    let (status, payload) = match policy::evaluate(&request.fields, stored.status, &fields) {
        Conditional::NotModified => {
            fields = policy::not_modified_fields(&fields);
            mark_as_asked(&request.fields, &mut fields);
            (304, Payload::None)
        }
        Conditional::Full if stored.status == 200 && !is_head => {
            match policy::range::select(&request.fields, &fields, total) {
                Selection::Full => return None,
                selection => parts::of_memory(selection, &mut fields, &stored.body),
            }
        }
        Conditional::Full => return None,
    };
    if let Some(seconds) = age_seconds(page, now) {
        fields.put(Name::Age, seconds.to_string());
    }
    shown.told().write(&mut fields, key);
    Some(Reply {
        verdict: shown.verdict,
        unstored: None,
        head: Head::Ready(ResponseHead { status, fields }),
        payload,
    })
}

/// How old a page is; none where it is as new as its date, which is that of its sending.
fn age_seconds(page: &Page, now: Now) -> Option<u64> {
    let stored = page.as_stored().filter(|_| page.file.is_none())?;
    Some(policy::age_seconds(&stored.terms, now.ticks_ms))
}

/// Whole seconds, rounded towards the past: a page with 0.9 s left has `ttl=0`.
fn whole_seconds(ms: i64) -> i64 {
    ms.div_euclid(1000)
}
