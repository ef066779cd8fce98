//! Whether a fetched response is stored, and on what terms.
//!
//! In: both heads, times, the owner's rules. Out: [`Terms`], or the reason why not.
//! Law: RFC 9111 §3, §3.5, §4.2, §5.2.2; RFC 5861; RFC 9213.
//! Invariants: 1. a response with `Set-Cookie` is never stored. 2. to a request with a
//! cookie only a response is stored that says for how long it is for everybody, and where the
//! app's own cookies are known only one that says so to shared caches. 3. an
//! error is stored only if it says for how long, and never for longer than the owner's cap.
//! Start at [`admit`]; what of a response is stored is in [`crate::clean_for_store`].

use base::Now;
use http::Method;
use wire::{Name, RequestHead, ResponseHead};

use crate::conditional::has_validator;
use crate::directives::{RequestDirectives, ResponseDirectives};
use crate::freshness;
use crate::reason::NoStore;
use crate::rules::Rules;
use crate::targeted;
use crate::terms::Terms;
use crate::vary::vary_is_star;

/// Whether a response is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It is, on these terms.
    Store(Terms),
    /// It isn't.
    NoStore(NoStore),
}

impl Admission {
    /// The terms, or the reason why there are none.
    pub fn into_terms(self) -> Result<Terms, NoStore> {
        match self {
            Self::Store(terms) => Ok(terms),
            Self::NoStore(reason) => Err(reason),
        }
    }

    /// The same for one whom the app knows: what came is for others only if it says so to shared
    /// caches in particular, or is a style sheet, script or font. Apps say `max-age`, and even
    /// `public`, of what they gave after looking at who asks, and mean the browser.
    #[must_use]
    pub fn for_holder(self, request: &RequestHead, response: &ResponseHead, rules: &Rules) -> Self {
        let (directives, is_targeted) = targeted::effective(&response.fields, rules.esi);
        let is_for_all = is_targeted || directives.s_maxage.is_some() || ends_like(request, &BUILT);
        match self {
            Self::Store(_) if !is_for_all => Self::NoStore(NoStore::Cookie),
            admission => admission,
        }
    }
}

/// Decides about a final response that arrived just now to a request sent at `request_ticks_ms`.
#[must_use]
pub fn admit(
    request: &RequestHead,
    response: &ResponseHead,
    request_ticks_ms: u64,
    now: Now,
    rules: &Rules,
) -> Admission {
    let (directives, is_targeted) = targeted::effective(&response.fields, rules.esi);
    if let Some(reason) = forbidden(request, response, &directives) {
        return Admission::NoStore(reason);
    }
    let explicit_ms = freshness::explicit_ms(&response.fields, &directives, is_targeted, now);
    let may_guess = directives.public || is_cacheable_by_default(response.status);
    if explicit_ms.is_none() && !may_guess {
        return Admission::NoStore(NoStore::NoFreshness);
    }
    let guess_ms = || freshness::heuristic_ms(request, &response.fields, rules, now);
    let mut lifetime_ms = explicit_ms.or_else(guess_ms).unwrap_or(0);
    if response.status >= 400 {
        lifetime_ms = lifetime_ms.min(u64::from(rules.negative_seconds_max) * 1000);
    }
    let terms = Terms {
        stored_ticks_ms: now.ticks_ms,
        initial_age_ms: freshness::initial_age_ms(&response.fields, request_ticks_ms, now),
        lifetime_ms,
        stale_while_revalidate_seconds: directives.stale_while_revalidate,
        stale_if_error_seconds: directives.stale_if_error,
        must_revalidate: directives.forbids_stale(),
        no_cache: directives.no_cache,
        shared_with_authorization: says_for_credentials(&directives),
        explicit: directives.public
            || (explicit_ms.is_some_and(|lifetime_ms| lifetime_ms > 0) && !directives.no_cache),
    };
    if request.fields.has(Name::Cookie) && !terms.explicit {
        return Admission::NoStore(NoStore::Cookie);
    }
    if !is_of_use(&terms) && !has_validator(&response.fields) {
        let stated = explicit_ms.is_some();
        return Admission::NoStore(if stated { NoStore::Expired } else { NoStore::NoFreshness });
    }
    Admission::Store(terms)
}

/// How names end of what is part of an app, and not of anybody's data.
const BUILT: [&str; 10] = ["css", "eot", "ico", "js", "map", "mjs", "otf", "ttf", "woff", "woff2"];

