//! Verification: two personas fetch a page, and what differs is judged.
//!
//! In: a [`Brief`], and the copy of whoever asked first, if there is one. Out: the copy to
//! share, with the values by which it is recognised, or the [`Refusal`].
//! Cost: three requests to the origin for a page without cookies, four for one with; up to
//! three more where strangers differ, to tell what is random from what is personal; two or
//! three more after an address that may set a preference, or sends elsewhere with a session.

use std::sync::Arc;

use align::{Comparison, Document, Kind};
use bytes::Bytes;
use policy::strangers::shape::is_named_after;
use policy::strangers::{
    Wish, forbidden_verb, list_chosen_from, may_set_preference, names_secret, names_session,
};
use wire::{Fields, Name};

use super::Strangers;
use super::brief::Brief;
use super::data;
use super::errors;
use super::persona::{Persona, Sample, essence, is_redirect, kind};
use super::refusal::Refusal;

/// Samples of one persona by which random parts are told from personal ones.
const SAMPLES_MAX: usize = 4;

/// A page that strangers may share.
pub(crate) struct Verified {
    pub(crate) sample: Sample,
    /// Values by which this copy is recognised in a request.
    pub(crate) known: Vec<Vec<u8>>,
    /// Whether anything in it would have to be translated.
    pub(crate) has_tokens: bool,
    /// Whether the app gave the persona a session for it.
    pub(crate) has_session: bool,
    pub(crate) tells_time: bool,
}

/// One persona's visits to the page.
struct Visit {
    persona: Persona,
    /// Without cookies; none if there were no cookies to come back with.
    first: Option<Sample>,
    page: Sample,
}

/// Why this address is not even tried, if it isn't.
pub(crate) fn refused_unseen(strangers: &Strangers, target: &str) -> Option<Refusal> {
    let cookies = strangers.names.app_names();
    let is_app = |parameter: &[u8]| cookies.iter().any(|cookie| is_named_after(parameter, cookie));
    if strangers.forbids(target) {
        return Some(Refusal::Forbidden);
    }
    if let Some(verb) = forbidden_verb(target) {
        return Some(Refusal::Verb(verb));
    }
    if names_session(target, is_app) {
        return Some(Refusal::Session);
    }
    names_secret(target).then_some(Refusal::Secret)
}

/// Fetches the page as two personas and judges.
pub(crate) async fn verify(
    brief: &Brief,
    asker: Option<Arc<Document>>,
) -> Result<Verified, Refusal> {
    let Some(strangers) = brief.strangers() else { return Err(Refusal::Forbidden) };
    let (mut one, mut other) =
        (Persona::new(strangers.persona_address()), Persona::new(strangers.persona_address()));
    while other.address == one.address {
        other.address = strangers.persona_address();
    }
    let (one, other) =
        futures_util::future::join(visit(brief, &mut one), visit(brief, &mut other)).await;
    let (mut one, other) = (one?, other?);
    fits_together(&one.page, &other.page)?;
    obeys(strangers, brief, &one.page)?;
    let first = one.first.as_ref().unwrap_or(&one.page).fields.clone();
    let answers = [&first, &one.page.fields];
    strangers.scripts.check(brief, &mut one.persona, &answers, &one.page).await?;
    let first = one.first.as_ref().unwrap_or(&one.page);
    if may_prefer(brief, first) {
        let leads_to = goes_to(brief, &one.page);
        // Where it leads may be where only a person may go.
        let is_open = refused_unseen(strangers, &leads_to).is_none();
        if is_open && is_redirect(one.page.status) {
            leads_all_alike(strangers, brief, &mut one.persona, &leads_to).await?;
        } else {
            let target = if is_open { &leads_to } else { "/" };
            strangers.fronts.check(brief, &mut one.persona, target).await?;
        }
        if let Some(list) = list_chosen_from(&brief.target)
            && one.page.status == 200
            && !strangers.classes.is_shared(&brief.target)
            && refused_unseen(strangers, list).is_none()
        {
            strangers.fronts.check_list(brief, &mut one.persona, list).await?;
        }
    }
    if is_redirect(one.page.status) {
        // Who came first was given what the next are sent away from: a lock, the last seat.
        return if asker.is_some() { Err(Refusal::Asker) } else { redirect(one, &other.page) };
    }
    let comparison = judge(brief, &mut one, &other, asker).await?;
    if one.page.status == 200 && !brief.is_background() {
        errors::check(brief, strangers, &document(&one.page)?).await?;
    }
    let tells_time = {
        let document = document(&one.page)?;
        document.tells_time(one.page.unix_seconds)
    };
    Ok(Verified {
        known: comparison.strong_values().map(<[u8]>::to_vec).collect(),
        has_tokens: comparison.spans.iter().any(|span| span.class.is_translated()),
        has_session: !one.persona.jar.is_empty(),
        sample: one.page,
        tells_time,
    })
}

