//! A page as it lies on the disk.
//!
//! `length of the facts 4 | facts (JSON) | head | body | variant | copy`. The facts say how
//! long the others are. Ages are told by the clock of the wall, as ticks end with the process;
//! a page that comes back to the process that wrote it is as old as its ticks say.
//! Invariants: 1. only what is whole and meant for this site becomes a page. 2. a page that
//! strangers may write from comes back with the copy that their writes are recognised by, or
//! not at all.

use std::sync::Arc;

use base::Now;
use bytes::Bytes;
use policy::{Terms, VaryKey};
use serde::{Deserialize, Serialize};

use super::Shelf;
use crate::page::{Page, Stored};
use crate::purge::marks::Marks;
use crate::site::Site;
use crate::strangers::copies::Copy;
use crate::strangers::guests::{self, Sharing};

/// A page that says it was stored later than now, by more than clocks differ, is not believed.
const CLOCK_SLACK_MS: u64 = 1000;

/// What is kept of a page beside its bytes.
#[derive(Debug, Deserialize, Serialize)]
struct Facts {
    site: String,
    status: u16,
    is_codable: bool,
    head: usize,
    body: usize,
    vary: Option<usize>,
    copy: Option<usize>,
    /// Who wrote it, and when the page was stored by its ticks and by the wall.
    run: u64,
    ticks_ms: u64,
    unix_ms: u64,
    age_ms: u64,
    lifetime_ms: u64,
    stale_while_revalidate: Option<u32>,
    stale_if_error: Option<u32>,
    must_revalidate: bool,
    no_cache: bool,
    authorized: bool,
    explicit: bool,
    /// Of what doesn't say so it isn't known.
    #[serde(default = "unknown")]
    is_of_bearer: bool,
    early_ms: u32,
    born: u64,
    host: u64,
    tags: Vec<u64>,
    sharing: Option<KeptSharing>,
    /// The number and the length of a body that lies in slices.
    object: Option<(u64, u64)>,
}

fn unknown() -> bool {
    true
}

#[derive(Debug, Deserialize, Serialize)]
struct KeptSharing {
    /// How tastes were told apart when it was written.
    dialect: u64,
    tastes: Vec<u64>,
    errand: u64,
    content: u64,
    tells_time: bool,
}

/// A page that is to be written, with all that is needed for that.
pub(super) struct Kept {
    page: Arc<Page>,
    copy: Option<Arc<Copy>>,
    site: String,
    unix_ms: u64,
    run: u64,
}

impl Kept {
    /// None if it is no page, or one that would be of no use without what is gone already.
    pub(super) fn of(site: &Site, page: &Arc<Page>, now: Now, run: u64) -> Option<Self> {
        let stored = page.as_stored()?;
        let copy = match page.sharing.as_ref().and_then(|sharing| sharing.copy) {
            Some(id) => Some(site.strangers.as_ref()?.copies.with_id(id)?),
            None => None,
        };
        let lain_ms = now.ticks_ms.saturating_sub(stored.terms.stored_ticks_ms);
        let unix_ms = now.unix_ms.saturating_sub(lain_ms);
        Some(Self { page: page.clone(), copy, site: site.name.clone(), unix_ms, run })
    }

    /// Appends the record's payload.
    pub(super) fn write(self, out: &mut Vec<u8>) {
        let Some(stored) = self.page.as_stored() else { return };
        let (born, host, tags) = self.page.marks.to_kept();
        let terms = &stored.terms;
        let copy = self.copy.as_ref().map(|copy| copy.to_note());
        let facts = Facts {
            site: self.site,
            status: stored.status,
            is_codable: stored.is_codable,
            head: stored.head().len(),
            body: stored.body.len(),
            vary: self.page.vary().map(VaryKey::bytes),
            copy: copy.as_ref().map(Vec::len),
            run: self.run,
            ticks_ms: terms.stored_ticks_ms,
            unix_ms: self.unix_ms,
            age_ms: terms.initial_age_ms,
            lifetime_ms: terms.lifetime_ms,
            stale_while_revalidate: terms.stale_while_revalidate_seconds,
            stale_if_error: terms.stale_if_error_seconds,
            must_revalidate: terms.must_revalidate,
            no_cache: terms.no_cache,
            authorized: terms.shared_with_authorization,
            explicit: terms.explicit,
            is_of_bearer: self.page.is_of_bearer,
            early_ms: self.page.early_ms(),
            born,
            host,
            tags: tags.to_vec(),
            object: stored.object.as_ref().map(|object| object.to_kept()),
            sharing: self.page.sharing.as_ref().map(|sharing| KeptSharing {
                dialect: guests::dialect(),
                tastes: sharing.tastes.to_vec(),
                errand: sharing.errand,
                content: sharing.content,
                tells_time: sharing.tells_time,
            }),
        };
        // Texts, numbers and lists of them: nothing that JSON lacks.
        let facts = serde_json::to_vec(&facts).unwrap_or_default();
        out.extend_from_slice(&u32::try_from(facts.len()).unwrap_or(0).to_le_bytes());
        out.extend_from_slice(&facts);
        out.extend_from_slice(stored.head());
        out.extend_from_slice(&stored.body);
        out.extend_from_slice(self.page.vary().map_or(&[], VaryKey::as_bytes));
        out.extend_from_slice(copy.as_deref().unwrap_or_default());
    }
}

