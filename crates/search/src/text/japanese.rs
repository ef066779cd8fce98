//! Japanese by IPADIC: nouns without their particles, verbs and adjectives in the form in which a
//! dictionary has them.

use std::path::Path;

use tantivy::directory::OwnedBytes;

use super::mecab::{Habits, Mecab};
use super::{Listed, Unusable, Wordlist, lower_into};

/// What stands in every other sentence, and says nothing of what it is about: to do, to be, to
/// become, to be able, not to be.
const EMPTY: &[&str] = &[
    "する",
    "為る",
    "ある",
    "有る",
    "いる",
    "居る",
    "なる",
    "成る",
    "できる",
    "出来る",
    "ない",
    "無い",
];
/// Shorter words end with a long vowel of their own.
const LONG_MIN: usize = 4;

/// A dictionary, open.
pub struct Japanese {
    mecab: Mecab,
    name: String,
}

impl Japanese {
    /// Opens the dictionary of a folder.
    pub fn open(folder: &Path) -> Result<Self, Unusable> {
        let mecab = Mecab::open(folder, Habits::default())
            .map_err(|reason| Unusable::of("ja", folder, reason))?;
        Ok(Self::of(mecab))
    }

    /// Reads the four files of a dictionary: words, what unknown ones may be, costs, kinds of
    /// characters. If one is damaged, says which.
    pub fn of_files(files: [Vec<u8>; 4]) -> Result<Self, &'static str> {
        Mecab::of(files.map(OwnedBytes::new), Habits::default()).map(Self::of)
    }

    fn of(mecab: Mecab) -> Self {
        let name = format!("ipadic {}", mecab.size);
        Self { mecab, name }
    }
}

impl Wordlist for Japanese {
    fn name(&self) -> &str {
        &self.name
    }

    fn words(&self, text: &str) -> Vec<Listed> {
        let pieces = self.mecab.pieces(text).into_iter();
        let listed = pieces.filter_map(|piece| {
            let term = term_of(piece.feature, text.get(piece.from..piece.to)?)?;
            Some(Listed { from: piece.from, to: piece.to, term: Some(term) })
        });
        listed.collect()
    }

    fn parts(&self, text: &str) -> Vec<Listed> {
        self.words(text)
    }
}

/// What a part is looked for by; none for what only holds a sentence together. Of the columns the
/// first four are its kind, and the seventh is its form in the dictionary.
fn term_of(feature: &str, written: &str) -> Option<String> {
    let mut columns = feature.split(',');
    let (kind, of, closer) = (columns.next()?, columns.next()?, columns.next()?);
    let known = columns.nth(3).filter(|form| !form.is_empty() && *form != "*");
    let form = known.unwrap_or(written);
    let is_meant = match (kind, of) {
        ("名詞", "接尾") => !matches!(closer, "人名" | "助動詞語幹" | "形容動詞語幹" | "特殊"),
        ("名詞", _) => {
            !matches!(of, "非自立" | "代名詞" | "特殊" | "接続詞的" | "動詞非自立的" | "引用文字列")
        }
        ("動詞" | "形容詞", "自立") => !EMPTY.contains(&form),
        ("副詞", _) => !form.chars().all(|one| matches!(one, '\u{3041}'..='\u{3096}' | 'ー')),
        ("感動詞", _) => true,
        _ => false,
    };
    if !is_meant {
        return None;
    }
    let mut term = String::new();
    lower_into(form, &mut term);
    // `プリンター` and `プリンタ` are both written.
    let is_katakana = |one| matches!(one, '\u{30A1}'..='\u{30FA}' | 'ー');
    if term.ends_with('ー') && term.chars().count() >= LONG_MIN && term.chars().all(is_katakana) {
        term.pop();
    }
    (!term.is_empty()).then_some(term)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_a_sentence_together_is_not_looked_for() {
        for (feature, written, expected) in [
            ("名詞,一般,*,*,*,*,プリンター,プリンター,プリンター", "プリンター", Some("プリンタ")),
            ("名詞,一般,*,*,*,*,*", "ﾚｲﾔｰ", Some("レイヤ")),
            ("名詞,一般,*,*,*,*,キー,キー,キー", "キー", Some("キー")),
            ("助詞,格助詞,一般,*,*,*,を,ヲ,ヲ", "を", None),
            ("動詞,自立,*,*,五段・ラ行,連用タ接続,走る,ハシッ,ハシッ", "走っ", Some("走る")),
            ("動詞,自立,*,*,サ変・スル,連用形,する,シ,シ", "し", None),
            ("動詞,接尾,*,*,一段,未然形,られる,ラレ,ラレ", "られ", None),
            ("助動詞,*,*,*,特殊・タ,基本形,た,タ,タ", "た", None),
            ("名詞,接尾,人名,*,*,*,さん,サン,サン", "さん", None),
            ("副詞,一般,*,*,*,*,とても,トテモ,トテモ", "とても", None),
            ("副詞,一般,*,*,*,*,突然,トツゼン,トツゼン", "突然", Some("突然")),
            ("", "x", None),
        ] {
            assert_eq!(term_of(feature, written).as_deref(), expected, "{written}");
        }
    }
}
