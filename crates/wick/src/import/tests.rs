//! Whatever is imported, the settings that come out are settings.

use std::fs;

use import::Library;

use super::*;
use crate::arguments::Serve;
use crate::plan::Plan;

/// Configurations in the style of what people have. Beside each lies a `.told` with the
/// settings and the list of what was left; `WRITE_TOLD=1 cargo test -p wick import` writes
/// them anew.
fn specimens() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/import/specimens");
    let entries = fs::read_dir(folder).expect("there are specimens");
    let paths = entries.map(|entry| entry.expect("they can be listed").path());
    let mut paths: Vec<_> =
        paths.filter(|path| path.extension().is_none_or(|end| end != "told")).collect();
    paths.sort();
    paths
}

#[test]
fn every_specimen_becomes_what_lies_beside_it() {
    for path in specimens() {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = books::text(&path).expect("a specimen");
        let language = Language::of(&name, &text).expect("it is known");
        // A `.htaccess` is for the folder that it lies in.
        let is_htaccess = language == Language::Htaccess;
        let name = if is_htaccess { format!("/srv/site/{name}") } else { name };
        let imported = import::read(language, &Source { name, text }, &import::Nothing)
            .unwrap_or_else(|error| panic!("{error}"));
        let told = format!("{}\n----\n{}", import::write(&imported), import::report(&imported));
        let beside = PathBuf::from(format!("{}.told", path.display()));
        if std::env::var_os("WRITE_TOLD").is_some() {
            fs::write(&beside, &told).expect("it can be written");
        }
        assert_eq!(told, fs::read_to_string(&beside).unwrap_or_default(), "{}", path.display());
    }
}

/// What `wick check` and `wick serve` do first with settings.
fn plan(text: &str) -> Result<Plan, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("wick.toml");
    fs::write(&path, text).expect("the settings are written");
    let serve = Serve { config: Some(path), ..Serve::default() };
    Plan::of(&serve).map_err(|error| error.to_string())
}

fn is_good(imported: &Imported, from: &str) {
    let text = import::write(imported);
    match plan(&text) {
        Ok(plan) => {
            assert_eq!(plan.sites.len(), imported.sites.len());
            for site in &plan.sites {
                if let Some(php) = &site.php {
                    origin::PhpOrigin::parse_address(php).expect("a php-fpm that can be called");
                }
            }
        }
        Err(error) if imported.sites.is_empty() => {
            assert!(error.contains("there is no site"), "{error} in\n{text}\nfrom\n{from}");
        }
        Err(error) => panic!("{error} in\n{text}\nfrom\n{from}"),
    }
}

#[test]
fn every_specimen_becomes_settings_that_can_be_served() {
    let specimens = specimens();
    assert!(specimens.len() >= 10, "{}", specimens.len());
    let mut all = Imported::default();
    for path in &specimens {
        let imported = read(path, None).unwrap_or_else(|error| panic!("{error}"));
        assert!(!imported.sites.is_empty(), "{}", path.display());
        is_good(&imported, &path.display().to_string());
        all.join(imported);
    }
    is_good(&all, "all of them");
}

/// Files that are included are soup as well.
struct Soup(String);

impl Library for Soup {
    fn find(&self, pattern: &str, within: &str, _: &str) -> Result<Vec<Source>, String> {
        let name = format!("{within}/{pattern}");
        Ok(vec![Source { name, text: self.0.chars().rev().collect() }])
    }
}

/// xorshift64: the same row of numbers in each run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

/// Words of the specimens, thrown together: a good part of them still is a configuration.
#[test]
fn soup_of_words_becomes_settings_or_an_error_with_its_place() {
    let texts: Vec<(Language, String)> = specimens()
        .iter()
        .map(|path| {
            let text = books::text(path).expect("a specimen");
            (Language::of(&path.to_string_lossy(), &text).expect("it is known"), text)
        })
        .collect();
    let mut dice = Dice(0x5eed);
    let (mut good, mut broken) = (0, 0);
    for round in 0..6_000 {
        let (language, text) = &texts[round % texts.len()];
        let mut lines: Vec<&str> = text.lines().collect();
        for _ in 0..=dice.below(12) {
            let (_, other) = &texts[dice.below(texts.len())];
            let others: Vec<&str> = other.lines().collect();
            let from = if dice.below(3) == 0 {
                others[dice.below(others.len())]
            } else {
                lines[dice.below(lines.len())]
            };
            let at = dice.below(lines.len());
            match dice.below(3) {
                0 => lines[at] = from,
                1 => lines.insert(at, from),
                _ if lines.len() > 1 => drop(lines.remove(at)),
                _ => {}
            }
        }
        let mut soup = lines.join("\n");
        if dice.below(2) == 0 {
            let at = (0..=dice.below(soup.len() + 1)).rev().find(|&at| soup.is_char_boundary(at));
            let letter = ['{', '}', '"', '\'', '\\', '`', ';', '$', '(', ')', '\0', 'ß', '*', ':'];
            soup.insert(at.unwrap_or(0), letter[dice.below(letter.len())]);
        }
        let source = Source { name: "/srv/soup".into(), text: soup.clone() };
        let library = Soup(soup.chars().take(300).collect());
        match import::read(*language, &source, &library) {
            Ok(imported) => {
                good += 1;
                is_good(&imported, &soup);
            }
            Err(error) => {
                broken += 1;
                assert!(error.line > 0 && error.column > 0, "{error}");
            }
        }
    }
    assert!(good > 500 && broken > 500, "{good} {broken}");
}

#[test]
fn what_is_there_is_not_written_over_and_strict_is_strict() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    fs::write(path("nginx.conf"), "server { root /srv; gzip off; }").expect("a file");
    fs::write(path("left.conf"), "server { root /srv; rewrite ^/a /b; }").expect("a file");
    fs::write(path("empty.conf"), "http { }").expect("a file");
    fs::write(path("odd"), "what is it").expect("a file");
    let output = path("wick.toml");
    let run = |name: &str, output: Option<PathBuf>, strict| {
        let files = vec![path(name)];
        let told = run(&Import { files, output, strict, language: None });
        told.map_err(|error| error.to_string()).err().unwrap_or_default()
    };
    assert_eq!(run("nginx.conf", Some(output.clone()), true), "");
    assert!(fs::read_to_string(&output).expect("it is there").contains("origin = \"/srv\""));
    assert!(run("nginx.conf", Some(output), false).contains("name another file with --output"));
    assert_eq!(
        run("left.conf", None, true),
        "one line of what was read can't be said in wick.toml"
    );
    assert_eq!(run("left.conf", None, false), "");
    assert!(run("empty.conf", None, false).starts_with("no site was found"));
    assert!(run("odd", None, false).contains("--as nginx"));
    assert!(run("missing.conf", None, false).contains("name a file that this user may read"));
}
