//! HTTP servers as the origin: HTTP/1.1 over kept connections, in the clear or in TLS, and
//! HTTP/2 over shared ones ([`http2`]).
//!
//! Each request goes to the less busy one of two servers that were drawn by weight
//! ([`balance`]). A server that fails is left out for a while ([`health`]), and a request
//! that met it goes on to one other where that is safe ([`retry`]).
//! Law: RFC 9110 §9.2.2 (what may be sent again), RFC 9112 §9.3.
//! Invariants: 1. A request goes to two servers at most. 2. With one server there is always
//! somebody to ask: whether it answers is found out by asking.
//! Start at [`HttpOrigin::send`].

mod address;
mod balance;
mod check;
mod convert;
mod download;
mod exchange;
mod health;
mod http2;
mod member;
mod retry;
mod tls;
mod tunnel;
mod upload;

use std::sync::Arc;
use std::time::Duration;

use base::Clock;
use base::Phase;
use base::network::Block;
use futures_util::future::join_all;
use http::{Method, StatusCode};
use http_body::Body as _;
use http_body_util::BodyExt;
use wire::{Fields, Name, ResponseHead};

pub use address::AddressError;
pub use check::HealthCheck;
pub use tls::{TlsError, TlsSettings};
pub use tunnel::{Tunnel, Upgrading};

use crate::log::Log;
use crate::slots::{Load, Queue, Slot, SlotLimits, Slots, take_any};
use crate::stopwatch::timed;
use crate::{Answer, Call, Counters, Dial, LogSink, OriginError, Timeouts};
use address::Address;
use balance::{Candidate, Dice};
use download::{Download, Lease};
use exchange::{Failure, Got, Outgoing};
use health::{Change, SLOW_START};
use member::{Member, Road, Speech};
use retry::{Attempted, Budget};
use tls::Trust;

/// How an HTTP origin is used.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// Waiting times.
    pub timeouts: Timeouts,
    /// Requests at once at each server, each with a connection of its own where HTTP/1.1 is
    /// spoken, and the queue before all of them.
    pub limits: SlotLimits,
    /// Connections at once that speak another protocol.
    pub tunnels: usize,
    /// How long an unused connection is kept; zero: not at all.
    pub keep: Duration,
    /// How the servers' health is checked; none: requests find out.
    pub check: Option<HealthCheck>,
    /// Whether servers that speak TLS may choose HTTP/2.
    pub http2: bool,
    /// Whether names lead to public addresses alone: the servers are somebody else's.
    pub is_public_only: bool,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            timeouts: Timeouts::default(),
            limits: SlotLimits { slots: 256, queue: 4096, queue_timeout: Duration::from_secs(30) },
            tunnels: 1024,
            // Below the five seconds after which widely used servers hang up.
            keep: Duration::from_secs(4),
            check: None,
            http2: true,
            is_public_only: false,
        }
    }
}

/// One server, as its owner names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpServer {
    /// `http://HOST[:PORT]`, `https://HOST[:PORT]` or `h2c://HOST[:PORT]`.
    pub address: String,
    /// Its share of the requests, beside those of the others.
    pub weight: u32,
    /// Requests that it is sent at once; none: as the options say.
    pub connections: Option<usize>,
}

impl HttpServer {
    /// The server at this address, like any other.
    #[must_use]
    pub fn at(address: &str) -> Self {
        Self { address: address.to_owned(), weight: 1, connections: None }
    }

    /// Whether its address can be read.
    ///
    /// # Errors
    /// It can't; the message holds the cure.
    pub fn check(&self) -> Result<(), AddressError> {
        Address::parse(&self.address).map(drop)
    }
}

/// Servers that can't be used; each message holds the cure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServersError {
    /// An address can't be read.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// TLS can't be had.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// One or several HTTP servers, and the connections to them.
pub struct HttpOrigin {
    members: Vec<Member>,
    options: HttpOptions,
    queue: Arc<Queue>,
    /// Tunnels never wait for each other.
    tunnels: Slots,
    budget: Budget,
    dice: Dice,
    clock: Clock,
    log: Option<Log>,
    counters: Arc<Counters>,
}

