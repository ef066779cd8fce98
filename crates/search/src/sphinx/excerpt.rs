//! Texts with a query's words marked in them: EXCERPT and `CALL SNIPPETS`.
//!
//! A text that is short enough comes whole; of others come passages around the words.
//! Invariant: a text's letters are as they were; marks are put between them, and who shows them
//! as HTML has escaped them before, as with Sphinx.

use std::ops::Range;

use super::catalogue::Held;
use super::ql::{Literal, Named};
use crate::text::Token;
use crate::{Form, Query, Snippets, SphinxMode, Word, read_sphinx};

/// How texts are marked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Marking {
    /// Put before each match.
    pub(super) before: String,
    /// Put after each match.
    pub(super) after: String,
    /// Put where something was left out.
    pub(super) separator: String,
    /// Of letters, in all; none: without end.
    pub(super) limit: Option<usize>,
    /// Words on each side of a match.
    pub(super) around: usize,
    /// A text without any match gives nothing, and not its beginning.
    pub(super) allows_empty: bool,
}

impl Default for Marking {
    fn default() -> Self {
        Self {
            before: "<b>".to_owned(),
            after: "</b>".to_owned(),
            separator: " ... ".to_owned(),
            limit: Some(256),
            around: 5,
            allows_empty: false,
        }
    }
}

impl Marking {
    /// With what a call says, by names.
    pub(super) fn with(mut self, options: &[Named]) -> Self {
        for (name, value) in options {
            let count = match value {
                Literal::Int(number) => usize::try_from(*number).ok(),
                Literal::Text(text) => text.parse().ok(),
                _ => None,
            };
            match (name.as_str(), value) {
                ("before_match", Literal::Text(text)) => self.before.clone_from(text),
                ("after_match", Literal::Text(text)) => self.after.clone_from(text),
                ("chunk_separator", Literal::Text(text)) => self.separator.clone_from(text),
                ("limit", _) => self.limit = count.filter(|limit| *limit > 0),
                ("around", _) => self.around = count.unwrap_or(self.around),
                ("allow_empty", _) => self.allows_empty = count == Some(1),
                // How passages are chosen is ours.
                _ => {}
            }
        }
        self
    }
}

/// Marks the words of `query` in `text`.
pub(super) fn mark(text: &str, query: &str, held: &Held, marking: &Marking) -> String {
    let stripped;
    let text = if held.strips_html {
        stripped = super::html::stripped(text);
        &stripped
    } else {
        text
    };
    let read = read(query, held);
    let wanted = wanted(&read, held);
    let others = in_other_forms(text, &read, held);
    let tokens = held.index.analyzer().tokens(text);
    let is_other = |token: &Token| {
        let behind = others.partition_point(|range| range.start <= token.from);
        behind > 0 && token.to <= others[behind - 1].end
    };
    let hits = tokens.iter().map(|token| is_wanted(token, &wanted) || is_other(token));
    let hits: Vec<bool> = hits.collect();
    let letters = text.chars().count();
    let is_whole = marking.limit.is_none_or(|limit| letters <= limit);
    if is_whole {
        return write(text, &tokens, &hits, std::slice::from_ref(&(0..text.len())), marking);
    }
    let limit = marking.limit.unwrap_or(letters);
    let passages = passages(&tokens, &hits, limit, marking.around);
    if !passages.is_empty() {
        return write(text, &tokens, &hits, &passages, marking);
    }
    if marking.allows_empty {
        return String::new();
    }
    // The beginning, up to a word's end.
    let end = text.char_indices().nth(limit).map_or(text.len(), |(at, _)| at);
    let end = tokens.iter().rev().find(|token| token.to <= end).map_or(end, |token| token.to);
    write(text, &tokens, &hits, std::slice::from_ref(&(0..end)), marking)
}

fn read(query: &str, held: &Held) -> Query {
    let cleaned = held.cleaned(query);
    let shape = held.index.shape();
    read_sphinx(&cleaned, shape, SphinxMode::Extended)
        // Not all that is marked is a query.
        .or_else(|_| read_sphinx(&cleaned, shape, SphinxMode::Any))
        .unwrap_or(Query::All)
}

/// Where other forms of a query's words are, in order; nowhere, unless the index finds them.
fn in_other_forms(text: &str, query: &Query, held: &Held) -> Vec<Range<usize>> {
    let shape = held.index.shape();
    if !shape.has_stems {
        return Vec::new();
    }
    // In one piece: a text has no more characters than bytes.
    let wish = Snippets { characters: text.len(), fragments: 1, fields: Vec::new() };
    // A piece begins behind the text's first spaces.
    let begin = text.len() - text.trim_start().len();
    let mut found: Vec<Range<usize>> = Vec::new();
    for field in 0..shape.fields.len() {
        let pieces = held.index.excerpt(text, field, query, &wish);
        let marks = pieces.into_iter().flat_map(|piece| piece.marks);
        found.extend(marks.map(|(from, to)| begin + from..begin + to));
    }
    found.sort_by_key(|range| (range.start, range.end));
    found
}

/// What a query looks for: terms, and whether they are only a word's beginning.
fn wanted(query: &Query, held: &Held) -> Vec<(String, bool)> {
    let mut wanted = Vec::new();
    let mut add = |word: &Word| {
        let is_beginning = word.form == Form::Prefix;
        let tokens = held.index.analyzer().tokens(&word.text);
        wanted.extend(tokens.into_iter().map(|token| (token.text, is_beginning)));
    };
    query.each_word(&mut add);
    wanted
}

fn is_wanted(token: &Token, wanted: &[(String, bool)]) -> bool {
    wanted.iter().any(|(term, is_beginning)| {
        if *is_beginning { token.text.starts_with(term) } else { token.text == *term }
    })
}

/// Pieces around the matches, as many as the limit allows.
fn passages(tokens: &[Token], hits: &[bool], limit: usize, around: usize) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut left = limit;
    for at in (0..tokens.len()).filter(|at| hits[*at]) {
        let first = at.saturating_sub(around);
        let last = (at + around).min(tokens.len() - 1);
        let mut range = tokens[first].from..tokens[last].to;
        if let Some(before) = found.last_mut().filter(|before| range.start <= before.end) {
            let more = range.end.saturating_sub(before.end);
            if more <= left {
                left -= more;
                before.end = before.end.max(range.end);
            }
            continue;
        }
        // The match alone, where there is no room for what is around it.
        if range.len() > left {
            range = tokens[at].from..tokens[at].to;
        }
        if range.len() > left {
            break;
        }
        left -= range.len();
        found.push(range);
    }
    found
}

fn write(
    text: &str,
    tokens: &[Token],
    hits: &[bool],
    ranges: &[Range<usize>],
    marking: &Marking,
) -> String {
    let mut out = String::new();
    let mut token = 0;
    for range in ranges {
        if range.start > 0 {
            out.push_str(&marking.separator);
        }
        let mut at = range.start;
        while let Some(one) = tokens.get(token).filter(|one| one.to <= range.end) {
            // Parts of one word may lie over each other.
            if hits[token] && one.from >= at {
                out.push_str(&text[at..one.from]);
                out.push_str(&marking.before);
                out.push_str(&text[one.from..one.to]);
                out.push_str(&marking.after);
                at = one.to;
            }
            token += 1;
        }
        out.push_str(&text[at..range.end]);
    }
    if ranges.last().is_some_and(|last| last.end < text.len()) {
        out.push_str(&marking.separator);
    }
    out
}
