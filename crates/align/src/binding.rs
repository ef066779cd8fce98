//! Binding: which value of one copy is which of the other.
//!
//! In: the copy that a visitor reads and the copy that was made in the visitor's own
//! session. Out: a map from the first to the second. Strong values are exchanged wherever
//! they stand, weak ones only as the whole value of the field that bore them, names of
//! fields only as whole names.
//! Invariants: 1. a value that both copies hold as their own is nobody's token and is not
//! mapped. 2. exchanged bytes are not looked at again, so that two values may change
//! places.

use std::cell::LazyCell;
use std::collections::{HashMap, HashSet};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use crate::class::Class;
use crate::compare::{Comparison, TooDifferent, compare};
use crate::context;
use crate::document::Document;
use crate::fields;

/// A page with more different tokens is not bound.
pub(crate) const STRONG_VALUES_MAX: usize = 1024;
/// Strong values that are shorter than this are exchanged only between marks: eight
/// letters and digits may be part of a longer word by chance.
const UNMISTAKABLE_BYTES: usize = 16;

/// A map from the values of one copy to those of another.
#[derive(Clone, Debug, Default)]
pub struct Binding {
    names: HashMap<Vec<u8>, Vec<u8>>,
    /// By field, then by value.
    weak: HashMap<Vec<u8>, HashMap<Vec<u8>, Vec<u8>>>,
    strong: HashMap<Vec<u8>, Vec<u8>>,
    finder: Option<Finder>,
    missing: Vec<Vec<u8>>,
}

/// Searches for all strong values, and for those without a counterpart, at once.
#[derive(Clone, Debug)]
struct Finder {
    automaton: AhoCorasick,
    /// By pattern; `None` for a value that is missing.
    values: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

/// What was found in one value.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Exchanged {
    /// The value as it is to be; none if it stays.
    pub(crate) value: Option<Vec<u8>>,
    pub(crate) replaced: usize,
    /// Values of the old copy that have no counterpart.
    pub(crate) missing: Vec<Vec<u8>>,
}

impl Binding {
    /// Compares two copies and maps their values. `known` are the old copy's strong values
    /// and names of fields, as [`Comparison::strong_values`] told them when it was made: what
    /// the comparison does not find is looked for by its context.
    ///
    /// # Errors
    /// The copies are too different, or hold over 1,024 different tokens.
    pub fn new<'a>(
        old: &Document,
        new: &Document,
        known: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Self, TooDifferent> {
        let comparison = compare(old, new)?;
        let mut binding = Self::learned(&comparison);
        let gone = LazyCell::new(|| fields::values_of_gone(old, new));
        let paired: LazyCell<HashSet<&[u8]>, _> =
            LazyCell::new(|| comparison.spans.iter().map(|span| &span.new[..]).collect());
        // What stands to the left may be the same of the field beside one that is gone.
        let is_anothers =
            |value: &[u8], found: &[u8]| gone.contains(value) && paired.contains(found);
        for value in known {
            if value.is_empty()
                || binding.strong.contains_key(value)
                || binding.names.contains_key(value)
            {
                continue;
            }
            let found = context::find(old.text(), new.text(), value);
            match found.filter(|found| !is_anothers(value, found)) {
                Some(found) => drop(binding.strong.insert(value.to_vec(), found)),
                None => binding.missing.push(value.to_vec()),
            }
        }
        if binding.strong.len() + binding.missing.len() > STRONG_VALUES_MAX {
            return Err(TooDifferent);
        }
        binding.build();
        Ok(binding)
    }

    /// Adds what another binding knows; where both know a value, the other is believed.
    ///
    /// # Errors
    /// Together they hold over 1,024 different tokens; nothing is added then.
    pub fn join(&mut self, other: Self) -> Result<(), TooDifferent> {
        let count = self.strong.len() + self.missing.len();
        if count + other.strong.len() + other.missing.len() > STRONG_VALUES_MAX {
            return Err(TooDifferent);
        }
        self.names.extend(other.names);
        for (field, values) in other.weak {
            self.weak.entry(field).or_default().extend(values);
        }
        self.strong.extend(other.strong);
        self.missing.extend(other.missing);
        self.missing
            .retain(|value| !self.strong.contains_key(value) && !self.names.contains_key(value));
        self.build();
        Ok(())
    }

