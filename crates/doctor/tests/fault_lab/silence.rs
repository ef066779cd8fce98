//! Servers that accept and say nothing: a look ends all the same, and says whom it didn't hear.

use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::{Arc, Barrier};
use std::time::Duration;

use doctor::Machine;
use doctor::read::{Options, look};

/// Longer than any look takes, however busy this machine is.
const BOUND: Duration = Duration::from_secs(60);

/// A tree with a php-fpm of two pools, and where they, a MariaDB and a PostgreSQL listen.
struct Silent {
    folder: tempfile::TempDir,
    listeners: Vec<UnixListener>,
}

impl Silent {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        let put = |path: &str, text: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        };
        let at = |name: &str| root.join(name).display().to_string();
        put("proc/meminfo", "MemTotal: 1000000 kB\nMemAvailable: 900000 kB\n");
        put("proc/100/comm", "php-fpm8.2\n");
        let main = at("etc/php/8.2/fpm/php-fpm.conf");
        put("proc/100/cmdline", &format!("php-fpm: master process ({main})"));
        for pool in ["a", "b"] {
            let text = format!("[{pool}]\nlisten = {}\npm.status_path = /status\n", at(pool));
            put(&format!("etc/php/8.2/fpm/pool.d/{pool}.conf"), &text);
        }
        let names = ["mysql", ".s.PGSQL.5432", "a", "b"];
        let listeners = names.map(|name| UnixListener::bind(root.join(name)).expect("a socket"));
        Self { folder, listeners: listeners.into() }
    }

    fn options(&self, patience: Duration) -> Options {
        let root: &Path = self.folder.path();
        let mysql = format!("mysql://root@localhost/?socket={}", root.join("mysql").display());
        let postgres = format!("postgres://root@localhost/postgres?socket={}", root.display());
        Options {
            patience,
            mysql: Some(mysql.parse().expect("an address")),
            postgres: Some(postgres.parse().expect("an address")),
            ..Options::at(root.to_owned(), Duration::from_millis(1))
        }
    }
}

fn cure<'a>(machine: &'a Machine, what: &str) -> &'a str {
    let hidden = machine.unseen.iter().find(|one| one.what.contains(what));
    assert!(hidden.is_some(), "{what}: {:?}", machine.unseen);
    hidden.map_or("", |one| &one.cure)
}

const HIDDEN: [&str; 4] = ["the database's", "PostgreSQL's", "pool a", "pool b"];

#[tokio::test]
async fn a_look_ends_although_nobody_answers_and_says_who() {
    let silent = Silent::new();
    let options = silent.options(Duration::from_millis(300));
    let machine = tokio::time::timeout(BOUND, look(&options)).await.expect("it ends");
    let machine = machine.expect("a machine");
    for what in HIDDEN {
        assert!(cure(&machine, what).contains("no answer in time"), "{:?}", machine.unseen);
    }
    assert_eq!(machine.now("meminfo.MemTotal"), Some(1_024_000_000.0));
}

/// Each of two hangs up only when both were asked: who asked one after the other would wait for as
/// long as there is patience.
#[tokio::test]
async fn nobody_waits_for_another_to_be_asked() {
    let mut silent = Silent::new();
    let options = silent.options(BOUND * 2);
    for pair in [2, 0].map(|at| silent.listeners.split_off(at)) {
        let both = Arc::new(Barrier::new(2));
        for listener in pair {
            let both = both.clone();
            std::thread::spawn(move || {
                let first = listener.accept();
                both.wait();
                drop(first);
                while listener.accept().is_ok() {}
            });
        }
    }
    let machine = tokio::time::timeout(BOUND, look(&options)).await.expect("all were asked");
    let machine = machine.expect("a machine");
    for what in HIDDEN {
        assert!(!cure(&machine, what).contains("in time"), "{:?}", machine.unseen);
    }
}
