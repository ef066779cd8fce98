//! Chinese by the words of jieba: of all ways to take a text apart, the likeliest.
//!
//! The words lie in one file of our own, which is made once of jieba's list and mapped: how many
//! they are, where those with each first character begin, then for each word where it ends and
//! what it costs, then the words in order. Costs are logarithms: the way that costs least is the
//! one whose words are the most frequent. Invariant: whatever the file holds, nothing here panics
//! or reads beyond it. Start at [`Chinese::open`]; [`Chinese::file_of`] makes the file.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::Path;

use tantivy::directory::OwnedBytes;

use super::mecab::map;
use super::{Listed, Unusable, Wordlist, is_han};

/// The file in its folder.
pub(super) const WORDS: &str = "words.bin";
const MAGIC: &[u8; 8] = b"wick zh1";
const HEADER_BYTES: usize = 24;
/// What the logarithm of one is multiplied by; the lowest bit of a cost says whether the word only
/// holds a sentence together.
const COST_UNIT: f64 = 1024.0;
const WORD_CHARACTERS_MAX: usize = 32;
/// What only holds a sentence together, besides what the list says so of.
const EMPTY: &[&str] =
    &["是", "有", "没", "会", "能", "要", "很", "个", "怎么办", "怎么样", "请问", "没有", "有没有"];

/// A dictionary, open.
pub struct Chinese {
    bytes: OwnedBytes,
    count: usize,
    firsts: usize,
    /// Where the parts of the file begin.
    ends: usize,
    costs: usize,
    texts: usize,
    cost_unknown: u16,
    name: String,
}

/// A word of the way that is taken.
#[derive(Debug, Clone, Copy)]
struct Step {
    from: usize,
    to: usize,
    is_empty: bool,
    is_single: bool,
}

impl Chinese {
    /// Opens the dictionary of a folder.
    pub fn open(folder: &Path) -> Result<Self, Unusable> {
        let unusable = |reason| Unusable::of("zh", folder, reason);
        let bytes = map(folder, WORDS).map_err(|error| unusable(format!("{WORDS}: {error}")))?;
        Self::of(bytes).ok_or_else(|| unusable(format!("{WORDS} is damaged")))
    }

    /// Makes the file of a list: on each line a word, how often it was counted, and its kind. What
    /// isn't such a line is left out, and words that aren't of Chinese characters.
    #[must_use]
    pub fn file_of(list: &str) -> Vec<u8> {
        compile(list)
    }

    /// Reads such a file.
    #[must_use]
    pub fn of_file(bytes: Vec<u8>) -> Option<Self> {
        Self::of(OwnedBytes::new(bytes))
    }

    fn of(bytes: OwnedBytes) -> Option<Self> {
        let field = |at: usize| usize::try_from(u32_at(&bytes, at)?).ok();
        let (count, firsts, text_bytes) = (field(8)?, field(12)?, field(16)?);
        let cost_unknown = u16_at(&bytes, 20)?;
        let ends = HEADER_BYTES.checked_add(firsts.checked_mul(8)?)?;
        let costs = ends.checked_add(count.checked_mul(4)?)?;
        let texts = costs.checked_add(count.checked_mul(2)?)?;
        let is_whole = texts.checked_add(text_bytes)? == bytes.len();
        if !is_whole || bytes.get(..8)? != MAGIC {
            return None;
        }
        let name = format!("jieba {count} {text_bytes}");
        Some(Self { bytes, count, firsts, ends, costs, texts, cost_unknown, name })
    }

    /// Calls with the length and the cost of each word that a text begins with, the shortest first.
    fn prefixes(&self, text: &str, mut visit: impl FnMut(usize, u16)) {
        let mut characters = text.chars();
        let Some(first) = characters.next() else { return };
        let Some((mut low, mut high)) = self.range_of(first) else { return };
        let mut length = first.len_utf8();
        // All words from `low` to `high` begin with so much of the text.
        while low < high {
            if self.word(low).len() == length {
                visit(length, self.cost(low));
                low += 1;
            }
            let Some(next) = characters.next() else { return };
            let end = length + next.len_utf8();
            let wanted = &text.as_bytes()[length..end];
            let compared = |at: usize| {
                let word = self.word(at);
                word.get(length..end.min(word.len())).unwrap_or_default().cmp(wanted)
            };
            low = partition(low, high, |at| compared(at) == Ordering::Less);
            high = partition(low, high, |at| compared(at) != Ordering::Greater);
            length = end;
        }
    }

