//! What was put and can't be seen yet, for whoever asks for a document by its id.
//!
//! Invariant: it holds [`PENDING_BYTES_MAX`] at most; then it forgets all documents, and says
//! so until the next commit. It never forgets which ids were put.

use std::collections::{HashMap, HashSet};

use crate::Document;

const PENDING_BYTES_MAX: usize = 1 << 20;
/// When there are so many it is to be committed.
const IDS_MAX: usize = 100_000;

#[derive(Default)]
pub(super) struct Pending {
    documents: HashMap<u64, Option<Document>>,
    /// Those that the writer was given.
    ids: HashSet<u64>,
    bytes: usize,
    has_forgotten: bool,
}

impl Pending {
    /// Notes that the writer is given a document of this id; says whether it is the first.
    pub(super) fn is_first(&mut self, id: u64) -> bool {
        self.ids.insert(id)
    }

    pub(super) fn is_crowded(&self) -> bool {
        self.ids.len() >= IDS_MAX
    }

    pub(super) fn put(&mut self, document: Document) {
        let size = document.size() + 64;
        self.note(document.id, Some(document), size);
    }

    pub(super) fn remove(&mut self, id: u64) {
        self.note(id, None, 64);
    }

    /// `Some(None)` is known to be removed.
    #[expect(clippy::option_option, reason = "not known is not the same as not there")]
    pub(super) fn find(&self, id: u64) -> Option<Option<Document>> {
        self.documents.get(&id).cloned()
    }

    pub(super) fn has_forgotten(&self) -> bool {
        self.has_forgotten
    }

    /// Forgets all documents until the next commit: while an index is filled nobody asks for one.
    pub(super) fn keep_none(&mut self) {
        self.documents = HashMap::new();
        self.has_forgotten = true;
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn into_documents(self) -> impl Iterator<Item = (u64, Option<Document>)> {
        self.documents.into_iter()
    }

    fn note(&mut self, id: u64, document: Option<Document>, size: usize) {
        self.bytes += size;
        if self.has_forgotten || self.bytes > PENDING_BYTES_MAX {
            return self.keep_none();
        }
        self.documents.insert(id, document);
    }
}
