//! Patterns: regular expressions that are mostly alternatives of literals.
//!
//! In: an expression as plugins send it to Varnish. Out: the texts that it stands for, with
//! where they must begin and end; if it can't be spelled out, an engine that takes linear time.
//! Bounds: [`SPELLED_MAX`] texts of one expression, [`DEPTH_MAX`] groups in each other,
//! [`TRUE_BYTES_MAX`] bytes of one that is not spelled out and [`ENGINE_BYTES_MAX`] of its
//! engine.

use regex::bytes::{Regex, RegexBuilder};

use super::{Unreadable, tags};

/// Texts that one expression may stand for.
const SPELLED_MAX: usize = 16_384;
/// Their bytes together.
const SPELLED_BYTES_MAX: usize = 1 << 20;
/// Groups within groups.
const DEPTH_MAX: usize = 16;
/// Bytes of an expression that an engine is made of.
const TRUE_BYTES_MAX: usize = 4 << 10;
/// Bytes that an engine may take, and as much again while it searches.
const ENGINE_BYTES_MAX: usize = 256 << 10;

/// In a text that was spelled out: here the subject begins.
const START: char = '\u{1}';
/// Here it ends.
const END: char = '\u{2}';
/// Anything stands here.
const ANY: char = '\u{3}';
/// Here a word begins or ends.
const EDGE: char = '\u{4}';

/// A true pattern over targets.
#[derive(Clone, Debug)]
pub struct UrlPattern(Regex);

impl UrlPattern {
    /// Whether it is found in a target.
    #[must_use]
    pub fn is_found_in(&self, target: &[u8]) -> bool {
        self.0.is_match(target)
    }

    /// The pattern that [`UrlPattern::as_str`] is the text of.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        engine(text).ok()
    }

    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl PartialEq for UrlPattern {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

/// What an expression over targets means.
#[derive(Debug, PartialEq)]
pub(super) enum Targets {
    Everything,
    /// Whole targets, and beginnings.
    Literal {
        whole: Vec<String>,
        beginnings: Vec<String>,
    },
    Pattern(UrlPattern),
}

/// What an expression over a list of tags means.
#[derive(Debug, PartialEq)]
pub(super) enum TagsMeant {
    /// These.
    Exactly(Vec<String>),
    /// Something that can't be told of single tags.
    Anything,
}

/// Reads an expression that is searched for in targets.
pub(super) fn of_targets(expression: &str) -> Result<Targets, Unreadable> {
    match spell(expression, false).and_then(|texts| literal_targets(&texts)) {
        Some(targets) => Ok(targets),
        None => engine(expression).map(Targets::Pattern),
    }
}

fn literal_targets(texts: &[String]) -> Option<Targets> {
    let (mut whole, mut beginnings) = (Vec::new(), Vec::new());
    for text in texts {
        let (is_open, rest) = match text.trim_end_matches(ANY) {
            rest if rest.len() < text.len() => (true, rest),
            rest => match rest.strip_suffix(END) {
                Some(rest) => match rest.trim_end_matches(ANY) {
                    open if open.len() < rest.len() => (true, open),
                    closed => (false, closed),
                },
                None => (true, rest),
            },
        };
        let has_start = rest.starts_with(START);
        let literal = rest.trim_start_matches([START, ANY]);
        let begins_anywhere = !has_start || rest.contains(ANY);
        if is_open && (literal.is_empty() || literal == "/") {
            return Some(Targets::Everything);
        }
        if begins_anywhere || literal.is_empty() || literal.contains([START, END, ANY, EDGE]) {
            return None;
        }
        if is_open { &mut beginnings } else { &mut whole }.push(literal.to_owned());
    }
    Some(Targets::Literal { whole, beginnings })
}

/// Reads an expression that is searched for in a page's list of tags.
///
/// Alternatives of literals mean those very tags, as who sends them means it: by the letter
/// `node:1` would be found in `node:12` too.
pub(super) fn of_tags(expression: &str) -> TagsMeant {
    let Some(texts) = spell(expression, true) else { return TagsMeant::Anything };
    let mut meant = Vec::new();
    for text in &texts {
        let literal = bare(text);
        if literal.is_empty() || literal.contains([START, END, ANY, EDGE]) {
            return TagsMeant::Anything;
        }
        let mut tags = tags::split_text(literal.as_bytes());
        if tags.is_empty() {
            return TagsMeant::Anything;
        }
        meant.append(&mut tags);
    }
    meant.sort_unstable();
    meant.dedup();
    TagsMeant::Exactly(meant)
}

/// A text without what only says that a tag begins and ends there.
fn bare(text: &str) -> &str {
    const EDGES: [char; 5] = [START, END, EDGE, ',', ' '];
    let mut rest = text;
    loop {
        let trimmed = rest.trim_matches(EDGES);
        // What follows a comma is another tag, whatever it is.
        let trimmed = match trimmed.strip_suffix(ANY) {
            Some(before) if before.ends_with([',', ' ']) => before,
            _ => trimmed,
        };
        let trimmed = match trimmed.strip_prefix(ANY) {
            Some(behind) if behind.starts_with([',', ' ']) => behind,
            _ => trimmed,
        };
        if trimmed.len() == rest.len() {
            return rest;
        }
        rest = trimmed;
    }
}

/// Whether a text is meant as an expression rather than as itself.
pub(super) fn is_expression(text: &str) -> bool {
    text.contains(['|', '(', ')', '[', ']', '\\', '^', '$', '*'])
}

fn engine(expression: &str) -> Result<UrlPattern, Unreadable> {
    let shown = || expression.chars().take(200).collect::<String>();
    if expression.len() > TRUE_BYTES_MAX {
        let why = format!("it has more than {TRUE_BYTES_MAX} bytes");
        return Err(Unreadable::Pattern(shown(), why));
    }
    RegexBuilder::new(expression)
        .unicode(false)
        .size_limit(ENGINE_BYTES_MAX)
        .dfa_size_limit(ENGINE_BYTES_MAX)
        .nest_limit(DEPTH_MAX as u32 * 4)
        .build()
        .map(UrlPattern)
        .map_err(|error| {
            let text = error.to_string();
            // The last line says what is wrong; those before draw where.
            let why = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
            Unreadable::Pattern(shown(), why.to_owned())
        })
}

/// All texts that an expression stands for; none if they can't be told, or are too many.
/// In tags a dot is a dot: plugins forget to escape it, and mean nothing else by it.
fn spell(expression: &str, dot_is_literal: bool) -> Option<Vec<String>> {
    if expression.contains(char::is_control) {
        return None;
    }
    let mut reader = Reader { rest: expression, budget: SPELLED_BYTES_MAX, dot_is_literal };
    let texts = reader.alternatives(0)?;
    reader.rest.is_empty().then_some(texts)
}

struct Reader<'a> {
    rest: &'a str,
    /// Bytes that may still be spelled out.
    budget: usize,
    dot_is_literal: bool,
}

