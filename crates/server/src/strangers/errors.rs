//! Errors that are sent as pages: recognised by asking for a thing that doesn't exist.
//!
//! Many apps answer an unknown identifier with 200 and a sentence. What such a class of
//! addresses answers with is fetched once, by a persona; a page that reads the same is an
//! error, and isn't shared.

use std::sync::Arc;

use align::{Class, Document};
use policy::strangers::impossible;

use super::Strangers;
use super::brief::Brief;
use super::classes::ErrorPage;
use super::persona::Persona;
use super::refusal::Refusal;
use super::verify::apart;

/// A larger page says more than that something doesn't exist.
const ERROR_CHUNKS_MAX: usize = 4096;

/// Refuses a page that is what the site answers with for things that don't exist.
pub(crate) async fn check(
    brief: &Brief,
    strangers: &Strangers,
    page: &Arc<Document>,
) -> Result<(), Refusal> {
    let Some(target) = impossible(&brief.target) else { return Ok(()) };
    let error = match strangers.classes.error_page(&brief.target) {
        ErrorPage::Unknown => {
            let error = look(brief, strangers, &target).await;
            strangers.classes.note_error_page(&brief.target, error.clone());
            error
        }
        known => known,
    };
    let ErrorPage::Page(error) = error else { return Ok(()) };
    match reads_like(page, &error, &target).await {
        true => Err(Refusal::Error),
        false => Ok(()),
    }
}

/// Fetches what is answered for a thing that doesn't exist. Where that is the page without
/// any identifier, identifiers choose nothing there, and there is no error.
async fn look(brief: &Brief, strangers: &Strangers, target: &str) -> ErrorPage {
    let mut persona = Persona::new(strangers.persona_address());
    let missing = brief.to(target);
    // The first visit may only begin a session.
    let Ok(first) = persona.fetch(&missing).await else { return ErrorPage::Unknown };
    if first.status != 200 {
        return ErrorPage::None;
    }
    let Ok(sample) = persona.fetch(&missing).await else { return ErrorPage::Unknown };
    let error = match sample.document {
        Some(document) if sample.status == 200 && document.chunk_count() < ERROR_CHUNKS_MAX => {
            document
        }
        _ => return ErrorPage::None,
    };
    let path = target.split_once('?').map_or("/", |(path, _)| path);
    let Ok(plain) = persona.fetch(&brief.to(path)).await else { return ErrorPage::Unknown };
    match plain.document {
        // An error is a poor page. What is as rich as the list is a list, shown for any number.
        Some(document)
            if plain.status == 200 && error.chunk_count() * 10 > document.chunk_count() * 8 =>
        {
            ErrorPage::None
        }
        Some(document) if plain.status == 200 && reads_like(&document, &error, target).await => {
            ErrorPage::None
        }
        _ => ErrorPage::Page(error),
    }
}

/// Whether two pages read the same, but for tokens, numbers and what was asked for.
async fn reads_like(page: &Arc<Document>, error: &Arc<Document>, target: &str) -> bool {
    let (page, error) = (page.clone(), error.clone());
    let asked = target.rsplit(['/', '=']).next().unwrap_or_default().to_owned();
    let comparison = apart(move || align::compare(&page, &error)).await;
    comparison.is_ok_and(|comparison| {
        let reads = comparison.spans.iter().filter(|span| span.class == Class::Visible);
        let repeats =
            |span: &align::Span| memchr::memmem::find(&span.new, asked.as_bytes()).is_some();
        comparison.left == 0 && reads.into_iter().all(repeats)
    })
}
