//! Which language a text is in, and the stems of its words.

use frostem::{Algorithm, Stemmer};
use whatlang::Lang;

/// How much of a text is looked at.
const SAMPLE_BYTES: usize = 1200;

/// A language whose words have stems, or one that only a dictionary takes apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Language(u8);

macro_rules! languages {
    ($($code:literal $lang:ident $($algorithm:ident)?,)*) => {
        const KNOWN: &[(&str, Lang, &[Algorithm])] =
            &[$(($code, Lang::$lang, &[$(Algorithm::$algorithm)?]),)*];
    };
}

languages! {
    "ar" Ara Arabic,
    "hy" Hye Armenian,
    "ca" Cat Catalan,
    "da" Dan Danish,
    "nl" Nld Dutch,
    "en" Eng English,
    "eo" Epo Esperanto,
    "et" Est Estonian,
    "fi" Fin Finnish,
    "fr" Fra French,
    "de" Deu German,
    "el" Ell Greek,
    "hi" Hin Hindi,
    "hu" Hun Hungarian,
    "id" Ind Indonesian,
    "it" Ita Italian,
    "lt" Lit Lithuanian,
    "ne" Nep Nepali,
    "no" Nob Norwegian,
    "pt" Por Portuguese,
    "ro" Ron Romanian,
    "ru" Rus Russian,
    "sr" Srp Serbian,
    "es" Spa Spanish,
    "sv" Swe Swedish,
    "ta" Tam Tamil,
    "tr" Tur Turkish,
    "yi" Yid Yiddish,
    "ja" Jpn,
    "zh" Cmn,
}

impl Language {
    /// All that there are.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..KNOWN.len()).filter_map(|at| u8::try_from(at).ok()).map(Self)
    }

    /// The language that a text is in, where it can be told and is one of these.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let middle = text.len().saturating_sub(SAMPLE_BYTES) / 2;
        let from = text.ceil_char_boundary(middle);
        let to = text.floor_char_boundary(from.saturating_add(SAMPLE_BYTES).min(text.len()));
        let lang = whatlang::detect(text.get(from..to)?)?.lang();
        let at = KNOWN.iter().position(|(_, known, _)| *known == lang)?;
        u8::try_from(at).ok().map(Self)
    }

    /// By its code, `en` or `en-GB`.
    #[must_use]
    pub fn named(code: &str) -> Option<Self> {
        let code = code.split(['-', '_']).next()?;
        let at = KNOWN.iter().position(|(known, ..)| known.eq_ignore_ascii_case(code))?;
        u8::try_from(at).ok().map(Self)
    }

    /// What it is called in itself.
    #[must_use]
    pub fn name(self) -> &'static str {
        KNOWN.get(usize::from(self.0)).map_or("", |(_, lang, _)| lang.name())
    }

    /// Its code of two letters.
    #[must_use]
    pub fn code(self) -> &'static str {
        KNOWN.get(usize::from(self.0)).map_or("", |(code, ..)| code)
    }

    pub(crate) fn number(self) -> u8 {
        self.0
    }

    pub(crate) fn numbered(number: u8) -> Option<Self> {
        (usize::from(number) < KNOWN.len()).then_some(Self(number))
    }

    pub(crate) fn stemmer(self) -> Option<Stemmer> {
        let (.., algorithms) = KNOWN.get(usize::from(self.0))?;
        algorithms.first().map(|algorithm| Stemmer::new(*algorithm))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_told_apart() {
        let texts = [
            ("en", "The quick brown fox jumps over the lazy dog, and then it goes home again."),
            ("de", "Die Einstellungen werden in der Datei gespeichert und beim Start gelesen."),
            ("fr", "Les paramètres sont enregistrés dans le fichier et lus au démarrage."),
            ("ru", "Настройки сохраняются в файле и читаются при запуске программы."),
            ("ja", "設定はファイルに保存され、起動時に読み込まれます。"),
            ("zh", "设置保存在文件中，启动时读取。"),
        ];
        for (code, text) in texts {
            assert_eq!(Language::of(text).map(Language::code), Some(code), "{text}");
        }
        assert_eq!(Language::of("이 문장은 한국어로 쓰여 있습니다"), None);
        assert_eq!(Language::of(""), None);
    }
}