impl Reader<'_> {
    fn take(&mut self) -> Option<char> {
        let first = self.rest.chars().next()?;
        self.rest = &self.rest[first.len_utf8()..];
        Some(first)
    }

    fn takes(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Up to the end, or to the parenthesis that closes the group.
    fn alternatives(&mut self, depth: usize) -> Option<Vec<String>> {
        if depth > DEPTH_MAX {
            return None;
        }
        let mut all = Vec::new();
        loop {
            all.append(&mut self.sequence(depth)?);
            if all.len() > SPELLED_MAX {
                return None;
            }
            if !self.takes("|") {
                return Some(all);
            }
        }
    }

    fn sequence(&mut self, depth: usize) -> Option<Vec<String>> {
        let mut texts = vec![String::new()];
        while !self.rest.is_empty() && !self.rest.starts_with(['|', ')']) {
            let atom = self.atom(depth)?;
            texts = self.join(texts, &atom)?;
        }
        Some(texts)
    }

    /// Each text with each of the endings.
    fn join(&mut self, mut texts: Vec<String>, endings: &[String]) -> Option<Vec<String>> {
        if let [one] = endings {
            let bytes = texts.len() * one.len();
            self.budget = self.budget.checked_sub(bytes)?;
            texts.iter_mut().for_each(|text| text.push_str(one));
            return Some(texts);
        }
        if texts.len() * endings.len() > SPELLED_MAX {
            return None;
        }
        let mut joined = Vec::with_capacity(texts.len() * endings.len());
        for text in &texts {
            for ending in endings {
                self.budget = self.budget.checked_sub(text.len() + ending.len())?;
                joined.push([text.as_str(), ending].concat());
            }
        }
        Some(joined)
    }

    /// One element with what says how often.
    fn atom(&mut self, depth: usize) -> Option<Vec<String>> {
        let mut texts = match self.take()? {
            '(' => {
                if self.rest.starts_with('?') && !self.takes("?:") {
                    return None;
                }
                let texts = self.alternatives(depth + 1)?;
                if !self.takes(")") {
                    return None;
                }
                texts
            }
            '^' => vec![START.to_string()],
            '$' => vec![END.to_string()],
            '.' if self.takes("*") || self.takes("+") => vec![ANY.to_string()],
            '.' if !self.dot_is_literal => return None,
            '\\' => vec![escaped(self.take()?)?.to_string()],
            '*' | '+' | '?' | '[' | ']' | '{' | '}' => return None,
            literal => vec![literal.to_string()],
        };
        if texts.len() == 1 && texts[0].starts_with(ANY) {
            self.takes("?");
            return Some(texts);
        }
        if self.takes("?") {
            texts.push(String::new());
        }
        match self.rest.chars().next() {
            Some('*' | '+' | '?' | '{') => None,
            _ => Some(texts),
        }
    }
}

