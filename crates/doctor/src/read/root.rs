//! The folder that stands for `/`.
//!
//! Invariant: no file is read beyond [`BYTES_MAX`], so that a log or a device can't fill memory.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The most of a file that is read.
const BYTES_MAX: u64 = 1 << 20;
/// The most lines of a long list that are read.
const LINES_MAX: usize = 500_000;
/// The most records of the kernel's log: it has fewer.
const RECORDS_MAX: usize = 20_000;
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

    /// Goes through a list that may be longer than [`BYTES_MAX`], which is never held as a whole;
    /// whether it could be read.
    pub(super) fn each_line(&self, path: &str, mut take: impl FnMut(&str)) -> bool {
        let Ok(file) = File::open(self.at(path)) else { return false };
        let lines = BufReader::new(file).lines().take(LINES_MAX);
        lines.map_while(Result::ok).for_each(|line| take(&line));
        true
    }

    /// What the kernel's log has, a record a line; none where we may not read it.
    pub(super) fn kernel_log(&self) -> Option<String> {
        let mut options = File::options();
        // It never ends: whoever has read all of it would wait for more.
        let flags = rustix::fs::OFlags::NONBLOCK.bits();
        let mut file =
            options.read(true).custom_flags(flags.cast_signed()).open(self.at("dev/kmsg")).ok()?;
        let mut log = Vec::new();
        let mut record = [0; 8192];
        for _ in 0..RECORDS_MAX {
            match file.read(&mut record) {
                Ok(0) => break,
                Ok(bytes) => log.extend_from_slice(&record[..bytes]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // A record was written over before it was read.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => (),
                Err(_) => return None,
            }
        }
        Some(String::from_utf8_lossy(&log).into_owned())
    }

    /// Where a real path lies in this tree, as a path of its own; none where it is outside.
    #[must_use]
    pub(super) fn inside(&self, path: &str) -> Option<String> {
        if self.folder == Path::new("/") || self.is_recorded() {
            return Some(path.to_owned());
        }
        let rest = Path::new(path).strip_prefix(&self.folder).ok()?;
        Some(format!("/{}", rest.display()))
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
