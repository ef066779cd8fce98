//! What is told about each answer, for those who want a log.
//!
//! Invariant: the query never appears: it is where apps put reset tokens,
//! session ids and search terms. Neither does any cookie or authorization. That goes for the
//! page that a visitor comes from, too.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::Now;
use policy::Verdict;
use wire::{Name, RequestHead, Version};

use crate::Server;
use crate::reply::Reply;
use crate::request_id::RequestId;

/// Bytes of a field that are told.
const FIELD_BYTES_MAX: usize = 1024;

/// One answered request.
#[derive(Clone, Debug)]
pub struct AccessLine {
    /// When the request's head was whole, in milliseconds since 1970.
    pub unix_ms: u64,
    /// The visitor's address.
    pub peer: IpAddr,
    /// The method.
    pub method: String,
    /// The host as asked for.
    pub host: String,
    /// The path without its query.
    pub path: String,
    /// What the visitor speaks, as in `HTTP/1.1`.
    pub protocol: &'static str,
    /// The page that the visitor says to come from, without its query; empty: none.
    pub referer: String,
    /// What the visitor's browser calls itself; empty: nothing.
    pub agent: String,
    /// Bytes of the answer's body, if they were known when it began.
    pub bytes: Option<u64>,
    /// The answer's status.
    pub status: u16,
    /// Why it was answered so.
    pub verdict: Verdict,
    /// Milliseconds until the answer began.
    pub took_ms: u64,
    /// What the request is called; empty: it has no name.
    pub request_id: Box<str>,
    /// Whether it is a part of another answer: its visitor has not asked for it.
    pub is_part: bool,
}

/// Takes lines; it must not block.
pub type AccessSink = Arc<dyn Fn(AccessLine) + Send + Sync>;

impl Server {
    /// Counts a reply, and ends the log's line for it.
    pub(crate) fn note_answer(&self, line: Option<Begun>, reply: &Reply, now: Now) {
        self.counters.count(reply);
        let Some(line) = line else { return };
        // One that was begun for a log that is gone since is told to nobody.
        if let Some(access) = &*self.access.load() {
            access(line.end(reply, now));
        }
    }

    /// Ends the log's line for a part of an answer; what became of it is no answer to anybody.
    pub(crate) fn note_part(&self, line: Option<Begun>, reply: &Reply, now: Now) {
        if let (Some(line), Some(access)) = (line, &*self.access.load()) {
            access(line.end(reply, now));
        }
    }

    /// Whether lines are wanted.
    pub(crate) fn has_log(&self) -> bool {
        self.has_access.load(Ordering::Relaxed)
    }
}

/// A line of which the end is not known yet.
pub(crate) struct Begun {
    start: Now,
    peer: IpAddr,
    method: String,
    host: String,
    path: String,
    protocol: &'static str,
    referer: String,
    agent: String,
    id: Option<RequestId>,
    is_part: bool,
}

impl Begun {
    pub(crate) fn of(head: &RequestHead, peer: IpAddr, id: Option<RequestId>, start: Now) -> Self {
        Self {
            start,
            peer,
            method: head.method.to_string(),
            host: head.host.clone(),
            path: head.path().to_owned(),
            protocol: protocol(head.version),
            referer: without_query(&text(head, Name::Referer)).to_owned(),
            agent: text(head, Name::UserAgent),
            id,
            is_part: false,
        }
    }

    /// The same for a part of another answer.
    pub(crate) fn of_part(head: &RequestHead, peer: IpAddr, start: Now) -> Self {
        Self { is_part: true, ..Self::of(head, peer, None, start) }
    }

    pub(crate) fn end(self, reply: &Reply, now: Now) -> AccessLine {
        AccessLine {
            unix_ms: self.start.unix_ms,
            peer: self.peer,
            method: self.method,
            host: self.host,
            path: self.path,
            protocol: self.protocol,
            referer: self.referer,
            agent: self.agent,
            bytes: reply.payload.length(),
            status: reply.status(),
            verdict: reply.verdict,
            request_id: self.id.map(|id| id.text().into()).unwrap_or_default(),
            took_ms: now.ticks_ms.saturating_sub(self.start.ticks_ms),
            is_part: self.is_part,
        }
    }
}

fn protocol(version: Version) -> &'static str {
    match version {
        Version::Http10 => "HTTP/1.0",
        Version::Http11 => "HTTP/1.1",
        Version::Http2 => "HTTP/2.0",
        Version::Http3 => "HTTP/3.0",
    }
}

fn text(head: &RequestHead, name: Name) -> String {
    head.fields.first(name).map_or_else(String::new, |value| {
        String::from_utf8_lossy(&value[..value.len().min(FIELD_BYTES_MAX)]).into_owned()
    })
}

fn without_query(address: &str) -> &str {
    address.split(['?', '#']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_referer_is_told_without_its_query() {
        for (address, told) in [
            ("https://a.test/reset?token=hush#x", "https://a.test/reset"),
            ("https://a.test/#token", "https://a.test/"),
            ("?", ""),
            ("", ""),
        ] {
            assert_eq!(without_query(address), told);
        }
    }
}
