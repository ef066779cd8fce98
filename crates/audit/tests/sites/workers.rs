//! Audits whose pages are fetched and tested by workers: in other processes, of which one is
//! killed, and with a coordinator that is.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use crate::interrupted::{site, told};
use crate::server::{Served, audited, plan};
use audit::{Crew, Door, JoinError, Live, Report, Worker, WorkersToken, run};
use tokio::runtime::{Builder, Runtime};
use url::Url;

/// The name of the environment's variable that makes a process a worker, or a coordinator.
const ROLE: &str = "AUDIT_ROLE";
/// How often who waits looks.
const LOOK: Duration = Duration::from_millis(10);

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// A process of its own that plays `test` in a role.
fn process(test: &str, role: &str) -> Child {
    let own = std::env::current_exe().expect("it runs");
    let mut process = Command::new(own);
    process.args(["--exact", test]).env(ROLE, role).stdout(Stdio::null());
    process.spawn().expect("it runs again")
}

fn role() -> Option<Vec<String>> {
    let role = std::env::var(ROLE).ok()?;
    Some(role.split(' ').map(str::to_owned).collect())
}

fn coordinator(address: SocketAddr) -> Url {
    Url::parse(&format!("http://{address}/")).expect("an address")
}

fn worker(address: SocketAddr, token: &Path) -> Worker {
    let token = WorkersToken::read(token).expect("a token");
    Worker::new(coordinator(address), token).expect("TLS can be set up")
}

/// Waits until so many have joined.
fn wait_for_workers(crew: &Crew, count: usize) {
    while crew.workers() != count {
        std::thread::park_timeout(LOOK);
    }
}

struct Stage {
    served: Served,
    state: tempfile::TempDir,
    token: PathBuf,
}

impl Stage {
    fn new(holds_after: usize) -> Self {
        let state = tempfile::tempdir().expect("a folder");
        let token = state.path().join("token");
        WorkersToken::read_or_make(&token).expect("a token");
        Self { served: Served::begin(site(Some(holds_after))), state, token }
    }

    fn door(&self, runtime: &Runtime, address: SocketAddr) -> Door {
        let token = WorkersToken::read(&self.token).expect("a token");
        runtime.block_on(Door::open(address, token)).expect("it listens")
    }

    fn audited(&self, runtime: &Runtime, crew: &Arc<Crew>) -> Report {
        let live = Live::with(Arc::clone(crew));
        let plan = plan(&self.served, self.state.path());
        runtime.block_on(run(&plan, &live)).expect("TLS can be set up")
    }

    /// The report is that of an audit in one process; how many addresses that asked for.
    fn is_as_embedded(&self, report: &Report) -> usize {
        let fresh = tempfile::tempdir().expect("a folder");
        let before = self.served.asked().len();
        let whole = audited(&plan(&self.served, fresh.path()), &Live::default());
        assert!(whole.sites[0].is_whole && whole.totals.errors > 0);
        assert_eq!(told(report), told(&whole));
        self.served.asked().len() - before
    }
}

fn anywhere() -> SocketAddr {
    "127.0.0.1:0".parse().expect("an address")
}

#[test]
fn one_of_two_workers_is_killed_and_the_report_is_that_of_one_process() {
    if let Some(role) = role() {
        let address = role[0].parse().expect("an address");
        let ended = runtime().block_on(worker(address, Path::new(&role[1])).work());
        assert!(ended.is_ok(), "{ended:?}");
        return;
    }
    let stage = Stage::new(12);
    let runtime = runtime();
    let door = stage.door(&runtime, anywhere());
    let name = "workers::one_of_two_workers_is_killed_and_the_report_is_that_of_one_process";
    let role = format!("{} {}", door.address(), stage.token.display());
    let mut first = process(name, &role);
    let (crew, served) = (Arc::clone(door.crew()), &stage.served);
    let (report, mut second) = std::thread::scope(|scope| {
        let playing = scope.spawn(|| {
            // What is held now, only the first worker can have asked for.
            served.wait_for(13, || {
                assert_eq!(first.try_wait().expect("it is ours"), None, "it ended by itself");
            });
            let second = process(name, &role);
            wait_for_workers(&crew, 2);
            first.kill().expect("it is killed");
            first.wait().expect("it is gone");
            served.release();
            second
        });
        let report = stage.audited(&runtime, door.crew());
        (report, playing.join().expect("it is played"))
    });
    stage.is_as_embedded(&report);
    assert_eq!(door.crew().workers(), 1);
    runtime.block_on(door.close());
    assert!(second.wait().expect("it ends").success(), "it was told that all is done");
}

