//! A tracker from its folder, and its books once they were loaded.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base::Clock;
use changes::{Address, Door, Secret};
use tracker::books::{Contract, Loader, Place, Shared, Writer};
use tracker::{Rules, Tracker};
use wire::tracker::{Announce, Event, InfoHash, Passkey, PeerId};

/// Opens it. A server that another test starts just now has a copy of the lock until it is a
/// process of its own.
pub(crate) async fn opened(state: &Path, rules: &Rules, clock: &Clock) -> Arc<Tracker> {
    loop {
        match Tracker::open(state, rules.clone(), clock.now()) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => tokio::task::yield_now().await,
            opened => return Arc::new(opened.expect("it opens").0),
        }
    }
}

/// Tells it of the site's torrents and users; who writes for it, once a minute.
pub(crate) async fn loaded(
    tracker: &Arc<Tracker>,
    place: Place,
    contract: &str,
    clock: &Clock,
    status: Shared,
) -> Writer {
    let contract = Contract::known(contract).expect("one of ours");
    let (held, read) = (tracker.clone(), contract.clone());
    let mut loader = Loader::new(place.clone(), read, clock.clone(), status.clone(), held);
    loader.step().await.expect("it is loaded");
    let every = Duration::from_secs(60);
    Writer::new(place, contract, every, clock.clone(), status, tracker.clone())
}

/// A database of a MariaDB, as a user whose password is their name.
pub(crate) fn place_of(socket: &Path, user: &str, database: &str) -> Place {
    Place::MySql(Address {
        door: Door::Socket(socket.to_owned()),
        user: user.to_owned(),
        password: Secret::new(user),
        database: database.to_owned(),
    })
}

/// The first announce of this user's client for the torrent of this number, of which it lacks a byte.
pub(crate) fn announce_of(passkey: &str, torrent: u8) -> Announce {
    let mut info_hash = [0; 20];
    info_hash[19] = torrent;
    Announce {
        info_hash: InfoHash(info_hash),
        peer_id: PeerId(*b"-TR4050-abcdefghijkl"),
        key: None,
        passkey: Passkey::new(passkey.as_bytes()),
        port: 6881,
        uploaded: 0,
        downloaded: 0,
        left: 1,
        event: Event::Started,
        peers_wanted: Some(0),
        told_v4: None,
        told_v6: None,
    }
}