    /// Values of the old copy that have no counterpart in the new one.
    pub fn missing(&self) -> impl Iterator<Item = &[u8]> {
        self.missing.iter().map(Vec::as_slice)
    }

    /// What the old copy's strong values are in the new one.
    pub fn counterparts(&self) -> impl Iterator<Item = &[u8]> {
        self.strong.values().map(Vec::as_slice)
    }

    /// Whether nothing is mapped.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.weak.is_empty() && self.strong.is_empty()
    }

    /// What a comparison says. Of more tokens than [`STRONG_VALUES_MAX`] none is searched for.
    pub(crate) fn learned(comparison: &Comparison) -> Self {
        let mut binding = Self::default();
        let is_usable = |span: &&crate::Span| {
            span.class.is_translated() && !span.old.is_empty() && !span.new.is_empty()
        };
        let spans = || comparison.spans.iter().filter(is_usable);
        let held: HashSet<(&[u8], &[u8])> =
            spans().map(|span| (&span.key[..], &span.new[..])).collect();
        let held_anywhere: HashSet<&[u8]> = held.iter().map(|(_, new)| *new).collect();
        let mut votes: HashMap<&[u8], Vec<(&[u8], usize)>> = HashMap::new();
        for span in spans() {
            match span.class {
                Class::FieldName if !held_anywhere.contains(&span.old[..]) => {
                    binding.names.insert(span.old.clone(), span.new.clone());
                }
                Class::FieldName => {}
                _ => {
                    if !span.key.is_empty() && !held.contains(&(&span.key[..], &span.old[..])) {
                        let field = binding.weak.entry(span.key.clone()).or_default();
                        field.insert(span.old.clone(), span.new.clone());
                    }
                }
            }
            let is_strong = crate::class::is_strong(&span.old);
            if is_strong && !held_anywhere.contains(&span.old[..]) {
                let news = votes.entry(&span.old).or_default();
                match news.iter_mut().find(|(new, _)| *new == span.new) {
                    Some((_, count)) => *count += 1,
                    None => news.push((&span.new, 1)),
                }
            }
        }
        // What stands most often behind a value is its counterpart; the first of equals.
        for (old, news) in votes {
            let best = news.iter().rev().max_by_key(|(_, count)| *count);
            if let Some((new, _)) = best {
                binding.strong.insert(old.to_vec(), new.to_vec());
            }
        }
        binding.build();
        binding
    }

    fn build(&mut self) {
        if self.strong.len() + self.missing.len() > STRONG_VALUES_MAX {
            self.finder = None;
            return;
        }
        let strong = self.strong.iter().map(|(old, new)| (old.clone(), Some(new.clone())));
        let missing = self.missing.iter().map(|old| (old.clone(), None));
        let values: Vec<_> = strong.chain(missing).collect();
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            // Built anew for each binding and used for a few kilobytes.
            .kind(Some(AhoCorasickKind::NoncontiguousNFA))
            .build(values.iter().map(|(old, _)| old));
        self.finder = match automaton {
            Ok(automaton) if !values.is_empty() => Some(Finder { automaton, values }),
            _ => None,
        };
    }

    /// The name that a field bears in the new copy.
    pub(crate) fn exchange_name(&self, name: &[u8]) -> Exchanged {
        let (base, rest) = name.split_at(base_length(name));
        if let Some(new) = self.names.get(name) {
            return Exchanged { value: Some(new.clone()), replaced: 1, missing: Vec::new() };
        }
        if let Some(new) = self.names.get(base) {
            let value = Some([new, rest].concat());
            return Exchanged { value, replaced: 1, missing: Vec::new() };
        }
        self.exchange(name)
    }

    /// The value that a field has in the new copy.
    pub(crate) fn exchange_value(&self, field: &[u8], value: &[u8]) -> Exchanged {
        let of = |field: &[u8]| self.weak.get(field).and_then(|values| values.get(value));
        match of(field).or_else(|| of(&field[..base_length(field)])) {
            Some(new) => Exchanged { value: Some(new.clone()), replaced: 1, missing: Vec::new() },
            None => self.exchange(value),
        }
    }

    /// A text with its strong values exchanged; none if there are none in it.
    pub(crate) fn exchange_strong(&self, text: &[u8]) -> Option<Vec<u8>> {
        self.exchange(text).value
    }

    fn exchange(&self, text: &[u8]) -> Exchanged {
        let mut exchanged = Exchanged::default();
        let Some(finder) = &self.finder else { return exchanged };
        let mut out = Vec::new();
        let mut done = 0;
        for found in finder.automaton.find_iter(text) {
            let (old, new) = &finder.values[found.pattern().as_usize()];
            if old.len() < UNMISTAKABLE_BYTES && !stands_alone(text, found.range()) {
                continue;
            }
            let Some(new) = new else {
                exchanged.missing.push(old.clone());
                continue;
            };
            out.extend_from_slice(&text[done..found.start()]);
            out.extend_from_slice(new);
            done = found.end();
            exchanged.replaced += 1;
        }
        if exchanged.replaced > 0 {
            out.extend_from_slice(&text[done..]);
            exchanged.value = Some(out);
        }
        exchanged
    }
}

