//! Probes: one page asked for by several strangers, so that what it depends on shows.
//!
//! Two strangers without cookies, the first of them once more with what was set, one who reads
//! another language, and one with a phone. What differs between two strangers and not between
//! two fetches by one of them is personal (`align` decides); what differs by language or device
//! alone has to be said in `Vary` (RFC 9110 §12.5.5).
//! A few pages of each shape are probed, [`Plan::probes`](crate::Plan) in all, and never one
//! that `robots.txt` forbids.

use std::collections::HashMap;

use align::{Document, Kind, may_share};
use policy::NoStore;
use policy::strangers::{Jar, shape};
use url::Url;
use wire::Name;

use crate::book::{Known, State};
use crate::fetch::{AGENT, Answer, target};
use crate::page::Facts;
use crate::plan::AuditError;
use crate::tests::caching::{may_keep, verdict};
use crate::tests::finding;
use crate::visit::Visit;

/// Pages of one shape.
const OF_SHAPE: usize = 2;
const PHONE: &str = "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) \
                     Chrome/140.0.0.0 Mobile Safari/537.36";
/// The probe's pages, as the findings of the book name them.
const PROBED: &str = "probed";

/// Probes some pages of a site.
pub(crate) async fn run(visit: &mut Visit<'_>) -> Result<(), AuditError> {
    let done = visit.book.kept(PROBED)?.unwrap_or_default();
    let mut last: i64 = done.parse().unwrap_or(-1);
    for known in chosen(visit)? {
        if known.id <= last {
            continue;
        }
        if visit.is_over() {
            return Ok(());
        }
        let Ok(url) = Url::parse(&known.url) else { continue };
        let told = probe(visit, &url).await;
        if visit.is_over() {
            return Ok(());
        }
        if let Some(told) = told {
            for (rule, message) in told {
                if let Some(finding) = finding(rule, &known.url, 0, message) {
                    visit.book.note(known.id, &finding)?;
                }
            }
        }
        last = known.id;
        visit.book.keep(PROBED, &last.to_string())?;
    }
    Ok(())
}

fn chosen(visit: &Visit<'_>) -> Result<Vec<Known>, AuditError> {
    let mut pages: Vec<Known> = visit.book.addresses()?.into_values().collect();
    // What a cache gave is given to all strangers alike, as far as its owner's settings go; where
    // the store comes first, nothing that lies there is asked for at the origin.
    let is_told =
        |facts: &Facts| facts.is_html && !(visit.manner().store_first && facts.is_from_cache);
    pages.retain(|page| page.state == State::Done && page.status == 200 && is_told(&page.facts()));
    pages.sort_by_key(|page| page.id);
    let mut shapes: HashMap<String, usize> = HashMap::new();
    pages.retain(|page| {
        let Ok(url) = Url::parse(&page.url) else { return false };
        let count = shapes.entry(shape(&target(&url))).or_default();
        *count += 1;
        *count <= OF_SHAPE
    });
    pages.truncate(visit.plan.probes);
    Ok(pages)
}

/// What the answers to several strangers show; none where one of them failed.
async fn probe(visit: &mut Visit<'_>, url: &Url) -> Option<Vec<(&'static str, String)>> {
    let english = || ("accept-language", "en".to_owned());
    let first = page(visit, url, &[english()]).await?;
    let mut jar = Jar::default();
    jar.absorb(&first.fields, unix_seconds());
    let mut cookies = Vec::new();
    jar.write(&mut cookies);
    let mut again = vec![english()];
    if !cookies.is_empty() {
        again.push(("cookie", String::from_utf8_lossy(&cookies).into_owned()));
    }
    let again = page(visit, url, &again).await?;
    let other = page(visit, url, &[english()]).await?;
    let may_be_kept = may_keep(verdict(url, &first));
    let personal: Vec<&[u8]> = jar.iter().map(|(_, value)| value).collect();
    let mut told = Vec::new();
    if let Err(refusal) = shares(&first, &again, &other, &personal) {
        if may_be_kept {
            told.push(("cache-differs", refusal));
        }
        // What differs by itself says nothing about languages.
        return Some(told);
    }
    // A page under a picture's name isn't to be shared by whatever it says.
    let reason = verdict(url, &first);
    if !may_be_kept && reason != NoStore::TypeMismatch.reason() {
        told.push(("cache-wasted", format!("only {reason} keeps it from being shared")));
    }
    let french = [("accept-language", "fr, de;q=0.5".to_owned())];
    let french = page(visit, url, &french).await?;
    if !varies(&first, Name::AcceptLanguage) && shares(&first, &other, &french, &[]).is_err() {
        told.push(("vary-language", "Vary doesn't name Accept-Language".to_owned()));
    }
    let agent = format!("{PHONE} {AGENT}");
    let phone = page(visit, url, &[english(), ("user-agent", agent)]).await?;
    if !varies(&first, Name::UserAgent) && shares(&first, &other, &phone, &[]).is_err() {
        told.push(("vary-device", "Vary doesn't name User-Agent".to_owned()));
    }
    Some(told)
}

async fn page(
    visit: &mut Visit<'_>,
    url: &Url,
    fields: &[(&'static str, String)],
) -> Option<Answer> {
    let answer = visit.ask(url, fields, false).await.ok()?;
    if matches!(answer.status, 429 | 503) {
        let wanted = answer.retry_after(std::time::SystemTime::now());
        visit.rest(wanted);
    }
    (answer.status == 200 && !answer.is_cut).then_some(answer)
}

fn shares(
    first: &Answer,
    again: &Answer,
    other: &Answer,
    personal: &[&[u8]],
) -> Result<(), String> {
    let read = |answer: &Answer| Document::new(Kind::Html, &answer.fields, &answer.body);
    let (Ok(first), Ok(again), Ok(other)) = (read(first), read(again), read(other)) else {
        // What is too long to be compared is not known to differ.
        return Ok(());
    };
    may_share(&first, &[&again], &other, personal).map_err(|refusal| match refusal {
        // Where a value stands is another place each time.
        align::Refusal::Exposed { .. } => "a stranger's own value stands in the page".to_owned(),
        align::Refusal::BuiltDifferently { .. } | align::Refusal::Personal { .. } => {
            "two strangers read different texts".to_owned()
        }
        align::Refusal::Puzzle => "a form asks each stranger for another sum".to_owned(),
        align::Refusal::Unsteady { .. } => "it is another page at each reading".to_owned(),
        align::Refusal::TooDifferent(_) => "two strangers are given different pages".to_owned(),
    })
}

fn varies(answer: &Answer, name: Name) -> bool {
    let mut members = answer.fields.members(Name::Vary);
    members.any(|member| member == b"*" || member.eq_ignore_ascii_case(name.as_str().as_bytes()))
}

fn unix_seconds() -> u64 {
    let unix = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    unix.map_or(0, |unix| unix.as_secs())
}
