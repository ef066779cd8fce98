//! A MariaDB that is asked, changed and changed back.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use changes::{Address, Door, Secret};
use doctor::apply::{Plan, Pulse, roll_back, watch};
use doctor::read::Root;
use tempfile::TempDir;

use super::{all_found, daemon, examine, find, is_fine, nothing_found, options, root};

const SERVER: &str = "/usr/sbin/mariadbd";
const INSTALLER: &str = "/usr/bin/mariadb-install-db";
const SYSTEM_USER: &str = "mysql";
const START_MAX: Duration = Duration::from_secs(60);

struct Server {
    folder: TempDir,
    child: Child,
}

impl Server {
    fn start(settings: &[&str]) -> Option<Self> {
        if !Path::new(SERVER).exists() || !Path::new(INSTALLER).exists() {
            eprintln!("SKIPPED: mariadb-server is not installed; scripts/setup test installs it");
            return None;
        }
        let folder = daemon::folder("doc", SYSTEM_USER);
        let datadir = format!("--datadir={}", folder.path().join("data").display());
        let small = ["--innodb-log-file-size=8M", "--innodb-flush-method=nosync"];
        let mut install = daemon::as_its_user(INSTALLER, SYSTEM_USER, folder.path());
        install.args(["--no-defaults", "--auth-root-authentication-method=normal"]);
        daemon::run({
            install.arg("--skip-test-db").args(small).arg(&datadir);
            install
        });
        let mut server = daemon::as_its_user(SERVER, SYSTEM_USER, folder.path());
        server.args(["--no-defaults", "--skip-networking", "--innodb-buffer-pool-size=32M"]);
        server.args(small).arg(&datadir).args(settings);
        server.arg(format!("--socket={}", folder.path().join("db").display()));
        server.arg(format!("--pid-file={}", folder.path().join("pid").display()));
        server.arg(format!("--log-error={}", folder.path().join("log.err").display()));
        server.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = server.spawn().expect("the server starts");
        let server = Self { folder, child };
        let bound = Instant::now() + START_MAX;
        while server.ask("SELECT 1").is_none() {
            assert!(Instant::now() < bound, "the server doesn't start");
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(server)
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("db")
    }

    fn address(&self) -> Address {
        Address {
            door: Door::Socket(self.socket()),
            user: "root".into(),
            password: Secret::new(""),
            database: String::new(),
        }
    }

    fn ask(&self, statement: &str) -> Option<String> {
        let mut client = Command::new("mariadb");
        client.args(["--no-defaults", "--batch", "--skip-column-names", "--user=root", "--socket"]);
        let output = client.arg(self.socket()).args(["--execute", statement]).output();
        let output = output.expect("the client runs");
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const TUNED: &[&str] = &[
    "--slow-query-log=ON",
    "--long-query-time=1",
    "--log-slow-verbosity=query_plan,explain",
    "--innodb-io-capacity=2000",
    "--innodb-flush-log-at-trx-commit=1",
];

/// Checks, and what is wrong for each.
const FAULTS: &[(&str, &str)] = &[
    ("query_cache", "query_cache_type = ON with 64 MB"),
    ("myisam", "a table of a site is MyISAM"),
    ("slow_log", "off, and from 10 s on"),
    ("durability", "innodb_flush_log_at_trx_commit = 0"),
    ("binlog_expiry", "a binary log that is kept for ever"),
    ("connections", "all 10 of max_connections were in use"),
    ("thread_cache", "thread_cache_size = 0, and 110 connections"),
    ("temporary_tables", "tmp_table_size above max_heap_table_size"),
];
const CHECKED: &[&str] = &["query_cache", "myisam", "slow_log", "durability", "binlog_expiry"];

#[tokio::test]
async fn a_tuned_mariadb_is_fine() {
    let Some(server) = Server::start(TUNED) else { return };
    let root = root();
    let (_, examination) = examine(&options(root.path().into(), Some(server.address()))).await;
    for id in CHECKED {
        assert!(is_fine(&examination, id), "{id}: {:?}", find(&examination, id));
    }
    nothing_found("MariaDB", &[25..=42], &examination);
}

/// Opens so many connections, one after the other or all at once.
async fn connect(server: &Server, times: usize, at_once: bool) {
    let mut held = Vec::new();
    for _ in 0..times {
        let options = mysql_async::OptsBuilder::default()
            .user(Some("root"))
            .socket(Some(server.socket().display().to_string()));
        let connection = mysql_async::Conn::new(options).await.expect("a connection");
        match at_once {
            true => held.push(connection),
            false => connection.disconnect().await.expect("it ends"),
        }
    }
    for connection in held {
        connection.disconnect().await.expect("it ends");
    }
}

#[tokio::test]
async fn tables_that_take_each_others_places_are_found_and_our_own_look_is_no_load() {
    let few = ["--table-open-cache=10", "--table-open-cache-instances=1", "--sync-frm=OFF"];
    let Some(server) = Server::start(&few) else { return };
    let tables = |statement: &dyn Fn(u32) -> String| -> String { (0..30).map(statement).collect() };
    server.ask("CREATE DATABASE site");
    let made = server.ask(&tables(&|n| format!("CREATE TABLE site.t{n} (id INT) ENGINE=MyISAM;")));
    assert!(made.is_some());
    let root = root();
    let options = options(root.path().into(), Some(server.address()));
    let (machine, examination) = examine(&options).await;
    assert_eq!(machine.set("mysql.fact.myisam_tables"), Some("30"));
    assert!(machine.size("mysql.fact.innodb_bytes").is_some_and(|bytes| bytes > 1 << 20));
    assert_eq!(machine.grown("mysql.Opened_tables"), Some(0.0), "we opened tables ourselves");
    assert!(is_fine(&examination, "table_caches"), "{:?}", find(&examination, "table_caches"));
    assert!(is_fine(&examination, "temporary_files"), "{:?}", machine.unseen);

    let is_over = AtomicBool::new(false);
    let queries = tables(&|n| format!("SELECT COUNT(*) FROM site.t{n};"));
    let mut wide = options;
    wide.window = Duration::from_millis(500);
    let found = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Relaxed) {
                server.ask(&queries);
            }
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime");
        let bound = Instant::now() + START_MAX;
        // Another thread, since ours is within a runtime already.
        let looking = scope.spawn(move || {
            loop {
                let (_, examination) = runtime.block_on(examine(&wide));
                match find(&examination, "table_caches") {
                    Some(found) => return Some(found.clone()),
                    None if Instant::now() > bound => return None,
                    None => (),
                }
            }
        });
        let found = looking.join().expect("no panic");
        is_over.store(true, Relaxed);
        found.expect("it is found")
    });
    let changed = found.fix.changes.first().expect("a change");
    assert_eq!((changed.name.as_str(), changed.new.as_str()), ("table_open_cache", "20"));
}

