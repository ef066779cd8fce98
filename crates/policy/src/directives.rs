//! `Cache-Control`, parsed: in requests and in responses.
//!
//! In: all lines of the field. Out: a struct of what they say together. Directives
//! are read by their grammar, with quoted strings, and never searched for.
//! Law: RFC 9111 §5.2, §4.2.1 (conflicts), RFC 5861.
//! Invariants: 1. of two values the more restrictive holds. 2. a value that can't be
//! read counts as the most restrictive. 3. a quote that is never closed could hide
//! any directive, so the response is not stored at all.

use wire::fields::{is_token, trim};
use wire::{Fields, Name};

use crate::digits;

/// What a request's `Cache-Control` asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestDirectives {
    /// Validate before use.
    pub no_cache: bool,
    /// Don't store the answer.
    pub no_store: bool,
    /// Don't ask the origin.
    pub only_if_cached: bool,
    /// Nothing this old or older, in seconds.
    pub max_age: Option<u32>,
    /// Fresh for so many seconds to come.
    pub min_fresh: Option<u32>,
    /// Stale by so many seconds is fine.
    pub max_stale: Option<u32>,
    /// Stale by so many seconds is fine if the origin fails.
    pub stale_if_error: Option<u32>,
}

/// What a response's `Cache-Control`, or a targeted field in its place, says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResponseDirectives {
    /// For everybody, also where the law would otherwise forbid to store.
    pub public: bool,
    /// For one person; without the qualified form.
    pub private: bool,
    /// Not to be stored.
    pub no_store: bool,
    /// To be validated before each use; without the qualified form.
    pub no_cache: bool,
    /// Some fields are for one person: `private="X"`.
    pub private_fields: bool,
    /// Some fields are to be validated before each use: `no-cache="X"`.
    pub no_cache_fields: bool,
    /// Never to be served stale.
    pub must_revalidate: bool,
    /// Never to be served stale by a shared cache.
    pub proxy_revalidate: bool,
    /// Stored only by who knows the status, and then in spite of `no-store`.
    pub must_understand: bool,
    /// A directive can't be read in a way that could hide another.
    pub malformed: bool,
    /// Seconds of freshness.
    pub max_age: Option<u32>,
    /// Seconds of freshness in a shared cache.
    pub s_maxage: Option<u32>,
    /// Seconds for which it may be served stale while it is refreshed.
    pub stale_while_revalidate: Option<u32>,
    /// Seconds for which it may be served stale if the origin fails.
    pub stale_if_error: Option<u32>,
}

impl RequestDirectives {
    /// Reads a request's directives. `Pragma: no-cache` counts only where there is no
    /// `Cache-Control` (RFC 9111 §5.4). Costs two masks if neither is there.
    #[must_use]
    pub fn of(request: &Fields) -> Self {
        let mut all = Self::default();
        if !request.has(Name::CacheControl) {
            all.no_cache =
                request.has(Name::Pragma) && request.has_member(Name::Pragma, "no-cache");
            return all;
        }
        for (name, argument) in request.members(Name::CacheControl).map(split) {
            // A request can only make us stricter about it, so what can't be read asks for
            // the strictest; the leave to be stale that can't be read is none.
            match Known::of(name) {
                Some(Known::NoCache) => all.no_cache = true,
                Some(Known::NoStore) => all.no_store = true,
                Some(Known::OnlyIfCached) => all.only_if_cached = true,
                Some(Known::MaxAge) => {
                    all.max_age = least(all.max_age, seconds(argument).unwrap_or(0));
                }
                Some(Known::MinFresh) => {
                    let wanted = seconds(argument).unwrap_or(0);
                    all.min_fresh = Some(all.min_fresh.unwrap_or(0).max(wanted));
                }
                Some(Known::MaxStale) => {
                    let any = argument.is_none().then_some(u32::MAX);
                    let leave = any.or_else(|| seconds(argument)).unwrap_or(0);
                    all.max_stale = least(all.max_stale, leave);
                }
                Some(Known::StaleIfError) => {
                    all.stale_if_error = least(all.stale_if_error, seconds(argument).unwrap_or(0));
                }
                _ => {}
            }
        }
        all
    }
}

impl ResponseDirectives {
    /// Reads a response's `Cache-Control`.
    #[must_use]
    pub fn of(response: &Fields) -> Self {
        let mut all = Self::default();
        for member in response.members(Name::CacheControl) {
            all.malformed |= !quotes_are_closed(member);
            let (name, argument) = split(member);
            if let Some(known) = Known::of(name) {
                all.add(known, argument);
            }
        }
        all
    }

    fn add(&mut self, known: Known, argument: Option<&[u8]>) {
        match known {
            Known::Public => self.public = true,
            Known::NoStore => self.no_store = true,
            Known::MustRevalidate => self.must_revalidate = true,
            Known::ProxyRevalidate => self.proxy_revalidate = true,
            Known::MustUnderstand => self.must_understand = true,
            Known::Private if names_fields(argument) => self.private_fields = true,
            Known::Private => self.private = true,
            Known::NoCache if names_fields(argument) => self.no_cache_fields = true,
            Known::NoCache => self.no_cache = true,
            Known::MaxAge => self.max_age = least(self.max_age, seconds(argument).unwrap_or(0)),
            Known::SMaxage => self.s_maxage = least(self.s_maxage, seconds(argument).unwrap_or(0)),
            Known::StaleWhileRevalidate => {
                self.stale_while_revalidate =
                    least(self.stale_while_revalidate, seconds(argument).unwrap_or(0));
            }
            Known::StaleIfError => {
                self.stale_if_error = least(self.stale_if_error, seconds(argument).unwrap_or(0));
            }
            Known::OnlyIfCached | Known::MinFresh | Known::MaxStale => {}
        }
    }

