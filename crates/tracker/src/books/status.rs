//! How the books stand, for commands, metrics and whoever watches: they never stop unseen.

use std::sync::Arc;

use base::complaint::complain;
use parking_lot::Mutex;
use serde::Serialize;

use super::link::Trouble;
use super::shared::Awaited;

/// How the books stand.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Status {
    /// What goes on.
    pub state: State,
    /// Why it isn't well, in a sentence.
    pub why: String,
    /// Unix seconds since when it hasn't been; 0 if it is.
    pub since: u32,
    /// The last batch that was written, and unix seconds of that.
    pub last_number: u64,
    /// When.
    pub last_written: u32,
    /// Batches written.
    pub batches: u64,
    /// Rows written.
    pub rows: u64,
    /// Batches that were found written after their acknowledgement was lost.
    pub found_written: u64,
    /// Attempts that failed, whatever the reason.
    pub failures: u64,
    /// Rows that the database refuses for what stands in them; bytes of theirs are not credited
    /// there.
    pub rows_refused: u64,
    /// The last of those, in words.
    pub last_refused: String,
    /// Rows without a user or torrent in the site's tables.
    pub rows_without_owner: u64,
    /// Announces that credited nothing, as what other trackers wrote about that time isn't kept any
    /// more.
    pub announces_too_late: u64,
    /// Of several trackers, who hasn't told for long what was announced to it.
    pub awaited: Option<Awaited>,
    /// Batches that the database once held and then no more.
    pub batches_forgotten: u64,
    /// Tables that keep no transactions, where a failure may lose or double a batch.
    pub loose_tables: Vec<String>,
    /// Rows of announces and scrapes that were written to the site's logs.
    pub log_rows: u64,
    /// Those that weren't: too many waited, or nobody knows what came of them.
    pub log_rows_left_out: u64,
    /// Why logs aren't written, in a sentence.
    pub log_why: String,
    /// Tables that may not be changed, where the contract can do without.
    pub unwritten_tables: Vec<String>,
    /// Torrents and users that were read.
    pub torrents: u64,
    /// Users.
    pub users: u64,
    /// Rows that can't be read: a hash that is none, a number that is too large.
    pub rows_unreadable: u64,
    /// Ranges of addresses, and beginnings of clients' names, that the site turns away.
    pub denied_addresses: u64,
    /// Beginnings.
    pub denied_clients: u64,
    /// Rows that say that a user takes for nothing.
    pub free: u64,
    /// How often all of both tables was looked at.
    pub looks: u64,
}

/// What is done with a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Credits go there.
    Writing,
    /// Torrents and users come from there.
    Reading,
}

/// What goes on, from good to bad.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// All is well.
    Good,
    /// The database wasn't reached yet.
    #[default]
    Starting,
    /// The database is away, or others are in the way; it is tried again.
    Waiting,
    /// The owner must do something; it is tried again.
    Refused,
}

/// A status that several hold.
#[derive(Clone, Debug, Default)]
pub struct Shared(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    /// But for what stands in `sides`.
    status: Status,
    /// Either may be well without the other.
    sides: [Health; 2],
}

/// How one side is.
#[derive(Debug, Default)]
struct Health {
    state: State,
    why: String,
    since: u32,
    /// The owner was told.
    is_told: bool,
}

impl Shared {
    /// As it stands now: as well as the worse of both sides.
    #[must_use]
    pub fn read(&self) -> Status {
        let inner = self.0.lock();
        let mut status = inner.status.clone();
        let [writing, reading] = &inner.sides;
        let worse = if reading.state > writing.state { reading } else { writing };
        (status.state, status.since) = (worse.state, worse.since);
        status.why.clone_from(&worse.why);
        status
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut Status)) {
        change(&mut self.0.lock().status);
    }

    /// Something was done.
    pub(crate) fn is_well(&self, side: Side) {
        let is_over = {
            let sides = &mut self.0.lock().sides;
            let good = Health { state: State::Good, ..Health::default() };
            let was = std::mem::replace(&mut sides[side as usize], good);
            was.is_told && !sides.iter().any(|side| side.is_told)
        };
        if is_over {
            complain("tracker: the database is read and written again; nothing was lost");
        }
    }

    /// Something failed. The owner is told when it begins, and when it becomes another failure;
    /// once, if it is the same with both sides.
    pub(crate) fn fails(&self, side: Side, trouble: &Trouble, unix_seconds: u32) {
        let state = if trouble.is_owners() { State::Refused } else { State::Waiting };
        let why = trouble.to_string();
        let is_news = {
            let inner = &mut *self.0.lock();
            inner.status.failures += 1;
            let is_known = |side: &Health| side.is_told && side.state == state;
            let is_others = inner.sides.iter().any(|other| is_known(other) && other.why == why);
            let health = &mut inner.sides[side as usize];
            // The words for one failure may differ a little each time.
            let is_news = !is_others && !is_known(health);
            // A deadlock is everyday.
            health.is_told |= !matches!(trouble, Trouble::Busy(_));
            if health.since == 0 {
                health.since = unix_seconds;
            }
            (health.state, health.why) = (state, why.clone());
            is_news && health.is_told
        };
        if is_news {
            complain(format_args!(
                "tracker: credits wait in memory and in the journal, and torrents and users are \
                 those read last, until this is over: {why}"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_side_that_is_well_hides_no_trouble_of_the_other() {
        let shared = Shared::default();
        let away = Trouble::Away("it can't be reached".to_owned());
        shared.fails(Side::Reading, &Trouble::Table("users".to_owned()), 7);
        shared.is_well(Side::Writing);
        let status = shared.read();
        assert_eq!((status.state, status.since), (State::Refused, 7));
        assert!(status.why.contains("`users`"), "{}", status.why);
        shared.fails(Side::Writing, &away, 8);
        shared.is_well(Side::Reading);
        assert_eq!((shared.read().state, shared.read().since), (State::Waiting, 8));
        shared.is_well(Side::Writing);
        assert_eq!((shared.read().state, shared.read().why.as_str()), (State::Good, ""));
    }
}
