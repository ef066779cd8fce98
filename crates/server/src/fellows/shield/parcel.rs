//! Parcel: a page as one node hands it to another.
//!
//! `newlines | facts (JSON), newline | fields | body | variant | copy`. The newlines in front say
//! that the owner is at work. The facts say how long the others are. Ages are told, and no
//! clock; tags by their names, as each node makes its own marks of them.
//! Invariants: 1. what isn't whole is no page. 2. a page that strangers may write from comes with
//! the copy that their writes are recognised by, or not at all.

use std::sync::Arc;

use bytes::Bytes;
use policy::{Terms, VaryKey};
use serde::{Deserialize, Serialize};
use wire::{Fields, Name};

use crate::page::Page;
use crate::site::Site;
use crate::strangers::copies::Copy;

/// Larger bodies each node gets for itself.
const BODY_BYTES_MAX: usize = 4 << 20;
/// A body, its copy, and what is said of both.
pub(super) const PARCEL_BYTES_MAX: usize = 2 * BODY_BYTES_MAX + (1 << 20);

/// Why there is no page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Without {
    /// It isn't everybody's, or nothing that is handed on.
    Unshared,
    /// It may be another time.
    Later,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Told {
    Page(Facts),
    Without(Without),
}

#[derive(Debug, Deserialize, Serialize)]
struct Facts {
    status: u16,
    fields: usize,
    body: usize,
    vary: Option<usize>,
    copy: Option<usize>,
    age_ms: u64,
    lifetime_ms: u64,
    stale_while_revalidate: Option<u32>,
    stale_if_error: Option<u32>,
    must_revalidate: bool,
    authorized: bool,
    explicit: bool,
    is_of_bearer: bool,
    was_kept: bool,
    tags: Vec<String>,
    /// Of a page for strangers alone: whether it tells the time.
    tells_time: Option<bool>,
    /// From where on its owner hears of what is behind the site; none: it follows nothing.
    #[serde(default)]
    goes_by: Option<u64>,
}

/// A page that came.
pub(super) struct Parcel {
    pub(super) status: u16,
    pub(super) fields: Fields,
    pub(super) body: Bytes,
    pub(super) vary: Option<VaryKey>,
    /// Its terms, as if it had come when it was asked for.
    pub(super) terms: Terms,
    pub(super) tags: Vec<String>,
    pub(super) is_of_bearer: bool,
    /// Whether the owner had it, so that its app knows nothing of this view.
    pub(super) was_kept: bool,
    /// From where on its owner hears of what is behind the site.
    pub(super) goes_by: Option<u64>,
    pub(super) for_strangers: Option<ForStrangers>,
}

/// What a page for strangers bears besides.
pub(super) struct ForStrangers {
    pub(super) tells_time: bool,
    pub(super) copy: Option<Copy>,
}

/// Writes that there is none.
pub(super) fn without(why: Without) -> Vec<u8> {
    line(&Told::Without(why))
}

fn line(told: &Told) -> Vec<u8> {
    // Texts, numbers and lists of them: nothing that JSON lacks.
    let mut text = serde_json::to_vec(told).unwrap_or_default();
    text.push(b'\n');
    text
}

/// Writes a page; none of what isn't handed on.
pub(super) fn write(
    site: &Site,
    page: &Arc<Page>,
    ticks_ms: u64,
    was_kept: bool,
    goes_by: Option<u64>,
) -> Option<Vec<u8>> {
    let stored = page.as_stored()?;
    let is_plain = stored.object.is_none() && stored.template.is_none();
    (is_plain && stored.body.len() <= BODY_BYTES_MAX).then_some(())?;
    let copy = match page.sharing.as_ref().and_then(|sharing| sharing.copy) {
        Some(id) => Some(site.strangers.as_ref()?.copies.with_id(id)?.to_note()),
        None => None,
    };
    let mut fields = stored.fields();
    fields.remove(Name::ContentLength);
    let mut text = Vec::new();
    fields.render(&mut text);
    let terms = &stored.terms;
    let lain_ms = ticks_ms.saturating_sub(terms.stored_ticks_ms);
    let mut out = line(&Told::Page(Facts {
        status: stored.status,
        fields: text.len(),
        body: stored.body.len(),
        vary: page.vary().map(VaryKey::bytes),
        copy: copy.as_ref().map(Vec::len),
        age_ms: terms.initial_age_ms.saturating_add(lain_ms),
        lifetime_ms: terms.lifetime_ms,
        stale_while_revalidate: terms.stale_while_revalidate_seconds,
        stale_if_error: terms.stale_if_error_seconds,
        must_revalidate: terms.must_revalidate,
        authorized: terms.shared_with_authorization,
        explicit: terms.explicit,
        is_of_bearer: page.is_of_bearer,
        was_kept,
        tags: page.marks.names()?.map(str::to_owned).collect(),
        tells_time: page.sharing.as_ref().map(|sharing| sharing.tells_time),
        goes_by,
    }));
    out.extend_from_slice(&text);
    out.extend_from_slice(&stored.body);
    out.extend_from_slice(page.vary().map_or(&[], VaryKey::as_bytes));
    out.extend_from_slice(copy.as_deref().unwrap_or_default());
    Some(out)
}

