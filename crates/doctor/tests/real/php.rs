//! A php-fpm that is asked over its own socket.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use doctor::apply::{Plan, roll_back};
use doctor::checks::Examination;
use doctor::read::{Options, Root};
use doctor::{Keeper, Machine};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use wire::fastcgi::{Kind, close_stream, encode_param, write_begin, write_stream};

use super::{all_found, daemon, examine, find, is_fine, nothing_found, options, root};

const SYSTEM_USER: &str = "www-data";
const START_MAX: Duration = Duration::from_secs(30);

struct Fpm {
    root: TempDir,
    run: TempDir,
    child: Child,
}

fn program() -> Option<PathBuf> {
    let names = std::fs::read_dir("/usr/sbin").ok()?.flatten().map(|entry| entry.path());
    names.into_iter().find(|path| path.to_string_lossy().contains("/php-fpm8"))
}

impl Fpm {
    /// One whose pool says this, with these settings of php.ini.
    fn start(pool: &str, ini: &[&str]) -> Option<Self> {
        Self::start_by("etc/php/8.2/fpm/php-fpm.conf", pool, ini)
    }

    /// One with a file of its own, as a Wick's is, with its pool in it.
    fn start_as_wick(pool: &str, ini: &[&str]) -> Option<Self> {
        Self::start_by("run/wick/php-fpm.conf", pool, ini)
    }