#[test]
fn a_killed_coordinator_goes_on_where_it_was_and_its_worker_comes_back() {
    if let Some(role) = role() {
        let served = Served::elsewhere(&role[0]);
        let token = WorkersToken::read(Path::new(&role[3])).expect("a token");
        let address = role[1].parse().expect("an address");
        runtime().block_on(async {
            let door = Door::open(address, token).await.expect("it listens");
            let live = Live::with(Arc::clone(door.crew()));
            run(&plan(&served, Path::new(&role[2])), &live).await.expect("it is audited");
        });
        unreachable!("nobody answers all of it");
    }
    let stage = Stage::new(40);
    // An address of this machine of which nobody else is given ports.
    let own = TcpListener::bind("127.0.83.7:0").expect("loopback has a port");
    let address = own.local_addr().expect("it is bound");
    drop(own);
    let role = format!(
        "{} {address} {} {}",
        stage.served.url(),
        stage.state.path().display(),
        stage.token.display()
    );
    let name = "workers::a_killed_coordinator_goes_on_where_it_was_and_its_worker_comes_back";
    let mut victim = process(name, &role);
    while TcpStream::connect(address).is_err() {
        assert_eq!(victim.try_wait().expect("it is ours"), None, "it ended by itself");
        std::thread::park_timeout(LOOK);
    }
    let worker = Arc::new(worker(address, &stage.token));
    let working = Arc::clone(&worker);
    let working = std::thread::spawn(move || runtime().block_on(working.work()));
    stage.served.wait_for(41, || {
        assert_eq!(victim.try_wait().expect("it is ours"), None, "it ended by itself");
    });
    victim.kill().expect("it is killed");
    victim.wait().expect("it is gone");
    let (before, done) = (stage.served.asked().len(), worker.done());
    assert!(done > 0, "its outcomes were counted");
    stage.served.release();
    let runtime = runtime();
    let door = stage.door(&runtime, address);
    let report = stage.audited(&runtime, door.crew());
    let asked = stage.served.asked().len() - before;
    runtime.block_on(door.close());
    let ended = working.join().expect("it works");
    assert!(ended.is_ok(), "{ended:?}");
    assert!(worker.done() > done);
    let all = stage.is_as_embedded(&report);
    assert!(asked < all, "{asked} of {all} were asked for");
}

/// The status of an answer, and what it says.
fn ask(address: SocketAddr, path: &str, fields: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let request = format!("POST {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n{fields}\r\n");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    (head[9..12].to_owned(), body.to_owned())
}

#[test]
fn who_has_another_token_or_version_or_comes_late_is_turned_away_with_a_reason() {
    let stage = Stage::new(0);
    let runtime = runtime();
    let door = stage.door(&runtime, anywhere());
    let other = stage.state.path().join("other");
    WorkersToken::read_or_make(&other).expect("a token");
    let ended = runtime.block_on(worker(door.address(), &other).work());
    let Err(JoinError::Refused(_, told)) = ended else { panic!("{ended:?}") };
    assert!(told.contains("token") && told.contains("401"), "{told}");
    assert!(!told.contains(std::fs::read_to_string(&other).expect("a file").trim()));

    let token = std::fs::read_to_string(&stage.token).expect("a file");
    let shown = format!("authorization: Bearer {}\r\n", token.trim());
    let own = concat!("wick-audit-version: ", env!("CARGO_PKG_VERSION"), "/3\r\n");
    for (path, fields, status, word) in [
        ("/take", String::new(), "401", "token"),
        ("/done/1", own.to_owned(), "401", "token"),
        ("/take", shown.clone(), "426", "same version"),
        ("/take", format!("{shown}wick-audit-version: 0.0.1/1\r\n"), "426", "same version"),
        ("/done/1", format!("{shown}{own}"), "409", "isn't counted"),
        ("/", format!("{shown}{own}"), "404", "/take"),
    ] {
        let (address, asked) = (door.address(), fields.clone());
        let asking =
            async { tokio::task::spawn_blocking(move || ask(address, path, &asked)).await };
        let (got, told) = runtime.block_on(asking).expect("it is answered");
        assert_eq!(got, status, "{path} {fields}: {told}");
        assert!(told.contains(word), "{told}");
    }
    assert_eq!(door.crew().workers(), 0);
    assert_eq!(door.crew().late(), 1);

    let address = door.address();
    runtime.block_on(door.close());
    let ended = runtime.block_on(worker(address, &stage.token).work());
    assert!(matches!(ended, Err(JoinError::Unreachable(..))), "{ended:?}");
}
