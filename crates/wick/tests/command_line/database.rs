//! A MariaDB as a package installs it: a folder of settings files, a way to restart it, a
//! root who logs in by the socket; but all in a temporary folder, and on no port.
//!
//! A loop starts it again whenever it ends, as a supervisor does. Both end with the test.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tempfile::TempDir;

use crate::wick::{is_root, until};

const SERVER: &str = "/usr/sbin/mariadbd";
const INSTALLER: &str = "/usr/bin/mariadb-install-db";
/// The user that Debian's package makes; root may not run a server.
const SYSTEM_USER: &str = "mysql";
/// The password of the site's own user, which must show up nowhere.
pub(crate) const PASSWORD: &str = "hush-m4rked-p4ss";

pub(crate) struct Database {
    pub(crate) folder: TempDir,
    supervisor: Child,
    _installed: Arc<TempDir>,
}

impl Database {
    /// A server with a database `site` and a user `app` for it, started with these lines of
    /// settings; none, said aloud, where MariaDB isn't installed.
    pub(crate) fn start(settings: &str) -> Option<Self> {
        if !Path::new(SERVER).exists() || !Path::new(INSTALLER).exists() {
            eprintln!("SKIPPED: mariadb-server is not installed; scripts/setup test installs it");
            return None;
        }
        let (folder, installed) = (folder(), installed());
        let path = folder.path();
        let data = installed.path().join("data");
        let copied = Command::new("cp").arg("--archive").arg(data).arg(path).status();
        assert!(copied.expect("cp runs").success());
        fs::create_dir(path.join("conf.d")).expect("it is our folder");
        fs::set_permissions(path.join("conf.d"), fs::Permissions::from_mode(0o755))
            .expect("it is ours");
        let at = path.display();
        let text = format!(
            "[mysqld]\nskip-networking\ndatadir={at}/data\nsocket={at}/db\npid-file={at}/mysqld.pid\n\
             log-error={at}/log.err\ninnodb-buffer-pool-size=32M\ninnodb-log-file-size=8M\n\
             innodb-flush-method=nosync\n{settings}\n!includedir {at}/conf.d/\n"
        );
        fs::write(path.join("my.cnf"), text).expect("it is our folder");
        fs::write(path.join("run"), "").expect("it is our folder");
        let supervisor = supervise(path);
        let database = Self { folder, supervisor, _installed: installed };
        until("a database", || database.try_ask("SELECT 1").is_ok());
        database.ask(&format!(
            "CREATE DATABASE site; CREATE TABLE site.pages (id INT PRIMARY KEY, title TEXT); \
             CREATE DATABASE other; CREATE TABLE other.pages (id INT PRIMARY KEY); \
             CREATE USER app@localhost IDENTIFIED BY '{PASSWORD}'; \
             GRANT ALL ON site.* TO app@localhost; GRANT ALL ON other.* TO app@localhost"
        ));
        Some(database)
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("db")
    }

    /// The folder of settings files that it reads.
    pub(crate) fn settings_folder(&self) -> PathBuf {
        self.folder.path().join("conf.d")
    }

    /// What restarts it: the loop starts what was ended. `mariadb-admin shutdown` would wait
    /// until the file with the process id is gone, which the next server makes at once.
    pub(crate) fn restart_command(&self) -> String {
        let socket = self.socket();
        format!("mariadb --no-defaults --user=root --socket={} -e SHUTDOWN", socket.display())
    }

    /// Runs statements as root; what they answer.
    pub(crate) fn ask(&self, statements: &str) -> String {
        self.try_ask(statements).expect("an answer")
    }

    pub(crate) fn try_ask(&self, statements: &str) -> Result<String, String> {
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
}

impl Drop for Database {
    fn drop(&mut self) {
        let server = fs::read_to_string(self.folder.path().join("mysqld.pid"));
        let _ = self.supervisor.kill();
        let _ = self.supervisor.wait();
        // The server ends with it, and its files can go when it has.
        if let Ok(server) = server {
            let process = Path::new("/proc").join(server.trim());
            until("the end of the database", || !is_server(&process));
        }
    }
}

fn is_server(process: &Path) -> bool {
    fs::read_to_string(process.join("cmdline")).is_ok_and(|line| line.contains("mariadbd"))
}

fn supervise(folder: &Path) -> Child {
    let at = folder.display();
    let script = format!(
        "while [ -e {at}/run ]; do setpriv --pdeathsig KILL {SERVER} --defaults-file={at}/my.cnf; \
         sleep 0.05; done"
    );
    let mut command = as_its_user("sh", folder);
    command.args(["-c", &script]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("the supervisor starts")
}

/// Data that were installed once, for every server to begin with. They go with the last
/// of the servers.
fn installed() -> Arc<TempDir> {
    static INSTALLED: Mutex<Weak<TempDir>> = Mutex::new(Weak::new());
    let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(folder) = installed.upgrade() {
        return folder;
    }
    let folder = Arc::new(folder());
    let mut install = as_its_user(INSTALLER, folder.path());
    install.args(["--no-defaults", "--skip-test-db", "--innodb-log-file-size=8M"]);
    // As packages do it, where we can be root.
    match is_root() {
        true => install
            .args(["--auth-root-authentication-method=socket", "--auth-root-socket-user=root"]),
        false => install.arg("--auth-root-authentication-method=normal"),
    };
    install.arg(format!("--datadir={}", folder.path().join("data").display()));
    let output = install.output().expect("the installer runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    *installed = Arc::downgrade(&folder);
    folder
}

/// A folder that the server may write and everybody may walk through. Its name is
/// short: the system allows a socket's path no more than 107 bytes.
fn folder() -> TempDir {
    let folder = TempDir::with_prefix("db").expect("a temporary folder");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
    if is_root() {
        let number = |flag: &str| {
            let output = Command::new("id").args([flag, SYSTEM_USER]).output().expect("id runs");
            let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            text.parse::<u32>().expect("the package made the user")
        };
        chown(folder.path(), Some(number("--user")), Some(number("--group"))).expect("we are root");
    }
    folder
}

/// A command that ends with us; where we are root it runs as the user of the package.
fn as_its_user(program: &str, folder: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.env("TMPDIR", folder).args(["--pdeathsig", "KILL"]);
    if is_root() {
        command.args(["--reuid", SYSTEM_USER, "--regid", SYSTEM_USER, "--clear-groups"]);
    }
    command.arg(program);
    command
}
