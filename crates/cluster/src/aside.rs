//! What nodes say beside the stream: nothing is kept, ordered or promised. Who listens at that
//! moment hears it.
//!
//! Bound: one thing waits to be said; what comes before it went out takes its place.

use async_nats::Client;
use futures_util::StreamExt;

use crate::link::Failure;
use crate::node::{Ears, Node};

impl Node {
    /// Says something to all others that are there.
    pub fn say_aside(&self, bytes: Vec<u8>) {
        *self.aside.lock() = Some(bytes);
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
                let bytes = node.aside.lock().take();
                if let Some(bytes) = bytes {
                    client.publish(own.clone(), bytes.into()).await?;
                }
            }
        }
    }
}
