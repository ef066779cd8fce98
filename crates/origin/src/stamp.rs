//! By what a file that was written to, or took another's place, is known.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A clock of the kernel's that files are dated by moves every 10 ms at worst; ten times that.
const SETTLED: Duration = Duration::from_millis(100);

/// Which file it is, how long, and when it was last changed.
///
/// The time of the last write alone doesn't tell: who copies or renames may keep it. That of the
/// last change can't be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    device: u64,
    inode: u64,
    /// In bytes.
    pub length: u64,
    /// Seconds and nanoseconds since 1970, as the next.
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// The stamp of the file that these are the facts of.
    #[must_use]
    pub fn of(data: &Metadata) -> Self {
        Self {
            device: data.dev(),
            inode: data.ino(),
            length: data.len(),
            modified: (data.mtime(), data.mtime_nsec()),
            changed: (data.ctime(), data.ctime_nsec()),
        }
    }

    /// When it was last written to; 1970 for what claims to be older.
    #[must_use]
    pub fn modified(&self) -> SystemTime {
        UNIX_EPOCH + since_1970(self.modified)
    }

    /// A strong validator, quoted: time of the last write and length.
    pub(crate) fn etag(&self) -> String {
        let since = since_1970(self.modified);
        format!("\"{:x}-{:x}-{:x}\"", since.as_secs(), since.subsec_nanos(), self.length)
    }

    /// Whether it was last written to before another.
    pub(crate) fn is_older_than(&self, other: &Self) -> bool {
        self.modified < other.modified
    }

    /// Whether the last change is so long ago that another one would show in the stamp.
    #[must_use]
    pub fn is_settled(&self, now: SystemTime) -> bool {
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        since_1970(self.changed) + SETTLED <= now
    }
}

/// A time as the kernel tells it; none before 1970.
fn since_1970((seconds, nanoseconds): (i64, i64)) -> Duration {
    let nanoseconds = nanoseconds.try_into().unwrap_or_default();
    seconds.try_into().map_or(Duration::ZERO, |seconds| Duration::new(seconds, nanoseconds))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn stamp(path: &Path) -> Stamp {
        Stamp::of(&fs::metadata(path).expect("the file is there"))
    }

    #[test]
    fn what_was_written_moved_or_put_in_its_place_has_another_stamp() {
        let folder = tempfile::TempDir::new().expect("a temporary folder can be made");
        let (file, other) = (folder.path().join("a"), folder.path().join("b"));
        fs::write(&file, "one").expect("a file can be written");
        fs::write(&other, "two").expect("a file can be written");
        let time = SystemTime::now() - Duration::from_secs(60);
        let date = |path: &Path| {
            let file = fs::File::options().append(true).open(path).expect("it can be opened");
            file.set_modified(time).expect("its time can be set");
        };
        date(&file);
        date(&other);
        let first = stamp(&file);
        assert_eq!(first, stamp(&file));
        fs::rename(&other, &file).expect("it can be moved");
        assert_ne!(first, stamp(&file), "as long and as old, and another");
        let second = stamp(&file);
        std::thread::sleep(SETTLED / 2);
        fs::write(&file, "new").expect("a file can be written");
        date(&file);
        assert_ne!(second, stamp(&file), "its old time was given back to it");
    }

    #[test]
    fn only_what_has_rested_is_settled() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file can be made");
        let (stamp, now) = (stamp(file.path()), SystemTime::now());
        assert!(!stamp.is_settled(now - Duration::from_secs(1)), "the clock was put back");
        assert!(!stamp.is_settled(now));
        assert!(stamp.is_settled(now + SETTLED + Duration::from_millis(20)));
    }
}
