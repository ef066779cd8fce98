//! A running Wick that listens for HTTPS, and a folder for what it is given.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::wick::{Ended, Wick, open_folder};

pub(crate) struct Running {
    pub(crate) wick: Wick,
    pub(crate) plain: Option<SocketAddr>,
    pub(crate) tls: SocketAddr,
}

/// Settings, sites and certificates.
pub(crate) struct Ground {
    folder: TempDir,
}

impl Ground {
    pub(crate) fn new() -> Self {
        Self { folder: open_folder() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A folder with one page.
    pub(crate) fn site(&self, label: &str, page: &str) -> PathBuf {
        let folder = self.path().join(format!("site-{label}"));
        fs::create_dir(&folder).expect("a folder");
        fs::write(folder.join("index.html"), page).expect("a page");
        folder
    }

    /// Runs it with these settings behind those that every test has.
    pub(crate) fn run(&self, command: &str, settings: &str) -> Wick {
        let file = self.path().join("wick.toml");
        let state = self.path().join("state");
        let top = format!("state = \"{}\"\nthreads = 1\n", state.display());
        fs::write(&file, format!("{top}{settings}")).expect("the settings are written");
        // What is said on standard error is heard while it runs.
        let both = [
            "-c",
            "exec \"$0\" \"$@\" 2>&1",
            env!("CARGO_BIN_EXE_wick"),
            command,
            "--config",
            &file.display().to_string(),
        ];
        Wick::command(Command::new("sh"), &both)
    }

    /// Serves HTTP and HTTPS on free ports.
    pub(crate) fn serve(&self, settings: &str) -> Running {
        let listen = "listen = \"127.0.0.1:0\"\nlisten_tls = \"127.0.0.1:0\"\n";
        let mut wick = self.run("serve", &format!("{listen}{settings}"));
        let plain = Some(address(&wick.line("listening http://")));
        let tls = address(&wick.line("listening https://"));
        wick.line("Ctrl-C stops it.");
        Running { wick, plain, tls }
    }

    /// Serves nothing but HTTPS.
    pub(crate) fn serve_tls(&self, settings: &str) -> Running {
        let listen = "listen = []\nlisten_tls = \"127.0.0.1:0\"\n";
        let mut wick = self.run("serve", &format!("{listen}{settings}"));
        let tls = address(&wick.line("listening https://"));
        wick.line("Ctrl-C stops it.");
        Running { wick, plain: None, tls }
    }
}

impl Running {
    pub(crate) fn plain(&self) -> SocketAddr {
        self.plain.expect("it listens for HTTP too")
    }

    pub(crate) fn stop(self) -> Ended {
        self.wick.stop()
    }
}

fn address(line: &str) -> SocketAddr {
    let address = line.rsplit("//").next().expect("an address").trim_end_matches('/');
    address.parse().expect("an address with its port")
}
