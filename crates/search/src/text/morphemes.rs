//! What takes Korean apart; a dictionary is needed for it.

/// A smallest part that means something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Morpheme {
    /// Where it begins in the text, in bytes.
    pub from: usize,
    /// Where it ends.
    pub to: usize,
    /// What kind it is, as the dictionary says it: `NNG`, `VV+EP`.
    pub tag: String,
    /// How it is written in the dictionary.
    pub text: String,
    /// What it is made of, where it is made of several.
    pub parts: Vec<Morpheme>,
}

/// A dictionary that takes Korean apart.
pub trait Morphemes: Send + Sync {
    /// Which one, and of which version: other terms need another name.
    fn name(&self) -> &str;
    /// The parts of a text, in order; what is a space is none.
    fn analyse(&self, text: &str) -> Vec<Morpheme>;
}

impl Morpheme {
    /// Whether it is looked for: nouns, verbs and what stands like them. Particles,
    /// endings, the copula and suffixes are not.
    #[must_use]
    pub fn is_meaning(&self) -> bool {
        let first = self.tag.split('+').next().unwrap_or_default();
        match first {
            "VCP" | "VCN" | "VX" => false,
            "SL" | "SH" | "SN" | "XR" | "XPN" | "IC" | "UNKNOWN" | "UNK" => true,
            _ => first.starts_with(['N', 'V', 'M']),
        }
    }
}
