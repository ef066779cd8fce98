//! A user's client that begins, does something and stops, again and again, and knows what it is
//! owed for what was answered.

use std::time::Instant;

use crate::served::Tables;
use crate::wick::PATIENCE;

pub(crate) const USERS: u32 = 4;
pub(crate) const TABLE: &str = "mode = \"private\"\nflush = \"1s\"";
/// Announces of a session between its first and its last.
const UPDATES: u64 = 3;

/// The users and their passkeys.
pub(crate) fn users() -> Vec<(u32, String)> {
    (1..=USERS).map(|user| (user, passkey(user))).collect()
}

fn passkey(user: u32) -> String {
    format!("passkey{user:024}")
}

/// What credits come to within a bound: those that are owed, or what is wrong.
pub(crate) fn credited(tables: &Tables, clients: &[Client]) -> Vec<(u64, u64)> {
    let found = || clients.iter().map(|client| tables.credit(client.user)).collect::<Vec<_>>();
    let bound = Instant::now() + PATIENCE;
    while found() != owed(clients) && Instant::now() < bound {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    found()
}

/// What clients are owed: bytes sent, bytes taken.
pub(crate) fn owed(clients: &[Client]) -> Vec<(u64, u64)> {
    clients.iter().map(|client| client.credited).collect()
}

/// One user's client, which is always somewhere in a session.
pub(crate) struct Client {
    user: u32,
    /// Sessions that it ended, and announces of this one that were answered.
    sessions: u32,
    answered: u64,
    /// Counters of this session as last answered.
    told: [u64; 2],
    /// What all that was answered is worth.
    credited: (u64, u64),
}

impl Client {
    pub(crate) fn new(user: u32) -> Self {
        Self { user, sessions: 0, answered: 0, told: [0; 2], credited: (0, 0) }
    }

    /// The next announce: the same until it is answered.
    fn next(&self) -> ([u64; 2], &'static str) {
        // What is said at each place in a story is always the same.
        let seed = u64::from(self.user) << 40 | u64::from(self.sessions) << 8 | self.answered;
        let dice = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
        let more = [dice, dice % 1_000_003];
        match self.answered {
            0 => ([dice % 1000, 0], "started"),
            number if number <= UPDATES => (add(self.told, more), "started"),
            _ => (add(self.told, more), "stopped"),
        }
    }

    pub(crate) fn target(&self) -> String {
        let ([uploaded, downloaded], event) = self.next();
        format!(
            "/{}/announce?info_hash={}&peer_id=-TR4040-{:04}{:08}&port={}&uploaded={uploaded}\
             &downloaded={downloaded}&left=9&numwant=0&event={event}",
            passkey(self.user),
            "h".repeat(20),
            self.user,
            self.sessions,
            10_000 + self.user
        )
    }

    /// What it said last was answered.
    pub(crate) fn is_answered(&mut self) {
        let (counters, event) = self.next();
        if self.answered > 0 {
            self.credited.0 += counters[0] - self.told[0];
            self.credited.1 += counters[1] - self.told[1];
        }
        (self.told, self.answered) = (counters, self.answered + 1);
        if event == "stopped" {
            (self.sessions, self.answered, self.told) = (self.sessions + 1, 0, [0; 2]);
        }
    }
}

fn add(one: [u64; 2], other: [u64; 2]) -> [u64; 2] {
    [one[0] + other[0], one[1] + other[1]]
}
