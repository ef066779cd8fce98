//! Deposits: what strangers were given here, laid down for the node that they write to.
//!
//! A copy that strangers may write from lies under its mark, and each value by which a write from
//! it is recognised leads to that mark. Who is sent values that nobody here knows looks for them,
//! and goes on as with a copy of its own: whichever node showed the page, and though it is gone.
//! Whoever carries what is laid down sees to it that only nodes of the cluster can read or make
//! it.
//! Bounds: [`VALUES_MAX`] values of a copy lead to it, and [`LOOKED_FOR_MAX`] of a request are
//! looked for.
//! Invariant: nothing that is found is ever shown to anybody: a copy is only compared.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use align::Request;
use futures_util::future::join_all;
use http::Method;
use wire::{Fields, RequestHead};

use crate::Server;
use crate::site::Site;
use crate::strangers::Strangers;
use crate::strangers::copies::{Copy, tokens_of};
use crate::strangers::holders::{Bound, Mark};

/// A page with more different tokens is recognised elsewhere by the first ones alone.
const VALUES_MAX: usize = 64;
/// A request has as many that look like tokens, and comes from so many copies.
const LOOKED_FOR_MAX: usize = 16;
const COPIES_MAX: usize = 3;

/// Where things lie that other nodes may need when this one is gone.
pub trait Deposits: Send + Sync {
    /// Lays this down under a name, for whichever node looks for it within a day. It never
    /// waits, and may be lost.
    fn lay_down(&self, name: &[u8], content: &[u8]);

    /// Closes what only nodes of this cluster may read; none where that isn't possible.
    fn seal(&self, content: &[u8]) -> Option<String>;

    /// Opens what one of them closed within the last hour; none if none did.
    fn open(&self, sealed: &str) -> Option<Vec<u8>>;

    /// The same of what must not be lost, at once; whether it lies there, which is waited for for
    /// a second at most.
    fn lay_down_surely<'a>(
        &'a self,
        name: &'a [u8],
        content: &'a [u8],
    ) -> Pin<Box<dyn Future<Output = bool> + Send + 'a>>;

    /// What a node of this cluster laid down last under this name; none if nothing lies there.
    /// Whoever was told that something is laid down, and looks then, finds that or what was laid
    /// down later.
    ///
    /// # Errors
    /// It can't be told in a second, or isn't of this cluster.
    fn find<'a>(&'a self, name: &'a [u8]) -> Looking<'a>;
}

/// A look for what lies under a name; none where nothing does.
pub type Looking<'a> = Pin<Box<dyn Future<Output = Looked> + Send + 'a>>;
/// What came of it.
pub type Looked = Result<Option<Vec<u8>>, Untold>;

/// What lies there, or whether anything does, can't be told now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what was laid down can't be told now")]
pub struct Untold;

impl Server {
    pub(super) fn deposits(&self, site: &Site) -> Option<&dyn Deposits> {
        self.fellowship.as_ref().filter(|_| !site.is_elsewhere)?.deposits.as_deref()
    }

    /// Lays down a copy that somebody may write from elsewhere; `late` are values by which it is
    /// recognised and that weren't known when it was kept.
    pub(crate) fn lay_down_copy(&self, site: &Site, copy: &Copy, late: &[Vec<u8>]) {
        let Some(deposits) = self.deposits(site) else { return };
        let known = copy.known.iter().map(|value| &**value).chain(late.iter().map(Vec::as_slice));
        let values: Vec<_> =
            known.filter(|value| align::is_strong(value)).take(VALUES_MAX).collect();
        if values.is_empty() {
            return;
        }
        let mark = copy.mark();
        deposits.lay_down(&copy_name(&copy.host, mark), &copy.to_note_with(late));
        for value in values {
            deposits.lay_down(&value_name(&copy.host, value), &mark);
        }
    }

    /// The copies of other nodes that a request's values come from; they are kept here then.
    pub(crate) async fn laid_down(
        &self,
        site: &Site,
        head: &RequestHead,
        body: &[u8],
    ) -> Vec<Arc<Copy>> {
        let (Some(deposits), Some(strangers)) = (self.deposits(site), &site.strangers) else {
            return Vec::new();
        };
        let nothing = Fields::new();
        let is_safe = matches!(head.method, Method::GET | Method::HEAD);
        let fields = if is_safe { &nothing } else { &head.fields };
        let request = Request { target: head.target.as_bytes(), fields, body };
        // A body that is too long has none.
        let mut values = tokens_of(&request).unwrap_or_default();
        values.sort_unstable();
        values.dedup();
        values.truncate(LOOKED_FOR_MAX);
        let names = values.iter().map(|value| value_name(&head.host, value));
        let names: Vec<_> = names.collect();
        let found = join_all(names.iter().map(|name| deposits.find(name))).await;
        let marks = found.into_iter().flatten().flatten();
        let mut marks: Vec<Mark> = marks.filter_map(|mark| mark.try_into().ok()).collect();
        marks.sort_unstable();
        marks.dedup();
        marks.truncate(COPIES_MAX);
        self.laid_down_as(site, strangers, &head.host, &marks).await
    }

    /// The copies with these marks, as far as they are found; they are kept here then.
    async fn laid_down_as(
        &self,
        site: &Site,
        strangers: &Strangers,
        host: &str,
        marks: &[Mark],
    ) -> Vec<Arc<Copy>> {
        let Some(deposits) = self.deposits(site) else { return Vec::new() };
        let taken = marks.iter().map(|mark| take(deposits, strangers, host, *mark));
        join_all(taken).await.into_iter().flatten().collect()
    }

    /// Fetches what a session was bound with on other nodes and isn't here.
    pub(crate) async fn fetch_bound(
        &self,
        site: &Site,
        strangers: &Strangers,
        host: &str,
        bound: &Bound,
    ) {
        let marks = bound.elsewhere();
        if !marks.is_empty() {
            bound.note_here(self.laid_down_as(site, strangers, host, &marks).await);
        }
    }
}

/// Keeps the copy with this mark, if it is found.
async fn take(
    deposits: &dyn Deposits,
    strangers: &Strangers,
    host: &str,
    mark: Mark,
) -> Option<Arc<Copy>> {
    let note = deposits.find(&copy_name(host, mark)).await.ok()??;
    let mut copy = Copy::from_note(&note).filter(|copy| copy.host == host)?;
    // Its number is this node's to give.
    copy.id = 0;
    strangers.copies.with_id(strangers.copies.keep_again(copy))
}

fn value_name(host: &str, value: &[u8]) -> Vec<u8> {
    [b"value\0", host.as_bytes(), b"\0", value].concat()
}

fn copy_name(host: &str, mark: Mark) -> Vec<u8> {
    [b"copy\0", host.as_bytes(), b"\0", &mark].concat()
}

#[cfg(test)]
#[path = "deposits_tests.rs"]
pub(super) mod tests;
