//! Lists of torrents: files of info hashes, which a program may change at any time.
//!
//! Law: a file that has changed is read again once it rests, so that no half of one counts. What
//! can't be read is told once, and the list before it counts on.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use base::complaint::complain;
use tracker::{Rules, Tracker};
use wire::tracker::InfoHash;

use super::plan::hash;

/// Bytes of a list: a million and a half of torrents.
const LIST_BYTES_MAX: u64 = 64 << 20;

/// The files; either may be none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lists {
    /// Only these are tracked.
    pub(crate) allow: Option<PathBuf>,
    /// These are not.
    pub(crate) deny: Option<PathBuf>,
    /// What they were when they were read.
    stamps: [Stamp; 2],
}

/// What tells a file from what it was: when it was written, and how long it is.
type Stamp = Option<(SystemTime, u64)>;

/// Lists that are looked at again and again.
#[derive(Debug)]
pub(super) struct Watched {
    lists: Lists,
    /// What they were at the look before.
    seen: [Stamp; 2],
}

impl Lists {
    pub(crate) fn new(allow: Option<PathBuf>, deny: Option<PathBuf>) -> Self {
        Self { allow, deny, stamps: [None; 2] }
    }

    /// Puts what they say into the rules.
    pub(crate) fn read(&mut self, rules: &mut Rules) -> Result<(), String> {
        // What is written while it is read is read again.
        self.stamps = self.stamps();
        rules.only = self.allow.as_deref().map(hashes).transpose()?;
        rules.denied = self.deny.as_deref().map(hashes).transpose()?.unwrap_or_default();
        Ok(())
    }

    fn stamps(&self) -> [Stamp; 2] {
        [&self.allow, &self.deny].map(|path| {
            let metadata = std::fs::metadata(path.as_ref()?).ok()?;
            Some((metadata.modified().ok()?, metadata.len()))
        })
    }
}

impl Watched {
    /// Lists that were just read.
    pub(super) fn new(lists: Lists) -> Self {
        Self { seen: lists.stamps, lists }
    }

    /// Has the tracker go by what they say now.
    pub(super) fn look(&mut self, tracker: &Tracker) {
        let stamps = self.lists.stamps();
        let rests = std::mem::replace(&mut self.seen, stamps) == stamps;
        if !rests || stamps == self.lists.stamps {
            return;
        }
        let mut rules = tracker.rules().as_ref().clone();
        match self.lists.read(&mut rules) {
            Ok(()) => tracker.set_rules(rules),
            Err(why) => complain(format_args!("tracker: {why}; the list before counts on")),
        }
    }
}

/// The torrents of a list, one in a line; `#` begins a remark.
fn hashes(path: &Path) -> Result<HashSet<InfoHash>, String> {
    let wrong = |why: String| format!("the list {}: {why}", path.display());
    let length = std::fs::metadata(path).map_err(|error| wrong(error.to_string()))?.len();
    if length > LIST_BYTES_MAX {
        return Err(wrong("it is larger than 64M: name a part of it".to_owned()));
    }
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let lines = text.lines().enumerate();
    lines.filter_map(|(number, line)| listed(path, number, line).transpose()).collect()
}

/// The torrent that a line of a list names; none of an empty one.
pub(crate) fn listed(path: &Path, number: usize, line: &str) -> Result<Option<InfoHash>, String> {
    let line = line.split_once('#').map_or(line, |(before, _)| before).trim();
    if line.is_empty() {
        return Ok(None);
    }
    hash(line).map(Some).ok_or_else(|| {
        let place = format!("{}:{}:1", path.display(), number + 1);
        format!("{place}: this is no info hash: write 40 hexadecimal digits")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_changes_is_read_again_once_it_rests() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("hashes.txt");
        let write = |text: &str| std::fs::write(&path, text).expect("a file");
        let mut lists = Lists::new(Some(path.clone()), None);
        let tracker = Tracker::new(Rules::default());
        let count = || tracker.rules().only.as_ref().map(HashSet::len);
        write("");
        lists.read(&mut Rules::default()).expect("it is empty");
        let mut watched = Watched::new(lists);
        write(&format!("{}\n", "ab".repeat(20)));
        watched.look(&tracker);
        assert_eq!(count(), None, "it may be half of it");
        watched.look(&tracker);
        assert_eq!(count(), Some(1));
        write("no hash");
        (0..2).for_each(|_| watched.look(&tracker));
        assert_eq!(count(), Some(1), "the list before counts on");
        std::fs::remove_file(&path).expect("it goes");
        (0..2).for_each(|_| watched.look(&tracker));
        assert_eq!(count(), Some(1), "nor does one that is gone let everything in");
    }

    #[test]
    fn lists_are_read_with_remarks_and_what_is_wrong_is_told_with_its_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("hashes.txt");
        let digits = "0123456789abcdefABCD".repeat(2);
        let text = format!("# ours\n{digits}  # one\n\n{}\n", digits.to_lowercase());
        std::fs::write(&path, text).expect("a file");
        assert_eq!(hashes(&path).expect("it is right").len(), 1);
        std::fs::write(&path, format!("{digits}\n{digits}0\n")).expect("a file");
        let told = hashes(&path).expect_err("it is wrong");
        assert!(told.contains("hashes.txt:2:1: this is no info hash"), "{told}");
    }
}
