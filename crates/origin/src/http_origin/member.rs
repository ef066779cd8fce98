//! One of the servers that make a site's pages: its connections, and how well it is.
//!
//! Invariants: 1. A request is sent a second time only if the server can't have seen it, or
//! if it is idempotent, without a body, and met a kept connection that closed without an
//! answer, or if the server says that it has done nothing about it. 2. Connections never
//! outnumber the slots.

use std::sync::{Arc, Weak};

use base::Phase;
use hyper::client::conn::http1;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};

use super::exchange::{Failure, Got, Outgoing, exchange};
use super::health::Health;
use super::http2::{self, Berth, Line, Lines, Plan};
use super::tls::Tls;
use super::upload::Upload;
use super::{HttpOptions, HttpServer, convert, explain};
use crate::dial::Stream;
use crate::pool::Pool;
use crate::slots::Slots;
use crate::stopwatch::timed;
use crate::timeouts::within;
use crate::{Counters, Dial, OriginError};

/// The most bytes that the head of an answer may have.
pub(crate) const HEAD_BYTES_MAX: usize = 256 * 1024;

/// How often a request is sent to one server at most, where the server says each time that
/// it has done nothing about it.
const ATTEMPTS_MAX: usize = 3;

/// One kept connection of HTTP/1.1, as hyper hands it out.
pub(crate) type Single = http1::SendRequest<Upload>;

/// How to come to a server.
pub(crate) struct Road {
    pub(crate) dial: Dial,
    /// For requests that name no host.
    pub(crate) authority: String,
    pub(crate) tls: Option<Tls>,
    pub(crate) speech: Speech,
}

/// What may be spoken to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speech {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2, unless the server chooses HTTP/1.1 in the TLS handshake.
    Chosen,
    /// HTTP/2, which the server is known to speak.
    Http2,
}

/// What is spoken to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tongue {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2.
    Http2,
}

impl std::fmt::Display for Tongue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Http1 => "HTTP/1.1",
            Self::Http2 => "HTTP/2",
        })
    }
}

/// A new connection.
pub(crate) enum Dialled {
    /// For one request after another.
    Single(Single),
    /// For many at once.
    Line(Arc<Line>),
}

impl Road {
    /// Opens a connection, whichever the server speaks.
    pub(crate) async fn open(
        &self,
        plan: &Plan,
        lines: Weak<Lines>,
    ) -> Result<Dialled, OriginError> {
        let stream = self.dial.connect(&plan.timeouts, false).await?;
        plan.counters.connects.bump();
        let Some(tls) = &self.tls else {
            return match self.speech {
                Speech::Http2 => Line::open(stream, plan, lines).await.map(Dialled::Line),
                Speech::Http1 | Speech::Chosen => greet(stream).await.map(Dialled::Single),
            };
        };
        let (stream, tongue) = tls.connect(stream, &plan.timeouts, self.speech).await?;
        match tongue {
            Tongue::Http2 => Line::open(stream, plan, lines).await.map(Dialled::Line),
            Tongue::Http1 => greet(stream).await.map(Dialled::Single),
        }
    }

    /// Opens a connection of HTTP/1.1.
    async fn open_single(&self, plan: &Plan) -> Result<Single, OriginError> {
        let stream: Stream = self.dial.connect(&plan.timeouts, false).await?;
        plan.counters.connects.bump();
        match &self.tls {
            None => greet(stream).await,
            Some(tls) => {
                let (stream, _) = tls.connect(stream, &plan.timeouts, Speech::Http1).await?;
                greet(stream).await
            }
        }
    }
}

/// One server.
pub(crate) struct Member {
    /// As its owner calls it.
    pub(crate) name: String,
    pub(crate) weight: u32,
    pub(crate) slots: Slots,
    pub(crate) pool: Pool<Single>,
    /// None: nobody is to speak HTTP/2 to it.
    pub(crate) lines: Option<Arc<Lines>>,
    pub(crate) health: Mutex<Health>,
    plan: Plan,
}

impl Member {
    pub(crate) fn new(
        server: &HttpServer,
        road: Road,
        slots: Slots,
        options: &HttpOptions,
        counters: Arc<Counters>,
    ) -> Self {
        let (name, weight) = (server.address.clone(), server.weight);
        let (pool, has_lines) = (Pool::new(options.keep), road.speech != Speech::Http1);
        let plan = Plan::new(Arc::new(road), options.timeouts, counters, options.keep);
        let lines = has_lines.then(|| Lines::new(plan.clone(), pool.clone()));
        Self { name, weight, slots, pool, lines, health: Mutex::default(), plan }
    }

