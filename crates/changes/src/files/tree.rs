//! The tree: which folders are watched, and what was heard in them.
//!
//! In: a path, and what the kernel says. Out: changes, or why the watching ends.
//! Invariants: 1. A folder's watch stands before it is listed, and what is listed then is
//! told: nothing is put into a new folder unseen. 2. Each real folder is watched once,
//! whichever links lead to it. 3. A path that leads elsewhere than it did is noticed: at
//! once within the tree, and where a link or the way to the tree itself leads through
//! other folders, at the next [`look`](Tree::look). 4. At most [`FOLDERS_MAX`] folders and
//! [`LINKS_MAX`] links are known.

use std::collections::{BTreeMap, BTreeSet, HashMap, hash_map};
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use rustix::fs::inotify::ReadFlags;
use rustix::io::Errno;

use super::calm::{Calm, Closed};
use super::class::Top;
use super::kernel::{Heard, Kernel, refusal};
use crate::{Change, Lost, Operation};

/// The most folders of one source. The kernel takes about 1 kB for each, Wick the
/// length of its path and 150 bytes.
pub(super) const FOLDERS_MAX: usize = 16_384;
/// The most links of one source that lead out of their folder.
pub(super) const LINKS_MAX: usize = 1024;
/// More kinds of change at once are told as one that may be anything.
const CHANGES_MAX: usize = 1024;
/// A file that somebody closes and nobody was heard writing was written through memory,
/// if it was changed so short before. Else it was opened to lock it.
const WRITTEN_WITHIN: u64 = 2;

/// Folders that are watched.
pub(super) struct Tree {
    kernel: Kernel,
    path: PathBuf,
    /// The folder that is watched for `path`, and who it is.
    top: PathBuf,
    top_watch: i32,
    identity: Identity,
    names: Names,
    classes: Top,
    folders: HashMap<i32, Folder>,
    links: BTreeMap<PathBuf, Option<Target>>,
    /// Something leads elsewhere: all is looked through again.
    is_moved: bool,
    calm: Calm<(i32, OsString)>,
    told: BTreeSet<Change>,
}

/// A folder that is watched, by the path that led to it.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
    names: Names,
    /// A link leads to it, and nothing above it is watched.
    is_target: bool,
}

/// What counts in a folder.
#[derive(Clone, Debug)]
enum Names {
    All,
    Only(BTreeSet<OsString>),
}

/// Where a link leads.
#[derive(Debug, PartialEq, Eq)]
struct Target {
    path: PathBuf,
    /// A file may be another each time it is saved; its folder tells.
    folder: Option<Identity>,
}

type Identity = (u64, u64);

impl Tree {
    /// Watches a folder with all that is below it, or a single file, from now on.
    pub(super) fn stand(path: &Path) -> Result<Self, Lost> {
        let about = path.metadata().map_err(|error| unreachable(&error, path))?;
        let (top, names) = match (path.parent(), path.file_name()) {
            (Some(folder), Some(name)) if !about.is_dir() => {
                (folder.to_owned(), Names::Only(BTreeSet::from([name.to_owned()])))
            }
            _ => (path.to_owned(), Names::All),
        };
        let mut tree = Self {
            kernel: Kernel::new()?,
            identity: identity(&top).ok_or_else(|| gone(path))?,
            classes: Top::new(&top),
            path: path.to_owned(),
            top,
            top_watch: -1,
            names,
            folders: HashMap::new(),
            links: BTreeMap::new(),
            is_moved: false,
            calm: Calm::new(),
            told: BTreeSet::new(),
        };
        tree.survey(|_| false)?;
        Ok(tree)
    }

    /// A handle that can be read when there is something to hear.
    pub(super) fn handle(&self) -> Result<OwnedFd, Lost> {
        self.kernel.handle()
    }

    /// When something is to be told that waits.
    pub(super) fn due(&self) -> Option<Instant> {
        self.calm.next()
    }

    /// What was heard, and whether there may be more.
    pub(super) fn turn(&mut self, now: Instant) -> Result<(Vec<Change>, bool), Lost> {
        let (heard, is_more) = self.kernel.read()?;
        for heard in &heard {
            self.hear(heard, now)?;
        }
        if self.is_moved {
            self.survey_again()?;
        }
        for (watch, name) in self.calm.due(now) {
            // What was in a folder that has gone went with it, which was told.
            if let Some(folder) = self.folders.get(&watch).map(|folder| folder.path.clone()) {
                self.tell(&folder, &name, Operation::Update);
            }
        }
        Ok((std::mem::take(&mut self.told).into_iter().collect(), is_more))
    }

