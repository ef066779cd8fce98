//! Feeds listened to, whatever they follow.

use std::time::Duration;

use changes::{Event, Feed};

/// How long a feed is listened to that says nothing.
pub(crate) const WAIT: Duration = Duration::from_secs(20);

/// The events up to the one that `is_it`.
pub(crate) async fn until(feed: &mut Feed, is_it: impl Fn(&Event) -> bool) -> Vec<Event> {
    let mut heard = Vec::new();
    let listen = async {
        loop {
            let event = feed.next().await;
            let is_last = is_it(&event);
            heard.push(event);
            if is_last {
                return;
            }
        }
    };
    let is_heard = tokio::time::timeout(WAIT, listen).await.is_ok();
    heard.retain(|event| *event != Event::Idle);
    assert!(is_heard, "only {heard:?}");
    heard
}