    fn start_by(main: &str, pool: &str, ini: &[&str]) -> Option<Self> {
        let Some(program) = program() else {
            eprintln!("SKIPPED: php-fpm is not installed; scripts/setup test installs it");
            return None;
        };
        let root = root();
        let run = daemon::folder("fpm", SYSTEM_USER);
        let socket = run.path().join("s");
        let main = root.path().join(main);
        let home = main.parent().expect("a folder");
        let folder = home.join("pool.d");
        std::fs::create_dir_all(&folder).expect("a folder");
        // The name is this test's alone: children of others bear theirs.
        let name = run.path().file_name().and_then(|name| name.to_str()).expect("a name");
        let user = match rustix::process::geteuid().is_root() {
            true => "user = www-data\ngroup = www-data\n",
            false => "",
        };
        let text = format!("[{name}]\n{user}listen = {}\n{pool}", socket.display());
        let global = format!("[global]\nerror_log = {}\n", run.path().join("log").display());
        if home.ends_with("wick") {
            let text = format!("; Written by wick at every start.\n{global}{text}");
            std::fs::write(&main, text).expect("a file");
        } else {
            std::fs::write(folder.join("www.conf"), text).expect("a file");
            let include = format!("{global}include = {}/*.conf\n", folder.display());
            std::fs::write(&main, include).expect("a file");
        }
        let mut fpm = Command::new("setpriv");
        fpm.args(["--pdeathsig", "TERM"]).arg(program).args(["--nodaemonize", "--fpm-config"]);
        fpm.arg(&main);
        fpm.args(ini.iter().flat_map(|one| ["-d", one]));
        fpm.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = fpm.spawn().expect("php-fpm starts");
        let bound = Instant::now() + START_MAX;
        while UnixStream::connect(&socket).is_err() {
            assert!(Instant::now() < bound, "php-fpm doesn't start");
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(Self { root, run, child })
    }
}

impl Drop for Fpm {
    /// Asked to end, it ends its children first; killed, it leaves them.
    fn drop(&mut self) {
        if kill_process(Pid::from_child(&self.child), Signal::TERM).is_err() {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

const TUNED: &str = "pm = static\npm.max_children = 2\nslowlog = /dev/null\n\
    request_slowlog_timeout = 5s\nrequest_terminate_timeout = 60s\npm.status_path = /status\n";

/// Checks, and what is wrong for each.
const FAULTS: &[(&str, &str)] = &[
    ("opcache", "opcache.enable = 0"),
    ("pool_mode", "pm = dynamic for the only pool"),
    ("slow_requests", "neither logged nor ended"),
    ("max_requests", "pm.max_requests = 20"),
    ("pool_socket", "listen.backlog = 65535, which somaxconn cuts"),
];

/// Its own MariaDB isn't of interest here, and others' are left alone.
fn nobody(root: &Path) -> Options {
    let address = "mysql://nobody@localhost/?socket=/nowhere".parse().expect("an address");
    options(root.into(), Some(address))
}

#[tokio::test]
async fn a_tuned_php_fpm_is_fine() {
    let Some(fpm) = Fpm::start(TUNED, &["opcache.enable=1"]) else { return };
    let judged = [
        "opcache",
        "opcache_keys",
        "opcache_waste",
        "pool_mode",
        "pool_saturated",
        "slow_requests",
        "realpath_cache",
        "xdebug",
    ];
    let all = |examination: &Examination| judged.iter().all(|id| is_fine(examination, id));
    let (machine, examination) = examine_until(&nobody(fpm.root.path()), all).await;
    assert_eq!(machine.set("php.asked"), Some("1"), "{:?}", machine.unseen);
    nothing_found("php-fpm", &[7..=24], &examination);
}

/// What Wick writes, but for its opcode cache, which its php.ini turns off.
const WICKS: &str = "listen.backlog = 1024\npm = static\npm.max_children = 2\n\
    pm.max_requests = 5000\npm.status_path = /wick-status\nrequest_terminate_timeout = 300s\n";

#[tokio::test]
async fn a_php_fpm_that_a_wick_started_is_judged_and_nothing_is_written_beside_it() {
    let Some(fpm) = Fpm::start_as_wick(WICKS, &["opcache.enable=0"]) else { return };
    let judged = |examination: &Examination| {
        let fine =
            ["pool_mode", "pool_saturated", "slow_requests", "pool_socket", "children_by_memory"];
        find(examination, "opcache").is_some() && fine.iter().all(|id| is_fine(examination, id))
    };
    let (machine, examination) = examine_until(&nobody(fpm.root.path()), judged).await;
    let [pool] = machine.pools.as_slice() else { panic!("{:?}", machine.pools) };
    assert_eq!(
        (pool.keeper, pool.version.as_str()),
        (Some(Keeper::Wick), "/run/wick/php-fpm.conf")
    );
    let master = rustix::process::Pid::from_child(&fpm.child).as_raw_nonzero().get();
    assert_eq!(pool.master, Some(master as u32));
    assert!(machine.now(&pool.counter("accepted conn")).is_some(), "{:?}", machine.unseen);
    assert!(machine.child_bytes(pool).is_some());
    let found = find(&examination, "opcache").expect("it was found");
    assert_eq!(found.fix.changes, []);
    assert!(found.fix.words.contains("opcache.enable = 1 in the php.ini"), "{found:?}");
    assert!(Plan::of(found, &Root::new(fpm.root.path())).is_err(), "there is nothing to write");
}

/// Looks until it is as it is to be, or long enough.
async fn examine_until(
    options: &Options,
    is_it: impl Fn(&Examination) -> bool,
) -> (Machine, Examination) {
    let bound = Instant::now() + START_MAX;
    loop {
        let (machine, examination) = examine(options).await;
        if is_it(&examination) {
            return (machine, examination);
        }
        assert!(Instant::now() < bound, "{examination:?} of {:?}", machine.unseen);
    }
}

impl Fpm {
    /// Has a child run this code, from a file in its folder; what it prints, with its fields.
    fn run(&self, code: &str) -> String {
        let file = self.run.path().join("page.php");
        if std::fs::read_to_string(&file).ok().as_deref() != Some(code) {
            std::fs::write(&file, code).expect("a file");
        }
        let path = file.display().to_string();
        let mut params = Vec::new();
        for (name, value) in [("REQUEST_METHOD", "GET"), ("SCRIPT_FILENAME", path.as_str())] {
            encode_param(&mut params, name.as_bytes(), value.as_bytes());
        }
        let mut out = Vec::new();
        write_begin(&mut out, false);
        write_stream(&mut out, Kind::Params, &params);
        close_stream(&mut out, Kind::Params);
        close_stream(&mut out, Kind::Stdin);
        let mut stream = UnixStream::connect(self.run.path().join("s")).expect("it listens");
        stream.write_all(&out).expect("it reads");
        let mut said = Vec::new();
        stream.read_to_end(&mut said).expect("it answers");
        String::from_utf8_lossy(&said).into_owned()
    }

    /// What a check says while requests for this code come in, once there were enough of them.
    fn under(&self, code: &str, id: &str) -> (Option<doctor::Finding>, Option<String>) {
        let is_over = AtomicBool::new(false);
        let options = nobody(self.root.path());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Relaxed) {
                    self.run(code);
                }
            });
            let looking = scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                let (runtime, bound) = (runtime.expect("a runtime"), Instant::now() + START_MAX);
                let mut options = options;
                loop {
                    options.window = (options.window * 2).max(Duration::from_millis(200));
                    let (_, examination) = runtime.block_on(examine(&options));
                    let fine = examination.fine.iter().find(|one| one.id == id);
                    let fine = fine.map(|one| one.because.clone());
                    let found = find(&examination, id).cloned();
                    if found.is_some() || fine.is_some() || Instant::now() > bound {
                        return (found, fine);
                    }
                }
            });
            let said = looking.join();
            is_over.store(true, Relaxed);
            said.expect("no panic")
        })
    }
}

