//! What the site's owner decided; every field has a default that needs no thought.

use wire::Codings;

use crate::surrogate::Esi;

/// The owner's rules for one site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// How long a stale response may be served while one visitor's request refreshes it,
    /// for responses that don't say it themselves. None: only what the response says.
    pub stale_while_revalidate_seconds: Option<u32>,
    /// How long a stale response may stand in for a failing origin, for responses that
    /// don't say it themselves. None: only what the response says.
    pub stale_if_error_seconds: Option<u32>,
    /// Whether a response that says nothing about freshness may be kept for a tenth of
    /// its age at the time (RFC 9111 §4.2.2). Only responses to strangers are: no Cookie,
    /// no Authorization, no query.
    pub heuristic: bool,
    /// The longest that such a guess may be.
    pub heuristic_seconds_max: u32,
    /// The longest that an error is kept, whatever it says itself. An error is kept only
    /// if it says how long; a minute bounds how long a repaired page stays broken.
    pub negative_seconds_max: u32,
    /// How long it is remembered that a key's answers can't be shared.
    pub pass_memory_seconds: u32,
    /// Whether a page that is asked for shortly before it is stale is made anew at once.
    pub refresh_early: bool,
    /// How long browsers shall come by HTTPS only, if they came by it (RFC 6797 §6.1.1).
    pub hsts_seconds: Option<u32>,
    /// Query parameters that don't choose the page, such as `utm_source`.
    pub key_ignores_query: Vec<String>,
    /// The content codings that pages are sent in; none: as the origin made them.
    pub codings: Codings,
    /// Whether who must wait for the origin is told of the page's links meanwhile (RFC 8297).
    pub early_hints: bool,
    /// Whether pages for members are compared, so that the owner can be told which might be one
    /// page with parts.
    pub suggest_parts: bool,
    /// Whether plugins for LiteSpeed's cache are told that there is one, and obeyed.
    pub lscache: bool,
    /// How pages are put together from parts, and whether `Surrogate-Control` is for us.
    pub esi: Esi,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            stale_while_revalidate_seconds: None,
            stale_if_error_seconds: None,
            heuristic: true,
            heuristic_seconds_max: 3600,
            negative_seconds_max: 60,
            pass_memory_seconds: 120,
            refresh_early: true,
            hsts_seconds: None,
            key_ignores_query: Vec::new(),
            codings: Codings::ALL,
            early_hints: false,
            suggest_parts: true,
            lscache: false,
            esi: Esi::default(),
        }
    }
}
