//! A query's tree in the extended syntax of Sphinx and Manticore.
//!
//! Of what a person wrote only letters, digits, `_` and what isn't ASCII come through, in small
//! letters, since words such as `MAYBE` and `NEAR` are operators there; each operator is ours.
//! Invariants: 1. whatever is written is a text that the engine can read. 2. What can't be said
//! there finds nothing, rather than more than was meant.

use super::statement::FIELDS;
use crate::query::{Form, Query, Word};

/// What a query is to an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Matched {
    /// All that it has.
    All,
    /// Nothing, and it needs not be asked.
    Nothing,
    /// What fits this.
    By(String),
}

/// A query in the engine's syntax.
pub(super) fn matched(query: &Query) -> Matched {
    match query {
        Query::All => Matched::All,
        Query::Word(word) => said(one_word(word)),
        Query::Phrase(words) => said(row(words)),
        Query::Near { parts, distance } => near(parts, *distance),
        Query::And(parts) | Query::Before(parts) => all_of(parts),
        Query::Or(parts) | Query::Quorum { parts, .. } => one_of(parts),
        // There nothing is found by what isn't there alone.
        Query::Not(_) => Matched::Nothing,
        Query::Maybe(first, _) => matched(first),
        Query::Field { fields, query, .. } => in_fields(fields, query),
    }
}

fn said(text: Option<String>) -> Matched {
    text.map_or(Matched::Nothing, Matched::By)
}

fn all_of(parts: &[Query]) -> Matched {
    let (mut all, mut not) = (Vec::new(), Vec::new());
    for part in parts {
        let (told, is_left_out) = match part {
            Query::Not(inner) => (matched(inner), true),
            other => (matched(other), false),
        };
        match told {
            Matched::By(text) if is_left_out => not.push(format!("-({text})")),
            Matched::By(text) => all.push(text),
            Matched::All if !is_left_out => {}
            Matched::All | Matched::Nothing => return Matched::Nothing,
        }
    }
    match all.is_empty() {
        true => Matched::Nothing,
        false => Matched::By(format!("({})", [all, not].concat().join(" "))),
    }
}

fn one_of(parts: &[Query]) -> Matched {
    let each = parts.iter().filter_map(|part| match matched(part) {
        Matched::By(text) => Some(text),
        Matched::All | Matched::Nothing => None,
    });
    let each: Vec<String> = each.collect();
    said((!each.is_empty()).then(|| format!("({})", each.join(" | "))))
}

fn near(parts: &[Query], distance: u32) -> Matched {
    let words = parts.iter().flat_map(|part| match part {
        Query::Word(word) => pieces(&word.text, false),
        Query::Phrase(words) => words.iter().flat_map(|word| pieces(&word.text, false)).collect(),
        _ => Vec::new(),
    });
    let words: Vec<String> = words.collect();
    said((!words.is_empty()).then(|| format!("\"{}\"~{}", words.join(" "), distance.max(1))))
}

fn in_fields(fields: &[usize], query: &Query) -> Matched {
    let names: Vec<_> = fields.iter().filter_map(|field| FIELDS.get(*field).copied()).collect();
    match matched(query) {
        Matched::By(text) if !names.is_empty() => {
            Matched::By(format!("(@({}) {text})", names.join(",")))
        }
        _ => Matched::Nothing,
    }
}

fn one_word(word: &Word) -> Option<String> {
    let is_open = word.form == Form::Pattern;
    let mut parts = pieces(&word.text, is_open);
    if parts.len() > 1 {
        // A row of words knows no open letters.
        return Some(format!("\"{}\"", pieces(&word.text, false).join(" ")));
    }
    let text = parts.pop()?;
    Some(match word.form {
        Form::Exact => format!("={text}"),
        Form::Prefix => format!("{text}*"),
        Form::Suffix => format!("*{text}"),
        Form::Infix => format!("*{text}*"),
        // Of wrong letters engines know nothing.
        Form::Any | Form::Fuzzy(_) | Form::Pattern => text,
    })
}

fn row(words: &[Word]) -> Option<String> {
    let mut all = Vec::new();
    for word in words {
        let mut own = pieces(&word.text, false);
        if let (Form::Prefix, Some(last)) = (word.form, own.last_mut()) {
            last.push('*');
        }
        all.extend(own);
    }
    (!all.is_empty()).then(|| format!("\"{}\"", all.join(" ")))
}

