//! A PostgreSQL that is asked: its settings and statistics.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use changes::{Address, Door, Secret};
use doctor::Machine;
use doctor::apply::{Plan, roll_back};
use doctor::checks::Examination;
use doctor::read::{Options, Root};
use tempfile::TempDir;

use super::{all_found, daemon, examine, find, is_fine, nothing_found, options, root};

/// Where Debian keeps them, by version.
const VERSIONS: &str = "/usr/lib/postgresql";
const SYSTEM_USER: &str = "postgres";
const START_MAX: Duration = Duration::from_secs(60);

/// Checks, and what is wrong for each.
const FAULTS: &[(&str, &str)] = &[
    ("durability", "fsync = off"),
    ("slow_log", "log_min_duration_statement = -1"),
    ("postgres_vacuum", "autovacuum = off, and half of a table's rows dead"),
    ("postgres_planner", "effective_cache_size = 8TB"),
    ("postgres_slots", "a replication slot that nobody reads"),
];

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

    fn tell(&self, statement: &str) {
        let mut client = Command::new("psql");
        client.args(["--username=admin", "--dbname=postgres", "--command", statement, "--host"]);
        daemon::run({
            client.arg(self.folder.path());
            client
        });
    }

    /// Waits until new sessions have this: the server reads its files some time after it was told to.
    fn until(&self, setting: &str, value: &str) {
        let bound = Instant::now() + START_MAX;
        loop {
            let mut client = Command::new("psql");
            client.args(["--username=admin", "--dbname=postgres", "-AtX", "--command"]);
            client.arg(format!("SHOW {setting}")).arg("--host").arg(self.folder.path());
            let output = client.output().expect("the client runs");
            let is = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            if is == value {
                return;
            }
            assert!(Instant::now() < bound, "{setting} is {is}, not {value}");
            std::thread::sleep(Duration::from_millis(20));
        }
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
    // A slot needs wal_level = replica, which is the default.
    let faults = ["fsync=off", "autovacuum=off", "effective_cache_size=8TB"];
    let Some(server) = Server::start(&faults) else { return };
    server.tell("SELECT pg_create_physical_replication_slot('gone', true)");
    server.tell("CREATE TABLE posts AS SELECT g AS id FROM generate_series(1, 20000) g");
    server.tell("UPDATE posts SET id = id + 1");
    let root = root();
    // What a connection changed is counted some time after it ended.
    let bound = Instant::now() + START_MAX;
    let (machine, examination) = loop {
        let (machine, examination) = examine(&server.options(root.path())).await;
        if examination.findings.iter().any(|one| one.subject == "dead rows") {
            break (machine, examination);
        }
        assert!(Instant::now() < bound, "{examination:?} of {:?}", machine.unseen);
    };
    all_found("PostgreSQL", FAULTS, &examination);
    assert_eq!(machine.size("postgres.shared_buffers"), Some(128 << 20));
    assert!(machine.now("postgres.connections").is_some_and(|number| number >= 1.0));
    follow(&server, &server.options(root.path()), &machine, &examination).await;
    for counted in ["checkpoints_timed", "data_bytes", "oldest_xid", "dead_share", "slots_unread"] {
        assert!(machine.now(&format!("postgres.{counted}")).is_some(), "{counted}: {machine:?}");
    }
}

/// What was found is told to the server, and taken back: to what it was told before, or to nothing.
async fn follow(server: &Server, options: &Options, machine: &Machine, found: &Examination) {
    let state = tempfile::tempdir().expect("a folder");
    let root = Root::new(&options.root);
    // It was told something by its owner, who didn't have it read yet.
    server.tell("ALTER SYSTEM SET log_min_duration_statement = '20s'");
    for (id, setting, advised, before) in [
        ("slow_log", "log_min_duration_statement", "1s", "20s"),
        ("postgres_slots", "max_slot_wal_keep_size", "4GB", "-1"),
    ] {
        let finding = find(found, id).expect("it was found");
        let plan = Plan::of(finding, &root).expect("it can be told");
        assert!(plan.difference().contains(&format!("+{setting} = ")), "{}", plan.difference());
        let notes = plan.apply(options, machine, state.path()).await.expect("it is applied");
        assert!(notes.is_empty(), "{notes:?}");
        server.until(setting, advised);
        roll_back(options, machine, state.path()).await.expect("it is taken back");
        server.until(setting, before);
    }
    let durability = find(found, "durability").expect("it was found");
    assert!(Plan::of(durability, &root).is_err());
}

#[tokio::test]
async fn a_tuned_postgresql_is_fine() {
    let tuned =
        ["log_min_duration_statement=1s", "random_page_cost=1.1", "effective_cache_size=64MB"];
    let Some(server) = Server::start(&tuned) else { return };
    let root = root();
    let (machine, examination) = examine(&server.options(root.path())).await;
    let fine = ["durability", "slow_log", "long_transactions", "postgres_vacuum", "postgres_slots"];
    for id in fine {
        assert!(is_fine(&examination, id), "{id}: {:?}", machine.unseen);
    }
    nothing_found("PostgreSQL", &[30..=31, 38..=38, 41..=41, 56..=61], &examination);
}
