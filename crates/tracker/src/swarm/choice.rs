//! Which peers an announce is told of.
//!
//! Each kind is drawn uniformly and without replacement, at a cost of the number drawn: the
//! beginning of a Fisher–Yates shuffle, or of many by throwing again what was drawn before. Who takes
//! is told of givers first, but of some takers too, so that takers also find each other; who
//! gives is told of takers alone. An asker's own sessions are left out.
//!
//! What is drawn lies all over a large swarm, and memory is slow. So whoever asks has it drawn
//! early ([`Chooser::begin`]), which has it fetched, and told when all else is known
//! ([`Chooser::tell`]); in between the swarm mustn't change.

use wire::tracker::{PeerId, Peers};

use super::{Place, Swarm};
use crate::dice::Dice;
use crate::session::{HOT_BYTES, Kind, Packing, only_v4, user};

/// Peers in one answer at most, whatever the rules say.
pub(crate) const PEERS_MAX: usize = 500;
/// Peers that are drawn before they are looked at.
const DRAWN: usize = 64;
/// Bytes of a peer by IPv4.
const V4_BYTES: usize = 6;
/// Of four peers for who takes, so many give, if there are enough of both.
const GIVERS_OF_FOUR: usize = 3;

/// Who asks, for what is left out.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Asker {
    /// A user of a private tracker.
    User(u32),
    /// A client of an open one: what is found where it is, is itself.
    At(Option<[u8; 6]>, Option<[u8; 18]>),
}

/// Chooses, and keeps what it needs for that, so that no announce allocates.
#[derive(Debug)]
pub(crate) struct Chooser {
    dice: Dice,
    kind: Kind,
    wanted: usize,
    givers: Shuffle,
    takers: Shuffle,
    ids_v6: Vec<PeerId>,
}

impl Chooser {
    pub(crate) fn new(dice: Dice) -> Self {
        let (givers, takers) = (Shuffle::default(), Shuffle::default());
        Self { dice, kind: Kind::Taking, wanted: 0, givers, takers, ids_v6: Vec::new() }
    }

    /// Draws for who gives or takes.
    pub(crate) fn begin(&mut self, swarm: &Swarm, kind: Kind, wanted: usize) {
        (self.kind, self.wanted) = (kind, wanted.min(PEERS_MAX));
        let Self { dice, givers, takers, wanted, .. } = self;
        let (wanted, mut of_givers) = (*wanted, 0);
        if kind == Kind::Taking {
            of_givers = givers_of(wanted);
            givers.begin(swarm.len(Kind::Giving), wanted);
            givers.draw(of_givers.min(DRAWN), dice, |at| swarm.fetch(Kind::Giving, at));
        }
        takers.begin(swarm.len(Kind::Taking), wanted);
        takers.draw((wanted - of_givers).min(DRAWN), dice, |at| swarm.fetch(Kind::Taking, at));
    }

    /// Fills the answer to who asks, whose session may be at `own`.
    pub(crate) fn tell(
        &mut self,
        swarm: &Swarm,
        packing: &Packing,
        asker: Asker,
        own: Option<Place>,
        peers: &mut Peers,
    ) {
        let Self { dice, kind, wanted, givers, takers, ids_v6 } = self;
        let wanted = *wanted;
        let mut hand = Hand { swarm, packing, asker, own, left: wanted, dice, peers, ids_v6 };
        if *kind == Kind::Giving {
            hand.draw(Kind::Taking, takers, wanted);
        } else {
            hand.draw(Kind::Giving, givers, givers_of(wanted));
            let rest = hand.left;
            hand.draw(Kind::Taking, takers, rest);
            // Where takers were too few, the shuffle of the givers goes on.
            let rest = hand.left;
            hand.draw(Kind::Giving, givers, rest);
        }
        peers.ids.append(ids_v6);
    }
}

/// Of so many peers for who takes, so many give, if there are enough of both.
fn givers_of(wanted: usize) -> usize {
    (wanted * GIVERS_OF_FOUR).div_ceil(4)
}

struct Hand<'a> {
    swarm: &'a Swarm,
    packing: &'a Packing,
    asker: Asker,
    own: Option<Place>,
    left: usize,
    dice: &'a mut Dice,
    peers: &'a mut Peers,
    ids_v6: &'a mut Vec<PeerId>,
}

