//! Purging: what somebody wants to be made unusable, in whatever words they say it.
//!
//! Plugins in the field speak to caches in a dozen dialects: methods, fields, paths, bodies,
//! and fields in the app's own answers. In: a request, or an answer. Out: [`Purge`]s, which
//! are all that the rest of Wick knows of it. Nothing is decided here about who may.
//! Where a dialect says more than Wick can do exactly (a restriction to a type of content, a
//! true pattern over tags), more is purged than was asked for, never less.
//! Start at [`asks`] and [`read`] (requests), [`heed`] (answers), [`tags_of`] (pages).

mod answer;
mod by_method;
mod by_path;
mod pattern;
mod tags;

use std::fmt;

use http::Method;
use wire::RequestHead;

pub use answer::heed;
pub use pattern::UrlPattern;
pub use tags::{is_for_caches, tags_of};

/// Bytes of a request's body that are read for what it wants purged.
pub const BODY_BYTES_MAX: usize = 256 << 10;

/// Something that shall not be used any more as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Purge {
    /// On which hosts; tags are those of the whole site.
    pub scope: Scope,
    /// What.
    pub what: What,
    /// How.
    pub mode: Mode,
}

/// Of which host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The one that the request names.
    Request,
    /// This one.
    Host(String),
    /// All hosts of the site.
    Site,
}

/// What of it.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// One target, with all variants.
    Url(String),
    /// Every target that begins so.
    Prefix(String),
    /// Every target that the pattern is found in.
    Pattern(UrlPattern),
    /// Every page that bears one of these tags.
    Tags(Vec<String>),
    /// Every page.
    Everything,
}

/// How a page is made unusable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// At once.
    Hard,
    /// It is stale from now on, and may be served while a newer one is made.
    Soft,
}

/// Whether a request is for the cache rather than for the app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
    /// It is for the app.
    Nothing,
    /// It is a purge and nothing else.
    Purge,
    /// It is a purge if its sender may purge; from anybody else it is for the app, which may
    /// have a page at that address.
    PurgeIfAllowed,
}

/// A purge that can't be understood; each message says what to send instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// A pattern that no engine takes, or only with too much memory.
    #[error("the pattern \"{0}\" can't be used: {1}; send a shorter or simpler one")]
    Pattern(String, String),
    /// Neither tags nor addresses.
    #[error("nothing is named that could be purged: send an address, or tags in {0}")]
    Nothing(&'static str),
    /// An address that is none.
    #[error("\"{0}\" is no address: send a whole one, as in http://example.org/page")]
    Address(String),
    /// A body that is not what the path promises.
    #[error("the body can't be read: {0}; send JSON as in {{\"tags\": [\"a\"]}}")]
    Body(String),
}

/// Whether a request is for the cache; for what is not, this costs a comparison or two.
#[must_use]
pub fn asks(head: &RequestHead) -> Asks {
    match head.method {
        Method::GET if by_path::is_get(head) => Asks::PurgeIfAllowed,
        Method::POST if by_path::is_post(head) => Asks::PurgeIfAllowed,
        Method::GET | Method::HEAD | Method::POST => Asks::Nothing,
        _ if by_method::is_purge(&head.method) => Asks::Purge,
        _ => Asks::Nothing,
    }
}

/// What a request that [`asks`] wants purged.
///
/// # Errors
/// It is understood to be a purge, and what it says isn't.
pub fn read(head: &RequestHead, body: &[u8]) -> Result<Vec<Purge>, Unreadable> {
    match head.method {
        Method::GET => Ok(vec![by_path::of_get(head)]),
        Method::POST => by_path::of_post(head, body),
        _ => by_method::read(head),
    }
}

/// Host and target of a whole address.
///
/// # Errors
/// It is not one of HTTP.
pub fn split_address(address: &str) -> Result<(String, String), Unreadable> {
    let wrong = || Unreadable::Address(address.chars().take(200).collect());
    let rest = ["http://", "https://"].iter().find_map(|scheme| address.strip_prefix(scheme));
    let rest = rest.ok_or_else(wrong)?;
    let rest = rest.split('#').next().unwrap_or_default();
    let (host, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
    let is_sane = !host.is_empty()
        && host.bytes().all(is_host)
        && target.bytes().all(|byte| byte > b' ' && byte != 0x7f);
    let slash = if target.starts_with('/') { "" } else { "/" };
    match is_sane {
        true => Ok((host.to_ascii_lowercase(), format!("{slash}{target}"))),
        false => Err(wrong()),
    }
}

impl Purge {
    pub(crate) fn hard(scope: Scope, what: What) -> Self {
        Self { scope, what, mode: Mode::Hard }
    }

    pub(crate) fn tags(tags: Vec<String>, mode: Mode) -> Self {
        Self { scope: Scope::Site, what: What::Tags(tags), mode }
    }

    /// What is purged, in one word.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match (&self.what, &self.scope) {
            (What::Url(_), _) => "url",
            (What::Prefix(_), _) => "prefix",
            (What::Pattern(_), _) => "regex",
            (What::Tags(_), _) => "tags",
            (What::Everything, Scope::Site) => "all",
            (What::Everything, _) => "host",
        }
    }
}

impl fmt::Display for Purge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.mode == Mode::Soft {
            f.write_str("soft ")?;
        }
        f.write_str(self.word())?;
        match &self.what {
            What::Url(text) | What::Prefix(text) => write!(f, " {text}")?,
            What::Pattern(pattern) => write!(f, " {}", pattern.as_str())?,
            What::Tags(tags) => return write!(f, " {}", tags.join(" ")),
            What::Everything => {}
        }
        match (&self.scope, &self.what) {
            (Scope::Host(host), _) => write!(f, " of {host}"),
            (Scope::Request, _) | (Scope::Site, What::Everything) => Ok(()),
            (Scope::Site, _) => f.write_str(" of all hosts"),
        }
    }
}

#[cfg(test)]
mod tests;
