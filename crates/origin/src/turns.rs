//! Turns: who is next where only so many may go at once, by address.
//!
//! Visitors' addresses take turns; within one address it is first come, first served. So
//! somebody who waits a hundred times waits for themselves, and for others once a round.
//! Invariants: 1. nobody waits while a turn is free. 2. a turn is free again when its holder
//! is dropped. 3. who gives up leaves nothing behind.
//! Bound: whoever calls [`Turns::take`] bounds how many wait.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use base::network::Block;
use parking_lot::Mutex;
use tokio::sync::oneshot;

/// So many at once, and those who wait.
pub(crate) struct Turns {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    free: usize,
    /// The addresses that wait, who is next first; each stands here once.
    ring: VecDeque<Block>,
    lines: HashMap<Block, VecDeque<Ticket>>,
    tickets: u64,
}

/// Somebody who waits.
struct Ticket {
    number: u64,
    call: oneshot::Sender<Turn>,
}

/// The right to go; it passes on when this is dropped.
pub(crate) struct Turn {
    /// None: somebody else has it now.
    turns: Option<Arc<Turns>>,
}

/// A place in a line, left when this is dropped.
struct Place<'a> {
    turns: &'a Turns,
    whom: Block,
    number: u64,
}

impl Turns {
    /// So many at once.
    pub(crate) fn new(free: usize) -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(State { free, ..State::default() }) })
    }

    /// A turn, if one is free.
    pub(crate) fn try_take(self: &Arc<Self>) -> Option<Turn> {
        let mut state = self.state.lock();
        state.free = state.free.checked_sub(1)?;
        Some(Turn { turns: Some(self.clone()) })
    }

    /// A turn as soon as it is this address's.
    pub(crate) async fn take(self: &Arc<Self>, whom: Block) -> Turn {
        loop {
            if let Some(turn) = self.try_take() {
                return turn;
            }
            let Some((number, called)) = self.enter(whom) else { continue };
            let _place = Place { turns: self, whom, number };
            if let Ok(turn) = called.await {
                return turn;
            }
        }
    }

    /// A place at the end of this address's line; none if a turn has become free meanwhile.
    fn enter(&self, whom: Block) -> Option<(u64, oneshot::Receiver<Turn>)> {
        let (call, called) = oneshot::channel();
        let state = &mut *self.state.lock();
        if state.free > 0 {
            return None;
        }
        state.tickets += 1;
        let number = state.tickets;
        let line = state.lines.entry(whom).or_default();
        if line.is_empty() {
            state.ring.push_back(whom);
        }
        line.push_back(Ticket { number, call });
        Some((number, called))
    }

    /// How many are free.
    pub(crate) fn free(&self) -> usize {
        self.state.lock().free
    }

    /// Gives a turn to who is next.
    fn pass_on(self: &Arc<Self>) {
        loop {
            // Nobody is called while the lock is held.
            let next = self.state.lock().next();
            let Some(ticket) = next else { return };
            match ticket.call.send(Turn { turns: Some(self.clone()) }) {
                Ok(()) => return,
                // Gave up at this moment: the turn stays in hand, and goes to the next.
                Err(mut turn) => turn.turns = None,
            }
        }
    }
}

impl State {
    /// Who is next; if nobody is, the turn is free.
    fn next(&mut self) -> Option<Ticket> {
        let Some(whom) = self.ring.pop_front() else {
            self.free += 1;
            return None;
        };
        let line = self.lines.get_mut(&whom)?;
        let ticket = line.pop_front();
        if line.is_empty() {
            self.lines.remove(&whom);
        } else {
            self.ring.push_back(whom);
        }
        ticket
    }

    fn leave(&mut self, whom: Block, number: u64) {
        let Some(line) = self.lines.get_mut(&whom) else { return };
        let Ok(at) = line.binary_search_by_key(&number, |ticket| ticket.number) else { return };
        line.remove(at);
        if line.is_empty() {
            self.lines.remove(&whom);
            self.ring.retain(|&waiting| waiting != whom);
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(turns) = self.turns.take() {
            turns.pass_on();
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.turns.state.lock().leave(self.whom, self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use futures_util::FutureExt;
    use futures_util::future::BoxFuture;

    use super::*;

    fn block(letter: char) -> Block {
        Block::of(IpAddr::V4(Ipv4Addr::from_bits(letter.into())))
    }

    /// Everybody in `waiting` waits for one turn, in this order; who gets it, one after the
    /// other, if those at `given_up` don't wait that long.
    fn order(waiting: &str, given_up: &[usize]) -> String {
        let turns = Turns::new(1);
        let mut held = turns.try_take();
        let mut waiters: Vec<Option<(char, BoxFuture<'_, Turn>)>> = Vec::new();
        for letter in waiting.chars() {
            let mut wait = turns.take(block(letter)).boxed();
            assert!((&mut wait).now_or_never().is_none(), "the turn is taken");
            waiters.push(Some((letter, wait)));
        }
        given_up.iter().for_each(|&at| waiters[at] = None);
        let mut order = String::new();
        while held.take().is_some() {
            for waiter in &mut waiters {
                if let Some((letter, wait)) = waiter
                    && let Some(turn) = wait.now_or_never()
                {
                    assert!(held.is_none(), "two go at once");
                    held = Some(turn);
                    order.push(*letter);
                    *waiter = None;
                }
            }
        }
        assert_eq!(turns.free(), 1);
        let state = turns.state.lock();
        assert!(state.ring.is_empty() && state.lines.is_empty(), "somebody was left behind");
        drop(state);
        order
    }

    #[test]
    fn addresses_take_turns_and_each_is_served_in_order() {
        for (waiting, given_up, expected) in [
            ("", &[][..], ""),
            ("aaa", &[], "aaa"),
            ("aaaab", &[], "abaaa"),
            ("aaabbc", &[], "abcaba"),
            ("aaab", &[0, 1, 2], "b"),
            ("aaab", &[3], "aaa"),
            ("abab", &[0], "abb"),
        ] {
            assert_eq!(order(waiting, given_up), expected, "{waiting} {given_up:?}");
        }
    }

    #[test]
    fn a_turn_that_was_given_to_who_leaves_goes_on() {
        let turns = Turns::new(1);
        let held = turns.try_take();
        let mut first = turns.take(block('a')).boxed();
        let mut second = turns.take(block('b')).boxed();
        assert!((&mut first).now_or_never().is_none() && (&mut second).now_or_never().is_none());
        drop(held);
        // It has the turn already, and never learns of it.
        drop(first);
        assert!(second.now_or_never().is_some());
        assert_eq!(turns.free(), 1);
    }
}
