//! A PostgreSQL for one test: its data in a temporary folder, its door a socket in there.
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

/// Where Debian keeps them, by version.
const VERSIONS: &str = "/usr/lib/postgresql";
/// The user that Debian's package makes; root may not run a server.
const SYSTEM_USER: &str = "postgres";
const START_MAX: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);
const ADMINISTRATOR: &str = "administrator";
/// The password of the feed's user, which must show up nowhere.
pub(crate) const PASSWORD: &str = "wick-p4ss:w@rd";

pub(crate) const LOGICAL: &[&str] = &["wal_level=logical"];

pub(crate) struct Server {
    folder: TempDir,
    settings: Vec<String>,
    child: Child,
    _installed: Arc<TempDir>,
}

impl Server {
    /// A server with a database `site` that belongs to the user `app`, and a user `wick`
    /// who may follow the log and what `app` may; or none, said aloud, where PostgreSQL
    /// isn't installed.
    pub(crate) fn start(settings: &[&str]) -> Option<Self> {
        if programs().is_none() {
            eprintln!("SKIPPED: postgresql is not installed; scripts/setup test installs it");
            return None;
        }
        let folder = daemon::folder("pg", SYSTEM_USER);
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
        server.administer(&format!(
            "CREATE ROLE app LOGIN PASSWORD 'app'; CREATE DATABASE site OWNER app; \
             CREATE ROLE wick LOGIN REPLICATION PASSWORD '{PASSWORD}' IN ROLE app;"
        ));
        Some(server)
    }

    /// Where its socket lies.
    #[allow(dead_code, reason = "for apps that are put before it")]
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The address of the site for `user`.
    pub(crate) fn address(&self, user: &str, password: &str) -> Address {
        Address {
            door: Door::Socket(self.folder.path().to_owned()),
            user: user.to_owned(),
            password: Secret::new(password),
            database: "site".to_owned(),
        }
    }

    pub(crate) fn wick(&self) -> Address {
        self.address("wick", PASSWORD)
    }

    /// Runs statements in `site` as the app does, on a connection of their own; what they answer.
    pub(crate) fn ask(&self, statements: &str) -> String {
        self.run("app", "app", "site", statements)
            .map_err(|error| format!("{statements}: {error}"))
            .expect("an answer")
    }

    /// Runs statements as the server's administrator.
    pub(crate) fn administer(&self, statements: &str) -> String {
        self.run(ADMINISTRATOR, PASSWORD, "postgres", statements)
            .map_err(|error| format!("{statements}: {error}"))
            .expect("an answer")
    }

    pub(crate) fn administer_site(&self, statements: &str) -> String {
        self.run(ADMINISTRATOR, PASSWORD, "site", statements)
            .map_err(|error| format!("{statements}: {error}"))
            .expect("an answer")
    }

    /// A client that stays; what it is given it runs.
    pub(crate) fn client(&self, user: &str, password: &str) -> Child {
        let mut client = psql(self.folder.path(), user, password, "site");
        client.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        client.spawn().expect("a client")
    }

    fn run(
        &self,
        user: &str,
        password: &str,
        database: &str,
        text: &str,
    ) -> Result<String, String> {
        let mut client = psql(self.folder.path(), user, password, database);
        client.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut client = client.spawn().map_err(|error| error.to_string())?;
        let mut input = client.stdin.take().ok_or("no input")?;
        // It may have gone already, with a reason that is read below.
        let _ = input.write_all(text.as_bytes());
        drop(input);
        let output = client.wait_with_output().map_err(|error| error.to_string())?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    /// Asks until the answer is `expected`, which it soon is.
    pub(crate) async fn until(&self, question: &str, expected: &str) {
        let bound = Instant::now() + START_MAX;
        loop {
            let answer = self.administer_site(question);
            if answer == expected {
                return;
            }
            assert!(Instant::now() < bound, "{question}: {answer}");
            // The feed runs meanwhile.
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Ends it as a power cut would, with the processes that it started.
    pub(crate) fn kill(&mut self) {
        let pids = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", self.child.id()));
        self.child.kill().expect("the server is ours");
        for pid in pids.unwrap_or_default().split_whitespace().filter_map(|pid| pid.parse().ok()) {
            if let Some(pid) = rustix::process::Pid::from_raw(pid) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
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

    /// Waits until it answers. One whose processes have not all gone yet after a kill
    /// doesn't start, and is started again.
    fn wait(&mut self) {
        let bound = Instant::now() + START_MAX;
        while let Err(error) = self.run(ADMINISTRATOR, PASSWORD, "postgres", "SELECT 1;") {
            let log = || std::fs::read_to_string(self.folder.path().join("log"));
            let is_late = Instant::now() > bound;
            assert!(!is_late, "the server doesn't start: {error}\n{}", log().unwrap_or_default());
            if !matches!(self.child.try_wait(), Ok(None)) {
                self.child = spawn(self.folder.path(), &self.settings);
            }
            std::thread::sleep(PAUSE);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It asks its processes to end at once.
        if let Some(pid) =
            i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw)
        {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::QUIT);
        }
        let _ = self.child.wait();
    }
}

fn psql(folder: &Path, user: &str, password: &str, database: &str) -> Command {
    let mut client = Command::new("psql");
    client.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1"]);
    client.arg("--host").arg(folder).args([
        "--port=5432",
        "--username",
        user,
        "--dbname",
        database,
    ]);
    client.env("PGPASSWORD", password);
    client
}

fn installed() -> Arc<TempDir> {
    static INSTALLED: Mutex<Weak<TempDir>> = Mutex::new(Weak::new());
    daemon::installed(&INSTALLED, || {
        let folder = daemon::folder("pg", SYSTEM_USER);
        let secret = folder.path().join("secret");
        std::fs::write(&secret, PASSWORD).expect("a file");
        let mut install = as_its_user("initdb", folder.path());
        install.args(["--auth=scram-sha-256", "--username", ADMINISTRATOR, "--no-sync"]);
        install.args(["--encoding=UTF8", "--locale=C.UTF-8", "--pwfile"]).arg(secret);
        install.arg("--pgdata").arg(folder.path().join("data"));
        daemon::run(install);
        folder
    })
}

/// Small, and nothing waits for the disk: all of it is gone in a minute.
fn spawn(folder: &Path, settings: &[String]) -> Child {
    let mut server = as_its_user("postgres", folder);
    server.arg("-D").arg(folder.join("data")).arg("-k").arg(folder).arg("-F");
    for setting in ["listen_addresses=", "shared_buffers=16MB", "max_connections=40"] {
        server.args(["-c", setting]);
    }
    for setting in settings {
        server.args(["-c", setting]);
    }
    let log = std::fs::File::create(folder.join("log")).expect("a file");
    server.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    server.spawn().expect("the server starts")
}

fn as_its_user(program: &str, folder: &Path) -> Command {
    let programs = programs().expect("a server is installed");
    daemon::as_its_user(programs.join(program), SYSTEM_USER, folder)
}

/// The programs of the latest version that is there.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir(VERSIONS).ok()?.filter_map(Result::ok);
    let number = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    let latest = versions.map(|entry| entry.path()).max_by_key(number)?.join("bin");
    latest.join("initdb").exists().then_some(latest)
}
