//! What a client of SphinxQL can say.

/// A value as it was written. A number in quotes is a text until its attribute's type is known:
/// PHP's drivers quote all that they bind.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// A whole number.
    Int(i64),
    /// Another number.
    Float(f64),
    /// A text.
    Text(String),
    /// Several.
    List(Vec<Literal>),
}

/// One statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// A search, or the rows of an index.
    Select(Box<Select>),
    /// Rows; `replaces` those that have the same id.
    Insert {
        /// The index.
        index: String,
        /// Its columns, as they were named.
        columns: Vec<String>,
        /// Rows, each with its values.
        rows: Vec<Vec<Literal>>,
        /// Whether rows of the same ids go.
        replaces: bool,
    },
    /// New values of attributes.
    Update {
        /// The index.
        index: String,
        /// Attributes and what they become.
        values: Vec<(String, Literal)>,
        /// Which rows.
        filter: Where,
    },
    /// Rows go.
    Delete {
        /// The index.
        index: String,
        /// Which rows.
        filter: Where,
    },
    /// All rows go.
    Truncate(String),
    /// An index begins.
    CreateTable(CreateTable),
    /// An index ends.
    DropTable {
        /// Its name.
        name: String,
        /// Whether it is no error where that is so already.
        is_optional: bool,
    },
    /// What there was to say of the last query.
    ShowMeta,
    /// Warnings of the last query.
    ShowWarnings,
    /// Counters, with names like this.
    ShowStatus(Option<String>),
    /// Indexes, with names like this.
    ShowTables(Option<String>),
    /// Settings that clients look for, with names like this.
    ShowVariables(Option<String>),
    /// The one order of letters.
    ShowCollation,
    /// The one character set.
    ShowCharacterSet,
    /// An index's columns.
    Describe(String),
    /// Texts with a query's words marked.
    Snippets {
        /// The texts.
        texts: Vec<String>,
        /// The index.
        index: String,
        /// What is marked.
        query: String,
        /// What else is said.
        options: Vec<Named>,
    },
    /// A text's words as they are indexed.
    Keywords {
        /// The text.
        text: String,
        /// The index.
        index: String,
        /// Whether words are counted.
        has_hits: bool,
    },
    /// Words like this one.
    Suggest {
        /// The text.
        text: String,
        /// The index.
        index: String,
        /// What else is said.
        options: Vec<Named>,
    },
    /// Accepted, and changes nothing: SET, BEGIN, COMMIT, USE, FLUSH.
    Nothing,
    /// A transaction's rows stay: each was taken as it came.
    Rollback,
}

/// A value with a name.
pub type Named = (String, Literal);

/// A search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Select {
    /// What is wanted of each row.
    pub columns: Vec<Column>,
    /// None, where something is asked of the server itself.
    pub indexes: Vec<String>,
    /// Which rows.
    pub filter: Where,
    /// One row of each group.
    pub group_by: Option<String>,
    /// Which row of a group.
    pub within: Vec<Order>,
    /// In which order; none: the best first.
    pub order: Vec<Order>,
    /// Rows passed over.
    pub offset: usize,
    /// Rows wanted.
    pub limit: usize,
    /// `OPTION`.
    pub options: Options,
}

/// Conditions, all of which must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Where {
    /// What the text must match.
    pub matching: Option<String>,
    /// What attributes must be.
    pub conditions: Vec<Condition>,
}

/// What an attribute must be.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// Its name, as the select list may call it.
    pub name: String,
    /// What it must be,
    pub test: Test,
    /// or must not.
    pub is_excluded: bool,
}

/// What a value is held against.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// One of these.
    In(Vec<Literal>),
    /// Between, with whether the end is included.
    Range {
        /// From here, where that is said.
        least: Option<(Literal, bool)>,
        /// Up to here, where that is said.
        most: Option<(Literal, bool)>,
    },
}

/// A column of the answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// What it is.
    pub value: Expression,
    /// What it is called, which is how it was written where it has no alias.
    pub name: String,
}

/// What can be asked of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// All of it.
    Star,
    /// The document's number.
    Id,
    /// How well it matches.
    Weight,
    /// How many rows its group has.
    Count,
    /// What its group has in common.
    GroupBy,
    /// How many values of an attribute its group has.
    Distinct(String),
    /// An attribute or a stored text.
    Attribute(String),
    /// The same for all.
    Literal(Literal),
    /// Of the server.
    System(String),
    /// Two, and what is done with them.
    Binary(Box<Expression>, Operator, Box<Expression>),
}

/// What is done with two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`, never whole
    Divide,
    /// `%`
    Remainder,
}

/// One key of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// As it was written, without spaces: `weight()`, `@id`, `forum_id`.
    pub key: String,
    /// The largest first.
    pub is_descending: bool,
}

/// What follows `OPTION`, as much of it as is obeyed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// How matches are weighed.
    pub ranker: Option<String>,
    /// Matches that are kept.
    pub max_matches: Option<usize>,
    /// The search ends after so many.
    pub cutoff: Option<usize>,
    /// The search ends after so long.
    pub max_query_milliseconds: Option<u32>,
    /// By name.
    pub field_weights: Vec<(String, u32)>,
    /// By name.
    pub index_weights: Vec<(String, u32)>,
    /// Options that are accepted and not obeyed.
    pub not_obeyed: Vec<String>,
}

/// An index as `CREATE TABLE` describes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CreateTable {
    /// Its name.
    pub name: String,
    /// No error where it is there.
    pub is_optional: bool,
    /// Names, types and what follows those, in small letters.
    pub columns: Vec<(String, String, Vec<String>)>,
    /// `morphology = '…'` and others.
    pub options: Vec<Named>,
}
