//! Requests that come through a site and are for something else in this process, such as a
//! tracker: answered at once, before the site, its store and its limits.
//!
//! Invariants: 1. nothing of them is stored. 2. their target may have a secret in it, so that it
//! is gone from the head before anything is logged, traced or counted by it.

use std::net::IpAddr;

use http::Method;
use wire::RequestHead;

use crate::Server;
use crate::journey::Peers;
use crate::reply::Reply;

/// What answers them.
pub trait Aside: Send + Sync {
    /// What to call a request with this target where it is told; none if it is for the site.
    fn name(&self, target: &str) -> Option<&str>;

    /// The answer, as plain text. It must not wait.
    fn answer(&self, target: &str, from: IpAddr) -> Vec<u8>;
}

impl Server {
    /// The answer to a request that is for no site. Its head then bears the name that it is told
    /// by.
    pub(crate) fn set_aside(&self, head: &mut RequestHead, peers: Peers) -> Option<Reply> {
        let aside = self.aside.as_ref()?;
        if head.method != Method::GET {
            return None;
        }
        let name = aside.name(&head.target)?.to_owned();
        let target = std::mem::replace(&mut head.target, name);
        Some(Reply::aside(aside.answer(&target, peers.peer.ip()).into()))
    }
}
