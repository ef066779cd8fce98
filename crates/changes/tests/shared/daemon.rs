//! A server's folder, its user, and data that are installed once.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tempfile::TempDir;

/// Data that `install` made once, for every server to begin with. They go with the last
/// of the servers; what is static would stay.
pub(crate) fn installed(
    there: &Mutex<Weak<TempDir>>,
    install: impl FnOnce() -> TempDir,
) -> Arc<TempDir> {
    let mut there = there.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(folder) = there.upgrade() {
        return folder;
    }
    let folder = Arc::new(install());
    *there = Arc::downgrade(&folder);
    folder
}

/// Runs an installer to its end.
pub(crate) fn run(mut installer: Command) {
    let output = installer.output().expect("the installer runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A folder that `user` may write and everybody may walk through. Its name is short: the
/// system allows a socket's path no more than 107 bytes.
pub(crate) fn folder(prefix: &str, user: &str) -> TempDir {
    let folder = TempDir::with_prefix(prefix).expect("a temporary folder");
    let mut make = Command::new("install");
    make.args(["--directory", "--mode=755"]);
    if is_root() {
        make.args(["--owner", user, "--group", user]);
    }
    assert!(make.arg(folder.path()).status().expect("install runs").success());
    folder
}

/// A command that ends with us; where we are root it runs as `user`.
pub(crate) fn as_its_user(program: impl AsRef<OsStr>, user: &str, folder: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.env("TMPDIR", folder).args(["--pdeathsig", "KILL"]);
    if is_root() {
        command.args(["--reuid", user, "--regid", user, "--clear-groups"]);
    }
    command.arg(program);
    command
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
