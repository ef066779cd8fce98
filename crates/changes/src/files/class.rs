//! Classes of files: how a file's place and name become a change that can be learned.
//!
//! In: a folder, a name, what was done. Out: a [`Change`] whose table is the folder, seen
//! from the source, and whose key is the file's name; identifiers are `#` in both.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::{Change, KeyClass, Operation};

/// The folder that a source begins at.
#[derive(Clone, Debug)]
pub(super) struct Top {
    folder: PathBuf,
    /// Its own name, so that two sources of one site don't share their kinds of change.
    name: String,
}

impl Top {
    pub(super) fn new(folder: &Path) -> Self {
        let own_name = |path: &Path| Some(path.file_name()?.to_string_lossy().into_owned());
        // `site/..` has a name only where it leads.
        let name = own_name(folder).or_else(|| own_name(&folder.canonicalize().ok()?));
        Self { folder: folder.to_owned(), name: name.unwrap_or_else(|| "/".to_owned()) }
    }

    /// What was done to the file `name` in `folder`.
    pub(super) fn change(&self, folder: &Path, name: &OsStr, operation: Operation) -> Change {
        let KeyClass::Of(key) = KeyClass::of([&*name.to_string_lossy()]) else {
            return Change::of("", "", operation);
        };
        let mut table = match folder.strip_prefix(&self.folder) {
            Ok(below) if below.as_os_str().is_empty() => self.name.clone(),
            Ok(below) => format!("{}/{}", self.name, below.to_string_lossy()),
            // A link led out of it.
            Err(_) => folder.to_string_lossy().into_owned(),
        };
        if key.starts_with('#') {
            mask_parts_of_a_hash(&mut table);
        }
        let KeyClass::Of(table) = KeyClass::of([table.as_str()]) else {
            return Change::of("", "", operation);
        };
        Change { key: KeyClass::Of(key), ..Change::of("", &table, operation) }
    }
}

/// `cache/a/3f` above a file whose name is a hash is `cache/#/#`: its beginning.
///
/// Above any other file they may be languages, and stand as they are.
fn mask_parts_of_a_hash(table: &mut String) {
    let is_part = |name: &str| {
        matches!(name.len(), 1 | 2) && name.bytes().all(|letter| letter.is_ascii_hexdigit())
    };
    let mut names: Vec<&str> = table.split('/').collect();
    for name in names.iter_mut().skip(1).rev() {
        if !is_part(name) {
            break;
        }
        *name = "0";
    }
    *table = names.join("/");
}

/// A file as its class is written: `cache/#` and `#.i`.
#[cfg(test)]
pub(super) fn shown(top: &str, path: &str) -> (String, String) {
    let path = Path::new(path);
    let folder = path.parent().unwrap_or(Path::new(""));
    let name = path.file_name().unwrap_or(OsStr::new("."));
    let change = Top::new(Path::new(top)).change(folder, name, Operation::Update);
    let KeyClass::Of(key) = change.key else { return (change.table.into(), String::new()) };
    (change.table.into(), key.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_collapse_and_names_do_not() {
        let hash = "a3f09c4be1d24a9a8d2f4be1d24a9a8d";
        for (path, table, key) in [
            ("/w/data/pages/start.txt", "data/pages", "start.txt"),
            ("/w/data/local.php", "data", "local.php"),
            (&format!("/w/data/cache/a/{hash}.i"), "data/cache/#", "#.i"),
            (&format!("/w/data/cache/3f/0b/{hash}"), "data/cache/#/#", "#"),
            // A language is a part of no hash.
            ("/w/data/pages/de/start.txt", "data/pages/de", "start.txt"),
            (&format!("/w/data/de/pages/{hash}"), "data/de/pages", "#"),
            ("/w/data/posts/2026/11/22/lamp.md", "data/posts/#/#/#", "lamp.md"),
            ("/w/data/tmp/sess_3tk9v2m7p0abcdefgh", "data/tmp", "sess_#"),
            ("/etc/wiki/local.php", "/etc/wiki", "local.php"),
        ] {
            let (found_table, found_key) = shown("/w/data", path);
            assert_eq!((found_table.as_str(), found_key.as_str()), (table, key), "{path}");
        }
    }

    #[test]
    fn sources_of_one_site_do_not_share_kinds_of_change() {
        assert_ne!(
            shown("/w/data/pages", "/w/data/pages/1.txt"),
            shown("/w/conf", "/w/conf/1.txt")
        );
        assert_eq!(shown("/", "/a").0, "/");
        // A name that no text can hold is a name all the same.
        let name = <OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"a\xff");
        let change = Top::new(Path::new("/w")).change(Path::new("/w"), name, Operation::Insert);
        assert!(change.key.tells_apart());
    }
}