async fn visit(brief: &Brief, persona: &mut Persona) -> Result<Visit, Refusal> {
    let mut persona = std::mem::replace(persona, Persona::new(persona.address));
    let page = persona.fetch(brief).await?;
    if persona.jar.is_empty() || is_redirect(page.status) {
        return Ok(Visit { persona, first: None, page });
    }
    // The session id may stand in links as long as no cookie came back.
    let first = Some(page);
    let page = persona.fetch(brief).await?;
    Ok(Visit { persona, first, page })
}

/// Whether both are answers of one kind, and of one that is shared at all.
fn fits_together(one: &Sample, other: &Sample) -> Result<(), Refusal> {
    if one.status != other.status {
        return Err(Refusal::Statuses(one.status, other.status));
    }
    if is_redirect(one.status) {
        let location = |sample: &Sample| sample.fields.first(Name::Location).map(<[u8]>::to_vec);
        return match location(one).is_some() && location(one) == location(other) {
            true => Ok(()),
            false => Err(Refusal::Location),
        };
    }
    if !matches!(one.status, 200 | 404 | 410) {
        return Err(Refusal::Status(one.status));
    }
    match kind(&one.fields).is_some() && essence(&one.fields) == essence(&other.fields) {
        true => Ok(()),
        false => Err(Refusal::Type),
    }
}

/// Whether its headers only say what all the site's headers say.
fn obeys(strangers: &Strangers, brief: &Brief, page: &Sample) -> Result<(), Refusal> {
    let wish = Wish::of(&page.fields);
    if page.status != 200 || strangers.rules.overrides_wish(&brief.target) {
        return Ok(());
    }
    let mut constancy = strangers.constancy.lock();
    constancy.note(crate::pipeline::hash(&brief.page()), wish);
    match constancy.is_obeyed(wish) {
        true => Err(Refusal::of_wish(wish)),
        false => Ok(()),
    }
}

/// Whether the address may have set a preference.
fn may_prefer(brief: &Brief, first: &Sample) -> bool {
    !brief.is_background()
        && first.fields.has(Name::SetCookie)
        && (brief.target.contains('?')
            || is_redirect(first.status)
            || may_set_preference(&brief.target))
}

/// Where a preference would be seen: where the page leads, or the front page.
fn goes_to(brief: &Brief, page: &Sample) -> String {
    let own = format!("http://{}", brief.host);
    let location = page.fields.first(Name::Location).and_then(|l| std::str::from_utf8(l).ok());
    let path = location.map(|l| l.strip_prefix(&own).unwrap_or(l));
    match path {
        Some(path) if path.starts_with('/') && !path.starts_with("//") => {
            path.split('#').next().unwrap_or("/").to_owned()
        }
        _ => "/".to_owned(),
    }
}

/// Whether the page that a redirect leads to is for who was sent there what it is for others: the
/// session may hold a message for it, or, where one logs in, the place to come back to.
async fn leads_all_alike(
    strangers: &Strangers,
    brief: &Brief,
    sent: &mut Persona,
    leads_to: &str,
) -> Result<(), Refusal> {
    let onward = brief.to(leads_to);
    let mut other = Persona::new(strangers.persona_address());
    let first = sent.fetch(&onward).await?;
    let (once, again) = (other.fetch(&onward).await?, other.fetch(&onward).await?);
    if first.status != again.status {
        return Err(Refusal::Onward);
    }
    let (Some(page), Some(once), Some(again)) = (first.document, once.document, again.document)
    else {
        return Ok(());
    };
    if !align::password_fields(page.text()).is_empty() && !tells_from_where(leads_to, &brief.target)
    {
        return Err(Refusal::Guard);
    }
    let own = other.own_values();
    let alike = apart(move || {
        let own: Vec<&[u8]> = own.iter().map(Vec::as_slice).collect();
        align::may_share(&again, &[&once], &page, &own)
    });
    alike.await.map_err(|_| Refusal::Onward)
}

