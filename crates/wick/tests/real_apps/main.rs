//! Real apps, as Debian and PyPI package them, behind the built binary.
//!
//! Each app is copied into a temporary folder, so the machine's own installation is
//! not touched, and visited with curl: strangers, log-ins, edits, large uploads.
//! Where an app is not installed its test checks nothing and says so loudly;
//! `scripts/setup test` installs them. [`strangers`] is what holds for all of them; a
//! file for each app says how it is installed and what visitors do there.

mod advised;
#[path = "../../src/demo/apps/mod.rs"]
mod apps;
#[allow(dead_code, reason = "the other tests that people do with Chromium need more of it")]
#[path = "../strangers/browser.rs"]
mod browser;
mod crawl;
mod demo;
mod dokuwiki;
mod edits;
#[path = "../../src/demo/forms.rs"]
mod forms;
mod mediawiki;
mod mediawiki_install;
mod new_items;
mod person;
mod search;
mod shaarli;
mod strangers;
mod tt_rss;
mod visitor;
mod wagtail;
mod wick;
mod wordpress;

use std::path::Path;

use apps::{App, InstallError, MariaDb, require};

/// An app that was installed; none, with a loud message, where a package is missing.
fn ready(installed: Result<App, InstallError>) -> Option<App> {
    let needed = require("curl", "/usr/bin/curl").and_then(|()| require("php-cli", "/usr/bin/php"));
    match needed.and(installed) {
        Ok(app) => Some(app),
        Err(missing @ InstallError::Missing { .. }) => {
            eprintln!("\n*** {missing}: THIS TEST CHECKS NOTHING ***\n");
            None
        }
        Err(error) => unreachable!("{error}"),
    }
}

/// Removes an app and sees that it is gone.
fn removed(app: App) {
    let path = app.folder.path().to_owned();
    let database = app.database.as_ref().map(MariaDb::group);
    drop(app);
    assert!(!path.exists(), "{} is gone", path.display());
    if let Some(id) = database {
        assert!(!Path::new(&format!("/proc/{id}")).exists(), "its database has ended");
    }
}

/// A large file: bytes that no layer can guess or shrink.
const LARGE_BYTES: usize = 20 << 20;

/// The content of a large file, the same each time.
fn large_file() -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut bytes = Vec::with_capacity(LARGE_BYTES);
    while bytes.len() < LARGE_BYTES {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes
}
