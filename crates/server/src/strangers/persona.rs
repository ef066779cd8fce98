//! Persona: a disposable visitor that fetches one page.
//!
//! In: a [`Brief`]. Out: [`Sample`]s, whole and compared-ready. A persona's address belongs
//! to nobody, its cookies are its own, and both go with it.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use align::{Document, Kind};
use bytes::Bytes;
use origin::{Answer, Call};
use policy::media_type;
use policy::strangers::Jar;
use wire::{Fields, Name, RequestHead};

use crate::Server;
use crate::esi;
use crate::following::traffic::Asker;
use crate::gather::{Gathered, gather};
use crate::journey::Peers;
use crate::page::Stored;
use crate::purge;
use crate::site::Site;

use super::brief::Brief;
use super::refusal::Refusal;

/// Larger pages are not shared; the median is 14 kB.
pub(crate) const PAGE_BYTES_MAX: usize = 4 << 20;

/// Shorter values say nothing about where they come from.
const OWN_BYTES_MIN: usize = 7;

/// A whole answer.
#[derive(Clone)]
pub(crate) struct Sample {
    pub(crate) status: u16,
    pub(crate) fields: Fields,
    pub(crate) body: Bytes,
    /// The page as it is compared; none for a redirect.
    pub(crate) document: Option<Arc<Document>>,
    /// When it came, on the wall clock.
    pub(crate) unix_seconds: u64,
}

/// A visitor for one fill.
pub(crate) struct Persona {
    pub(crate) address: IpAddr,
    pub(crate) jar: Jar,
    asker: Asker,
}

impl Persona {
    pub(crate) fn new(address: IpAddr) -> Self {
        Self { address, jar: Jar::default(), asker: Asker::Persona }
    }

    /// One that finds out what reading writes.
    pub(crate) fn for_probing(address: IpAddr) -> Self {
        Self { asker: Asker::Probe, ..Self::new(address) }
    }

    /// Fetches the page and keeps the cookies.
    pub(crate) async fn fetch(&mut self, brief: &Brief) -> Result<Sample, Refusal> {
        let mut head = brief.head();
        if !self.jar.is_empty() {
            let mut cookies = Vec::new();
            self.jar.write(&mut cookies);
            head.fields.put(Name::Cookie, cookies);
        }
        let peer = SocketAddr::new(self.address, brief.peers.peer.port());
        let sample =
            fetch_as(&brief.server, &brief.site, brief.peers, head, peer, self.asker).await?;
        self.jar.absorb(&sample.fields, sample.unix_seconds);
        Ok(sample)
    }

    /// What is this persona's own: values of cookies and the address.
    pub(crate) fn own_values(&self) -> Vec<Vec<u8>> {
        let mut values: Vec<Vec<u8>> = self.jar.iter().map(|(_, value)| value.to_vec()).collect();
        values.push(self.address.to_string().into_bytes());
        values
    }

    /// Whether something of this persona's own stands in these bytes.
    pub(crate) fn is_shown_in(&self, bytes: &[u8]) -> bool {
        self.own_values().iter().any(|value| {
            value.len() >= OWN_BYTES_MIN && memchr::memmem::find(bytes, value).is_some()
        })
    }
}

/// Sends one request as the visitor at `peer` and takes the whole answer.
pub(crate) async fn fetch(
    server: &Arc<Server>,
    site: &Arc<Site>,
    peers: Peers,
    head: RequestHead,
    peer: SocketAddr,
) -> Result<Sample, Refusal> {
    fetch_as(server, site, peers, head, peer, Asker::Reader).await
}

