//! Real apps, installed from Debian's packages into a folder of their own.
//!
//! In: what a package keeps under `/usr/share`. Out: an [`App`]: a copy that can be
//! served and changed, with a database of its own where it needs one; the machine's own
//! installation is neither changed nor asked.
//! Invariant: nothing is left when an [`App`] is dropped, neither files nor processes.
//! The tests on real apps install through the same door.

mod dokuwiki;
mod folder;
mod mariadb;
mod wordpress;

use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};

pub(crate) use folder::AppFolder;
pub(crate) use mariadb::MariaDb;

/// The account that every app is installed with.
pub(crate) const USER: &str = "ann";
/// Its password.
pub(crate) const PASSWORD: &str = "a wick burns";

/// An installed app; dropping it removes it.
pub(crate) struct App {
    /// Ended before its files go.
    pub(crate) database: Option<MariaDb>,
    pub(crate) folder: AppFolder,
}

/// Why an app can't be installed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InstallError {
    /// The package, or one that it needs, is not there.
    #[error("{path} is missing; the package {package} brings it")]
    Missing {
        /// Debian's name.
        package: &'static str,
        /// What was looked for.
        path: PathBuf,
    },
    /// A program that has a part in it failed, with what it said.
    #[error("{0} failed: {1}")]
    Program(String, String),
    /// A file can't be read or written.
    #[error("{0}: {1}")]
    File(PathBuf, io::Error),
}

/// DokuWiki: pages in files.
pub(crate) fn dokuwiki() -> Result<App, InstallError> {
    dokuwiki::install()
}

/// WordPress, with a MariaDB of its own that has these settings.
pub(crate) fn wordpress(database: &[&str]) -> Result<App, InstallError> {
    wordpress::install(database)
}

/// Sees that what a package brings is there.
pub(crate) fn require(package: &'static str, path: &str) -> Result<(), InstallError> {
    let path = PathBuf::from(path);
    if path.exists() { Ok(()) } else { Err(InstallError::Missing { package, path }) }
}

/// Runs a command that must succeed, and gives what it printed.
pub(crate) fn run(command: &mut Command) -> Result<String, InstallError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| InstallError::Program(name.clone(), error.to_string()))?;
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(out);
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(InstallError::Program(name, format!("{out}{complaint}").trim().to_owned()))
}
