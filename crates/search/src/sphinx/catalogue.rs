//! The indexes that clients of Sphinx's protocols see, by their names.
//!
//! Invariants: 1. names are of small letters, digits and `_`, so that they are names of folders.
//! 2. a table that a client made is there again after a restart: its statement is kept beside it.

mod made;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use super::conf::IndexConf;
use super::table::Kind;
use crate::text::Morphemes;
use crate::{AttributeKind, Index, Limits, Shape, Value};

/// Each has a writer's memory.
const TABLES_MAX: usize = 64;

/// One index, as clients see it.
#[derive(Clone)]
pub struct Held {
    /// What they call it.
    pub name: String,
    /// Its documents.
    pub index: Index,
    /// Whether clients may put and remove documents.
    pub is_realtime: bool,
    /// Types of its attributes, in the shape's order.
    pub kinds: Vec<Kind>,
    /// Letters that are as if they weren't there.
    pub ignored: String,
    /// Tags are taken out of texts.
    pub strips_html: bool,
    /// Ids that indexes before this one don't show where both are asked, in order.
    pub killed: Arc<Vec<i64>>,
    /// What clients change of it while another is made in its place.
    pub changes: Changes,
}

/// Attributes that clients changed, for an index that is made meanwhile.
#[derive(Clone, Default)]
pub struct Changes(Arc<Mutex<Option<Vec<Changed>>>>);

/// A document with its attributes' places and values.
pub(super) type Changed = (u64, Vec<(usize, Value)>);

/// More than these are not noted; the next making has them.
const CHANGES_MAX: usize = 100_000;

impl Changes {
    /// Notes them from now on.
    pub(super) fn begin(&self) {
        *self.0.lock() = Some(Vec::new());
    }

    /// Those since then, or since they were last taken.
    pub(super) fn take(&self) -> Vec<Changed> {
        self.0.lock().as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Notes them no more.
    pub(super) fn end(&self) {
        *self.0.lock() = None;
    }

    fn note(&self, id: u64, values: &[(usize, Value)]) {
        if let Some(noted) = self.0.lock().as_mut().filter(|noted| noted.len() < CHANGES_MAX) {
            noted.push((id, values.to_vec()));
        }
    }
}

/// All indexes. Cheap to share.
pub struct Catalogue {
    indexes: RwLock<BTreeMap<String, Arc<Held>>>,
    /// Names that stand for several.
    groups: RwLock<BTreeMap<String, Vec<String>>>,
    /// Names of indexes that are made for the first time.
    expected: RwLock<BTreeSet<String>>,
    folder: PathBuf,
    limits: Limits,
    morphemes: Option<Arc<dyn Morphemes>>,
}

impl Held {
    /// An index whose attributes are of the kinds that its shape shows: sets are of small
    /// numbers, unless `kinds` says otherwise.
    #[must_use]
    pub fn new(name: &str, index: Index, is_realtime: bool) -> Self {
        let kinds = index.shape().attributes.iter().map(|one| kind_of(one.kind)).collect();
        Self {
            name: name.to_owned(),
            index,
            is_realtime,
            kinds,
            ignored: String::new(),
            strips_html: false,
            killed: Arc::default(),
            changes: Changes::default(),
        }
    }

    /// Gives a document's attributes, by their places, other values. False where no such
    /// document is.
    #[must_use]
    pub fn update(&self, id: u64, values: &[(usize, Value)]) -> bool {
        // Before, so that an index that takes this one's place has it in any case.
        self.changes.note(id, values);
        self.index.update_attributes(id, values)
    }

    /// A text as it is indexed or searched for.
    #[must_use]
    pub fn cleaned(&self, text: &str) -> String {
        if self.ignored.is_empty() {
            return text.to_owned();
        }
        text.chars().filter(|letter| !self.ignored.contains(*letter)).collect()
    }

    /// A document's text as it is indexed.
    #[must_use]
    pub fn prepared(&self, text: &str) -> String {
        let cleaned = self.cleaned(text);
        if self.strips_html { super::html::stripped(&cleaned) } else { cleaned }
    }
}

impl Catalogue {
    /// What clients make is kept in `folder`.
    #[must_use]
    pub fn new(folder: PathBuf, limits: Limits, morphemes: Option<Arc<dyn Morphemes>>) -> Self {
        let indexes = RwLock::default();
        let (groups, expected) = (RwLock::default(), RwLock::default());
        Self { indexes, groups, expected, folder, limits, morphemes }
    }

