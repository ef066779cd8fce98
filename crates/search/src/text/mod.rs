//! Text to terms, for documents and for queries alike.
//!
//! In: any text, and the language it is in where that is known. Out: its words with their
//! positions and their places in the text. What is done is decided for each run of
//! characters by its script: words of scripts that write spaces are lower-cased and
//! folded, and their stems stand beside them; Korean is taken apart into morphemes where
//! there is a dictionary; what else is written without spaces becomes pairs of characters.
//! Invariants: 1. the words of a text don't depend on what stands around them, but for
//! their stems. 2. Places are on character boundaries, in order, and within the text.

mod fold;
mod korean;
mod language;
mod morphemes;
mod script;
mod stream;
mod words;

pub(crate) use fold::{fold_into, lower_into};
pub use korean::{Korean, KoreanError, PACK_NAME, PACK_SHA256, PackError, unpack};
pub use language::Language;
pub use morphemes::{Morpheme, Morphemes};
pub(crate) use stream::{END_MARK, STEM_MARK, Stream, marked};
pub(crate) use words::Words;
pub use words::{Kind, Token};

use std::sync::Arc;

use crate::Shape;

/// What is done to text; cheap to clone.
#[derive(Clone, Default)]
pub struct Analyzer {
    pub(crate) has_stems: bool,
    pub(crate) has_folding: bool,
    pub(crate) morphemes: Option<Arc<dyn Morphemes>>,
    pub(crate) word_characters: Arc<str>,
}

impl Analyzer {
    /// As a shape wants it.
    #[must_use]
    pub fn new(shape: &Shape, morphemes: Option<Arc<dyn Morphemes>>) -> Self {
        Self {
            has_stems: shape.has_stems,
            has_folding: shape.has_folding,
            morphemes,
            word_characters: shape.word_characters.as_str().into(),
        }
    }

    /// The words of a text, without their stems.
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
        let korean = self.morphemes.as_ref().map_or("none", |one| one.name());
        format!("{:?} korean {korean}", self.word_characters)
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
        let analyzer = Analyzer::new(&Shape::pages(), None);
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
