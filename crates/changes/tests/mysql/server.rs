//! A MySQL 8 for one test: its data in a temporary folder, its door a socket in there.
//!
//! Debian has none, so `scripts/setup test` puts one into `target/tools/mysql`. It listens
//! on no port unless its settings say so, and ends with the process that started it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use changes::connect::options;
use changes::{Address, Door, Secret};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Row, Value};
use tempfile::TempDir;

use crate::daemon;

/// Whoever runs the test; a server of root's wants to be told that it may be.
const SYSTEM_USER: &str = "root";
const START_MAX: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);
/// The password of the feed's user, which must show up nowhere.
pub(crate) const PASSWORD: &str = "wick-p4ss:w@rd";

/// Little memory, small files, and none of them waits for the disk.
const SMALL: &[&str] = &[
    "--innodb-redo-log-capacity=8M",
    "--innodb-flush-method=nosync",
    "--innodb-doublewrite=OFF",
    "--innodb-buffer-pool-size=32M",
    "--innodb-flush-log-at-trx-commit=2",
    "--sync-binlog=0",
    "--performance-schema=OFF",
    "--mysqlx=OFF",
];

pub(crate) struct Server {
    folder: TempDir,
    settings: Vec<String>,
    child: Child,
    _installed: Arc<TempDir>,
}

impl Server {
    /// A server with a database `site`, a user `wick` who may follow the log, and a user
    /// `app` who may do everything in `site`; or none, said aloud, where there is no MySQL.
    pub(crate) async fn start(settings: &[&str]) -> Option<Self> {
        if !program().exists() {
            eprintln!("SKIPPED: no MySQL in target/tools/mysql; scripts/setup test puts one there");
            return None;
        }
        let folder = daemon::folder("my", SYSTEM_USER);
        let installed = installed();
        let copied = Command::new("cp")
            .args(["--archive", "--reflink=auto"])
            .arg(installed.path().join("data"))
            .arg(folder.path())
            .status();
        assert!(copied.expect("cp runs").success());
        let settings: Vec<String> = settings.iter().map(|&one| one.to_owned()).collect();
        let child = spawn(folder.path(), &settings);
        let mut server = Self { folder, settings, child, _installed: installed };
        server.wait().await;
        server
            .ask(&format!(
                "CREATE DATABASE site CHARACTER SET utf8mb4; \
                 CREATE USER wick IDENTIFIED WITH caching_sha2_password BY '{PASSWORD}'; \
                 GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO wick; \
                 GRANT SELECT ON site.* TO wick; \
                 CREATE USER app@localhost IDENTIFIED WITH caching_sha2_password BY 'app'; \
                 GRANT ALL ON site.* TO app@localhost;"
            ))
            .await;
        Some(server)
    }

    /// The address of the site for `user`.
    pub(crate) fn address(&self, user: &str, password: &str) -> Address {
        Address {
            door: Door::Socket(self.folder.path().join("db")),
            user: user.to_owned(),
            password: Secret::new(password),
            database: "site".to_owned(),
        }
    }

    /// Runs statements as root in `site`, on a connection of their own; what the last
    /// answers, a line a row.
    pub(crate) async fn ask(&self, statements: &str) -> String {
        let answer = self.try_ask(statements).await;
        answer.map_err(|error| format!("{statements}: {error}")).expect("an answer")
    }

    async fn try_ask(&self, statements: &str) -> mysql_async::Result<String> {
        let mut connection = Conn::new(options(&self.address("root", ""))).await?;
        let mut result = connection.query_iter(statements).await?;
        let mut lines = Vec::new();
        while !result.is_empty() {
            let rows: Vec<Row> = result.collect().await?;
            lines = rows.into_iter().map(|row| line(row.unwrap())).collect();
        }
        connection.disconnect().await?;
        Ok(lines.join("\n"))
    }

    /// Ends it as a power cut would.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("the server is ours");
        self.child.wait().expect("it ends");
    }

    /// Starts it again.
    pub(crate) async fn again(&mut self) {
        self.child = spawn(self.folder.path(), &self.settings);
        self.wait().await;
    }

    /// What it is started with from now on.
    pub(crate) fn set(&mut self, settings: Vec<String>) {
        self.settings = settings;
    }

    async fn wait(&mut self) {
        let bound = Instant::now() + START_MAX;
        while let Err(error) = self.try_ask("SELECT 1").await {
            let has_ended = !matches!(self.child.try_wait(), Ok(None));
            let log = || std::fs::read_to_string(self.folder.path().join("log.err"));
            let is_late = has_ended || Instant::now() > bound;
            assert!(!is_late, "the server doesn't start: {error}\n{}", log().unwrap_or_default());
            tokio::time::sleep(PAUSE).await;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn line(row: Vec<Value>) -> String {
    let cells = row.into_iter().map(|cell| match cell {
        Value::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        other => other.as_sql(true),
    });
    cells.collect::<Vec<_>>().join("\t")
}

fn tools() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/mysql")
}

fn program() -> PathBuf {
    tools().join("bin/mysqld")
}

fn installed() -> Arc<TempDir> {
    static INSTALLED: Mutex<Weak<TempDir>> = Mutex::new(Weak::new());
    daemon::installed(&INSTALLED, || {
        let folder = daemon::folder("my", SYSTEM_USER);
        let mut install = command(folder.path());
        install.arg("--initialize-insecure");
        daemon::run(install);
        folder
    })
}

fn command(folder: &Path) -> Command {
    let mut server = daemon::as_its_user(program(), SYSTEM_USER, folder);
    server.arg("--no-defaults").args(SMALL).arg(format!("--user={SYSTEM_USER}"));
    server.arg(format!("--datadir={}", folder.join("data").display()));
    server.arg(format!("--lc-messages-dir={}", tools().join("share").display()));
    server
}

fn spawn(folder: &Path, settings: &[String]) -> Child {
    let mut server = command(folder);
    if !settings.iter().any(|setting| setting.starts_with("--port=")) {
        server.arg("--skip-networking");
    }
    server.arg(format!("--socket={}", folder.join("db").display()));
    server.arg(format!("--pid-file={}", folder.join("pid").display()));
    server.arg(format!("--log-error={}", folder.join("log.err").display()));
    server.args(settings);
    server.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    server.spawn().expect("the server starts")
}
