//! The dictionaries that there are, and which one takes what apart.
//!
//! Korean has one of its own. Where Japanese and Chinese are written with the same characters, a
//! document's language tells them apart, or kana in the same text; a query is too short for that
//! and is read both ways. Invariant: the pairs of characters beside the words are the same
//! whatever dictionaries there are, so that none hides what is found without it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::packs::Pack;
use super::script::{Script, script_of};
use super::{Analyzer, Language, Morphemes, is_han, is_kana};

/// How much goes to a dictionary at one time.
const RUN_BYTES_MAX: usize = 4096;
/// More parts of one word aren't asked for.
const PARTS_MAX: usize = 32;

/// The dictionaries that there are; cheap to clone.
#[derive(Clone, Default)]
pub struct Dictionaries {
    /// Of Korean.
    pub korean: Option<Arc<dyn Morphemes>>,
    /// Of Japanese.
    pub japanese: Option<Arc<dyn Wordlist>>,
    /// Of Chinese.
    pub chinese: Option<Arc<dyn Wordlist>>,
}

/// A dictionary of a language that writes no spaces.
pub trait Wordlist: Send + Sync {
    /// Which one, and of which version: other terms need another name.
    fn name(&self) -> &str;
    /// The words of a text, by where they begin; they may be within each other.
    fn words(&self, text: &str) -> Vec<Listed>;
    /// What a query wants of a text, all of it.
    fn parts(&self, text: &str) -> Vec<Listed>;
}

/// A word that a dictionary found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Where it begins in the text, in bytes.
    pub from: usize,
    /// Where it ends.
    pub to: usize,
    /// What all its forms have in common; none: it is looked for as it is written.
    pub term: Option<String>,
}

/// Why a dictionary can't be opened.
#[derive(Debug, thiserror::Error)]
#[error(
    "the {language} dictionary in {folder} can't be used: {reason}; `wick dict add {code}` puts it \
     there anew"
)]
pub struct Unusable {
    /// Of which language it is.
    pub language: &'static str,
    /// The language's code.
    pub code: &'static str,
    /// Where it was looked for.
    pub folder: PathBuf,
    /// What was wrong.
    pub reason: String,
}

impl Unusable {
    pub(super) fn of(code: &'static str, folder: &Path, reason: String) -> Self {
        let language = Pack::of(code).map_or(code, |pack| pack.language);
        Self { language, code, folder: folder.to_owned(), reason }
    }
}

impl From<Option<Arc<dyn Morphemes>>> for Dictionaries {
    fn from(korean: Option<Arc<dyn Morphemes>>) -> Self {
        Self { korean, ..Self::default() }
    }
}

impl Dictionaries {
    /// What makes the terms of two of them unlike; without one for Japanese or Chinese, as it was
    /// before there were any.
    pub(super) fn stamp(&self) -> String {
        let korean = self.korean.as_ref().map_or("none", |one| one.name());
        let mut stamp = format!("korean {korean}");
        for (language, list) in [("japanese", &self.japanese), ("chinese", &self.chinese)] {
            if let Some(list) = list {
                stamp.push_str(&format!(" {language} {}", list.name()));
            }
        }
        stamp
    }

    /// What takes the runs of a document's text apart.
    pub(super) fn lists(&self, text: &str, language: Option<Language>) -> Lists<'_> {
        let (japanese, chinese) = (self.japanese.as_deref(), self.chinese.as_deref());
        let han = match language.map(Language::code) {
            Some("ja") => japanese,
            Some("zh") => chinese,
            _ if chinese.is_none() => japanese,
            // Nothing says so but the text.
            _ if text.chars().any(is_kana) => japanese,
            _ => chinese,
        };
        Lists { kana: japanese, han }
    }
}

/// Which dictionaries a document's text is read with.
#[derive(Clone, Copy, Default)]
pub(super) struct Lists<'a> {
    kana: Option<&'a dyn Wordlist>,
    han: Option<&'a dyn Wordlist>,
}

impl Lists<'_> {
    /// The words of a run of characters without spaces.
    pub(super) fn words(&self, run: &str) -> Vec<Listed> {
        let list = if run.chars().any(is_kana) { self.kana } else { self.han };
        match list {
            Some(list) if run.chars().any(|one| is_han(one) || is_kana(one)) => {
                in_pieces(run, |piece| list.words(piece))
            }
            _ => Vec::new(),
        }
    }
}

/// A long run in several pieces.
fn in_pieces(run: &str, read: impl Fn(&str) -> Vec<Listed>) -> Vec<Listed> {
    let mut all = Vec::new();
    let mut from = 0;
    while from < run.len() {
        let to = run.floor_char_boundary(from.saturating_add(RUN_BYTES_MAX));
        let read = read(&run[from..to]).into_iter().map(|mut one| {
            one.from += from;
            one.to += from;
            one
        });
        all.extend(read.filter(|one| one.from < one.to && run.get(one.from..one.to).is_some()));
        from = to;
    }
    all
}