/// The parts of a payload, one behind the other.
struct Parts<'a>(&'a [u8]);

impl<'a> Parts<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (part, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(part)
    }
}

/// The page that a payload holds, for this site at this moment; none if there is none, or it
/// may not be used any more.
pub(super) fn read(
    payload: &[u8],
    key: &[u8],
    site: &Site,
    now: Now,
    shelf: &Shelf,
) -> Option<Page> {
    let run = shelf.disk.run();
    let (length, rest) = payload.split_first_chunk::<4>()?;
    let mut parts = Parts(rest);
    let facts = parts.take(u32::from_le_bytes(*length) as usize)?;
    let facts: Facts = serde_json::from_slice(facts).ok()?;
    let head = parts.take(facts.head)?;
    let body = Bytes::copy_from_slice(parts.take(facts.body)?);
    let vary = match facts.vary {
        Some(length) => Some(VaryKey::from_bytes(parts.take(length)?)?),
        None => None,
    };
    let copy = match facts.copy {
        Some(length) => Some(Copy::from_note(parts.take(length)?)?),
        None => None,
    };
    (facts.site == site.name).then_some(())?;
    let terms = terms(&facts, now, run)?;
    let sharing = match &facts.sharing {
        Some(kept) => Some(sharing(kept, copy, site)?),
        None => None,
    };
    let marks = Marks::of_kept(facts.born, facts.host, facts.tags.into());
    let stored = Stored::kept(facts.status, head, key, body, terms, facts.is_codable)
        .in_slices(facts.object.map(|(id, length)| shelf.slices.object(id, length)));
    let page = Page::from_disk(stored, vary, sharing, marks, facts.early_ms);
    Some(page.asked_by(facts.is_of_bearer))
}

/// The terms in this process's ticks.
fn terms(facts: &Facts, now: Now, run: u64) -> Option<Terms> {
    let (stored_ticks_ms, initial_age_ms) = match facts.run == run {
        true => (facts.ticks_ms, facts.age_ms),
        false => {
            // The clock was set back: how old it is nobody knows.
            (facts.unix_ms <= now.unix_ms.saturating_add(CLOCK_SLACK_MS)).then_some(())?;
            let lain_ms = now.unix_ms.saturating_sub(facts.unix_ms);
            (now.ticks_ms, facts.age_ms.saturating_add(lain_ms))
        }
    };
    Some(Terms {
        stored_ticks_ms,
        initial_age_ms,
        lifetime_ms: facts.lifetime_ms,
        stale_while_revalidate_seconds: facts.stale_while_revalidate,
        stale_if_error_seconds: facts.stale_if_error,
        must_revalidate: facts.must_revalidate,
        no_cache: facts.no_cache,
        shared_with_authorization: facts.authorized,
        explicit: facts.explicit,
    })
}

/// For whom among strangers it is, if this site shares with them and tells them apart as it
/// did when the page was written.
fn sharing(kept: &KeptSharing, copy: Option<Copy>, site: &Site) -> Option<Sharing> {
    let strangers = site.strangers.as_ref()?;
    (kept.dialect == guests::dialect()).then_some(())?;
    Some(Sharing {
        tastes: kept.tastes.clone().into(),
        errand: kept.errand,
        content: site.generations.content_since(kept.content),
        tells_time: kept.tells_time,
        copy: copy.map(|copy| strangers.copies.keep_again(copy)),
    })
}
