//! A MariaDB for one test: its data in a temporary folder, its door a socket in there.
//!
//! It listens on no port, and ends with the process that started it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use changes::{Address, Door, Secret};
use tempfile::TempDir;

use crate::daemon;

const SERVER: &str = "/usr/sbin/mariadbd";
const INSTALLER: &str = "/usr/bin/mariadb-install-db";
/// The user that Debian's package makes; root may not run a server.
const SYSTEM_USER: &str = "mysql";
const START_MAX: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);
/// The password of the feed's user, which must show up nowhere.
pub(crate) const PASSWORD: &str = "wick-p4ss:w@rd";

/// Small files, and none of them waits for the disk: all of it is gone in a minute.
const SMALL: &[&str] = &["--innodb-log-file-size=8M", "--innodb-flush-method=nosync"];

pub(crate) struct Server {
    folder: TempDir,
    settings: Vec<String>,
    child: Child,
    _installed: Arc<TempDir>,
}

impl Server {
    /// A server with a database `site`, a user `wick` who may follow the log, and a
    /// user `app` who may do everything in `site`; or none, said aloud, where MariaDB
    /// isn't installed.
    pub(crate) fn start(settings: &[&str]) -> Option<Self> {
        if !Path::new(SERVER).exists() || !Path::new(INSTALLER).exists() {
            eprintln!("SKIPPED: mariadb-server is not installed; scripts/setup test installs it");
            return None;
        }
        let folder = daemon::folder("db", SYSTEM_USER);
        let installed = installed();
        let copied = Command::new("cp")
            .arg("--archive")
            .arg(installed.path().join("data"))
            .arg(folder.path())
            .status();
        assert!(copied.expect("cp runs").success());
        let settings: Vec<String> = settings.iter().map(|&one| one.to_owned()).collect();
        let child = spawn(folder.path(), &settings);
        let mut server = Self { folder, settings, child, _installed: installed };
        server.wait();
        server.ask(&format!(
            "CREATE DATABASE site CHARACTER SET utf8mb4; \
             CREATE USER wick@localhost IDENTIFIED BY '{PASSWORD}'; \
             GRANT REPLICATION SLAVE ON *.* TO wick@localhost; \
             GRANT SELECT ON site.* TO wick@localhost; \
             CREATE USER app@localhost IDENTIFIED BY 'app'; \
             GRANT ALL ON site.* TO app@localhost;"
        ));
        Some(server)
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("db")
    }

    /// The address of the site for `user`.
    pub(crate) fn address(&self, user: &str, password: &str) -> Address {
        Address {
            door: Door::Socket(self.socket()),
            user: user.to_owned(),
            password: Secret::new(password),
            database: "site".to_owned(),
        }
    }

    /// Runs statements as root in `site`, on a connection of their own; what they answer.
    pub(crate) fn ask(&self, statements: &str) -> String {
        self.try_ask(statements)
            .map_err(|error| format!("{statements}: {error}"))
            .expect("an answer")
    }

    fn try_ask(&self, statements: &str) -> Result<String, String> {
        let mut client = Command::new("mariadb")
            .args(["--no-defaults", "--batch", "--skip-column-names", "--user=root", "--socket"])
            .arg(self.socket())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        let mut input = client.stdin.take().ok_or("no input")?;
        // It may have gone already, with a reason that is read below.
        let _ = input.write_all(statements.as_bytes());
        drop(input);
        let output = client.wait_with_output().map_err(|error| error.to_string())?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    /// Ends it as a power cut would.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("the server is ours");
        self.child.wait().expect("it ends");
    }

    /// Starts it again.
    pub(crate) fn again(&mut self) {
        self.child = spawn(self.folder.path(), &self.settings);
        self.wait();
    }

    /// What it is started with from now on.
    pub(crate) fn set(&mut self, settings: Vec<String>) {
        self.settings = settings;
    }

    fn wait(&mut self) {
        let bound = Instant::now() + START_MAX;
        while let Err(error) = self.try_ask("SELECT 1;") {
            let has_ended = !matches!(self.child.try_wait(), Ok(None));
            let log = || std::fs::read_to_string(self.folder.path().join("log.err"));
            let is_late = has_ended || Instant::now() > bound;
            assert!(!is_late, "the server doesn't start: {error}\n{}", log().unwrap_or_default());
            std::thread::sleep(PAUSE);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn installed() -> Arc<TempDir> {
    static INSTALLED: Mutex<Weak<TempDir>> = Mutex::new(Weak::new());
    daemon::installed(&INSTALLED, || {
        let folder = daemon::folder("db", SYSTEM_USER);
        let mut install = daemon::as_its_user(INSTALLER, SYSTEM_USER, folder.path());
        install.args(["--no-defaults", "--auth-root-authentication-method=normal"]);
        install.arg("--skip-test-db").args(SMALL).arg(datadir(folder.path()));
        daemon::run(install);
        folder
    })
}

fn datadir(folder: &Path) -> String {
    format!("--datadir={}", folder.join("data").display())
}

fn spawn(folder: &Path, settings: &[String]) -> Child {
    let mut server = daemon::as_its_user(SERVER, SYSTEM_USER, folder);
    server.args(["--no-defaults", "--skip-networking", "--innodb-buffer-pool-size=32M"]);
    server.args(SMALL).arg("--innodb-flush-log-at-trx-commit=2").arg(datadir(folder));
    server.arg(format!("--socket={}", folder.join("db").display()));
    server.arg(format!("--pid-file={}", folder.join("pid").display()));
    server.arg(format!("--log-error={}", folder.join("log.err").display()));
    server.args(settings);
    server.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    server.spawn().expect("the server starts")
}
