//! Figures: how each node is, told to the others once a second.
//!
//! They go over a subject of their own, beside the stream: nobody waits for them, what is lost is
//! told again, and nothing follows from them but what an owner is shown. What they say is text to
//! this crate.
//! Bounds: [`BYTES_MAX`] of one node, [`NODES_MAX`] nodes; what is older than [`KEPT_MS`] is forgotten.

use std::collections::BTreeMap;
use std::time::Duration;

use async_nats::Client;
use futures_util::StreamExt;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::time::{MissedTickBehavior, interval};

use crate::link::Failure;
use crate::node::Node;

const EVERY: Duration = Duration::from_secs(1);
const BYTES_MAX: usize = 16 << 10;
const NODES_MAX: usize = 1024;
const KEPT_MS: u64 = 60_000;

/// What a node says of itself when it is asked.
pub type Look = Box<dyn Fn() -> String + Send + Sync>;

/// What was heard of all others.
#[derive(Default)]
pub(crate) struct Figures {
    own: Mutex<Option<Look>>,
    others: Mutex<BTreeMap<String, (u64, String)>>,
}

#[derive(Deserialize, Serialize)]
struct Told {
    node: String,
    figures: String,
}

impl Figures {
    pub(crate) fn set_own(&self, look: Look) {
        *self.own.lock() = Some(look);
    }

    fn own(&self, node: &str) -> Option<Vec<u8>> {
        let figures = self.own.lock().as_ref()?();
        serde_json::to_vec(&Told { node: node.to_owned(), figures }).ok()
    }

    fn hear(&self, own: &str, bytes: &[u8], ticks_ms: u64) {
        let told = (bytes.len() <= BYTES_MAX).then(|| serde_json::from_slice(bytes).ok()).flatten();
        let Some(Told { node, figures }) = told else { return };
        if node == own {
            return;
        }
        let mut others = self.others.lock();
        others.retain(|_, (at, _)| ticks_ms.saturating_sub(*at) < KEPT_MS);
        if others.len() < NODES_MAX || others.contains_key(&node) {
            others.insert(node, (ticks_ms, figures));
        }
    }

    /// What a node said of itself last, and how many milliseconds ago.
    pub(crate) fn of(&self, node: &str, ticks_ms: u64) -> Option<(u64, String)> {
        let others = self.others.lock();
        let (at, figures) = others.get(node)?;
        let ago_ms = ticks_ms.saturating_sub(*at);
        (ago_ms < KEPT_MS).then(|| (ago_ms, figures.clone()))
    }
}

/// Tells the own figures and hears the others', for ever.
pub(crate) async fn exchange(node: &Node, client: &Client) -> Result<(), Failure> {
    let subject = node.settings.figures();
    let mut heard = client.subscribe(subject.clone()).await?;
    let mut beat = interval(EVERY);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = beat.tick() => {
                if let Some(told) = node.figures.own(&node.settings.node) {
                    client.publish(subject.clone(), told.into()).await?;
                }
            }
            message = heard.next() => {
                let message = message.ok_or("nothing more is told of the other nodes")?;
                node.figures.hear(&node.settings.node, &message.payload, node.ticks_ms());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_of_each_other_node_is_known_for_a_minute() {
        let (figures, one) = (Figures::default(), Figures::default());
        assert_eq!(one.own("b"), None, "it has nothing to say yet");
        one.set_own(Box::new(|| "{\"answers\":7}".to_owned()));
        let told = one.own("b").expect("it says something");
        figures.hear("a", &told, 1000);
        figures.hear("a", &one.own("a").expect("as above"), 1000);
        figures.hear("a", b"{", 1000);
        let too_long = Told { node: "c".into(), figures: "x".repeat(BYTES_MAX) };
        figures.hear("a", &serde_json::to_vec(&too_long).expect("text"), 1000);
        assert_eq!(figures.of("b", 3000), Some((2000, "{\"answers\":7}".to_owned())));
        assert_eq!((figures.of("a", 3000), figures.of("c", 3000)), (None, None));
        assert_eq!(figures.of("b", 1000 + KEPT_MS), None);
    }
}
