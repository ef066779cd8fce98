//! Sphinx's query languages: extended, boolean, and the plain modes.
//!
//! Extended: words are all wanted; `|` one of both, `-` or `!` leaves out, brackets group,
//! `"a b"` a phrase, `"a b"~N` words near each other, `"a b c"/N` a quorum, `a << b` in this
//! order, `a NEAR/N b`, `a MAYBE b`, `=a` that form only, `^a` and `a$` the first and the
//! last word of a field, `a*` where the index allows it, `@field`, `@(one,two)`, `@!field`,
//! `@*`, `@field[N]`, `a^1.5`.
//! Invariant: what goes in, comes to an end, and no tree is deeper than `DEPTH_MAX`.

use super::site::{has_letters, open_word};
use super::tree::{DEPTH_MAX, Form, Query, QueryError, WORDS_MAX, Word};
use crate::Shape;

/// How a text is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SphinxMode {
    /// All of the words.
    All,
    /// One of the words.
    Any,
    /// The words in a row.
    Phrase,
    /// `&`, `|`, `-` and brackets.
    Boolean,
    /// The whole language.
    Extended,
    /// Every document.
    Fullscan,
}

/// Reads a text as Sphinx does.
pub fn read_sphinx(text: &str, shape: &Shape, mode: SphinxMode) -> Result<Query, QueryError> {
    let plain = || text.split_whitespace().filter(|one| has_letters(one)).take(WORDS_MAX);
    let words = || plain().map(|one| Query::Word(open_word(one, false))).collect::<Vec<_>>();
    match mode {
        SphinxMode::Fullscan => Ok(Query::All),
        SphinxMode::All => Ok(Query::all_of(words())),
        SphinxMode::Any => Ok(Query::one_of(words())),
        SphinxMode::Phrase => {
            let words: Vec<_> = plain().map(|one| open_word(one, false)).collect();
            Ok(if words.is_empty() { Query::All } else { Query::Phrase(words) })
        }
        SphinxMode::Boolean | SphinxMode::Extended => {
            let is_extended = mode == SphinxMode::Extended;
            let mut reader = Reader { text, at: 0, shape, is_extended, words: 0, scope: None };
            let query = reader.row(0)?;
            reader.skip_space();
            if reader.at < text.len() {
                return Err(reader.wrong("unexpected ')'"));
            }
            Ok(query.unwrap_or(Query::All))
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    shape: &'a Shape,
    is_extended: bool,
    words: usize,
    /// The fields that the last `@` named.
    scope: Option<Scope>,
}

#[derive(Clone)]
struct Scope {
    fields: Vec<usize>,
    within: Option<u32>,
}

type Read = Result<Option<Query>, QueryError>;

impl<'a> Reader<'a> {
    fn wrong(&self, reason: &str) -> QueryError {
        QueryError { reason: format!("syntax error: {reason}"), at: self.at }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn eat(&mut self, what: &str) -> bool {
        let is_there = self.rest().starts_with(what);
        if is_there {
            self.at += what.len();
        }
        is_there
    }

    /// Takes an operator that is a word.
    fn eat_word(&mut self, what: &str) -> bool {
        let behind = self.rest().strip_prefix(what).map(|rest| rest.chars().next());
        let is_there = matches!(behind, Some(next) if next.is_none_or(|one| one.is_whitespace() || one == '('));
        if is_there {
            self.at += what.len();
        }
        is_there
    }

    /// Parts that are all wanted, until a bracket closes or the text ends. `|` binds two
    /// parts before they join the row, as Sphinx has it: `a b | c d` is a, one of b and c,
    /// and d.
    fn row(&mut self, depth: usize) -> Read {
        if depth > DEPTH_MAX {
            return Err(self.wrong("too many brackets"));
        }
        let mut parts: Vec<Query> = Vec::new();
        loop {
            self.skip_space();
            if self.rest().is_empty() || self.rest().starts_with(')') {
                break;
            }
            if self.eat("&") {
                continue;
            }
            if self.eat("|") {
                return Err(self.wrong("unexpected '|'"));
            }
            let Some(first) = self.chain(depth)? else { continue };
            let mut either = vec![first];
            loop {
                self.skip_space();
                if !self.eat("|") {
                    break;
                }
                self.skip_space();
                if self.rest().is_empty() || self.rest().starts_with([')', '|']) {
                    return Err(self.wrong("something is missing behind '|'"));
                }
                either.extend(self.chain(depth)?);
            }
            parts.push(Query::one_of(either));
        }
        Ok((!parts.is_empty()).then(|| Query::all_of(parts)))
    }

    /// Parts with `<<`, `NEAR/N` or `MAYBE` between them.
    fn chain(&mut self, depth: usize) -> Read {
        let Some(mut left) = self.part(depth)? else { return Ok(None) };
        if !self.is_extended {
            return Ok(Some(left));
        }
        for _ in 0..WORDS_MAX {
            self.skip_space();
            if self.eat("<<") {
                self.skip_space();
                let Some(right) = self.part(depth)? else { continue };
                left = match left {
                    Query::Before(mut parts) => {
                        parts.push(right);
                        Query::Before(parts)
                    }
                    other => Query::Before(vec![other, right]),
                };
            } else if self.rest().starts_with("NEAR/") {
                self.at += "NEAR/".len();
                let distance = self.number().ok_or_else(|| self.wrong("NEAR/ wants a number"))?;
                self.skip_space();
                let Some(right) = self.part(depth)? else { continue };
                left = match left {
                    Query::Near { mut parts, distance: own } if own == distance => {
                        parts.push(right);
                        Query::Near { parts, distance }
                    }
                    other => Query::Near { parts: vec![other, right], distance },
                };
            } else if self.eat_word("MAYBE") {
                self.skip_space();
                let Some(right) = self.part(depth)? else { continue };
                if depth_of(&left) > DEPTH_MAX {
                    return Err(self.wrong("too many MAYBE"));
                }
                left = Query::Maybe(Box::new(left), Box::new(right));
            } else {
                break;
            }
        }
        Ok(Some(left))
    }

    fn part(&mut self, depth: usize) -> Read {
        if depth > DEPTH_MAX {
            return Err(self.wrong("too deep"));
        }
        self.skip_space();
        if self.eat("-") || self.eat("!") {
            let inner = self.part(depth + 1)?;
            return Ok(inner.map(|inner| Query::Not(Box::new(inner))));
        }
        if self.eat("(") {
            let scope = self.scope.clone();
            let inner = self.row(depth + 1)?;
            self.scope = scope;
            self.skip_space();
            if !self.eat(")") {
                return Err(self.wrong("a bracket isn't closed"));
            }
            return Ok(inner);
        }
        if self.is_extended && self.rest().starts_with('@') {
            self.field()?;
            return Ok(None);
        }
        let query = if self.is_extended && self.rest().starts_with('"') {
            self.phrase()?
        } else {
            self.word()?
        };
        Ok(query.map(|query| match &self.scope {
            Some(Scope { fields, within }) => {
                Query::Field { fields: fields.clone(), within: *within, query: Box::new(query) }
            }
            None => query,
        }))
    }

    fn field(&mut self) -> Result<(), QueryError> {
        self.at += 1;
        if self.eat("*") {
            self.scope = None;
            return Ok(());
        }
        let is_without = self.eat("!");
        let mut fields = Vec::new();
        if self.eat("(") {
            loop {
                self.skip_space();
                fields.push(self.field_name()?);
                self.skip_space();
                if self.eat(")") {
                    break;
                }
                if !self.eat(",") {
                    return Err(self.wrong("a list of fields isn't closed"));
                }
            }
        } else {
            fields.push(self.field_name()?);
        }
        let mut within = None;
        if self.eat("[") {
            within = Some(self.number().ok_or_else(|| self.wrong("[ wants a number"))?);
            if !self.eat("]") {
                return Err(self.wrong("expected ']'"));
            }
        }
        if is_without {
            fields = (0..self.shape.fields.len()).filter(|one| !fields.contains(one)).collect();
        }
        self.scope = Some(Scope { fields, within });
        Ok(())
    }

    fn field_name(&mut self) -> Result<usize, QueryError> {
        let rest = self.rest();
        let is_name = |one: char| one.is_alphanumeric() || one == '_';
        let end = rest.find(|one| !is_name(one)).unwrap_or(rest.len());
        let name = &rest[..end];
        let place = self.shape.field_at(name).ok_or_else(|| QueryError {
            reason: format!("query error: no field '{name}' found in schema"),
            at: self.at,
        })?;
        self.at += end;
        Ok(place)
    }

    fn number(&mut self) -> Option<u32> {
        let rest = self.rest();
        let end = rest.find(|one: char| !one.is_ascii_digit()).unwrap_or(rest.len());
        let number = rest[..end].parse().ok()?;
        self.at += end;
        Some(number)
    }

    fn phrase(&mut self) -> Read {
        self.at += 1;
        let rest = self.rest();
        // A quote behind a backslash is part of the text.
        let mut end = None;
        let mut is_escaped = false;
        for (at, one) in rest.char_indices() {
            match one {
                '"' if !is_escaped => {
                    end = Some(at);
                    break;
                }
                _ => is_escaped = one == '\\' && !is_escaped,
            }
        }
        let Some(end) = end else { return Err(self.wrong("a quote isn't closed")) };
        let words: Vec<Word> = (rest[..end].split_whitespace())
            .filter(|one| has_letters(one))
            .take(WORDS_MAX - self.words.min(WORDS_MAX))
            .map(written)
            .collect();
        self.words += words.len();
        self.at += end + 1;
        let parts = |words: Vec<Word>| words.into_iter().map(Query::Word).collect();
        if self.eat("~") {
            let distance = self.number().ok_or_else(|| self.wrong("~ wants a number"))?;
            return Ok((!words.is_empty()).then(|| Query::Near { parts: parts(words), distance }));
        }
        if self.eat("/") {
            let at_least = self.quorum(words.len())?;
            return Ok((!words.is_empty()).then(|| Query::Quorum { parts: parts(words), at_least }));
        }
        Ok((!words.is_empty()).then_some(Query::Phrase(words)))
    }

    /// A number of words, or a share of them: `/3`, `/0.5`.
    fn quorum(&mut self, count: usize) -> Result<usize, QueryError> {
        let rest = self.rest();
        let end = rest.find(|one: char| !one.is_ascii_digit() && one != '.').unwrap_or(rest.len());
        let number: f64 = rest[..end].parse().map_err(|_| self.wrong("/ wants a number"))?;
        self.at += end;
        #[expect(clippy::cast_precision_loss, reason = "a query has few words")]
        let wanted = if number < 1.0 { (number * count as f64).ceil() } else { number };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "digits and a point are never negative, and it saturates"
        )]
        Ok((wanted as usize).max(1))
    }

    fn word(&mut self) -> Read {
        let rest = self.rest();
        let mut end = rest.len();
        let mut is_escaped = false;
        for (at, one) in rest.char_indices() {
            let is_special = match one {
                '(' | ')' | '|' | '"' => true,
                '&' | '!' | '@' => at > 0 && !self.is_extended || one == '&',
                _ => one.is_whitespace(),
            };
            if is_special && !is_escaped && (at > 0 || one != '"' || self.is_extended) {
                end = at;
                break;
            }
            is_escaped = one == '\\' && !is_escaped;
        }
        // Something is taken in any case, so that the text comes to an end.
        let end = end.max(rest.chars().next().map_or(0, char::len_utf8));
        self.at += end;
        let text = &rest[..end];
        if !has_letters(text) {
            return Ok(None);
        }
        self.words += 1;
        if self.words > WORDS_MAX {
            return Err(self.wrong("too many words"));
        }
        Ok(Some(Query::Word(if self.is_extended { written(text) } else { open_word(text, false) })))
    }
}

/// A word with its marks.
fn written(text: &str) -> Word {
    let (text, is_first) = text.strip_prefix('^').map_or((text, false), |text| (text, true));
    let (text, is_exact) = text.strip_prefix('=').map_or((text, false), |text| (text, true));
    let (text, is_last) = text.strip_suffix('$').map_or((text, false), |text| (text, true));
    let (text, boost) = match text.rsplit_once('^') {
        Some((text, boost)) => match boost.parse::<f32>() {
            Ok(boost) if boost.is_finite() && boost >= 0.0 => (text, boost),
            _ => (text, 1.0),
        },
        None => (text, 1.0),
    };
    let plain = text.replace('\\', "");
    let mut word = if is_exact { Word::of(&plain, Form::Exact) } else { open_word(&plain, false) };
    word.is_first = is_first;
    word.is_last = is_last;
    word.boost = boost;
    word
}

fn depth_of(query: &Query) -> usize {
    match query {
        Query::Maybe(left, right) => 1 + depth_of(left).max(depth_of(right)),
        _ => 0,
    }
}
