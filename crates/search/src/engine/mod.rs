//! A site's text in a search engine elsewhere, instead of in an [`crate::Index`]: one for all nodes.
//!
//! In: documents of [`crate::site::shape`], put as they come, and a [`Search`]. Out: [`Found`]. It is
//! spoken to in SphinxQL, which Manticore and Sphinx's real-time indexes understand. Whoever puts
//! waits for nothing but a map (`waiting.rs`); a thread brings it there, and looks now and then
//! whether the engine is still what it was.
//! Left out: facets, relaxing, what may have been meant, wrong letters, counts of words.
//! Invariants: 1. nothing prints a password, or what a driver says. 2. [`Engine::remove`] never waits
//! for the engine. 3. What couldn't be put is told by [`Engine::takes_wish_for_sources`].
//! Bounds: [`waiting::BYTES_MAX`] wait for an engine that is away.

mod address;
mod link;
mod statement;
mod waiting;
mod words;

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use base::complaint::complain;
use parking_lot::Mutex;

use crate::query::{Marker, Planner};
use crate::text::{Analyzer, Dictionaries, Language};
use crate::{Document, Found, Fragment, Hit, Query, Search, Shape, Snippets, Value, site};
pub use address::{EngineAddress, NoEngineAddress};
use link::{Cells, Link};
use waiting::Waiting;

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// An engine that couldn't be reached is left alone for so long.
const AWAY: Duration = Duration::from_millis(500);
/// How often it is looked at.
const BEAT: Duration = Duration::from_secs(2);
/// What comes within this goes there together.
const SOON: Duration = Duration::from_millis(50);
/// So much text goes there in one statement, or one document.
const BATCH_BYTES: usize = 1 << 20;
/// Connections that are kept for whoever asks next.
const LINKS_MAX: usize = 8;

/// What went wrong between an engine and us.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Trouble {
    /// It can't be asked at all.
    Away(String),
    /// It doesn't do this.
    Refused(String),
}

/// Why an engine can't be used, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// It can't be asked.
    #[error("the search engine {0} is away: {1}; start it, or correct search_engine")]
    Away(String, String),
    /// It is asked again in vain.
    #[error("the search engine {0} refuses what it is asked: {1}")]
    Refused(String, String),
    /// The index isn't there, or isn't what it must be.
    #[error(
        "the search engine {engine} {what}; make the index by these lines of sphinx.conf:\n{cure}"
    )]
    Unfit {
        /// Where it is.
        engine: String,
        /// What is wrong with it.
        what: String,
        /// What makes it right.
        cure: String,
    },
}

/// An index of an engine. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    address: EngineAddress,
    shape: Shape,
    analyzer: Analyzer,
    /// Those that nobody uses at the moment.
    links: Mutex<Vec<Link>>,
    waiting: Mutex<Waiting>,
    /// Held by whoever brings there what waits.
    bringing: Mutex<()>,
    standing: Mutex<Standing>,
    wants_sources: AtomicBool,
    wake: SyncSender<()>,
}

/// How the engine stands.
#[derive(Default)]
struct Standing {
    trouble: Option<EngineError>,
    /// It isn't tried before this.
    away_until: Option<Instant>,
    /// A connection ended since it was looked at.
    was_cut: bool,
    documents: u64,
}

/// Looks whether an engine can be used; how many documents it has. Whoever calls may wait.
pub fn try_engine(address: &EngineAddress) -> Result<u64, EngineError> {
    let told = |trouble| told(address, trouble);
    let mut link = Link::connect(&address.address).map_err(told)?;
    examine(address, &mut link)
}

/// The same by a connection that is there.
fn examine(address: &EngineAddress, link: &mut Link) -> Result<u64, EngineError> {
    let unfit = |what: String| EngineError::Unfit {
        engine: address.to_string(),
        what,
        cure: statement::cure(&address.index),
    };
    let columns = match link.ask(&statement::describe(&address.index), PATIENCE) {
        Ok(columns) => columns,
        Err(Trouble::Refused(why)) => {
            return Err(unfit(format!("has no index {} ({why})", address.index)));
        }
        Err(trouble) => return Err(told(address, trouble)),
    };
    let missing = statement::missing(&columns);
    if !missing.is_empty() {
        let missing = missing.join(", ");
        return Err(unfit(format!("has an index {} without {missing}", address.index)));
    }
    let counted = link.ask(&statement::count(&address.index), PATIENCE);
    let counted = counted.map_err(|trouble| told(address, trouble))?;
    let cell = counted.first().and_then(|row| row.last());
    Ok(cell.and_then(|count| count.parse().ok()).unwrap_or(0))
}