/// What a place is chosen by.
#[derive(Clone, Copy)]
struct Whose {
    visitor: Block,
    is_repeatable: bool,
}

impl HttpOrigin {
    /// These servers, all of which make the same pages.
    ///
    /// # Errors
    /// What the owner wrote can't be used; the message holds the cure.
    pub fn of(
        servers: &[HttpServer],
        tls: &TlsSettings,
        options: HttpOptions,
    ) -> Result<Self, ServersError> {
        let mut trust = None;
        let mut roads = Vec::with_capacity(servers.len());
        for server in servers {
            let Address { dial, authority, host, is_tls, is_h2c } =
                Address::parse(&server.address)?;
            if is_tls && trust.is_none() {
                trust = Some(Trust::new(tls)?);
            }
            let trust = trust.as_ref().filter(|_| is_tls);
            let tls = trust.map(|trust| trust.towards(&host)).transpose()?;
            let dial = if options.is_public_only { dial.public_only() } else { dial };
            let speech = match (is_h2c, is_tls && options.http2) {
                (true, _) => Speech::Http2,
                (false, true) => Speech::Chosen,
                (false, false) => Speech::Http1,
            };
            roads.push((server.clone(), Road { dial, authority, tls, speech }));
        }
        Ok(Self::over(roads, options))
    }

    /// The one server behind `dial`.
    #[must_use]
    pub fn new(dial: Dial, options: HttpOptions) -> Self {
        Self::behind(vec![(dial, 1)], options)
    }

    /// The servers behind these, with their weights.
    #[must_use]
    pub fn behind(dials: Vec<(Dial, u32)>, options: HttpOptions) -> Self {
        Self::speaking(Speech::Http1, dials, options)
    }

    fn speaking(speech: Speech, dials: Vec<(Dial, u32)>, options: HttpOptions) -> Self {
        let roads = dials.into_iter().map(|(dial, weight)| {
            let server = HttpServer { weight, ..HttpServer::at(&dial.to_string()) };
            (server, Road { dial, authority: "localhost".to_owned(), tls: None, speech })
        });
        Self::over(roads.collect(), options)
    }

    fn over(roads: Vec<(HttpServer, Road)>, options: HttpOptions) -> Self {
        let counters = Arc::new(Counters::default());
        let queue = Queue::new(options.limits, counters.clone());
        let mut reserve = 0;
        let member = |(server, road): (HttpServer, Road)| {
            let slots = server.connections.unwrap_or(options.limits.slots);
            reserve = slots.max(reserve);
            let slots = Slots::behind(slots, queue.clone());
            Member::new(&server, road, slots, &options, counters.clone())
        };
        // With counters of its own: a tunnel may last for days, and keeps no program busy.
        let apart = Queue::new(options.limits, Arc::default());
        Self {
            members: roads.into_iter().map(member).collect(),
            tunnels: Slots::behind(options.tunnels, apart),
            options,
            queue,
            budget: Budget::new(reserve),
            dice: Dice::new(),
            clock: Clock::machine(),
            log: None,
            counters,
        }
    }

    pub(crate) fn load(&self) -> Load {
        let each = self.members.iter().map(|member| member.slots.load());
        let sum = |sum: Load, one: Load| Load {
            slots: sum.slots.saturating_add(one.slots),
            taken: sum.taken.saturating_add(one.taken),
            waiting: one.waiting,
        };
        each.fold(Load::default(), sum)
    }

    /// The same, by this clock.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// The same, with a line to `sink` whenever a server goes or comes.
    #[must_use]
    pub fn with_log(self, sink: LogSink) -> Self {
        let log = Some(Log::new(sink, self.counters.clone()));
        Self { log, ..self }
    }