    /// Whether serving it stale is forbidden, whatever happens (RFC 9111 §4.2.4, §5.2.2.10).
    #[must_use]
    pub fn forbids_stale(&self) -> bool {
        self.must_revalidate || self.proxy_revalidate || self.s_maxage.is_some()
    }
}

/// Whether a field is named by `private="…"` or `no-cache="…"`.
pub(crate) fn is_qualified(response: &Fields, name: &[u8]) -> bool {
    response.members(Name::CacheControl).map(split).any(|(directive, argument)| {
        matches!(Known::of(directive), Some(Known::Private | Known::NoCache))
            && argument.is_some_and(|argument| {
                listed(argument).any(|listed| listed.eq_ignore_ascii_case(name))
            })
    })
}

/// The directives that a shared cache acts upon.
#[derive(Clone, Copy)]
pub(crate) enum Known {
    Public,
    Private,
    NoStore,
    NoCache,
    MustRevalidate,
    ProxyRevalidate,
    MustUnderstand,
    MaxAge,
    SMaxage,
    StaleWhileRevalidate,
    StaleIfError,
    OnlyIfCached,
    MinFresh,
    MaxStale,
}

impl Known {
    pub(crate) fn of(name: &[u8]) -> Option<Self> {
        const NAMES: [(&str, Known); 14] = [
            ("public", Known::Public),
            ("private", Known::Private),
            ("no-store", Known::NoStore),
            ("no-cache", Known::NoCache),
            ("must-revalidate", Known::MustRevalidate),
            ("proxy-revalidate", Known::ProxyRevalidate),
            ("must-understand", Known::MustUnderstand),
            ("max-age", Known::MaxAge),
            ("s-maxage", Known::SMaxage),
            ("stale-while-revalidate", Known::StaleWhileRevalidate),
            ("stale-if-error", Known::StaleIfError),
            ("only-if-cached", Known::OnlyIfCached),
            ("min-fresh", Known::MinFresh),
            ("max-stale", Known::MaxStale),
        ];
        let found = NAMES.iter().find(|(known, _)| known.as_bytes().eq_ignore_ascii_case(name));
        found.map(|(_, known)| *known)
    }
}

/// A directive's name and argument. White space before `=` belongs to neither; white
/// space behind it makes the argument unreadable, as the grammar has none there.
fn split(member: &[u8]) -> (&[u8], Option<&[u8]>) {
    match member.iter().position(|&b| b == b'=') {
        None => (member, None),
        Some(equals) if equals > 0 && member[equals - 1].is_ascii_whitespace() => {
            (trim(&member[..equals]), Some(b""))
        }
        Some(equals) => (&member[..equals], Some(&member[equals + 1..])),
    }
}

fn least(so_far: Option<u32>, another: u32) -> Option<u32> {
    Some(so_far.map_or(another, |value| value.min(another)))
}

/// A number of seconds, as a token or in quotes; both are to be accepted (§5.2).
fn seconds(argument: Option<&[u8]>) -> Option<u32> {
    let argument = argument?;
    digits::read_seconds(unquoted(argument).unwrap_or(argument))
}

fn unquoted(text: &[u8]) -> Option<&[u8]> {
    text.strip_prefix(b"\"")?.strip_suffix(b"\"")
}

fn listed(argument: &[u8]) -> impl Iterator<Item = &[u8]> {
    let list = unquoted(argument).unwrap_or(argument);
    list.split(|&b| b == b',').map(trim).filter(|name| !name.is_empty())
}

/// Whether a qualified form can be kept to by leaving the named fields out.
///
/// A list that is empty or not of names counts as the unqualified form; so does one
/// of fields without which the response would mean something else.
fn names_fields(argument: Option<&[u8]>) -> bool {
    let Some(argument) = argument else { return false };
    let mut count = 0;
    let all_spare = listed(argument).all(|name| {
        count += 1;
        name.iter().all(|&b| is_token(b)) && !carries_meaning(name)
    });
    all_spare && count > 0
}

fn carries_meaning(name: &[u8]) -> bool {
    let of_content = name.get(..8).is_some_and(|start| start.eq_ignore_ascii_case(b"content-"));
    of_content
        || matches!(
            Name::of(name),
            Some(
                Name::CacheControl
                    | Name::CdnCacheControl
                    | Name::WickCacheControl
                    | Name::Date
                    | Name::Etag
                    | Name::Expires
                    | Name::LastModified
                    | Name::Location
                    | Name::Vary
            )
        )
}

fn quotes_are_closed(member: &[u8]) -> bool {
    let (mut quoted, mut escaped) = (false, false);
    for &byte in member {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ => {}
        }
    }
    !quoted
}

#[cfg(test)]
#[path = "directives_tests.rs"]
mod tests;
