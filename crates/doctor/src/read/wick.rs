//! Wicks that serve here: what memory theirs may become, and which folders they serve.
//!
//! Only these few settings are read, of the file that a Wick was started with.

use base::amount::parse_bytes;

use super::Root;
use crate::machine::{Directive, Machine};
use crate::settings_file::{Dialect, lines};

/// The most that its cache may make the process use, unless it is told otherwise.
const MEMORY_BYTES: u64 = 64 << 20;

/// What a Wick that serves may come to; none of one that does something else.
pub(super) fn memory_bytes(root: &Root, title: &str) -> Option<u64> {
    if !serves(title) {
        return None;
    }
    let said = argument(title, "--memory").map(str::to_owned);
    let written = || {
        let text = root.text(&root.inside(argument(title, "--config")?)?)?;
        let lines = lines(Dialect::Ini, &text);
        let line = lines.iter().find(|line| line.section.is_empty() && line.name == "memory")?;
        Some(line.value.to_owned())
    };
    let text = said.or_else(written);
    Some(text.and_then(|text| parse_bytes(&text).ok()).unwrap_or(MEMORY_BYTES))
}

/// The folders that Wicks serve, as directives `wick.origin`.
pub(super) fn read(root: &Root, machine: &mut Machine) {
    let titles: Vec<String> = machine
        .processes
        .iter()
        .filter(|one| one.name == "wick" && serves(&one.title))
        .map(|one| one.title.clone())
        .collect();
    for title in titles {
        let file = argument(&title, "--config").and_then(|path| root.inside(path));
        let text = file.as_ref().and_then(|file| root.text(file)).unwrap_or_default();
        for line in lines(Dialect::Ini, &text) {
            if line.name == "origin" && line.value.starts_with('/') {
                machine.directives.push(Directive {
                    file: file.clone().unwrap_or_default(),
                    line: line.number,
                    name: "wick.origin".into(),
                    value: line.value.to_owned(),
                });
            }
        }
        machine.directives.extend(folder(&title).map(|folder| Directive {
            file: "the command line of wick".into(),
            line: 1,
            name: "wick.origin".into(),
            value: folder.to_owned(),
        }));
    }
}

/// One that keeps root's rights for another holds no pages.
fn serves(title: &str) -> bool {
    title.split(' ').nth(1) == Some("serve") && !title.contains(" --keep-for")
}

/// What follows `--name` or `--name=`.
fn argument<'a>(title: &'a str, name: &str) -> Option<&'a str> {
    let mut words = title.split(' ');
    while let Some(word) = words.next() {
        match word.strip_prefix(name) {
            Some("") => return words.next(),
            Some(rest) if rest.starts_with('=') => return rest.get(1..),
            _ => (),
        }
    }
    None
}

/// The folder that is served, where the command line names one.
fn folder(title: &str) -> Option<&str> {
    let words: Vec<&str> = title.split(' ').skip(2).collect();
    let mut pairs = std::iter::once("").chain(words.iter().copied()).zip(words.iter().copied());
    let is_folder = |(before, word): &(&str, &str)| {
        let is_value = before.starts_with("--") && !before.contains('=');
        word.starts_with('/') && !is_value
    };
    pairs.find(is_folder).map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_wick_may_take_is_said_written_or_as_ever() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("wick.toml");
        let text = "listen = [\"[::]:80\"]\nmemory = \"256M\"\n[[site]]\nmemory = \"9M\"\n\
                    origin = \"/srv/site/current\"\n[[site]]\norigin = \"http://a\"\n";
        std::fs::write(&file, text).expect("a file");
        let root = Root::new(folder.path());
        let config = format!("--config {}", file.display());
        for (title, expected) in [
            ("wick serve /srv/site".to_owned(), Some(64 << 20)),
            (format!("wick serve {config}"), Some(256 << 20)),
            (format!("wick serve --memory 1G {config}"), Some(1 << 30)),
            (format!("wick serve {config} --memory=32M"), Some(32 << 20)),
            ("wick serve --keep-for wick".to_owned(), None),
            ("wick doctor".to_owned(), None),
        ] {
            assert_eq!(memory_bytes(&root, &title), expected, "{title}");
        }
        let process = |title: String| crate::Process {
            name: "wick".into(),
            title,
            ..crate::Process::default()
        };
        let processes = vec![
            process(format!("wick serve {config} --state /var/lib/wick")),
            process("wick serve --state /var/lib/wick /srv/other".into()),
        ];
        let mut machine = Machine { processes, ..Machine::default() };
        read(&root, &mut machine);
        let told: Vec<_> = machine.directives.iter().map(|one| one.value.as_str()).collect();
        assert_eq!(told, ["/srv/site/current", "/srv/other"]);
        assert_eq!(
            (machine.directives[0].file.as_str(), machine.directives[0].line),
            ("/wick.toml", 5)
        );
    }
}
