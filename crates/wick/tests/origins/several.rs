//! Three servers behind one Wick, of which one dies under load and comes back.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::serve;
use crate::servers::Server;
use crate::wick::{Wick, ask, body, until};

#[test]
fn a_server_dies_and_comes_back_under_load_and_no_visitor_notices() {
    let mut servers = ["one", "two", "three"].map(Server::start);
    let [one, two, three] = &servers;
    let (wick, address, _folder) = serve(&format!(
        "cache = false\norigin = [\"{}\", \"{}\", {{ url = \"{}\", weight = 2 }}]",
        one.url(),
        two.url(),
        three.url()
    ));
    let (is_over, asked) = (AtomicBool::new(false), AtomicUsize::new(0));
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        // Also where an assertion fails: the visitors are waited for.
        let over = Over(&is_over);
        for _ in 0..4 {
            scope.spawn(|| {
                while !is_over.load(Ordering::SeqCst) {
                    let answer = ask(address, "GET /");
                    asked.fetch_add(1, Ordering::SeqCst);
                    if !answer.starts_with("HTTP/1.1 200 ") {
                        failed.lock().expect("no holder panics").push(answer);
                    }
                }
            });
        }
        let more = |count: usize| {
            let from = asked.load(Ordering::SeqCst);
            until("more answers", || asked.load(Ordering::SeqCst) > from + count);
        };
        more(100);
        servers.iter().for_each(|server| assert!(server.answered() > 0, "all are asked"));
        servers[0].fall();
        more(200);
        servers[0].come_back();
        let before = servers[0].answered();
        until("its return", || servers[0].answered() > before + 5);
        drop(over);
    });
    let failed = failed.into_inner().expect("no holder panics");
    assert!(failed.is_empty(), "{} of {asked:?}: {}", failed.len(), failed[0]);
    let ended = wick.stop();
    let url = servers[0].url();
    assert!(ended.errors.contains(&format!("wick: origin {url} is out of use and tried again in")));
    assert!(ended.errors.contains(&format!("wick: origin {url} is back, with its whole share in")));
}

/// Ends the visitors when it is dropped.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn checks_find_a_server_that_is_gone() {
    let (good, bad) = (Server::start("good"), Server::start("bad"));
    let (_wick, address, _folder) = serve(&format!(
        "cache = false\norigin = [\"{}\", \"{}\"]\norigin_health = \"/health\"\n\
         origin_health_every = \"100ms\"\norigin_health_status = 200",
        good.url(),
        bad.url()
    ));
    until("checks", || good.answered() > 3 && bad.answered() > 3);
    drop(bad);
    until("only the good one", || {
        let answers: Vec<_> = (0..10).map(|_| ask(address, "GET /")).collect();
        answers.iter().for_each(|answer| assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}"));
        answers.iter().all(|answer| body(answer) == "good")
    });
    drop(good);
    let answer = ask(address, "GET /");
    assert!(
        answer.starts_with("HTTP/1.1 502 ") && answer.contains("origin-unreachable"),
        "{answer}"
    );
}

#[test]
fn check_names_each_server_that_does_not_answer() {
    let (good, mut bad) = (Server::start("good"), Server::start("bad"));
    bad.fall();
    let folder = tempfile::TempDir::new().expect("a temporary folder");
    let path = folder.path().join("wick.toml");
    let origins = format!("[[site]]\norigin = [\"{}\", \"{}\"]\n", good.url(), bad.url());
    std::fs::write(&path, format!("listen = \"127.0.0.1:0\"\n{origins}")).expect("it is written");
    let state = folder.path().join("state").display().to_string();
    let ended = Wick::run(&["check", &path.display().to_string(), "--state", &state]).end();
    assert!(!ended.status.success());
    assert!(ended.output.contains(&format!("origin    {}", good.url())), "{}", ended.output);
    let wrong = format!("- {} does not answer (", bad.url());
    assert!(ended.output.contains(&wrong), "{}", ended.output);
    assert!(!ended.output.contains(&format!("{} does not", good.url())), "{}", ended.output);
}
