//! What a file may include, and how much of it.
//!
//! Invariants: 1. no file is read within itself. 2. files, their depth and their bytes
//! are bounded, whatever they include.

use crate::ImportError;
use crate::found::{Imported, Place, Why};

/// Bytes that one run reads.
pub const TEXT_BYTES_MAX: usize = 8 << 20;
/// Files that one file may lead to.
const FILES_MAX: usize = 512;
/// Files within files.
const DEPTH_MAX: usize = 16;

/// A text and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// For messages, and to find what it includes.
    pub name: String,
    /// What is in it.
    pub text: String,
}

/// Where files are found that others include.
pub trait Library {
    /// The files that a name or a pattern stands for, in the order of their names. `within`
    /// is the file that says so and `first` the one that was read first. Nothing that fits a
    /// pattern is an empty list; a name without a file is an error.
    ///
    /// # Errors
    /// One sentence on why there is none.
    fn find(&self, pattern: &str, within: &str, first: &str) -> Result<Vec<Source>, String>;
}

/// A library without books.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nothing;

impl Library for Nothing {
    fn find(&self, _: &str, _: &str, _: &str) -> Result<Vec<Source>, String> {
        Err("there is no such file".into())
    }
}

/// Reads what is included, within bounds.
pub(crate) struct Shelf<'a> {
    library: &'a dyn Library,
    /// The files that are open, the first one first.
    open: Vec<String>,
    files: usize,
    bytes: usize,
}

impl<'a> Shelf<'a> {
    /// Begins with a file.
    pub(crate) fn new(library: &'a dyn Library, first: &Source) -> Self {
        Self { library, open: vec![first.name.clone()], files: 1, bytes: first.text.len() }
    }

    /// What the files say that are included by a line; that there are none is said in its place.
    pub(crate) fn include<T>(
        &mut self,
        pattern: &str,
        (place, quoted): (&Place, &str),
        imported: &mut Imported,
        mut read: impl FnMut(&Source, &mut Self, &mut Imported) -> Result<Vec<T>, ImportError>,
    ) -> Result<Vec<T>, ImportError> {
        let mut all = Vec::new();
        match self.find(pattern) {
            Ok(sources) => {
                for source in &sources {
                    all.extend(self.within(source, |shelf| read(source, shelf, imported))?);
                }
            }
            Err(why) => {
                imported.leave(place, quoted, Why::Unknown, format!("it is not read: {why}"));
            }
        }
        Ok(all)
    }

    /// The files that are to be read here.
    pub(crate) fn find(&mut self, pattern: &str) -> Result<Vec<Source>, String> {
        if self.open.len() >= DEPTH_MAX {
            return Err(format!("files include each other more than {DEPTH_MAX} deep"));
        }
        let (first, within) = match (self.open.first(), self.open.last()) {
            (Some(first), Some(within)) => (first, within),
            _ => return Err("nothing is open".into()),
        };
        let found = self.library.find(pattern, within, first)?;
        for source in &found {
            if self.open.contains(&source.name) {
                return Err("it includes itself".into());
            }
            self.files += 1;
            self.bytes = self.bytes.saturating_add(source.text.len());
            if self.files > FILES_MAX || self.bytes > TEXT_BYTES_MAX {
                return Err(format!(
                    "more than {FILES_MAX} files or {} MiB are included",
                    TEXT_BYTES_MAX >> 20
                ));
            }
        }
        Ok(found)
    }

    /// Reads a file by `read`; what it includes is looked for from there.
    pub(crate) fn within<T>(
        &mut self,
        source: &Source,
        read: impl FnOnce(&mut Self) -> Result<T, ImportError>,
    ) -> Result<T, ImportError> {
        self.open.push(source.name.clone());
        let outcome = read(self);
        self.open.pop();
        outcome
    }
}
