//! Apache's `.htaccess`: most of it Wick does by itself, or reads where it lies.
//!
//! In: the text, and the file's name, whose folder is the site. Out: that site and what
//! was left. Wick itself reads what such a file denies to everybody, so those lines stay
//! where they are.
//! What is said of each directive stands in [`table`].

mod table;

use std::sync::Arc;

use crate::found::{Imported, Place, Section, Value, Why};
use crate::library::Source;
use crate::tls;

const FRONT: &str = "files first, then the nearest index.php: so does Wick";

/// A directive, its words and its place.
struct Line<'a> {
    name: String,
    words: Vec<String>,
    place: Place,
    text: &'a str,
}

impl Line<'_> {
    fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", String::as_str)
    }

    fn has(&self, word: &str) -> bool {
        self.words.iter().any(|there| there.eq_ignore_ascii_case(word))
    }
}

/// Reads a file. None is so broken that nothing can be said of it.
pub(crate) fn read(source: &Source) -> Imported {
    let mut imported = Imported::default();
    let file: Arc<str> = source.name.as_str().into();
    let folder = source.name.rsplit_once('/').map_or("", |(folder, _)| folder);
    let place = Place { file: file.clone(), line: 1 };
    if crate::address::is_plain_path(folder) {
        let mut site = Section { place: Some(place.clone()), ..Section::default() };
        site.set("origin", Value::Text(folder.to_owned()), &place);
        site.note("origin", "the folder that the file lies in");
        imported.sites.push(site);
    }
    let text = source.text.strip_prefix('\u{feff}').unwrap_or(&source.text);
    // Only what is about a rewrite that is left needs its conditions.
    let mut conditions = Vec::new();
    for (line, text) in lines(text) {
        let Some(line) = split(text, Place { file: file.clone(), line }) else { continue };
        match line.name.as_str() {
            "rewritecond" => conditions.push(line.words.concat()),
            "rewriterule" => {
                let (why, advice) = rewrite(&line, &conditions);
                imported.leave(&line.place, line.text, why, advice);
                conditions.clear();
            }
            _ => directive(&mut imported, &line),
        }
    }
    imported
}

/// Lines with those that a backslash joins, and the number of the first of them.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut rest = text;
    let mut number = 1;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut end = 0;
        let mut count = 0;
        loop {
            let stop = rest[end..].find('\n').map_or(rest.len(), |at| end + at + 1);
            count += 1;
            let is_joined = rest[end..stop].trim_end_matches(['\n', '\r']).ends_with('\\');
            end = stop;
            if !is_joined || end >= rest.len() {
                break;
            }
        }
        let (line, behind) = rest.split_at(end);
        let begin = number;
        rest = behind;
        number += count;
        Some((begin, line.trim()))
    })
}

/// The words of a line; quotes keep spaces together. None for a comment or nothing.
fn split(text: &str, place: Place) -> Option<Line<'_>> {
    if text.is_empty() || text.starts_with('#') {
        return None;
    }
    let mut words = Vec::new();
    let mut letters = text.chars().peekable();
    while let Some(&first) = letters.peek() {
        if first.is_whitespace() {
            letters.next();
            continue;
        }
        if first == '\\' {
            // It joins this line to the next one.
            let mut behind = letters.clone();
            behind.next();
            if behind.next().is_none_or(|next| next == '\n' || next == '\r') {
                letters.next();
                continue;
            }
        }
        let quote = (first == '"' || first == '\'').then_some(first);
        if quote.is_some() {
            letters.next();
        }
        let mut word = String::new();
        while let Some(letter) = letters.next_if(|&letter| match quote {
            Some(quote) => letter != quote,
            None => !letter.is_whitespace(),
        }) {
            let is_escaped =
                letter == '\\' && letters.peek().is_some_and(|&next| Some(next) == quote);
            word.push(if is_escaped { letters.next().unwrap_or(letter) } else { letter });
        }
        if quote.is_some() {
            letters.next();
        }
        words.push(word);
    }
    if words.is_empty() {
        return None;
    }
    let name = words.remove(0).to_ascii_lowercase();
    Some(Line { name, words, place, text })
}

/// What becomes of a rule that rewrites.
fn rewrite(line: &Line<'_>, conditions: &[String]) -> (Why, &'static str) {
    let (target, flags) = (line.word(1), line.word(2).to_ascii_uppercase());
    let flag = |name: &str| {
        let mut each = flags.trim_matches(['[', ']']).split(',').map(str::trim);
        each.any(|flag| flag == name || flag.starts_with(&format!("{name}=")))
    };
    let path = target.split(['?', '%']).next().unwrap_or_default();
    if flag("F") || flag("FORBIDDEN") || flag("G") {
        let advice = match is_dot_files(line.word(0)) {
            true => return (Why::NotNeeded, "files whose name begins with a dot are never served"),
            false => {
                "write \"Require all denied\" for these files, within <FilesMatch> or into a \
                      .htaccess of their folder: Wick obeys that"
            }
        };
        return (Why::Protection, advice);
    }
    if target.starts_with("https://%{HTTP_HOST}") || target.starts_with("https://%{SERVER_NAME}") {
        return tls::redirect();
    }
    if flag("R") || target.contains("://") {
        let is_secure = conditions.iter().any(|condition| condition.contains("%{HTTPS}"));
        return match is_secure && target.starts_with("https://") {
            true => tls::redirect(),
            false => (Why::Cannot, "Wick sends nobody elsewhere: let the app do it"),
        };
    }
    if flags.contains("E=HTTP_AUTHORIZATION") || flags.contains("E=REDIRECT_HTTP_AUTHORIZATION") {
        return (Why::NotNeeded, "PHP is told of Authorization");
    }
    match path.trim_start_matches('/').split("/$").next() {
        Some(file) if file == "index.php" || file.ends_with("/index.php") => {
            (Why::NotNeeded, FRONT)
        }
        Some("-") if !flags.contains("E=") => (Why::NotNeeded, FRONT),
        _ => (
            Why::Cannot,
            "Wick rewrites no addresses: requests for what is no file go to the nearest \
             index.php, and the rest is the app's to do",
        ),
    }
}

fn is_dot_files(pattern: &str) -> bool {
    ["(^|/)\\.", "^\\.", "/\\."].iter().any(|start| pattern.starts_with(start))
}

fn directive(imported: &mut Imported, line: &Line<'_>) {
    if line.name == "limitrequestbody"
        && let Some(bytes) = line.word(0).parse::<u64>().ok().filter(|&bytes| bytes > 0)
    {
        imported.limits.raise("body", Value::Bytes(bytes), &line.place);
        return;
    }
    let (why, advice) = table::say(line);
    let Some(advice) = advice else { return };
    let short;
    let quoted = match table::is_secret(&line.name) {
        true => {
            let name = line.text.split_whitespace().next().unwrap_or_default();
            short = format!("{name} {} …", line.word(0));
            &short
        }
        false => line.text,
    };
    imported.leave(&line.place, quoted, why, advice);
}

#[cfg(test)]
mod tests;
