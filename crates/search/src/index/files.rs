//! The files of an index, by tantivy, and the format that they have.
//!
//! In the folder: `format`, which says what made the files, and `terms/`. What has another
//! format, or can't be opened, is removed or laid aside and begun anew: an index is derived data.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use tantivy::SegmentMeta;
use tantivy::directory::error::{LockError, OpenReadError};
use tantivy::indexer::{
    IndexWriterOptions, LogMergePolicy, MergeCandidate, MergePolicy, NoMergePolicy,
};
use tantivy::schema::{
    BytesOptions, FAST, Field, INDEXED, IndexRecordOption, STORED, STRING, Schema,
    TextFieldIndexing, TextOptions, Value as _,
};
use tantivy::{
    DocAddress, IndexReader, IndexSettings, IndexWriter, ReloadPolicy, Searcher, TantivyDocument,
    TantivyError, Term,
};

use super::former::Former;
use crate::shape::PARTS_MAX;
use crate::text::{Analyzer, Language, Stream, marked};
use crate::{AttributeKind, Document, Limits, Shape, Value};

/// Rises with every change of what is written or of how text becomes terms.
const FORMAT: u32 = 2;
const ANALYSIS: &str = "wick";
/// Parts are joined early, for each is looked into by every search.
const PARTS_JOINED: usize = 4;
const PARTS_JOINED_SELDOM: usize = 8;
/// No more at once: what a joining holds in memory grows with the distinct words in them.
const PARTS_JOINED_MOST: usize = 16;
/// Parts of up to so many documents are of one size: to join a larger one with what came within the
/// last seconds would be to write all of it every few seconds.
const SMALL_PART: u32 = 1000;
/// How many blocks of kept documents each part of the index keeps unpacked.
const KEPT_BLOCKS: usize = 8;

/// How an index was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opened {
    /// There was none.
    Fresh,
    /// As it was left.
    AsItWas,
    /// It was begun anew for this reason: all sources are to be read again.
    BegunAnew(String),
}

/// Why an index can't be opened.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The folder can't be used.
    #[error(
        "the search index in {folder} can't be opened: {reason}; check the folder's owner and the room on its disk"
    )]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What was wrong.
        reason: String,
    },
    /// Another process writes to it: at an upgrade, ask again when that one is gone.
    #[error("the search index in {0} is in use by another process")]
    InUse(PathBuf),
    /// Too many fields or attributes, or two of one name.
    #[error("{0}")]
    Shape(String),
}

impl IndexError {
    pub(super) fn at(folder: &Path, reason: &dyn std::fmt::Display) -> Self {
        Self::Folder { folder: folder.to_owned(), reason: reason.to_string() }
    }
}

/// The fields of the files, by their places in the shape.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) id: Field,
    pub(crate) kept: Field,
    pub(crate) language: Field,
    pub(crate) fields: Vec<Field>,
    pub(crate) attributes: Vec<Field>,
    schema: Schema,
}

/// The files, open.
pub(super) struct Files {
    pub(super) folder: PathBuf,
    pub(super) reader: IndexReader,
    pub(super) parts: Arc<Parts>,
    /// None where none could be had after a failure; a commit tries again.
    writer: Option<IndexWriter>,
    /// How much text its writer has come by since it was there.
    pub(super) done_bytes: Arc<AtomicUsize>,
}

/// Is there while a process has the index, and after it was killed.
const OPEN_MARK: &str = "open";

