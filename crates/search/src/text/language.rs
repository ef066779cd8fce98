//! Which language a text is in, and the stems of its words.

use frostem::{Algorithm, Stemmer};
use whatlang::Lang;

/// How much of a text is looked at.
const SAMPLE_BYTES: usize = 1200;

/// A language whose words have stems, or one that only a dictionary takes apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Language(u8);

/// How it is known that a text is in a language.
#[derive(Clone, Copy)]
enum Told {
    /// By its letters.
    ByText(Lang),
    /// Only if somebody says so; this is what it is called in itself.
    ByName(&'static str),
}

macro_rules! languages {
    ($($code:literal $lang:tt $($algorithm:ident)?,)*) => {
        const KNOWN: &[(&str, Told, &[Algorithm])] =
            &[$(($code, languages!(@told $lang), &[$(Algorithm::$algorithm)?]),)*];
    };
    (@told $name:literal) => { Told::ByName($name) };
    (@told $lang:ident) => { Told::ByText(Lang::$lang) };
}

// The files of an index bear their numbers: more of them are added at the end.

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
    "cs" Ces Czech,
    "fa" Pes Persian,
    "pl" Pol Polish,
    "uk" Ukr Ukrainian,
    "eu" "Euskara" Basque,
    "ga" "Gaeilge" Irish,
    "st" "Sesotho" Sesotho,
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
        let at = KNOWN
            .iter()
            .position(|(_, told, _)| matches!(told, Told::ByText(known) if *known == lang))?;
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
        KNOWN.get(usize::from(self.0)).map_or("", |(_, told, _)| match told {
            Told::ByText(lang) => lang.name(),
            Told::ByName(name) => name,
        })
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
        let more = [
            ("cs", "Nastavení se ukládají do souboru a čtou se při spuštění programu."),
            ("fa", "تنظیمات در پرونده ذخیره می‌شوند و هنگام آغاز برنامه خوانده می‌شوند."),
            ("pl", "Ustawienia są zapisywane w pliku i odczytywane przy uruchomieniu programu."),
            ("uk", "Налаштування зберігаються у файлі та зчитуються під час запуску програми."),
        ];
        for (code, text) in more {
            assert_eq!(Language::of(text).map(Language::code), Some(code), "{text}");
        }
        assert_eq!(Language::of("이 문장은 한국어로 쓰여 있습니다"), None);
        assert_eq!(Language::of(""), None);
    }

    #[test]
    fn forms_of_a_word_have_one_stem_in_each_language() {
        // Of each language the forms of one word.
        let mut unlike = Vec::new();
        for (code, forms) in FORMS {
            let stemmer = Language::named(code).and_then(Language::stemmer);
            let stemmer = stemmer.unwrap_or_else(|| panic!("{code} has no stems"));
            let stems: Vec<_> = forms.split(' ').map(|form| stemmer.stem(form)).collect();
            if stems.len() < 2 || stems.iter().any(|stem| *stem != stems[0]) {
                unlike.push(format!("{code}: {forms}: {stems:?}"));
            }
        }
        assert!(unlike.is_empty(), "{unlike:#?}");
        let have_stems = Language::all().filter(|one| one.stemmer().is_some());
        let all: Vec<_> = have_stems.map(Language::code).collect();
        let shown: Vec<_> = FORMS.iter().map(|(code, _)| *code).collect();
        assert_eq!(all, shown);
        assert!(Language::all().all(|one| !one.name().is_empty()));
        assert!(Language::all().all(|one| Language::numbered(one.number()) == Some(one)));
    }

    const FORMS: &[(&str, &str)] = &[
        ("ar", "كتاب الكتاب"),
        ("hy", "մարդ մարդու մարդիկ"),
        ("ca", "porta portes"),
        ("da", "bog bogen"),
        ("nl", "boek boeken"),
        ("en", "house houses"),
        ("eo", "libro libroj libron"),
        ("et", "raamat raamatud"),
        ("fi", "talo talossa"),
        ("fr", "maison maisons"),
        ("de", "haus hause"),
        ("el", "δρόμος δρόμοι"),
        ("hi", "लड़का लड़के"),
        ("hu", "ház házak"),
        ("id", "buku bukunya"),
        ("it", "casa case"),
        ("lt", "namas namai"),
        ("ne", "घर घरमा"),
        ("no", "bok boken"),
        ("pt", "casa casas"),
        ("ro", "casă case"),
        ("ru", "книга книги книгу"),
        ("sr", "kuca kuce"),
        ("es", "casa casas"),
        ("sv", "bok boken"),
        ("ta", "வீடு வீடுகள்"),
        ("tr", "ev evler"),
        ("yi", "קינד קינדער"),
        ("cs", "hrad hradu hrady"),
        ("fa", "کتاب کتابها"),
        ("pl", "dom domy domu"),
        ("uk", "книга книги книгу"),
        ("eu", "etxe etxeak"),
        ("ga", "capall chapall gcapall"),
        ("st", "motho batho"),
    ];
}
