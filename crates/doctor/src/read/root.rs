//! The folder that stands for `/`.
//!
//! Invariant: no file is read beyond [`BYTES_MAX`], so that a log or a device can't fill memory.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The most of a file that is read.
const BYTES_MAX: u64 = 1 << 20;
/// The most names of a folder that are looked at.
const NAMES_MAX: usize = 100_000;

/// A file system to read from: the machine's, or a recorded one.
#[derive(Clone, Debug)]
pub struct Root {
    folder: PathBuf,
    /// What is looked at before, for the second reading of a recorded tree.
    over: Option<PathBuf>,
}

impl Root {
    /// One that begins at `folder`.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), over: None }
    }

    /// Whether this is a recording, of which nothing can be asked: it has a folder `recorded`.
    #[must_use]
    pub fn is_recorded(&self) -> bool {
        self.folder != Path::new("/") && self.folder.join("recorded").exists()
    }

    /// The recording as it was at the window's end.
    #[must_use]
    pub(super) fn later(&self) -> Self {
        Self { folder: self.folder.clone(), over: Some(self.folder.join("later")) }
    }

    /// Where a path of the machine's lies.
    #[must_use]
    pub fn at(&self, path: &str) -> PathBuf {
        let path = path.trim_start_matches('/');
        match self.over.as_ref().map(|over| over.join(path)).filter(|path| path.exists()) {
            Some(path) => path,
            None => self.folder.join(path),
        }
    }

    /// A file's text; none where it can't be read.
    #[must_use]
    pub fn text(&self, path: &str) -> Option<String> {
        let mut bytes = Vec::new();
        let file = File::open(self.at(path)).ok()?;
        file.take(BYTES_MAX).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// What the `recorded` folder has under a name.
    #[must_use]
    pub(super) fn recorded(&self, name: &str) -> Option<String> {
        self.is_recorded().then(|| self.text(&format!("recorded/{name}"))).flatten()
    }

    /// The names in a folder, in order; none where it isn't there or can't be read.
    #[must_use]
    pub fn names(&self, path: &str) -> Option<Vec<String>> {
        let entries = fs::read_dir(self.at(path)).ok()?;
        let mut names: Vec<String> = entries
            .take(NAMES_MAX)
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort_unstable();
        Some(names)
    }

    /// The files of a folder whose names end so, as paths of the machine's.
    #[must_use]
    pub fn files(&self, folder: &str, ending: &str) -> Vec<String> {
        let names = self.names(folder).unwrap_or_default();
        let wanted = names.into_iter().filter(|name| name.ends_with(ending));
        wanted.map(|name| format!("{folder}/{name}")).collect()
    }
}
