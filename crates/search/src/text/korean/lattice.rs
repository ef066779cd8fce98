//! All ways to take a text apart, and the one that costs least.
//!
//! At each place where a way may be, the words that begin there are laid behind the ways
//! that end there; of each word only the cheapest way to it is kept.

use super::Korean;
use super::files::{Entry, Lexicon};
use crate::text::Morpheme;

/// Longer unknown words are not made of characters that are alike.
const GROUP_MAX: usize = 24;
/// A word of the dictionary is no longer.
const WORD_BYTES_MAX: usize = 192;
/// Adverbs, by the dictionary's `pos-id.def`, and nouns.
const ADVERB: u16 = 130;
const NOUNS: std::ops::RangeInclusive<u16> = 150..=152;
const PARTICLE: u16 = 120;
/// What it costs more that a noun is joined to an adverb, or that what may be a particle is
/// a noun behind another word: queries are single words, which say less than a sentence,
/// and without that `이미지의`, an image's, would be lichens already, or an image's wit.
const JOINED_COST: i16 = 4000;
const NOWHERE: u32 = u32::MAX;

struct Node {
    from: usize,
    to: usize,
    entry: Entry,
    is_known: bool,
    /// Of the whole way to its end.
    cost: i32,
    before: u32,
}

pub(super) fn best_way(korean: &Korean, text: &str) -> Vec<Morpheme> {
    let mut ways = Ways {
        korean,
        text,
        nodes: Vec::new(),
        ending: vec![Vec::new(); text.len() + 1],
        begun_at: 0,
    };
    let mut is_begun = false;
    for (at, one) in text.char_indices() {
        if is_begun && ways.ending[at].is_empty() {
            continue;
        }
        if one.is_whitespace() {
            // The ways go on behind it.
            let ending = std::mem::take(&mut ways.ending[at]);
            if is_begun {
                ways.ending[at + one.len_utf8()].extend(ending);
            } else {
                ways.begun_at = at + one.len_utf8();
            }
            continue;
        }
        if !is_begun && at > ways.begun_at {
            break;
        }
        is_begun = true;
        ways.lay(at);
    }
    ways.read_back()
}

struct Ways<'a> {
    korean: &'a Korean,
    text: &'a str,
    nodes: Vec<Node>,
    /// Which nodes end at a place.
    ending: Vec<Vec<u32>>,
    begun_at: usize,
}

