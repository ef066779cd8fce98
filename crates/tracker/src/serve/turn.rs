//! What each thread that serves does: it waits, takes what has come, has it flushed, and answers.
//!
//! One turn: `poll` → requests of all sockets are read and their answers made → the local log is
//! flushed once → the answers leave. So an answer that left was logged, at a call a turn rather
//! than a call an announce.
//! Bounds: [`ServeRules::connections_max`](super::ServeRules); [`ACCEPTS`] new connections and
//! [`READ_BYTES`] of each connection a turn; [`OUT_BYTES_MAX`] of answers that a client does not
//! take, after which nothing more of it is read.
//! Rest: where datagrams of many clients come in ones and twos, and nobody asks by a connection, a
//! turn is followed by [`REST`], so that the next one takes several. What comes alone is answered
//! at once; of a steady stream nothing waits longer than that. What comes by connections rests for
//! a moment, and only while that has several come together (`turn/gather.rs`).
//! What is for connections that speak WebSocket is in `turn/web.rs`.

mod gather;
mod web;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use base::clock::Now;
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};
use rustix::net::{RecvFlags, SendFlags};
use slab::Slab;

use self::gather::{Gathering, MOMENT};
use super::sockets::Sockets;
use super::udp::UdpDoor;
use super::web::Web;
use super::web::hall::Seat;
use super::web::mail::Mailbox;
use super::{Answered, Desk, Service, http};

/// Connections that one listener takes in one turn.
const ACCEPTS: usize = 64;
/// Bytes that one connection is read in one turn.
const READ_BYTES: usize = 16 << 10;
/// Bytes of answers that wait for one client.
const OUT_BYTES_MAX: usize = 128 << 10;
/// Buffers that are kept for the next answers, and how large one may be for that.
const SPARES_MAX: usize = 64;
const SPARE_BYTES_MAX: usize = 8 << 10;
/// Events of one turn.
const EVENTS: usize = 256;
/// How long nothing may happen before late connections are looked for.
const TICK: Duration = Duration::from_millis(500);
/// How long connections that are in the middle of something have at a stop, also those whose
/// first request is still on its way. The process that takes over waits as long.
const GRACE_MS: u64 = 500;
/// The same while the last connections are waited for.
const LEAVE_TICK: Duration = Duration::from_millis(20);
/// How long a thread rests after a turn of few datagrams.
const REST: Duration = Duration::from_millis(5);
/// Who asks by a connection may wait for the answer before asking again: for so long after one
/// has asked, there is no rest.
const WATCH_MS: u64 = 1000;
const WAKE: Token = Token(0);
/// The token of the first connection; the tokens of sockets that listen are below it.
const FIRST_CONNECTION: usize = 1024;

/// One connection.
struct Connection {
    stream: TcpStream,
    peer: IpAddr,
    /// What was received and is no whole request yet.
    received: Vec<u8>,
    out: Vec<u8>,
    /// How much of that has left.
    sent: usize,
    /// When it is late.
    due_ms: u64,
    is_registered: bool,
    /// It has had a request.
    has_asked: bool,
    /// There may be more to read.
    is_readable: bool,
    /// It goes when all that is to be said has left.
    ends: bool,
    /// It is among those that this turn answers.
    is_turned: bool,
    /// It speaks WebSocket.
    web: Option<Box<Web>>,
}

/// One thread's work.
pub(super) struct Turns {
    poll: Poll,
    waker: Arc<Waker>,
    /// What clients of any thread write to those of this one.
    mailbox: Arc<Mailbox>,
    service: Arc<Service>,
    stop: Arc<AtomicBool>,
    /// Connections of all threads.
    open: Arc<AtomicUsize>,
    listeners: Vec<TcpListener>,
    doors: Vec<UdpDoor>,
    connections: Slab<Connection>,
    /// Those of which something is to be sent, or which are to be closed.
    turned: Vec<usize>,
    /// Connections that were accepted in this turn.
    fresh: Vec<usize>,
    /// Sockets that had more than one turn takes.
    again: Vec<Token>,
    /// Those that are left alone until the next tick.
    later: Vec<Token>,
    desk: Desk,
    body: Vec<u8>,
    /// Buffers of answers that have left.
    spares: Vec<Vec<u8>>,
    scratch: Box<[u8; READ_BYTES]>,
    swept_ms: u64,
    /// When a connection was read last.
    read_ms: u64,
    gathering: Gathering,
    /// How long the next turn rests before it begins.
    rest: Duration,
}

