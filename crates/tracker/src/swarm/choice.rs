//! Which peers an announce is told of.
//!
//! Each kind is drawn uniformly and without replacement, at a cost of the number drawn: the
//! beginning of a Fisher–Yates shuffle, or of many by throwing again what was drawn before. Who takes
//! is told of givers first, but of some takers too, so that takers also find each other; who
//! gives is told of takers alone. An asker's own sessions are left out.

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
    givers: Shuffle,
    takers: Shuffle,
    ids_v6: Vec<PeerId>,
}

impl Chooser {
    pub(crate) fn new(dice: Dice) -> Self {
        let (givers, takers) = (Shuffle::default(), Shuffle::default());
        Self { dice, givers, takers, ids_v6: Vec::new() }
    }

    /// Fills an answer to who gives or takes.
    pub(crate) fn choose(
        &mut self,
        swarm: &Swarm,
        packing: &Packing,
        asker: Asker,
        kind: Kind,
        wanted: usize,
        peers: &mut Peers,
    ) {
        let wanted = wanted.min(PEERS_MAX);
        let Self { dice, givers, takers, ids_v6 } = self;
        let mut hand = Hand { swarm, packing, asker, left: wanted, dice, peers, ids_v6 };
        takers.begin(swarm.len(Kind::Taking), wanted);
        if kind == Kind::Giving {
            hand.draw(Kind::Taking, takers, wanted);
        } else {
            givers.begin(swarm.len(Kind::Giving), wanted);
            hand.draw(Kind::Giving, givers, (wanted * GIVERS_OF_FOUR).div_ceil(4));
            let rest = hand.left;
            hand.draw(Kind::Taking, takers, rest);
            // Where takers were too few, the shuffle of the givers goes on.
            let rest = hand.left;
            hand.draw(Kind::Giving, givers, rest);
        }
        peers.ids.append(ids_v6);
    }
}

struct Hand<'a> {
    swarm: &'a Swarm,
    packing: &'a Packing,
    asker: Asker,
    left: usize,
    dice: &'a mut Dice,
    peers: &'a mut Peers,
    ids_v6: &'a mut Vec<PeerId>,
}

impl Hand<'_> {
    /// Draws until `wanted` are told, none is left, or too many were of no use.
    fn draw(&mut self, kind: Kind, shuffle: &mut Shuffle, wanted: usize) {
        let (mut told, mut rounds) = (0, 0);
        // Who is looked at is drawn first, read then and told last: so reads from all over a
        // large swarm don't wait for each other.
        let (mut drawn, mut hot) = ([0; DRAWN], [[0; HOT_BYTES]; DRAWN]);
        while told < wanted && rounds < 4 + 4 * wanted / DRAWN {
            rounds += 1;
            let count = (wanted - told).min(DRAWN);
            let found = shuffle.draw(self.dice, &mut drawn[..count]);
            self.swarm.hot_of(kind, &drawn[..found], &mut hot[..found]);
            told += self.tell(kind, &drawn[..found], &hot[..found]);
            if found < count {
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
            if user_asks == Some(user(row)) {
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
    drawn: u32,
    /// All numbers, if there are few: those that were drawn, and the rest.
    plain: Vec<u32>,
    /// Of many, those that were drawn, each plus one: open addressing, half empty at least.
    seen: Vec<u32>,
}

impl Shuffle {
    /// Begins anew; about as many as are wanted will be drawn.
    fn begin(&mut self, len: usize, wanted: usize) {
        (self.len, self.drawn) = (len as u32, 0);
        self.plain.clear();
        self.seen.clear();
        if len <= PLAIN_MAX {
            self.plain.extend(0..len as u32);
        } else {
            self.seen.resize((2 * wanted + 2 * DRAWN).next_power_of_two(), 0);
        }
    }

    /// Fills places with numbers that were not drawn yet, and says how many there are.
    fn draw(&mut self, dice: &mut Dice, places: &mut [u32]) -> usize {
        let left = self.len - self.drawn;
        let count = places.len().min(left as usize);
        let places = &mut places[..count];
        if self.len as usize > PLAIN_MAX {
            places.iter_mut().for_each(|place| *place = self.next(dice));
            return count;
        }
        let (from, are_all) = (self.drawn as usize, count as u32 == left);
        for at in from..from + count {
            // Of those that are all told none is more likely than another.
            if !are_all {
                self.plain.swap(at, at + dice.below(self.len - at as u32) as usize);
            }
        }
        places.copy_from_slice(&self.plain[from..from + count]);
        self.drawn += count as u32;
        count
    }

    /// One of many that was not drawn yet: what was is thrown again. Few are drawn of many, so
    /// this is seldom.
    fn next(&mut self, dice: &mut Dice) -> u32 {
        if (self.drawn as usize + 1) * 2 > self.seen.len() {
            let seen = vec![0; self.seen.len() * 2];
            for number in std::mem::replace(&mut self.seen, seen).into_iter().filter(|at| *at > 0) {
                self.see(number);
            }
        }
        loop {
            let number = dice.below(self.len);
            if self.see(number + 1) {
                self.drawn += 1;
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
