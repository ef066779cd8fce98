//! A MariaDB as a package installs it: a folder of settings files, a way to restart it, a
//! root who logs in by the socket; but all in a temporary folder, and on no port.
//!
//! A loop starts it again whenever it ends, as a supervisor does. Both end with the test.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, Weak};

use tempfile::TempDir;

use crate::daemon;
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
        let (folder, installed) = (daemon::folder("db", SYSTEM_USER), installed());
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
    let mut command = daemon::as_its_user("sh", SYSTEM_USER, folder);
    command.args(["-c", &script]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("the supervisor starts")
}

fn installed() -> Arc<TempDir> {
    static INSTALLED: Mutex<Weak<TempDir>> = Mutex::new(Weak::new());
    daemon::installed(&INSTALLED, || {
        let folder = daemon::folder("db", SYSTEM_USER);
        let mut install = daemon::as_its_user(INSTALLER, SYSTEM_USER, folder.path());
        install.args(["--no-defaults", "--skip-test-db", "--innodb-log-file-size=8M"]);
        // As packages do it, where we can be root.
        match is_root() {
            true => install
                .args(["--auth-root-authentication-method=socket", "--auth-root-socket-user=root"]),
            false => install.arg("--auth-root-authentication-method=normal"),
        };
        install.arg(format!("--datadir={}", folder.path().join("data").display()));
        daemon::run(install);
        folder
    })
}
