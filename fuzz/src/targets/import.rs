//! Settings of other servers: whatever they are, what comes out can be served together.

use std::collections::HashSet;

use import::{Language, Library, Source, report, write};

/// Every name stands for the file that includes it, so that files include each other.
struct Mirror<'a>(&'a str);

impl Library for Mirror<'_> {
    fn find(&self, pattern: &str, within: &str, _: &str) -> Result<Vec<Source>, String> {
        let name = format!("{within}/{pattern}");
        Ok(vec![Source { name, text: self.0.to_owned() }])
    }
}

pub(crate) fn run_nginx(input: &[u8]) {
    run(Language::Nginx, input);
}

pub(crate) fn run_caddy(input: &[u8]) {
    run(Language::Caddy, input);
}

pub(crate) fn run_vcl(input: &[u8]) {
    run(Language::Vcl, input);
}

pub(crate) fn run_htaccess(input: &[u8]) {
    run(Language::Htaccess, input);
}

fn run(language: Language, input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let source = Source { name: "/srv/settings".into(), text: text.to_owned() };
    let imported = match import::read(language, &source, &Mirror(text)) {
        Ok(imported) => imported,
        Err(error) => {
            assert!(error.line >= 1 && error.line <= text.matches('\n').count() + 1);
            assert!(error.column >= 1 && !error.what.is_empty());
            return;
        }
    };
    let mut hosts = HashSet::new();
    let mut for_any = 0;
    for site in &imported.sites {
        let names = site.texts("hosts");
        for_any += usize::from(names.is_empty());
        assert!(names.iter().all(|name| hosts.insert(name.clone())), "{hosts:?}");
        assert!(!site.texts("origin").is_empty());
    }
    assert!(for_any <= 1, "{for_any} sites answer for any host");
    let settings = write(&imported);
    assert!(!settings.contains(|c: char| c.is_control() && c != '\n'));
    assert_eq!(report(&imported).is_empty(), imported.left.is_empty());
    // What was said twice is said once.
    let mut twice = imported.clone();
    twice.join(imported.clone());
    assert_eq!(twice.sites.len(), imported.sites.len());
}
