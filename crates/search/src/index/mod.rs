//! The index in its folder: what is put into it, when it is seen, and what happens when
//! its files are damaged.
//!
//! Whoever puts waits for nothing but a queue; a thread commits what was put.
//! Invariants: 1. what is put is seen after [`Limits::commit_after`] at most, but while the index
//! is filled ([`Index::gather`]). 2. Between two commits no more than [`BURST_BYTES_MAX`] of
//! text is taken, or [`GATHERED_BYTES_MAX`]: whoever puts more commits. 3. A folder of another
//! format, or one that can't be read, is begun anew; what the former files have can be read once more
//! ([`Former`]).

mod files;
mod former;
mod kept;
mod limits;
mod pending;

pub use files::{IndexError, Opened};
pub(crate) use files::{Parts, attribute_name};
pub use former::Former;
pub use limits::{Counts, Limits};

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use base::complaint::complain;
use parking_lot::{Mutex, RwLock};
use tantivy::indexer::UserOperation;
use tantivy::query::AllQuery;
use tantivy::{IndexReader, Searcher, Term};

use crate::query::{Compiler, Keys, Marker, Planner, Reading, run};
use crate::stored::{Made, Stored};
use crate::text::{Analyzer, Dictionaries, Language};
use crate::{
    Document, FeedKind, Filter, Found, Fragment, Only, Query, Search, SearchError, Seen, Shape,
    Snippets, StoredCounts, Suggestion, Topic, Value, Version, read_query,
};
use files::Files;
use pending::Pending;

/// How much text may be put before it must be committed.
const BURST_BYTES_MAX: usize = 6 << 20;
/// The same while it is filled and nobody looks: each commit ends a part of the index, and parts
/// are joined at a cost.
const GATHERED_BYTES_MAX: usize = 64 << 20;
/// How much of it may wait for the writer: its own queue counts documents and not bytes.
const QUEUE_BYTES_MAX: usize = 256 << 10;
/// For so long whoever puts waits for the queue; then it is committed, which waits as well.
const QUEUE_PATIENCE: Duration = Duration::from_secs(5);
/// Of a field, so much is taken; what is behind is counted and left.
const FIELD_BYTES_MAX: usize = 1 << 20;

/// What comes alone is committed after this part of the pause.
const SOON: u32 = 8;

/// How often a failing search lets the files be read through.
const CHECKS_APART: Duration = Duration::from_secs(60);

/// An index. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Index {
    inner: Arc<Inner>,
    /// Behind it, so that the last clone waits with nothing in hand.
    _last: Arc<Last>,
}

/// Waits at its end until all of the index is gone, also what the committing thread has in hand:
/// whoever opens the folder next finds nobody there.
struct Last(Mutex<Receiver<()>>);

impl Drop for Last {
    fn drop(&mut self) {
        // Nothing is ever sent: it returns when the sender is gone.
        let _ = self.0.get_mut().recv();
    }
}

pub(crate) struct Inner {
    pub(crate) shape: Shape,
    pub(crate) analyzer: Analyzer,
    limits: Limits,
    pub(crate) parts: Arc<Parts>,
    /// What searches look through. Apart from the files, which are locked while a commit
    /// waits for the disk.
    reader: RwLock<IndexReader>,
    files: RwLock<Files>,
    pending: Mutex<Pending>,
    burst_bytes: AtomicUsize,
    is_dirty: AtomicBool,
    is_gathering: AtomicBool,
    wants_sources: AtomicBool,
    /// How often.
    begun_anew: AtomicU64,
    cut_fields: AtomicU64,
    wake: SyncSender<()>,
    pub(crate) stored: Stored,
    /// When the files were last checked.
    looked: Mutex<Option<Instant>>,
    /// Of which commit, and which they are.
    languages: Mutex<Option<(u64, Arc<[Language]>)>>,
    /// The last of it that goes.
    _gone: Sender<()>,
}

