//! A tracker from its folder, and its books once they were loaded.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base::Clock;
use tracker::books::{Contract, Loader, Place, Shared, Writer};
use tracker::{Rules, Tracker};

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
