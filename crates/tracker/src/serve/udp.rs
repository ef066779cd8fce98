//! One UDP socket: datagrams in batches, answers in batches.
//!
//! A turn takes what has come, up to [`TURN_BATCHES`] batches; answers wait in one buffer until
//! the local log is flushed, and leave in as few calls as the system allows.
//! Invariant: an answer has at most [`ANSWER_BYTES_MAX`] bytes, so none is cut on its way.

use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::Range;

use base::clock::Now;
use quinn_udp::{RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use rustix::net::sockopt::{Ipv4PathMtuDiscovery, set_ip_mtu_discover};
use rustix::net::{MMsgHdr, SendAncillaryBuffer, SendFlags, SocketAddrAny, sendmmsg};
use wire::tracker::udp::{self, Head, Request};
use wire::tracker::{Announce, InfoHash};

use super::{Desk, Service};

/// Datagrams of one call.
const BATCH: usize = 32;
/// Fewer than these are few.
const FEW: usize = 16;
/// Batches of one turn.
pub(crate) const TURN_BATCHES: usize = 8;
/// Bytes of a datagram; what is longer says nothing that is known. The system may join several
/// of one client.
const DATAGRAM_BYTES: usize = 2048;
/// What every path carries whole (RFC 8200 §5: 1280 bytes less two heads).
const ANSWER_BYTES_MAX: usize = 1232;
/// Where no answer goes.
const NOBODY: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
/// Before the peers of an answer.
const ANSWER_HEAD_BYTES: usize = 20;

/// A socket, and what it sends next.
pub(crate) struct UdpDoor {
    pub(crate) socket: mio::net::UdpSocket,
    state: UdpSocketState,
    is_v6: bool,
    /// Bound to all addresses: an answer leaves from the one that was asked.
    is_any: bool,
    received: Vec<u8>,
    /// Announces of one call, and what belongs to each.
    announces: Vec<Announce>,
    asked: Vec<Asked>,
    out: Vec<u8>,
    answers: Vec<Answer>,
    /// To whom the answers of the last turn of few went.
    before: Vec<SocketAddr>,
}

/// Whose an announce is.
#[derive(Clone, Copy)]
struct Asked {
    transaction: u32,
    client: SocketAddr,
    /// Which address was asked.
    at: Option<IpAddr>,
}

struct Answer {
    bytes: Range<usize>,
    to: SocketAddr,
    from: Option<IpAddr>,
}

impl UdpDoor {
    pub(crate) fn new(socket: std::net::UdpSocket) -> io::Result<Self> {
        let address = socket.local_addr()?;
        let is_any = address.ip().is_unspecified();
        let state = if is_any {
            UdpSocketState::new(UdpSockRef::from(&socket))?
        } else {
            // What this sets has the system tell with each datagram what nobody needs here; so it
            // is set on another socket.
            let other = std::net::UdpSocket::bind(SocketAddr::new(address.ip(), 0))?;
            socket.set_nonblocking(true)?;
            UdpSocketState::new(UdpSockRef::from(&other))?
        };
        if address.is_ipv4() {
            // What may not be cut on its way needs no number to be put together by, and the
            // system need not find one. One that can't be told this serves all the same.
            let _ = set_ip_mtu_discover(&socket, Ipv4PathMtuDiscovery::PROBE);
        }
        Ok(Self {
            socket: mio::net::UdpSocket::from_std(socket),
            state,
            is_v6: address.is_ipv6(),
            is_any,
            received: vec![0; BATCH * DATAGRAM_BYTES],
            announces: Vec::new(),
            asked: Vec::new(),
            out: Vec::new(),
            answers: Vec::new(),
            before: Vec::new(),
        })
    }

    /// Takes what has come and makes answers; whether there may be more.
    pub(crate) fn take(&mut self, service: &Service, now: Now, desk: &mut Desk) -> bool {
        let mut metas = [RecvMeta::default(); BATCH];
        let mut received = std::mem::take(&mut self.received);
        let mut has_more = true;
        for _ in 0..TURN_BATCHES {
            let mut chunks = received.chunks_exact_mut(DATAGRAM_BYTES);
            let mut buffers: [IoSliceMut<'_>; BATCH] =
                std::array::from_fn(|_| IoSliceMut::new(chunks.next().unwrap_or_default()));
            let socket = UdpSockRef::from(&self.socket);
            let count = match self.state.recv(socket, &mut buffers, &mut metas) {
                Ok(count) => count,
                // What came back of an answer to somebody who is gone.
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => continue,
                Err(_) => {
                    has_more = false;
                    break;
                }
            };
            for (bytes, meta) in received.chunks_exact(DATAGRAM_BYTES).zip(&metas[..count]) {
                let joined = &bytes[..meta.len.min(DATAGRAM_BYTES)];
                for datagram in joined.chunks(meta.stride.max(1)) {
                    self.hear(datagram, meta, service, now);
                }
            }
            self.answer_announces(service, now, desk);
            // Of what comes from now on the system tells.
            if count < BATCH {
                has_more = false;
                break;
            }
        }
        self.received = received;
        has_more
    }

    /// Answers a datagram, if it deserves that; but announces of one call are answered together.
    fn hear(&mut self, datagram: &[u8], meta: &RecvMeta, service: &Service, now: Now) {
        let begin = self.out.len();
        let client = meta.addr;
        if let Some((head, announce)) = reply(datagram, client, service, now, &mut self.out) {
            self.announces.push(announce);
            self.asked.push(Asked { transaction: head.transaction, client, at: meta.dst_ip });
        }
        self.keep_answer(begin, client, meta.dst_ip);
    }

    fn answer_announces(&mut self, service: &Service, now: Now, desk: &mut Desk) {
        service.heart.foresee(&self.announces);
        let mut announces = std::mem::take(&mut self.announces);
        for (at, announce) in announces.drain(..).enumerate() {
            let asked = self.asked[at];
            let begin = self.out.len();
            answer_announce(asked, announce, self.is_v6, service, now, desk, &mut self.out);
            self.keep_answer(begin, asked.client, asked.at);
        }
        self.announces = announces;
        self.asked.clear();
    }

    /// What was appended since `begin` is an answer, if anything was.
    fn keep_answer(&mut self, begin: usize, to: SocketAddr, asked: Option<IpAddr>) {
        if self.out.len() > begin {
            let from = asked.filter(|_| self.is_any);
            self.answers.push(Answer { bytes: begin..self.out.len(), to, from });
        }
    }

    pub(crate) fn has_answers(&self) -> bool {
        !self.answers.is_empty()
    }

    /// Whether nobody loses who has to wait: few ask, and none of them as soon as they had their
    /// answer.
    pub(crate) fn may_rest(&mut self) -> bool {
        if self.answers.is_empty() {
            return true;
        }
        let few = self.answers.iter().take(FEW).map(|answer| answer.to);
        let is_again = few.clone().any(|client| self.before.contains(&client));
        self.before.clear();
        self.before.extend(few);
        self.answers.len() < FEW && !is_again
    }

    /// Sends the answers. What the system has no room for is lost, as on the way.
    pub(crate) fn send(&mut self, service: &Service) {
        for answers in self.answers.chunks(BATCH) {
            let unsent = match self.is_any {
                true => self.send_each(answers),
                false => send_batch(&self.socket, &self.out, answers),
            };
            service.counters.udp_unsent.add(unsent as u64);
        }
        self.answers.clear();
        self.out.clear();
    }

    /// Each from the address that was asked; how many could not be sent.
    fn send_each(&self, answers: &[Answer]) -> usize {
        let send = |answer: &&Answer| {
            let contents = &self.out[answer.bytes.clone()];
            let (destination, src_ip) = (answer.to, answer.from);
            let transmit =
                Transmit { destination, ecn: None, contents, segment_size: None, src_ip };
            self.state.try_send(UdpSockRef::from(&self.socket), &transmit).is_err()
        };
        answers.iter().filter(send).count()
    }
}

/// All in one call, if the system takes them; how many could not be sent.
fn send_batch(socket: &mio::net::UdpSocket, out: &[u8], answers: &[Answer]) -> usize {
    let addresses: [SocketAddrAny; BATCH] =
        std::array::from_fn(|at| answers.get(at).map_or(NOBODY, |answer| answer.to).into());
    let slices: [[IoSlice<'_>; 1]; BATCH] = std::array::from_fn(|at| {
        [IoSlice::new(answers.get(at).map_or(&[], |answer| &out[answer.bytes.clone()]))]
    });
    let mut controls: [SendAncillaryBuffer<'_, '_, '_>; BATCH] = Default::default();
    let parts = addresses.iter().zip(&slices).zip(&mut controls).take(answers.len());
    let mut messages: Vec<MMsgHdr<'_>> = parts
        .map(|((address, slice), control)| MMsgHdr::new_with_addr(address, slice, control))
        .collect();
    let (mut sent, mut unsent) = (0, 0);
    while sent < messages.len() {
        match sendmmsg(socket, &mut messages[sent..], SendFlags::empty()) {
            Ok(0) => return unsent + messages.len() - sent,
            Ok(count) => sent += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return unsent + messages.len() - sent,
            // This one can't be sent at all.
            Err(_) => {
                sent += 1;
                unsent += 1;
            }
        }
    }
    unsent
}

/// Appends the answer to a datagram, if it deserves one; an announce is given back.
fn reply(
    datagram: &[u8],
    client: SocketAddr,
    service: &Service,
    now: Now,
    out: &mut Vec<u8>,
) -> Option<(Head, Announce)> {
    let counters = &service.counters;
    let Some(head) = Head::read(datagram).filter(|_| client.port() != 0) else {
        counters.udp_noise.bump();
        return None;
    };
    let seconds = now.unix_seconds();
    if head.connects() {
        counters.udp_connects.bump();
        let id = service.ids.give(client, seconds);
        udp::put_connect(out, head.transaction, id);
        return None;
    }
    if !service.ids.is_good(head.connection, client, seconds) {
        // Shorter than any announce, and so no use to who speaks in another's name.
        counters.udp_unproved.bump();
        udp::put_error(out, head.transaction, "connect again");
        return None;
    }
    match head.request(datagram) {
        Request::Announce(announce) => return Some((head, announce)),
        Request::Scrape(hashes) => {
            answer_scrape(&head, hashes, client.ip(), service, now, out);
        }
        Request::Wrong(wrong) => {
            counters.malformed.bump();
            udp::put_error(out, head.transaction, &wrong.to_string());
        }
        Request::Connect => {}
    }
    None
}

fn answer_announce(
    asked: Asked,
    mut announce: Announce,
    is_v6: bool,
    service: &Service,
    now: Now,
    desk: &mut Desk,
    out: &mut Vec<u8>,
) {
    let Asked { transaction, client, .. } = asked;
    let peer_bytes = if is_v6 { 18 } else { 6 };
    let fitting = (ANSWER_BYTES_MAX - ANSWER_HEAD_BYTES) / peer_bytes;
    announce.peers_wanted = announce.peers_wanted.map(|wanted| wanted.min(fitting as u32));
    desk.clear(false, Some(is_v6));
    match service.heart.announce(&announce, client.ip().to_canonical(), now, &mut desk.peers) {
        Ok(told) => {
            service.counters.udp_announces.bump();
            desk.peers.v4.truncate(fitting * 6);
            desk.peers.v6.truncate(fitting * 18);
            udp::put_announce(out, transaction, &told, &desk.peers, is_v6);
        }
        Err(refusal) => {
            service.counters.refused.bump();
            udp::put_error(out, transaction, &refusal.to_string());
        }
    }
}

fn answer_scrape(
    head: &Head,
    hashes: &[u8],
    from: IpAddr,
    service: &Service,
    now: Now,
    out: &mut Vec<u8>,
) {
    let rules = service.rules();
    // A scrape over UDP can't show a passkey.
    let mut hashes = hashes.chunks_exact(20).filter_map(|hash| hash.try_into().ok()).map(InfoHash);
    let first = hashes.clone().next().unwrap_or(InfoHash([0; 20]));
    if let Some((why, _)) = service.why_no_scrape(&rules, None, &first) {
        service.counters.refused.bump();
        return udp::put_error(out, head.transaction, why);
    }
    service.counters.scrapes.bump();
    service.heart.note_scrape(None, &first, from.to_canonical(), now);
    udp::put_scrape(out, head.transaction);
    for hash in hashes.by_ref().take(rules.scrape_torrents_max) {
        let counts = service.heart.scrape(&hash).unwrap_or_default();
        udp::put_counts(out, &counts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_no_rest_where_many_ask_or_one_who_just_had_an_answer() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
        let mut door = UdpDoor::new(socket).expect("a socket of ours");
        let mut may_rest = |ports: std::ops::Range<u16>| {
            door.answers = ports
                .map(|port| Answer { bytes: 0..0, to: ([192, 0, 2, 1], port).into(), from: None })
                .collect();
            door.may_rest()
        };
        let few = FEW as u16;
        for (ports, expected) in [
            (1..3, true),
            (3..4, true),
            // Nothing came here, but to another socket.
            (0..0, true),
            (3..4, false),
            (4..5, true),
            (10..10 + few, false),
            (10 + few..9 + 2 * few, true),
        ] {
            assert_eq!(may_rest(ports.clone()), expected, "{ports:?}");
        }
    }
}
