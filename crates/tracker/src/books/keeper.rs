//! What the books are kept for: whoever has the swarms.

use std::sync::Arc;

use base::Now;

use super::shared::Node;
use crate::Tracker;
use crate::credit::Batch;
use crate::denied::Denied;
use crate::free::Free;
use crate::rights::{Torrent, TorrentId, User, UserId};
use crate::rules::XbtKey;
use crate::site_log::SiteLog;
use crate::wanted::Missed;

/// Takes what sites have, gives what is to be written.
pub trait Keeper: Send + Sync + 'static {
    /// The number of the last batch that stands in the database. Told once, before any batch is
    /// taken: what is counted anew goes on from there, and what was under way is known to have
    /// been written, or not.
    fn resume(&self, last_number: u64);
    /// The next batch, or the one that was taken and is not written yet; none if there is
    /// nothing to write before the next round.
    fn take_batch(&self, now: Now) -> Option<Arc<Batch>>;
    /// It stands in the database.
    fn written(&self, number: u64);
    /// Which of several that write one ledger it is; none if it is alone.
    fn node(&self) -> Option<Node> {
        None
    }
    /// Up to when all that was announced stands in the database: unix seconds.
    fn told(&self) -> u32 {
        0
    }
    /// Nodes of one ledger that won't come back, by name, which the database isn't told of yet.
    fn left(&self) -> Vec<String> {
        Vec::new()
    }
    /// The database knows that these won't come back.
    fn let_go(&self, _names: &[String]) {}
    /// Everything comes anew; what doesn't come until [`Keeper::finish_loading`] is gone.
    fn begin_loading(&self);
    /// Everything came.
    fn finish_loading(&self);
    /// A torrent that is new, or changed, or neither.
    fn put_torrent(&self, torrent: &Torrent);
    /// One that is gone.
    fn remove_torrent(&self, id: TorrentId);
    /// A user who is new, or changed, or neither.
    fn put_user(&self, user: &User);
    /// One who is gone.
    fn remove_user(&self, id: UserId);
    /// The key of passkeys that are computed, as the site has it.
    fn set_passkey_key(&self, private_key: &str);
    /// Whom the site turns away from now on.
    fn set_denied(&self, _denied: Denied) {}
    /// Who takes what for nothing from now on.
    fn set_free(&self, _free: Free) {}
    /// What was asked, for the site's own logs, where that is kept.
    fn site_log(&self) -> Option<&SiteLog> {
        None
    }
    /// What clients came with and nobody knows, where that is kept.
    fn missed(&self) -> Option<&Missed> {
        None
    }
}

impl Keeper for Tracker {
    fn resume(&self, last_number: u64) {
        Self::resume(self, last_number);
    }

    fn take_batch(&self, now: Now) -> Option<Arc<Batch>> {
        Self::take_batch(self, now)
    }

    fn written(&self, number: u64) {
        Self::written(self, number);
    }

    fn node(&self) -> Option<Node> {
        Self::node(self)
    }

    fn told(&self) -> u32 {
        self.batches.told()
    }

    fn left(&self) -> Vec<String> {
        self.left.lock().clone()
    }

    fn let_go(&self, names: &[String]) {
        self.left.lock().retain(|name| !names.contains(name));
    }

    fn begin_loading(&self) {
        Self::begin_loading(self);
    }

    fn finish_loading(&self) {
        Self::finish_loading(self);
    }

    fn put_torrent(&self, torrent: &Torrent) {
        Self::put_torrent(self, torrent);
    }

    fn remove_torrent(&self, id: TorrentId) {
        Self::remove_torrent(self, id);
    }

    fn put_user(&self, user: &User) {
        Self::put_user(self, user);
    }

    fn remove_user(&self, id: UserId) {
        Self::remove_user(self, id);
    }

    fn set_denied(&self, denied: Denied) {
        Self::set_denied(self, denied);
    }

    fn set_free(&self, free: Free) {
        Self::set_free(self, free);
    }

    fn site_log(&self) -> Option<&SiteLog> {
        Some(&self.site_log)
    }

    fn missed(&self) -> Option<&Missed> {
        Some(&self.missed)
    }

    fn set_passkey_key(&self, private_key: &str) {
        let mut rules = Self::rules(self).as_ref().clone();
        rules.xbt_key = Some(XbtKey { private_key: private_key.to_owned() });
        self.set_rules(rules);
    }
}
