//! Where certificates and accounts lie between two runs: `certificates/` in the state folder.
//!
//! Invariants: 1. nobody but Wick's user can look into it. 2. a file is whole or not there: it
//! is written beside its place and moved. 3. what can't be read is as good as not there.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use server::Identity;

/// The folder's name in the state folder.
const FOLDER: &str = "certificates";

/// How the files of staples are called around their names.
const STAPLE_PREFIX: &str = "staple-";
const STAPLE_SUFFIX: &str = ".der";

/// How a certificate's file begins: with the CA's directory.
const ISSUED_BY: &str = "# Issued by ";

/// A certificate that lies here.
pub(crate) struct Lying {
    pub(crate) identity: Arc<Identity>,
    /// Where it was got.
    pub(crate) directory: String,
}

/// A certificate and its key as one text, so that they never part.
pub(crate) fn text(directory: &str, chain: &str, key: &str) -> String {
    format!("{ISSUED_BY}{directory}\n{}\n{chain}", key.trim_end())
}

impl Lying {
    /// Reads such a text.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let identity = Identity::read(text.as_bytes(), text.as_bytes()).ok()?;
        let directory = text.lines().next()?.strip_prefix(ISSUED_BY)?.to_owned();
        Some(Self { identity: Arc::new(identity), directory })
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Shelf {
    folder: PathBuf,
}

impl Shelf {
    /// The shelf of a state folder, which need not be there yet.
    pub(crate) fn of(state: &Path) -> Self {
        Self { folder: state.join(FOLDER) }
    }

    /// The certificate that was got for a name.
    pub(crate) fn certificate(&self, name: &str) -> Option<Lying> {
        Lying::read(&self.certificate_text(name)?)
    }

    /// The same with its key, as it lies.
    pub(crate) fn certificate_text(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.place(name)).ok()
    }

    /// Keeps a certificate and its key.
    pub(crate) fn keep_certificate(&self, name: &str, text: &str) -> io::Result<()> {
        self.keep(&self.place(name), text)
    }

    /// The account at a CA.
    pub(crate) fn account(&self, directory: &str) -> Option<Vec<u8>> {
        fs::read(self.account_place(directory)).ok()
    }

    pub(crate) fn keep_account(&self, directory: &str, account: &str) -> io::Result<()> {
        self.keep(&self.account_place(directory), account)
    }

    /// For an account that the CA doesn't know any more.
    pub(crate) fn forget_account(&self, directory: &str) {
        // If it stays, the CA says so once more.
        let _ = fs::remove_file(self.account_place(directory));
    }

    /// What a responder said of a certificate.
    pub(crate) fn staple(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.staple_place(name)).ok()
    }

    pub(crate) fn keep_staple(&self, name: &str, staple: &[u8]) -> io::Result<()> {
        self.keep(&self.staple_place(name), staple)
    }

    /// Removes the staples of certificates that are not shown any more.
    pub(crate) fn forget_staples_but(&self, names: &[String]) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        for entry in entries.flatten() {
            let file = entry.file_name();
            let name = file
                .to_str()
                .and_then(|file| file.strip_prefix(STAPLE_PREFIX)?.strip_suffix(STAPLE_SUFFIX));
            if name.is_some_and(|name| names.iter().all(|kept| kept != name)) {
                // One that stays takes a few kilobytes.
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    fn staple_place(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{STAPLE_PREFIX}{name}{STAPLE_SUFFIX}"))
    }

    fn place(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.pem"))
    }

    /// A directory's address as a file's name: none of its letters may lead out of the folder.
    fn account_place(&self, directory: &str) -> PathBuf {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
        let name: String = directory.trim_start_matches("https://").chars().map(plain).collect();
        self.folder.join(format!("account-{name}.json"))
    }

    fn keep(&self, place: &Path, text: impl AsRef<[u8]>) -> io::Result<()> {
        if let Some(state) = self.folder.parent() {
            fs::create_dir_all(state)?;
        }
        match DirBuilder::new().mode(0o700).create(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => fs::set_permissions(&self.folder, Permissions::from_mode(0o700))?,
        }
        // Temporary files are for their owner alone.
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        file.write_all(text.as_ref())?;
        file.as_file().sync_all()?;
        file.persist(place)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificates::made;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("it is there").permissions().mode() & 0o777
    }

    #[test]
    fn what_is_kept_is_for_nobody_else_and_is_found_again() {
        let state = tempfile::tempdir().expect("a folder");
        let shelf = Shelf::of(&state.path().join("new"));
        assert!(shelf.certificate("a.test").is_none());
        let request = made::signing_request("a.test").expect("a key");
        // Without a certificate it is as good as nothing.
        let text = text("https://ca/dir", "", &request.key);
        shelf.keep_certificate("a.test", &text).expect("it is kept");
        assert!(shelf.certificate("a.test").is_none());
        shelf.keep_account("https://ca.test:1/../dir", "{}").expect("it is kept");
        assert_eq!(shelf.account("https://ca.test:1/../dir").as_deref(), Some(&b"{}"[..]));
        assert_eq!(shelf.account("https://other/dir"), None);
        let names = fs::read_dir(&shelf.folder).expect("a folder").flatten();
        for entry in names {
            assert_eq!(mode(&entry.path()), 0o600, "{:?}", entry.path());
        }
        assert_eq!(mode(&shelf.folder), 0o700);
        assert_eq!(fs::read_dir(&shelf.folder).expect("a folder").count(), 2);
        shelf.forget_account("https://ca.test:1/../dir");
        assert_eq!(shelf.account("https://ca.test:1/../dir"), None);
    }
}
