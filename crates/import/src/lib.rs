//! The settings of other servers, read and said again as `wick.toml`.
//!
//! In: the text of an nginx configuration, a Caddyfile, a VCL or a `.htaccess`, and a
//! [`Library`] for what they include. Out: [`Imported`], which [`write()`] prints as
//! settings and [`report`] as the list of what was left, and why.
//! Invariants: 1. no file, however odd, panics, loops or takes memory without bound.
//! 2. what is written is accepted by Wick's own reader of settings and describes sites
//! that it could serve together. 3. nothing that keeps visitors out is dropped without a
//! word. 4. values that are likely to be secrets are not repeated.
//! Start at [`read`]; each language has a folder of its own.

mod address;
mod amount;
mod caddy;
mod cursor;
mod draft;
mod found;
mod htaccess;
mod library;
mod nginx;
mod pattern;
mod report;
mod settle;
mod tls;
mod vcl;
mod write;

pub use found::{Imported, Left, Place, Section, Setting, Value, Why};
pub use library::{Library, Nothing, Source, TEXT_BYTES_MAX};
pub use report::report;
pub use write::write;

/// A language of settings that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// `nginx.conf` and what it includes.
    Nginx,
    /// A Caddyfile.
    Caddy,
    /// Varnish's VCL 4.
    Vcl,
    /// Apache's `.htaccess`.
    Htaccess,
}

/// A text that can't be read as what it was taken for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {what}")]
pub struct ImportError {
    /// The file, as it was named.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// One sentence, with what to do.
    pub what: String,
}

impl Language {
    /// Guesses by the file's name, then by its text.
    #[must_use]
    pub fn of(name: &str, text: &str) -> Option<Self> {
        let name = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
        if name.ends_with(".vcl") {
            return Some(Self::Vcl);
        }
        if name.contains("caddyfile") || name.ends_with(".caddy") {
            return Some(Self::Caddy);
        }
        if name.ends_with("htaccess") || name.contains(".htaccess") {
            return Some(Self::Htaccess);
        }
        if name.contains("nginx") {
            return Some(Self::Nginx);
        }
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let begins = |word: &str| {
            text.lines().any(|line| line.trim_start().strip_prefix(word).is_some_and(is_block))
        };
        if lines.any(|line| line.starts_with("vcl 4")) {
            Some(Self::Vcl)
        } else if ["server", "http", "upstream", "location"].into_iter().any(begins) {
            Some(Self::Nginx)
        } else {
            None
        }
    }
}

/// Whether a block of nginx follows its name.
fn is_block(rest: &str) -> bool {
    rest.starts_with([' ', '\t', '{']) && rest.contains('{')
}

/// Reads one file and what it includes; what several say is put together by
/// [`Imported::join`].
///
/// # Errors
/// The text is broken: a quote or a block that doesn't end, or too many of them.
pub fn read(
    language: Language,
    source: &Source,
    library: &dyn Library,
) -> Result<Imported, ImportError> {
    let mut imported = match language {
        Language::Nginx => nginx::read(source, library)?,
        Language::Caddy => caddy::read(source, library)?,
        Language::Vcl => vcl::read(source, library)?,
        Language::Htaccess => htaccess::read(source),
    };
    imported.from.push(source.name.clone());
    settle::settle(&mut imported);
    Ok(imported)
}

impl Imported {
    /// Puts what another file said behind what this one did.
    pub fn join(&mut self, other: Self) {
        self.top.join(other.top);
        self.limits.join(other.limits);
        for site in other.sites {
            // Of a folder that is served already nothing new was said.
            let is_bare = site.settings.iter().all(|setting| setting.name == "origin");
            let origin = site.texts("origin");
            if !is_bare || !self.sites.iter().any(|there| there.texts("origin") == origin) {
                self.sites.push(site);
            }
        }
        self.left.extend(other.left);
        self.from.extend(other.from);
        settle::settle(self);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The settings without their comments, and the list of what was left.
    pub(crate) fn import(language: Language, name: &str, text: &str) -> (String, String) {
        let source = Source { name: name.into(), text: text.into() };
        let imported = read(language, &source, &Nothing).expect("it can be read");
        let lines = write(&imported);
        let lines: Vec<_> =
            lines.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
        (lines.join("\n"), report(&imported))
    }

    #[test]
    fn a_language_is_known_by_name_or_by_text() {
        for (name, text, expected) in [
            ("/etc/nginx/nginx.conf", "", Some(Language::Nginx)),
            ("forum.conf", "server {\n}", Some(Language::Nginx)),
            ("site", "  upstream a{", Some(Language::Nginx)),
            ("Caddyfile.prod", "", Some(Language::Caddy)),
            ("default.vcl", "", Some(Language::Vcl)),
            ("x", "# c\nvcl 4.1;", Some(Language::Vcl)),
            ("/srv/.htaccess", "", Some(Language::Htaccess)),
            ("notes.txt", "the server room", None),
        ] {
            assert_eq!(Language::of(name, text), expected, "{name}");
        }
    }
}
