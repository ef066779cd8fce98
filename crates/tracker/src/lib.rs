//! A BitTorrent tracker: every peer in memory, every byte accounted for.
//!
//! In: announces and scrapes ([`wire::tracker`]), torrents and users as the site has them
//! ([`rights`]). Out: peers, and credits in batches for the site's database ([`credit`]).
//! Law: BEP 3, 7, 15, 21, 23, 24, 31, 41, 48, 52.
//! Start at [`Tracker::announce`], and go on in `shard.rs`.

mod address;
mod batches;
pub mod books;
mod clients;
pub mod credit;
mod denied;
mod dice;
mod exchange;
mod expiry;
mod foresight;
mod free;
mod index;
mod joining;
pub mod journal;
mod ledger;
mod numbers;
mod pace;
mod port_checks;
pub mod refusal;
pub mod rights;
mod rules;
mod second_names;
pub mod serve;
mod session;
mod shard;
mod signals;
pub mod site_log;
mod status;
mod suspects;
mod swarm;
mod torrents;
mod tracker;
mod users;
mod wanted;
mod web;

pub use clients::Clients;
pub use credit::{Batch, Credit, Point};
pub use denied::Denied;
pub use free::Free;
pub use journal::Loaded;
pub use ledger::{Entry, Rule};
pub use refusal::Refusal;
pub use rights::{Torrent, TorrentId, User, UserId};
pub use rules::{Mode, Rules, XbtKey};
pub use session::Session;
pub use status::{Status, TorrentStatus, UserStatus};
pub use suspects::{SuspectTorrent, SuspectUser, Suspects};
pub use tracker::Tracker;
pub use wanted::{Missed, Wanted};