/// The length of a name without PHP's brackets.
fn base_length(name: &[u8]) -> usize {
    memchr::memchr(b'[', name).filter(|&at| at > 0).unwrap_or(name.len())
}

fn stands_alone(text: &[u8], range: std::ops::Range<usize>) -> bool {
    let is_part = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let before = range.start.checked_sub(1).and_then(|at| text.get(at));
    !is_part(before) && !is_part(text.get(range.end))
}

#[cfg(test)]
mod tests {
    use wire::Fields;

    use super::*;
    use crate::document::Kind;

    fn bound(old: &str, new: &str, known: &[&str]) -> Binding {
        let read = |body: &str| {
            Document::new(Kind::Html, &Fields::new(), body.as_bytes()).expect("a short page")
        };
        let known = known.iter().map(|value| value.as_bytes());
        Binding::new(&read(old), &read(new), known).expect("hardly any work")
    }

    /// `field=value` in, `field=value` out.
    fn check(binding: &Binding, field: &str, expected: &str) {
        let (name, value) = field.split_once('=').expect("a field has a value");
        let new_name = binding.exchange_name(name.as_bytes()).value;
        let new_value = binding.exchange_value(name.as_bytes(), value.as_bytes()).value;
        let text = |new: Option<Vec<u8>>, old: &str| {
            new.map_or(old.to_owned(), |new| String::from_utf8_lossy(&new).into_owned())
        };
        let found = format!("{}={}", text(new_name, name), text(new_value, value));
        assert_eq!(found, expected, "{field}");
    }

    #[test]
    fn strong_values_are_exchanged_anywhere_and_weak_ones_in_their_field() {
        let old = "<input name=k value=ab12cd34><input name=n value=5>";
        let binding = bound(old, "<input name=k value=ef56ab78><input name=n value=6>", &[]);
        check(&binding, "k=ab12cd34", "k=ef56ab78");
        check(&binding, "x=/p?q=ab12cd34&r", "x=/p?q=ef56ab78&r");
        check(&binding, "n=5", "n=6");
        check(&binding, "n[a]=5", "n[a]=6");
        check(&binding, "x=5", "x=5");
        check(&binding, "n=55", "n=55");
    }

    #[test]
    fn a_short_token_within_a_word_is_not_a_token() {
        let binding = bound("<a href=/ab12cd34>", "<a href=/ef56ab78>", &[]);
        check(&binding, "x=ab12cd34e", "x=ab12cd34e");
        check(&binding, "x=t_ab12cd34", "x=t_ef56ab78");
        let (old, new) = ("ab12cd34ab12cd34", "ef56ab78ef56ab78");
        let binding = bound(&format!("<a href=/{old}>"), &format!("<a href=/{new}>"), &[]);
        check(&binding, &format!("x=y{old}z"), &format!("x=y{new}z"));
    }

    #[test]
    fn fields_are_renamed() {
        let binding = bound("<input name=f1a value=1>", "<input name=g2b value=1>", &[]);
        check(&binding, "f1a=1", "g2b=1");
        check(&binding, "f1a[]=1", "g2b[]=1");
        check(&binding, "f1=1", "f1=1");
    }

    /// A hidden field; the token is a letter, sixteen times with a digit.
    fn hidden(name: &str, letter: &str) -> String {
        format!("<input type=\"hidden\" name=\"{name}\" value=\"{}\">", token(letter))
    }

