//! WebTorrent: clients in browsers, which speak WebSocket with the tracker and WebRTC with each
//! other.
//!
//! Nobody can connect to a browser. So its client hands the tracker offers, each for one other
//! client, which the tracker hands on, and brings back what is answered: `wire::tracker::web`. For
//! that the other has to be connected here at that moment. Who is, and at which torrents, is in
//! [`Hall`], which all threads share; a client of another thread is written to by its
//! [`Mailbox`](mail::Mailbox).
//!
//! For the store these are clients like others, but for one thing: they listen nowhere, so nobody
//! is told of them, and they are told of nobody. One whose connection is lost has [`LOST_MS`] to
//! come back, in which what it announced is kept, so that no byte that it sent is lost; then it
//! ends as one that fell silent.
//! Invariants: 1. nothing is handed to or from a client that the store has not let announce that
//! torrent. 2. all that is held for a client, or for who is gone, has a most: see below and
//! `hall.rs`. 3. a passkey is nowhere but in its connection.

pub(super) mod hall;
mod handshake;
mod hear;
pub(super) mod mail;

#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::sync::atomic::Ordering;

use base::clock::Now;
use wire::tracker::query::{self, QueryError};
use wire::tracker::{InfoHash, Passkey, PeerId};
use wire::websocket::{self, Heard, Reader, code};

use self::hall::{Lost, Seat};
pub(super) use self::handshake::{Upgrade, wish};
use super::http::{Request, put_answer};
use super::{Desk, Service};

/// Bytes of one message: ten offers of a client with many addresses are some 30 KiB.
const MESSAGE_BYTES_MAX: usize = 64 << 10;
/// Torrents of one connection.
const PLACES_MAX: usize = 200;
/// Torrents of one connection, where all are counted together.
const PLACES_USUAL: usize = 16;
/// Of all connections so many may be of this kind, or who announces by HTTP would find none.
const SHARE: usize = 2;
/// After so long a silence a client is asked whether it is there, and after the same time again
/// it isn't: proxies close what is silent for a minute.
pub(super) const ASK_MS: u64 = 45_000;
/// How long a client whose connection is lost has to come back. Clients come after 10 seconds to
/// a little more than 5 minutes, so that they don't come all at once.
const LOST_MS: u64 = 6 * 60 * 1000;
/// What a connection may say at once, and in a second over time: a message is one, and so is each
/// offer with it.
const ALLOWED_AT_ONCE: u64 = 2000;
const ALLOWED_A_SECOND: u64 = 50;

/// A connection that went on in WebSocket.
pub(super) struct Web {
    reader: Reader,
    client: Client,
    /// It was asked whether it is there.
    is_asked: bool,
}

/// Who is at its other end.
pub(super) struct Client {
    seat: Seat,
    from: IpAddr,
    /// What it connected with; what is wrong with that is told when it announces.
    passkey: Result<Option<Passkey>, QueryError>,
    /// By what its own other connections are known; 0 where nobody is.
    owner: u64,
    /// Its torrents, and what it calls itself there.
    places: Vec<(InfoHash, PeerId)>,
    allowance: Allowance,
}

/// What may be said still.
struct Allowance {
    left: u64,
    at_ms: u64,
}

impl Allowance {
    fn takes(&mut self, cost: u64, now: Now) -> bool {
        let seconds = now.ticks_ms.saturating_sub(self.at_ms) / 1000;
        self.at_ms += seconds * 1000;
        self.left = self.left.saturating_add(seconds * ALLOWED_A_SECOND).min(ALLOWED_AT_ONCE);
        let left = self.left.checked_sub(cost);
        self.left = left.unwrap_or(0);
        left.is_some()
    }
}

impl Client {
    fn has(&self, hash: &InfoHash, peer_id: &PeerId) -> bool {
        self.places.iter().any(|place| place == &(*hash, *peer_id))
    }
}

