//! Who is told of each answer, once, when its last byte was handed on.
//!
//! What is told is borrowed: for an answer from memory nothing is made and no clock is read
//! but by the observer's own wish. A journey takes along where its time goes
//! ([`base::Phases`]) and remembers what it was about, for its head belongs to it.
//! Invariant: no query, cookie or authorization is told.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use base::{Now, Phase, Phases};
use policy::{NoStore, Verdict};
use tokio::time::Instant;
use wire::RequestHead;

use crate::Server;
use crate::reply::Reply;
use crate::trace::Trace;

/// The field of the W3C's Server Timing.
pub(crate) const SERVER_TIMING: &str = "server-timing";

/// Knows what happened.
pub trait Observer: Send + Sync {
    /// An answer has gone out. It must not wait.
    fn answered(&self, answer: &Observed<'_>);

    /// What it knows, for who asks through the control socket with `{"observed": …}`.
    ///
    /// # Errors
    /// Why the question can't be answered, in one sentence.
    fn tell(&self, question: serde_json::Value) -> Result<serde_json::Value, String>;
}

/// One answer.
pub struct Observed<'a> {
    /// When the request's head was whole, in milliseconds since 1970.
    pub unix_ms: u64,
    /// The method; empty, like host and path, if the request could not be read.
    pub method: &'a str,
    /// The host as asked for.
    pub host: &'a str,
    /// The path without its query.
    pub path: &'a str,
    /// The answer's status.
    pub status: u16,
    /// Why it was answered so.
    pub verdict: Verdict,
    /// Why what the origin said was not stored; none: it was, or the origin said nothing.
    pub unstored: Option<NoStore>,
    /// Bytes of the body that went out.
    pub bytes: u64,
    /// Whether it is HTML.
    pub is_html: bool,
    /// Where the time went; none for an answer that nobody waited for.
    pub phases: Option<&'a Phases>,
    /// The trace that it belongs to, where traces are wanted.
    pub trace: Option<Trace>,
    server: &'a Server,
    start: Now,
}

impl Observed<'_> {
    /// Reads how long it has taken until now, in microseconds.
    #[must_use]
    pub fn took_us(&self) -> u64 {
        self.server.clock.now().ticks_us.saturating_sub(self.start.ticks_us)
    }

    /// Looks up the name of the site; empty: there is none for the host.
    #[must_use]
    pub fn site(&self) -> String {
        let sites = self.server.sites();
        sites.find(self.host).map(|site| site.name.clone()).unwrap_or_default()
    }
}

/// What became of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    status: u16,
    verdict: Verdict,
    unstored: Option<NoStore>,
    is_html: bool,
}

impl Outcome {
    pub(crate) fn of(reply: &Reply) -> Self {
        let (verdict, unstored) = (reply.verdict, reply.unstored);
        Self { status: reply.status(), verdict, unstored, is_html: reply.is_html() }
    }
}

impl Server {
    /// Tells of an answer that nobody waited for.
    pub(crate) fn observe(
        &self,
        head: &RequestHead,
        trace: Option<Trace>,
        start: Now,
        outcome: Outcome,
        bytes: u64,
    ) {
        let Some(observer) = &self.observer else { return };
        let Outcome { status, verdict, unstored, is_html } = outcome;
        observer.answered(&Observed {
            unix_ms: start.unix_ms,
            method: if head.target.is_empty() { "" } else { head.method.as_str() },
            host: &head.host,
            path: head.path(),
            status,
            verdict,
            unstored,
            bytes,
            is_html,
            phases: None,
            trace,
            server: self,
            start,
        });
    }

    /// Begins to watch a journey, where somebody wants to know of it.
    pub(crate) fn watch(
        &self,
        head: &RequestHead,
        trace: Option<Trace>,
        start: Now,
    ) -> Option<Box<Watched>> {
        if self.observer.is_none() && !self.server_timing && trace.is_none() {
            return None;
        }
        let looked_up_us = self.clock.now().ticks_us.saturating_sub(start.ticks_us);
        let now = Instant::now();
        let began = now.checked_sub(Duration::from_micros(looked_up_us)).unwrap_or(now);
        let phases = Arc::new(Phases::since(began));
        phases.add(Phase::LookUp, 0, looked_up_us);
        Some(Box::new(Watched {
            method: head.method.clone(),
            host: head.host.clone(),
            path: head.path().to_owned(),
            start,
            phases,
            trace,
            reply: None,
        }))
    }
}

/// A journey of which somebody wants to know.
pub(crate) struct Watched {
    method: http::Method,
    host: String,
    path: String,
    start: Now,
    phases: Arc<Phases>,
    trace: Option<Trace>,
    /// What came of it, and when that was ready.
    reply: Option<(Outcome, Now)>,
}

impl Watched {
    /// What the journey notes into, and the trace that it tells the origin.
    pub(crate) fn taken_along(&self) -> (Arc<Phases>, Option<Trace>) {
        (self.phases.clone(), self.trace)
    }

    /// The reply is ready.
    pub(crate) fn note_reply(&mut self, reply: &Reply, now: Now) {
        self.reply = Some((Outcome::of(reply), now));
    }

    /// So much of the reply's body went out, and nothing follows. One whose visitor went away
    /// before there was a reply is none.
    pub(crate) fn end(&self, server: &Server, bytes: u64) {
        let (Some(observer), Some((outcome, ready))) = (&server.observer, self.reply) else {
            return;
        };
        let wrote_us = server.clock.now().ticks_us.saturating_sub(ready.ticks_us);
        let ready_us = ready.ticks_us.saturating_sub(self.start.ticks_us);
        self.phases.add(Phase::Write, ready_us, wrote_us);
        observer.answered(&Observed {
            unix_ms: self.start.unix_ms,
            method: self.method.as_str(),
            host: &self.host,
            path: &self.path,
            status: outcome.status,
            verdict: outcome.verdict,
            unstored: outcome.unstored,
            bytes,
            is_html: outcome.is_html,
            phases: Some(&self.phases),
            trace: self.trace,
            server,
            start: self.start,
        });
    }
}

/// What an answer tells of its own time: the verdict, and in milliseconds each part of its way
/// that is over when its head goes out.
pub(crate) fn server_timing(verdict: Verdict, watched: Option<&Watched>, now: Now) -> String {
    let mut text = format!("cache;desc=\"{verdict}\"");
    let Some(watched) = watched else { return text };
    let before = [Phase::LookUp, Phase::Flight, Phase::Queue, Phase::Connect, Phase::FirstByte];
    let each = before.iter().filter_map(|phase| Some((phase.word(), watched.phases.read(*phase)?)));
    let total_us = now.ticks_us.saturating_sub(watched.start.ticks_us);
    for (word, time_us) in each.chain([("total", total_us)]) {
        let (whole, rest) = (time_us / 1000, time_us % 1000);
        // A string takes whatever is written to it.
        let _ = write!(text, ", {word};dur={whole}.{rest:03}");
    }
    text
}
