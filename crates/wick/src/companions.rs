//! What stands beside the sites' origins: their searches, and the audits of what is stored.

use std::path::Path;
use std::sync::Arc;

use server::Server;

use crate::auditing::Auditing;
use crate::observing::Observing;
use crate::plan::SitePlan;
use crate::search::Searching;
use crate::sites::Started;

/// All of them, as long as they run.
#[derive(Default)]
pub(crate) struct Companions {
    searching: Searching,
    auditing: Auditing,
}

impl Companions {
    /// Gives each site what it wants beside it, and ends what nobody wants any more. It must be
    /// called on a runtime.
    pub(crate) fn settle(&mut self, plans: &[SitePlan], started: &mut [Started], state: &Path) {
        self.searching.settle(plans, started, state);
        self.auditing.settle(plans, started, state);
    }

    /// Names the server that pages are read by, and has all of it be told of.
    pub(crate) fn tell(&self, observing: &Observing, server: &Arc<Server>) {
        self.searching.tell(observing, server);
        self.auditing.tell(observing, server);
    }

    /// The same.
    pub(crate) fn told_to(self, observing: &Observing, server: &Arc<Server>) -> Self {
        self.tell(observing, server);
        self
    }

    /// Ends all of it; what was found is written.
    pub(crate) async fn end(&mut self, observing: &Observing) {
        observing.set_searches(Vec::new());
        observing.set_audits(Vec::new());
        self.searching.end().await;
        let mut auditing = std::mem::take(&mut self.auditing);
        // A panic in it was told.
        let _ = tokio::task::spawn_blocking(move || auditing.end()).await;
    }
}
