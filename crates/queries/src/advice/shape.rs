//! The shape of a statement, as far as it decides which index helps.
//!
//! In: a statement or its fingerprint. Out: its tables, what it compares with what, and
//! its order. Pure.
//! Invariant: what isn't understood is left out, or makes a statement have no shape;
//! nothing is guessed. A condition beside an `OR` is no condition.

use crate::tokens::{Dialect, Kind, Token, Tokens};

/// Tokens beyond which a statement isn't looked at.
const TOKENS_MAX: usize = 4000;
/// Words that end a clause.
const CLAUSES: &[&str] = &[
    "from",
    "where",
    "group",
    "having",
    "order",
    "limit",
    "set",
    "offset",
    "for",
    "window",
    "returning",
    "values",
    "fetch",
    "into",
    "lock",
    "procedure",
];

/// A table as a statement names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) name: String,
    pub(super) alias: String,
    /// Whether rows of those before it are told without one of its own: it is looked up.
    pub(super) is_optional: bool,
}

/// What a statement changes, as far as indexes have to be kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Change {
    /// Nothing.
    #[default]
    None,
    /// Rows come or go.
    Rows,
    /// These columns of rows, in lower case.
    Columns(Vec<String>),
}

/// A column as a statement names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) qualifier: Option<String>,
    pub(super) name: String,
}

/// How a column is compared with values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compared {
    /// With one.
    Equal,
    /// With one of several.
    In,
    /// With a bound.
    Range,
}

/// What decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Shape {
    /// What is changed, in the first table.
    pub(super) change: Change,
    pub(super) tables: Vec<Table>,
    pub(super) conditions: Vec<(Column, Compared)>,
    pub(super) joins: Vec<(Column, Column)>,
    /// Columns of `ORDER BY`, if they have one direction and rows aren't grouped first.
    pub(super) order: Vec<Column>,
    /// Whether only the first few rows are wanted.
    pub(super) has_limit: bool,
    /// Whether there are conditions that aren't among those told here.
    pub(super) has_more: bool,
}

impl Shape {
    /// The shape of a statement, if it has one.
    pub(super) fn of(statement: &[u8], dialect: Dialect) -> Option<Self> {
        let all: Vec<_> = Tokens::new(statement, dialect)
            .filter(|token| !matches!(token.kind, Kind::HintOpen | Kind::HintClose))
            .take(TOKENS_MAX)
            .collect();
        let mut words = Words(&all);
        let mut shape = Self::default();
        let mut is_grouped = false;
        match words.word()?.as_str() {
            "select" => {
                is_grouped = words.peek_is("distinct");
                words.skip_to(&["from"]);
            }
            "delete" => {
                shape.change = Change::Rows;
                words.skip_to(&["from"]);
            }
            "update" => shape.tables(&mut words)?,
            "insert" | "replace" => return Self::insert(&mut words),
            _ => return None,
        }
        while let Some(clause) = words.word() {
            match clause.as_str() {
                "from" => shape.tables(&mut words)?,
                "where" => {
                    let clause = words.clause();
                    shape.conditions(clause);
                }
                "set" => shape.change = Change::Columns(assigned(words.clause())),
                "order" => shape.order(&mut words),
                "limit" | "fetch" => {
                    shape.has_limit = true;
                    words.clause();
                }
                "group" => {
                    is_grouped = true;
                    words.clause();
                }
                "union" | "intersect" | "except" => return None,
                _ => drop(words.clause()),
            }
        }
        if is_grouped {
            shape.order.clear();
        }
        Some(shape).filter(|shape| !shape.tables.is_empty())
    }

    fn insert(words: &mut Words<'_>) -> Option<Self> {
        words.skip_to(&["into"]);
        words.word()?;
        let name = words.name()?;
        let table = Table { alias: name.clone(), name, is_optional: false };
        Some(Self { change: Change::Rows, tables: vec![table], ..Self::default() })
    }

    /// `a AS b, c JOIN d ON …`
    fn tables(&mut self, words: &mut Words<'_>) -> Option<()> {
        let mut is_optional = false;
        loop {
            let name = words.name()?;
            let alias = words.alias().unwrap_or_else(|| name.clone());
            self.tables.push(Table { name, alias, is_optional });
            is_optional = false;
            if words.peek_is("on") {
                words.word();
                let condition = words.until_join();
                self.conditions(condition);
            } else if words.peek_is("using") {
                return None;
            }
            if words.take_kind(Kind::Comma) {
                continue;
            }
            let mut is_joined = false;
            while let Some(word) = words.peek_word().filter(|_| !is_joined) {
                match word.as_str() {
                    "join" | "straight_join" => is_joined = true,
                    "left" => is_optional = true,
                    "right" => self.tables.iter_mut().for_each(|table| table.is_optional = true),
                    "inner" | "outer" | "cross" => {}
                    word if CLAUSES.contains(&word) => return Some(()),
                    // Hints, samples, unions: nothing that is known.
                    _ => return None,
                }
                words.word();
            }
            if !is_joined {
                return words.ends().then_some(());
            }
        }
    }

