//! Where a browser's profile lies: in memory where there is room, since nothing of it is kept.
//!
//! Invariant: who names a folder for temporary files by `TMPDIR` has it used.

use std::io;
use std::path::Path;

use rustix::fs::{Access, access, statfs};
use tempfile::TempDir;

/// Where Linux has files in memory that any user may make.
const SHARED: &str = "/dev/shm";
/// What `statfs` calls them.
const TMPFS_MAGIC: i128 = 0x0102_1994;
/// More than a profile of a few pages ever takes; containers often have less there.
const ROOM_BYTES_MIN: u64 = 512 << 20;
/// What has to be left of the memory when that is taken.
const MEMORY_BYTES_MIN: u64 = 1 << 30;
const PREFIX: &str = "wick-audit-";

/// Makes one.
pub(super) fn profile() -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX);
    let is_named = std::env::var_os("TMPDIR").is_some_and(|named| !named.is_empty());
    let shared = Path::new(SHARED);
    if !is_named && is_roomy(shared) && available_bytes() >= MEMORY_BYTES_MIN + ROOM_BYTES_MIN {
        // What is full the next moment is no reason not to look at pages.
        if let Ok(profile) = builder.tempdir_in(shared) {
            return Ok(profile);
        }
    }
    builder.tempdir()
}

/// Whether a folder is in memory, may be written to, and has room.
fn is_roomy(folder: &Path) -> bool {
    let Ok(told) = statfs(folder) else { return false };
    let free = u64::try_from(told.f_bsize).unwrap_or(0).saturating_mul(told.f_bavail);
    let may_write = access(folder, Access::WRITE_OK | Access::EXEC_OK).is_ok();
    told.f_type as i128 == TMPFS_MAGIC && free >= ROOM_BYTES_MIN && may_write
}

/// Memory that can be had without taking anybody's.
fn available_bytes() -> u64 {
    let told = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = told.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0).saturating_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_in_memory_where_there_is_room_and_goes_with_who_made_it() {
        let (folder, path) = {
            let folder = profile().unwrap();
            let path = folder.path().to_owned();
            (folder, path)
        };
        let is_named = std::env::var_os("TMPDIR").is_some_and(|named| !named.is_empty());
        if !is_named && is_roomy(Path::new(SHARED)) {
            let has_memory = available_bytes() >= MEMORY_BYTES_MIN + ROOM_BYTES_MIN;
            assert!(path.starts_with(SHARED) || !has_memory, "{}", path.display());
        }
        assert!(path.file_name().unwrap().to_str().unwrap().starts_with(PREFIX));
        drop(folder);
        assert!(!path.exists());
        assert!(!is_roomy(Path::new("/proc")) && !is_roomy(Path::new("/no/such/folder")));
    }
}
