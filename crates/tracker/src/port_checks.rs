//! Port checks: whether somebody from outside can connect to a client (TCP), where the rules
//! want to know.
//!
//! Announces ask for a check; the tick begins those that wait, a bounded number at a time, and
//! sees which were answered. Nobody waits for one. Invariant: the tracker knocks nowhere but
//! where an announce came from, or it could be sent to knock at anybody's door.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use parking_lot::Mutex;
use slab::Slab;
use wire::tracker::{InfoHash, PeerId};

/// Checks that wait; who finds no room is asked about at its next announce.
const WAITING_MAX: usize = 4096;
/// Checks at one time.
const OPEN_MAX: usize = 128;
/// How long a client has to answer.
const PATIENCE_MS: u64 = 4000;

/// Of which session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Check {
    pub(crate) info_hash: InfoHash,
    pub(crate) user: u32,
    pub(crate) peer_id: PeerId,
    pub(crate) address: SocketAddr,
}

/// All checks.
#[derive(Debug, Default)]
pub(crate) struct PortChecks {
    waiting: Mutex<VecDeque<Check>>,
    open: Mutex<Open>,
    /// Those that found no room.
    pub(crate) dropped: AtomicU64,
}

#[derive(Debug, Default)]
struct Open {
    /// None until the first.
    poll: Option<Poll>,
    running: Slab<Running>,
}

#[derive(Debug)]
struct Running {
    check: Check,
    stream: TcpStream,
    due_ticks_ms: u64,
}

impl PortChecks {
    /// Asks for a check.
    pub(crate) fn want(&self, check: Check) {
        let mut waiting = self.waiting.lock();
        if waiting.len() < WAITING_MAX {
            waiting.push_back(check);
        } else {
            self.dropped.fetch_add(1, Relaxed);
        }
    }

    /// Which checks are over, and whether somebody answered. Begins those that wait.
    pub(crate) fn turn(&self, ticks_ms: u64) -> Vec<(Check, bool)> {
        let mut open = self.open.lock();
        if open.running.is_empty() && self.waiting.lock().is_empty() {
            return Vec::new();
        }
        let mut over = open.answered();
        let late: Vec<usize> = open
            .running
            .iter()
            .filter(|(_, running)| running.due_ticks_ms <= ticks_ms)
            .map(|(at, _)| at)
            .collect();
        over.extend(late.into_iter().map(|at| (open.end(at), false)));
        while open.running.len() < OPEN_MAX {
            let Some(check) = self.waiting.lock().pop_front() else { break };
            over.extend(open.begin(check, ticks_ms).map(|is_open| (check, is_open)));
        }
        over
    }
}

impl Open {
    /// Knocks; says what came of it if that is known at once.
    fn begin(&mut self, check: Check, ticks_ms: u64) -> Option<bool> {
        let stream = TcpStream::connect(check.address);
        let mut stream = match stream {
            Ok(stream) => stream,
            Err(error) => return (error.kind() == ErrorKind::ConnectionRefused).then_some(false),
        };
        if self.poll.is_none() {
            self.poll = Poll::new().ok();
        }
        let entry = self.running.vacant_entry();
        let registry = self.poll.as_ref()?.registry();
        registry.register(&mut stream, Token(entry.key()), Interest::WRITABLE).ok()?;
        entry.insert(Running { check, stream, due_ticks_ms: ticks_ms + PATIENCE_MS });
        None
    }

    fn answered(&mut self) -> Vec<(Check, bool)> {
        let mut events = Events::with_capacity(OPEN_MAX);
        let Some(poll) = &mut self.poll else { return Vec::new() };
        if poll.poll(&mut events, Some(Duration::ZERO)).is_err() {
            return Vec::new();
        }
        let mut over = Vec::new();
        for event in &events {
            let Some(running) = self.running.get(event.token().0) else { continue };
            let has_failed = !matches!(running.stream.take_error(), Ok(None));
            let is_open = !has_failed && running.stream.peer_addr().is_ok();
            let is_still_on_its_way = !has_failed && !is_open;
            if !is_still_on_its_way {
                over.push((self.end(event.token().0), is_open));
            }
        }
        over
    }

    fn end(&mut self, at: usize) -> Check {
        // Closing takes it out of the poll.
        self.running.remove(at).check
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn who_listens_is_told_from_who_does_not() {
        let listens = TcpListener::bind("127.0.0.1:0").expect("a port");
        let closed = TcpListener::bind("127.0.0.1:0").expect("a port");
        let (open, shut) = (listens.local_addr(), closed.local_addr());
        drop(closed);
        let checks = PortChecks::default();
        let check = |address: std::io::Result<SocketAddr>| Check {
            info_hash: InfoHash([1; 20]),
            user: 1,
            peer_id: PeerId([1; 20]),
            address: address.expect("an address"),
        };
        let (open, shut) = (check(open), check(shut));
        checks.want(open);
        checks.want(shut);
        let mut over = Vec::new();
        while over.len() < 2 {
            over.extend(checks.turn(1));
            std::thread::yield_now();
        }
        over.sort_by_key(|(_, is_open)| *is_open);
        assert_eq!(over, [(shut, false), (open, true)]);
        assert_eq!(checks.turn(2), []);
    }

    #[test]
    fn what_waits_is_bounded_and_nobody_is_waited_for_too_long() {
        let checks = PortChecks::default();
        // Nobody accepts there: its queue is full after a few.
        let check = |port| Check {
            info_hash: InfoHash([1; 20]),
            user: 1,
            peer_id: PeerId([1; 20]),
            address: SocketAddr::from(([127, 0, 0, 1], port)),
        };
        (0..WAITING_MAX as u16 + 5).for_each(|port| checks.want(check(port + 1)));
        assert_eq!(checks.dropped.load(Relaxed), 5);
        let (mut over, mut at) = (0, 0);
        while over < WAITING_MAX && at < 100_000_000 {
            at += PATIENCE_MS;
            over += checks.turn(at).len();
            assert!(checks.open.lock().running.len() <= OPEN_MAX);
        }
        assert_eq!(over, WAITING_MAX, "each is answered, refused or given up");
    }
}
