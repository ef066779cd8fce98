//! What a request is sent for: a page that somebody opens, or a part that a page asks for.
//!
//! In: a request's fields. Out: an [`Errand`]. Scripts say in fields of their own which
//! part of a page they want, so what they ask for is kept apart from the page itself, by
//! all that is known to choose among such answers ([`write_background_key`]).
//! Law: Fetch Metadata (`Sec-Fetch-Mode`, `Sec-Fetch-Dest`), which scripts can't set; the
//! rest is custom: jQuery, PJAX, Turbo, htmx.
//! Invariants: 1. what a script asks for is never taken for the page. 2. a background
//! request whose answer some other field may choose has no key.
//! Android's web views put `X-Requested-With` on navigations too; they are background here,
//! with keys of their own.

use wire::fields::trim;
use wire::{Fields, Name};

use super::same_origin::own_referer;
use crate::digits;

/// What a request is sent for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errand {
    /// A page that a visitor opens.
    Navigation,
    /// A part of a page that a script, a frame or an element asks for.
    Background,
}

/// By these fields a script asks for a part of a page, and says which one. They are in the
/// key, so whoever fetches an answer for several sends them on. The first three are those
/// that make a request a script's.
pub const PART_FIELDS: [&str; 8] = [
    "x-pjax",
    "turbo-frame",
    "hx-request",
    "hx-target",
    "hx-trigger",
    "hx-trigger-name",
    "hx-boosted",
    "x-pjax-container",
];

/// Beginnings of names that no script can give (Fetch §2.2.2), and of those that a CDN adds.
const FOREIGN_PREFIXES: [&str; 4] = ["sec-", "proxy-", "cf-", "fastly-"];

/// Fields that choose no answer: what browsers send by themselves, what proxies and tracing
/// add, what proves a session to unsafe requests, and where htmx stands (the Referer says so
/// too).
const IDLE_FIELDS: [&str; 43] = [
    "dnt",
    "upgrade-insecure-requests",
    "priority",
    "save-data",
    "purpose",
    "alt-used",
    "early-data",
    "service-worker",
    "service-worker-navigation-preload",
    "cdn-loop",
    "true-client-ip",
    "client-ip",
    "surrogate-capability",
    "traceparent",
    "tracestate",
    "baggage",
    "sentry-trace",
    "b3",
    "newrelic",
    "uber-trace-id",
    "elastic-apm-traceparent",
    "request-id",
    "correlation-id",
    "csrf-token",
    "csrftoken",
    "xsrf-token",
    "requestverificationtoken",
    "__requestverificationtoken",
    "x-csrf-token",
    "x-xsrf-token",
    "x-csrftoken",
    "x-wp-nonce",
    "x-real-ip",
    "x-request-id",
    "x-correlation-id",
    "x-client-data",
    "x-amzn-trace-id",
    "x-cloud-trace-context",
    "x-forwarded-port",
    "x-forwarded-server",
    "x-forwarded-ssl",
    "hx-current-url",
    "x-turbo-request-id",
];

/// The most that one value takes in a key; no library is known to send more.
const VALUE_BYTES_MAX: usize = 256;

/// What a request is sent for. For a browser's navigation this costs four masks, three
/// short comparisons and a look at the lengths of the names that Wick doesn't know.
#[must_use]
pub fn errand(fields: &Fields) -> Errand {
    let is_background = fields.has(Name::XRequestedWith)
        || fields.all(Name::SecFetchMode).any(|mode| mode != b"navigate")
        || fields.all(Name::SecFetchDest).any(|dest| !matches!(dest, b"document" | b""))
        || !accepts_pages(fields)
        // A browser adds no such field to a navigation, but others may send anything: what
        // they are answered then must not be taken for the page.
        || asks_for_part(fields)
        || !is_of_browser(fields) && fields.iter_known().any(is_of_script);
    if is_background { Errand::Background } else { Errand::Navigation }
}

/// Whether a browser sent it, by its own word: behind a proxy its navigations bear anything, and a
/// program's bear what its author wants to have chosen.
fn is_of_browser(fields: &Fields) -> bool {
    fields.has(Name::SecFetchMode)
        || fields.all(Name::UserAgent).any(|agent| agent.starts_with(b"Mozilla/"))
}

fn asks_for_part(fields: &Fields) -> bool {
    fields.iter_known().any(|(known, name, _)| {
        known.is_none() && PART_FIELDS[..3].iter().any(|part| is_named(name, part))
    })
}

