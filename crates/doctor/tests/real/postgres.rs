//! A PostgreSQL that is asked: its settings and statistics.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use changes::{Address, Door, Secret};
use doctor::read::Options;
use tempfile::TempDir;

use super::{daemon, examine, find, is_fine, options, root};

/// Where Debian keeps them, by version.
const VERSIONS: &str = "/usr/lib/postgresql";
const SYSTEM_USER: &str = "postgres";
const START_MAX: Duration = Duration::from_secs(60);

struct Server {
    folder: TempDir,
    child: Child,
}

fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir(VERSIONS).ok()?.flatten();
    versions.map(|version| version.path().join("bin")).find(|bin| bin.join("initdb").exists())
}

impl Server {
    fn start(settings: &[&str]) -> Option<Self> {
        let Some(programs) = programs() else {
            eprintln!("SKIPPED: postgresql is not installed; scripts/setup test installs it");
            return None;
        };
        let folder = daemon::folder("dpg", SYSTEM_USER);
        let data = folder.path().join("data");
        let mut install = daemon::as_its_user(programs.join("initdb"), SYSTEM_USER, folder.path());
        install.args(["--auth=trust", "--no-sync", "--username=admin", "--pgdata"]).arg(&data);
        daemon::run(install);
        let mut server = daemon::as_its_user(programs.join("postgres"), SYSTEM_USER, folder.path());
        server.arg("-D").arg(&data).arg("-k").arg(folder.path()).args(["-h", ""]);
        server.args(settings.iter().flat_map(|one| ["-c", one]));
        server.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = server.spawn().expect("the server starts");
        let server = Self { folder, child };
        let bound = Instant::now() + START_MAX;
        while !server.answers() {
            assert!(Instant::now() < bound, "the server doesn't start");
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(server)
    }

    fn answers(&self) -> bool {
        let mut client = Command::new("psql");
        client.args(["--username=admin", "--dbname=postgres", "--command=SELECT 1", "--host"]);
        client.arg(self.folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
        client.status().is_ok_and(|status| status.success())
    }

    fn options(&self, root: &Path) -> Options {
        let address = Address {
            door: Door::Socket(self.folder.path().to_owned()),
            user: "admin".into(),
            password: Secret::new(""),
            database: "postgres".into(),
        };
        // Others' MariaDB is left alone.
        let nobody = "mysql://nobody@localhost/?socket=/nowhere".parse().expect("an address");
        Options { postgres: Some(address), ..options(root.into(), Some(nobody)) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn faults_of_a_postgresql_are_found() {
    let Some(server) = Server::start(&["fsync=off"]) else { return };
    let root = root();
    let (machine, examination) = examine(&server.options(root.path())).await;
    for id in ["durability", "slow_log"] {
        assert!(find(&examination, id).is_some(), "{id}: {:?}", machine.unseen);
    }
    assert_eq!(machine.size("postgres.shared_buffers"), Some(128 << 20));
    assert!(machine.now("postgres.connections").is_some_and(|number| number >= 1.0));
    for counted in ["checkpoints_timed", "data_bytes", "oldest_xid", "dead_share", "slots_unread"] {
        assert!(machine.now(&format!("postgres.{counted}")).is_some(), "{counted}: {machine:?}");
    }
}

#[tokio::test]
async fn a_tuned_postgresql_is_fine() {
    let Some(server) = Server::start(&["log_min_duration_statement=1s"]) else { return };
    let root = root();
    let (machine, examination) = examine(&server.options(root.path())).await;
    let fine = ["durability", "slow_log", "long_transactions", "postgres_vacuum", "postgres_slots"];
    for id in fine {
        assert!(is_fine(&examination, id), "{id}: {:?}", machine.unseen);
    }
}
