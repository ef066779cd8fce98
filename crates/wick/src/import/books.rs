//! The files that settings include.
//!
//! A name is looked for from the folder of the file that was given, as nginx does, then
//! from that of the file that says it. `*`, `?` and `[…]` stand for letters of one name.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use import::{Library, Source, TEXT_BYTES_MAX};

/// Files that one pattern may stand for.
const FILES_MAX: usize = 512;
/// Names that are looked at in one folder.
const NAMES_MAX: usize = 10_000;

/// Files of this machine.
pub(super) struct Books;

impl Library for Books {
    fn find(&self, pattern: &str, within: &str, first: &str) -> Result<Vec<Source>, String> {
        let mut why = "there is no such file".to_owned();
        for base in [first, within] {
            let folder = Path::new(base).parent().unwrap_or(Path::new(""));
            let found = expand(&folder.join(pattern));
            if found.is_empty() {
                continue;
            }
            let mut sources = Vec::new();
            for path in found {
                match text(&path) {
                    Ok(text) => {
                        let name = path.to_string_lossy().into_owned();
                        sources.push(Source { name, text });
                    }
                    Err(error) => why = error,
                }
            }
            if !sources.is_empty() {
                return Ok(sources);
            }
        }
        if is_pattern(pattern) { Ok(Vec::new()) } else { Err(why) }
    }
}

/// The text of a file of bearable length; what is not UTF-8 in it is replaced.
pub(super) fn text(path: &Path) -> Result<String, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Err("it is not a file".into());
    }
    let mut bytes = Vec::new();
    let limit = TEXT_BYTES_MAX as u64 + 1;
    file.take(limit).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() > TEXT_BYTES_MAX {
        return Err(format!("it is larger than {} MiB", TEXT_BYTES_MAX >> 20));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// The files that a path with patterns in it stands for, in order.
fn expand(pattern: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    for component in pattern.components() {
        let Component::Normal(name) = component else {
            found.iter_mut().for_each(|path| path.push(component));
            continue;
        };
        let name = name.to_string_lossy();
        if !is_pattern(&name) {
            found.iter_mut().for_each(|path| path.push(name.as_ref()));
            continue;
        }
        found = found.iter().flat_map(|folder| named(folder, &name)).take(FILES_MAX).collect();
    }
    found.retain(|path| path.is_file());
    found
}

/// What is in a folder under names that fit, in order; hidden files only if they are meant.
fn named(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let Ok(entries) = fs::read_dir(here) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .take(NAMES_MAX)
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.') || pattern.starts_with('.'))
        .filter(|name| fits(pattern, name))
        .collect();
    names.sort_unstable();
    names.into_iter().map(|name| folder.join(name)).collect()
}

/// Whether a name fits a pattern; in time of the product of their lengths.
fn fits(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut read) = (0, 0);
    // Where to go on when the letters behind the last star don't fit.
    let mut star: Option<(usize, usize)> = None;
    while read < name.len() {
        match one(&pattern[at..], name[read]) {
            Some(0) => {
                star = Some((at + 1, read));
                at += 1;
            }
            Some(length) => {
                at += length;
                read += 1;
            }
            None => match star {
                Some((behind, from)) => {
                    star = Some((behind, from + 1));
                    (at, read) = (behind, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|&letter| letter == '*')
}

/// How long the piece of the pattern is that a letter fits; 0 for a star, none if it
/// doesn't fit.
fn one(pattern: &[char], letter: char) -> Option<usize> {
    match pattern.first()? {
        '*' => Some(0),
        '?' => Some(1),
        '[' => {
            let end = pattern.iter().skip(2).position(|&c| c == ']')? + 2;
            let inner = &pattern[1..end];
            let (is_not, inner) = match inner.first() {
                Some('!' | '^') => (true, &inner[1..]),
                _ => (false, inner),
            };
            let is_in = inner.contains(&letter)
                || inner.windows(3).any(|w| w[1] == '-' && (w[0]..=w[2]).contains(&letter));
            (is_in != is_not).then_some(end + 1)
        }
        &plain => (plain == letter).then_some(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_patterns_as_in_a_shell() {
        for (pattern, name, expected) in [
            ("*.conf", "a.conf", true),
            ("*.conf", "a.conf.bak", false),
            ("*", "", true),
            ("a*b*c", "axxbxxbc", true),
            ("a?c", "abc", true),
            ("[0-9]*.conf", "10-a.conf", true),
            ("[!0-9]*", "10", false),
            ("[ab", "a", false),
            ("", "a", false),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
        assert!(!fits(&"*a".repeat(1000), &"a".repeat(900)));
    }

    #[test]
    fn what_is_included_is_found_in_order() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str| folder.path().join(name);
        fs::create_dir(file("sites")).expect("a folder");
        for name in ["sites/b.conf", "sites/a.conf", "sites/.hidden.conf", "sites/c.txt"] {
            fs::write(file(name), name).expect("a file");
        }
        let first = file("nginx.conf").to_string_lossy().into_owned();
        let within = file("sites/a.conf").to_string_lossy().into_owned();
        let find = |pattern: &str| {
            Books.find(pattern, &within, &first).map(|sources| {
                let texts: Vec<_> = sources.into_iter().map(|source| source.text).collect();
                texts.join(" ")
            })
        };
        assert_eq!(find("sites/*.conf").as_deref(), Ok("sites/a.conf sites/b.conf"));
        assert_eq!(find("b.conf").as_deref(), Ok("sites/b.conf"));
        assert_eq!(find("none/*").as_deref(), Ok(""));
        assert_eq!(find("none").expect_err("no such file"), "there is no such file");
        assert!(text(folder.path()).expect_err("a folder").contains("not a file"));
    }
}
