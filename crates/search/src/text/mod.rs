//! Text to terms, for documents and for queries alike.
//!
//! In: any text, and the language it is in where that is known. Out: its words with their
//! positions and their places in the text. What is done is decided for each run of
//! characters by its script: words of scripts that write spaces are lower-cased and
//! folded, and their stems stand beside them; Korean is taken apart into morphemes where
//! there is a dictionary (`korean.rs`); what else is written without spaces becomes pairs of
//! characters, beside which stand the words of a dictionary where there is one
//! (`japanese.rs`, `chinese.rs`; which one it is, `dictionaries.rs` says).
//! Invariants: 1. the words of a text don't depend on what stands around them, but for
//! their stems, and the words of dictionaries. 2. Places are on character boundaries, in order,
//! and within the text. 3. Pairs are the same whatever dictionaries there are.

mod chinese;
mod dictionaries;
mod fold;
mod japanese;
mod korean;
mod language;
mod mecab;
mod morphemes;
mod packs;
mod script;
mod stream;
mod words;

pub use chinese::Chinese;
pub use dictionaries::{Dictionaries, Listed, Unusable, Wordlist};
pub(crate) use fold::{fold_into, lower_into};
pub use japanese::Japanese;
pub use korean::Korean;
pub use language::Language;
pub use morphemes::{Morpheme, Morphemes};
pub use packs::{PACKS, Pack, PackError};
pub(crate) use script::{is_han, is_kana};
pub(crate) use stream::{END_MARK, LIST_MARK, STEM_MARK, Stream, marked};
pub(crate) use words::Words;
pub use words::{Kind, Token};

use std::sync::Arc;

use crate::Shape;

/// What is done to text; cheap to clone.
#[derive(Clone, Default)]
pub struct Analyzer {
    pub(crate) has_stems: bool,
    pub(crate) has_folding: bool,
    pub(crate) dictionaries: Dictionaries,
    pub(crate) word_characters: Arc<str>,
}

impl Analyzer {
    /// As a shape wants it.
    #[must_use]
    pub fn new(shape: &Shape, dictionaries: impl Into<Dictionaries>) -> Self {
        Self {
            has_stems: shape.has_stems,
            has_folding: shape.has_folding,
            dictionaries: dictionaries.into(),
            word_characters: shape.word_characters.as_str().into(),
        }
    }

    /// The words of a text, without their stems; of runs without spaces the pairs.
    #[must_use]
    pub fn tokens(&self, text: &str) -> Vec<Token> {
        let mut words = Words::new(self, text);
        let mut all = Vec::new();
        while words.advance() {
            all.push(words.token.clone());
        }
        all
    }

    /// What makes the terms of two analysers unlike.
    pub(crate) fn stamp(&self) -> String {
        format!("{:?} {}", self.word_characters, self.dictionaries.stamp())
    }
}

impl std::fmt::Debug for Analyzer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Analyzer").field("stamp", &self.stamp()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let analyzer = Analyzer::new(&Shape::pages(), Dictionaries::default());
        let found: Vec<_> = analyzer
            .tokens(text)
            .iter()
            .map(|token| {
                assert!(text.get(token.from..token.to).is_some(), "{token:?}");
                format!("{}{}", token.text, token.position)
            })
            .collect();
        assert_eq!(found.join(" "), expected, "{text}");
    }

    #[test]
    fn words_are_lower_case_and_folded() {
        check("Hello, WORLD-wide 42x", "hello0 world1 wide2 42x3");
        check("Café Übergröße Łódź İstanbul", "cafe0 ubergrosse1 lodz2 istanbul3");
        check("Ёлка й Ελλάδα", "елка0 й1 ελλαδα2");
        check("ＰＨＰ ﬁne", "php0 fine1");
        check("don't l'été", "don0 t1 l2 ete3");
        check("हिन्दी में", "हिन्दी0 में1");
        check("", "");
        check("\u{301}\u{301}", "");
    }

    #[test]
    fn scripts_without_spaces_become_pairs() {
        check("東京都", "東京0 京都1 都2");
        check("在", "在0");
        check("PHP의 한글", "php0 의1 한글2 글3");
        check("カタカナ語x", "カタ0 タカ1 カナ2 ナ語3 語4 x5");
    }
}
