//! Why an announce is refused; the words are for the client's user.

use wire::tracker::answer::Retry;

/// Why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Nobody registered it.
    #[error("this torrent is not registered here")]
    UnknownTorrent,
    /// It is gone from the site.
    #[error("this torrent was deleted")]
    DeletedTorrent,
    /// A private tracker, and no passkey.
    #[error("a passkey is missing; download the torrent again from the site")]
    NoPasskey,
    /// Nobody has it.
    #[error("this passkey is unknown; download the torrent again from the site")]
    UnknownPasskey,
    /// The site denies it.
    #[error("you may not download here")]
    MayNotLeech,
    /// The torrent is too new for this user.
    #[error("wait {minutes} minutes before you download this torrent")]
    Wait {
        /// How long still.
        minutes: u32,
    },
    /// Too many clients at one torrent.
    #[error("you are at this torrent with {max} clients already")]
    TooManyPeers {
        /// How many are allowed.
        max: u16,
    },
    /// Too many downloads at one time.
    #[error("you download {max} torrents already")]
    TooManyTorrents {
        /// How many are allowed.
        max: u16,
    },
    /// The client is not allowed.
    #[error("this client is not allowed here")]
    Client,
    /// It listens nowhere, or where nobody may be sent.
    #[error("port {port} can't be announced; choose another in your client")]
    Port {
        /// Which.
        port: u16,
    },
    /// It is where nobody may be sent, or where nobody may come from.
    #[error("your address can't be announced here")]
    Address,
    /// It came again too soon.
    #[error("announced too often")]
    TooOften {
        /// Seconds to wait.
        seconds: u32,
    },
    /// There is no room for more peers.
    #[error("the tracker is full; try again later")]
    Full,
}

impl Refusal {
    /// All names, in the order of [`Refusal::number`].
    pub const NAMES: [&str; 13] = [
        "unknown-torrent",
        "deleted-torrent",
        "no-passkey",
        "unknown-passkey",
        "may-not-leech",
        "wait",
        "too-many-peers",
        "too-many-torrents",
        "client",
        "port",
        "address",
        "too-often",
        "full",
    ];

    /// Its place among the names, for counters.
    #[must_use]
    pub fn number(&self) -> usize {
        match self {
            Self::UnknownTorrent => 0,
            Self::DeletedTorrent => 1,
            Self::NoPasskey => 2,
            Self::UnknownPasskey => 3,
            Self::MayNotLeech => 4,
            Self::Wait { .. } => 5,
            Self::TooManyPeers { .. } => 6,
            Self::TooManyTorrents { .. } => 7,
            Self::Client => 8,
            Self::Port { .. } => 9,
            Self::Address => 10,
            Self::TooOften { .. } => 11,
            Self::Full => 12,
        }
    }

    /// When trying again makes sense (BEP 31).
    #[must_use]
    pub fn retry(&self) -> Retry {
        match self {
            Self::Wait { minutes } => Retry::Minutes((*minutes).max(1)),
            Self::TooManyPeers { .. } | Self::TooManyTorrents { .. } => Retry::Minutes(30),
            Self::TooOften { seconds } => Retry::Minutes(seconds.div_ceil(60).max(1)),
            Self::Full => Retry::Minutes(5),
            // What the site has only just got is known within a minute, and so is everybody after
            // a start.
            Self::UnknownTorrent | Self::UnknownPasskey => Retry::Minutes(5),
            // Another client, or another copy of the torrent, announces anew.
            Self::Client | Self::DeletedTorrent | Self::NoPasskey => Retry::Never,
            // The site may change its mind about a user, and a user may change port and address.
            Self::MayNotLeech | Self::Port { .. } | Self::Address => Retry::Unsaid,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_told_when_to_come_again_where_that_makes_sense() {
        for (refusal, retry) in [
            (Refusal::UnknownTorrent, Retry::Minutes(5)),
            (Refusal::DeletedTorrent, Retry::Never),
            (Refusal::Client, Retry::Never),
            (Refusal::MayNotLeech, Retry::Unsaid),
            (Refusal::Wait { minutes: 90 }, Retry::Minutes(90)),
            (Refusal::TooManyTorrents { max: 3 }, Retry::Minutes(30)),
            (Refusal::TooOften { seconds: 61 }, Retry::Minutes(2)),
            (Refusal::TooOften { seconds: 0 }, Retry::Minutes(1)),
            (Refusal::Full, Retry::Minutes(5)),
        ] {
            assert_eq!(refusal.retry(), retry, "{refusal}");
            assert!(refusal.number() < Refusal::NAMES.len());
        }
    }
}
