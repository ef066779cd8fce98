//! Where an index that is made of sources lies: each making in a folder of its own.
//!
//! ```text
//! NAME/current      the number of the making that is found, when it was made, and of what
//! NAME/unfinished   a making has begun, and its sources may think that it was done
//! NAME/7/index/     its files      NAME/7/layout     NAME/7/killed
//! ```
//! Invariants: 1. `current` is replaced at once, when all that it names is on the disk: whoever is
//! killed leaves the making before, whole. 2. what `current` doesn't name is cleared away.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::layout::Layout;

const CURRENT: &str = "current";
const UNFINISHED: &str = "unfinished";
const LAYOUT: &str = "layout";
const KILLED: &str = "killed";

/// The folder of one index.
pub(super) struct Shelf {
    folder: PathBuf,
}

/// A making that is whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Making {
    pub(super) number: u64,
    /// What it was made of and how, as [`super::stamp`] has it.
    pub(super) stamp: u64,
    /// In seconds since 1970.
    pub(super) made: u64,
    /// How long that took.
    pub(super) took_milliseconds: u64,
    pub(super) layout: Layout,
    /// Ids that indexes before this one don't show.
    pub(super) killed: Vec<u64>,
}

impl Shelf {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The files of a making.
    pub(super) fn index(&self, number: u64) -> PathBuf {
        self.making(number).join("index")
    }

    fn making(&self, number: u64) -> PathBuf {
        self.folder.join(number.to_string())
    }

    /// What was made last, if it can be read.
    pub(super) fn current(&self) -> Option<Making> {
        let text = fs::read_to_string(self.folder.join(CURRENT)).ok()?;
        let numbers = text.split_whitespace().map(|word| word.parse().ok());
        let numbers = numbers.collect::<Option<Vec<u64>>>()?;
        let [number, stamp, made, took_milliseconds] = numbers[..] else { return None };
        let making = self.making(number);
        let layout = Layout::read(&fs::read_to_string(making.join(LAYOUT)).ok()?)?;
        let killed = fs::read(making.join(KILLED)).ok()?;
        let (words, rest) = killed.as_chunks::<8>();
        let killed = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let making = Making { number, stamp, made, took_milliseconds, layout, killed };
        rest.is_empty().then_some(making)
    }

    /// Whether a making began that hasn't come to its end.
    pub(super) fn is_unfinished(&self) -> bool {
        self.folder.join(UNFINISHED).exists()
    }

    /// Begins a making behind the one that is found; its number.
    pub(super) fn begin(&self, current: Option<u64>) -> io::Result<u64> {
        fs::create_dir_all(&self.folder)?;
        self.clear(current);
        File::create(self.folder.join(UNFINISHED))?.sync_all()?;
        let number = current.map_or(1, |number| number + 1);
        fs::create_dir_all(self.index(number))?;
        Ok(number)
    }

    /// Has a making, all of whose documents are committed, be the one that is found.
    pub(super) fn finish(&self, making: &Making) -> io::Result<()> {
        let Making { number, stamp, made, took_milliseconds, layout, killed } = making;
        let folder = self.making(*number);
        write(&folder.join(LAYOUT), layout.written().as_bytes())?;
        let killed: Vec<u8> = killed.iter().flat_map(|id| id.to_le_bytes()).collect();
        write(&folder.join(KILLED), &killed)?;
        sync_folder(&folder)?;
        let next = self.folder.join("next");
        write(&next, format!("{number} {stamp} {made} {took_milliseconds}\n").as_bytes())?;
        fs::rename(next, self.folder.join(CURRENT))?;
        sync_folder(&self.folder)
    }

    /// Says that nothing is unfinished.
    pub(super) fn settle(&self) -> io::Result<()> {
        match fs::remove_file(self.folder.join(UNFINISHED)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Removes all makings but one.
    pub(super) fn clear(&self, but: Option<u64>) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let number = name.to_str().and_then(|name| name.parse::<u64>().ok());
            if number.is_some_and(|number| Some(number) != but) {
                // What can't be removed now is tried again at the next making.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_is_killed_leaves_the_making_before() {
        let folder = tempfile::tempdir().expect("a folder");
        let shelf = Shelf::new(folder.path().join("main"));
        assert_eq!((shelf.current(), shelf.is_unfinished()), (None, false));
        let making = |number| Making {
            number,
            stamp: 7,
            made: 1_700_000_000,
            took_milliseconds: 20,
            layout: Layout { fields: vec!["title".to_owned()], attributes: Vec::new() },
            killed: vec![3, u64::MAX],
        };
        assert_eq!(shelf.begin(None).expect("a making"), 1);
        assert_eq!((shelf.current(), shelf.is_unfinished()), (None, true), "it isn't whole");
        shelf.finish(&making(1)).expect("it is written");
        shelf.settle().expect("it is written");
        assert_eq!((shelf.current(), shelf.is_unfinished()), (Some(making(1)), false));
        assert_eq!(shelf.begin(Some(1)).expect("a making"), 2);
        assert_eq!((shelf.current(), shelf.is_unfinished()), (Some(making(1)), true));
        shelf.clear(Some(1));
        assert!(shelf.index(1).exists() && !shelf.index(2).exists());
        fs::write(folder.path().join("main/1/killed"), b"odd").expect("it is ours");
        assert_eq!(shelf.current(), None, "it is damaged");
    }
}