fn is_named(name: &[u8], spelling: &str) -> bool {
    name.eq_ignore_ascii_case(spelling.as_bytes())
}

/// Whether `Accept` is not there, wants anything alone, or names HTML.
fn accepts_pages(fields: &Fields) -> bool {
    let mut members = fields.members(Name::Accept).map(media_type);
    let Some(first) = members.next() else { return true };
    let is_html = |range: &[u8]| range.eq_ignore_ascii_case(b"text/html");
    if is_html(first) {
        return true;
    }
    match members.next() {
        None => first == b"*/*",
        Some(second) => is_html(second) || members.any(is_html),
    }
}

fn media_type(range: &[u8]) -> &[u8] {
    trim(range.split(|&byte| byte == b';').next().unwrap_or(range))
}

/// Appends what tells background requests for one URL apart: the fields that name a part,
/// `X-Requested-With`, `Accept` and the page of a same-origin `Referer`.
///
/// False if that can't be told in a key, and nothing is appended: one of these is longer
/// than 256 bytes, or the script sends a field of its own that may choose the answer. Such
/// a request must pass. A `Referer` of another origin is in no key, so whoever fetches an
/// answer for several must not send one.
#[must_use]
pub fn write_background_key(out: &mut Vec<u8>, fields: &Fields, host: &str) -> bool {
    if fields.iter_known().any(is_of_script) {
        return false;
    }
    let start = out.len();
    let referer = own_referer(fields, host).map(str::as_bytes);
    let fit = push_lines(out, fields.all(Name::XRequestedWith))
        && PART_FIELDS.iter().all(|name| push_lines(out, fields.all_named(name)))
        && push_lines(out, fields.all(Name::Accept))
        && push_lines(out, referer.into_iter());
    if !fit {
        out.truncate(start);
    }
    fit
}

/// Whether a field is a script's own and not known to be idle. Any name will do: a shop asks for
/// prices by `Store` and `Currency`.
fn is_of_script((known, name, _): (Option<Name>, &[u8], &[u8])) -> bool {
    let begins =
        |prefix: &&str| name.get(..prefix.len()).is_some_and(|start| is_named(start, prefix));
    known.is_none()
        && !FOREIGN_PREFIXES.iter().any(begins)
        && !PART_FIELDS.iter().chain(&IDLE_FIELDS).any(|known| is_named(name, known))
}