    /// Sends a request, over an open connection if there is one.
    pub(crate) async fn send(&self, outgoing: &mut Outgoing) -> Result<Got, Failure> {
        if let Some(lines) = &self.lines
            && !outgoing.is_upgrade
            && let Some(result) = self.send_on_line(lines, outgoing).await
        {
            return result;
        }
        let counters = &self.plan.counters;
        if let Some(connection) = self.kept().await {
            counters.reuses.bump();
            match self.exchange(connection, outgoing).await {
                Err(failure)
                    if failure.is_stale && (failure.is_unsent || outgoing.is_repeatable) =>
                {
                    counters.stale_retries.bump();
                }
                result => return result,
            }
        }
        let opened = self.plan.road.open_single(&self.plan);
        let connection = timed(&outgoing.phases, Phase::Connect, opened).await;
        let connection = connection.map_err(Failure::unsent)?;
        self.exchange(connection, outgoing).await
    }

    /// Sends a request by HTTP/2; none: this is to be done by HTTP/1.1.
    async fn send_on_line(
        &self,
        lines: &Lines,
        outgoing: &mut Outgoing,
    ) -> Option<Result<Got, Failure>> {
        let counters = &self.plan.counters;
        let mut attempts = 0;
        loop {
            let berth = match lines.berth(&outgoing.phases).await {
                Ok(berth) => berth?,
                Err(error) => return Some(Err(Failure::unsent(error))),
            };
            let is_kept = berth.is_kept;
            if is_kept {
                counters.reuses.bump();
            }
            let failure = match self.exchange_on(berth, outgoing).await {
                Ok(got) => return Some(Ok(got)),
                Err(failure) => failure,
            };
            let is_stale = is_kept && failure.is_stale && outgoing.is_repeatable;
            if failure.wants_http1 && outgoing.is_repeatable {
                lines.prefer_singles();
                return None;
            }
            // One that was found closed is no attempt; a new one that is closed at once is.
            attempts += usize::from(!(is_kept && failure.is_unsent && failure.is_stale));
            if attempts == ATTEMPTS_MAX || !(failure.is_unsent || is_stale) {
                return Some(Err(failure));
            }
            match failure.is_stale {
                true => counters.stale_retries.bump(),
                false => counters.http2_refused.bump(),
            }
        }
    }

    async fn exchange(&self, connection: Single, outgoing: &mut Outgoing) -> Result<Got, Failure> {
        let Plan { road, timeouts, .. } = &self.plan;
        exchange(connection, outgoing, &road.authority, timeouts.first_byte).await
    }

    async fn exchange_on(&self, berth: Berth, outgoing: &mut Outgoing) -> Result<Got, Failure> {
        let Plan { road, timeouts, .. } = &self.plan;
        http2::exchange(berth, outgoing, road, timeouts.first_byte).await
    }

    /// Sends a request over a connection of its own.
    pub(crate) async fn send_alone(&self, outgoing: &mut Outgoing) -> Result<Got, Failure> {
        let dialled = self.plan.road.open(&self.plan, Weak::new()).await;
        match dialled.map_err(Failure::unsent)? {
            Dialled::Single(connection) => self.exchange(connection, outgoing).await,
            Dialled::Line(line) => self.exchange_on(Lines::alone(&line), outgoing).await,
        }
    }

    /// A kept connection that is ready for a request.
    async fn kept(&self) -> Option<Single> {
        while let Some(mut connection) = self.pool.take() {
            // Ready as soon as its task has seen the end of the last answer; a task
            // that finds the connection closed says so instead of becoming ready.
            let ready = within(self.plan.timeouts.connect, connection.ready()).await;
            if matches!(ready, Some(Ok(()))) {
                return Some(connection);
            }
        }
        None
    }

    /// Connects to it; what it speaks.
    pub(crate) async fn call(&self) -> Result<Tongue, OriginError> {
        match self.plan.road.open(&self.plan, Weak::new()).await? {
            Dialled::Single(_) => Ok(Tongue::Http1),
            Dialled::Line(_) => Ok(Tongue::Http2),
        }
    }

    /// Connections that requests share.
    pub(crate) fn shared_connections(&self) -> usize {
        self.lines.as_ref().map_or(0, |lines| lines.count())
    }

    /// Closes what is unused, and keeps nothing from now on.
    pub(crate) fn retire(&self) {
        self.pool.close();
        if let Some(lines) = &self.lines {
            lines.close();
        }
    }
}

/// Speaks HTTP/1.1 over a stream.
async fn greet<S>(stream: S) -> Result<Single, OriginError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (connection, task) = http1::Builder::new()
        .max_headers(convert::FIELDS_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .handshake::<_, Upload>(hyper_util::rt::TokioIo::new(stream))
        .await
        .map_err(|error| OriginError::Unreachable(explain(&error)))?;
    // Its errors reach whoever uses the connection; alone they mean that it is gone.
    drop(tokio::spawn(async move { drop(task.with_upgrades().await) }));
    Ok(connection)
}
