//! The ground that a site lies on: what is at a path, and what its folders deny.
//!
//! Invariants: 1. A `.htaccess` that changed is read again at the next request. 2. One
//! that exists but can't be read denies everything, as in Apache. 3. What is kept of
//! them is bounded in number, and each file in what is read of it.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::Refusal;
use crate::htaccess::Rules;
use crate::stamp::Stamp;

/// The most that is read of a `.htaccess`; lists of unwanted addresses grow long, and
/// say nothing that is understood here.
const HTACCESS_BYTES_MAX: u64 = 64 * 1024;
/// Files that are remembered; sites have a few dozen.
const REMEMBERED_MAX: usize = 1024;

/// What lies at a path, links followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    /// A device, a socket, a pipe.
    Other,
    Missing,
}

/// What a site's paths are looked up in.
pub(crate) trait Ground {
    /// What lies at a path.
    fn kind(&self, path: &Path) -> Kind;

    /// What the `.htaccess` in a folder says; none if there is none.
    fn rules(&self, folder: &Path) -> Result<Option<Arc<Rules>>, Refusal>;
}

/// The file system.
#[derive(Default)]
pub(crate) struct Disk {
    remembered: Mutex<HashMap<PathBuf, Remembered>>,
}

struct Remembered {
    stamp: Stamp,
    rules: Arc<Rules>,
}

impl Ground for Disk {
    /// A name that can't exist is missing.
    fn kind(&self, path: &Path) -> Kind {
        match fs::metadata(path) {
            Ok(data) if data.is_file() => Kind::File,
            Ok(data) if data.is_dir() => Kind::Folder,
            Ok(_) => Kind::Other,
            Err(_) => Kind::Missing,
        }
    }

    fn rules(&self, folder: &Path) -> Result<Option<Arc<Rules>>, Refusal> {
        let file = folder.join(".htaccess");
        match self.read(&file) {
            Ok(rules) => Ok(rules),
            Err(error) => match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(None),
                _ => Err(Refusal::Denied),
            },
        }
    }
}

impl Disk {
    fn read(&self, file: &Path) -> io::Result<Option<Arc<Rules>>> {
        let data = fs::metadata(file)?;
        // Opening a pipe would wait for a writer.
        if !data.is_file() {
            return Ok(None);
        }
        let stamp = Stamp::of(&data);
        let known =
            |remembered: &Remembered| (remembered.stamp == stamp).then(|| remembered.rules.clone());
        if let Some(rules) = self.remembered.lock().get(file).and_then(known) {
            return Ok(Some(rules));
        }
        let mut bytes = Vec::new();
        File::open(file)?.take(HTACCESS_BYTES_MAX).read_to_end(&mut bytes)?;
        let rules = Arc::new(Rules::parse(&String::from_utf8_lossy(&bytes)));
        let mut remembered = self.remembered.lock();
        if remembered.len() >= REMEMBERED_MAX {
            remembered.clear();
        }
        remembered.insert(file.to_owned(), Remembered { stamp, rules: rules.clone() });
        Ok(Some(rules))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::htaccess::denies;

    fn is_denied(disk: &Disk, folder: &Path) -> bool {
        let rules = disk.rules(folder).expect("it can be read");
        denies(rules.iter().map(Arc::as_ref), None)
    }

    #[test]
    fn a_changed_file_is_read_again_and_a_pipe_or_a_missing_one_says_nothing() {
        let folder = tempfile::TempDir::new().expect("a temporary folder can be made");
        let (disk, file) = (Disk::default(), folder.path().join(".htaccess"));
        assert!(!is_denied(&disk, folder.path()));
        for (text, seen) in [
            ("Require all denied", true),
            ("Require all granted", false),
            ("Deny from all\n", true),
            ("", false),
        ] {
            fs::write(&file, text).expect("a file can be written");
            assert_eq!(is_denied(&disk, folder.path()), seen, "{text}");
            assert_eq!(is_denied(&disk, folder.path()), seen, "{text} again");
        }
        fs::remove_file(&file).expect("a file can be removed");
        fs::create_dir(&file).expect("a folder can be made");
        assert!(!is_denied(&disk, folder.path()));
        assert!(!is_denied(&disk, &folder.path().join("none")));
    }

    #[test]
    fn of_a_huge_file_only_the_beginning_counts() {
        let folder = tempfile::TempDir::new().expect("a temporary folder can be made");
        let comment = "# an address\n".repeat(10_000);
        let file = folder.path().join(".htaccess");
        fs::write(&file, format!("{comment}Deny from all\n")).expect("a file can be written");
        assert!(!is_denied(&Disk::default(), folder.path()));
        fs::write(&file, format!("Deny from all\n{comment}")).expect("a file can be written");
        assert!(is_denied(&Disk::default(), folder.path()));
    }

    #[test]
    fn no_more_files_are_remembered_than_may_be() {
        let folder = tempfile::TempDir::new().expect("a temporary folder can be made");
        let disk = Disk::default();
        for number in 0..REMEMBERED_MAX + 5 {
            let folder = folder.path().join(number.to_string());
            fs::create_dir(&folder).expect("a folder can be made");
            fs::write(folder.join(".htaccess"), "Deny from all").expect("a file can be written");
            assert!(is_denied(&disk, &folder));
        }
        assert!(disk.remembered.lock().len() <= REMEMBERED_MAX);
    }
}