fn told(address: &EngineAddress, trouble: Trouble) -> EngineError {
    match trouble {
        Trouble::Away(why) => EngineError::Away(address.to_string(), why),
        Trouble::Refused(why) => EngineError::Refused(address.to_string(), why),
    }
}

impl Engine {
    /// Connects to an engine whose index is as it must be. Whoever calls may wait.
    pub fn open(
        address: &EngineAddress,
        dictionaries: impl Into<Dictionaries>,
    ) -> Result<Self, EngineError> {
        let documents = try_engine(address)?;
        let shape = site::shape();
        let analyzer = Analyzer::new(&shape, dictionaries);
        let (wake, woken) = sync_channel(1);
        let inner = Arc::new(Inner {
            address: address.clone(),
            shape,
            analyzer,
            links: Mutex::default(),
            waiting: Mutex::default(),
            bringing: Mutex::default(),
            standing: Mutex::new(Standing { documents, ..Standing::default() }),
            wants_sources: AtomicBool::new(false),
            wake,
        });
        let weak = Arc::downgrade(&inner);
        std::thread::Builder::new()
            .name("search-engine".to_owned())
            .spawn(move || bring_by_itself(&weak, &woken))
            .map_err(|error| EngineError::Away(address.to_string(), error.to_string()))?;
        Ok(Self { inner })
    }

    /// Puts a document, in the place of one of the same id. Where much waits, it waits as well.
    pub fn put(&self, document: Document) {
        let is_crowded = self.inner.waiting.lock().put(document);
        if is_crowded && self.inner.bring().is_err() {
            self.inner.waiting.lock().forget();
        }
        self.inner.wake();
    }

    /// Takes a document out.
    pub fn remove(&self, id: u64) {
        self.inner.waiting.lock().remove(id);
        self.inner.wake();
    }

    /// A document without its text, also where it isn't there yet.
    pub fn get(&self, id: u64) -> Result<Option<Document>, EngineError> {
        if let Some(known) = self.inner.waiting.lock().find(id) {
            return Ok(known);
        }
        let found = self.inner.ask(&[&statement::find(&self.inner.address.index, &[id])])?;
        let hit = found.into_iter().flatten().find_map(|row| statement::hit(row, false));
        Ok(hit.map(|hit| Document { id, fields: Vec::new(), attributes: hit.attributes }))
    }

    /// Which of these documents it has.
    pub fn known(&self, ids: &[u64]) -> Result<HashSet<u64>, EngineError> {
        if ids.is_empty() {
            return Ok(HashSet::new());
        }
        let found = self.inner.ask(&[&statement::find(&self.inner.address.index, ids)])?;
        let found = found.into_iter().flatten();
        let mut known: HashSet<u64> =
            found.filter_map(|row| statement::hit(row, false)).map(|hit| hit.id).collect();
        let waiting = self.inner.waiting.lock();
        for id in ids {
            match waiting.find(*id) {
                Some(Some(_)) => known.insert(*id),
                Some(None) => known.remove(id),
                None => continue,
            };
        }
        Ok(known)
    }

    /// Answers a search, from what the engine has.
    pub fn search(&self, search: &Search) -> Result<Found, EngineError> {
        let inner = &self.inner;
        let refused = |trouble| told(&inner.address, trouble);
        let Some(select) = statement::select(&inner.address.index, search).map_err(refused)? else {
            return Ok(Found::default());
        };
        let mut answers = match inner.ask(&[&select, "SHOW META"]) {
            Err(error @ EngineError::Refused(..)) => {
                // It is the search, unless it is the index.
                return Err(inner.look().err().unwrap_or(error));
            }
            answers => answers?,
        };
        let meta = answers.pop().unwrap_or_default();
        let rows = answers.pop().unwrap_or_default();
        let has_texts = search.has_fields;
        let hits = rows.into_iter().filter_map(|row| statement::hit(row, has_texts));
        let mut hits: Vec<Hit> = hits.take(search.limit).collect();
        if let Some(wish) = &search.snippets {
            let query = search.query.clone().widened(&search.synonyms);
            hits.iter_mut().for_each(|hit| inner.mark(hit, &query, wish));
        }
        let total_found = total_of(&meta).unwrap_or(hits.len());
        let total = total_found.min(search.max_matches);
        Ok(Found { hits, total, total_found, ..Found::default() })
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
        let language = Language::of(text);
        self.inner.planned(language, |planner| {
            Marker::alone(planner, query, wish).excerpt(text, field, language)
        })
    }

