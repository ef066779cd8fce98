//! What nodes say beside the stream: nothing is kept, ordered or promised. Who listens at that
//! moment hears it.
//!
//! Bound: [`WAITING_MAX`] things wait to be said; for what is more the oldest falls out.

use async_nats::Client;
use futures_util::StreamExt;

use crate::link::Failure;
use crate::node::{Ears, Node};

const WAITING_MAX: usize = 64;

impl Node {
    /// Says something to all others that are there.
    pub fn say_aside(&self, bytes: Vec<u8>) {
        let mut aside = self.aside.lock();
        if aside.len() == WAITING_MAX {
            aside.pop_front();
        }
        aside.push_back(bytes);
        drop(aside);
        self.aside_waits.notify_one();
    }
}

/// Says what is to be said, and hears what others say, until something fails.
pub(crate) async fn converse(node: &Node, ears: &dyn Ears, client: &Client) -> Result<(), Failure> {
    let (own, all) = (node.settings.aside(), node.settings.asides());
    let mut heard = client.subscribe(all).await?;
    loop {
        tokio::select! {
            message = heard.next() => {
                let message = message.ok_or("nothing is heard beside the stream any more")?;
                if message.subject.as_str() != own {
                    ears.hear_aside(&message.payload);
                }
            }
            () = node.aside_waits.notified() => {
                let all = std::mem::take(&mut *node.aside.lock());
                for bytes in all {
                    client.publish(own.clone(), bytes.into()).await?;
                }
            }
        }
    }
}