    /// Looks where paths lead that nothing would be heard about.
    pub(super) fn look(&mut self) -> Result<(), Lost> {
        if identity(&self.top) != Some(self.identity) {
            return Err(gone(&self.path));
        }
        let is_other = |(link, known): (&PathBuf, &Option<Target>)| {
            let is_same = target(link).is_ok_and(|now| now == *known);
            (!is_same).then(|| link.clone())
        };
        let moved: Vec<PathBuf> = self.links.iter().filter_map(is_other).collect();
        for link in moved {
            if let (Some(folder), Some(name)) = (link.parent(), link.file_name()) {
                self.tell(folder, name, Operation::Update);
            }
            self.is_moved = true;
        }
        Ok(())
    }

    /// Takes one thing in that the kernel says.
    fn hear(&mut self, heard: &Heard, now: Instant) -> Result<(), Lost> {
        let is = |flags: ReadFlags| heard.flags.intersects(flags);
        if is(ReadFlags::QUEUE_OVERFLOW) {
            return Err(Lost::Overrun);
        }
        let Some(folder) = self.folders.get(&heard.watch) else { return Ok(()) };
        if is(GONE) {
            if heard.watch == self.top_watch || is(ReadFlags::UNMOUNT) {
                return Err(gone(&self.path));
            }
            if folder.is_target {
                // No folder above it is watched that would tell.
                let path = folder.path.clone();
                self.is_moved = true;
                if let (Some(folder), Some(name)) = (path.parent(), path.file_name()) {
                    self.tell(folder, name, Operation::Delete);
                }
            }
            if is(ReadFlags::IGNORED) {
                self.folders.remove(&heard.watch);
            }
            return Ok(());
        }
        let is_meant = match &folder.names {
            Names::All => true,
            Names::Only(names) => names.contains(&heard.name),
        };
        if is_meant {
            let (folder, name) = (folder.path.clone(), heard.name.clone());
            return self.hear_of_file(heard, folder, name, now);
        }
        Ok(())
    }

    fn hear_of_file(
        &mut self,
        heard: &Heard,
        folder: PathBuf,
        name: OsString,
        now: Instant,
    ) -> Result<(), Lost> {
        let is = |flags: ReadFlags| heard.flags.intersects(flags);
        let path = folder.join(&name);
        let file = (heard.watch, name);
        let operation = if is(ReadFlags::CREATE | ReadFlags::MOVED_TO) {
            Operation::Insert
        } else if is(ReadFlags::DELETE | ReadFlags::MOVED_FROM) {
            Operation::Delete
        } else {
            Operation::Update
        };
        let is_told = match operation {
            Operation::Insert => {
                self.calm.made(&file, now);
                true
            }
            Operation::Delete => {
                self.calm.gone(&file);
                true
            }
            _ if is(ReadFlags::CLOSE_WRITE) => match self.calm.closed(&file) {
                Closed::Tell => true,
                Closed::Nothing => false,
                Closed::Unheard => was_just_changed(&path),
            },
            _ if is(ReadFlags::MODIFY) => self.calm.written(&file, now),
            _ => true,
        };
        if is_told {
            self.tell(&folder, &file.1, operation);
        }
        let is_folder = is(ReadFlags::ISDIR);
        if operation == Operation::Delete {
            self.is_moved |=
                is_folder && is(ReadFlags::MOVED_FROM) || self.links.contains_key(&path);
        } else if operation == Operation::Insert {
            // What stood there by that name leads here no more.
            self.is_moved |= self.links.contains_key(&path);
            let is_link = || path.symlink_metadata().is_ok_and(|about| about.is_symlink());
            if is_folder {
                self.enter(path, false, &|_| true)?;
            } else if is_link() {
                self.follow(path, &mut |tree, path| tree.enter(path, true, &|_| true))?;
            }
        }
        Ok(())
    }

    /// Watches all that is to be watched; tells what lies in folders that are news.
    fn survey(&mut self, is_news: impl Fn(i32) -> bool) -> Result<(), Lost> {
        let watch = self.kernel.add(&self.top)?.ok_or_else(|| gone(&self.path))?;
        self.top_watch = watch;
        match self.names.clone() {
            Names::All => self.enter(self.top.clone(), false, &is_news),
            Names::Only(names) => {
                self.admit(watch, self.top.clone(), self.names.clone(), false)?;
                for name in names {
                    let enter = &mut |tree: &mut Self, path| tree.enter(path, true, &is_news);
                    self.follow(self.top.join(name), enter)?;
                }
                Ok(())
            }
        }
    }