fn ends_like(request: &RequestHead, endings: &[&str]) -> bool {
    let extension = request.path().rsplit('/').next().and_then(|name| name.rsplit_once('.'));
    extension.is_some_and(|(_, extension)| {
        endings.iter().any(|known| known.eq_ignore_ascii_case(extension))
    })
}

/// What forbids to store, whatever the freshness.
fn forbidden(
    request: &RequestHead,
    response: &ResponseHead,
    directives: &ResponseDirectives,
) -> Option<NoStore> {
    let fields = &response.fields;
    if request.method != Method::GET {
        return Some(NoStore::Method);
    }
    match response.status {
        206 => return Some(NoStore::Partial),
        status if !is_storable(status) => return Some(NoStore::Status),
        status if directives.must_understand && !is_understood(status) => {
            return Some(NoStore::MustUnderstand);
        }
        _ => {}
    }
    if RequestDirectives::of(&request.fields).no_store {
        return Some(NoStore::RequestNoStore);
    }
    if directives.malformed {
        return Some(NoStore::Malformed);
    }
    // `must-understand` of a status that we do understand stands in for `no-store` (§5.2.2.3).
    if directives.no_store && !directives.must_understand {
        return Some(NoStore::NoStore);
    }
    if directives.private {
        return Some(NoStore::Private);
    }
    if fields.has(Name::SetCookie) {
        return Some(NoStore::SetCookie);
    }
    if request.fields.has(Name::Authorization) && !says_for_credentials(directives) {
        return Some(NoStore::Authorization);
    }
    if vary_is_star(fields) {
        return Some(NoStore::VaryStar);
    }
    is_disguised(request, response).then_some(NoStore::TypeMismatch)
}

/// Whether a response to a request with credentials may be stored and given to others (§3.5).
fn says_for_credentials(directives: &ResponseDirectives) -> bool {
    directives.public || directives.s_maxage.is_some() || directives.must_revalidate
}

/// Whether the response can ever be served without asking the origin first.
fn is_of_use(terms: &Terms) -> bool {
    let later = terms.stale_while_revalidate_seconds.max(terms.stale_if_error_seconds);
    !terms.no_cache
        && (terms.lifetime_ms > terms.initial_age_ms
            || (!terms.must_revalidate && later.is_some_and(|seconds| seconds > 0)))
}

/// Statuses that may be stored without a stated lifetime, errors left out: those must
/// state one here (RFC 9110 §15.1 lists 404, 405, 410, 414 and 501 as well).
fn is_cacheable_by_default(status: u16) -> bool {
    matches!(status, 200 | 203 | 204 | 300 | 301 | 308)
}

/// Statuses that may be stored at all.
///
/// Of the client errors only those that tell something about the URL. The others tell
/// something about one request (too long, too many, not allowed), and stored they would let
/// one visitor's broken request take the page away from everybody.
fn is_storable(status: u16) -> bool {
    match status {
        304..=306 => false,
        400..=499 => matches!(status, 404 | 405 | 410 | 414 | 451),
        _ => (200..=599).contains(&status),
    }
}

/// Statuses whose caching requirements we know, as `must-understand` asks.
fn is_understood(status: u16) -> bool {
    matches!(
        status,
        200..=204 | 300..=303 | 307 | 308 | 404 | 405 | 410 | 414 | 451 | 500..=505
    )
}

/// HTML under a name that ends like a picture's, a script's or a style sheet's.
///
/// Apps that take everything behind a script's name as its `PATH_INFO` answer
/// `/account.php/x.css` with the account, and a rule by extension then gives it a long
/// life for everybody (web cache deception). What such a URL should have been is known;
/// an error page under it is what it says.
fn is_disguised(request: &RequestHead, response: &ResponseHead) -> bool {
    const STATIC: [&str; 23] = [
        "avif", "bmp", "css", "csv", "eot", "gif", "ico", "jpeg", "jpg", "js", "map", "mjs", "mp3",
        "mp4", "otf", "png", "svg", "ttf", "wasm", "webm", "webp", "woff", "woff2",
    ];
    if response.status != 200 {
        return false;
    }
    let Some(content_type) = response.fields.first(Name::ContentType) else { return false };
    let essence = content_type.split(|&b| b == b';' || b == b' ').next().unwrap_or_default();
    let is_page = [&b"text/html"[..], b"application/xhtml+xml"]
        .iter()
        .any(|page| essence.eq_ignore_ascii_case(page));
    is_page && ends_like(request, &STATIC)
}

#[cfg(test)]
#[path = "admit_tests.rs"]
mod tests;