impl Files {
    pub(super) fn open(
        folder: &Path,
        shape: &Shape,
        analyzer: &Analyzer,
        limits: &Limits,
    ) -> Result<(Self, Opened), IndexError> {
        let parts = Arc::new(Parts::of(shape)?);
        let terms = folder.join("terms");
        fs::create_dir_all(&terms).map_err(|error| IndexError::at(folder, &error))?;
        let stamp = stamp(shape, analyzer);
        let mut lays_aside = false;
        let opened = match fs::read_to_string(folder.join("format")) {
            Ok(found) if found == stamp => Opened::AsItWas,
            Ok(found) => {
                // Of another shape nobody could tell which field is which.
                lays_aside = limits.keeps_former && found.contains(&shape.stamp());
                Opened::BegunAnew("it was written in another format".to_owned())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound && is_empty(&terms) => {
                Opened::Fresh
            }
            Err(error) => Opened::BegunAnew(format!("its format can't be read: {error}")),
        };
        if opened == Opened::AsItWas {
            match Self::open_terms(folder, parts.clone(), analyzer, limits) {
                Ok(files) => return Ok((files, opened)),
                Err(error) if is_busy(&error) => return Err(IndexError::InUse(folder.to_owned())),
                Err(error) => {
                    let files = Self::create(folder, parts, analyzer, limits, (&stamp, false))?;
                    return Ok((files, Opened::BegunAnew(error.to_string())));
                }
            }
        }
        let files = Self::create(folder, parts, analyzer, limits, (&stamp, lays_aside))?;
        Ok((files, opened))
    }

    fn open_terms(
        folder: &Path,
        parts: Arc<Parts>,
        analyzer: &Analyzer,
        limits: &Limits,
    ) -> tantivy::Result<Self> {
        let index = tantivy::Index::open_in_dir(folder.join("terms"))?;
        Self::begin(folder, index, parts, analyzer, limits)
    }

    /// Removes what is there, or lays it aside, and begins.
    fn create(
        folder: &Path,
        parts: Arc<Parts>,
        analyzer: &Analyzer,
        limits: &Limits,
        (stamp, lays_aside): (&str, bool),
    ) -> Result<Self, IndexError> {
        let at = |error: &dyn std::fmt::Display| IndexError::at(folder, error);
        let terms = folder.join("terms");
        // Whoever writes there must have let go before anything is removed.
        if let Ok(old) = tantivy::Index::open_in_dir(&terms)
            && let Err(error) = old.writer_with_num_threads::<TantivyDocument>(1, 15_000_000)
            && is_busy(&error)
        {
            return Err(IndexError::InUse(folder.to_owned()));
        }
        if !(lays_aside && Former::lay_aside(folder, &terms)) {
            fs::remove_dir_all(&terms).map_err(|error| at(&error))?;
        }
        fs::create_dir_all(&terms).map_err(|error| at(&error))?;
        let settings = IndexSettings {
            // One thread less; its work is done where the text is.
            docstore_compress_dedicated_thread: false,
            ..IndexSettings::default()
        };
        let index = tantivy::Index::builder()
            .schema(parts.schema.clone())
            .settings(settings)
            .create_in_dir(&terms)
            .map_err(|error| at(&error))?;
        let files =
            Self::begin(folder, index, parts, analyzer, limits).map_err(|error| at(&error))?;
        fs::write(folder.join("format"), stamp).map_err(|error| at(&error))?;
        Ok(files)
    }

    fn begin(
        folder: &Path,
        index: tantivy::Index,
        parts: Arc<Parts>,
        analyzer: &Analyzer,
        limits: &Limits,
    ) -> tantivy::Result<Self> {
        let done_bytes: Arc<AtomicUsize> = Arc::default();
        let stream = Stream { analyzer: analyzer.clone(), done_bytes: done_bytes.clone() };
        index.tokenizers().register(ANALYSIS, stream);
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .num_merge_threads(1)
            .memory_budget_per_thread(limits.writer_bytes.max(15_000_000))
            .build();
        let writer = index.writer_with_options(options)?;
        writer.set_merge_policy(Box::new(Joining::of(PARTS_JOINED)));
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .doc_store_cache_num_blocks(KEPT_BLOCKS)
            .try_into()?;
        Ok(Self { folder: folder.to_owned(), reader, parts, writer: Some(writer), done_bytes })
    }

    pub(super) fn writer(&self) -> tantivy::Result<&IndexWriter> {
        self.writer.as_ref().ok_or_else(no_writer)
    }

    /// Joins none from now on, or few: what is filled at once has few parts, each joining reads and
    /// writes all of them again, and behind the filling it has the writer's memory.
    pub(super) fn join_seldom(&self, is_filled: bool) {
        let Some(writer) = &self.writer else { return };
        writer.set_merge_policy(match is_filled {
            true => Box::new(Joining::of(PARTS_JOINED_SELDOM)),
            false => Box::new(NoMergePolicy),
        });
    }

    pub(super) fn commit(&mut self) -> tantivy::Result<()> {
        self.writer.as_mut().ok_or_else(no_writer)?.commit()?;
        self.reader.reload()
    }

    /// After a failure: the files as they were at the last commit, with another writer.
    pub(super) fn open_again(
        &mut self,
        analyzer: &Analyzer,
        limits: &Limits,
    ) -> tantivy::Result<()> {
        // It holds the lock of the folder.
        self.writer = None;
        let parts = self.parts.clone();
        *self = Self::open_terms(&self.folder.clone(), parts, analyzer, limits)?;
        Ok(())
    }

    pub(super) fn begin_anew(
        &mut self,
        shape: &Shape,
        analyzer: &Analyzer,
        limits: &Limits,
    ) -> Result<(), IndexError> {
        // It holds the lock of the folder.
        self.writer = None;
        let stamp = stamp(shape, analyzer);
        let parts = self.parts.clone();
        *self = Self::create(&self.folder, parts, analyzer, limits, (&stamp, false))?;
        Ok(())
    }

    /// What reads all files through: whether a sum is wrong.
    pub(super) fn check(&self) -> impl FnOnce() -> bool + use<> {
        let index = self.reader.searcher().index().clone();
        move || is_damaged(&index)
    }

    /// Notes that a process has the index; says whether the last one had to let go of it.
    pub(super) fn mark_open(&self) -> bool {
        let mark = self.folder.join(OPEN_MARK);
        let was_open = mark.exists();
        // Without it nothing is worse than that a check is not made.
        let _ = fs::write(mark, b"");
        was_open
    }

    pub(super) fn mark_closed(&self) {
        let _ = fs::remove_file(self.folder.join(OPEN_MARK));
    }

    pub(super) fn disk_bytes(&self) -> u64 {
        let Ok(entries) = fs::read_dir(self.folder.join("terms")) else { return 0 };
        entries.flatten().filter_map(|entry| Some(entry.metadata().ok()?.len())).sum()
    }
}

impl Parts {
    fn of(shape: &Shape) -> Result<Self, IndexError> {
        if shape.fields.len() > PARTS_MAX || shape.attributes.len() > PARTS_MAX {
            let name = &shape.name;
            return Err(IndexError::Shape(format!(
                "the search index {name} has more than {PARTS_MAX} fields or attributes"
            )));
        }
        let mut schema = Schema::builder();
        let id = schema.add_u64_field("id", FAST | INDEXED);
        let kept = schema.add_bytes_field("kept", BytesOptions::default() | STORED);
        let language = schema.add_text_field("language", STRING);
        let indexing = TextFieldIndexing::default()
            .set_tokenizer(ANALYSIS)
            .set_index_option(IndexRecordOption::WithFreqsAndPositions);
        let text = TextOptions::default().set_indexing_options(indexing);
        let fields = (0..shape.fields.len())
            .map(|at| schema.add_text_field(&field_name(at), text.clone()))
            .collect();
        let attributes = (shape.attributes.iter().enumerate())
            .map(|(at, attribute)| match attribute.kind {
                AttributeKind::Float => schema.add_f64_field(&attribute_name(at), FAST),
                AttributeKind::Text => schema
                    .add_text_field(&attribute_name(at), TextOptions::default().set_fast("raw")),
                _ => schema.add_i64_field(&attribute_name(at), FAST),
            })
            .collect();
        Ok(Self { id, kept, language, fields, attributes, schema: schema.build() })
    }