    /// What it has been given.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.inner.shape
    }

    /// How many documents it had when it was looked at last.
    #[must_use]
    pub fn documents(&self) -> u64 {
        self.inner.standing.lock().documents
    }

    /// Why it can't be used at the moment.
    #[must_use]
    pub fn trouble(&self) -> Option<EngineError> {
        self.inner.standing.lock().trouble.clone()
    }

    /// Brings there what waits, as far as it can be.
    pub fn commit(&self) {
        // What waits on is told of when it is given up.
        let _ = self.inner.bring();
    }

    /// Whether something was lost, so that all sources are to be read again. Once told, it is so no
    /// longer.
    #[must_use]
    pub fn takes_wish_for_sources(&self) -> bool {
        self.inner.wants_sources.swap(false, Ordering::Relaxed)
    }
}

fn total_of(meta: &[Cells]) -> Option<usize> {
    let row = meta.iter().find(|row| row.first().is_some_and(|name| name == "total_found"))?;
    row.get(1)?.parse().ok()
}

impl Inner {
    fn wake(&self) {
        // Where it is full the thread is on its way.
        let _ = self.wake.try_send(());
    }

    /// The answers to statements, one after the other by one connection.
    fn ask(&self, statements: &[&str]) -> Result<Vec<Vec<Cells>>, EngineError> {
        let idle = self.links.lock().pop();
        let was_idle = idle.is_some();
        let mut asked = self.ask_by(idle, statements);
        // The one that was kept may be of an engine that has begun anew since.
        if was_idle && matches!(asked, Err(EngineError::Away(..))) {
            self.links.lock().clear();
            self.standing.lock().was_cut = true;
            asked = self.ask_by(None, statements);
        }
        if let Err(error @ EngineError::Away(..)) = &asked {
            self.note_trouble(error);
        }
        asked
    }

    fn ask_by(
        &self,
        link: Option<Link>,
        statements: &[&str],
    ) -> Result<Vec<Vec<Cells>>, EngineError> {
        let told = |trouble| told(&self.address, trouble);
        let mut link = match link {
            Some(link) => link,
            None => self.connect()?,
        };
        let answers = statements.iter().map(|one| link.ask(one, PATIENCE)).collect();
        if !matches!(answers, Err(Trouble::Away(_))) {
            self.keep(link);
        }
        Result::map_err(answers, told)
    }

    fn connect(&self) -> Result<Link, EngineError> {
        {
            let standing = self.standing.lock();
            if let (Some(until), Some(trouble)) = (standing.away_until, &standing.trouble)
                && Instant::now() < until
            {
                return Err(trouble.clone());
            }
        }
        Link::connect(&self.address.address).map_err(|trouble| {
            // Only here: or whoever asks all the time would put off the next trial for ever.
            self.standing.lock().away_until = Some(Instant::now() + AWAY);
            told(&self.address, trouble)
        })
    }

    fn keep(&self, link: Link) {
        let mut links = self.links.lock();
        if links.len() < LINKS_MAX {
            links.push(link);
        }
    }

    fn note_trouble(&self, error: &EngineError) {
        let mut standing = self.standing.lock();
        if standing.trouble.replace(error.clone()).is_none() {
            complain(format_args!("{error}"));
        }
    }

    /// Looks at the engine, and notes how it stands.
    fn look(&self) -> Result<(), EngineError> {
        let idle = self.links.lock().pop();
        let looked = idle.map_or_else(|| self.connect(), Ok).and_then(|mut link| {
            let documents = examine(&self.address, &mut link)?;
            self.keep(link);
            Ok(documents)
        });
        match looked {
            Ok(documents) => {
                self.note_back(documents);
                Ok(())
            }
            Err(error) => {
                self.links.lock().clear();
                self.note_trouble(&error);
                Err(error)
            }
        }
    }

