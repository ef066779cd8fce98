//! The kernel's side of watching folders: inotify, in words that an owner can use.
//!
//! Invariants: 1. No reading waits. 2. A refusal says what would allow it.

use std::ffi::{OsStr, OsString};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use crate::Lost;

/// What can alter what is read later. Readings and their times are not among it.
const WATCHED: WatchFlags = WatchFlags::MODIFY
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVE)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::EXCL_UNLINK)
    .union(WatchFlags::ONLYDIR);
/// After so many events others have their turn.
const EVENTS_MAX: usize = 1024;
/// What is read at once: some hundred events.
const BUFFER_BYTES: usize = 16 << 10;
/// What the kernel's administrator is asked for, where its own limit is lower.
const WATCHES_WANTED: u32 = 524_288;
const INSTANCES_WANTED: u32 = 1024;

/// Folders that the kernel watches for us.
pub(super) struct Kernel {
    inotify: OwnedFd,
    buffer: Box<[MaybeUninit<u8>]>,
}

/// What the kernel said about one name in one folder.
#[derive(Debug)]
pub(super) struct Heard {
    pub(super) watch: i32,
    pub(super) flags: ReadFlags,
    /// Empty where the folder itself is meant.
    pub(super) name: OsString,
}

impl Kernel {
    pub(super) fn new() -> Result<Self, Lost> {
        let inotify = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)
            .map_err(|error| refusal(error, Path::new("/")))?;
        Ok(Self { inotify, buffer: vec![MaybeUninit::uninit(); BUFFER_BYTES].into() })
    }

    /// Another handle of the same, to wait at.
    pub(super) fn handle(&self) -> Result<OwnedFd, Lost> {
        self.inotify.try_clone().map_err(|_| refusal(Errno::MFILE, Path::new("/")))
    }

    /// Watches a folder; None if there is none by that name any more.
    pub(super) fn add(&self, folder: &Path) -> Result<Option<i32>, Lost> {
        match inotify::add_watch(&self.inotify, folder, WATCHED) {
            Ok(watch) => Ok(Some(watch)),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(refusal(error, folder)),
        }
    }

    /// Watches it no more; it may have gone by itself.
    pub(super) fn remove(&self, watch: i32) {
        let _ = inotify::remove_watch(&self.inotify, watch);
    }

    /// What was heard since, and whether there may be more of it.
    pub(super) fn read(&mut self) -> Result<(Vec<Heard>, bool), Lost> {
        let mut heard = Vec::new();
        let mut reader = Reader::new(&self.inotify, &mut self.buffer);
        while heard.len() < EVENTS_MAX || !reader.is_buffer_empty() {
            match reader.next() {
                Ok(event) => heard.push(Heard {
                    watch: event.wd(),
                    flags: event.events(),
                    name: event.file_name().map_or_else(OsString::new, |name| {
                        OsStr::from_bytes(name.to_bytes()).to_owned()
                    }),
                }),
                Err(Errno::AGAIN) => return Ok((heard, false)),
                Err(Errno::INTR) => {}
                Err(_) => return Err(Lost::Unreadable),
            }
        }
        Ok((heard, true))
    }
}

/// Why a folder can't be watched, and what to do about it.
pub(super) fn refusal(error: Errno, folder: &Path) -> Lost {
    let folder = folder.display();
    let raise = |what: &str, name: &str, wanted: u32| {
        Lost::Impossible(format!(
            "this system watches no more {what}; allow more: sysctl -w {name}={wanted} \
             (to keep it: echo '{name} = {wanted}' > /etc/sysctl.d/70-wick.conf)"
        ))
    };
    match error {
        Errno::NOSPC => {
            raise("folders for this user", "fs.inotify.max_user_watches", WATCHES_WANTED)
        }
        Errno::MFILE => {
            raise("trees for this user", "fs.inotify.max_user_instances", INSTANCES_WANTED)
        }
        Errno::ACCESS | Errno::PERM => {
            Lost::Impossible(format!("{folder} can't be read by the user that Wick runs as"))
        }
        other => Lost::Impossible(format!("{folder} can't be watched: {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_would_allow_it() {
        for (error, expected) in [
            (Errno::NOSPC, "sysctl -w fs.inotify.max_user_watches=524288 "),
            (Errno::MFILE, "echo 'fs.inotify.max_user_instances = 1024' > /etc/sysctl.d/"),
            (Errno::ACCESS, "/srv/wiki can't be read by the user"),
            (Errno::NAMETOOLONG, "/srv/wiki can't be watched: "),
        ] {
            let told = refusal(error, Path::new("/srv/wiki")).to_string();
            assert!(told.contains(expected), "{told}");
        }
    }
}