    /// How much text the writer will come by for a document.
    pub(super) fn indexed_bytes(document: &Document) -> usize {
        let texts = document.fields.iter().filter(|text| !text.is_empty());
        texts.map(|text| text.len() + 1).sum()
    }

    pub(super) fn make(&self, document: &Document, language: Option<Language>) -> TantivyDocument {
        let mut made = TantivyDocument::new();
        made.add_u64(self.id, document.id);
        made.add_bytes(self.kept, &document.encode());
        if let Some(language) = language {
            made.add_text(self.language, language.code());
        }
        for (field, text) in self.fields.iter().zip(&document.fields) {
            if !text.is_empty() {
                made.add_text(*field, marked(text, language));
            }
        }
        for (field, value) in self.attributes.iter().zip(&document.attributes) {
            match value {
                Value::Int(number) => made.add_i64(*field, *number),
                Value::Float(number) => made.add_f64(*field, *number),
                Value::Text(text) => made.add_text(*field, text),
                Value::Multi(values) => values.iter().for_each(|one| made.add_i64(*field, *one)),
            }
        }
        made
    }

    /// The place of a document.
    pub(crate) fn place(&self, searcher: &Searcher, id: u64) -> Option<DocAddress> {
        let term = Term::from_field_u64(self.id, id);
        for (at, segment) in (0..).zip(searcher.segment_readers()) {
            let postings = segment
                .inverted_index(self.id)
                .and_then(|terms| Ok(terms.read_postings(&term, IndexRecordOption::Basic)?));
            let Ok(Some(mut postings)) = postings else { continue };
            let mut document = tantivy::DocSet::doc(&postings);
            while document != tantivy::TERMINATED {
                if !segment.is_deleted(document) {
                    return Some(DocAddress::new(at, document));
                }
                document = tantivy::DocSet::advance(&mut postings);
            }
        }
        None
    }

