//! Cacheability: what the server's own judgement says of a page that a stranger asks for.

use base::Now;
use http::Method;
use policy::{Admission, NoStore, Rules, admit};
use url::Url;
use wire::{Fields, Name, RequestHead, ResponseHead, Version};

use super::Notes;
use crate::fetch::{Answer, target};

/// The verdict of a page that may be kept and shared.
const STORE: &str = "store";

/// The verdict of a page that a cache on the way says it keeps.
const KEPT: &str = "kept";

/// What becomes of an answer: [`STORE`] or [`KEPT`], or the token of the reason why the law
/// doesn't let it be kept.
#[must_use]
pub(crate) fn verdict(url: &Url, answer: &Answer) -> &'static str {
    match is_kept(answer) {
        true => KEPT,
        false => judged(url, answer).map_or(STORE, NoStore::reason),
    }
}

/// Whether a verdict lets caches have the page.
#[must_use]
pub(crate) fn may_keep(verdict: &str) -> bool {
    matches!(verdict, STORE | KEPT)
}

/// Whether a cache on the way says that it has the answer (RFC 9211 §2): what its owner told it
/// to do counts for more than what the origin says, and what it says to others isn't for it.
fn is_kept(answer: &Answer) -> bool {
    answer.fields.all_named("cache-status").any(|line| {
        let line = String::from_utf8_lossy(line);
        line.split([';', ',']).any(|part| matches!(part.trim(), "hit" | "stored"))
    })
}

fn judged(url: &Url, answer: &Answer) -> Option<NoStore> {
    let mut fields = Fields::new();
    let host = url.host_str().unwrap_or("").to_owned();
    fields.put(Name::Host, &host);
    let request = RequestHead {
        method: Method::GET,
        target: target(url),
        host,
        version: Version::Http11,
        fields,
    };
    let response = ResponseHead { status: answer.status, fields: answer.fields.clone() };
    let unix = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let unix_ms = unix.map_or(0, |unix| u64::try_from(unix.as_millis()).unwrap_or(u64::MAX));
    let now = Now { ticks_ms: 0, ticks_us: 0, unix_ms };
    match admit(&request, &response, 0, now, &Rules::default()) {
        Admission::Store(_) => None,
        Admission::NoStore(reason) => Some(reason),
    }
}

pub(crate) fn run(notes: &mut Notes<'_>) {
    let page = notes.page();
    // Errors and what is sent on are judged where they are linked from.
    if page.answer.status != 200 || is_kept(page.answer) {
        return;
    }
    let Some(reason) = judged(page.url, page.answer) else { return };
    let said = |name: &str| {
        let values: Vec<_> = page.answer.fields.all_named(name).collect();
        String::from_utf8_lossy(&values.join(&b", "[..])).into_owned()
    };
    let control = || match said("cache-control") {
        control if control.is_empty() => "there is no Cache-Control".to_owned(),
        control => format!("Cache-Control: {control}"),
    };
    let (rule, message) = match reason {
        NoStore::NoStore => ("cache-no-store", control()),
        NoStore::Private => ("cache-private", control()),
        NoStore::SetCookie => {
            let names = policy::strangers::set_cookies(&page.answer.fields)
                .map(|cookie| String::from_utf8_lossy(cookie.name).into_owned())
                .collect::<Vec<_>>();
            ("cache-set-cookie", format!("sets {}", names.join(", ")))
        }
        NoStore::NoFreshness => ("cache-no-freshness", control()),
        NoStore::Expired => ("cache-expired", control()),
        NoStore::VaryStar => ("cache-vary-star", "Vary: *".to_owned()),
        NoStore::Malformed => ("cache-malformed", control()),
        NoStore::TypeMismatch => {
            ("cache-type", format!("{} under this name", said("content-type")))
        }
        other => ("cache-other", format!("the reason is {}", other.reason())),
    };
    notes.note(rule, 0, message);
}
