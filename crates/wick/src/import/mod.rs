//! `wick import`: the settings of another server, said again as `wick.toml`.
//!
//! Reading is done by the `import` crate, which knows no files; here they are opened,
//! and what comes out is written: settings to standard output or a file, and what was
//! left to standard error.

mod books;

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use import::{ImportError, Imported, Language, Source, Why};

use crate::announce::say;
use crate::arguments::{Import, ImportLanguage};
use crate::import::books::Books;

/// Why nothing could be imported, or not all of it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ImportFailure {
    /// A file that can't be read.
    #[error("can't read {0}: {1}; name a file that this user may read")]
    Unreadable(PathBuf, String),
    /// Nothing tells what a file is.
    #[error("can't tell what {0} is: say it with --as nginx, caddy, vcl or htaccess")]
    Unclear(PathBuf),
    /// It is broken.
    #[error(transparent)]
    Broken(#[from] ImportError),
    /// Nothing to serve was found.
    #[error(
        "no site was found in it: \"wick serve FOLDER\" or \"wick serve http://HOST:PORT\" needs \
         no settings"
    )]
    NoSite,
    /// The settings are there already, or can't be written.
    #[error("can't write {0}: {1}; name another file with --output")]
    Unwritable(PathBuf, io::Error),
    /// `--strict`, and somebody has to see to something.
    #[error("{0} of what was read can't be said in wick.toml")]
    Lacking(String),
}

/// `wick import`.
pub(crate) fn run(arguments: &Import) -> Result<(), ImportFailure> {
    let mut all = Imported::default();
    for path in &arguments.files {
        all.join(read(path, arguments.language)?);
    }
    // A pipe or a terminal that nobody reads is no reason to fail.
    let _ = io::stderr().write_all(import::report(&all).as_bytes());
    if all.sites.is_empty() {
        return Err(ImportFailure::NoSite);
    }
    let settings = import::write(&all);
    match &arguments.output {
        Some(path) => create(path, &settings)?,
        None => say(&settings),
    }
    if arguments.strict && all.is_lacking() {
        let number = all.left.iter().filter(|left| left.why != Why::NotNeeded).count();
        let told = if number == 1 { "one line".into() } else { format!("{number} lines") };
        return Err(ImportFailure::Lacking(told));
    }
    Ok(())
}

/// Reads one file and what it includes.
fn read(path: &Path, language: Option<ImportLanguage>) -> Result<Imported, ImportFailure> {
    let unreadable = |why: String| ImportFailure::Unreadable(path.to_owned(), why);
    let text = books::text(path).map_err(unreadable)?;
    let mut name = path.to_string_lossy().into_owned();
    let language = match language {
        Some(language) => language.into(),
        None => {
            Language::of(&name, &text).ok_or_else(|| ImportFailure::Unclear(path.to_owned()))?
        }
    };
    if language == Language::Htaccess {
        // The folder that it lies in is the site.
        let whole = std::path::absolute(path).map_err(|error| unreadable(error.to_string()))?;
        name = whole.to_string_lossy().into_owned();
    }
    Ok(import::read(language, &Source { name, text }, &Books)?)
}

/// Writes a file that isn't there yet: nobody's settings are lost.
fn create(path: &Path, text: &str) -> Result<(), ImportFailure> {
    let written = OpenOptions::new().write(true).create_new(true).open(path);
    written
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| ImportFailure::Unwritable(path.to_owned(), error))
}

#[cfg(test)]
mod tests;