impl Index {
    /// Opens the index of a folder, which is made where it isn't there.
    pub fn open(
        folder: &Path,
        shape: Shape,
        limits: Limits,
        dictionaries: impl Into<Dictionaries>,
    ) -> Result<(Self, Opened), IndexError> {
        let analyzer = Analyzer::new(&shape, dictionaries);
        let (files, opened) = Files::open(folder, &shape, &analyzer, &limits)?;
        let was_open = files.mark_open();
        let check = files.check();
        let (wake, woken) = sync_channel(1);
        let (gone, last) = mpsc::channel();
        let inner = Arc::new(Inner {
            shape,
            analyzer,
            parts: files.parts.clone(),
            reader: RwLock::new(files.reader.clone()),
            files: RwLock::new(files),
            pending: Mutex::default(),
            burst_bytes: AtomicUsize::new(0),
            is_dirty: AtomicBool::new(false),
            is_gathering: AtomicBool::new(false),
            wants_sources: AtomicBool::new(opened != Opened::AsItWas),
            begun_anew: AtomicU64::new(0),
            cut_fields: AtomicU64::new(0),
            wake,
            stored: Stored::default(),
            looked: Mutex::new(None),
            languages: Mutex::new(None),
            limits,
            _gone: gone,
        });
        let weak = Arc::downgrade(&inner);
        // Half of the time to gather, the other half to write and open again.
        let pause = inner.limits.commit_after / 2;
        std::thread::Builder::new()
            .name("search-commit".to_owned())
            .spawn(move || {
                if was_open && check() {
                    weak.upgrade().iter().for_each(|index| index.take_for_damaged(0));
                }
                commit_by_itself(&weak, &woken, pause);
            })
            .map_err(|error| IndexError::at(folder, &error))?;
        Ok((Self { inner, _last: Arc::new(Last(Mutex::new(last))) }, opened))
    }

    /// Puts a document, in the place of one of the same id.
    pub fn put(&self, mut document: Document) {
        self.inner.fit(&mut document);
        let is_gathering = self.inner.is_gathering.load(Ordering::Relaxed);
        let most = if is_gathering { GATHERED_BYTES_MAX } else { BURST_BYTES_MAX };
        let is_crowded = self.inner.pending.lock().is_crowded();
        if is_crowded || self.inner.burst_bytes.load(Ordering::Relaxed) > most {
            self.commit();
        }
        self.inner.wait_for_writer();
        let size = Parts::indexed_bytes(&document);
        self.inner.burst_bytes.fetch_add(size, Ordering::Relaxed);
        let language = self.inner.language_of(&document);
        let made = self.inner.parts.make(&document, language);
        let id = document.id;
        let files = self.inner.files.read();
        let number = self.inner.stored.number();
        self.inner.stored.put(number, &document, language, &self.inner.analyzer);
        let (searcher, parts) = self.inner.seen();
        // With the lock, so that of two with one id the second is the one that replaces.
        let mut pending = self.inner.pending.lock();
        let mut operations = Vec::with_capacity(2);
        if !pending.is_first(id) || parts.place(&searcher, id).is_some() {
            let old = Term::from_field_u64(parts.id, id);
            operations.push(UserOperation::Delete(old));
        }
        operations.push(UserOperation::Add(made));
        pending.put(document);
        // A writer that failed is replaced by the commit, which has what was put.
        let _ = files.writer().and_then(|writer| writer.run(operations));
        drop(pending);
        drop(files);
        self.inner.changed();
    }

    /// Takes a document out.
    pub fn remove(&self, id: u64) {
        let files = self.inner.files.read();
        // Most of what is removed was never there, and needs no commit.
        let (is_pending, has_forgotten) = {
            let pending = self.inner.pending.lock();
            (pending.find(id).is_some(), pending.has_forgotten())
        };
        let (searcher, parts) = self.inner.seen();
        if !is_pending && !has_forgotten && parts.place(&searcher, id).is_none() {
            return;
        }
        self.inner.stored.remove(self.inner.stored.number(), id);
        self.inner.pending.lock().remove(id);
        let term = Term::from_field_u64(files.parts.id, id);
        let _ = files.writer().map(|writer| writer.delete_term(term));
        drop(files);
        self.inner.changed();
    }

    /// Takes out what fits all of the conditions; says how many that were.
    pub fn remove_where(&self, filters: &[Filter]) -> Result<usize, SearchError> {
        self.commit();
        let mut removed = 0;
        loop {
            let search = Search {
                filters: filters.to_vec(),
                limit: 10_000,
                max_matches: 10_000,
                sort: vec![crate::Sort { key: crate::SortKey::Id, is_descending: false }],
                ..Search::default()
            };
            let found = self.search(&search)?;
            found.hits.iter().for_each(|hit| self.remove(hit.id));
            removed += found.hits.len();
            if found.hits.is_empty() || found.total_found <= found.hits.len() {
                return Ok(removed);
            }
            self.commit();
        }
    }

    /// Gives attributes, by their places, other values. False where no such document is.
    pub fn update_attributes(&self, id: u64, values: &[(usize, Value)]) -> bool {
        let Some(mut document) = self.get(id) else { return false };
        for (place, value) in values {
            if let Some(old) = document.attributes.get_mut(*place) {
                old.clone_from(value);
            }
        }
        self.put(document);
        true
    }

