//! Scene files on disk: found, read and named.

use std::io;
use std::path::{Path, PathBuf};

use crate::parse::{self, ParseError};
use crate::scene::Scene;

/// A scene file and its text.
#[derive(Clone, Debug)]
pub struct SceneFile {
    /// Where it lies.
    pub path: PathBuf,
    /// What it says.
    pub text: String,
}

impl SceneFile {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// The file can't be read, or is no text.
    pub fn read(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), text: std::fs::read_to_string(path)? })
    }

    /// The scene in it.
    ///
    /// # Errors
    /// The first thing in it that is not in the language.
    pub fn scene(&self) -> Result<Scene, ParseError> {
        let name = self.path.file_stem().map(|name| name.to_string_lossy().into_owned());
        parse::scene(&self.text, name.as_deref())
    }

    /// The file's folder and name, without its ending: `fresh/a-page-is-kept`.
    #[must_use]
    pub fn name(&self) -> String {
        let stem = self.path.with_extension("");
        let folder = stem.parent().and_then(Path::file_name);
        let name = stem.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match folder {
            Some(folder) => format!("{}/{name}", folder.to_string_lossy()),
            None => name,
        }
    }
}

/// Every scene file at or below `path`, in the order of their names.
///
/// # Errors
/// A folder or file can't be read.
pub fn find(path: &Path) -> io::Result<Vec<SceneFile>> {
    let mut found = Vec::new();
    let mut open = vec![path.to_owned()];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            for entry in std::fs::read_dir(&path)? {
                open.push(entry?.path());
            }
        } else if path.extension().is_some_and(|ending| ending == "scene") {
            found.push(SceneFile::read(&path)?);
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(found)
}