    pub(crate) fn retire(&self) {
        self.members.iter().for_each(Member::retire);
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Connects to each server; what each speaks, such as `HTTP/2`, or what is wrong, with
    /// the server's address.
    pub async fn try_out(&self) -> Vec<(&str, Result<String, OriginError>)> {
        let calls = self.members.iter().map(|member| async move {
            (member.name.as_str(), member.call().await.map(|tongue| tongue.to_string()))
        });
        join_all(calls).await
    }

    pub(crate) async fn send(&self, call: Call) -> Result<Answer, OriginError> {
        let mut outgoing = Outgoing::of(call);
        let (seat, got) = self.ask(&mut outgoing).await?;
        match got.response.status() {
            StatusCode::SWITCHING_PROTOCOLS => Err(OriginError::Upgrade),
            _ => Ok(seat.answer(got, &outgoing)),
        }
    }

    pub(crate) async fn upgrade(&self, call: Call) -> Result<Upgrading, OriginError> {
        let Some(slot) = self.tunnels.try_take() else {
            self.counters.tunnels_refused.bump();
            return Err(OriginError::TunnelsFull { tunnels: self.tunnels.taken() });
        };
        let mut outgoing = Outgoing::upgrading(call);
        let (seat, got) = self.ask(&mut outgoing).await?;
        if got.response.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Ok(Upgrading::Answered(seat.answer(got, &outgoing)));
        }
        let head = ResponseHead { status: 101, fields: convert::fields(got.response.headers()) };
        let upgraded = hyper::upgrade::on(got.response).await;
        let upgraded = upgraded.map_err(|error| OriginError::Reset(explain(&error)))?;
        Ok(Upgrading::Switched(head, Tunnel::new(upgraded, slot)))
    }

    /// Sends a request to one server, or to two; gives the head of the answer and whose it is.
    async fn ask(&self, outgoing: &mut Outgoing) -> Result<(Seat<'_>, Got), OriginError> {
        self.counters.requests.bump();
        self.budget.earn();
        let whose = Whose { visitor: outgoing.visitor, is_repeatable: outgoing.is_repeatable };
        let mut seat = timed(&outgoing.phases, Phase::Queue, self.seat(whose)).await?;
        let failure = match seat.send(outgoing).await {
            Ok(got) => return Ok((seat, got)),
            Err(failure) => failure,
        };
        let first = seat.at;
        // Its slot is free for others before another one is waited for.
        drop(seat);
        match self.seat_elsewhere(first, &failure, whose).await {
            Some(mut seat) => {
                let got = seat.send(outgoing).await.map_err(|failure| failure.error)?;
                Ok((seat, got))
            }
            None => Err(failure.error),
        }
    }