impl Analyzer {
    /// The ways in which a query's word may be read by the dictionaries of languages that write no
    /// spaces: of each, what is wanted, wherever it stands.
    pub(crate) fn readings(&self, text: &str) -> Vec<Vec<Listed>> {
        let (japanese, chinese) = (&self.dictionaries.japanese, &self.dictionaries.chinese);
        if japanese.is_none() && chinese.is_none() {
            return Vec::new();
        }
        let has_kana = text.chars().any(is_kana);
        if !has_kana && !text.chars().any(is_han) {
            return Vec::new();
        }
        let mut readings: Vec<Vec<Listed>> = Vec::new();
        for list in [japanese.as_ref(), chinese.as_ref().filter(|_| !has_kana)] {
            let Some(list) = list else { continue };
            let mut parts = self.parts(text, list.as_ref());
            parts.truncate(PARTS_MAX);
            let is_new = match parts.as_slice() {
                [] => false,
                // That is the word itself.
                [one] if one.term.is_none() && one.to - one.from == text.len() => false,
                _ => !readings.contains(&parts),
            };
            if is_new {
                readings.push(parts);
            }
        }
        readings
    }

    /// What a list makes of the runs that it can read, and between them what others read.
    fn parts(&self, text: &str, list: &dyn Wordlist) -> Vec<Listed> {
        let script = |one: char| script_of(one, &self.word_characters);
        let mut parts = Vec::new();
        let mut from = 0;
        while let Some(first) = text[from..].chars().next() {
            let kind = script(first);
            let is_run = |one: char| script(one) == kind || script(one) == Script::Mark;
            let end = text[from..].find(|one| !is_run(one));
            let to = end.map_or(text.len(), |end| from + end);
            let run = &text[from..to];
            match kind {
                Script::Gap | Script::Mark => {}
                Script::Dense if run.chars().any(|one| is_han(one) || is_kana(one)) => {
                    let found = in_pieces(run, |piece| list.parts(piece)).into_iter();
                    parts.extend(found.map(|one| Listed {
                        from: one.from + from,
                        to: one.to + from,
                        ..one
                    }));
                }
                _ => parts.push(Listed { from, to, term: None }),
            }
            from = to;
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Chinese, Words};
    use super::*;
    use crate::Shape;

    fn analyzer() -> Analyzer {
        let list = "北京大学 50 nt\n北京 90 ns\n大学 70 n\n的 900 uj\n";
        let chinese = Chinese::of_file(Chinese::file_of(list)).expect("it is whole");
        let chinese: Option<Arc<dyn Wordlist>> = Some(Arc::new(chinese));
        Analyzer::new(&Shape::pages(), Dictionaries { chinese, ..Dictionaries::default() })
    }

    fn check(text: &str, language: Option<&str>, expected: &str) {
        let analyzer = analyzer();
        let mut words = Words::of_document(&analyzer, text, language.and_then(Language::named));
        let mut found = Vec::new();
        while words.advance() {
            let token = &words.token;
            assert!(text.get(token.from..token.to).is_some(), "{token:?}");
            let mark = if token.text.starts_with(crate::text::LIST_MARK) { "=" } else { "" };
            let term = token.text.trim_start_matches(crate::text::LIST_MARK);
            found.push(format!("{mark}{term}{}", token.position));
        }
        assert_eq!(found.join(" "), expected, "{text}");
    }

    #[test]
    fn words_stand_beside_the_pairs_where_they_begin() {
        let expected = "x0 北京1 =北京大学1 =北京1 京大2 大学3 =大学3 学的4 的5 y6";
        check("x 北京大学的 y", None, expected);
        check("x 北京大学的 y", Some("zh-TW"), expected);
        check("大学", Some("zh"), "大学0 =大学0 学1");
    }

    #[test]
    fn japanese_is_not_read_as_chinese() {
        check("大学", Some("ja"), "大学0 学1");
        check("大学の", Some("zh"), "大学0 学の1 の2");
        check("ไทย", Some("zh"), "ไท0 ทย1 ย2");
    }

    #[test]
    fn a_query_is_read_as_its_words_and_what_is_between_them() {
        let check = |text: &str, expected: &str| {
            let readings = analyzer().readings(text);
            let told = |part: &Listed| {
                let mark = if part.term.is_some() { "=" } else { "" };
                format!("{mark}{}", &text[part.from..part.to])
            };
            let told: Vec<String> = readings
                .iter()
                .map(|one| one.iter().map(told).collect::<Vec<_>>().join(" "))
                .collect();
            assert_eq!(told.join(" | "), expected, "{text}");
        };
        check("北京大学", "=北京大学");
        check("大学的北京", "=大学 =北京");
        check("大学x北京", "=大学 x =北京");
        // Nothing else than the word itself, or nothing that this dictionary reads.
        for text in ["電腦", "的", "word", "大学の", ""] {
            check(text, "");
        }
        assert!(Analyzer::default().readings("大学的北京").is_empty());
    }
}
