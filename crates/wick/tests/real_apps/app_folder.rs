//! An app's files, copied from where its package keeps them into a temporary folder.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A copy of an app and what lies beside it.
pub(crate) struct AppFolder {
    folder: TempDir,
}

impl AppFolder {
    /// Copies `source` without those of its entries that are left out, links followed;
    /// none, with a loud message, where the package is not installed.
    pub(crate) fn copy(package: &str, source: &str, left_out: &[&str]) -> Option<Self> {
        let missing = [source, "/usr/bin/curl", "/usr/bin/php"]
            .into_iter()
            .find(|path| !Path::new(path).exists());
        if let Some(missing) = missing {
            eprintln!(
                "\n*** {missing} is missing, {package} can't be tried: THIS TEST CHECKS NOTHING ***\n"
            );
            return None;
        }
        let folder = TempDir::new().expect("a temporary folder can be made");
        // Scripts run as another user, who must be able to read them.
        open(folder.path(), 0o755);
        let app = Self { folder };
        fs::create_dir(app.root()).expect("a folder can be made");
        for entry in fs::read_dir(source).expect("the package's folder can be read") {
            let entry = entry.expect("an entry can be read");
            if !left_out.iter().any(|name| entry.file_name() == *name) {
                run(Command::new("cp").arg("-rL").arg(entry.path()).arg(app.root()));
            }
        }
        Some(app)
    }

    /// The site's folder.
    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("site")
    }

    /// A path beside the site, where no visitor comes.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file below the temporary folder.
    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().expect("it lies in a folder"))
            .expect("a folder can be made");
        fs::write(path, text).expect("a file can be written");
    }

    /// Lets everybody write a folder and all that is in it; it is made if it is missing.
    pub(crate) fn let_write(&self, path: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(&path).expect("a folder can be made");
        run(Command::new("chmod").arg("-R").arg("a+rwX").arg(path));
    }

    /// Removes all of it and sees that it is gone.
    pub(crate) fn remove(self) {
        let path = self.folder.path().to_owned();
        self.folder.close().expect("the temporary folder can be removed");
        assert!(!path.exists());
    }
}

fn open(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("the folder is ours");
}

/// Runs a command that must succeed.
pub(crate) fn run(command: &mut Command) {
    let output = command.output().expect("the program can be run");
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {out}{err}");
}