async fn fetch_as(
    server: &Arc<Server>,
    site: &Arc<Site>,
    peers: Peers,
    head: RequestHead,
    peer: SocketAddr,
    asker: Asker,
) -> Result<Sample, Refusal> {
    if let Some(strangers) = &site.strangers {
        strangers.counts.persona_requests.bump();
    }
    server.counters.fetches.bump();
    let mut fields = policy::to_origin(&head, peer.ip(), peers.scheme);
    if let Some(trace) = server.own_trace() {
        trace.put(&mut fields);
    }
    // As for visitors, or what the one is given and the other isn't would tell them apart.
    esi::announce(site, &mut fields);
    let head = RequestHead { fields, ..head };
    let asked = head.clone();
    let call = Call {
        head,
        body: None,
        body_length: Some(0),
        peer,
        local: peers.local,
        scheme: peers.scheme,
        is_counted: false,
        early: None,
        phases: None,
    };
    let sent = site.ask_as(server, call, asker).await;
    let answer = sent.map_err(|error| Refusal::Origin(error.to_string()))?;
    purge::heed(server, site, &asked, &answer.head);
    if let Some(strangers) = &site.strangers {
        strangers.note_cookies(&answer.head.fields);
    }
    let unix_seconds = server.clock.now().unix_seconds();
    Sample::take(answer, unix_seconds).await
}

impl Sample {
    /// Takes an answer's whole body, if it may be compared at all.
    pub(crate) async fn take(answer: Answer, unix_seconds: u64) -> Result<Self, Refusal> {
        let Answer { head, body, length, .. } = answer;
        if length.is_some_and(|bytes| bytes > PAGE_BYTES_MAX as u64) {
            return Err(Refusal::TooLarge);
        }
        let body = match gather(body, PAGE_BYTES_MAX).await {
            Ok(Gathered::Whole(bytes)) => bytes,
            Ok(Gathered::Larger(_)) => return Err(Refusal::TooLarge),
            Err(error) => return Err(Refusal::Origin(error.to_string())),
        };
        if length.is_some_and(|length| length != body.len() as u64) {
            return Err(Refusal::Origin("the body is not as long as announced".into()));
        }
        Self::of(head.status, head.fields, body, unix_seconds)
    }

    /// A sample of an answer that is here.
    pub(crate) fn of(
        status: u16,
        fields: Fields,
        body: Bytes,
        unix_seconds: u64,
    ) -> Result<Self, Refusal> {
        if fields.has(Name::ContentEncoding) {
            return Err(Refusal::Coded);
        }
        let document = match kind(&fields) {
            _ if is_redirect(status) => None,
            None => None,
            Some(kind) => {
                let document =
                    Document::new(kind, &fields, &body).map_err(|_| Refusal::TooLarge)?;
                Some(Arc::new(document))
            }
        };
        Ok(Self { status, fields, body, document, unix_seconds })
    }
}

/// A stored page as it is compared; none for a redirect.
pub(crate) fn document_of(stored: &Stored) -> Option<Arc<Document>> {
    Sample::of(stored.status, stored.fields(), stored.body.clone(), 0).ok()?.document
}

pub(crate) fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// How an answer of this type is compared; none for what is not shared.
pub(crate) fn kind(fields: &Fields) -> Option<Kind> {
    let essence = essence(fields)?;
    match essence.as_slice() {
        b"text/html" | b"application/xhtml+xml" => Some(Kind::Html),
        // The second is what React Router's pages are made of after the first.
        b"application/json" | b"text/x-script" => Some(Kind::Script),
        b"text/xml" | b"application/xml" => Some(Kind::Xml),
        // A picture may be drawn by lot, and tell a robot from a person.
        other if goes_on(fields) || other.starts_with(b"image/") => None,
        other if other.ends_with(b"+json") => Some(Kind::Script),
        other if other.ends_with(b"+xml") => Some(Kind::Xml),
        _ => None,
    }
}

/// Whether it is sent for as long as somebody listens: to wait for its end is to wait for ever.
pub(crate) fn goes_on(fields: &Fields) -> bool {
    const UNENDING: [&[u8]; 4] = [
        b"text/event-stream",
        b"multipart/x-mixed-replace",
        b"application/x-ndjson",
        b"application/stream+json",
    ];
    essence(fields).is_some_and(|essence| UNENDING.contains(&essence.as_slice()))
}

/// The media type without its parameters, in lower case.
pub(crate) fn essence(fields: &Fields) -> Option<Vec<u8>> {
    fields.first(Name::ContentType).map(|value| media_type::essence(value).to_ascii_lowercase())
}
