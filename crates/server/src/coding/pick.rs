//! In which coding a stored page goes to a client.
//!
//! At first the coding that costs least of those that the client wants most; where a page is
//! asked for often, the one that is preferred among them, made with all effort.

use std::sync::Arc;

use policy::Wishes;
use policy::representation::forbids_transforming;
use transform::Effort;
use wire::{Codings, Fields, Name};

use super::coded::Coded;
use super::press;
use crate::page::Page;
use crate::serve_stored::Asked;

/// A page that is no larger is coded while its visitor waits: about a millisecond.
pub(crate) const IN_PLACE_BYTES_MAX: usize = 64 << 10;

/// A page that was asked for so often is worth a tenth of a second.
const ASKED_OFTEN: u32 = 64;

/// The page in the coding that this client gets it in; none: as it is.
pub(crate) fn pick(asked: &Asked<'_>, page: &Arc<Page>) -> Option<Arc<Coded>> {
    let stored = page.as_stored()?;
    if !stored.is_codable {
        return None;
    }
    let best = wanted(&asked.head.fields, asked.codings);
    let wanted = best.first()?;
    let made = stored.coded.first_of(best);
    if page.asked() >= ASKED_OFTEN && !stored.coded.is_good_enough() {
        let is_best = |coded: &Arc<Coded>| coded.coding == wanted && coded.effort == Effort::Best;
        if !made.as_ref().is_some_and(is_best) {
            press::behind(asked, page, wanted, Effort::Best);
        }
    }
    if made.is_some() || stored.coded.has_given_up() {
        return made;
    }
    if stored.body.len() <= IN_PLACE_BYTES_MAX {
        return press::in_place(asked, page, best.cheapest()?);
    }
    press::behind(asked, page, wanted, Effort::Quick);
    None
}

/// The codings that a request wants most; none where its answer stays as it is. A part is cut
/// from what isn't coded (RFC 9110 §14.2 would have it cut from the coded bytes, and whoever
/// asks for the next part might find them coded anew).
pub(crate) fn wanted(request: &Fields, offered: Codings) -> Codings {
    if !request.has(Name::AcceptEncoding)
        || request.has(Name::Range)
        || forbids_transforming(request)
    {
        return Codings::NONE;
    }
    Wishes::of(request).best(offered)
}