    /// Looks through everything again and forgets what can't be reached any more.
    fn survey_again(&mut self) -> Result<(), Lost> {
        self.is_moved = false;
        let before = std::mem::take(&mut self.folders);
        self.links.clear();
        self.survey(|watch| !before.contains_key(&watch))?;
        let left = before.keys().filter(|watch| !self.folders.contains_key(watch));
        left.for_each(|watch| self.kernel.remove(*watch));
        Ok(())
    }

    /// Watches `folder` and all below it.
    fn enter(
        &mut self,
        folder: PathBuf,
        is_target: bool,
        is_news: &dyn Fn(i32) -> bool,
    ) -> Result<(), Lost> {
        let mut ahead = vec![(folder, is_target)];
        while let Some((folder, is_target)) = ahead.pop() {
            // Gone again; that was heard.
            let Some(watch) = self.kernel.add(&folder)? else { continue };
            if !self.admit(watch, folder.clone(), Names::All, is_target)? {
                continue;
            }
            let entries = match folder.read_dir() {
                Ok(entries) => entries,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(unreachable(&error, &folder)),
            };
            for entry in entries {
                let entry = entry.map_err(|error| unreachable(&error, &folder))?;
                if is_news(watch) {
                    self.tell(&folder, &entry.file_name(), Operation::Insert);
                }
                let Ok(kind) = entry.file_type() else { continue };
                if kind.is_dir() {
                    ahead.push((entry.path(), false));
                } else if kind.is_symlink() {
                    self.follow(entry.path(), &mut |_, path| {
                        ahead.push((path, true));
                        Ok(())
                    })?;
                }
                if self.folders.len() + ahead.len() > FOLDERS_MAX {
                    return Err(self.too_many("folders", FOLDERS_MAX));
                }
            }
        }
        Ok(())
    }

    /// Takes a folder among those that are watched; whether it has to be listed.
    fn admit(
        &mut self,
        watch: i32,
        path: PathBuf,
        names: Names,
        is_target: bool,
    ) -> Result<bool, Lost> {
        let count = self.folders.len();
        match self.folders.entry(watch) {
            hash_map::Entry::Occupied(known) => {
                let known = known.into_mut();
                known.is_target |= is_target;
                match (&mut known.names, names) {
                    (Names::All, _) => return Ok(false),
                    (Names::Only(own), Names::Only(more)) => {
                        own.extend(more);
                        return Ok(false);
                    }
                    (Names::Only(_), Names::All) => {
                        known.names = Names::All;
                        known.path = path;
                    }
                }
            }
            hash_map::Entry::Vacant(_) if count >= FOLDERS_MAX => {
                return Err(self.too_many("folders", FOLDERS_MAX));
            }
            hash_map::Entry::Vacant(place) => {
                place.insert(Folder { path, names, is_target });
            }
        }
        Ok(true)
    }

    /// Notes where a link leads, hands a folder to `enter` and watches a file by its name.
    fn follow(
        &mut self,
        link: PathBuf,
        enter: &mut dyn FnMut(&mut Self, PathBuf) -> Result<(), Lost>,
    ) -> Result<(), Lost> {
        if !link.symlink_metadata().is_ok_and(|about| about.is_symlink()) {
            return Ok(());
        }
        let target = target(&link)?;
        if let Some(Target { path, folder: None }) = &target
            && let (Some(folder), Some(name)) = (path.parent(), path.file_name())
            && let Some(watch) = self.kernel.add(folder)?
        {
            let names = Names::Only(BTreeSet::from([name.to_owned()]));
            self.admit(watch, folder.to_owned(), names, true)?;
        }
        let is_folder = target.as_ref().is_some_and(|target| target.folder.is_some());
        if self.links.len() >= LINKS_MAX && !self.links.contains_key(&link) {
            return Err(self.too_many("links", LINKS_MAX));
        }
        self.links.insert(link.clone(), target);
        if is_folder { enter(self, link) } else { Ok(()) }
    }

    fn tell(&mut self, folder: &Path, name: &OsStr, operation: Operation) {
        let name = if name.is_empty() { OsStr::new(".") } else { name };
        let change = if self.told.len() < CHANGES_MAX {
            self.classes.change(folder, name, operation)
        } else {
            Change::anything("", "")
        };
        self.told.insert(change);
    }

