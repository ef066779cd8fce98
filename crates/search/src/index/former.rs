//! A former index: one of another format, whose documents are put into the one that takes its place.
//!
//! It lies in `former/` beside the new files until all of it was read, also through a restart. What
//! can't be read of it is left out: it is derived data as well.

use std::fs;
use std::path::{Path, PathBuf};

use tantivy::schema::{Field, Value as _};
use tantivy::{ReloadPolicy, Searcher, TantivyDocument};

use crate::Document;

const FOLDER: &str = "former";

/// An index that is read once more, and then removed.
pub struct Former {
    folder: PathBuf,
    searcher: Searcher,
    kept: Field,
}

impl Former {
    /// Lays the files of an index aside; false if they can't be read, or others lie there of which
    /// not all was read yet.
    pub(super) fn lay_aside(folder: &Path, terms: &Path) -> bool {
        let aside = folder.join(FOLDER);
        let is_free = !aside.exists() && tantivy::Index::open_in_dir(terms).is_ok();
        is_free && fs::rename(terms, aside).is_ok()
    }

    /// The one that lies in an index's folder, if there is one that can be read.
    #[must_use]
    pub fn of(folder: &Path) -> Option<Self> {
        let folder = folder.join(FOLDER);
        if !folder.exists() {
            return None;
        }
        let opened = Self::open(&folder);
        if opened.is_none() {
            let _ = fs::remove_dir_all(&folder);
        }
        opened
    }

    fn open(folder: &Path) -> Option<Self> {
        let index = tantivy::Index::open_in_dir(folder).ok()?;
        let kept = index.schema().get_field("kept").ok()?;
        let builder = index.reader_builder().reload_policy(ReloadPolicy::Manual);
        let reader: tantivy::IndexReader = builder.try_into().ok()?;
        Some(Self { folder: folder.to_owned(), searcher: reader.searcher(), kept })
    }

    /// How many documents it has.
    #[must_use]
    pub fn documents(&self) -> u64 {
        self.searcher.num_docs()
    }

    /// Hands over each of them, until `take` says that it wants no more; whether it had all.
    pub fn each(&self, mut take: impl FnMut(Document) -> bool) -> bool {
        for segment in self.searcher.segment_readers() {
            let Ok(store) = segment.get_store_reader(1) else { continue };
            for found in store.iter::<TantivyDocument>(segment.alive_bitset()) {
                let kept = found
                    .ok()
                    .and_then(|found| Document::decode(found.get_first(self.kept)?.as_bytes()?));
                if kept.is_some_and(|document| !take(document)) {
                    return false;
                }
            }
        }
        true
    }

    /// It is not needed any more.
    pub fn remove(self) {
        let folder = self.folder.clone();
        drop(self);
        // What can't be removed is read once more after the next start.
        let _ = fs::remove_dir_all(folder);
    }
}