/// Appends the lines of one field, each with its length before it, so that no value can be
/// read as two or as another field's.
fn push_lines<'a>(out: &mut Vec<u8>, lines: impl Iterator<Item = &'a [u8]>) -> bool {
    out.push(b'|');
    let mut room = VALUE_BYTES_MAX;
    for line in lines {
        let Some(rest) = room.checked_sub(line.len()) else { return false };
        room = rest;
        digits::push(out, line.len() as u64);
        out.push(b':');
        out.extend_from_slice(line);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::written::fields;

    const CHROME: &str = "host: a.test\nuser-agent: x\nupgrade-insecure-requests: 1\n\
        accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\n\
        sec-fetch-site: none\nsec-fetch-mode: navigate\nsec-fetch-user: ?1\n\
        sec-fetch-dest: document\naccept-language: de";

    #[test]
    fn pages_that_somebody_opens_are_navigations() {
        for request in [
            "",
            CHROME,
            "accept:",
            "accept: */*",
            "accept: */*;q=0.8",
            "accept: application/xml, Text/HTML;q=0.9",
            "accept: a/b, c/d, text/html",
            "accept: a/b\naccept: text/html",
            "sec-fetch-mode: navigate",
            "sec-fetch-dest: document",
            "sec-fetch-dest:",
            "hx-boosted: true",
            "x-forwarded-for: 1.2.3.4",
        ] {
            assert_eq!(errand(&fields(request)), Errand::Navigation, "{request:?}");
        }
    }

    #[test]
    fn what_pages_ask_for_is_background() {
        for request in [
            "x-requested-with: XMLHttpRequest",
            "X-Requested-With:",
            "x-pjax: true",
            "Turbo-Frame: messages",
            "HX-Request: true",
            "sec-fetch-mode: cors",
            "sec-fetch-mode: no-cors",
            "sec-fetch-mode: same-origin",
            "sec-fetch-mode:",
            "sec-fetch-mode: navigate\nsec-fetch-mode: cors",
            "sec-fetch-mode: navigate\nsec-fetch-dest: iframe",
            "sec-fetch-dest: empty",
            "sec-fetch-dest: frame",
            "sec-fetch-dest: embed",
            "sec-fetch-dest: object",
            "sec-fetch-dest: image",
            "accept: application/json",
            "accept: application/json, */*",
            "accept: image/avif,image/webp,*/*;q=0.8",
            "accept: text/*",
            "accept: text/htmlx",
        ] {
            assert_eq!(errand(&fields(request)), Errand::Background, "{request:?}");
        }
        // A program that has something chosen.
        for request in ["currency: EUR", "user-agent: okhttp/4\nx-store: de"] {
            assert_eq!(errand(&fields(request)), Errand::Background, "{request:?}");
            let browsers = fields(&format!("user-agent: Mozilla/5.0\n{request}"));
            assert_eq!(errand(&browsers), Errand::Navigation, "{request:?}");
        }
        for request in ["x-pjax: 1", "x-requested-with: x", "turbo-frame: x", "hx-request: 1"] {
            let mixed = fields(&format!("{CHROME}\n{request}"));
            assert_eq!(errand(&mixed), Errand::Background, "{request:?}");
        }
    }

    fn key(request: &str) -> Option<String> {
        let mut out = b"before".to_vec();
        let fit = write_background_key(&mut out, &fields(request), "a.test");
        let text = String::from_utf8(out).expect("text");
        let appended = text.strip_prefix("before").expect("what was there stays").to_owned();
        if !fit {
            assert_eq!(appended, "", "{request:?}");
        }
        fit.then_some(appended)
    }

    #[test]
    fn a_key_holds_what_chooses_the_answer() {
        for (request, expected) in [
            ("", "|||||||||||"),
            ("x-requested-with: XMLHttpRequest", "|14:XMLHttpRequest||||||||||"),
            ("x-pjax: true\nhx-target: m", "||4:true|||1:m||||||"),
            ("turbo-frame: f\nhx-request: true", "|||1:f|4:true|||||||"),
            ("hx-trigger: t\nhx-boosted: true", "||||||1:t||4:true|||"),
            ("accept: a/b\nreferer: http://a.test/p?q#r", "||||||||||3:a/b|4:/p?q"),
            ("accept: a/b\naccept: c/d", "||||||||||3:a/b3:c/d|"),
            ("referer: http://evil.test/p", "|||||||||||"),
            ("cookie: a=1\nuser-agent: x\ndnt: 1\nx-csrf-token: t", "|||||||||||"),
            ("sec-ch-ua: \"x\"\nsec-gpc: 1\npriority: u=4\ncf-ray: 1\nb3: 0", "|||||||||||"),
        ] {
            assert_eq!(key(request).as_deref(), Some(expected), "{request:?}");
        }
    }

    #[test]
    fn different_requests_have_different_keys() {
        let requests = [
            "accept: a",
            "accept: a\naccept: a",
            "accept: a1:a",
            "accept: a|1:b",
            "accept:",
            "x-pjax: a",
            "turbo-frame: a",
            "hx-request: a",
            "hx-target: a",
            "x-requested-with: a",
            "referer: http://a.test/",
            "",
        ];
        let keys: Vec<_> = requests.iter().map(|request| key(request)).collect();
        for (at, key) in keys.iter().enumerate() {
            assert!(key.is_some() && !keys[..at].contains(key), "{}", requests[at]);
        }
    }

    #[test]
    fn what_no_key_can_tell_must_pass() {
        let long = "x".repeat(257);
        for request in [
            format!("accept: {long}"),
            format!("x-requested-with: {long}"),
            format!("hx-target: {long}"),
            format!("referer: http://a.test/{long}"),
            format!("accept: {0}\naccept: {0}", "x".repeat(129)),
            "x-inertia-partial-data: posts".to_owned(),
            "X-Livewire: true".to_owned(),
            "hx-history-restore-request: true".to_owned(),
            "x-version: 2".to_owned(),
            "Store: de".to_owned(),
            "rsc: 1".to_owned(),
            "tenant-id: 7".to_owned(),
        ] {
            assert_eq!(key(&request), None, "{request:?}");
        }
        assert!(key(&format!("accept: {}", "x".repeat(256))).is_some());
        assert!(key(&format!("referer: http://b.test/{long}")).is_some());
    }
}