    fn note_back(&self, documents: u64) {
        let mut standing = self.standing.lock();
        let before = std::mem::replace(&mut standing.documents, documents);
        standing.away_until = None;
        let was_cut = std::mem::take(&mut standing.was_cut);
        let was_away = standing.trouble.take().is_some();
        drop(standing);
        if was_away {
            complain(format_args!("the search engine {} is back", self.address));
        }
        // One that was killed may not have all that it had.
        let has_less = (was_away || was_cut) && documents < before;
        if has_less || self.waiting.lock().takes_loss() {
            self.wants_sources.store(true, Ordering::Relaxed);
        }
    }

    /// Brings there what waits; whether there was any.
    fn bring(&self) -> Result<bool, EngineError> {
        let _one_at_a_time = self.bringing.lock();
        let mut is_any = false;
        loop {
            let batch = self.waiting.lock().batch(BATCH_BYTES);
            if batch.is_empty() {
                return Ok(is_any);
            }
            is_any = true;
            let removed: Vec<u64> =
                batch.iter().filter(|one| one.document.is_none()).map(|one| one.id).collect();
            if !removed.is_empty() {
                self.ask(&[&statement::delete(&self.address.index, &removed)])?;
            }
            let put: Vec<&Document> =
                batch.iter().filter_map(|one| one.document.as_deref()).collect();
            self.bring_documents(&put)?;
            self.waiting.lock().done(&batch);
        }
    }

    fn bring_documents(&self, documents: &[&Document]) -> Result<(), EngineError> {
        if documents.is_empty() {
            return Ok(());
        }
        let all = statement::replace(&self.address.index, documents.iter().copied());
        let refused = match self.ask(&[&all]) {
            Err(error @ EngineError::Refused(..)) => error,
            other => return other.map(drop),
        };
        // Where it isn't the index, it is one of these.
        self.look()?;
        if let [only] = documents {
            complain(format_args!("a page isn't found (document {}): {refused}", only.id));
            return Ok(());
        }
        documents.iter().try_for_each(|one| self.bring_documents(&[*one]))
    }

    /// Makes a hit's excerpts, of the text that came with it.
    fn mark(&self, hit: &mut Hit, query: &Query, wish: &Snippets) {
        let told = self.shape.attribute_at("language").and_then(|at| hit.attributes.get(at));
        let language = match told {
            Some(Value::Text(code)) => Language::named(code),
            _ => None,
        };
        let text = || hit.fields.iter().max_by_key(|text| text.len());
        let language = language.or_else(|| Language::of(text()?));
        let fields = std::mem::take(&mut hit.fields);
        let document = Document { id: hit.id, fields, attributes: Vec::new() };
        hit.snippets = self.planned(language, |planner| {
            Marker::alone(planner, query, wish).snippets(&document, language)
        });
        hit.fields = document.fields;
    }

    /// With what plans words for a text in this language.
    fn planned<T>(&self, language: Option<Language>, with: impl FnOnce(&Planner<'_>) -> T) -> T {
        let languages: Vec<Language> = language.into_iter().collect();
        with(&Planner { shape: &self.shape, analyzer: &self.analyzer, languages: &languages })
    }
}

/// Brings what waits to the engine and looks at it now and then, until nobody has it any more.
fn bring_by_itself(engine: &Weak<Inner>, woken: &Receiver<()>) {
    let mut looked = Instant::now();
    let mut pause = BEAT;
    loop {
        match woken.recv_timeout(pause) {
            Ok(()) => std::thread::sleep(SOON),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let Some(engine) = engine.upgrade() else { return };
        let is_in_trouble = engine.standing.lock().trouble.is_some();
        if is_in_trouble || looked.elapsed() >= BEAT {
            looked = Instant::now();
            // Noted, and told where it is new.
            let _ = engine.look();
        }
        // What it has now is counted at once, so that it is known what it loses.
        if engine.standing.lock().trouble.is_none() && engine.bring() == Ok(true) {
            let _ = engine.look();
        }
        pause = if engine.standing.lock().trouble.is_some() { AWAY } else { BEAT };
    }
}