    fn conditions(&mut self, tokens: &[Token<'_>]) {
        if top(tokens).any(|token| is(token, "or") || is(token, "xor") || token.text == b"||") {
            self.has_more = true;
            return;
        }
        for part in parts(tokens) {
            if let [first, inner @ .., last] = part
                && first.kind == Kind::Open
                && last.kind == Kind::Close
                && closes(part) == Some(part.len() - 1)
            {
                self.conditions(inner);
                continue;
            }
            self.condition(part);
        }
    }

    fn condition(&mut self, part: &[Token<'_>]) {
        let known = self.conditions.len() + self.joins.len();
        self.known_condition(part);
        self.has_more |= self.conditions.len() + self.joins.len() == known;
    }

    fn known_condition(&mut self, part: &[Token<'_>]) {
        let Some((column, rest)) = column(part) else {
            // `5 = a`
            if let [value, sign, rest @ ..] = part
                && value.kind == Kind::Literal
                && let (Some((column, [])), Some(compared)) = (column(rest), sign_of(sign))
            {
                self.conditions.push((column, compared));
            }
            return;
        };
        let compared = match rest {
            [sign, value] if value.kind == Kind::Literal => match sign_of(sign) {
                Some(compared) => compared,
                None => return,
            },
            [word, open, values @ .., close]
                if is(word, "in") && open.kind == Kind::Open && close.kind == Kind::Close =>
            {
                let is_plain =
                    |token: &Token<'_>| matches!(token.kind, Kind::Literal | Kind::Comma);
                if !values.iter().all(is_plain) {
                    return;
                }
                Compared::In
            }
            [word, low, and, high]
                if is(word, "between") && is(and, "and") && low.kind == high.kind =>
            {
                Compared::Range
            }
            [word, null] if is(word, "is") && is(null, "null") => Compared::Equal,
            [sign, rest @ ..] if sign.text == b"=" => {
                if let Some((other, [])) = self::column(rest) {
                    self.joins.push((column, other));
                }
                return;
            }
            _ => return,
        };
        self.conditions.push((column, compared));
    }

    fn order(&mut self, words: &mut Words<'_>) {
        words.word();
        let clause = words.clause();
        let mut directions = Vec::new();
        let mut columns = Vec::new();
        for part in clause.split(|token| token.kind == Kind::Comma) {
            let Some((column, rest)) = column(part) else { return };
            let is_down = match rest {
                [] => false,
                [word] if is(word, "asc") => false,
                [word] if is(word, "desc") => true,
                _ => return,
            };
            directions.push(is_down);
            columns.push(column);
        }
        if directions.windows(2).all(|pair| pair[0] == pair[1]) {
            self.order = columns;
        }
    }
}

/// Tokens that are still to be read.
struct Words<'a>(&'a [Token<'a>]);

impl<'a> Words<'a> {
    fn peek_word(&self) -> Option<String> {
        self.0.first().filter(|token| token.kind == Kind::Word).map(lower)
    }

    fn peek_is(&self, word: &str) -> bool {
        self.0.first().is_some_and(|token| is(token, word))
    }

    fn ends(&self) -> bool {
        self.0.iter().all(|token| token.kind == Kind::Semicolon)
    }

    /// The next word of the clauses' own level; what isn't one is passed over.
    fn word(&mut self) -> Option<String> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        match first.kind {
            Kind::Word => Some(lower(first)),
            Kind::Open => None,
            _ => self.word(),
        }
    }

    fn take_kind(&mut self, kind: Kind) -> bool {
        match self.0.split_first() {
            Some((first, rest)) if first.kind == kind => {
                self.0 = rest;
                true
            }
            _ => false,
        }
    }

    /// `name` or `database.name`, without the database.
    fn name(&mut self) -> Option<String> {
        let mut told = None;
        loop {
            let (first, rest) = self.0.split_first()?;
            if !matches!(first.kind, Kind::Word | Kind::Quoted) {
                return None;
            }
            told.replace(unquoted(first));
            self.0 = rest;
            if !self.take_kind(Kind::Dot) {
                return told;
            }
        }
    }

    fn alias(&mut self) -> Option<String> {
        const NONE: [&str; 16] = [
            "on",
            "using",
            "join",
            "inner",
            "left",
            "right",
            "outer",
            "cross",
            "natural",
            "use",
            "force",
            "ignore",
            "straight_join",
            "union",
            "intersect",
            "except",
        ];
        if self.peek_is("as") {
            self.word();
        }
        let first = self.0.first()?;
        let is_name = match first.kind {
            Kind::Quoted => true,
            Kind::Word => {
                let word = lower(first);
                !NONE.contains(&word.as_str()) && !CLAUSES.contains(&word.as_str())
            }
            _ => false,
        };
        if !is_name {
            return None;
        }
        self.0 = &self.0[1..];
        Some(unquoted(first))
    }

    fn skip_to(&mut self, words: &[&str]) {
        let at = position(self.0, |token| words.iter().any(|word| is(token, word)));
        self.0 = &self.0[at..];
    }

    /// What stands up to the next clause.
    fn clause(&mut self) -> &'a [Token<'a>] {
        let is_end = |token: &Token<'_>| {
            token.kind == Kind::Semicolon
                || CLAUSES.iter().any(|word| is(token, word))
                || ["union", "intersect", "except"].iter().any(|word| is(token, word))
        };
        let at = position(self.0, is_end);
        let (clause, rest) = self.0.split_at(at);
        self.0 = rest;
        clause
    }

    fn until_join(&mut self) -> &'a [Token<'a>] {
        const JOINS: [&str; 7] =
            ["join", "inner", "left", "right", "cross", "straight_join", "natural"];
        let is_end = |token: &Token<'_>| {
            matches!(token.kind, Kind::Comma | Kind::Semicolon)
                || CLAUSES.iter().chain(&JOINS).any(|word| is(token, word))
        };
        let at = position(self.0, is_end);
        let (clause, rest) = self.0.split_at(at);
        self.0 = rest;
        clause
    }
}