    /// Which words begin with a character.
    fn range_of(&self, first: char) -> Option<(usize, usize)> {
        let entry = |at: usize, half: usize| u32_at(&self.bytes, HEADER_BYTES + 8 * at + half);
        let is_before = |at| entry(at, 0).is_some_and(|one| one < u32::from(first));
        let at = partition(0, self.firsts, is_before);
        if at >= self.firsts || entry(at, 0)? != u32::from(first) {
            return None;
        }
        let begin = usize::try_from(entry(at, 4)?).ok()?;
        let next = if at + 1 < self.firsts { entry(at + 1, 4) } else { None };
        let end = next.and_then(|end| usize::try_from(end).ok()).unwrap_or(self.count);
        Some((begin, end.min(self.count)))
    }

    fn word(&self, at: usize) -> &[u8] {
        let end = |at: usize| {
            u32_at(&self.bytes, self.ends + 4 * at).map_or(0, |end| self.texts + end as usize)
        };
        let begin = at.checked_sub(1).map_or(self.texts, end);
        self.bytes.get(begin..end(at)).unwrap_or_default()
    }

    fn cost(&self, at: usize) -> u16 {
        u16_at(&self.bytes, self.costs + 2 * at).unwrap_or(u16::MAX)
    }

    /// The likeliest way through a text; if the whole of it is a word, that one may be left out.
    fn way(&self, text: &str, is_whole_out: bool) -> Vec<Step> {
        /// What the rest of the text costs, and the word that it begins with.
        #[derive(Clone, Copy, Default)]
        struct Rest {
            cost: u64,
            length: usize,
            word_cost: u16,
        }
        let mut rests = vec![Rest::default(); text.len() + 1];
        for (from, one) in text.char_indices().rev() {
            let single = one.len_utf8();
            let mut best = Rest {
                cost: u64::from(self.cost_unknown >> 1) + rests[from + single].cost,
                length: single,
                word_cost: self.cost_unknown,
            };
            self.prefixes(&text[from..], |length, word_cost| {
                let Some(behind) = rests.get(from + length) else { return };
                let cost = u64::from(word_cost >> 1) + behind.cost;
                let is_out = is_whole_out && length == text.len();
                // Of two that cost the same the longer, and a single one that is known.
                if cost <= best.cost && !is_out {
                    best = Rest { cost, length, word_cost };
                }
            });
            rests[from] = best;
        }
        let mut steps = Vec::new();
        let mut from = 0;
        while let Some(one) = text.get(from..).and_then(|rest| rest.chars().next()) {
            let Rest { length, word_cost, .. } = rests[from];
            let (to, is_single) = (from + length, length == one.len_utf8());
            steps.push(Step { from, to, is_empty: word_cost & 1 == 1, is_single });
            from = to;
        }
        steps
    }

    /// Adds a word behind whatever words it is made of: who looks for a university finds Beijing's
    /// as a word, too.
    fn add_with_inner(&self, text: &str, from: usize, words: &mut Vec<Listed>) {
        words.push(Listed { from, to: from + text.len(), term: Some(text.to_owned()) });
        if text.chars().nth(2).is_some() {
            for step in self.way(text, true).into_iter().filter(|step| !step.is_single) {
                self.add_with_inner(&text[step.from..step.to], from + step.from, words);
            }
        }
    }
}

impl Wordlist for Chinese {
    fn name(&self) -> &str {
        &self.name
    }

    fn words(&self, text: &str) -> Vec<Listed> {
        let mut words = Vec::new();
        for step in self.way(text, false).into_iter().filter(|step| !step.is_empty) {
            let written = &text[step.from..step.to];
            if written.chars().all(is_han) {
                self.add_with_inner(written, step.from, &mut words);
            }
        }
        words
    }

    /// Characters that stand alone beside each other are often a word that the list lacks: they
    /// are looked for as they are written.
    fn parts(&self, text: &str) -> Vec<Listed> {
        let mut parts = Vec::new();
        for steps in self.way(text, false).chunk_by(|one, next| one.is_single && next.is_single) {
            let first = steps.iter().position(|step| !step.is_empty);
            let last = steps.iter().rposition(|step| !step.is_empty);
            let (Some(first), Some(last)) = (first, last) else { continue };
            let (from, to) = (steps[first].from, steps[last].to);
            let is_word = first == last && text[from..to].chars().all(is_han);
            parts.push(Listed { from, to, term: is_word.then(|| text[from..to].to_owned()) });
        }
        parts
    }
}