/// Whether the address of a log-in says by itself from where one was sent there.
fn tells_from_where(leads_to: &str, from: &str) -> bool {
    let path = from.split('?').next().unwrap_or(from);
    let spelled = [path.to_owned(), path.replace('/', "%2F"), path.replace('/', "%2f")];
    let query = leads_to.split_once('?').map_or("", |(_, query)| query);
    path.len() > 1 && spelled.iter().any(|it| query.contains(it))
}

fn redirect(mut visit: Visit, other: &Sample) -> Result<Verified, Refusal> {
    let location = visit.page.fields.first(Name::Location).unwrap_or_default();
    if visit.persona.is_shown_in(location) {
        return Err(Refusal::Location);
    }
    // Hardly anybody reads it, so it isn't compared part by part.
    if visit.page.body != other.body {
        visit.page.body = Bytes::new();
    }
    Ok(Verified {
        known: Vec::new(),
        has_tokens: false,
        has_session: !visit.persona.jar.is_empty(),
        tells_time: false,
        sample: visit.page,
    })
}

/// Compares; where strangers differ, fetches more samples to see what differs by itself.
async fn judge(
    brief: &Brief,
    one: &mut Visit,
    other: &Visit,
    asker: Option<Arc<Document>>,
) -> Result<Comparison, Refusal> {
    let page = document(&one.page)?;
    let stranger = document(&other.page)?;
    let own = one.persona.own_values();
    let is_data = kind(&one.page.fields) != Some(Kind::Html);
    let is_trusted = brief.strangers().is_some_and(|strangers| strangers.rules.trust_personas);
    let mut again: Vec<Arc<Document>> = Vec::new();
    again.extend(one.first.as_ref().and_then(|first| first.document.clone()));
    loop {
        let judged = {
            let (page, stranger, own) = (page.clone(), stranger.clone(), own.clone());
            let (again, asker) = (again.clone(), asker.clone());
            let judges = Judges { is_trusted, is_data };
            apart(move || compare(&page, &again, &stranger, asker.as_deref(), &own, judges)).await
        };
        let is_about_texts = matches!(
            judged,
            Err(Refusal::Asker
                | Refusal::Differs(
                    align::Refusal::Personal { .. } | align::Refusal::BuiltDifferently { .. },
                ))
        );
        if !is_about_texts || again.len() >= SAMPLES_MAX {
            return judged;
        }
        let sample = one.persona.fetch(brief).await?;
        match sample.document {
            Some(document) if sample.status == one.page.status => again.push(document),
            _ => return Err(Refusal::Statuses(one.page.status, sample.status)),
        }
    }
}

/// How two copies are judged.
#[derive(Clone, Copy)]
struct Judges {
    /// Not at all.
    is_trusted: bool,
    /// As data rather than as a page.
    is_data: bool,
}

fn compare(
    page: &Document,
    again: &[Arc<Document>],
    other: &Document,
    asker: Option<&Document>,
    own: &[Vec<u8>],
    judges: Judges,
) -> Result<Comparison, Refusal> {
    let again: Vec<&Document> = again.iter().map(Arc::as_ref).collect();
    let own: Vec<&[u8]> = own.iter().map(Vec::as_slice).collect();
    let judge = |other: &Document, own: &[&[u8]]| {
        align::may_share(page, &again, other, own)?;
        if judges.is_data { data::is_for_all(page, &again, other) } else { Ok(()) }
    };
    if !judges.is_trusted {
        judge(other, &own)?;
        if let Some(asker) = asker {
            judge(asker, &[]).map_err(|_| Refusal::Asker)?;
        }
    }
    align::compare(page, other).map_err(|error| Refusal::Differs(error.into()))
}

fn document(sample: &Sample) -> Result<Arc<Document>, Refusal> {
    sample.document.clone().ok_or(Refusal::Type)
}

/// Runs what takes milliseconds where no visitor waits for it.
pub(crate) async fn apart<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> R {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            // It goes on where panics are counted.
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is going, and this task with it.
            Err(_) => std::future::pending().await,
        },
    }
}

/// Whether an answer with these fields could be a page for strangers at all.
pub(crate) fn may_be_page(status: u16, fields: &Fields) -> bool {
    !fields.has(Name::ContentEncoding)
        && (is_redirect(status) || (matches!(status, 200 | 404 | 410) && kind(fields).is_some()))
}
