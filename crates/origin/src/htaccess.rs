//! What a `.htaccess` plainly denies to everybody.
//!
//! In: the text of such a file. Out: [`Rules`], and from those of a path's folders
//! whether a file there is refused.
//! Law: Apache 2.4, mod_authz_core and mod_access_compat; its order of merging
//! sections (a deeper folder's word replaces that of the folder above; what is said
//! of single files comes after all that is said of folders).
//! Invariants: 1. Only what denies everybody is a denial: a directive that lets
//! anybody in, also on conditions, undoes it. 2. What can't be understood says
//! nothing. 3. No file, however odd, panics or takes longer than its length allows.
//! Start at [`Rules::parse`] and [`denies`].

use fancy_regex::{Regex, RegexBuilder};

/// Steps that a pattern may take over one file's name. Owners write the patterns, so
/// this guards against accidents only.
const PATTERN_STEPS_MAX: usize = 100_000;

/// What one kind of directive says about who may come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    /// Nobody.
    Nobody,
    /// Somebody, or it can't be told.
    Somebody,
}

/// What one folder, or one section about files, says.
#[derive(Clone, Copy, Debug, Default)]
struct Verdict {
    /// By `Require`.
    require: Option<Word>,
    /// By `Order`, `Deny` and `Allow`.
    host: Option<Word>,
    /// By `Satisfy`: whether one of the two suffices.
    is_any: Option<bool>,
}

impl Verdict {
    /// What is said here replaces what was said before.
    fn merge(&mut self, later: Self) {
        self.require = later.require.or(self.require);
        self.host = later.host.or(self.host);
        self.is_any = later.is_any.or(self.is_any);
    }

    fn is_denial(self) -> bool {
        let nobody = |word| word == Some(Word::Nobody);
        match self.is_any {
            Some(true) => nobody(self.host) && self.require != Some(Word::Somebody),
            _ => nobody(self.host) || nobody(self.require),
        }
    }
}

/// The directives of one section, gathered until its end.
#[derive(Clone, Copy, Debug, Default)]
struct Gathered {
    requires_denied: bool,
    requires_other: bool,
    denies_all: bool,
    denies_some: bool,
    allows: bool,
    /// Whether who is not allowed is denied: `Order allow,deny`.
    is_allow_first: Option<bool>,
    is_any: Option<bool>,
}

impl Gathered {
    /// Takes one directive; one that is not about access is none of ours.
    fn take(&mut self, name: &str, words: &[String]) {
        let is =
            |at: usize, word: &str| words.get(at).is_some_and(|w| w.eq_ignore_ascii_case(word));
        match name {
            "require" if is(0, "all") && is(1, "denied") && words.len() == 2 => {
                self.requires_denied = true;
            }
            "require" => self.requires_other = true,
            "deny" if is(0, "from") && is(1, "all") => self.denies_all = true,
            "deny" => self.denies_some = true,
            "allow" => self.allows = true,
            "order" => {
                let order = words.concat().to_ascii_lowercase();
                self.is_allow_first = Some(order == "allow,deny" || order == "mutual-failure");
            }
            "satisfy" => self.is_any = Some(is(0, "any")),
            _ => {}
        }
    }

    fn verdict(self) -> Verdict {
        let require = match (self.requires_other, self.requires_denied) {
            (true, _) => Some(Word::Somebody),
            (false, true) => Some(Word::Nobody),
            (false, false) => None,
        };
        let is_allow_first = self.is_allow_first.unwrap_or(false);
        let says_nothing = !self.denies_all && !self.denies_some && !self.allows;
        let is_nobody = if is_allow_first {
            self.denies_all || !self.allows
        } else {
            self.denies_all && !self.allows
        };
        let host = match (says_nothing && self.is_allow_first.is_none(), is_nobody) {
            (true, _) => None,
            (false, true) => Some(Word::Nobody),
            (false, false) => Some(Word::Somebody),
        };
        Verdict { require, host, is_any: self.is_any }
    }
}

/// What is said of files with certain names.
#[derive(Debug)]
struct FileRule {
    names: Regex,
    verdict: Verdict,
}

/// What one `.htaccess` says about access.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    folder: Verdict,
    files: Vec<FileRule>,
}

/// Whether a path is refused, by what its folders say, the outermost first; `name` is
/// that of the file, none for a folder or for something that doesn't exist.
pub(crate) fn denies<'a>(
    folders: impl Iterator<Item = &'a Rules> + Clone,
    name: Option<&[u8]>,
) -> bool {
    let mut verdict = Verdict::default();
    for rules in folders.clone() {
        verdict.merge(rules.folder);
    }
    if let Some(name) = name {
        let name = String::from_utf8_lossy(name);
        for rule in folders.flat_map(|rules| &rules.files) {
            // A pattern that takes too many steps matches nothing.
            if rule.names.is_match(&*name).unwrap_or(false) {
                verdict.merge(rule.verdict);
            }
        }
    }
    verdict.is_denial()
}

/// A section that is open.
enum Open {
    /// Its directives count as if it were not there.
    Through,
    /// Its condition is not met.
    Off,
    /// Its condition is unknown: what it denies is not counted, what it lets in is.
    Doubtful,
    /// Its directives are about files with these names.
    Files(Regex, Gathered),
}

