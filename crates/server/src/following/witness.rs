//! What a tap wants to know of visits, so that a statement is told by whose visit it is.

use std::sync::Weak;
use std::time::Duration;

use changes::tap::{Batch, Witness};

use super::Following;
use crate::Server;

impl Witness for Following {
    fn visit(&self) -> Option<(u64, String)> {
        // Probes are under way then, which traffic doesn't know.
        if self.gate.is_shut() {
            return None;
        }
        let traffic = self.traffic.lock();
        let (last, writes, target) = traffic.alike()?;
        let method = if writes { "POST" } else { "GET" };
        let path = target.split_once('?').map_or(target, |(path, _)| path);
        Some((last, format!("{method} {path}")))
    }

    fn may_go_on(&self, visit: u64) -> bool {
        !self.gate.is_shut() && self.traffic.lock().is_still_theirs(visit)
    }
}

/// A statement is told when its visit has most likely been, so that its route is known.
pub const STATEMENT_AGE: Duration = Duration::from_secs(2);

/// What passes a site's tap, and what comes of it.
#[derive(Debug)]
pub struct Statements {
    /// The site's name.
    pub site: String,
    /// What passed since this was last asked.
    pub batch: Batch,
    /// How often pages were swept since the start, all changes of a moment counted as one.
    pub sweeps: u64,
    /// How often changes of which table did; without a name: of tables that are too many.
    pub swept_by: Vec<(String, u64)>,
}

impl Server {
    /// The statements that passed a site's tap since this was last asked, and how often pages
    /// were swept; asking begins it. Where there is one site it needs no name.
    ///
    /// # Errors
    /// There is no such site, or it has no tap.
    pub fn passed_statements(&self, name: &str) -> Result<Statements, String> {
        let sites = self.sites();
        let named = if name.is_empty() {
            sites.only()
        } else {
            sites.each().into_iter().find(|site| site.name == name)
        };
        let Some(site) = named else {
            let names: Vec<_> = sites.each().iter().map(|site| site.name.clone()).collect();
            return Err(format!("name one of these sites: {}", names.join(", ")));
        };
        let tap = site.tap.as_ref().and_then(Weak::upgrade);
        let (Some(tap), Some(following)) = (tap, site.following.clone()) else {
            return Err(format!(
                "the site {} has no tap, and nothing else knows whose statement one is: write \
                 changes = \"tap\" in its settings (for MariaDB or MySQL and a PHP that Wick \
                 starts)",
                site.name
            ));
        };
        let (sweeps, swept_by) =
            (following.counts.sweeps.read(), following.status.lock().swept_by());
        let batch = tap.passed(following, STATEMENT_AGE);
        Ok(Statements { site: site.name.clone(), batch, sweeps, swept_by })
    }
}