    /// A place at some server.
    async fn seat(&self, whose: Whose) -> Result<Seat<'_>, OriginError> {
        if let [only] = &self.members[..] {
            let slot = only.slots.take(whose.visitor).await?;
            return Ok(self.seated(0, slot, false));
        }
        if let Some(trial) = self.trial(whose.is_repeatable) {
            return Ok(trial);
        }
        self.seat_except(None, whose.visitor).await
    }

    /// A place at another server for a request that failed, if it may go there.
    async fn seat_elsewhere(
        &self,
        first: usize,
        failure: &Failure,
        whose: Whose,
    ) -> Option<Seat<'_>> {
        let Failure { error, is_unsent, .. } = failure;
        let is_repeatable = whose.is_repeatable;
        let attempted = Attempted { error, is_repeatable, is_unsent: *is_unsent };
        if self.members.len() < 2 || !retry::may_go_elsewhere(attempted) {
            return None;
        }
        if !self.budget.spend() {
            self.counters.retries_refused.bump();
            return None;
        }
        let seat = self.seat_except(Some(first), whose.visitor).await.ok()?;
        self.counters.retries.bump();
        Some(seat)
    }

    /// A place at a server that was out and is to be tried.
    fn trial(&self, is_repeatable: bool) -> Option<Seat<'_>> {
        let now_ms = self.clock.now().ticks_ms;
        self.members.iter().enumerate().find_map(|(at, member)| {
            let mut health = member.health.lock();
            if !health.is_due(now_ms, is_repeatable) || self.options.check.is_some() {
                return None;
            }
            let slot = member.slots.try_take()?;
            health.begin_trial();
            self.counters.trials.bump();
            Some(self.seated(at, slot, true))
        })
    }

    /// A place at any server that is in use, or at any at all if none is.
    async fn seat_except(
        &self,
        except: Option<usize>,
        visitor: Block,
    ) -> Result<Seat<'_>, OriginError> {
        let mut candidates = self.candidates(except);
        let all = candidates.iter().enumerate().filter(|(_, one)| one.weight > 0);
        let open: Vec<_> = all.map(|(at, _)| (at, &self.members[at].slots)).collect();
        while let Some(at) = balance::pick(&candidates, &self.dice) {
            if let Some(slot) = self.members[at].slots.try_take() {
                return Ok(self.seated(at, slot, false));
            }
            candidates[at].weight = 0;
        }
        let (at, slot) = take_any(visitor, &open, &self.queue).await?;
        Ok(self.seated(at, slot, false))
    }

    fn candidates(&self, except: Option<usize>) -> Vec<Candidate> {
        let now_ms = self.clock.now().ticks_ms;
        let all = |share: &dyn Fn(&Member) -> u32| -> Vec<_> {
            let members = self.members.iter().enumerate();
            let candidate = |(at, member): (usize, &Member)| {
                let share = if Some(at) == except { 0 } else { share(member) };
                Candidate { weight: member.weight * share, load: member.slots.taken() }
            };
            members.map(candidate).collect()
        };
        let healthy = all(&|member| member.health.lock().share(now_ms));
        let is_somebody_well = healthy.iter().any(|one| one.weight > 0);
        if is_somebody_well { healthy } else { all(&|_| 1000) }
    }

    fn seated(&self, at: usize, slot: Slot, is_trial: bool) -> Seat<'_> {
        let began_ms = self.clock.now().ticks_ms;
        Seat { origin: self, at, slot: Some(slot), began_ms, is_trial }
    }

    /// How each of several servers stands, a line each.
    pub(crate) fn standing(&self) -> Vec<String> {
        let now_ms = self.clock.now().ticks_ms;
        let line = |member: &Member| {
            let (name, taken) = (&member.name, member.slots.taken());
            let with_it = match member.shared_connections() {
                0 => format!("{taken} requests are with it"),
                1 => format!("{taken} requests are with it, on 1 connection of HTTP/2"),
                lines => format!("{taken} requests are with it, on {lines} connections of HTTP/2"),
            };
            match member.health.lock().share(now_ms) {
                0 => format!("{name} is out of use, as it failed; {with_it}"),
                1000 => format!("{name} is in use; {with_it}"),
                share => format!("{name} is back with {} % of its share; {with_it}", share / 10),
            }
        };
        if self.members.len() < 2 { Vec::new() } else { self.members.iter().map(line).collect() }
    }

    /// Checks the servers' health for as long as this is polled, where that is wanted.
    pub(crate) async fn watch(&self) {
        if let Some(check) = &self.options.check {
            join_all(self.members.iter().map(|member| self.watch_one(member, check))).await;
        }
    }

    async fn watch_one(&self, member: &Member, check: &HealthCheck) {
        loop {
            let outcome = check::ask(member, check).await;
            if outcome.is_err() {
                self.counters.checks_failed.bump();
            }
            let now_ms = self.clock.now().ticks_ms;
            let change = member.health.lock().checked(outcome.is_ok(), now_ms);
            self.tell(member, change, &outcome.err().unwrap_or_default());
            tokio::time::sleep(check.every).await;
        }
    }

    /// Counts a change and says it.
    fn tell(&self, member: &Member, change: Option<Change>, why: &str) {
        let (name, is_sole) = (&member.name, self.members.len() == 1);
        let line = match change {
            None => return,
            Some(Change::Out { for_ms }) => {
                self.counters.ejections.bump();
                match (is_sole, for_ms) {
                    (true, _) => format!("origin {name} fails: {why}"),
                    (false, 0) => {
                        format!("origin {name} is out of use until its checks pass: {why}")
                    }
                    (false, _) => {
                        format!("origin {name} is out of use and tried again in {for_ms} ms: {why}")
                    }
                }
            }
            Some(Change::Back) => {
                self.counters.returns.bump();
                let seconds = SLOW_START.as_secs();
                match is_sole {
                    true => format!("origin {name} answers again"),
                    false => format!("origin {name} is back, with its whole share in {seconds} s"),
                }
            }
        };
        if let Some(log) = &self.log {
            log.text("wick", line.as_bytes());
        }
    }
}

