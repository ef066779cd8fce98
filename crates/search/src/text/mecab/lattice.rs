//! All ways to take a text apart, and the one that costs least.
//!
//! At each place where a way may be, the words that begin there are laid behind the ways
//! that end there; of each word only the cheapest way to it is kept.

use super::files::{Entry, Lexicon};
use super::{Mecab, Piece};

/// Longer unknown words are not made of characters that are alike.
const GROUP_MAX: usize = 24;
/// A word of the dictionary is no longer.
const WORD_BYTES_MAX: usize = 192;
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

pub(super) fn best_way<'a>(mecab: &'a Mecab, text: &'a str) -> Vec<Piece<'a>> {
    let mut ways = Ways {
        mecab,
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
    mecab: &'a Mecab,
    text: &'a str,
    nodes: Vec<Node>,
    /// Which nodes end at a place.
    ending: Vec<Vec<u32>>,
    begun_at: usize,
}

impl<'a> Ways<'a> {
    /// Lays all words that begin here.
    fn lay(&mut self, at: usize) {
        let mecab = self.mecab;
        let rest = &self.text[at..];
        let mut found = Vec::new();
        let bytes = &rest.as_bytes()[..rest.len().min(WORD_BYTES_MAX)];
        mecab.known.prefixes(bytes, |length, value| {
            if length > 0 && rest.is_char_boundary(length) {
                found.push((length, value));
            }
        });
        for (length, value) in &found {
            let joined = mecab.habits.joined.as_ref().filter(|joined| {
                mecab.known.entries(*value).any(|entry| entry.kind == joined.particle)
            });
            for mut entry in mecab.known.entries(*value) {
                if let Some(joined) = joined
                    && joined.nouns.contains(&entry.kind)
                    && self.is_joined(at)
                {
                    entry.cost = entry.cost.saturating_add(joined.cost);
                }
                self.add(at, at + length, entry, true);
            }
        }
        let mut characters = rest.chars();
        let Some(first) = characters.next() else { return };
        let kind = mecab.characters.of_character(first);
        if !found.is_empty() && !kind.is_always() {
            return;
        }
        let Some(value) = mecab.unknown.value(mecab.characters.name(kind)) else { return };
        let alike = characters
            .take_while(|one| {
                !one.is_whitespace() && kind.is_like(mecab.characters.of_character(*one))
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
                for entry in mecab.unknown.entries(value) {
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
        let mecab = self.mecab;
        let is_joined = self.is_joined(from);
        let kind_costs = mecab.habits.space_costs.iter().find(|(kind, _)| *kind == entry.kind);
        let space =
            kind_costs.filter(|_| !is_joined && from > self.begun_at).map_or(0, |(_, cost)| *cost);
        let own = i32::from(entry.cost) + space;
        let (before, cost) = if from == self.begun_at {
            (NOWHERE, mecab.matrix.cost(0, entry.left))
        } else {
            let ways = self.ending[from].iter().map(|before| {
                let node = &self.nodes[*before as usize];
                let odd = mecab.habits.joined.as_ref().filter(|joined| {
                    is_joined
                        && node.entry.kind == joined.adverb
                        && joined.nouns.contains(&entry.kind)
                });
                let joined = odd.map_or(0, |joined| i32::from(joined.cost));
                let beside = mecab.matrix.cost(node.entry.right, entry.left) + joined;
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

    fn read_back(&self) -> Vec<Piece<'a>> {
        let mecab = self.mecab;
        let last = self.ending[self.text.len()].iter().copied().min_by_key(|number| {
            let node = &self.nodes[*number as usize];
            node.cost.saturating_add(mecab.matrix.cost(node.entry.right, 0))
        });
        let mut pieces = Vec::new();
        let mut at = last.unwrap_or(NOWHERE);
        while let Some(node) = self.nodes.get(at as usize) {
            let lexicon: &'a Lexicon = if node.is_known { &mecab.known } else { &mecab.unknown };
            let feature = lexicon.feature(&node.entry);
            pieces.push(Piece { from: node.from, to: node.to, feature });
            at = node.before;
        }
        pieces.reverse();
        pieces
    }
}