impl Turns {
    pub(super) fn new(
        service: Arc<Service>,
        sockets: Sockets,
        stop: Arc<AtomicBool>,
        open: Arc<AtomicUsize>,
    ) -> io::Result<Self> {
        if sockets.http.len() + sockets.udp.len() >= FIRST_CONNECTION - 1 {
            return Err(io::Error::other("there are too many addresses"));
        }
        let poll = Poll::new()?;
        let mut listeners = Vec::new();
        for (number, socket) in sockets.http.into_iter().enumerate() {
            socket.set_nonblocking(true)?;
            let mut listener = TcpListener::from_std(socket);
            poll.registry().register(&mut listener, Token(1 + number), Interest::READABLE)?;
            listeners.push(listener);
        }
        let mut doors = Vec::new();
        for (number, socket) in sockets.udp.into_iter().enumerate() {
            let mut door = UdpDoor::new(socket)?;
            let token = Token(1 + listeners.len() + number);
            poll.registry().register(&mut door.socket, token, Interest::READABLE)?;
            doors.push(door);
        }
        let waker = Arc::new(Waker::new(poll.registry(), WAKE)?);
        let mailbox = Arc::new(Mailbox::new(waker.clone()));
        Ok(Self {
            poll,
            waker,
            mailbox,
            service,
            stop,
            open,
            listeners,
            doors,
            connections: Slab::new(),
            turned: Vec::new(),
            fresh: Vec::new(),
            again: Vec::new(),
            later: Vec::new(),
            desk: Desk::default(),
            body: Vec::new(),
            spares: Vec::new(),
            scratch: Box::new([0; READ_BYTES]),
            swept_ms: 0,
            read_ms: 0,
            gathering: Gathering::default(),
            rest: Duration::ZERO,
        })
    }

    /// What wakes the thread from its waiting.
    pub(super) fn waker(&self) -> Arc<Waker> {
        self.waker.clone()
    }

    pub(super) fn run(mut self) {
        let mut events = Events::with_capacity(EVENTS);
        while !self.stop.load(Ordering::Acquire) {
            self.turn(&mut events);
        }
        // What waits in sockets is for the one that has them next.
        let begun_ms = self.service.clock.now().ticks_ms;
        self.listeners.clear();
        self.doors.clear();
        self.leave(begun_ms, &mut events);
        let all: Vec<usize> = self.connections.iter().map(|(at, _)| at).collect();
        all.into_iter().for_each(|at| self.close(at));
    }

    /// Ends connections: those that rest at once, others when they have their answer. What has
    /// come already is answered.
    fn leave(&mut self, begun_ms: u64, events: &mut Events) {
        let all: Vec<usize> = self.connections.iter().map(|(at, _)| at).collect();
        self.again.extend(all.into_iter().map(|at| Token(FIRST_CONNECTION + at)));
        self.turn(events);
        self.mailbox.close();
        self.dismiss();
        loop {
            let rests =
                |it: &Connection| it.has_asked && it.received.is_empty() && it.sent == it.out.len();
            let resting: Vec<usize> =
                self.connections.iter().filter(|(_, it)| rests(it)).map(|(at, _)| at).collect();
            resting.into_iter().for_each(|at| self.close(at));
            let is_over = self.service.clock.now().ticks_ms > begun_ms + GRACE_MS;
            if self.connections.is_empty() || is_over {
                return;
            }
            self.turn_within(events, LEAVE_TICK);
        }
    }