impl Web {
    /// Takes what came and answers it; whether the connection goes on.
    pub(super) fn take(
        &mut self,
        mut bytes: &[u8],
        service: &Service,
        now: Now,
        desk: &mut Desk,
        out: &mut Vec<u8>,
    ) -> bool {
        self.is_asked = false;
        loop {
            let end = match self.reader.read(&mut bytes) {
                Ok(None) => return true,
                Ok(Some(Heard::Text(text))) => {
                    service.hear(&mut self.client, text, now, desk, out).err()
                }
                Ok(Some(Heard::Ping(payload))) => {
                    websocket::put_pong(out, payload);
                    service.allow(&mut self.client, 1, now).err()
                }
                Ok(Some(Heard::Pong(_))) => None,
                Ok(Some(Heard::Close(_))) => Some(code::NORMAL),
                Err(error) => {
                    service.counters.web_wrong.bump();
                    Some(error.code())
                }
            };
            if let Some(code) = end {
                websocket::put_close(out, code);
                return false;
            }
        }
    }

    /// Whether it is the one that such a letter is for.
    pub(super) fn is(&self, serial: u64) -> bool {
        self.client.seat.serial == serial
    }

    /// Whether it is at a torrent; one that isn't has no reason to stay.
    pub(super) fn is_placed(&self) -> bool {
        !self.client.places.is_empty()
    }

    /// Asks whether the client is there; false if it was asked already.
    pub(super) fn ask(&mut self, out: &mut Vec<u8>) -> bool {
        if self.is_asked {
            return false;
        }
        self.is_asked = true;
        websocket::put_ping(out);
        true
    }
}

impl Service {
    /// Appends the answer to a request that wants to go on in WebSocket; none if it may not, and
    /// its connection ends.
    pub(super) fn welcome_web(
        &self,
        request: &Request<'_>,
        wish: &Upgrade<'_>,
        from: IpAddr,
        mut seat: Seat,
        is_leaving: bool,
        out: &mut Vec<u8>,
    ) -> Option<Box<Web>> {
        let refuse = |out: &mut Vec<u8>, status: &str| put_answer(out, status, false, b"");
        if !query::is_announce(request.target) {
            self.counters.others.bump();
            refuse(out, "404 Not Found");
            return None;
        }
        let accepted = match wish.accepted() {
            Ok(accepted) => accepted,
            Err(answer) => {
                self.counters.malformed.bump();
                out.extend_from_slice(answer);
                return None;
            }
        };
        let max = self.rules().connections_max / SHARE;
        if is_leaving || self.hall.open.load(Ordering::Relaxed) >= max {
            self.counters.web_refused.bump();
            refuse(out, "503 Service Unavailable");
            return None;
        }
        self.counters.web_connections.bump();
        self.hall.open.fetch_add(1, Ordering::Relaxed);
        seat.serial = self.hall.next_serial();
        let passkey = query::passkey_of(request.target);
        let known = passkey.as_ref().ok().and_then(Option::as_ref);
        let owner = known.map_or(0, |passkey| self.hall.owner(passkey));
        let allowance = Allowance { left: ALLOWED_AT_ONCE, at_ms: self.clock.now().ticks_ms };
        handshake::put_accepted(out, &accepted);
        let from = from.to_canonical();
        let client = Client { seat, from, passkey, owner, places: Vec::new(), allowance };
        let reader = Reader::new(MESSAGE_BYTES_MAX);
        Some(Box::new(Web { reader, client, is_asked: false }))
    }

    /// A connection is over. Its client has a while to come back by another.
    pub(super) fn part(&self, web: &Web, now: Now) {
        self.hall.open.fetch_sub(1, Ordering::Relaxed);
        let Client { seat, passkey, places, .. } = &web.client;
        for (info_hash, peer_id) in places {
            if !self.hall.leave(info_hash, peer_id, seat.serial) {
                continue;
            }
            let passkey = passkey.as_ref().ok().cloned().flatten();
            let due_ms = now.ticks_ms + LOST_MS;
            let lost = Lost { due_ms, info_hash: *info_hash, peer_id: *peer_id, passkey };
            if !self.hall.lose(lost) {
                self.counters.web_forgotten.bump();
            }
        }
    }

    /// Ends the sessions of those who had a while to come back, and didn't.
    pub(super) fn end_lost(&self, now: Now) {
        for Lost { info_hash, peer_id, passkey, .. } in self.hall.due(now.ticks_ms) {
            self.heart.lose(passkey.as_ref(), &info_hash, &peer_id, now);
        }
    }

    /// Connections that speak WebSocket at the moment.
    #[must_use]
    pub fn web_connected(&self) -> usize {
        self.hall.open.load(Ordering::Relaxed)
    }
}
