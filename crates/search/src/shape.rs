//! What an index holds: its text fields and its attributes.
//!
//! Fields are what words are looked for in; attributes are what is filtered, sorted,
//! grouped and counted by. Both are named by their place from here on.

/// Above this many fields or attributes no shape is opened.
pub(crate) const PARTS_MAX: usize = 256;

/// The fields and attributes of an index's documents.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    /// What the index is called, in messages and by Sphinx's clients.
    pub name: String,
    /// The text fields, in the order of [`crate::Document::fields`].
    pub fields: Vec<FieldShape>,
    /// The attributes, in the order of [`crate::Document::attributes`].
    pub attributes: Vec<AttributeShape>,
    /// Words are found in their other forms too, by the language of the text.
    pub has_stems: bool,
    /// Accents make no difference.
    pub has_folding: bool,
    /// What belongs to words besides letters and digits: `_` as a rule of Sphinx's.
    pub word_characters: String,
}

/// One text field.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldShape {
    /// Its name, as queries write it.
    pub name: String,
    /// How much a word found here counts.
    pub weight: f32,
    /// Whether [`crate::Hit::fields`] shows its text. (It is kept in any case, so that
    /// attributes can change without the source being asked.)
    pub is_stored: bool,
    /// From how many characters on a query's word may be only the beginning of one; from
    /// the first on where nothing is said.
    pub min_prefix: Option<u8>,
}

/// One attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttributeShape {
    /// Its name, as queries write it.
    pub name: String,
    /// What it holds.
    pub kind: AttributeKind,
}

/// What an attribute holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttributeKind {
    /// A number that is not negative.
    Uint,
    /// A number with a sign.
    Bigint,
    /// 0 or 1.
    Bool,
    /// A number with a fraction.
    Float,
    /// Seconds since 1970.
    Timestamp,
    /// A string, compared whole.
    Text,
    /// Several numbers.
    Multi,
}

impl Shape {
    /// A shape without fields and attributes, for [`Shape::field`] and
    /// [`Shape::attribute`] to add to.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            fields: Vec::new(),
            attributes: Vec::new(),
            has_stems: true,
            has_folding: true,
            word_characters: String::new(),
        }
    }

    /// With one field more.
    #[must_use]
    pub fn field(mut self, name: &str, weight: f32) -> Self {
        let name = name.to_owned();
        self.fields.push(FieldShape { name, weight, is_stored: true, min_prefix: None });
        self
    }

    /// With one attribute more.
    #[must_use]
    pub fn attribute(mut self, name: &str, kind: AttributeKind) -> Self {
        self.attributes.push(AttributeShape { name: name.to_owned(), kind });
        self
    }

    /// The shape of a site's pages. A page's id is [`crate::Document::id_of`] its URL.
    #[must_use]
    pub fn pages() -> Self {
        Self::new("pages")
            .field("title", 5.0)
            .field("headings", 2.0)
            .field("text", 1.0)
            .field("address", 1.0)
            .attribute("url", AttributeKind::Text)
            .attribute("language", AttributeKind::Text)
            .attribute("kind", AttributeKind::Text)
            .attribute("changed", AttributeKind::Timestamp)
            .attribute("seen", AttributeKind::Timestamp)
            .attribute("hits", AttributeKind::Uint)
            .attribute("section", AttributeKind::Text)
    }

    /// The place of a field; case makes no difference, as in Sphinx.
    #[must_use]
    pub fn field_at(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name.eq_ignore_ascii_case(name))
    }

    /// The place of an attribute.
    #[must_use]
    pub fn attribute_at(&self, name: &str) -> Option<usize> {
        self.attributes.iter().position(|attribute| attribute.name.eq_ignore_ascii_case(name))
    }

    /// What makes the files of two shapes unlike: names and kinds, not weights.
    pub(crate) fn stamp(&self) -> String {
        let fields: Vec<_> = self.fields.iter().map(|field| field.name.as_str()).collect();
        let attributes: Vec<_> =
            self.attributes.iter().map(|one| format!("{}:{:?}", one.name, one.kind)).collect();
        format!(
            "fields {fields:?} attributes {attributes:?} stems {} folding {}",
            self.has_stems, self.has_folding
        )
    }
}
