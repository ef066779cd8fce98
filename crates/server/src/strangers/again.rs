//! Seeing again: whether a shared page is still what a stranger would be given.
//!
//! A page that changed though no change was heard of changes by the time, by chance, or by
//! something that no source tells. It is fresh for less time from then on.

use std::sync::Arc;

use align::{Class, Document, Likeness};
use store::Key;

use crate::page::Page;

use super::Strangers;
use super::fill::Order;
use super::persona::{Persona, Sample, document_of, is_redirect};
use super::proving::doubt_kept;
use super::verify::apart;

/// How long pages are fresh in which only numbers change, or what is drawn by lot.
const RESTLESS_MS: u64 = 600_000;

/// What a second look showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// The same page.
    Same,
    /// Other numbers or times, or what differs at each look.
    Restless,
    /// Another page.
    Another,
    /// It couldn't be told.
    Unknown,
}

/// Fetches a page as a stranger and holds it against the one that is shared.
pub(crate) async fn see_again(order: &Order) -> Seen {
    let brief = &order.brief;
    let key = Key { hash: order.hash, text: &order.key };
    let fields = brief.head().fields;
    let is_shared = |page: &Page| page.is_for_strangers() && page.answers(&fields, &order.reader);
    let Some(page) = brief.server.store.find(&key, is_shared) else { return Seen::Unknown };
    let content = brief.site.generations.content();
    if !page.is_current(&brief.site, order.hash, content) {
        return Seen::Unknown;
    }
    let seen = see_against(order, &page).await;
    if seen == Seen::Another {
        doubt_kept(order, &page, content).await;
    }
    seen
}

/// Fetches a page as a stranger and holds it against this copy.
pub(crate) async fn see_against(order: &Order, page: &Page) -> Seen {
    let (Some(strangers), Some(stored)) = (order.brief.strangers(), page.as_stored()) else {
        return Seen::Unknown;
    };
    let mut persona = Persona::new(strangers.persona_address());
    let Some(sample) = look(order, &mut persona).await else { return Seen::Unknown };
    if sample.status >= 500 {
        return Seen::Unknown;
    }
    if sample.status != stored.status {
        return Seen::Another;
    }
    if is_redirect(sample.status) {
        return Seen::Same;
    }
    let (Some(old), Some(new)) = (document_of(stored), sample.document) else {
        return Seen::Unknown;
    };
    match hold_against(old, new.clone()).await {
        Seen::Another => {
            let second = look(order, &mut persona).await.and_then(|sample| sample.document);
            let Some(second) = second else { return Seen::Unknown };
            match hold_against(new, second).await {
                // It differs from itself, so it says nothing.
                Seen::Another => Seen::Restless,
                _ => Seen::Another,
            }
        }
        seen => seen,
    }
}

/// Draws the consequences; true if something must have changed that nobody told of.
pub(crate) fn learn(strangers: &Strangers, target: &str, seen: Seen) -> bool {
    let classes = &strangers.classes;
    match seen {
        Seen::Unknown => false,
        Seen::Same => {
            classes.lengthen(target);
            false
        }
        Seen::Restless => {
            classes.shorten(target, RESTLESS_MS);
            false
        }
        Seen::Another => {
            let is_known =
                classes.fresh_ms(target).is_some_and(|ms| ms <= strangers.rules.fresh_ms);
            classes.shorten(target, strangers.rules.fresh_ms);
            !is_known
        }
    }
}

pub(super) async fn look(order: &Order, persona: &mut Persona) -> Option<Sample> {
    let sample = persona.fetch(&order.brief).await.ok()?;
    if persona.jar.is_empty() || is_redirect(sample.status) {
        return Some(sample);
    }
    // As for the page that is shared: a session id may stand in links until a cookie came back.
    persona.fetch(&order.brief).await.ok()
}

async fn hold_against(old: Arc<Document>, new: Arc<Document>) -> Seen {
    apart(move || {
        let Ok(comparison) = align::compare(&old, &new) else { return Seen::Another };
        let has_numbers = comparison.spans.iter().any(|span| span.class == Class::Counter);
        match comparison.likeness() {
            Likeness::Same => Seen::Same,
            Likeness::Translatable if has_numbers => Seen::Restless,
            Likeness::Translatable => Seen::Same,
            Likeness::ReadsDifferently(_) | Likeness::BuiltDifferently(_) => Seen::Another,
        }
    })
    .await
}
