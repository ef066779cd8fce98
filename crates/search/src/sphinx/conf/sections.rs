//! The file's sections, with what they inherit.

/// Of one file.
const SECTIONS_MAX: usize = 4096;
const VALUES_MAX: usize = 100_000;

/// Why a file isn't read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct ConfError {
    /// From 1.
    pub line: usize,
    /// What is wrong there.
    pub what: String,
}

/// A section with all that it has, inherited or its own.
#[derive(Clone, Debug)]
pub(super) struct Section {
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) line: usize,
    /// What it is like, the nearest first.
    pub(super) parents: Vec<String>,
    pub(super) values: Vec<Setting>,
}

/// One line of a section.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    pub(super) key: String,
    pub(super) text: String,
    pub(super) line: usize,
}

impl Section {
    /// The last value of a key, if it isn't empty.
    pub(super) fn value<'a>(&'a self, key: &'a str) -> Option<&'a Setting> {
        self.all(key).last()
    }

    pub(super) fn text<'a>(&'a self, key: &'a str) -> Option<&'a str> {
        self.value(key).map(|value| value.text.as_str())
    }

    /// All values of a key that aren't empty: an empty one only takes those of a parent away.
    pub(super) fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a Setting> {
        self.values.iter().filter(move |value| value.key == key && !value.text.is_empty())
    }
}

/// Reads all sections of a file.
pub(super) fn read(text: &str) -> Result<Vec<Section>, ConfError> {
    if text.starts_with("#!") {
        let what = "the file is a program; give what it prints".to_owned();
        return Err(ConfError { line: 1, what });
    }
    let mut letters = Letters { rest: text, line: 1 };
    let mut sections: Vec<Section> = Vec::new();
    let mut count = 0;
    while letters.skip() {
        let section = read_section(&mut letters, &sections)?;
        count += section.values.len();
        if sections.len() >= SECTIONS_MAX || count > VALUES_MAX {
            return Err(letters.wrong("the file is too large"));
        }
        sections.push(section);
    }
    Ok(sections)
}

fn read_section(letters: &mut Letters<'_>, sections: &[Section]) -> Result<Section, ConfError> {
    let line = letters.line;
    let kind = letters.word();
    let mut name = String::new();
    match kind.as_str() {
        "source" | "index" => {
            letters.skip();
            name = letters.word();
            if name.is_empty() {
                return Err(letters.wrong(&format!("this {kind} has no name")));
            }
        }
        "indexer" | "searchd" | "common" => {}
        _ => {
            return Err(letters.wrong(&format!(
                "{kind} is no section; there are source, index, indexer, searchd and common"
            )));
        }
    }
    letters.skip();
    let (mut parent, mut parents) = (Vec::new(), Vec::new());
    if letters.take(':') {
        letters.skip();
        let like = letters.word();
        let found = sections.iter().find(|section| section.kind == kind && section.name == like);
        let Some(found) = found else {
            let what = format!("{kind} {name} is like {like}, which isn't there");
            return Err(ConfError { line, what });
        };
        parent.clone_from(&found.values);
        parents = [vec![like], found.parents.clone()].concat();
        letters.skip();
    }
    if !letters.take('{') {
        return Err(letters.wrong(&format!("{kind} {name} has no beginning; write {{ here")));
    }
    let mut values = Vec::new();
    while letters.skip() {
        if letters.take('}') {
            // What is said anew isn't inherited, though there may be several of it.
            parent.retain(|old: &Setting| values.iter().all(|new: &Setting| new.key != old.key));
            parent.append(&mut values);
            return Ok(Section { kind, name, line, parents, values: parent });
        }
        values.push(read_setting(letters)?);
    }
    Err(letters.wrong(&format!("{kind} {name} has no end; write }} behind its last line")))
}

fn read_setting(letters: &mut Letters<'_>) -> Result<Setting, ConfError> {
    let line = letters.line;
    let key = letters.word();
    letters.spaces();
    if key.is_empty() || !letters.take('=') {
        let shown = if key.is_empty() { letters.rest.chars().take(1).collect() } else { key };
        return Err(letters.wrong(&format!("{shown} has no value; write key = value")));
    }
    Ok(Setting { key, text: letters.value(), line })
}

/// What is left of the file.
struct Letters<'a> {
    rest: &'a str,
    line: usize,
}

impl Letters<'_> {
    fn wrong(&self, what: &str) -> ConfError {
        ConfError { line: self.line, what: what.to_owned() }
    }

    fn next(&mut self) -> Option<char> {
        let first = self.rest.chars().next()?;
        self.rest = &self.rest[first.len_utf8()..];
        self.line += usize::from(first == '\n');
        Some(first)
    }

    /// Over spaces, lines and comments; false at the end.
    fn skip(&mut self) -> bool {
        loop {
            match self.rest.chars().next() {
                None => return false,
                Some('#') => while self.next().is_some_and(|letter| letter != '\n') {},
                Some(letter) if letter.is_whitespace() => drop(self.next()),
                Some(_) => return true,
            }
        }
    }

    fn spaces(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }

    fn take(&mut self, letter: char) -> bool {
        let is_there = self.rest.starts_with(letter);
        if is_there {
            self.next();
        }
        is_there
    }

    fn word(&mut self) -> String {
        let is_word = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.');
        let end = self.rest.find(|next| !is_word(next)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word.to_owned()
    }

    /// Up to the end of the line, or of the section on the same line; a backslash at its end
    /// goes on with the next, as a space.
    fn value(&mut self) -> String {
        let mut value = String::new();
        loop {
            // A section's end on the line of its last value.
            if let Some(after) = self.rest.strip_prefix('}') {
                let after = after.trim_start_matches([' ', '\t', '\r']);
                if after.is_empty() || after.starts_with(['\n', '#']) {
                    break;
                }
            }
            match self.next() {
                None | Some('\n') => break,
                Some('#') => {
                    while self.next().is_some_and(|letter| letter != '\n') {}
                    break;
                }
                Some('\\') => match self.rest.chars().next() {
                    Some('#' | '\\') => value.extend(self.next()),
                    Some(letter) if letter.is_whitespace() && self.line_ends_here() => {
                        while self.next().is_some_and(|letter| letter != '\n') {}
                        value.push(' ');
                    }
                    _ => value.push('\\'),
                },
                Some('\r') => {}
                Some(letter) => value.push(letter),
            }
        }
        value.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn line_ends_here(&self) -> bool {
        self.rest.trim_start_matches([' ', '\t', '\r']).starts_with('\n')
    }
}