/// What of a word comes through: its parts with letters in them.
fn pieces(text: &str, is_open: bool) -> Vec<String> {
    let is_kept = |one: char| {
        let is_letter = one.is_ascii_alphanumeric() || one == '_';
        is_letter
            || (!one.is_ascii() && !one.is_whitespace() && !one.is_control())
            || (is_open && matches!(one, '*' | '?'))
    };
    let parts = text.split(|one: char| !is_kept(one));
    let has_letters = |part: &&str| part.chars().any(char::is_alphanumeric);
    parts.filter(has_letters).map(str::to_ascii_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shape;
    use crate::query::read_query;

    fn told(text: &str) -> Matched {
        matched(&read_query(text, &Shape::pages()))
    }

    #[test]
    fn what_a_person_writes_is_said_in_the_engines_words() {
        for (text, expected) in [
            ("Red shoes", "(red shoes)"),
            ("\"red shoes\"", "\"red shoes\""),
            ("\"red sho*\"", "\"red sho*\""),
            ("\"red shoes\"~5", "\"red shoes\"~5"),
            ("a OR b c", "(a | (b c))"),
            ("shoes -blue -\"a b\"", "(shoes -(blue) -(\"a b\"))"),
            ("shoes -(a b)", "(shoes -((a b)))"),
            ("title:red text:(a OR b)", "((@(title) red) (@(body) (a | b)))"),
            ("beg* *end *mid* w?rd", "(beg* *end *mid* w?rd)"),
            ("=Word wrod~", "(=word wrod)"),
            ("well-known don't", "(\"well known\" \"don t\")"),
            ("MAYBE NEAR SENTENCE", "(maybe near sentence)"),
            ("NEAR/3 ZONE:h1", "(\"near 3\" \"zone h1\")"),
            ("C++ @title a^2 x$ a\\'b", "(c title \"a 2\" x \"a b\")"),
            ("한국어 é हिन्दी", "(한국어 é हिन्दी)"),
            ("snake_case", "snake_case"),
        ] {
            assert_eq!(told(text), Matched::By(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_said_finds_nothing_and_no_words_find_all() {
        for text in ["-a", "-a -b", "(-a) OR (-b)", "-(-a -b) c", "title:(-a)"] {
            assert_eq!(told(text), Matched::Nothing, "{text}");
        }
        assert_eq!(told("a OR -b"), Matched::By("(a)".to_owned()));
        assert_eq!(told(""), Matched::All);
        assert_eq!(told("+ - ( \" ' \\"), Matched::All);
    }

    #[test]
    fn whatever_is_written_nothing_comes_through_but_words_and_our_own_operators() {
        let pieces = [
            "a", "B1", "한", "é", "_", "\"", "'", "\\", "(", ")", "-", "!", "|", " OR ", "~3", "~",
            "@", "title:", "=", "*", "?", "/", "^", "$", "<<", "<", "&", " NOT ", " ", "\0", "\n",
            "MAYBE", "ZONE:", "[", "]", "%", ";", ":", "{", "\u{2028}", "\u{7f}", "`",
        ];
        let mut seed = 7_u64;
        for _ in 0..20_000 {
            let mut text = String::new();
            for _ in 0..12 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                text.push_str(pieces[usize::try_from(seed >> 33).expect("small") % pieces.len()]);
            }
            let Matched::By(told) = told(&text) else { continue };
            let quotes = told.matches('"').count();
            assert_eq!(quotes % 2, 0, "{text:?}: {told}");
            let mut depth = 0;
            let mut is_quoted = false;
            for one in told.chars() {
                match one {
                    '"' => is_quoted = !is_quoted,
                    '(' if !is_quoted => depth += 1,
                    ')' if !is_quoted => depth -= 1,
                    _ => {
                        let is_word = one.is_alphanumeric() || one == '_' || !one.is_ascii();
                        let is_ours = if is_quoted { " *" } else { " |-@,=*?~" };
                        assert!(is_word || is_ours.contains(one), "{text:?}: {told}");
                        assert!(!one.is_control() && !one.is_ascii_uppercase(), "{told}");
                    }
                }
                assert!(depth >= 0, "{text:?}: {told}");
            }
            assert_eq!(depth, 0, "{text:?}: {told}");
            assert!(!told.contains("()") && !told.contains("\"\""), "{text:?}: {told}");
        }
    }
}
