//! `index`: what is made of sources, and how their words are read.

use super::sections::{ConfError, Section};
use super::source::number;
use super::{Remark, remark};
use crate::sphinx::table::Kind;

/// How an index is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexKind {
    /// From sources.
    Plain,
    /// By its clients.
    Realtime,
    /// It stands for others.
    Distributed,
}

/// What is made of sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexConf {
    /// What clients call it.
    pub name: String,
    /// How it is filled.
    pub kind: IndexKind,
    /// Of a plain one.
    pub sources: Vec<String>,
    /// What a distributed one stands for.
    pub locals: Vec<String>,
    /// Of a real-time one.
    pub fields: Vec<String>,
    /// Of a real-time one, in searchd's order.
    pub attributes: Vec<(String, Kind)>,
    /// So many letters with a star find what begins with them.
    pub min_prefix: Option<u8>,
    /// Tags are taken out of texts.
    pub strips_html: bool,
    /// Words are found in their other forms, too.
    pub has_stems: bool,
    /// Accents make no difference.
    pub has_folding: bool,
    /// Letters of words besides letters and digits.
    pub word_characters: String,
    /// Letters that are as if they weren't there.
    pub ignored: String,
    /// Korean words are found in their other forms, where there is a dictionary.
    pub has_korean: bool,
}

const NOT_OBEYED: &[(&str, &str)] = &[
    ("agent", "other servers aren't asked; name local indexes"),
    ("agent_persistent", "other servers aren't asked; name local indexes"),
    ("blend_chars", "these separate words: a query with one finds its parts in a row"),
    ("exceptions", "words are read as they are written; synonyms are a setting"),
    ("html_index_attrs", "attributes of HTML aren't indexed"),
    ("html_remove_elements", "script and style are taken out, and no others"),
    ("index_field_lengths", "ranking knows lengths anyway"),
    ("index_zones", "zones aren't kept"),
    ("killlist_target", "a document of a later index hides one with the same id anyway"),
    ("ngram_chars", "Chinese, Japanese and Korean are read without being declared"),
    ("phrase_boundary", "phrases may cross sentences"),
    ("regexp_filter", "texts are indexed as they are"),
    ("stopwords", "stop words are indexed and found"),
    ("wordforms", "words are read as they are written; synonyms are a setting"),
];

/// What is obeyed, and what only says how Sphinx does its work or has no like here.
const KNOWN: &[&str] = &[
    "type",
    "path",
    "source",
    "local",
    "rt_field",
    "rt_attr_uint",
    "rt_attr_bigint",
    "rt_attr_float",
    "rt_attr_timestamp",
    "rt_attr_string",
    "rt_attr_multi",
    "rt_attr_multi_64",
    "rt_attr_json",
    "rt_attr_bool",
    "min_prefix_len",
    "min_infix_len",
    "html_strip",
    "morphology",
    "charset_table",
    "ignore_chars",
    "access_blob_attrs",
    "access_doclists",
    "access_hitlists",
    "access_plain_attrs",
    "agent_blackhole",
    "agent_connect_timeout",
    "agent_query_timeout",
    "bigram_freq_words",
    "bigram_index",
    "blend_mode",
    "charset_type",
    "dict",
    "docinfo",
    "embedded_limit",
    "enable_star",
    "expand_keywords",
    "global_idf",
    "ha_strategy",
    "hitless_words",
    "index_exact_words",
    "index_sp",
    "infix_fields",
    "inplace_enable",
    "inplace_hit_gap",
    "inplace_docinfo_gap",
    "inplace_reloc_factor",
    "inplace_write_factor",
    "max_substring_len",
    "min_stemming_len",
    "min_word_len",
    "mlock",
    "ngram_len",
    "ondisk_attrs",
    "ondisk_dict",
    "overshort_step",
    "phrase_boundary_step",
    "prefix_fields",
    "preopen",
    "rlp_context",
    "rt_mem_limit",
    "stopword_step",
    "stopwords_unstemmed",
];

/// Real-time attributes in the order in which searchd keeps their types.
const REALTIME: [(&str, Kind); 9] = [
    ("rt_attr_uint", Kind::Uint),
    ("rt_attr_bigint", Kind::Bigint),
    ("rt_attr_float", Kind::Float),
    ("rt_attr_timestamp", Kind::Timestamp),
    ("rt_attr_string", Kind::Text),
    ("rt_attr_multi", Kind::Multi),
    ("rt_attr_multi_64", Kind::MultiBigint),
    ("rt_attr_json", Kind::Text),
    ("rt_attr_bool", Kind::Bool),
];