/// What a character behind a backslash stands for, if it is one thing.
fn escaped(character: char) -> Option<char> {
    match character {
        's' => Some(' '),
        'b' | '<' | '>' => Some(EDGE),
        'A' => Some(START),
        'z' | 'Z' => Some(END),
        character if character.is_alphanumeric() => None,
        character => Some(character),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(expression: &str, expected: &str) {
        let told = match of_tags(expression) {
            TagsMeant::Exactly(tags) => tags.join(" "),
            TagsMeant::Anything => "anything".to_owned(),
        };
        assert_eq!(told, expected, "{expression}");
    }

    fn targets(expression: &str, expected: &str) {
        let told = match of_targets(expression) {
            Ok(Targets::Everything) => "everything".to_owned(),
            Ok(Targets::Literal { whole, beginnings }) => {
                let whole = whole.iter().map(|text| format!("={text}"));
                let all = whole.chain(beginnings.iter().map(|text| format!("^{text}")));
                all.collect::<Vec<_>>().join(" ")
            }
            Ok(Targets::Pattern(pattern)) => format!("/{}/", pattern.as_str()),
            Err(error) => error.to_string(),
        };
        assert_eq!(told, expected, "{expression}");
    }

    #[test]
    fn alternatives_of_literals_are_those_tags() {
        tags("a", "a");
        tags("a|b|c", "a b c");
        tags("node:1|node:2", "node:1 node:2");
        tags("(^|,)(a|b)(,|$)", "a b");
        tags("(a|b)(,.+)?$", "a b");
        tags("((^|,)cat_p_1(,|$))|((^|,)cat_p_2(,|$))", "cat_p_1 cat_p_2");
        tags(r"(^|\s)node\:1(\s|$)", "node:1");
        tags(r"\bnode_1\b", "node_1");
        tags(r"(^|,)App\\Entity\-1(,|$)", r"App\Entity-1");
        tags("(?:a|b)", "a b");
        tags("product_(1|2)", "product_1 product_2");
        tags("a.b", "a.b");
        tags(".*,a,.*", "a");
        tags("a b", "a b");
    }

    #[test]
    fn what_is_no_list_of_tags_is_anything() {
        for expression in [
            ".*", "", "a.*", ".*a", "[ab]", "a+", "a{2}", r"\d+", "(a", "a)", "a**", "(?i)a", "a|",
            "\"", "\"|a",
        ] {
            tags(expression, "anything");
        }
        tags(&"(a|b)".repeat(20), "anything");
        tags(&"(".repeat(1000), "anything");
    }

    #[test]
    fn anchored_literals_are_targets_and_beginnings() {
        targets("^/x$", "=/x");
        targets("^/x", "^/x");
        targets("^/x.*", "^/x");
        targets("^/x.*$", "^/x");
        targets("^/(a|b)$", "=/a =/b");
        targets(r"^/a\.html$|^/b", "=/a.html ^/b");
        for everything in [".*", "", "/", "^/", "^/.*", "^.*$", ".*|^/x", "/.*"] {
            targets(everything, "everything");
        }
    }

    #[test]
    fn what_is_no_literal_is_left_to_the_engine() {
        for pattern in
            ["/x", "/x$", "[0-9]+$", r".*\.png$", "^/a.b[0-9]", "^/x.*y$", "^$", "^/a.b$"]
        {
            targets(pattern, &format!("/{pattern}/"));
        }
        targets(
            "(",
            "the pattern \"(\" can't be used: unclosed group; send a shorter or simpler one",
        );
        let told = of_targets("(a{1000}){1000}").expect_err("too large").to_string();
        assert!(told.contains("can't be used"), "{told}");
        let told = of_targets(&"[a]".repeat(2000)).expect_err("too long").to_string();
        assert!(told.contains("more than 4096 bytes"), "{told}");
    }
}
