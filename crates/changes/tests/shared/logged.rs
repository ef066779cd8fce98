//! Feeds by the log of a MariaDB or a MySQL.

use changes::{Address, Event, Feed, Place, Progress};

use crate::hearing::{WAIT, until};

/// A feed that follows.
pub(crate) async fn following(address: Address) -> Feed {
    let mut feed = Feed::binlog(address);
    until(&mut feed, |event| *event == Event::Recovered).await;
    feed
}

pub(crate) async fn next(feed: &mut Feed) -> Event {
    tokio::time::timeout(WAIT, feed.next()).await.expect("the feed says something")
}

/// How many changes are told until all that stands before `end` was heard.
pub(crate) async fn changes_before(
    end: &[Place],
    feed: &mut Feed,
    progress: &mut Progress,
) -> usize {
    let mut changes = 0;
    while !progress.has_reached(end) {
        match next(feed).await {
            Event::Change(_) => changes += 1,
            Event::Commit(Some(place)) => progress.tell(place),
            _ => {}
        }
    }
    changes
}