/// The first place of a range at which something doesn't hold any more.
fn partition(mut low: usize, mut high: usize, holds: impl Fn(usize) -> bool) -> usize {
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn compile(list: &str) -> Vec<u8> {
    let mut words: BTreeMap<&str, (u32, bool)> = BTreeMap::new();
    for line in list.lines() {
        let mut columns = line.split_ascii_whitespace();
        let (Some(word), Some(count)) = (columns.next(), columns.next()) else { continue };
        let Ok(count) = count.parse() else { continue };
        let is_word = word.chars().all(is_han) && word.chars().nth(WORD_CHARACTERS_MAX).is_none();
        if is_word {
            words.insert(word, (count, is_empty(word, columns.next().unwrap_or_default())));
        }
    }
    let total: f64 = words.values().map(|(count, _)| f64::from(*count)).sum();
    let cost_of = |count: u32| {
        let cost = (total.max(1.0).ln() - f64::from(count.max(1)).ln()) * COST_UNIT;
        // Of the list that there is 18,000 at most.
        (cost as u16).min(u16::MAX >> 1) << 1
    };
    let (mut firsts, mut ends, mut costs) = (Vec::new(), Vec::new(), Vec::new());
    let mut texts = Vec::new();
    let mut first_before = None;
    for (at, (word, (count, is_empty))) in (0_u32..).zip(&words) {
        let first = word.chars().next();
        if let Some(first) = first.filter(|_| first != first_before) {
            firsts.extend(u32::from(first).to_le_bytes());
            firsts.extend(at.to_le_bytes());
        }
        first_before = first;
        texts.extend(word.as_bytes());
        ends.extend((texts.len() as u32).to_le_bytes());
        costs.extend((cost_of(*count) | u16::from(*is_empty)).to_le_bytes());
    }
    let mut file = MAGIC.to_vec();
    file.extend((words.len() as u32).to_le_bytes());
    file.extend((firsts.len() as u32 / 8).to_le_bytes());
    file.extend((texts.len() as u32).to_le_bytes());
    file.extend(cost_of(1).to_le_bytes());
    file.extend([0, 0]);
    for part in [firsts, ends, costs, texts] {
        file.extend(part);
    }
    file
}

/// Whether a word only holds a sentence together: particles, prepositions, conjunctions, pronouns;
/// of single characters adverbs, too.
fn is_empty(word: &str, kind: &str) -> bool {
    let is_single = word.chars().nth(1).is_none();
    kind.starts_with(['u', 'p', 'c', 'y', 'e', 'r'])
        || (is_single && kind.starts_with('d'))
        || EMPTY.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "研究 30 v\n研究生 8 n\n生命 20 n\n命 2 n\n起源 9 n\n北京大学 5 nt\n\
        北京 90 ns\n大学 70 n\n京大 1 j\n的 900 uj\n学 9 n\n在 500 p\n去 80 v\nT恤 4 n\n没有 x v\n过 60 ug\n";

    fn told(listed: Vec<Listed>, text: &str) -> String {
        let one = |one: Listed| match one.term {
            Some(term) => {
                assert_eq!(term, text[one.from..one.to]);
                term
            }
            None => format!("\"{}\"", &text[one.from..one.to]),
        };
        listed.into_iter().map(one).collect::<Vec<_>>().join(" ")
    }

    fn check(text: &str, words: &str, parts: &str) {
        let chinese = Chinese::of_file(compile(LIST)).expect("it is whole");
        assert_eq!(told(chinese.words(text), text), words, "{text}");
        assert_eq!(told(chinese.parts(text), text), parts, "{text}");
    }

    #[test]
    fn the_likeliest_words_are_taken_and_those_within_them() {
        check("研究生命起源", "研究 生命 起源", "研究 生命 起源");
        check("北京大学的研究生", "北京大学 北京 大学 研究生 研究", "北京大学 研究生");
        check("在大学", "大学", "大学");
        check("", "", "");
    }

    #[test]
    fn what_the_list_lacks_is_looked_for_as_it_is_written() {
        check("去過北京", "去 過 北京", "\"去過\" 北京");
        check("去过北京", "去 北京", "去 北京");
        check("電腦軟體", "電 腦 軟 體", "\"電腦軟體\"");
        check("的", "", "");
    }

    #[test]
    fn a_file_that_is_cut_is_none_and_a_wrong_one_finds_nothing() {
        let file = compile(LIST);
        for length in 0..file.len() {
            assert!(Chinese::of_file(file[..length].to_vec()).is_none());
        }
        for at in HEADER_BYTES..file.len() {
            let mut wrong = file.clone();
            wrong[at] ^= 0xFF;
            let wrong = Chinese::of_file(wrong).expect("its sizes are right");
            drop((wrong.words("北京大学的研究生"), wrong.parts("去過北京")));
        }
    }
}