#[tokio::test]
async fn a_database_that_stops_answering_ends_the_watch() {
    let Some(mut server) = Server::start(TUNED) else { return };
    let root = root();
    let options = options(root.path().into(), Some(server.address()));
    let (machine, _) = examine(&options).await;
    let before = Pulse::of(&machine, None);
    assert!(before.has_database);
    server.child.kill().expect("it is ours");
    server.child.wait().expect("it ends");
    // It ends by what it sees, long before its time.
    let why = watch(before, &options, Duration::from_secs(600), || None).await;
    assert_eq!(why.as_deref(), Some("the database doesn't answer any more"));
}

#[tokio::test]
async fn faults_of_a_mariadb_are_found_applied_and_taken_back() {
    let faults = [
        "--query-cache-type=ON",
        "--query-cache-size=64M",
        "--innodb-flush-log-at-trx-commit=0",
        "--log-bin=log",
        "--server-id=1",
        "--long-query-time=10",
        "--max-connections=10",
        "--thread-cache-size=0",
        "--tmp-table-size=64M",
        "--max-heap-table-size=16M",
    ];
    let Some(server) = Server::start(&faults) else { return };
    server.ask("CREATE DATABASE site; CREATE TABLE site.old (id INT) ENGINE=MyISAM");
    let root = root();
    let folder = root.path().join("etc/mysql/mariadb.conf.d");
    std::fs::create_dir_all(&folder).expect("a folder");
    let options = options(root.path().into(), Some(server.address()));
    connect(&server, 9, true).await;
    connect(&server, 110, false).await;
    let (machine, examination) = examine(&options).await;
    all_found("MariaDB", FAULTS, &examination);

    let state = tempfile::tempdir().expect("a folder");
    let finding = find(&examination, "slow_log").expect("it was found");
    let plan = Plan::of(finding, &Root::new(root.path())).expect("it can be written");
    let shown = plan.difference();
    assert!(shown.contains("+++ /etc/mysql/mariadb.conf.d/zz-wick-doctor.cnf"), "{shown}");
    assert!(shown.contains("+long_query_time = 1\n"), "{shown}");
    let notes = plan.apply(&options, &machine, state.path()).await.expect("it is applied");
    assert!(notes.is_empty(), "{notes:?}");
    let asked = "SELECT @@slow_query_log, @@long_query_time";
    assert_eq!(server.ask(asked).as_deref(), Some("1\t1.000000"));
    let (machine, again) = examine(&options).await;
    assert!(is_fine(&again, "slow_log"), "a second run has nothing to say");

    roll_back(&options, &machine, state.path()).await.expect("it is taken back");
    assert_eq!(server.ask(asked).as_deref(), Some("0\t10.000000"));
    assert!(!folder.join("zz-wick-doctor.cnf").exists());
    let error = roll_back(&options, &machine, state.path()).await.expect_err("nothing is left");
    assert!(error.to_string().contains("no snapshot"), "{error}");
    let durability = find(&examination, "durability").expect("it was found");
    assert!(Plan::of(durability, &Root::new(root.path())).is_err());
}
