//! Which pages are vouched for: that they are what is in the index.
//!
//! Bound: [`BYTES_MAX`]; past it somebody's is forgotten, and that page is asked for again before
//! it is shown.

use std::collections::HashMap;
use std::sync::Mutex;

use server::{Server, Vouch};

use super::unpoisoned;

const BYTES_MAX: usize = 4 << 20;
/// What an entry takes beside its vouch.
const ENTRY_BYTES: usize = 64;

/// The pages that are vouched for, by the ids of their documents.
#[derive(Default)]
pub(super) struct Standings {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    entries: HashMap<u64, Entry>,
    bytes: usize,
}

struct Entry {
    vouch: Vouch,
    /// Of the text that it vouches for.
    sum: i64,
    /// By which host it was read: another may be shown another page.
    host: Box<str>,
}

impl Entry {
    fn bytes(&self) -> usize {
        self.vouch.bytes() + self.host.len() + ENTRY_BYTES
    }
}

impl Standings {
    /// A page of this text was read, by this host.
    pub(super) fn put(&self, id: u64, vouch: Vouch, sum: i64, host: &str) {
        let entry = Entry { vouch, sum, host: host.into() };
        let mut inner = unpoisoned(&self.inner);
        inner.remove(id);
        inner.bytes += entry.bytes();
        inner.entries.insert(id, entry);
        while inner.bytes > BYTES_MAX {
            let Some(other) = inner.entries.keys().copied().find(|&other| other != id) else {
                return;
            };
            inner.remove(other);
        }
    }

    /// It may not be what it was.
    pub(super) fn remove(&self, id: u64) {
        unpoisoned(&self.inner).remove(id);
    }

    /// Whether the page is what it was when it had this text, as this host shows it.
    pub(super) fn is_sure(&self, server: &Server, id: u64, sum: i64, host: &str) -> bool {
        let inner = unpoisoned(&self.inner);
        inner.entries.get(&id).is_some_and(|entry| {
            entry.sum == sum && *entry.host == *host && server.is_vouched(&entry.vouch)
        })
    }

    /// How many there are, and about how many bytes they take.
    pub(super) fn count(&self) -> (usize, usize) {
        let inner = unpoisoned(&self.inner);
        (inner.entries.len(), inner.bytes)
    }
}

impl Inner {
    fn remove(&mut self, id: u64) {
        if let Some(entry) = self.entries.remove(&id) {
            self.bytes -= entry.bytes();
        }
    }
}