pub(super) fn read(section: &Section, remarks: &mut Vec<Remark>) -> Result<IndexConf, ConfError> {
    remark(section, NOT_OBEYED, KNOWN, remarks);
    let all = |key: &str| section.all(key).map(|value| value.text.clone()).collect::<Vec<_>>();
    let kind = match section.text("type").unwrap_or("plain") {
        "plain" => IndexKind::Plain,
        "rt" => IndexKind::Realtime,
        "distributed" => IndexKind::Distributed,
        other => {
            let what = format!(
                "indexes of the type {other} aren't made; there are plain, rt and distributed"
            );
            return Err(ConfError { line: section.line, what });
        }
    };
    let table = Letters::read(section.text("charset_table").unwrap_or_default());
    let single = Letters::read(section.text("ngram_chars").unwrap_or_default());
    let is_stemmed = section.text("morphology").is_some_and(|value| value != "none");
    let ignored = Letters::read(section.text("ignore_chars").unwrap_or_default());
    let mut attributes = Vec::new();
    for (key, kind) in REALTIME {
        attributes.extend(section.all(key).map(|value| {
            (value.text.split(':').next().unwrap_or_default().trim().to_owned(), kind)
        }));
    }
    Ok(IndexConf {
        name: section.name.clone(),
        kind,
        sources: all("source"),
        locals: all("local"),
        fields: all("rt_field"),
        attributes,
        // Where infixes are found, so are beginnings.
        min_prefix: [number(section, "min_prefix_len")?, number(section, "min_infix_len")?]
            .into_iter()
            .flatten()
            .filter(|length| *length > 0)
            .min()
            .and_then(|length| u8::try_from(length).ok()),
        strips_html: section.text("html_strip").is_some_and(|value| value != "0"),
        has_stems: is_stemmed,
        has_folding: table.folds,
        word_characters: match section.text("charset_table") {
            // Sphinx's own tables have it.
            None => "_".to_owned(),
            Some(_) => table.signs,
        },
        ignored: ignored.signs,
        has_korean: is_stemmed && table.has_hangul && !single.has_hangul,
    })
}

/// What a table of letters says that matters here.
#[derive(Default)]
struct Letters {
    /// Those that are neither letters nor digits.
    signs: String,
    /// Syllables of Korean are letters.
    has_hangul: bool,
    /// Some letter with an accent is the same as one without.
    folds: bool,
}

impl Letters {
    /// Reads `0..9, A..Z->a..z, _, U+410..U+42F->U+430..U+44F`.
    fn read(text: &str) -> Self {
        /// A range that is longer is one of letters.
        const SIGNS_MAX: u32 = 64;
        let mut found = Self::default();
        for item in text.split(',').map(str::trim) {
            let (from, to) = item.split_once("->").map_or((item, None), |(a, b)| (a, Some(b)));
            let (first, last) = from.split_once("..").unwrap_or((from, from));
            let (Some(first), Some(last)) = (letter(first), letter(last)) else { continue };
            let target = to.and_then(|to| letter(to.split("..").next().unwrap_or(to)));
            let is_accent = !first.is_ascii() && first.is_alphabetic();
            found.has_hangul |= first <= '가' && '힣' <= last;
            found.folds |= is_accent && target.is_some_and(|to| to.is_ascii_alphabetic());
            let range = u32::from(first)..=u32::from(last);
            let signs = range.take(SIGNS_MAX as usize).filter_map(char::from_u32);
            found.signs.extend(signs.filter(|sign| !sign.is_alphanumeric()));
        }
        found
    }
}

/// `a` or `U+61`.
fn letter(text: &str) -> Option<char> {
    let text = text.trim().split('/').next()?;
    if let Some(digits) = text.strip_prefix("U+").or_else(|| text.strip_prefix("u+")) {
        return u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
    }
    let mut letters = text.chars();
    letters.next().filter(|_| letters.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::super::read;

    #[test]
    fn korean_is_taken_apart_where_its_letters_make_words_and_forms_are_wanted() {
        let table = "charset_table = 0..9, a..z, U+AC00..U+D7A3";
        for (lines, expected) in [
            (format!("{table}\nmorphology = stem_en"), true),
            ("charset_table = a..z, U+3000..U+FFFF\nmorphology = stem_en".to_owned(), true),
            (format!("{table}\nmorphology = stem_en\nngram_chars = U+3000..U+2FA1F"), false),
            (format!("{table}\nmorphology = stem_en\nngram_chars = U+4E00..U+9FBB"), true),
            (table.to_owned(), false),
            (format!("{table}\nmorphology = none"), false),
            ("charset_table = a..z\nmorphology = stem_en".to_owned(), false),
            ("morphology = stem_en".to_owned(), false),
        ] {
            let text = format!("index a {{\ntype = rt\nrt_field = text\n{lines}\n}}");
            let conf = read(&text).expect("it is right");
            assert_eq!(conf.indexes[0].has_korean, expected, "{lines}");
        }
    }
}