    pub(super) fn find(&self, searcher: &Searcher, id: u64) -> Option<Document> {
        self.read(searcher, self.place(searcher, id)?)
    }

    /// The document at a place, as it was put.
    pub(crate) fn read(&self, searcher: &Searcher, place: DocAddress) -> Option<Document> {
        let found: TantivyDocument = searcher.doc(place).ok()?;
        Document::decode(found.get_first(self.kept)?.as_bytes()?)
    }
}

/// The name that an attribute has in the files.
pub(crate) fn attribute_name(at: usize) -> String {
    format!("a{at}")
}

fn field_name(at: usize) -> String {
    format!("f{at}")
}

/// Joins so many parts of about one size, or more of them.
#[derive(Debug)]
struct Joining(LogMergePolicy);

impl Joining {
    fn of(parts: usize) -> Self {
        let mut merges = LogMergePolicy::default();
        merges.set_min_num_segments(parts);
        merges.set_min_layer_size(SMALL_PART);
        merges.set_del_docs_ratio_before_merge(0.3);
        Self(merges)
    }
}

impl MergePolicy for Joining {
    fn compute_merge_candidates(&self, segments: &[SegmentMeta]) -> Vec<MergeCandidate> {
        let all = self.0.compute_merge_candidates(segments);
        let groups = all.iter().flat_map(|MergeCandidate(parts)| {
            let groups = parts.chunks(PARTS_JOINED_MOST);
            // One alone is joined with nothing, but to be rid of what was removed from it.
            groups.filter(|group| group.len() > 1 || parts.len() == 1)
        });
        groups.map(|group| MergeCandidate(group.to_vec())).collect()
    }
}

fn stamp(shape: &Shape, analyzer: &Analyzer) -> String {
    format!("{FORMAT} {} {}\n", shape.stamp(), analyzer.stamp())
}

fn is_damaged(index: &tantivy::Index) -> bool {
    for _ in 0..3 {
        let sums =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| index.validate_checksum()));
        match sums {
            Ok(Ok(wrong)) => return !wrong.is_empty(),
            // A merge took it away meanwhile; once more, with the files that there are now.
            Ok(Err(TantivyError::OpenReadError(OpenReadError::FileDoesNotExist(_)))) => {}
            _ => return true,
        }
    }
    true
}

fn no_writer() -> TantivyError {
    TantivyError::SystemError("there is no writer".to_owned())
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

fn is_busy(error: &TantivyError) -> bool {
    matches!(error, TantivyError::LockFailure(LockError::LockBusy, _))
}