/// Where the first token that `is_it` stands outside all groups, or the end.
fn position(tokens: &[Token<'_>], is_it: impl Fn(&Token<'_>) -> bool) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::Open => depth += 1,
            Kind::Close => depth = depth.saturating_sub(1),
            _ if depth == 0 && is_it(token) => return at,
            _ => {}
        }
    }
    tokens.len()
}

/// The tokens outside all groups.
fn top<'a>(tokens: &'a [Token<'a>]) -> impl Iterator<Item = &'a Token<'a>> {
    let mut depth = 0_usize;
    tokens.iter().filter(move |token| {
        match token.kind {
            Kind::Open => depth += 1,
            Kind::Close => depth = depth.saturating_sub(1),
            _ => return depth == 0,
        }
        false
    })
}

/// Where the group closes that `tokens` begin with.
fn closes(tokens: &[Token<'_>]) -> Option<usize> {
    let mut depth = 0_usize;
    tokens.iter().position(|token| {
        match token.kind {
            Kind::Open => depth += 1,
            Kind::Close => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    })
}

/// The columns that `SET` gives values, in lower case.
fn assigned(tokens: &[Token<'_>]) -> Vec<String> {
    let mut all = Vec::new();
    let mut rest = tokens;
    while !rest.is_empty() {
        let end = position(rest, |token| token.kind == Kind::Comma);
        all.extend(column(&rest[..end]).map(|(column, _)| column.name.to_lowercase()));
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    all
}

/// What `AND` joins; the one of `BETWEEN` joins nothing.
fn parts<'a>(tokens: &'a [Token<'a>]) -> Vec<&'a [Token<'a>]> {
    let (mut all, mut start, mut depth, mut is_between) = (Vec::new(), 0, 0_usize, false);
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::Open => depth += 1,
            Kind::Close => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            _ if is(token, "between") => is_between = true,
            _ if is(token, "and") || token.text == b"&&" => {
                // The first behind `BETWEEN` is its own.
                match std::mem::take(&mut is_between) {
                    true => continue,
                    false => all.push(&tokens[start..at]),
                }
                start = at + 1;
            }
            _ => {}
        }
    }
    all.push(&tokens[start..]);
    all
}

/// The column that `tokens` begin with.
fn column<'a>(tokens: &'a [Token<'a>]) -> Option<(Column, &'a [Token<'a>])> {
    let is_name = |token: &Token<'_>| matches!(token.kind, Kind::Word | Kind::Quoted);
    let mut names = Vec::new();
    let mut rest = tokens;
    loop {
        let (first, behind) = rest.split_first()?;
        if !is_name(first) || is(first, "not") || is(first, "null") || first.text[0] == b'@' {
            return None;
        }
        names.push(unquoted(first));
        rest = behind;
        match rest.split_first() {
            Some((dot, behind)) if dot.kind == Kind::Dot => rest = behind,
            // A function.
            Some((open, _)) if open.kind == Kind::Open => return None,
            _ => break,
        }
    }
    let name = names.pop()?;
    Some((Column { qualifier: names.pop(), name }, rest))
}

fn sign_of(token: &Token<'_>) -> Option<Compared> {
    match token.text {
        b"=" | b"<=>" => Some(Compared::Equal),
        b"<" | b">" | b"<=" | b">=" => Some(Compared::Range),
        _ => None,
    }
}

fn is(token: &Token<'_>, word: &str) -> bool {
    token.kind == Kind::Word && token.text.eq_ignore_ascii_case(word.as_bytes())
}

fn lower(token: &Token<'_>) -> String {
    String::from_utf8_lossy(token.text).to_ascii_lowercase()
}

/// A name as it is, without its quotes.
fn unquoted(token: &Token<'_>) -> String {
    let text = String::from_utf8_lossy(token.text);
    match token.kind {
        Kind::Quoted => {
            let quote = text.chars().next().unwrap_or('"');
            let inner = text.trim_start_matches(quote).trim_end_matches(quote);
            inner.replace(&format!("{quote}{quote}"), &quote.to_string())
        }
        _ => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(shape: &Shape) -> String {
        let name = |column: &Column| match &column.qualifier {
            Some(qualifier) => format!("{qualifier}.{}", column.name),
            None => column.name.clone(),
        };
        let tables = shape.tables.iter().map(|table| format!("{}:{}", table.name, table.alias));
        let conditions =
            shape.conditions.iter().map(|(column, how)| format!("{} {how:?}", name(column)));
        let joins = shape.joins.iter().map(|(one, other)| format!("{}={}", name(one), name(other)));
        let order = shape.order.iter().map(|column| format!("by {}", name(column)));
        let change = match &shape.change {
            Change::Columns(columns) => vec![format!("sets {}", columns.join(","))],
            _ => Vec::new(),
        };
        let marks = [(shape.has_limit, "first"), (shape.has_more, "more")];
        let marks = marks.iter().filter(|mark| mark.0).map(|mark| mark.1.to_owned());
        let all = tables.chain(conditions).chain(joins).chain(order).chain(change).chain(marks);
        all.collect::<Vec<_>>().join("; ")
    }

    fn check(statement: &str, expected: &str) {
        let shape = Shape::of(statement.as_bytes(), Dialect::MySql);
        assert_eq!(shape.as_ref().map(shown).unwrap_or_default(), expected, "{statement}");
    }

    #[test]
    fn what_decides_is_read() {
        check(
            "SELECT a FROM `site`.`posts` WHERE topic = 5 AND at > '2026' ORDER BY at DESC LIMIT 5",
            "posts:posts; topic Equal; at Range; by at; first",
        );
        check(
            "select p.a from posts p join users as u on u.id = p.user where (u.name = ? and p.b in (?+)) and p.c between ? and ?",
            "posts:p; users:u; u.name Equal; p.b In; p.c Range; u.id=p.user",
        );
        check("UPDATE t SET a = 1 WHERE 5 = b AND c IS NULL", "t:t; b Equal; c Equal; sets a");
        check("UPDATE t SET a = f(b, 1), `C` = 2 WHERE b = 5", "t:t; b Equal; sets a,c");
        check("DELETE FROM t WHERE a <=> 3", "t:t; a Equal");
        check("INSERT INTO t (a) VALUES (1)", "t:t");
        check("SELECT a FROM t WHERE b = 1 ORDER BY c, d", "t:t; b Equal; by c; by d");
    }

    #[test]
    fn what_is_not_certain_is_left_out() {
        check("SELECT a FROM t WHERE b = 1 OR c = 2", "t:t; more");
        check(
            "SELECT a FROM t WHERE NOT b = 1 AND f(c) = 2 AND d <> 3 AND e LIKE 'x'",
            "t:t; more",
        );
        check("SELECT a FROM t WHERE b IN (SELECT c FROM d)", "t:t; more");
        check("SELECT a, COUNT(*) FROM t WHERE b = 1 GROUP BY a ORDER BY a", "t:t; b Equal");
        check("SELECT DISTINCT a FROM t ORDER BY a", "t:t");
        check("SELECT a FROM t ORDER BY b, c DESC", "t:t");
        check("SELECT a FROM t UNION SELECT b FROM u", "");
        check("SELECT 1", "");
        check("SELECT a FROM (SELECT 1) b", "");
    }
}