    /// Takes everything out.
    pub fn clear(&self) {
        let files = self.inner.files.read();
        self.inner.stored.all(self.inner.stored.number());
        self.inner.pending.lock().clear();
        // By a query, which also takes what isn't committed yet.
        let _ = files.writer().and_then(|writer| writer.delete_query(Box::new(AllQuery)));
        drop(files);
        self.inner.changed();
        self.commit();
    }

    /// Makes what was put be seen now.
    pub fn commit(&self) {
        self.inner.commit();
    }

    /// Whether what is put may wait for a commit that somebody asks for: while an index is filled
    /// that nobody looks into.
    pub(crate) fn gather(&self, is_gathering: bool) {
        self.inner.is_gathering.store(is_gathering, Ordering::Relaxed);
        self.inner.files.read().join_seldom(!is_gathering);
        if is_gathering {
            self.inner.pending.lock().keep_none();
        } else {
            self.commit();
        }
    }

    /// A document as it was put, also where it isn't committed yet.
    #[must_use]
    pub fn get(&self, id: u64) -> Option<Document> {
        if let Some(known) = self.inner.pending.lock().find(id) {
            return known;
        }
        if self.inner.pending.lock().has_forgotten() {
            self.commit();
        }
        let (searcher, parts) = self.inner.seen();
        parts.find(&searcher, id)
    }

    /// Answers a search, from what is committed.
    pub fn search(&self, search: &Search) -> Result<Found, SearchError> {
        let (searcher, parts) = self.inner.seen();
        run(&self.inner, &searcher, &parts, search)
    }

    /// How a query might go on: its last word completed, the most frequent first.
    #[must_use]
    pub fn suggest(&self, text: &str, limit: usize) -> Vec<Suggestion> {
        let (searcher, parts) = self.inner.seen();
        crate::query::suggest(&self.inner, &searcher, &parts, text, limit)
    }

    /// Pieces of any text around a query's words, as in one field.
    #[must_use]
    pub fn excerpt(
        &self,
        text: &str,
        field: usize,
        query: &Query,
        wish: &Snippets,
    ) -> Vec<Fragment> {
        let (searcher, parts) = self.inner.seen();
        let compiler = Compiler::new(&self.inner, &searcher, &parts, None);
        let language = self.inner.shape.has_stems.then(|| Language::of(text)).flatten();
        Marker::new(&compiler, query, wish).excerpt(text, field, language)
    }

    /// What it has been given.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.inner.shape
    }

    /// What is done to its texts and queries.
    #[must_use]
    pub fn analyzer(&self) -> &Analyzer {
        &self.inner.analyzer
    }

    /// How many documents can be found: what of [`Index::counts`] costs nothing.
    #[must_use]
    pub fn documents(&self) -> u64 {
        self.inner.seen().0.num_docs()
    }

    /// What is in it.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let (searcher, _) = self.inner.seen();
        Counts {
            documents: searcher.num_docs(),
            segments: searcher.segment_readers().len(),
            disk_bytes: self.inner.files.read().disk_bytes(),
            cut_fields: self.inner.cut_fields.load(Ordering::Relaxed),
        }
    }

    /// The version of a feed's last answer, if nothing has concerned it since and it is no older
    /// than this.
    #[must_use]
    pub fn feed_version(&self, topic: &Topic, kind: FeedKind, holds: Duration) -> Option<Version> {
        self.inner.stored.version(topic, kind, holds)
    }

    /// Keeps a feed's query, which is about to be answered.
    #[must_use]
    pub fn keep_feed(&self, topic: &Topic, query: &Query, only: Only) -> Seen {
        let (searcher, parts) = self.inner.seen();
        let languages = self.inner.languages_of(&searcher, &parts);
        let count = |term: &str| {
            let terms = parts.fields.iter().map(|field| Term::from_field_text(*field, term));
            terms.map(|term| searcher.doc_freq(&term).unwrap_or(0)).sum()
        };
        let limit = self.inner.limits.stored_bytes;
        self.inner.stored.keep(topic, limit, &languages, |languages| {
            let plan = self.inner.planner(languages).plan(query);
            let is_read_so = *query == read_query(&topic.query, &self.inner.shape);
            Made {
                query: (!is_read_so).then(|| query.clone()),
                only,
                reading: Reading::of(&plan),
                keys: Keys::of(&plan, &count),
            }
        })
    }

    /// Notes what a feed's query was answered: the hash of the text, the present in seconds since
    /// 1970, and the documents it shows, which are all that it would show. None where the query
    /// isn't kept.
    pub fn note_feed(
        &self,
        topic: &Topic,
        kind: FeedKind,
        seen: Seen,
        text: (u64, i64),
        shows: &[u64],
    ) -> Option<Version> {
        self.inner.stored.note(topic, kind, seen, text, shows)
    }

    /// A feed is wanted in this form, if its query is kept.
    pub fn want_feed(&self, topic: &Topic, kind: FeedKind) {
        self.inner.stored.want(topic, kind);
    }

    /// The kept feeds that may have changed since this was last asked, at most so many; the others
    /// are told the next time.
    #[must_use]
    pub fn changed_feeds(&self, limit: usize) -> Vec<(Topic, Vec<FeedKind>)> {
        self.inner.stored.changed(limit)
    }

    /// The feeds that are kept, in the forms in which they were asked for; those first that were
    /// asked for last.
    #[must_use]
    pub fn kept_feeds(&self, limit: usize) -> Vec<(Topic, Vec<FeedKind>)> {
        self.inner.stored.feeds(limit)
    }

    /// How many queries are kept.
    #[must_use]
    pub fn stored_counts(&self) -> StoredCounts {
        self.inner.stored.counts()
    }

    /// Whether it was begun anew, so that all sources are to be read again. Once told, it
    /// is so no longer.
    #[must_use]
    pub fn takes_wish_for_sources(&self) -> bool {
        self.inner.wants_sources.swap(false, Ordering::Relaxed)
    }
}

