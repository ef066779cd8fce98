//! What is told about each answer, for those who want a log.
//!
//! Invariant: the query never appears: it is where apps put reset tokens,
//! session ids and search terms. Neither does any cookie or authorization.

use std::net::IpAddr;
use std::sync::Arc;

use base::Now;
use policy::Verdict;
use wire::RequestHead;

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
    /// The answer's status.
    pub status: u16,
    /// Why it was answered so.
    pub verdict: Verdict,
    /// Milliseconds until the answer began.
    pub took_ms: u64,
}

/// Takes lines; it must not block.
pub type AccessSink = Arc<dyn Fn(AccessLine) + Send + Sync>;

/// A line of which the end is not known yet.
pub(crate) struct Begun {
    start: Now,
    peer: IpAddr,
    method: String,
    host: String,
    path: String,
}

impl Begun {
    pub(crate) fn of(head: &RequestHead, peer: IpAddr, start: Now) -> Self {
        Self {
            start,
            peer,
            method: head.method.to_string(),
            host: head.host.clone(),
            path: head.path().to_owned(),
        }
    }

    pub(crate) fn end(self, status: u16, verdict: Verdict, now: Now) -> AccessLine {
        AccessLine {
            unix_ms: self.start.unix_ms,
            peer: self.peer,
            method: self.method,
            host: self.host,
            path: self.path,
            status,
            verdict,
            took_ms: now.ticks_ms.saturating_sub(self.start.ticks_ms),
        }
    }
}
