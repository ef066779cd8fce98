//! An app's files, copied from where its package keeps them into a temporary folder.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{InstallError, require};

/// Folders in folders, at most: no app nests them deeper, but links may lead in a circle.
const DEPTH_MAX: usize = 40;

/// A copy of an app and what lies beside it.
pub(crate) struct AppFolder {
    folder: TempDir,
}

impl AppFolder {
    /// A folder with nothing but an empty one for the site.
    pub(crate) fn new() -> Result<Self, InstallError> {
        // A short name: it becomes part of a socket's path, which may have 107 bytes.
        let made = tempfile::Builder::new().prefix("wick-").tempdir();
        let folder = made.map_err(|error| InstallError::File(std::env::temp_dir(), error))?;
        let app = Self { folder };
        // Scripts run as another user, who must be able to read them.
        at(app.path(), fs::set_permissions(app.path(), fs::Permissions::from_mode(0o755)))?;
        at(&app.root(), fs::create_dir(app.root()))?;
        Ok(app)
    }

    /// Copies `source` without those of its entries that are left out. Links are followed:
    /// packages link to each other, and to settings that must not be touched.
    pub(crate) fn copy(
        package: &'static str,
        source: &str,
        left_out: &[&str],
    ) -> Result<Self, InstallError> {
        require(package, source)?;
        let app = Self::new()?;
        for entry in at(Path::new(source), fs::read_dir(source))?.flatten() {
            if !left_out.iter().any(|name| entry.file_name() == *name) {
                let target = app.root().join(entry.file_name());
                at(&target, copy(&entry.path(), &target, DEPTH_MAX))?;
            }
        }
        Ok(app)
    }

    /// All of it.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The site's folder.
    pub(crate) fn root(&self) -> PathBuf {
        self.path().join("site")
    }

    /// A path beside the site, where no visitor comes.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Writes a file below the temporary folder.
    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) -> Result<(), InstallError> {
        let path = self.path().join(path);
        if let Some(folder) = path.parent() {
            at(folder, fs::create_dir_all(folder))?;
        }
        at(&path, fs::write(&path, text))
    }

    /// Lets everybody write a folder and all that is in it; it is made if it is missing.
    pub(crate) fn let_write(&self, path: &str) -> Result<(), InstallError> {
        let path = self.path().join(path);
        at(&path, fs::create_dir_all(&path).and_then(|()| open(&path)))
    }
}

/// Copies a file, or a folder with all that is in it. A link that leads nowhere is left out:
/// it leads to a package that was only recommended.
fn copy(source: &Path, target: &Path, depth: usize) -> io::Result<()> {
    let about = match fs::metadata(source) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        about => about?,
    };
    if !about.is_dir() {
        return fs::copy(source, target).map(drop);
    }
    if depth == 0 {
        return Err(io::Error::other("folders in folders without an end"));
    }
    fs::create_dir_all(target)?;
    for entry in fs::read_dir(source)? {
        let entry = entry?;
        copy(&entry.path(), &target.join(entry.file_name()), depth - 1)?;
    }
    Ok(())
}

fn open(path: &Path) -> io::Result<()> {
    let is_folder = path.is_dir();
    let mode = if is_folder { 0o777 } else { 0o666 };
    fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    if is_folder {
        for entry in fs::read_dir(path)? {
            open(&entry?.path())?;
        }
    }
    Ok(())
}

/// Says which path it was.
pub(super) fn at<T>(path: &Path, result: io::Result<T>) -> Result<T, InstallError> {
    result.map_err(|error| InstallError::File(path.to_owned(), error))
}