    fn turn(&mut self, events: &mut Events) {
        self.turn_within(events, TICK);
    }

    /// One turn, which waits for at most so long.
    fn turn_within(&mut self, events: &mut Events, patience: Duration) {
        if !self.rest.is_zero() {
            std::thread::sleep(self.rest);
        }
        let is_busy = !self.again.is_empty() || !self.turned.is_empty();
        let wait = if is_busy { Duration::ZERO } else { patience };
        if let Err(error) = self.poll.poll(events, Some(wait))
            && error.kind() != io::ErrorKind::Interrupted
        {
            // Nothing can be waited for; at least not all of the processor is taken.
            std::thread::sleep(TICK);
            return;
        }
        let now = self.service.clock.now();
        for token in std::mem::take(&mut self.again) {
            self.take(token, now, true);
        }
        for event in events.iter() {
            let may_read = event.is_readable() || event.is_read_closed() || event.is_error();
            self.take(event.token(), now, may_read);
            // An end that has come already is not told again.
            if event.is_read_closed() && event.token().0 >= FIRST_CONNECTION {
                self.again.push(event.token());
            }
        }
        self.begin_fresh(now);
        self.deliver();
        self.service.flush_if(self.has_answers());
        self.rest = self.wanted_rest(now);
        self.answer_all(now);
        if now.ticks_ms >= self.swept_ms + TICK.as_millis() as u64 {
            self.swept_ms = now.ticks_ms;
            self.sweep(now);
            self.again.append(&mut self.later);
        }
    }

    fn wanted_rest(&mut self, now: Now) -> Duration {
        let has_heard = self.doors.iter().any(UdpDoor::has_answers);
        let mut may_rest = true;
        for door in &mut self.doors {
            // Each takes note of who asks.
            may_rest &= door.may_rest();
        }
        let gathers = self.gathering.may_rest();
        match has_heard && may_rest && now.ticks_ms > self.read_ms + WATCH_MS {
            true => REST,
            false if gathers => MOMENT,
            false => Duration::ZERO,
        }
    }

    fn has_answers(&self) -> bool {
        !self.turned.is_empty() || self.doors.iter().any(UdpDoor::has_answers)
    }

    /// Takes what has come to one socket.
    fn take(&mut self, token: Token, now: Now, is_readable: bool) {
        let Some(number) = token.0.checked_sub(1) else { return };
        if number < self.listeners.len() {
            return self.accept(number, now);
        }
        let number = number - self.listeners.len();
        if let Some(door) = self.doors.get_mut(number) {
            if door.take(&self.service, now, &mut self.desk) {
                self.again.push(token);
            }
            return;
        }
        let Some(at) = token.0.checked_sub(FIRST_CONNECTION) else { return };
        let Some(connection) = self.connections.get_mut(at) else { return };
        connection.is_readable |= is_readable;
        if connection.sent < connection.out.len() {
            self.note(at);
        }
        self.read(at, now);
    }

    fn accept(&mut self, number: usize, now: Now) {
        for _ in 0..ACCEPTS {
            match self.listeners[number].accept() {
                Ok((stream, peer)) => self.welcome(stream, peer, now),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if is_transient(&error) => {}
                Err(_) => {
                    self.service.counters.accept_failures.bump();
                    // Others are served until a descriptor may be free again.
                    return self.later.push(Token(1 + number));
                }
            }
        }
        self.again.push(Token(1 + number));
    }

    fn welcome(&mut self, stream: TcpStream, peer: SocketAddr, now: Now) {
        let counters = &self.service.counters;
        let rules = self.service.rules();
        if self.open.load(Ordering::Relaxed) >= rules.connections_max {
            return counters.connections_refused.bump();
        }
        counters.connections.bump();
        self.open.fetch_add(1, Ordering::Relaxed);
        let at = self.connections.insert(Connection {
            stream,
            peer: peer.ip(),
            received: Vec::new(),
            out: Vec::new(),
            sent: 0,
            due_ms: now.ticks_ms + rules.idle.as_millis() as u64,
            is_registered: false,
            has_asked: false,
            is_readable: true,
            ends: false,
            is_turned: false,
            web: None,
        });
        self.fresh.push(at);
    }