    fn token(letter: &str) -> String {
        format!("{letter}1").repeat(16)
    }

    /// Fields as `name` and letter, in a form each.
    fn page(forms: &[&[(&str, &str)]]) -> String {
        let fields = |form: &&[(&str, &str)]| -> String {
            let fields: String = form.iter().map(|(name, letter)| hidden(name, letter)).collect();
            format!("<form>{fields}<input name=body></form>")
        };
        forms.iter().map(fields).collect()
    }

    /// Two pages, and which letter of the old one is which of the new.
    fn check_pages(old: &[&[(&str, &str)]], new: &[&[(&str, &str)]], expected: &[(&str, &str)]) {
        let known: Vec<String> =
            old.iter().flat_map(|form| form.iter()).map(|(_, letter)| token(letter)).collect();
        // As values that are known, and as values that are not.
        for known in [known.iter().map(String::as_str).collect(), Vec::new()] {
            let binding = bound(&page(old), &page(new), &known);
            for (old, new) in expected {
                let (old, new) = (token(old), token(new));
                check(&binding, &format!("x={old}"), &format!("x={new}"));
            }
        }
    }

    #[test]
    fn a_field_that_only_the_old_copy_has_takes_no_others_value() {
        let tok = ("tok", "b");
        let new: &[&[_]] = &[&[("tok", "c")]];
        check_pages(&[&[("visit", "a"), tok]], new, &[("a", "a"), ("b", "c")]);
        check_pages(&[&[tok, ("visit", "a")]], new, &[("a", "a"), ("b", "c")]);
        check_pages(&[&[("v", "d"), ("visit", "a"), tok]], new, &[("a", "a"), ("b", "c")]);
        check_pages(&[&[("visit", "a")], &[tok]], &[&[("tok", "c")], &[]], &[("a", "a")]);
    }

    #[test]
    fn a_field_that_only_the_new_copy_has_gives_no_other_its_value() {
        let tok = ("tok", "c");
        let old: &[&[_]] = &[&[("tok", "b")]];
        check_pages(old, &[&[("visit", "a"), tok]], &[("b", "c")]);
        check_pages(old, &[&[tok, ("visit", "a")]], &[("b", "c")]);
        check_pages(old, &[&[("v", "d"), ("visit", "a"), tok]], &[("b", "c")]);
    }

    #[test]
    fn fields_whose_names_are_each_sessions_own_are_paired_by_their_places() {
        let old: &[&[_]] = &[&[("f1a2", "a"), ("f3b4", "b"), ("tok", "c")]];
        let new: &[&[_]] = &[&[("g5c6", "d"), ("g7d8", "e"), ("tok", "f")]];
        check_pages(old, new, &[("a", "d"), ("b", "e"), ("c", "f")]);
        let binding = bound(&page(old), &page(new), &[]);
        check(&binding, "f1a2=1", "g5c6=1");
        check(&binding, "f3b4=1", "g7d8=1");
        let new: &[&[_]] = &[&[("g5c6", "d"), ("g7d8", "e"), ("tok", "f"), ("visit", "g")]];
        check_pages(old, new, &[("a", "d"), ("b", "e"), ("c", "f")]);
        let new: &[&[_]] = &[&[("g5c6", "d"), ("g7d8", "e"), ("visit", "g"), ("tok", "f")]];
        check_pages(old, new, &[("c", "f")]);
    }

    #[test]
    fn fields_of_one_name_in_several_forms_keep_their_order() {
        let new: &[&[_]] = &[&[("tok", "c")], &[("tok", "d")]];
        check_pages(&[&[("tok", "a")], &[("tok", "b")]], new, &[("a", "c"), ("b", "d")]);
        let old: &[&[_]] = &[&[("visit", "e"), ("tok", "a")], &[("visit", "f"), ("tok", "b")]];
        check_pages(old, new, &[("a", "c"), ("b", "d"), ("e", "e"), ("f", "f")]);
        check_pages(&[&[("tok", "a")], &[("visit", "e"), ("tok", "b")]], new, &[("b", "d")]);
    }