/// Reads what came for a request of this moment. Its page is as old as its owner says, and as
/// the whole exchange took.
pub(super) fn read(whole: &Bytes, asked_ticks_ms: u64) -> Option<Result<Parcel, Without>> {
    let start = whole.iter().position(|&byte| byte != b'\n')?;
    let end = start + memchr::memchr(b'\n', &whole[start..])?;
    let facts = match serde_json::from_slice(&whole[start..end]).ok()? {
        Told::Page(facts) => facts,
        Told::Without(why) => return Some(Err(why)),
    };
    let mut at = end + 1;
    let mut take = |length: usize| {
        let until = at.checked_add(length).filter(|until| *until <= whole.len())?;
        Some(whole.slice(std::mem::replace(&mut at, until)..until))
    };
    let fields = Fields::parse(&take(facts.fields)?).ok()?;
    let body = take(facts.body)?;
    let vary = match facts.vary {
        Some(length) => Some(VaryKey::from_bytes(&take(length)?)?),
        None => None,
    };
    let copy = match facts.copy {
        Some(length) => {
            let mut copy = Copy::from_note(&take(length)?)?;
            // Its number is this node's to give.
            copy.id = 0;
            Some(copy)
        }
        None => None,
    };
    (at == whole.len()).then_some(())?;
    let terms = Terms {
        stored_ticks_ms: asked_ticks_ms,
        initial_age_ms: facts.age_ms,
        lifetime_ms: facts.lifetime_ms,
        stale_while_revalidate_seconds: facts.stale_while_revalidate,
        stale_if_error_seconds: facts.stale_if_error,
        must_revalidate: facts.must_revalidate,
        no_cache: false,
        shared_with_authorization: facts.authorized,
        explicit: facts.explicit,
    };
    Some(Ok(Parcel {
        status: facts.status,
        fields,
        // Memory of its own: what is stored must not hold more than it weighs.
        body: Bytes::copy_from_slice(&body),
        vary,
        terms,
        tags: facts.tags,
        is_of_bearer: facts.is_of_bearer,
        was_kept: facts.was_kept,
        goes_by: facts.goes_by,
        for_strangers: facts.tells_time.map(|tells_time| ForStrangers { tells_time, copy }),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(fields: &str, body: &str) -> Facts {
        Facts {
            status: 200,
            fields: fields.len(),
            body: body.len(),
            vary: None,
            copy: None,
            age_ms: 3000,
            lifetime_ms: 60_000,
            stale_while_revalidate: Some(5),
            stale_if_error: None,
            must_revalidate: false,
            authorized: false,
            explicit: true,
            is_of_bearer: false,
            was_kept: true,
            tags: vec!["news".to_owned()],
            tells_time: None,
            goes_by: None,
        }
    }

    #[test]
    fn a_parcel_is_read_behind_any_signs_of_work_and_only_whole() {
        let (fields, body) = ("content-type: text/plain\r\n", "a page\n\nof lines");
        let mut whole = b"\n\n\n".to_vec();
        whole.extend(line(&Told::Page(facts(fields, body))));
        whole.extend_from_slice(fields.as_bytes());
        whole.extend_from_slice(body.as_bytes());
        let whole = Bytes::from(whole);
        let parcel = read(&whole, 1000).and_then(Result::ok).expect("it is whole");
        assert_eq!((&*parcel.body, parcel.fields.len()), (body.as_bytes(), 1));
        assert_eq!(parcel.tags, ["news"]);
        let Terms { stored_ticks_ms, initial_age_ms, lifetime_ms, .. } = parcel.terms;
        assert_eq!((stored_ticks_ms, initial_age_ms, lifetime_ms), (1000, 3000, 60_000));
        for end in 0..whole.len() {
            assert!(read(&whole.slice(..end), 1000).is_none(), "{end}");
        }
        let longer = Bytes::from([&whole[..], b"x"].concat());
        assert!(read(&longer, 1000).is_none());
        let huge = Facts { body: usize::MAX, ..facts(fields, body) };
        assert!(read(&line(&Told::Page(huge)).into(), 1000).is_none());
    }

    #[test]
    fn that_there_is_none_is_read_as_it_was_written() {
        for why in [Without::Unshared, Without::Later] {
            let told = Bytes::from([b"\n".to_vec(), without(why)].concat());
            assert_eq!(read(&told, 0).and_then(Result::err), Some(why));
        }
        assert!(read(&Bytes::from_static(b"{\"moon\":\"full\"}\n"), 0).is_none());
    }
}