impl Inner {
    pub(crate) fn seen(&self) -> (Searcher, Arc<Parts>) {
        (self.reader.read().searcher(), self.parts.clone())
    }

    /// Waits until there is room in the writer's queue.
    fn wait_for_writer(&self) {
        let begun = Instant::now();
        loop {
            let done = self.files.read().done_bytes.load(Ordering::Relaxed);
            let put = self.burst_bytes.load(Ordering::Relaxed);
            if put.saturating_sub(done) <= QUEUE_BYTES_MAX {
                return;
            }
            if begun.elapsed() > QUEUE_PATIENCE {
                return self.commit();
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Cuts and fills up a document until it has the shape.
    fn fit(&self, document: &mut Document) {
        document.fields.resize(self.shape.fields.len(), String::new());
        for field in &mut document.fields {
            if field.len() > FIELD_BYTES_MAX {
                field.truncate(field.floor_char_boundary(FIELD_BYTES_MAX));
                self.cut_fields.fetch_add(1, Ordering::Relaxed);
            }
        }
        kept::fit(&self.shape, &mut document.attributes);
    }

    /// The languages that there are stems of, found out once for each commit.
    pub(crate) fn languages_of(&self, searcher: &Searcher, parts: &Parts) -> Arc<[Language]> {
        if !self.shape.has_stems {
            return Arc::default();
        }
        let generation = searcher.generation().generation_id();
        let mut known = self.languages.lock();
        if let Some((of, languages)) = &*known
            && *of == generation
        {
            return languages.clone();
        }
        let is_there = |language: &Language| {
            let term = Term::from_field_text(parts.language, language.code());
            searcher.doc_freq(&term).is_ok_and(|documents| documents > 0)
        };
        let languages: Arc<[Language]> = Language::all().filter(is_there).collect();
        *known = Some((generation, languages.clone()));
        languages
    }

    pub(crate) fn language_of(&self, document: &Document) -> Option<Language> {
        if !self.shape.has_stems {
            return None;
        }
        let told = self.shape.attribute_at("language").and_then(|at| document.attributes.get(at));
        if let Some(Value::Text(code)) = told
            && let Some(language) = Language::named(code)
        {
            return Some(language);
        }
        let longest = document.fields.iter().max_by_key(|field| field.len())?;
        Language::of(longest)
    }

    /// Something is to be committed.
    fn changed(&self) {
        self.is_dirty.store(true, Ordering::Release);
        if self.is_gathering.load(Ordering::Relaxed) {
            return;
        }
        // Where it is full the thread is on its way.
        if let Err(TrySendError::Disconnected(())) = self.wake.try_send(()) {
            self.commit();
        }
    }

    pub(crate) fn commit(&self) {
        // First the files: what another is committing at the moment is to be seen behind this too.
        let mut files = self.files.write();
        if !self.is_dirty.swap(false, Ordering::AcqRel) {
            return;
        }
        let result = files.commit();
        // The queue is empty now.
        self.burst_bytes.store(0, Ordering::Relaxed);
        files.done_bytes.store(0, Ordering::Relaxed);
        let pending = std::mem::take(&mut *self.pending.lock());
        if let Err(error) = result {
            self.recover(&mut files, pending, &error.to_string());
            // What is lost concerns everybody.
            self.stored.all(self.stored.number());
        }
        self.note_seen();
    }

    /// What has a number is seen from now on. Whoever calls has the files to themselves.
    fn note_seen(&self) {
        let (searcher, parts) = self.seen();
        let languages = self.languages_of(&searcher, &parts);
        self.stored.commit(self.stored.numbered(), self.planner(&languages), &languages);
    }

    fn planner<'a>(&'a self, languages: &'a [Language]) -> Planner<'a> {
        Planner { shape: &self.shape, analyzer: &self.analyzer, languages }
    }

    /// Nothing can be written: the files are opened again as they were, and what was put
    /// since is put again. Where that can't be, they are begun anew.
    fn recover(&self, files: &mut Files, pending: Pending, reason: &str) {
        let folder = files.folder.display().to_string();
        if files.open_again(&self.analyzer, &self.limits).is_err() {
            complain(format_args!("the search index in {folder} is begun anew: {reason}"));
            return self.begin_anew(files);
        }
        complain(format_args!("the search index in {folder} was opened again: {reason}"));
        self.read_anew(files);
        let forgot = pending.has_forgotten();
        let mut is_put = !forgot;
        for (id, document) in pending.into_documents() {
            self.pending.lock().is_first(id);
            let term = Term::from_field_u64(files.parts.id, id);
            let mut all = vec![UserOperation::Delete(term)];
            all.extend(
                document
                    .map(|one| UserOperation::Add(files.parts.make(&one, self.language_of(&one)))),
            );
            is_put &= files.writer().and_then(|writer| writer.run(all)).is_ok();
        }
        if !(is_put && files.commit().is_ok()) {
            self.wants_sources.store(true, Ordering::Relaxed);
        }
    }

    /// Searches look through other files from now on, whose commits are counted anew.
    fn read_anew(&self, files: &Files) {
        *self.reader.write() = files.reader.clone();
        *self.languages.lock() = None;
    }

    fn begin_anew(&self, files: &mut Files) {
        self.begun_anew.fetch_add(1, Ordering::Relaxed);
        match files.begin_anew(&self.shape, &self.analyzer, &self.limits) {
            Ok(()) => {
                self.read_anew(files);
                self.wants_sources.store(true, Ordering::Relaxed);
            }
            Err(error) => complain(format_args!("{error}")),
        }
    }

    /// A search failed. Where it is the files that are damaged they are begun anew; they
    /// are read for that, and therefore not more often than once a minute.
    pub(crate) fn note_damage(&self, reason: &str) {
        let now = Instant::now();
        {
            let mut looked = self.looked.lock();
            if looked.is_some_and(|last| now.duration_since(last) < CHECKS_APART) {
                return;
            }
            *looked = Some(now);
        }
        let (check, anew) = {
            let files = self.files.read();
            (files.check(), self.begun_anew.load(Ordering::Relaxed))
        };
        if check() {
            self.take_for_damaged(anew);
        } else {
            complain(format_args!("a search in the index {} failed: {reason}", self.shape.name));
        }
    }

    /// Unless it was begun anew since it was looked at.
    fn take_for_damaged(&self, anew: u64) {
        let mut files = self.files.write();
        if self.begun_anew.load(Ordering::Relaxed) != anew {
            return;
        }
        let folder = files.folder.display().to_string();
        complain(format_args!("the search index in {folder} is damaged and begun anew"));
        self.pending.lock().clear();
        self.begin_anew(&mut files);
        self.stored.all(self.stored.number());
        self.note_seen();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.commit();
        self.files.get_mut().mark_closed();
    }
}

/// Commits a while after something was put, until the index is gone: soon where nothing was
/// committed lately, for somebody may wait for the one page; of what comes all the time, what came
/// in a pause together.
fn commit_by_itself(index: &Weak<Inner>, woken: &Receiver<()>, pause: Duration) {
    let mut last: Option<Instant> = None;
    while woken.recv().is_ok() {
        let left = last.map_or(Duration::ZERO, |last| pause.saturating_sub(last.elapsed()));
        std::thread::sleep(left.max(pause / SOON));
        let Some(index) = index.upgrade() else { return };
        index.commit();
        last = Some(Instant::now());
    }
}

#[cfg(test)]
mod tests;