/// A request's place at a server.
struct Seat<'a> {
    origin: &'a HttpOrigin,
    at: usize,
    slot: Option<Slot>,
    began_ms: u64,
    is_trial: bool,
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        if self.is_trial {
            self.member().health.lock().give_up_trial();
        }
    }
}

impl Seat<'_> {
    fn member(&self) -> &Member {
        &self.origin.members[self.at]
    }

    /// Sends a request from here; what it comes to is the server's record.
    async fn send(&mut self, outgoing: &mut Outgoing) -> Result<Got, Failure> {
        let result = self.member().send(outgoing).await;
        match &result {
            Ok(_) => self.note(None),
            Err(failure) if retry::is_trouble(&failure.error) => self.note(Some(&failure.error)),
            Err(_) => {}
        }
        result
    }

    fn note(&mut self, trouble: Option<&OriginError>) {
        self.is_trial = false;
        let (member, now_ms) = (self.member(), self.origin.clock.now().ticks_ms);
        let mut health = member.health.lock();
        let is_checked = self.origin.options.check.is_some();
        let change = match trouble {
            // Checks alone bring it back: it may be asked only because all are out.
            None if is_checked && health.is_out() => None,
            None => health.succeeded(self.began_ms, now_ms),
            Some(_) => {
                let dice = self.origin.dice.roll(u64::MAX).unwrap_or_default();
                health.failed(self.began_ms, now_ms, dice)
            }
        };
        drop(health);
        if change.is_some() {
            let why = trouble.map(ToString::to_string).unwrap_or_default();
            self.origin.tell(member, change, &why);
        }
    }

    fn answer(mut self, got: Got, outgoing: &Outgoing) -> Answer {
        let (parts, incoming) = got.response.into_parts();
        let fields = convert::fields(&parts.headers);
        let length = match *outgoing.method() {
            Method::HEAD => Some(0),
            _ => incoming.size_hint().exact(),
        };
        let (pool, slot) = (self.member().pool.clone(), self.slot.take());
        let slot = slot.map(|mut slot| {
            slot.begin_body(outgoing.phases.clone());
            slot
        });
        let may_run_on = may_run_on(outgoing.method(), parts.status.as_u16(), &fields);
        let lease = Lease { held: got.held, pool, progress: got.progress, may_run_on, slot };
        let idle = self.origin.options.timeouts.idle;
        let body = Download::new(incoming, lease, idle).boxed_unsync();
        let head = ResponseHead { status: parts.status.as_u16(), fields };
        Answer { head, body, length, file: None }
    }
}

/// Whether an answer ends with its head (RFC 9112 §6.3), but one who doesn't know that might send
/// what the head announces. Servers made by hand do so on HEAD.
fn may_run_on(method: &Method, status: u16, fields: &Fields) -> bool {
    let announces = |name: Name| fields.first(name).is_some_and(|value| value != b"0");
    *method == Method::HEAD
        || matches!(status, 204 | 304)
            && (announces(Name::ContentLength) || announces(Name::TransferEncoding))
}

/// An error with its causes in one sentence.
fn explain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}

/// RFC 9110 §9.2.2.
pub(crate) fn is_idempotent(method: &Method) -> bool {
    is_safe(method) || matches!(*method, Method::PUT | Method::DELETE)
}

/// RFC 9110 §9.2.1.
pub(crate) fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE)
}

#[cfg(test)]
mod several_tests;
#[cfg(test)]
mod tests;