impl Ways<'_> {
    /// Lays all words that begin here.
    fn lay(&mut self, at: usize) {
        let korean = self.korean;
        let rest = &self.text[at..];
        let mut found = Vec::new();
        let bytes = &rest.as_bytes()[..rest.len().min(WORD_BYTES_MAX)];
        korean.known.prefixes(bytes, |length, value| {
            if length > 0 && rest.is_char_boundary(length) {
                found.push((length, value));
            }
        });
        for (length, value) in &found {
            let is_particle = korean.known.entries(*value).any(|entry| entry.kind == PARTICLE);
            for mut entry in korean.known.entries(*value) {
                if is_particle && NOUNS.contains(&entry.kind) && self.is_joined(at) {
                    entry.cost = entry.cost.saturating_add(JOINED_COST);
                }
                self.add(at, at + length, entry, true);
            }
        }
        let mut characters = rest.chars();
        let Some(first) = characters.next() else { return };
        let kind = korean.characters.of_character(first);
        if !found.is_empty() && !kind.is_always() {
            return;
        }
        let Some(value) = korean.unknown.value(korean.characters.name(kind)) else { return };
        let alike = characters
            .take_while(|one| {
                !one.is_whitespace() && kind.is_like(korean.characters.of_character(*one))
            })
            .map(char::len_utf8);
        let mut length = first.len_utf8();
        let mut lengths = vec![length];
        for more in alike.take(GROUP_MAX) {
            length += more;
            lengths.push(length);
        }
        let group = lengths.len();
        for (count, length) in (1..).zip(lengths) {
            let is_single = count == 1 && kind.length() == 0 && !kind.is_grouped();
            if count <= kind.length() || (count == group && kind.is_grouped()) || is_single {
                for entry in korean.unknown.entries(value) {
                    self.add(at, at + length, entry, false);
                }
            }
        }
    }

    /// Whether a word goes on here: neither the text nor what is behind a space begins.
    fn is_joined(&self, at: usize) -> bool {
        at > self.begun_at && !self.text[..at].ends_with(char::is_whitespace)
    }

    /// Lays a word behind the cheapest of the ways that end where it begins.
    fn add(&mut self, from: usize, to: usize, entry: Entry, is_known: bool) {
        let korean = self.korean;
        let is_joined = self.is_joined(from);
        let kind_costs = korean.space_costs.iter().find(|(kind, _)| *kind == entry.kind);
        let space =
            kind_costs.filter(|_| !is_joined && from > self.begun_at).map_or(0, |(_, cost)| *cost);
        let own = i32::from(entry.cost) + space;
        let (before, cost) = if from == self.begun_at {
            (NOWHERE, korean.matrix.cost(0, entry.left))
        } else {
            let ways = self.ending[from].iter().map(|before| {
                let node = &self.nodes[*before as usize];
                let is_odd = is_joined && node.entry.kind == ADVERB && NOUNS.contains(&entry.kind);
                let joined = if is_odd { i32::from(JOINED_COST) } else { 0 };
                let beside = korean.matrix.cost(node.entry.right, entry.left) + joined;
                (*before, node.cost.saturating_add(beside))
            });
            let Some(best) = ways.min_by_key(|(_, cost)| *cost) else { return };
            best
        };
        let Ok(number) = u32::try_from(self.nodes.len()) else { return };
        let cost = cost.saturating_add(own);
        self.nodes.push(Node { from, to, entry, is_known, cost, before });
        self.ending[to].push(number);
    }

    fn read_back(&self) -> Vec<Morpheme> {
        let last = self.ending[self.text.len()].iter().copied().min_by_key(|number| {
            let node = &self.nodes[*number as usize];
            node.cost.saturating_add(self.korean.matrix.cost(node.entry.right, 0))
        });
        let mut morphemes = Vec::new();
        let mut at = last.unwrap_or(NOWHERE);
        while let Some(node) = self.nodes.get(at as usize) {
            let korean = self.korean;
            let lexicon: &Lexicon = if node.is_known { &korean.known } else { &korean.unknown };
            let feature = lexicon.feature(&node.entry);
            morphemes.push(morpheme(feature, node.from, node.to, &self.text[node.from..node.to]));
            at = node.before;
        }
        morphemes.reverse();
        morphemes
    }
}

/// Of the columns the first is the tag, the fifth says whether it is made of others, and
/// the eighth of which: `힐튼/NNP/인명+재단/NNG/*`.
fn morpheme(feature: &str, from: usize, to: usize, text: &str) -> Morpheme {
    let columns: Vec<&str> = feature.split(',').collect();
    let tag = columns.first().copied().unwrap_or_default().to_owned();
    let is_made = matches!(columns.get(4), Some(&"Compound" | &"Inflect" | &"Preanalysis"));
    let made_of = columns.get(7).filter(|_| is_made).copied().unwrap_or_default();
    let mut parts = Vec::new();
    let mut place = from;
    for part in made_of.split('+') {
        let mut columns = part.split('/');
        let (Some(written), Some(tag)) = (columns.next(), columns.next()) else { continue };
        // A part that stands in the text as it is has a place of its own.
        let behind = text[place - from..].strip_prefix(written).map(|_| place + written.len());
        let (begin, end) = behind.map_or((from, to), |behind| (place, behind));
        place = behind.unwrap_or(place);
        let (text, tag) = (written.to_owned(), tag.to_owned());
        parts.push(Morpheme { from: begin, to: end, tag, text, parts: Vec::new() });
    }
    Morpheme { from, to, tag, text: text.to_owned(), parts }
}