    /// Reads what came with the connections of this turn: last, since a request follows its
    /// connection by a moment, and if it is there nothing has to be waited for.
    fn begin_fresh(&mut self, now: Now) {
        let mut fresh = std::mem::take(&mut self.fresh);
        for at in fresh.drain(..) {
            self.read(at, now);
            self.note(at);
        }
        self.fresh = fresh;
    }

    /// Has this turn answer a connection.
    fn note(&mut self, at: usize) {
        if let Some(connection) = self.connections.get_mut(at)
            && !std::mem::replace(&mut connection.is_turned, true)
        {
            self.turned.push(at);
        }
    }

    /// Reads what a connection has and makes its answers.
    fn read(&mut self, at: usize, now: Now) {
        let Some(connection) = self.connections.get_mut(at) else { return };
        let waits = connection.out.len() - connection.sent;
        if connection.ends || !connection.is_readable || waits > OUT_BYTES_MAX {
            return;
        }
        self.read_ms = now.ticks_ms;
        let kept = connection.received.len();
        // What is left of the turn before is less than a head.
        self.scratch[..kept].copy_from_slice(&connection.received);
        let received =
            rustix::net::recv(&connection.stream, &mut self.scratch[kept..], RecvFlags::empty());
        let count = match received.map(|(count, _)| count).map_err(io::Error::from) {
            Ok(0) => {
                connection.ends = true;
                return self.note(at);
            }
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                connection.is_readable = false;
                return;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return self.come_again(at),
            Err(_) => {
                (connection.ends, connection.sent) = (true, connection.out.len());
                return self.note(at);
            }
        };
        // Less than there was room for is all that there was; what comes later is told.
        connection.is_readable = kept + count == READ_BYTES;
        let has_more = connection.is_readable;
        self.answer(at, kept + count, now);
        if has_more {
            self.come_again(at);
        }
    }

    fn come_again(&mut self, at: usize) {
        self.again.push(Token(FIRST_CONNECTION + at));
    }

    /// Makes the answers to all requests in the scratch.
    fn answer(&mut self, at: usize, filled: usize, now: Now) {
        let Some(connection) = self.connections.get_mut(at) else { return };
        if connection.out.capacity() == 0 {
            connection.out = self.spares.pop().unwrap_or_default();
        }
        if connection.web.is_some() {
            return self.talk(at, 0, filled, now);
        }
        let rules = self.service.rules();
        let mut rest = &self.scratch[..filled];
        let is_leaving = self.stop.load(Ordering::Relaxed);
        let mut has_answers = false;
        while !connection.ends && !rest.is_empty() {
            match http::read(rest, connection.peer, &rules.proxies) {
                http::Read::More => break,
                http::Read::Wrong(status) => {
                    self.service.counters.malformed.bump();
                    http::put_answer(&mut connection.out, status, false, b"");
                    (connection.ends, rest, has_answers) = (true, &[], true);
                }
                http::Read::Whole(request) => {
                    let from = request.speaks_for.unwrap_or(connection.peer);
                    connection.has_asked = true;
                    self.gathering.note();
                    connection.due_ms = now.ticks_ms + rules.idle.as_millis() as u64;
                    if let Some(wish) = request.upgrade.as_ref().filter(|_| rules.webtorrent) {
                        let seat = Seat::new(self.mailbox.clone(), at);
                        let (service, out) = (&self.service, &mut connection.out);
                        connection.web =
                            service.welcome_web(&request, wish, from, seat, is_leaving, out);
                        connection.ends = connection.web.is_none();
                        (rest, has_answers) = (&rest[request.head_bytes..], true);
                        break;
                    }
                    self.body.clear();
                    let (desk, body) = (&mut self.desk, &mut self.body);
                    let answered = self.service.answer(request.target, from, now, desk, body);
                    let status = match answered {
                        Answered::Bencoded => "200 OK",
                        Answered::NotFound => "404 Not Found",
                    };
                    let stays = request.stays && !is_leaving;
                    http::put_answer(&mut connection.out, status, stays, &self.body);
                    connection.ends = !stays;
                    (rest, has_answers) = (&rest[request.head_bytes..], true);
                }
            }
        }
        connection.received.clear();
        if connection.web.is_some() {
            let from = filled - rest.len();
            self.note(at);
            return self.talk(at, from, filled, now);
        }
        if !connection.ends {
            connection.received.extend_from_slice(rest);
        }
        if has_answers {
            return self.note(at);
        }
        if connection.out.is_empty() {
            let out = std::mem::take(&mut connection.out);
            keep(&mut self.spares, out);
        }
    }