    fn too_many(&self, what: &str, most: usize) -> Lost {
        Lost::Impossible(format!(
            "{} holds more than {most} {what}; name the folders in it that hold content",
            self.path.display()
        ))
    }
}

/// A folder is no longer where it was, or nowhere any more.
const GONE: ReadFlags = ReadFlags::IGNORED
    .union(ReadFlags::UNMOUNT)
    .union(ReadFlags::DELETE_SELF)
    .union(ReadFlags::MOVE_SELF);

fn gone(path: &Path) -> Lost {
    Lost::Impossible(format!("{} isn't there", path.display()))
}

fn unreachable(error: &std::io::Error, path: &Path) -> Lost {
    match error.kind() {
        ErrorKind::NotFound => gone(path),
        _ => refusal(Errno::from_io_error(error).unwrap_or(Errno::IO), path),
    }
}

fn identity(folder: &Path) -> Option<Identity> {
    folder.metadata().ok().map(|about| (about.dev(), about.ino()))
}

/// Where a link leads by now; None if nowhere, as those do that are made to lock a file.
fn target(link: &Path) -> Result<Option<Target>, Lost> {
    match link.canonicalize() {
        Ok(path) => {
            let Ok(about) = path.metadata() else { return Ok(None) };
            let folder = about.is_dir().then(|| (about.dev(), about.ino()));
            Ok(Some(Target { path, folder }))
        }
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Err(unreachable(&error, link)),
        Err(_) => Ok(None),
    }
}

/// Whether a file's content or state was changed within the last seconds.
fn was_just_changed(file: &Path) -> bool {
    let Ok(about) = file.metadata() else { return false };
    let now =
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |now| now.as_secs());
    u64::try_from(about.ctime()).is_ok_and(|changed| changed + WRITTEN_WITHIN >= now)
}

#[cfg(test)]
mod tests {
    use super::super::calm::CALM;
    use super::*;

    #[test]
    fn an_overflow_of_the_kernels_queue_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut tree = Tree::stand(folder.path()).expect("it stands");
        let heard = Heard { watch: -1, flags: ReadFlags::QUEUE_OVERFLOW, name: OsString::new() };
        assert_eq!(tree.hear(&heard, Instant::now()), Err(Lost::Overrun));
    }

    #[test]
    fn a_file_that_was_only_opened_is_told_from_one_that_was_written() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        assert!(was_just_changed(file.path()));
        assert!(!was_just_changed(Path::new("/bin/sh")));
        assert!(!was_just_changed(Path::new("/nowhere")));
    }

    #[test]
    fn what_is_remembered_is_forgotten_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let outside = tempfile::tempdir().expect("another");
        let elsewhere = tempfile::tempdir().expect("a third");
        let mut tree = Tree::stand(folder.path()).expect("it stands");
        for round in 0..3 {
            let deep = folder.path().join("a/b/c");
            std::fs::create_dir_all(&deep).expect("folders");
            std::os::unix::fs::symlink(outside.path(), deep.join("link")).expect("a link");
            tree.turn(Instant::now()).expect("it is heard");
            assert_eq!((tree.folders.len(), tree.links.len()), (5, 1), "{round}");
            match round {
                0 => std::fs::remove_dir_all(folder.path().join("a")).expect("they go"),
                _ => std::fs::rename(
                    folder.path().join("a"),
                    elsewhere.path().join(format!("{round}")),
                )
                .expect("they move"),
            }
            tree.turn(Instant::now()).expect("it is heard");
            tree.turn(Instant::now() + CALM).expect("it is heard");
            assert_eq!((tree.folders.len(), tree.links.len()), (1, 0), "{round}");
        }
        tree.turn(Instant::now() + CALM * 4).expect("it is heard");
        assert_eq!(tree.due(), None);
    }

    #[test]
    fn links_that_lead_in_circles_and_to_one_folder_twice_are_one_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let link = |to: &Path, name: &str| {
            std::os::unix::fs::symlink(to, folder.path().join(name)).expect("a link");
        };
        std::fs::create_dir(folder.path().join("real")).expect("a folder");
        link(folder.path(), "up");
        link(Path::new("."), "here");
        link(Path::new("real"), "one");
        link(Path::new("one"), "two");
        link(Path::new("circle"), "circle");
        link(Path::new("/nowhere/at/all"), "nowhere");
        let tree = Tree::stand(folder.path()).expect("it stands");
        assert_eq!((tree.folders.len(), tree.links.len()), (2, 6));
    }
}
