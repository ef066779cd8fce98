//! A MariaDB for one app: its data in a temporary folder, its door a socket in there.
//!
//! Invariants: 1. It listens on no port, and neither reads nor starts the machine's own.
//! 2. It ends when it is dropped, and when the process that started it is gone.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::folder::at;
use super::{InstallError, require, run};

/// How long it may take until it answers.
const START_MAX: Duration = Duration::from_secs(60);
/// How often it is asked meanwhile.
const PAUSE: Duration = Duration::from_millis(20);
/// The user that the package makes for its servers; root may not run one.
const SYSTEM_USER: &str = "mysql";
const SERVER: &str = "/usr/sbin/mariadbd";
const INSTALLER: &str = "/usr/bin/mariadb-install-db";

/// A running server; dropping it ends it. Its data lie with the app's files.
pub(crate) struct MariaDb {
    child: Child,
    socket: PathBuf,
}

impl MariaDb {
    /// Database, user and password of an app: it is gone in a minute, and on no network.
    pub(crate) const NAME: &str = "site";

    /// Starts one in `folder`, which it makes, with an empty database [`Self::NAME`] and
    /// more `settings`, each as a flag of the server.
    pub(crate) fn start(folder: &Path, settings: &[&str]) -> Result<Self, InstallError> {
        require("mariadb-server", SERVER)?;
        require("mariadb-server", INSTALLER)?;
        make_folder(folder)?;
        let data = folder.join("data");
        let datadir = format!("--datadir={}", data.display());
        // Small files, and none of them waits for the disk: all of it is gone in a minute.
        let small = ["--innodb-log-file-size=8M", "--innodb-flush-method=nosync"];
        let mut install = as_its_user(INSTALLER, folder);
        install.args(["--no-defaults", "--auth-root-authentication-method=normal"]);
        run(install.arg("--skip-test-db").arg(&datadir).args(small))?;
        // A short name: the system allows a socket's path no more than 107 bytes.
        let socket = folder.join("db");
        let mut server = as_its_user(SERVER, folder);
        server.args(["--no-defaults", "--skip-networking", "--innodb-buffer-pool-size=64M"]);
        server.arg(&datadir).args(small).arg("--innodb-flush-log-at-trx-commit=0").args(settings);
        server.arg(format!("--socket={}", socket.display()));
        server.arg(format!("--pid-file={}", folder.join("pid").display()));
        server.arg(format!("--log-error={}", folder.join("log").display()));
        // A group of its own: Ctrl-C is for Wick, who ends it when PHP needs it no more.
        server.process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = at(Path::new(SERVER), server.spawn())?;
        let mut database = Self { child, socket };
        database.wait(folder)?;
        let name = Self::NAME;
        database.ask(&format!(
            "CREATE DATABASE {name} CHARACTER SET utf8mb4; \
             CREATE USER {name}@localhost IDENTIFIED BY '{name}'; \
             GRANT ALL ON {name}.* TO {name}@localhost;"
        ))?;
        Ok(database)
    }

    /// Where it is reached.
    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    /// Its process group.
    pub(crate) fn group(&self) -> u32 {
        self.child.id()
    }

    /// Runs statements as its root.
    pub(crate) fn ask(&self, statements: &str) -> Result<(), InstallError> {
        let failed = |why: String| InstallError::Program("mariadb".into(), why);
        let mut client = Command::new("mariadb")
            .args(["--no-defaults", "--user=root", "--socket"])
            .arg(&self.socket)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        // It may have gone already, with a reason that is read below.
        let _ = client.stdin.take().map(|mut input| input.write_all(statements.as_bytes()));
        let output = client.wait_with_output().map_err(|error| failed(error.to_string()))?;
        if output.status.success() {
            return Ok(());
        }
        Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()))
    }

    fn wait(&mut self, folder: &Path) -> Result<(), InstallError> {
        let bound = Instant::now() + START_MAX;
        while self.ask("SELECT 1;").is_err() {
            let has_ended = !matches!(self.child.try_wait(), Ok(None));
            if has_ended || Instant::now() > bound {
                let log = std::fs::read_to_string(folder.join("log")).unwrap_or_default();
                return Err(InstallError::Program(SERVER.to_owned(), log));
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        // Its data go with it, so there is nothing to put in order first.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder that the server may write and everybody may walk through.
fn make_folder(folder: &Path) -> Result<(), InstallError> {
    let mut make = Command::new("install");
    make.args(["--directory", "--mode=755"]);
    if is_root() {
        make.args(["--owner", SYSTEM_USER, "--group", SYSTEM_USER]);
    }
    run(make.arg(folder)).map(drop)
}

/// A command that ends with us; where we are root it runs as the user of the package.
fn as_its_user(program: &str, folder: &Path) -> Command {
    let mut command = Command::new("setpriv");
    // Ours may be a folder that only we may write.
    command.env("TMPDIR", folder);
    command.args(["--pdeathsig", "KILL"]);
    if is_root() {
        command.args(["--reuid", SYSTEM_USER, "--regid", SYSTEM_USER, "--clear-groups"]);
    }
    command.arg(program);
    command
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
