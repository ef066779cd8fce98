//! Rules: what the owner of a tracker decides.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use base::network::Network;
use wire::tracker::InfoHash;

use crate::clients::Clients;

/// Who may announce what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Anybody, any torrent; nobody is accounted for.
    #[default]
    Open,
    /// Users with passkeys, torrents that are registered.
    Private,
}

/// What the owner decides.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Who may announce what.
    pub mode: Mode,
    /// Seconds between two announces of a session.
    pub interval_seconds: u32,
    /// Up to how many seconds are added to it by the dice, so that restarts don't bunch.
    pub jitter_seconds: u32,
    /// How far the interval may stretch under load.
    pub interval_seconds_max: u32,
    /// Announces a second above which it stretches; 0 is never.
    pub announces_per_second_calm: u32,
    /// Seconds before which clients are asked not to come again.
    pub min_interval_seconds: u32,
    /// Seconds before which they are refused if they do; 0 is never. A datagram that was lost
    /// is sent again after 15.
    pub gap_seconds: u32,
    /// Peers in an answer if the client doesn't say how many.
    pub peers_default: u32,
    /// Peers in an answer at most.
    pub peers_max: u32,
    /// Torrents at most; those of an open tracker are made by whoever comes.
    pub torrents_max: u32,
    /// Sessions at most.
    pub sessions_max: u32,
    /// Sessions of one user at one torrent at most, also of who has no limit of their own.
    pub peers_of_user_max: u16,
    /// Which clients may come.
    pub clients: Clients,
    /// On an open tracker: only these torrents, if there is a list.
    pub only: Option<HashSet<InfoHash>>,
    /// On an open tracker: not these.
    pub denied: HashSet<InfoHash>,
    /// Ports that nobody may be sent to.
    pub denied_ports: Vec<RangeInclusive<u16>>,
    /// Networks that are refused, and to which nobody is sent.
    pub denied_addresses: Vec<Network>,
    /// Whether a client is believed that says where it is (BEP 7, `ip=`).
    pub believes_told_addresses: bool,
    /// Whether addresses that the Internet doesn't route are handed out.
    pub allows_private_addresses: bool,
    /// Whether the tracker tries to connect to clients, to know who can be reached.
    pub checks_ports: bool,
    /// The key of XBT's computed passkeys, if the site uses those.
    pub xbt_key: Option<XbtKey>,
    /// Pairs of user and torrent whose credits are kept before a batch is made of them.
    pub pending_max: u32,
    /// This node's name, where several trackers write one ledger; never changes.
    pub node: Option<String>,
}

/// Of what XBT computes a user's passkey for a torrent. Never shown.
#[derive(Clone)]
pub struct XbtKey {
    /// `torrent_pass_private_key` of its configuration.
    pub private_key: String,
}

impl std::fmt::Debug for XbtKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("XbtKey(…)")
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            mode: Mode::Open,
            interval_seconds: 1800,
            jitter_seconds: 120,
            interval_seconds_max: 3600,
            announces_per_second_calm: 0,
            min_interval_seconds: 900,
            gap_seconds: 10,
            peers_default: 50,
            peers_max: 200,
            torrents_max: 2_000_000,
            sessions_max: 16_000_000,
            peers_of_user_max: 200,
            clients: Clients::default(),
            only: None,
            denied: HashSet::new(),
            denied_ports: Vec::new(),
            denied_addresses: Vec::new(),
            believes_told_addresses: false,
            allows_private_addresses: false,
            checks_ports: false,
            xbt_key: None,
            pending_max: 4096,
            node: None,
        }
    }
}
