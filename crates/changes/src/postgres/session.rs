//! One session: from the connection to the moment when nothing is followed any more.

use std::convert::Infallible;
use std::sync::Arc;

use super::connection::{Connection, database};
use super::stream::{Shared, Stream};
use super::watch::Watch;
use super::{catalog, standing};
use crate::queue::Inlet;
use crate::{Address, Event, Lost, Rung};

/// Follows the log until that fails.
pub(super) async fn run(address: Address, inlet: Inlet) -> Result<Infallible, Lost> {
    let (mut stream, mut watch) = begin(&address, &inlet).await?;
    inlet.tell(Event::Recovered);
    tokio::select! {
        end = stream.follow() => end,
        end = watch.run() => end,
    }
}

/// Tables are published before the log is read, so that it tells of them from its first
/// word; counted after it began, so that what is counted from then on is news.
async fn begin(address: &Address, inlet: &Inlet) -> Result<(Stream, Watch), Lost> {
    let connection = Connection::open(address).await?;
    let database = database(address);
    let catalog = catalog::read(&connection).await?;
    let standing = standing::stand(&standing::ask(&connection).await?, &catalog, database);
    if standing.rung < Rung::Log {
        let missing = [standing.grants, standing.settings].concat().join(" ");
        let why = format!("the log can't be followed yet; missing: {missing}");
        return Err(Lost::Impossible(why));
    }
    let shared = Arc::new(Shared::default());
    let mut watch = Watch::begin(connection, database, shared.clone(), inlet.clone()).await?;
    let stream = Stream::begin(address, &watch.connection, shared, inlet.clone()).await?;
    watch.look().await?;
    Ok((stream, watch))
}