    /// Sends what this turn has made.
    fn answer_all(&mut self, now: Now) {
        for door in &mut self.doors {
            door.send(&self.service);
        }
        // Who is read again while it is sent to may have its answer only in the next turn.
        let mut turned = std::mem::take(&mut self.turned);
        for at in turned.drain(..) {
            self.send(at, now);
        }
        if self.turned.is_empty() {
            self.turned = turned;
        }
    }

    fn send(&mut self, at: usize, now: Now) {
        let token = Token(FIRST_CONNECTION + at);
        let Some(connection) = self.connections.get_mut(at) else { return };
        connection.is_turned = false;
        // The last word of a connection leaves with its end, in one segment, when it is closed.
        let last = if connection.ends { SendFlags::MORE } else { SendFlags::empty() };
        while connection.sent < connection.out.len() {
            let rest = &connection.out[connection.sent..];
            let sent = rustix::net::send(&connection.stream, rest, SendFlags::NOSIGNAL | last);
            match sent.map_err(io::Error::from) {
                Ok(count) if count > 0 => connection.sent += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                _ => return self.close(at),
            }
        }
        let is_done = connection.sent == connection.out.len();
        if is_done && connection.ends {
            return self.close(at);
        }
        if is_done {
            connection.sent = 0;
            let out = std::mem::take(&mut connection.out);
            keep(&mut self.spares, out);
        }
        if !connection.is_registered {
            connection.is_registered = true;
            let interest = Interest::READABLE | Interest::WRITABLE;
            let registry = self.poll.registry();
            if registry.register(&mut connection.stream, token, interest).is_err() {
                return self.close(at);
            }
        }
        // Reading was left until there was room.
        if is_done && connection.is_readable {
            self.read(at, now);
        }
    }

    fn close(&mut self, at: usize) {
        // The system forgets a socket that is closed.
        if let Some(connection) = self.connections.try_remove(at) {
            self.open.fetch_sub(1, Ordering::Relaxed);
            if let Some(web) = &connection.web {
                self.service.part(web, self.service.clock.now());
            }
            keep(&mut self.spares, connection.out);
        }
    }

    /// Ends connections that are late.
    fn sweep(&mut self, now: Now) {
        let late = self.connections.iter().filter(|(_, it)| now.ticks_ms > it.due_ms);
        let mut late: Vec<usize> = late.map(|(at, _)| at).collect();
        late.retain(|&at| !self.ask(at, now));
        self.service.counters.connections_late.add(late.len() as u64);
        late.into_iter().for_each(|at| self.close(at));
        if !self.service.rules().webtorrent {
            self.dismiss();
        }
        self.service.end_lost(now);
    }
}

/// Keeps a buffer for the next answer, so that none allocates while connections rest without one.
fn keep(spares: &mut Vec<Vec<u8>>, mut out: Vec<u8>) {
    if spares.len() < SPARES_MAX && (1..=SPARE_BYTES_MAX).contains(&out.capacity()) {
        out.clear();
        spares.push(out);
    }
}

/// A connection that was gone before we took it is nobody's failure.
fn is_transient(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted)
}
