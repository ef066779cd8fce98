//! Brief: what a persona is told to fetch, and as what kind of visitor.
//!
//! It holds nothing of the visitor who caused it but the class of browser, the languages
//! and, for a request in the background, the fields that say so.

use std::sync::Arc;

use http::Method;
use policy::strangers::errand::PART_FIELDS;
use policy::strangers::{Errand, Taste, errand, languages, own_referer, taste, user_agent};
use wire::{Fields, Name, RequestHead, Version};

use crate::Server;
use crate::journey::{Journey, Peers};
use crate::site::Site;

use super::Strangers;
use super::copies::{Copy, NewCopy};
use super::persona::Sample;

/// What a browser says it takes when a person goes to a page.
const ACCEPT_PAGE: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

/// What to fetch.
#[derive(Clone)]
pub(crate) struct Brief {
    pub(crate) server: Arc<Server>,
    pub(crate) site: Arc<Site>,
    pub(crate) host: String,
    pub(crate) target: String,
    pub(crate) peers: Peers,
    pub(crate) taste: Taste,
    languages: String,
    /// Of a request in the background: how it says so.
    background: Option<Fields>,
}

impl Brief {
    /// What a journey's visitor asks for.
    pub(crate) fn of(journey: &Journey) -> Self {
        Self::new(&journey.server, &journey.site, &journey.head, journey.peers)
    }

    pub(crate) fn new(
        server: &Arc<Server>,
        site: &Arc<Site>,
        head: &RequestHead,
        peers: Peers,
    ) -> Self {
        let background = match errand(&head.fields) {
            Errand::Navigation => None,
            Errand::Background => Some(background_fields(head, peers.scheme)),
        };
        Self {
            server: server.clone(),
            site: site.clone(),
            host: head.host.clone(),
            target: head.target.clone(),
            peers,
            taste: taste(&head.fields),
            languages: languages(&head.fields),
            background,
        }
    }

    /// The same visitor going to another page.
    pub(crate) fn to(&self, target: &str) -> Self {
        Self { target: target.to_owned(), background: None, ..self.clone() }
    }

    pub(crate) fn strangers(&self) -> Option<&Strangers> {
        self.site.strangers.as_deref()
    }

    /// The request, without cookies.
    pub(crate) fn head(&self) -> RequestHead {
        let mut fields = Fields::new();
        fields.put(Name::UserAgent, user_agent(&self.taste));
        match &self.background {
            None => {
                fields.put(Name::Accept, ACCEPT_PAGE);
                fields.push("Upgrade-Insecure-Requests", "1");
            }
            Some(background) => {
                for (name, value) in background.iter() {
                    // They were fields when they came.
                    let pushed = fields.try_push(name, value);
                    debug_assert!(pushed.is_ok());
                }
            }
        }
        if !self.languages.is_empty() {
            fields.put(Name::AcceptLanguage, &self.languages);
        }
        RequestHead {
            method: Method::GET,
            target: self.target.clone(),
            host: self.host.clone(),
            version: Version::Http11,
            fields,
        }
    }

    /// The copy to keep of an answer. `is_settled`: whether `known` is all by which it can be
    /// recognised.
    pub(crate) fn copy(
        &self,
        sample: &Sample,
        known: Vec<Vec<u8>>,
        tells_time: bool,
        is_settled: bool,
    ) -> Copy {
        let is_visitors = |known| matches!(known, Some(Name::UserAgent | Name::AcceptLanguage));
        Copy::new(NewCopy {
            host: &self.host,
            target: &self.target,
            request: self.head().fields.filtered(|known, _, _| !is_visitors(known)),
            fields: &sample.fields,
            body: &sample.body,
            known,
            tells_time,
            is_settled,
            is_part: self.is_background(),
        })
    }

    /// Host and target: what copies are kept under.
    pub(crate) fn page(&self) -> Vec<u8> {
        page_name(&self.host, &self.target)
    }

    pub(crate) fn is_background(&self) -> bool {
        self.background.is_some()
    }
}

/// Host and target in one.
pub(crate) fn page_name(host: &str, target: &str) -> Vec<u8> {
    [host.as_bytes(), b"|", target.as_bytes()].concat()
}

fn background_fields(head: &RequestHead, scheme: &str) -> Fields {
    let mut kept = head.fields.filtered(|known, name, _| {
        matches!(known, Some(Name::Accept | Name::XRequestedWith))
            || PART_FIELDS.iter().any(|own| name.eq_ignore_ascii_case(own.as_bytes()))
    });
    if let Some(target) = own_referer(&head.fields, &head.host) {
        kept.put(Name::Referer, format!("{scheme}://{}{target}", head.host));
    }
    kept
}
