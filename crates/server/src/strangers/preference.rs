//! The preference canary: whether a page changes what its visitor sees elsewhere.
//!
//! `?lang=de` puts a language into the session, and the page itself may look the same for
//! two personas. So after an address with a query, or one that redirects, the persona goes
//! to where it was sent, or to the front page; if that looks unlike what a persona sees who
//! comes there first, the address sets a preference and is not shared. A list that was sorted
//! or filtered may be remembered, so the persona looks at it without its query as well.

use std::collections::HashMap;
use std::sync::Arc;

use align::{Document, Likeness, Unlikeness};
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
/// In so many more places than by itself, twice told, a list may read otherwise: a greeting.
const MOVES_MIN: usize = 1;

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
    /// The same, with what only stands elsewhere.
    moves: usize,
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
        let Some((first, document)) = self.look(brief, persona, target).await? else {
            return Ok(());
        };
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

    /// Looks at the list at `target`, from which the persona chose, and compares: rows that stand
    /// elsewhere are what choosing is about.
    pub(crate) async fn check_list(
        &self,
        brief: &Brief,
        persona: &mut Persona,
        target: &str,
    ) -> Result<(), Refusal> {
        let Some((first, document)) = self.look(brief, persona, target).await? else {
            return Ok(());
        };
        let changed = moves(&first.document, &document);
        match changed > first.moves * 2 + MOVES_MIN {
            true => Err(Refusal::Preference { changed, chunks: document.chunk_count().max(1) }),
            false => Ok(()),
        }
    }

    /// The page as somebody new sees it, and as this persona does; none if it isn't compared.
    async fn look(
        &self,
        brief: &Brief,
        persona: &mut Persona,
        target: &str,
    ) -> Result<Option<(Front, Arc<Document>)>, Refusal> {
        let brief = brief.to(target);
        let Some(first) = self.first(&brief).await? else { return Ok(None) };
        let again = persona.fetch(&brief).await?;
        if again.document.is_some() && again.status != first.status {
            return Err(Refusal::Preference { changed: 1, chunks: 1 });
        }
        Ok(again.document.map(|document| (first, document)))
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
        let (noise, moves) = (difference(&once, &document), moves(&once, &document));
        let (ticks_ms, status) = (now.ticks_ms, again.status);
        let front = Front { ticks_ms, fence, status, document, noise, moves };
        let mut pages = self.pages.lock();
        if pages.len() >= FRONTS_MAX {
            pages.clear();
        }
        pages.insert(key, front.clone());
        Ok(Some(front))
    }
}

/// In how many places two copies read otherwise, or stand otherwise.
fn moves(old: &Document, new: &Document) -> usize {
    match align::compare(old, new).map(|comparison| comparison.likeness()) {
        Ok(Likeness::Same | Likeness::Translatable) => 0,
        Ok(Likeness::ReadsDifferently(places) | Likeness::BuiltDifferently(places)) => places,
        Err(_) => old.chunk_count().max(new.chunk_count()),
    }
}

/// How unlike two copies are.
fn difference(old: &Document, new: &Document) -> Unlikeness {
    let all = Unlikeness { parts: old.chunk_count().max(new.chunk_count()), marks: 0 };
    align::unlikeness(old, new).unwrap_or(all)
}
