//! What is shown at the moment, by everybody who keeps a part of it.

use std::sync::{Arc, Mutex, PoisonError};

use server::{Identity, Served, Tls};
use tokio::sync::Notify;

pub(crate) struct Showcase {
    pub(crate) tls: Arc<Tls>,
    served: Mutex<Vec<Shown>>,
    /// Told when another certificate is shown.
    pub(crate) changed: Notify,
}

/// One of those that are shown.
pub(crate) struct Shown {
    pub(crate) served: Served,
    /// Whether visitors who come by HTTP are sent to it once browsers take it.
    pub(crate) wants_redirects: bool,
}

impl Showcase {
    /// A showcase with nothing shown yet.
    pub(crate) fn new(tls: Arc<Tls>, all: Vec<Shown>) -> Self {
        Self { tls, served: Mutex::new(all), changed: Notify::new() }
    }

    /// Shows what is in it.
    pub(crate) fn show(&self) {
        self.publish(|_| {});
    }

    /// Shows another certificate in the place of one.
    pub(crate) fn replace(&self, place: usize, identity: Arc<Identity>, is_believed: bool) {
        self.publish(|all| {
            if let Some(Shown { served, wants_redirects }) = all.get_mut(place) {
                served.identity = identity;
                served.redirects = *wants_redirects && is_believed;
            }
        });
        self.changed.notify_one();
    }

    /// All that are shown, by their places.
    pub(crate) fn identities(&self) -> Vec<Arc<Identity>> {
        let all = self.served.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().map(|shown| shown.served.identity.clone()).collect()
    }

    /// Shows a certificate with another staple, wherever it is shown.
    pub(crate) fn staple(&self, certificate: &[u8], staple: Option<&[u8]>) {
        self.publish(|all| {
            for Shown { served, .. } in all {
                if served.identity.certificate() == certificate {
                    let stapled = served.identity.stapled(staple.map(<[u8]>::to_vec));
                    served.identity = Arc::new(stapled);
                }
            }
        });
    }

    fn publish(&self, change: impl FnOnce(&mut [Shown])) {
        let mut all = self.served.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut all);
        let served: Vec<_> = all.iter().map(|shown| shown.served.clone()).collect();
        self.tls.serve(&served);
    }
}
