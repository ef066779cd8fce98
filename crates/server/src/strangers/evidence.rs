//! Evidence: whether a cookie that the app was never seen to set means anything to it.
//!
//! Who bears one is served by the origin. Where the answer is the page that strangers are
//! given, that speaks for a cookie that no server reads; one page that differs speaks
//! against it, and begins the count anew.

use std::sync::Arc;

use base::task;
use origin::Answer;
use policy::strangers::{Errand, Visitor, errand};
use store::Key;
use wire::{Name, body};

use crate::gather::{Gathered, gather};
use crate::journey::Journey;

use super::fill::{fill, untried};
use super::guests::Reader;
use super::persona::{PAGE_BYTES_MAX, Sample, document_of};
use super::verify::apart;
use super::welcome;

/// Looks at an answer to somebody with an unknown cookie; the answer goes on as it came.
pub(crate) async fn look_at(journey: &Journey, hash: u64, mut answer: Answer) -> Answer {
    let Some(strangers) = journey.site.strangers.clone() else { return answer };
    if journey.reader.visitor == Visitor::Unproven {
        strangers.names.note_unknown(&journey.head.fields);
    }
    let head = &answer.head;
    let is_plain_page = journey.reader.visitor == Visitor::Unproven
        && journey.head.method == http::Method::GET
        && head.status == 200
        && errand(&journey.head.fields) == Errand::Navigation
        && super::verify::may_be_page(head.status, &head.fields)
        && answer.file.is_none();
    if !is_plain_page {
        return answer;
    }
    if head.fields.has(Name::SetCookie) {
        // The app answers to it, or begins a session as with any stranger: no telling which.
        return answer;
    }
    let reader = Reader::as_stranger(&journey.site, &journey.head.fields, &journey.head.host);
    let key = Key { hash, text: &journey.key };
    let shared = journey
        .server
        .store
        .find(&key, |page| page.sharing.as_ref().is_some_and(|sharing| sharing.is_for(&reader)));
    let panics = journey.server.counters.panics.clone();
    let Some(shared) = shared else {
        let mut order = welcome::order(journey, hash);
        order.reader = reader;
        if untried(&order).is_none() {
            task::spawn_counted(&panics, async move { drop(fill(&order, None).await) });
        }
        return answer;
    };
    let bytes = match gather(answer.body, PAGE_BYTES_MAX).await {
        Ok(Gathered::Whole(bytes)) => bytes,
        Ok(Gathered::Larger(body)) => return Answer { body, ..answer },
        Err(error) => {
            let failed = futures_util::stream::iter([Err(error)]);
            let body =
                http_body_util::BodyExt::boxed_unsync(http_body_util::StreamBody::new(failed));
            return Answer { body, ..answer };
        }
    };
    answer.length = Some(bytes.len() as u64);
    answer.body = body::full(bytes.clone());
    let own = Sample::of(answer.head.status, answer.head.fields.clone(), bytes, 0);
    let (request, page) = (journey.head.fields.clone(), welcome::page_hash(journey));
    let visitor = crate::pipeline::hash(journey.peers.peer.ip().to_string().as_bytes());
    task::spawn_counted(&panics, async move {
        let own = own.ok().and_then(|own| own.document);
        let (Some(own), Some(shared)) = (own, shared.as_stored().and_then(document_of)) else {
            return;
        };
        let is_same = apart(move || align::may_share(&own, &[], &shared, &[]).is_ok()).await;
        match is_same {
            true => Arc::clone(&strangers).note_the_same(&request, page, visitor),
            false => strangers.names.was_different(&request),
        }
    });
    answer
}
