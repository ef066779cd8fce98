//! What root made before becomes the user's: the state folder, and the access log.
//!
//! Invariants: 1. a folder that holds other things than Wick's is refused, not handed over.
//! 2. no link is followed and no file with a second name is touched: root gives nothing away
//! that lies elsewhere. 3. what belongs to somebody else than root stays theirs.

use std::fs::{self, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown, lchown};
use std::path::{Path, PathBuf};

use super::account::Account;

/// What the state folder of any Wick has in it.
const SIGN: &str = "learned.sqlite3";
/// Deeper than Wick makes folders in it.
const DEPTH_MAX: usize = 6;

/// Why something can't be the user's; each message says what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HandOverError {
    #[error(
        "the state folder {0} belongs to root and holds other things than Wick's: choose one for \
         Wick alone with --state"
    )]
    Foreign(PathBuf),
    #[error(
        "the state folder {0} belongs to another user than {1}, whom Wick serves as: \
         chown -R {1}: {0}, or name its owner with user = …"
    )]
    Others(PathBuf, String),
    #[error("{0} can't be handed over to {1}: {2}; choose another folder with --state")]
    System(PathBuf, String, io::Error),
    #[error(
        "can't write the access log {0}: {1}; name a file in a folder that this user may write to"
    )]
    Log(PathBuf, io::Error),
}

/// Makes the state folder, and all that is in it, this user's.
pub(crate) fn state(folder: &Path, account: &Account) -> Result<(), HandOverError> {
    let failed = |error| HandOverError::System(folder.to_owned(), account.name.clone(), error);
    fs::create_dir_all(folder).map_err(failed)?;
    if !may_be_given(folder, account)? {
        return Ok(());
    }
    // Until the folder itself is handed over, nobody but root changes what is in it.
    let real = fs::canonicalize(folder).map_err(failed)?;
    hand_over(&real, account, DEPTH_MAX).map_err(failed)
}

/// Whether a state folder is to be given away, and may be; one that isn't there yet may.
pub(crate) fn may_be_given(folder: &Path, account: &Account) -> Result<bool, HandOverError> {
    let failed = |error| HandOverError::System(folder.to_owned(), account.name.clone(), error);
    let owner = match fs::metadata(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        data => data.map_err(failed)?.uid(),
    };
    if owner == account.uid {
        return Ok(false);
    }
    if owner != 0 {
        return Err(HandOverError::Others(folder.to_owned(), account.name.clone()));
    }
    let is_empty = fs::read_dir(folder).map_err(failed)?.next().is_none();
    if !is_empty && !folder.join(SIGN).is_file() {
        return Err(HandOverError::Foreign(folder.to_owned()));
    }
    Ok(true)
}

fn hand_over(path: &Path, account: &Account, depth: usize) -> io::Result<()> {
    let data = fs::symlink_metadata(path)?;
    if data.is_dir() && depth > 0 {
        for entry in fs::read_dir(path)? {
            hand_over(&entry?.path(), account, depth - 1)?;
        }
    }
    if is_roots_own(&data) {
        lchown(path, Some(account.uid), Some(account.gid))?;
    }
    Ok(())
}

/// Whether it is root's and has no name but this.
fn is_roots_own(data: &Metadata) -> bool {
    data.uid() == 0 && !data.is_symlink() && (data.is_dir() || data.nlink() == 1)
}

/// Makes the access log, if it isn't there yet, and lets this user write to it.
pub(crate) fn log(path: &Path, (uid, gid): (u32, u32)) -> Result<(), HandOverError> {
    if path == Path::new("-") {
        return Ok(());
    }
    let failed = |error| HandOverError::Log(path.to_owned(), error);
    let mut options = OpenOptions::new();
    options.create(true).append(true).mode(0o640);
    // A link here could lead root anywhere.
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = options.custom_flags(flags.bits() as i32).open(path);
    // A link is opened by the user, if by anybody.
    let Ok(file) = file else { return Ok(()) };
    let data = file.metadata().map_err(failed)?;
    if data.is_file() && is_roots_own(&data) {
        fchown(&file, Some(uid), Some(gid)).map_err(failed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account() -> Account {
        Account { name: "nobody".into(), uid: 65534, gid: 65534, groups: vec![65534] }
    }

    #[test]
    fn a_state_folder_is_handed_over_whole_and_nothing_else_is() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("SKIPPED: only root can give files to somebody else");
            return;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let owner = |path: &Path| fs::symlink_metadata(path).expect("it is there").uid();
        fs::create_dir_all(path("state/certificates")).expect("ours");
        for name in ["outside", "twice", "state/other", "state/certificates/a.pem"] {
            fs::write(path(name), "x").expect("ours");
        }
        let refused = state(&path("state"), &account()).expect_err("it holds other things");
        assert!(matches!(refused, HandOverError::Foreign(_)), "{refused}");
        assert_eq!(owner(&path("state")), 0);
        fs::write(path("state/learned.sqlite3"), "x").expect("ours");
        std::os::unix::fs::symlink(path("outside"), path("state/link")).expect("ours");
        fs::hard_link(path("twice"), path("state/second")).expect("ours");
        state(&path("state"), &account()).expect("it is Wick's");
        for (name, uid) in [
            ("state", 65534),
            ("state/certificates", 65534),
            ("state/certificates/a.pem", 65534),
            ("state/link", 0),
            ("outside", 0),
            ("twice", 0),
        ] {
            assert_eq!(owner(&path(name)), uid, "{name}");
        }
        let other = Account { name: "daemon".into(), uid: 1, gid: 1, groups: vec![1] };
        let told = state(&path("state"), &other).expect_err("it is nobody's").to_string();
        assert!(told.contains("chown -R daemon: "), "{told}");
        assert!(state(&path("new/state"), &account()).is_ok() && owner(&path("new")) == 0);

        log(&path("access.log"), (65534, 65534)).expect("it is made");
        assert_eq!(owner(&path("access.log")), 65534);
        std::os::unix::fs::symlink(path("outside"), path("linked.log")).expect("ours");
        log(&path("linked.log"), (65534, 65534)).expect("the user may try");
        assert_eq!(owner(&path("outside")), 0);
    }
}
