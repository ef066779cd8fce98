//! The preference canary: whether a page changes what its visitor sees elsewhere.
//!
//! `?lang=de` puts a language into the session, and the page itself may look the same for
//! two personas. So after an address with a query, or one that redirects, the persona goes
//! to where it was sent, or to the front page; if that looks unlike what a persona sees who
//! comes there first, the address sets a preference and is not shared.

use std::collections::HashMap;
use std::sync::Arc;

use align::{Document, Unlikeness};
use parking_lot::Mutex;
use policy::strangers::may_set_preference;

use super::brief::Brief;
use super::persona::Persona;
use super::refusal::Refusal;

/// How long a front page is good for comparing, in milliseconds.
const GOOD_MS: u64 = 60_000;
/// Different front pages (hosts, browsers, languages) that are kept.
const FRONTS_MAX: usize = 64;
/// Parts that may differ: so many, or one in twenty.
const CHANGED_MIN: usize = 8;
const CHANGED_PART: usize = 20;

/// Front pages as a persona sees them who comes there first.
#[derive(Default)]
pub(crate) struct Fronts {
    pages: Mutex<HashMap<Vec<u8>, Front>>,
}

#[derive(Clone)]
struct Front {
    ticks_ms: u64,
    fence: u64,
    status: u16,
    document: Arc<Document>,
    /// What differs by itself.
    noise: Unlikeness,
}

impl Fronts {
    /// Looks at `target` as this persona, and compares.
    pub(crate) async fn check(
        &self,
        brief: &Brief,
        persona: &mut Persona,
        target: &str,
    ) -> Result<(), Refusal> {
        let asked = &brief.target;
        let brief = brief.to(target);
        let Some(first) = self.first(&brief).await? else { return Ok(()) };
        let again = persona.fetch(&brief).await?;
        let Some(document) = again.document else { return Ok(()) };
        if again.status != first.status {
            return Err(Refusal::Preference { changed: 1, chunks: 1 });
        }
        let chunks = document.chunk_count().max(1);
        let found = difference(&first.document, &document);
        // Where the address names a preference, whatever changes is that preference.
        let (changed, most) = match may_set_preference(asked) {
            true => (found.parts + found.marks, first.noise.parts + first.noise.marks),
            false => (found.parts, first.noise.parts + CHANGED_MIN.max(chunks / CHANGED_PART)),
        };
        match changed > most {
            true => Err(Refusal::Preference { changed, chunks }),
            false => Ok(()),
        }
    }

    /// The page as somebody new sees it: kept, or fetched now.
    async fn first(&self, brief: &Brief) -> Result<Option<Front>, Refusal> {
        let now = brief.server.clock.now();
        let fence = brief.site.generations.fence();
        let key = [brief.page(), format!("|{:?}", brief.taste).into_bytes()].concat();
        let kept = self.pages.lock().get(&key).cloned();
        if let Some(front) = kept
            && front.fence == fence
            && now.ticks_ms < front.ticks_ms + GOOD_MS
        {
            return Ok(Some(front));
        }
        let Some(strangers) = brief.strangers() else { return Ok(None) };
        let mut persona = Persona::new(strangers.persona_address());
        let once = persona.fetch(brief).await?;
        let again = persona.fetch(brief).await?;
        let (Some(once), Some(document)) = (once.document, again.document) else {
            return Ok(None);
        };
        let noise = difference(&once, &document);
        let front = Front { ticks_ms: now.ticks_ms, fence, status: again.status, document, noise };
        let mut pages = self.pages.lock();
        if pages.len() >= FRONTS_MAX {
            pages.clear();
        }
        pages.insert(key, front.clone());
        Ok(Some(front))
    }
}

/// How unlike two copies are.
fn difference(old: &Document, new: &Document) -> Unlikeness {
    let all = Unlikeness { parts: old.chunk_count().max(new.chunk_count()), marks: 0 };
    align::unlikeness(old, new).unwrap_or(all)
}