#[test]
fn children_that_grow_are_told_from_those_that_do_not() {
    let one = TUNED.replace("max_children = 2", "max_children = 1");
    let Some(fpm) = Fpm::start(&one, &["opcache.enable=1", "ffi.enable=1"]) else { return };
    let page = "<?php echo str_repeat('page ', 1000);";
    (0..120).for_each(|_| drop(fpm.run(page)));
    let (found, fine) = fpm.under(page, "max_requests");
    assert!(found.is_none() && fine.is_some(), "{found:?}");

    // 64 KiB of each request stay.
    let leak = "<?php $kept = FFI::new('char[65536]', false, true); FFI::memset($kept, 1, 65536);\n\
        echo 'leaked';";
    assert!(fpm.run(leak).contains("leaked"), "{}", fpm.run(leak));
    let (found, fine) = fpm.under(leak, "max_requests");
    let found = found.unwrap_or_else(|| panic!("it isn't found: {fine:?}"));
    let change = found.fix.changes.first().expect("a change");
    assert_eq!(change.name, "pm.max_requests");
    assert!((100..=10_000).contains(&change.new.parse::<u64>().expect("a number")), "{change}");
}

#[tokio::test]
async fn faults_of_a_php_fpm_are_found_and_written_where_it_reads_them() {
    let pool = "pm = dynamic\npm.max_children = 2\npm.start_servers = 1\n\
        pm.min_spare_servers = 1\npm.max_spare_servers = 1\npm.max_requests = 20\n\
        listen.backlog = 65535\npm.status_path = /status\n";
    let Some(fpm) = Fpm::start(pool, &["opcache.enable=0"]) else { return };
    let options = nobody(fpm.root.path());
    // A child that has just begun bears no title yet, and a busy machine lets it answer late.
    let all =
        |examination: &Examination| FAULTS.iter().all(|(id, _)| find(examination, id).is_some());
    let (machine, examination) = examine_until(&options, all).await;
    all_found("php-fpm", FAULTS, &examination);
    let state = tempfile::tempdir().expect("a folder");
    let finding = find(&examination, "pool_mode").expect("it was found");
    let plan = Plan::of(finding, &Root::new(fpm.root.path())).expect("it can be written");
    let master = rustix::process::Pid::from_child(&fpm.child);
    // php-fpm's master is found by its title, which bears the path of its file.
    assert!(machine.processes.iter().any(|one| one.pid as i32 == master.as_raw_nonzero().get()));
    plan.apply(&options, &machine, state.path()).await.expect("it is applied");
    let written = fpm.root.path().join("etc/php/8.2/fpm/pool.d/zz-wick-doctor.conf");
    assert!(std::fs::read_to_string(&written).expect("a file").contains("pm = static\n"));
    let bound = Instant::now() + START_MAX;
    loop {
        let (machine, again) = examine(&options).await;
        // While it is reloaded it may be seen without a title.
        let title = machine.pools.first().map(|pool| format!("php-fpm: pool {}", pool.name));
        let is_child = |one: &&doctor::Process| Some(&one.title) == title.as_ref();
        let children = machine.processes.iter().filter(is_child).count();
        if children == 2 && machine.set("php.asked").is_some() && is_fine(&again, "pool_mode") {
            roll_back(&options, &machine, state.path()).await.expect("it is taken back");
            break;
        }
        assert!(Instant::now() < bound, "php-fpm doesn't come back");
    }
    assert!(!written.exists());

    // What it wouldn't start with is refused before it is told, and taken back.
    let mut wrong = finding.clone();
    wrong.fix.changes[0].new = "sideways".into();
    let plan = Plan::of(&wrong, &Root::new(fpm.root.path())).expect("it can be written");
    let refused = plan.apply(&options, &machine, state.path()).await.expect_err("no such mode");
    assert!(refused.to_string().contains("it was taken back"), "{refused}");
    assert!(!written.exists());
}
