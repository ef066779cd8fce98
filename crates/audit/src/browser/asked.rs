//! Which browser is used, with which axe-core, on how many pages: found out before anything is
//! asked for.

use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What Chromium is called, as far as it speaks the same protocol.
const PROGRAMS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];
/// Where axe-core is looked for.
const AXE: [&str; 3] =
    ["axe.min.js", "node_modules/axe-core/axe.min.js", "/usr/share/javascript/axe-core/axe.min.js"];
/// A file that is larger isn't axe-core.
const AXE_BYTES_MAX: u64 = 8 << 20;

/// Why no page can be looked at in a browser.
#[derive(Debug, thiserror::Error)]
pub enum BrowserError {
    /// There is none.
    #[error(
        "no browser was found ({}): install one (apt-get install chromium), or name it by \
         --browser=PATH",
        PROGRAMS.join(", ")
    )]
    Missing,
    /// The one that was named isn't there.
    #[error("there is no browser at {0}: name a Chromium by --browser=PATH")]
    Nowhere(PathBuf),
    /// There is no axe-core.
    #[error(
        "axe-core, by which pages are judged in the browser, wasn't found ({}): get it (npm \
         install axe-core), or name its axe.min.js by --axe FILE",
        AXE.join(", ")
    )]
    NoAxe,
    /// It can't be read.
    #[error("{0} can't be read as axe-core: {1}; name an axe.min.js by --axe FILE")]
    Axe(PathBuf, String),
    /// It would run as root.
    #[error(
        "Chromium's sandbox isn't there for root: audit as another user, or say --no-sandbox \
         (what the site's pages run is then kept from this machine by Chromium's code alone)"
    )]
    Root,
    /// It doesn't do what it should.
    #[error("{0} can't be used to look at pages: {1}")]
    Broken(PathBuf, String),
}

/// A browser to look at pages with.
#[derive(Clone, Debug)]
pub struct BrowserPlan {
    pub(super) program: PathBuf,
    /// The text of axe-core.
    pub(super) axe: Arc<str>,
    /// Pages of each site; one of each shape where nobody says how many.
    pub(super) pages: Option<usize>,
    pub(super) has_sandbox: bool,
}

impl BrowserPlan {
    /// Finds the browser and axe-core, where nobody names them, in the usual places.
    ///
    /// # Errors
    /// One of them isn't there, or root would run it in a sandbox.
    pub fn find(
        program: Option<&Path>,
        axe: Option<&Path>,
        pages: Option<usize>,
        has_sandbox: bool,
    ) -> Result<Self, BrowserError> {
        let program = match program {
            Some(named) if named.components().count() > 1 => {
                let is_there = named.is_file();
                is_there.then(|| named.to_owned()).ok_or(BrowserError::Nowhere(named.into()))?
            }
            Some(named) => in_path(named).ok_or(BrowserError::Nowhere(named.into()))?,
            None => {
                let found = PROGRAMS.iter().find_map(|name| in_path(Path::new(name)));
                found.ok_or(BrowserError::Missing)?
            }
        };
        if has_sandbox && rustix::process::geteuid().is_root() {
            return Err(BrowserError::Root);
        }
        let usual = || AXE.iter().map(Path::new).find(|path| path.is_file());
        let axe = read_axe(axe.or_else(usual).ok_or(BrowserError::NoAxe)?)?;
        Ok(Self { program, axe, pages, has_sandbox })
    }

    /// By what a run with the same options is known again.
    pub(crate) fn mark(&self) -> String {
        let axe = xxhash_rust::xxh3::xxh3_64(self.axe.as_bytes());
        format!(" browser {:?} {axe:016x}", self.pages)
    }
}

fn in_path(name: &Path) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file())
}

fn read_axe(path: &Path) -> Result<Arc<str>, BrowserError> {
    let wrong = |why: String| BrowserError::Axe(path.to_owned(), why);
    let bytes = std::fs::metadata(path).map_err(|error| wrong(error.to_string()))?.len();
    if bytes > AXE_BYTES_MAX {
        return Err(wrong(format!("it has {bytes} bytes")));
    }
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    match text.contains("axe") {
        true => Ok(text.into()),
        false => Err(wrong("it says nothing of axe".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let axe = folder.path().join("axe.min.js");
        std::fs::write(&axe, "something else").unwrap();
        let shell = Path::new("/bin/sh");
        for (program, axe, expected) in [
            (Path::new("/no/such"), &axe, "--browser=PATH"),
            (Path::new("no-such-browser"), &axe, "--browser=PATH"),
            (shell, &folder.path().join("none.js"), "--axe FILE"),
            (shell, &axe, "it says nothing of axe"),
        ] {
            let found = BrowserPlan::find(Some(program), Some(axe), None, false);
            let why = found.map(|_| ()).unwrap_err().to_string();
            assert!(why.contains(expected), "{why}");
        }
        std::fs::write(&axe, "/*! axe v4 */").unwrap();
        let found = BrowserPlan::find(Some(Path::new("sh")), Some(&axe), Some(3), false).unwrap();
        assert!(found.program.is_absolute(), "{found:?}");
    }
}