impl Rules {
    /// Reads the text of a `.htaccess`.
    pub(crate) fn parse(text: &str) -> Self {
        let mut rules = Self::default();
        let mut folder = Gathered::default();
        let mut open: Vec<Open> = Vec::new();
        for line in logical_lines(text) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if line.starts_with("</") {
                rules.close(open.pop());
            } else if let Some(section) = line.strip_prefix('<') {
                let section = section.strip_suffix('>').unwrap_or(section);
                let next = open_section(section, &open);
                open.push(next);
            } else if !open.iter().any(|section| matches!(section, Open::Off)) {
                let mut words = words(line);
                let name = words.remove(0).to_ascii_lowercase();
                let is_doubtful = open.iter().any(|section| matches!(section, Open::Doubtful));
                if is_doubtful && !lets_in(&name, &words) {
                    continue;
                }
                let files = open.iter_mut().rev().find_map(|section| match section {
                    Open::Files(_, gathered) => Some(gathered),
                    _ => None,
                });
                files.unwrap_or(&mut folder).take(&name, &words);
            }
        }
        while let Some(section) = open.pop() {
            rules.close(Some(section));
        }
        rules.folder = folder.verdict();
        rules
    }

    fn close(&mut self, section: Option<Open>) {
        if let Some(Open::Files(names, gathered)) = section {
            self.files.push(FileRule { names, verdict: gathered.verdict() });
        }
    }
}

/// Whether a directive may let somebody in.
fn lets_in(name: &str, words: &[String]) -> bool {
    let mut alone = Gathered::default();
    alone.take(name, words);
    alone.requires_other || alone.allows || alone.is_any == Some(true)
}

/// Lines, those that end in a backslash joined with the next.
fn logical_lines(text: &str) -> impl Iterator<Item = String> {
    let mut lines = text.lines();
    std::iter::from_fn(move || {
        let mut whole = lines.next()?.to_owned();
        while whole.ends_with('\\') {
            whole.pop();
            match lines.next() {
                Some(next) => whole.push_str(next),
                None => break,
            }
        }
        Some(whole)
    })
}

/// A line's words; quotes hold a word together. There is at least one.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let (word, after) = match first {
            '"' | '\'' => rest[1..].split_once(first).unwrap_or((&rest[1..], "")),
            _ => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
        };
        words.push(word.to_owned());
        rest = after.trim_start();
    }
    if words.is_empty() {
        words.push(String::new());
    }
    words
}

fn open_section(section: &str, open: &[Open]) -> Open {
    let words = words(section);
    let argument = |at: usize| words.get(at).map_or("", String::as_str);
    let is_in_files = open.iter().any(|section| matches!(section, Open::Files(..)));
    let names = match words[0].to_ascii_lowercase().as_str() {
        "ifmodule" => return when(has_module(argument(1))),
        "ifversion" => return when(is_version(argument(1), argument(2))),
        "requireall" | "requireany" => return Open::Through,
        "files" if argument(1) == "~" => pattern(argument(2)),
        "files" => pattern(&glob(argument(1))),
        "filesmatch" => pattern(argument(1)),
        _ => None,
    };
    let names = names.filter(|_| !is_in_files);
    names.map_or(Open::Doubtful, |names| Open::Files(names, Gathered::default()))
}

/// A section under a condition that is met, is not met, or can't be told.
fn when(condition: Option<bool>) -> Open {
    match condition {
        Some(true) => Open::Through,
        Some(false) => Open::Off,
        None => Open::Doubtful,
    }
}

/// Whether we stand for an Apache with this module, or without it if `!` comes first.
/// It has those for access, in their old form as well; of others we can't know what
/// their absence would mean.
fn has_module(condition: &str) -> Option<bool> {
    let name = condition.to_ascii_lowercase();
    let (is_wanted, name) = name.strip_prefix('!').map_or((true, &*name), |name| (false, name));
    let name = name.strip_prefix("mod_").and_then(|n| n.strip_suffix(".c")).unwrap_or(name);
    let name = name.strip_suffix("_module").unwrap_or(name);
    matches!(name, "authz_core" | "authz_host" | "access_compat").then_some(is_wanted)
}

/// Whether Apache 2.4 fits the condition of an `<IfVersion>`.
fn is_version(operator: &str, version: &str) -> Option<bool> {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().ok());
    let wanted = (parts.next()??, parts.next().flatten().unwrap_or(0));
    match operator {
        ">=" => Some((2, 4) >= wanted),
        ">" => Some((2, 4) > wanted),
        "=" | "==" => Some((2, 4) == wanted),
        "<" => Some((2, 4) < wanted),
        "<=" => Some((2, 4) <= wanted),
        _ => None,
    }
}

fn pattern(text: &str) -> Option<Regex> {
    RegexBuilder::new(text)
        .backtrack_limit(PATTERN_STEPS_MAX)
        .build()
        .ok()
        .filter(|_| !text.is_empty())
}

/// A pattern with `*`, `?` and `[...]` as a regular expression.
fn glob(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let mut pattern = String::from("^(?s:");
    let mut rest = text.chars();
    while let Some(next) = rest.next() {
        match next {
            '*' => pattern.push_str(".*"),
            '?' => pattern.push('.'),
            '[' => match rest.as_str().split_once(']').filter(|(set, _)| !set.is_empty()) {
                Some((set, after)) => {
                    let set = set.strip_prefix('!').map_or(set.to_owned(), |set| format!("^{set}"));
                    pattern.push_str(&format!("[{}]", set.replace('\\', "\\\\")));
                    rest = after.chars();
                }
                None => pattern.push_str("\\["),
            },
            other => pattern.push_str(&fancy_regex::escape(other.encode_utf8(&mut [0; 4]))),
        }
    }
    pattern + ")$"
}

#[cfg(test)]
#[path = "htaccess_tests.rs"]
mod tests;
