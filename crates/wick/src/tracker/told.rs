//! How the tracker is at a moment, for the admin page, `/metrics` and `wick tracker status`.
//!
//! Invariant: numbers only; no user, no torrent, no passkey.

use base::Count;
use observe::metrics::Page;
use serde::{Serialize, Serializer};

use super::{Open, Tracking};

/// The tracker at one moment.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct TrackerNow {
    /// Sessions there are.
    pub(crate) peers: u64,
    pub(crate) seeders: u64,
    pub(crate) leechers: u64,
    pub(crate) torrents: u64,
    pub(crate) users: u64,
    pub(crate) announces: u64,
    pub(crate) announces_per_second: u64,
    /// Announces that other nodes told of, and own ones that they weren't told.
    pub(crate) heard: u64,
    pub(crate) untold: u64,
    /// What clients are told, in seconds.
    pub(crate) interval_seconds: u64,
    /// Refused announces by reason; only those that there were.
    #[serde(serialize_with = "by_reason")]
    pub(crate) refused: Vec<(&'static str, u64)>,
    /// Users with credits for a torrent that no batch has yet.
    pub(crate) credits_pending: u64,
    /// Batches that the database does not have yet.
    pub(crate) batches_behind: u64,
    /// Port checks that found no room; they are made at the next announce.
    pub(crate) port_checks_dropped: u64,
    /// Entries that the journal has not, because its disk can't be written: a kill loses them.
    pub(crate) journal_dropped: u64,
    /// Users and torrents whose figures honest clients don't tell, as of the last minute.
    pub(crate) suspect_users: u64,
    pub(crate) suspect_torrents: u64,
    #[serde(serialize_with = "by_name")]
    pub(crate) counters: Vec<Count>,
    /// Clients that are connected over WebSocket.
    pub(crate) web_connected: u64,
    /// How it stands with the database; none without one.
    pub(crate) books: Option<serde_json::Value>,
}

impl TrackerNow {
    /// Of a tracker; none before it is open.
    pub(crate) fn of(tracking: &Tracking) -> Option<Self> {
        tracking.open().map(|open| Self::of_open(&open))
    }

    pub(crate) fn of_open(open: &Open) -> Self {
        let status = open.tracker.status();
        let refused = status.refused.into_iter().filter(|(_, count)| *count > 0).collect();
        Self {
            peers: status.sessions as u64,
            seeders: status.complete,
            leechers: status.incomplete,
            torrents: status.torrents as u64,
            users: status.users as u64,
            announces: status.announces,
            announces_per_second: u64::from(status.announces_per_second),
            heard: status.heard,
            untold: status.untold,
            interval_seconds: u64::from(status.interval_seconds),
            refused,
            credits_pending: status.credits_pending as u64,
            batches_behind: status.batches_behind as u64,
            port_checks_dropped: status.port_checks_dropped,
            journal_dropped: status.journal_dropped,
            suspect_users: status.suspect_users as u64,
            suspect_torrents: status.suspect_torrents as u64,
            counters: open.service.counters().each().collect(),
            web_connected: open.service.web_connected() as u64,
            books: open.books.as_ref().map(super::Books::told),
        }
    }

    /// What there is to say of WebTorrent; nothing where nobody ever came by it.
    pub(crate) fn websocket(&self) -> Option<String> {
        let of = |name: &str| {
            let count = self.counters.iter().find(|count| count.name == name);
            count.map_or(0, |count| count.number)
        };
        (of("web_connections") > 0).then(|| {
            format!(
                "{} connected; {} offers and {} answers handed on, {} dropped",
                self.web_connected,
                of("web_offers"),
                of("web_answers"),
                of("web_dropped")
            )
        })
    }

    /// Puts it onto the page of numbers.
    pub(crate) fn put(&self, page: &mut Page) {
        for (name, help, number) in [
            ("wick_tracker_peers", "Sessions of BitTorrent clients.", self.peers),
            ("wick_tracker_seeders", "Of those, complete ones.", self.seeders),
            ("wick_tracker_leechers", "Of those, incomplete ones.", self.leechers),
            ("wick_tracker_torrents", "Torrents that are tracked.", self.torrents),
            ("wick_tracker_users", "Users with a passkey.", self.users),
            ("wick_tracker_interval_seconds", "What clients are told.", self.interval_seconds),
            (
                "wick_tracker_web_connected",
                "Clients that are connected over WebSocket.",
                self.web_connected,
            ),
            (
                "wick_tracker_credits_pending",
                "Users with credits for a torrent that no batch has yet.",
                self.credits_pending,
            ),
            (
                "wick_tracker_batches_behind",
                "Batches of credits that the database does not have yet.",
                self.batches_behind,
            ),
            (
                "wick_tracker_suspect_users",
                "Users whose uploads look invented, as of the last minute.",
                self.suspect_users,
            ),
            (
                "wick_tracker_suspect_torrents",
                "Torrents of which much more was sent than taken, as of the last minute.",
                self.suspect_torrents,
            ),
        ] {
            page.gauge(name, help, &[], Some(number));
        }
        for (name, help, number) in [
            ("wick_tracker_announces", "Announces since the start.", self.announces),
            ("wick_tracker_heard", "Announces that other nodes told of.", self.heard),
            (
                "wick_tracker_untold",
                "Announces that other nodes weren't told of, for want of room.",
                self.untold,
            ),
            (
                "wick_tracker_port_checks_dropped",
                "Port checks that found no room; they are made at the next announce.",
                self.port_checks_dropped,
            ),
            (
                "wick_tracker_journal_dropped",
                "Announces that the local log has not, because its disk can't be written: a kill \
                 loses them.",
                self.journal_dropped,
            ),
        ] {
            page.count(name, help, &[], number);
        }
        for (reason, number) in &self.refused {
            let help = "Announces that the rules refuse, by reason.";
            page.count("wick_tracker_announces_refused", help, &[("reason", reason)], *number);
        }
        for Count { name, what, number } in &self.counters {
            page.count(&format!("wick_tracker_{name}"), what, &[], *number);
        }
    }
}

fn by_name<S: Serializer>(counts: &[Count], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(counts.iter().map(|count| (count.name, count.number)))
}

fn by_reason<S: Serializer>(
    counts: &[(&'static str, u64)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(counts.iter().copied())
}
