//! What waits to be brought to an engine, for each document the last that was said of it.
//!
//! Bound: [`BYTES_MAX`]; whoever puts more brings it there, or gives all of it up where that can't
//! be done.

use std::collections::HashMap;
use std::sync::Arc;

use crate::Document;

/// So much text waits at most.
pub(super) const BYTES_MAX: usize = 4 << 20;
/// What an entry takes besides.
const ENTRY_BYTES: usize = 128;

#[derive(Default)]
pub(super) struct Waiting {
    entries: HashMap<u64, Entry>,
    bytes: usize,
    /// How many there were.
    number: u64,
    /// Whether something was given up.
    has_lost: bool,
}

struct Entry {
    number: u64,
    /// None: it is to be taken out.
    document: Option<Arc<Document>>,
}

impl Entry {
    fn bytes(&self) -> usize {
        ENTRY_BYTES + self.document.as_ref().map_or(0, |document| document.size())
    }
}

/// One of what is brought.
pub(super) struct Brought {
    pub(super) id: u64,
    number: u64,
    pub(super) document: Option<Arc<Document>>,
}

impl Waiting {
    /// Whether there is more than may wait.
    pub(super) fn put(&mut self, document: Document) -> bool {
        self.note(document.id, Some(Arc::new(document)));
        self.bytes > BYTES_MAX
    }

    pub(super) fn remove(&mut self, id: u64) {
        self.note(id, None);
        if self.bytes > BYTES_MAX {
            self.forget();
        }
    }

    fn note(&mut self, id: u64, document: Option<Arc<Document>>) {
        self.number += 1;
        let entry = Entry { number: self.number, document };
        self.bytes += entry.bytes();
        if let Some(before) = self.entries.insert(id, entry) {
            self.bytes -= before.bytes();
        }
    }

    /// Gives up all of it.
    pub(super) fn forget(&mut self) {
        *self = Self { number: self.number, has_lost: true, ..Self::default() };
    }

    /// Whether something was given up. Once told, it isn't told again.
    pub(super) fn takes_loss(&mut self) -> bool {
        std::mem::take(&mut self.has_lost)
    }

    /// What waits of this document; `Some(None)` is known to be taken out. Its text stays here.
    #[expect(clippy::option_option, reason = "not known is not the same as not there")]
    pub(super) fn find(&self, id: u64) -> Option<Option<Document>> {
        let entry = self.entries.get(&id)?;
        Some(entry.document.as_ref().map(|document| {
            let attributes = document.attributes.clone();
            Document { id, fields: Vec::new(), attributes }
        }))
    }

    /// Some of it, of about so much text; it waits until it is [`Waiting::done`].
    pub(super) fn batch(&self, bytes_max: usize) -> Vec<Brought> {
        let mut bytes = 0;
        let mut batch = Vec::new();
        for (id, entry) in &self.entries {
            bytes += entry.bytes();
            if bytes > bytes_max && !batch.is_empty() {
                break;
            }
            let (number, document) = (entry.number, entry.document.clone());
            batch.push(Brought { id: *id, number, document });
        }
        batch
    }

    /// It is there: unless something else was said of it meanwhile, it waits no longer.
    pub(super) fn done(&mut self, batch: &[Brought]) {
        for Brought { id, number, .. } in batch {
            if self.entries.get(id).is_some_and(|entry| entry.number == *number)
                && let Some(entry) = self.entries.remove(id)
            {
                self.bytes -= entry.bytes();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(id: u64, bytes: usize) -> Document {
        Document { id, fields: vec!["x".repeat(bytes)], attributes: Vec::new() }
    }

    #[test]
    fn what_is_said_while_it_is_brought_is_brought_again() {
        let mut waiting = Waiting::default();
        waiting.put(document(1, 10));
        waiting.put(document(2, 10));
        let batch = waiting.batch(BYTES_MAX);
        waiting.remove(2);
        waiting.done(&batch);
        assert_eq!((waiting.find(1), waiting.find(2)), (None, Some(None)));
        let batch = waiting.batch(BYTES_MAX);
        assert!(batch.len() == 1 && batch[0].document.is_none());
        waiting.done(&batch);
        assert!(waiting.batch(BYTES_MAX).is_empty() && waiting.bytes == 0);
    }

    #[test]
    fn so_much_waits_and_what_is_given_up_is_told_once() {
        let mut waiting = Waiting::default();
        assert!(!waiting.put(document(1, BYTES_MAX / 2)));
        // The same again takes no more.
        assert!(!waiting.put(document(1, BYTES_MAX / 2)));
        assert!(waiting.put(document(2, BYTES_MAX / 2)));
        assert_eq!(waiting.batch(BYTES_MAX / 4).len(), 1, "one at least");
        waiting.forget();
        assert!(waiting.takes_loss() && !waiting.takes_loss());
        for id in 0..100_000 {
            waiting.remove(id);
        }
        assert!(waiting.bytes <= BYTES_MAX && waiting.takes_loss());
    }
}