    /// Adds an index, in the place of one of the same name.
    pub fn hold(&self, held: Held) {
        let name = held.name.to_lowercase();
        self.expected.write().remove(&name);
        self.indexes.write().insert(name, Arc::new(held));
    }

    /// Says that an index is being made, to whoever asks for it.
    pub fn expect(&self, name: &str) {
        self.expected.write().insert(name.to_lowercase());
    }

    /// Forgets an index, or a name that stands for several.
    pub fn release(&self, name: &str) {
        let name = name.to_lowercase();
        self.indexes.write().remove(&name);
        self.groups.write().remove(&name);
        self.expected.write().remove(&name);
    }

    /// Lets go of all indexes, once nobody searches any more.
    pub fn close(&self) {
        self.indexes.write().clear();
        self.groups.write().clear();
    }

    /// Why a name stands for nothing, in searchd's words.
    #[must_use]
    pub fn unknown(&self, name: &str) -> String {
        let expected = self.expected.read();
        let members = self.groups.read().get(&name.to_lowercase()).cloned().unwrap_or_default();
        let names = std::iter::once(name.to_lowercase()).chain(members);
        match names.into_iter().find(|name| expected.contains(&name.to_lowercase())) {
            Some(name) => format!("index '{name}' is made for the first time; ask again"),
            None => format!("unknown local index '{name}' in search request"),
        }
    }

    /// Adds a name that stands for several.
    pub fn group(&self, name: &str, members: &[String]) {
        self.groups.write().insert(name.to_lowercase(), members.to_vec());
    }

    /// An index by its name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Arc<Held>> {
        self.indexes.read().get(&name.to_lowercase()).cloned()
    }

    /// All of them, by name.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<Held>> {
        self.indexes.read().values().cloned().collect()
    }

    /// The indexes that a name stands for: `*` is all.
    #[must_use]
    pub fn resolve(&self, name: &str) -> Option<Vec<Arc<Held>>> {
        if name == "*" {
            return Some(self.all());
        }
        if let Some(members) = self.groups.read().get(&name.to_lowercase()) {
            return members.iter().map(|member| self.find(member)).collect();
        }
        Some(vec![self.find(name)?])
    }
}

/// The shape that a real-time index of a `sphinx.conf` has, with its attributes' types. Of a
/// plain one the rows of its sources say which fields there are.
#[must_use]
pub fn shape_of(conf: &IndexConf, fields: &[String], attributes: &[(String, Kind)]) -> Shape {
    let mut shape = Shape::new(&conf.name);
    for name in fields {
        shape = shape.field(name, 1.0);
    }
    for field in &mut shape.fields {
        field.is_stored = false;
        field.min_prefix = conf.min_prefix;
    }
    for (name, kind) in attributes {
        shape = shape.attribute(name, attribute_kind(*kind));
    }
    shape.has_stems = conf.has_stems;
    shape.has_folding = conf.has_folding;
    shape.word_characters.clone_from(&conf.word_characters);
    shape
}

pub(crate) fn attribute_kind(kind: Kind) -> AttributeKind {
    match kind {
        Kind::Uint => AttributeKind::Uint,
        Kind::Timestamp => AttributeKind::Timestamp,
        Kind::Bool => AttributeKind::Bool,
        Kind::Bigint => AttributeKind::Bigint,
        Kind::Float => AttributeKind::Float,
        Kind::Text => AttributeKind::Text,
        Kind::Multi | Kind::MultiBigint => AttributeKind::Multi,
    }
}

fn kind_of(kind: AttributeKind) -> Kind {
    match kind {
        AttributeKind::Uint => Kind::Uint,
        AttributeKind::Timestamp => Kind::Timestamp,
        AttributeKind::Bool => Kind::Bool,
        AttributeKind::Bigint => Kind::Bigint,
        AttributeKind::Float => Kind::Float,
        AttributeKind::Text => Kind::Text,
        AttributeKind::Multi => Kind::Multi,
    }
}
