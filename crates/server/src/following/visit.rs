//! Visits: every request to a followed site's origin is counted from its first byte to the
//! last of its answer, so that what it writes is known to be its doing. Whether its visitor
//! may ask at all is seen to just before.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use base::Clock;
use bytes::Bytes;
use changes::noise::Foreign;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use origin::{Answer, Call, OriginError};
use policy::strangers::{is_known_foreign, pairs, shape};
use wire::{Body, BodyError, Fields, Name, ResponseHead};

use super::Following;
use super::traffic::Asker;
use crate::Server;
use crate::defence::Seat;
use crate::pipeline;
use crate::site::Site;

/// The field of RFC 6797. It is put into what is stored, so that a hit costs nothing.
const HSTS: &str = "strict-transport-security";

impl Site {
    /// Asks the origin, as whoever the method shows.
    pub(crate) async fn ask(
        &self,
        server: &Arc<Server>,
        call: Call,
    ) -> Result<Answer, OriginError> {
        let asker = match call.head.method {
            http::Method::GET | http::Method::HEAD | http::Method::OPTIONS => Asker::Reader,
            _ => Asker::Writer,
        };
        self.ask_as(server, call, asker).await
    }

    /// Asks the origin. Readers wait while it is being found out what reading writes.
    pub(crate) async fn ask_as(
        &self,
        server: &Arc<Server>,
        mut call: Call,
        asker: Asker,
    ) -> Result<Answer, OriginError> {
        let by_our_tag = self.mark_new.ask_readable(&mut call);
        let is_secure = call.scheme == "https";
        let mut answer = self.visit(&server.clock, call, asker).await?;
        if self.rules().lscache {
            policy::lscache::translate(&mut answer.head.fields);
        }
        self.defence.finish(&mut answer.head);
        server.fill_blocks(self.markup.as_ref(), &mut answer);
        self.mark_new.put_in(&mut answer, by_our_tag);
        if let Some(seconds) = self.rules().hsts_seconds.filter(|_| is_secure) {
            // The owner's word counts, so a page bears one line of it at most.
            answer.head.fields.retain(|_, name, _| !name.eq_ignore_ascii_case(HSTS.as_bytes()));
            answer.head.fields.push(HSTS, format!("max-age={seconds}"));
        }
        Ok(answer)
    }

    async fn visit(&self, clock: &Clock, call: Call, asker: Asker) -> Result<Answer, OriginError> {
        // Probes are counted by who sends them.
        let following = self.following.as_ref().filter(|_| asker != Asker::Probe);
        let (is_counted, visitor) = (call.is_counted, call.peer.ip());
        let (mut visit, mut seat) = (None, None);
        let target = following.map(|_| call.head.target.clone()).unwrap_or_default();
        let reader = following
            .filter(|_| asker == Asker::Reader && call.head.method == http::Method::GET)
            .map(|_| who_is(&call.head.fields));
        let enter = async {
            if is_counted {
                seat = Some(self.defence.enter(visitor, clock.now().ticks_ms)?);
            }
            if let Some(following) = following {
                if asker != Asker::Writer {
                    following.gate.pass().await;
                }
                visit = Some(Visit::begin(following, clock, asker, target, reader));
            }
            Ok(())
        };
        // Boxed, or each of those who wait for it would be as large.
        let mut answer = Box::pin(self.origin.send_after(enter, call)).await?;
        // Files write nothing, and cost nothing that would be counted.
        if visit.is_none() && seat.is_none() {
            return Ok(answer);
        }
        let is_visit = visit.is_some();
        if asker == Asker::Reader
            && let Some(visit) = &visit
            && !is_page(&answer.head)
        {
            visit.following.learner.lock().read_no_page();
        }
        answer.body = Visited { body: answer.body, visit, seat }.boxed_unsync();
        if let Some(following) = following.filter(|following| following.is_heard())
            && asker == Asker::Writer
            && is_visit
        {
            answer.body = following.own.hold(answer.body).await;
        }
        Ok(answer)
    }
}

/// What tells a visitor from others: the cookies that may be the app's.
fn who_is(fields: &Fields) -> u64 {
    let mut own: Vec<u8> = Vec::new();
    for (name, value) in pairs(fields).filter(|(name, _)| !is_known_foreign(name)) {
        own.extend([name, b"=", value, b";"].concat());
    }
    pipeline::hash(&own)
}

/// Whether it is what a visitor reads.
fn is_page(answer: &ResponseHead) -> bool {
    let content_type = answer.fields.first(Name::ContentType).unwrap_or_default();
    answer.status == 200 && content_type.to_ascii_lowercase().starts_with(b"text/html")
}

/// A request at the origin; its end is when this is dropped.
struct Visit {
    following: Arc<Following>,
    clock: Clock,
    foreign: Foreign,
    number: u64,
}

impl Visit {
    fn begin(
        following: &Arc<Following>,
        clock: &Clock,
        asker: Asker,
        target: String,
        reader: Option<u64>,
    ) -> Self {
        let is_probed = || following.learner.lock().has_probed(&shape(&target));
        let foreign = match asker {
            Asker::Writer => Foreign::Write,
            Asker::Persona if is_probed() => Foreign::Probed,
            _ => Foreign::Read,
        };
        match reader.filter(|_| following.wanted.has(&target)) {
            Some(who) => {
                let (class, ticks_ms) = (shape(&target), clock.now().ticks_ms);
                following.learner.lock().reading_began(&target, &class, who, ticks_ms);
            }
            None => following.learner.lock().foreign_began(foreign),
        }
        let number = following.traffic.lock().begin(asker, target);
        Self { following: following.clone(), clock: clock.clone(), foreign, number }
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        let ticks_ms = self.clock.now().ticks_ms;
        self.following.learner.lock().foreign_ended(self.foreign, ticks_ms);
        self.following.traffic.lock().end(self.number, ticks_ms);
    }
}

/// An answer's body, whose end is the visit's.
struct Visited {
    body: Body,
    visit: Option<Visit>,
    seat: Option<Seat>,
}

impl http_body::Body for Visited {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) || self.body.is_end_stream() {
            (self.visit, self.seat) = (None, None);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
