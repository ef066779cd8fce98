//! How often a visitor may ask, all nodes together: what is let through here is told to the
//! others once a second, of visitors who ask for more than a node's share, and what they tell
//! counts here as if it had been let through here.
//!
//! It goes beside the stream: what is lost lets somebody ask a little more, and no answer waits.
//! Bounds: [`TOLD_MAX`] visitors in a message. Who is told of, and what the error is: `defence`.

use base::network::Block;
use serde::{Deserialize, Serialize};

use crate::Server;

/// Visitors of whom one message tells.
const TOLD_MAX: usize = 8192;

/// What was let through of each site's visitors.
#[derive(Debug, Default, Deserialize, Serialize)]
struct Let {
    sites: Vec<OfSite>,
}

#[derive(Debug, Deserialize, Serialize)]
struct OfSite {
    /// By which nodes know a site.
    hosts: Vec<String>,
    /// Visitors, and how many requests of each.
    visitors: Vec<(u64, u32)>,
}

impl Server {
    /// What the other nodes are to know, as one of so many: none, if there is nothing.
    #[must_use]
    pub fn tell_rates(&self, nodes: usize) -> Option<String> {
        let (ticks_ms, mut left) = (self.clock.now().ticks_ms, TOLD_MAX);
        let (sites, mut told) = (self.sites(), Let::default());
        for site in sites.each().into_iter().filter(|site| !site.is_elsewhere) {
            let mut visitors = site.defence.share(nodes, ticks_ms);
            visitors.truncate(left);
            left -= visitors.len();
            if !visitors.is_empty() {
                let requests = visitors.iter().map(|(_, count)| u64::from(*count)).sum();
                self.counters().rates_told.add(requests);
                let visitors = visitors.into_iter().map(|(block, count)| (block.number(), count));
                let (hosts, visitors) = (sites.hosts_of(site), visitors.collect());
                told.sites.push(OfSite { hosts, visitors });
            }
        }
        // It is made of texts and numbers, so it can always be written.
        (!told.sites.is_empty()).then(|| serde_json::to_string(&told).unwrap_or_default())
    }

    /// By how many nodes rates are parted; zero: this node counts alone.
    #[must_use]
    pub fn rate_nodes(&self) -> u32 {
        let sites = self.sites();
        sites.each().iter().map(|site| site.defence.nodes()).max().unwrap_or(0)
    }

    /// Another node tells this. What can't be read is left out.
    pub fn hear_rates(&self, text: &[u8]) {
        let Ok(told) = serde_json::from_slice::<Let>(text) else { return };
        let (ticks_ms, mut left) = (self.clock.now().ticks_ms, TOLD_MAX);
        let sites = self.sites();
        for OfSite { hosts, visitors } in told.sites {
            let serving = sites.serving(&hosts);
            for (number, count) in visitors.into_iter().take(left) {
                left -= 1;
                self.counters().rates_heard.add(u64::from(count));
                let visitor = Block::numbered(number);
                serving.iter().for_each(|site| site.defence.hear(visitor, count, ticks_ms));
            }
        }
    }
}