impl Hand<'_> {
    /// Draws until `wanted` are told, none is left, or too many were of no use.
    fn draw(&mut self, kind: Kind, shuffle: &mut Shuffle, wanted: usize) {
        let (mut told, mut rounds) = (0, 0);
        let mut hot = [[0; HOT_BYTES]; DRAWN];
        while told < wanted && rounds < 4 + 4 * wanted / DRAWN {
            rounds += 1;
            let count = (wanted - told).min(DRAWN);
            shuffle.draw(count, self.dice, |at| self.swarm.fetch(kind, at));
            let places = shuffle.take(count);
            // All are read before the first is looked at, so no read waits for another.
            let hot = &mut hot[..places.len()];
            self.swarm.hot_of(kind, places, hot);
            hot.iter().for_each(|row| self.packing.fetch(row));
            told += self.tell(kind, places, hot);
            if places.len() < count {
                break;
            }
        }
        self.left -= told;
    }

    /// Tells of sessions; of how many.
    fn tell(&mut self, kind: Kind, places: &[u32], rows: &[[u8; HOT_BYTES]]) -> usize {
        let (user_asks, own_v4) = match self.asker {
            Asker::User(asker) => (Some(asker), None),
            Asker::At(own_v4, _) => {
                (None, own_v4.map(|[a, b, c, d, e, f]| [a, b, c, d, e, f, 0, 0]))
            }
        };
        let takes_v4_alone = !self.peers.with_ids && !self.peers.without_v4;
        let (mut told, mut told_v4) = (0, 0);
        // Each is written with the two bytes behind it, which the next one takes.
        let mut v4s = [0; DRAWN * V4_BYTES + 2];
        for (row, at) in rows.iter().zip(places) {
            if user_asks == Some(user(row)) || self.own == Some(Place { kind, at: *at }) {
                continue;
            }
            // Nearly all that there are.
            if takes_v4_alone && let Some(v4) = only_v4(row) {
                if own_v4 != Some(v4) {
                    v4s[told_v4..told_v4 + v4.len()].copy_from_slice(&v4);
                    told_v4 += V4_BYTES;
                }
                continue;
            }
            told += usize::from(self.tell_all(row, Place { kind, at: *at }));
        }
        self.peers.v4.extend_from_slice(&v4s[..told_v4]);
        told + told_v4 / V4_BYTES
    }

    fn tell_all(&mut self, row: &[u8; HOT_BYTES], place: Place) -> bool {
        let (v4, v6) = self.packing.addresses(row);
        if let Asker::At(own_v4, own_v6) = self.asker
            && ((v4.is_some() && v4 == own_v4) || (v6.is_some() && v6 == own_v6))
        {
            return false;
        }
        let (v4, v6) =
            (v4.filter(|_| !self.peers.without_v4), v6.filter(|_| !self.peers.without_v6));
        if self.peers.with_ids && (v4.is_some() || v6.is_some()) {
            let peer_id = self.packing.peer_id(&self.swarm.record(place));
            self.peers.ids.extend(v4.map(|_| peer_id));
            self.ids_v6.extend(v6.map(|_| peer_id));
        }
        if let Some(v4) = &v4 {
            self.peers.v4.extend_from_slice(v4);
        }
        if let Some(v6) = &v6 {
            self.peers.v6.extend_from_slice(v6);
        }
        v4.is_some() || v6.is_some()
    }
}

/// Numbers up to which a shuffle has them all before it.
const PLAIN_MAX: usize = 256;

/// A shuffle of the numbers below `len`, as far as it is asked for.
#[derive(Debug, Default)]
struct Shuffle {
    len: u32,
    /// What was drawn; behind it the rest, if there are few numbers in all.
    numbers: Vec<u32>,
    drawn: usize,
    taken: usize,
    /// Of many, those that were drawn, each plus one: open addressing, half empty at least.
    seen: Vec<u32>,
}

impl Shuffle {
    /// Begins anew; about as many as are wanted will be drawn.
    fn begin(&mut self, len: usize, wanted: usize) {
        self.len = len as u32;
        (self.drawn, self.taken) = (0, 0);
        self.numbers.clear();
        self.seen.clear();
        if len <= PLAIN_MAX {
            self.numbers.extend(0..len as u32);
        } else {
            self.seen.resize((2 * wanted + 2 * DRAWN).next_power_of_two(), 0);
        }
    }

    /// Draws until so many can be taken, or all are drawn. Calls for each, as it is drawn.
    fn draw(&mut self, count: usize, dice: &mut Dice, drawn: impl Fn(u32)) {
        let end = (self.taken + count).min(self.len as usize);
        // Of those that are all told none is more likely than another.
        let are_all = end == self.len as usize && self.len as usize <= PLAIN_MAX;
        while self.drawn < end {
            let number = match self.len as usize > PLAIN_MAX {
                true => self.next(dice),
                false if are_all => self.numbers[self.drawn],
                false => {
                    let left = self.len - self.drawn as u32;
                    self.numbers.swap(self.drawn, self.drawn + dice.below(left) as usize);
                    self.numbers[self.drawn]
                }
            };
            self.drawn += 1;
            drawn(number);
        }
    }

    /// What was drawn and not taken yet, so many at most.
    fn take(&mut self, count: usize) -> &[u32] {
        let from = self.taken;
        self.taken = (from + count).min(self.drawn);
        &self.numbers[from..self.taken]
    }

    /// One of many that was not drawn yet: what was is thrown again. Few are drawn of many, so
    /// this is seldom.
    fn next(&mut self, dice: &mut Dice) -> u32 {
        if (self.drawn + 1) * 2 > self.seen.len() {
            let seen = vec![0; self.seen.len() * 2];
            for number in std::mem::replace(&mut self.seen, seen).into_iter().filter(|at| *at > 0) {
                self.see(number);
            }
        }
        loop {
            let number = dice.below(self.len);
            if self.see(number + 1) {
                self.numbers.push(number);
                return number;
            }
        }
    }

    /// True if it was not seen before. Numbers are random already.
    fn see(&mut self, number: u32) -> bool {
        let mask = self.seen.len() - 1;
        let mut slot = number as usize & mask;
        while self.seen[slot] != 0 && self.seen[slot] != number {
            slot = (slot + 1) & mask;
        }
        std::mem::replace(&mut self.seen[slot], number) == 0
    }
}
