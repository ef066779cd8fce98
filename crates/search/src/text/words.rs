//! The words of a text one after the other, with their places.

use std::iter::Peekable;
use std::vec::IntoIter;

use super::dictionaries::Lists;
use super::fold::{fold_into, lower_into};
use super::script::{Script, script_of};
use super::{Analyzer, LIST_MARK, Language, Listed, Morpheme};

/// Longer words are cut: nobody looks for what is behind.
const WORD_BYTES_MAX: usize = 128;
/// How much Korean goes to the dictionary at one time.
const KOREAN_BYTES_MAX: usize = 4096;

/// A word of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// The term: lower case, folded.
    pub text: String,
    /// How manieth word it is.
    pub position: usize,
    /// Where it begins in the text, in bytes.
    pub from: usize,
    /// Where it ends.
    pub to: usize,
    /// How it was found.
    pub kind: Kind,
}

/// How a word was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Between spaces.
    Word,
    /// By a dictionary.
    Morpheme,
    /// Two characters that stand together.
    Pair,
    /// The last character of such a run.
    Tail,
}

/// Goes through a text.
pub(crate) struct Words<'a> {
    analyzer: &'a Analyzer,
    text: &'a str,
    at: usize,
    position: usize,
    pending: IntoIter<Morpheme>,
    /// A run of dense characters that isn't done.
    dense_to: usize,
    lists: Lists<'a>,
    /// The words of that run.
    listed: Peekable<IntoIter<Listed>>,
    pub(crate) token: Token,
    /// The word before it was folded, for stemmers.
    pub(crate) lower: String,
}

impl<'a> Words<'a> {
    /// Of runs without spaces the pairs of characters, and nothing else.
    pub(crate) fn new(analyzer: &'a Analyzer, text: &'a str) -> Self {
        let token = Token { text: String::new(), position: 0, from: 0, to: 0, kind: Kind::Word };
        Self {
            analyzer,
            text,
            at: 0,
            position: 0,
            pending: Vec::new().into_iter(),
            dense_to: 0,
            lists: Lists::default(),
            listed: Vec::new().into_iter().peekable(),
            token,
            lower: String::new(),
        }
    }

    /// As an index has them: beside the pairs of runs without spaces the words in them, marked,
    /// at the place of their first character.
    pub(crate) fn of_document(
        analyzer: &'a Analyzer,
        text: &'a str,
        language: Option<Language>,
    ) -> Self {
        Self { lists: analyzer.dictionaries.lists(text, language), ..Self::new(analyzer, text) }
    }

    /// Goes to the next word; false where there is none.
    pub(crate) fn advance(&mut self) -> bool {
        loop {
            if self.next_listed() || self.next_morpheme() || self.next_pair() {
                return true;
            }
            let Some(first) = self.text[self.at..].chars().next() else { return false };
            match self.script(first) {
                Script::Gap | Script::Mark => self.at += first.len_utf8(),
                Script::Spaced => {
                    let to = self.run_end(|script| script == Script::Spaced);
                    if self.take(self.at, to, Kind::Word) {
                        return true;
                    }
                }
                Script::Hangul => match &self.analyzer.dictionaries.korean {
                    None => self.dense_to = self.run_end(|script| script == Script::Hangul),
                    Some(_) => self.read_korean(),
                },
                Script::Dense => {
                    self.dense_to = self.run_end(|script| script == Script::Dense);
                    self.listed = self.listed_words().into_iter().peekable();
                }
            }
        }
    }

    fn script(&self, one: char) -> Script {
        script_of(one, &self.analyzer.word_characters)
    }

    /// Where the run ends that begins here; marks belong to it.
    fn run_end(&self, is_part: impl Fn(Script) -> bool) -> usize {
        let rest = &self.text[self.at..];
        let mut ascii = 0;
        if is_part(Script::Spaced) {
            ascii = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
        }
        let end = rest[ascii..].find(|one| {
            let script = self.script(one);
            script != Script::Mark && !is_part(script)
        });
        end.map_or(self.text.len(), |end| self.at + ascii + end)
    }

    /// Makes a word of a range and goes behind it.
    fn take(&mut self, from: usize, to: usize, kind: Kind) -> bool {
        self.at = to;
        let mut cut = to.min(from + WORD_BYTES_MAX);
        while !self.text.is_char_boundary(cut) {
            cut -= 1;
        }
        lower_into(&self.text[from..cut], &mut self.lower);
        if self.analyzer.has_folding {
            fold_into(&self.lower, &mut self.token.text);
        } else {
            self.token.text.clone_from(&self.lower);
        }
        if self.token.text.is_empty() {
            return false;
        }
        self.name(from, to, kind);
        true
    }

    fn name(&mut self, from: usize, to: usize, kind: Kind) {
        self.token.from = from;
        self.token.to = to;
        self.token.kind = kind;
        self.token.position = self.position;
        self.position += 1;
    }

    /// Two characters of a run, then the last one alone.
    fn next_pair(&mut self) -> bool {
        while self.at < self.dense_to {
            let mut characters = self.text[self.at..self.dense_to].char_indices();
            characters.next();
            let Some((second, character)) = characters.next() else {
                return self.take(self.at, self.dense_to, Kind::Tail);
            };
            let (from, next) = (self.at, self.at + second);
            let is_taken = self.take(from, next + character.len_utf8(), Kind::Pair);
            self.at = next;
            if is_taken {
                return true;
            }
        }
        false
    }

    /// The words of the run that begins here.
    fn listed_words(&self) -> Vec<Listed> {
        let mut words = self.lists.words(&self.text[self.at..self.dense_to]);
        for word in &mut words {
            word.from += self.at;
            word.to += self.at;
        }
        words
    }

    /// A word that begins with the character that was just taken.
    fn next_listed(&mut self) -> bool {
        let at = self.at;
        while let Some(next) = self.listed.next_if(|next| next.from < at) {
            let Some(term) = next.term else { continue };
            self.token.text.clear();
            self.token.text.push(LIST_MARK);
            self.token.text.push_str(&term);
            self.token.from = next.from;
            self.token.to = next.to;
            self.token.kind = Kind::Morpheme;
            // Its position is the pair's.
            return true;
        }
        false
    }

    /// Korean with the spaces in it goes to the dictionary as a whole: what a syllable is
    /// depends on its neighbours.
    fn read_korean(&mut self) {
        let Some(morphemes) = &self.analyzer.dictionaries.korean else { return };
        let from = self.at;
        let mut to = self.run_end(|script| script == Script::Hangul);
        while let Some(next) = self.text[to..].strip_prefix(' ')
            && next.starts_with(|one| self.script(one) == Script::Hangul)
            && to - from < KOREAN_BYTES_MAX
        {
            self.at = to + 1;
            to = self.run_end(|script| script == Script::Hangul);
        }
        let mut found = Vec::new();
        for one in morphemes.analyse(&self.text[from..to]) {
            if one.parts.is_empty() {
                found.push(one);
            } else {
                found.extend(one.parts);
            }
        }
        found.retain_mut(|one| {
            one.from += from;
            one.to += from;
            one.from < one.to && self.text.get(one.from..one.to).is_some()
        });
        self.pending = found.into_iter();
        self.at = to;
    }

    fn next_morpheme(&mut self) -> bool {
        while let Some(one) = self.pending.next() {
            if !one.is_meaning() || one.text.is_empty() {
                self.position += 1;
                continue;
            }
            self.token.text.clone_from(&one.text);
            self.name(one.from, one.to, Kind::Morpheme);
            return true;
        }
        false
    }
}