    #[test]
    fn a_meta_tag_takes_no_others_value() {
        let meta = |name: &str, letter: &str| {
            format!("<meta name=\"{name}\" content=\"{}\">", token(letter))
        };
        let old = meta("request-id", "a") + &meta("csrf-token", "b");
        let binding = bound(&old, &meta("csrf-token", "c"), &[&token("a"), &token("b")]);
        check(&binding, &format!("x={}", token("b")), &format!("x={}", token("c")));
        check(&binding, &format!("x={}", token("a")), &format!("x={}", token("a")));
    }

    #[test]
    fn what_has_the_same_to_its_left_is_no_counterpart_if_it_is_anothers() {
        let field = |name: &str, letter: &str| {
            format!("<input type=\"hidden\" value=\"{}\" name=\"{name}\">", token(letter))
        };
        let old = field("visit", "a") + &field("tok", "b");
        let binding = bound(&old, &field("tok", "c"), &[&token("a"), &token("b")]);
        check(&binding, &format!("x={}", token("b")), &format!("x={}", token("c")));
        assert_eq!(binding.missing().collect::<Vec<_>>(), [token("a").as_bytes()]);
        let old = field("tok", "a") + "<p>" + &field("tok", "b");
        let binding = bound(&old, &field("tok", "c"), &[&token("a"), &token("b")]);
        assert_eq!(binding.missing().count(), 0, "the new copy has a field of that name");
    }

    #[test]
    fn of_a_page_that_loses_a_field_the_bindings_with_both_its_copies_know_all_together() {
        let old = page(&[&[("visit", "a"), ("tok", "b")]]);
        let known = [&*token("a"), &*token("b")];
        let mut binding = bound(&old, &page(&[&[("visit", "c"), ("tok", "d")]]), &known);
        let again = bound(&old, &page(&[&[("tok", "e")]]), &known);
        binding.join(again).expect("a few tokens");
        check(&binding, &format!("x={}", token("a")), &format!("x={}", token("c")));
        check(&binding, &format!("x={}", token("b")), &format!("x={}", token("e")));
        assert_eq!(binding.missing().count(), 0);
    }

    #[test]
    fn what_both_copies_hold_is_nobodys_token() {
        let old =
            "<input name=a value=1><input name=a value=2><a href=/ab12cd34><a href=/ef56ab78>";
        let new =
            "<input name=a value=2><input name=a value=1><a href=/ef56ab78><a href=/ab12cd34>";
        let binding = bound(old, new, &[]);
        for field in ["a=1", "a=2", "x=ab12cd34", "x=ef56ab78"] {
            check(&binding, field, field);
        }
    }

    #[test]
    fn other_content_is_not_mapped() {
        let row = |id: &str| format!("<a href=\"?post={id}\">Post {id}");
        let binding = bound(&row("x1y2z3w4"), &row("a5b6c7d8"), &[]);
        assert!(binding.is_empty());
    }

    #[test]
    fn the_most_frequent_counterpart_wins() {
        let old = "<a href=/ab12cd34><i href=/ab12cd34><b href=/ab12cd34>";
        let new = "<a href=/x1y2z3w4><i href=/ef56ab78><b href=/ef56ab78>";
        check(&bound(old, new, &[]), "x=ab12cd34", "x=ef56ab78");
    }

    #[test]
    fn what_pairing_misses_is_found_by_its_context_or_missing() {
        let old = "<p>Here is your code: ab12cd34 </p>";
        let binding = bound(old, "<b>New</b><i>Here is your code: ef56ab78 </i>", &["ab12cd34"]);
        check(&binding, "x=ab12cd34", "x=ef56ab78");
        let binding = bound(old, "<p>Nothing</p>", &["ab12cd34"]);
        assert_eq!(binding.missing().collect::<Vec<_>>(), [b"ab12cd34"]);
        let found = binding.exchange_value(b"x", b"ab12cd34");
        assert_eq!(found.missing, [b"ab12cd34".to_vec()]);
        assert_eq!((found.value, found.replaced), (None, 0));
    }

    #[test]
    fn bindings_join_and_what_one_misses_the_other_may_know() {
        let mut binding = bound("<p>ab12cd34", "<p>x", &["ab12cd34"]);
        let other = bound("<a href=/ab12cd34>", "<a href=/ef56ab78>", &[]);
        binding.join(other).expect("two tokens");
        assert_eq!(binding.missing().count(), 0);
        check(&binding, "x=ab12cd34", "x=ef56ab78");
    }
}
