//! Elsewhere: hosts that parts of a site's pages may come from, though they aren't the site's.
//!
//! Each is a site of its own that no visitor reaches: its connections, limits and generations
//! are its own, and what comes of it is kept by what it says itself.
//! Invariants: 1. nobody is asked but hosts that the owner names, and no redirect is followed.
//! 2. nothing of the visitor is told there: no cookie, no address, no browser. 3. what comes
//! from there lies under keys that no visitor's request has, has no parts of its own, and
//! purges nothing.

use std::sync::Arc;

use origin::Origin;
use policy::Rules;
use policy::surrogate::Esi;
use wire::{Fields, Name};

use crate::SiteConfig;
use crate::journey::Peers;
use crate::site::Site;

/// A host that parts may come from.
#[derive(Clone)]
pub struct PartHost {
    /// Whether it is asked by HTTPS.
    pub is_tls: bool,
    /// Host, and port if it isn't the usual one, in lower case.
    pub authority: String,
    /// How it is reached.
    pub origin: Arc<Origin>,
}

impl PartHost {
    /// The site that it is here.
    pub(crate) fn as_site(&self, of: &str) -> SiteConfig {
        let mut config = SiteConfig::new(Origin::Files(origin::FilesOrigin::new("/")));
        config.origin = self.origin.clone();
        config.name = format!("{of} (parts from {})", self.authority);
        config.rules = Rules { esi: Esi::Off, suggest_parts: false, ..Rules::default() };
        config.is_elsewhere = true;
        config
    }
}

/// Such a host at work.
pub(crate) struct Elsewhere {
    pub(crate) is_tls: bool,
    pub(crate) authority: String,
    pub(crate) site: Arc<Site>,
}

/// What is asked for there.
pub(super) struct Place {
    pub(super) site: Arc<Site>,
    pub(super) host: String,
    pub(super) target: String,
    pub(super) peers: Peers,
}

impl Elsewhere {
    /// Where an address leads, if it is on this host.
    pub(super) fn place(&self, page: Peers, source: &str) -> Option<Place> {
        let scheme = if self.is_tls { "https" } else { "http" };
        let target = policy::resolve_here(scheme, &self.authority, "/", source)?;
        // The key begins with it, and no visitor comes by such a scheme. Whoever asks is nobody
        // in particular, and isn't counted there.
        let scheme = if self.is_tls { "part+https" } else { "part+http" };
        let peers = Peers { scheme, is_here: true, ..page };
        Some(Place { site: self.site.clone(), host: self.authority.clone(), target, peers })
    }
}

/// What is told there of who asks.
pub(super) fn fields() -> Fields {
    let mut fields = Fields::new();
    fields.put(Name::Accept, "*/*");
    fields
}

/// The same as the origin is told it.
pub(crate) fn to_origin(own: &Fields) -> Fields {
    let mut fields = own.clone();
    fields.put(Name::Via, "1.1 wick");
    fields
}
