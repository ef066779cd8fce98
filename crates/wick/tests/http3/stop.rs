//! The end in good order, and another Wick in the place of one.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use http::Method;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use crate::client::Client;
use crate::origin::Origin;
use crate::wick::{Wick, until};
use crate::{Served, running};

#[test]
fn at_a_stop_an_answer_in_flight_arrives_and_nothing_more_is_taken() {
    let origin = Origin::begin();
    let served = Served::new(&origin.url(), "");
    let client = served.client();
    let (idle, go) = (served.client(), origin.go.clone());
    let running::Running { wick, tls, .. } = served.running;
    let ca = served.ca.file.clone();
    let stopping = std::thread::spawn(move || {
        origin.came.recv().expect("it was asked");
        wick.signal(Signal::TERM);
        // Who asks for nothing is told at once.
        assert_eq!(idle.raw.end(), "closed 0x100");
        assert!(Client::connect(tls, &ca).is_err(), "it takes nobody any more");
        go.send(()).expect("it waits");
        wick.end()
    });
    let answer = client.ask(Method::GET, "/wait", &[], b"").expect("an answer");
    assert_eq!((answer.status, answer.text().as_str()), (200, "page /wait"));
    assert_eq!(client.raw.end(), "closed 0x100");
    let ended = stopping.join().expect("it ends");
    assert!(ended.status.success(), "{}", ended.errors);
}

/// A process that this test's first one has begun; it ends with the test.
struct Next(Pid);

impl Drop for Next {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = kill_process(self.0, Signal::TERM);
    }
}

/// Says that all is over, also if a test fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Has another Wick take the place of one that has this state folder.
fn upgrade(state: &str) -> Next {
    let ended = Wick::run(&["upgrade", "--state", state]).end();
    let words: Vec<&str> = ended.output.split_whitespace().collect();
    assert_eq!(words.first(), Some(&"upgraded"), "{} {}", ended.output, ended.errors);
    Next(Pid::from_raw(words[2].parse().expect("a process id")).expect("a process id"))
}

/// Asks over one connection for as long as it lasts, and then over another; how many it took.
fn ask_on(address: SocketAddr, ca: &Path, has_to_end: &AtomicBool) -> usize {
    let mut connections = 0;
    while !has_to_end.load(Ordering::SeqCst) {
        connections += 1;
        let client = Client::connect(address, ca).expect("somebody takes it");
        assert_eq!(client.get("/a").status, 200, "the first one on a connection is answered");
        while !has_to_end.load(Ordering::SeqCst) {
            match client.ask(Method::GET, "/a", &[], b"") {
                Ok(answer) => assert_eq!(answer.status, 200),
                // It was told to go, and that nothing of this was done.
                Err(_) => {
                    assert_eq!(client.raw.end(), "closed 0x100");
                    break;
                }
            }
        }
    }
    connections
}

#[test]
fn while_one_wick_takes_the_place_of_another_no_request_fails() {
    let origin = Origin::begin();
    let served = Served::new(&origin.url(), "");
    let (address, ca) = (served.running.tls, served.ca.file.clone());
    let state = served.ground.path().join("state").display().to_string();
    let is_over = AtomicBool::new(false);
    let waiting = served.client();
    let (new, lasting) = std::thread::scope(|scope| {
        let over = Over(&is_over);
        // One answer is under way all the time, in the first process; it is large.
        let slow = scope.spawn(|| waiting.ask(Method::GET, "/wait-large", &[], b""));
        origin.came.recv().expect("it was asked");
        let come = || {
            let mut count = 0;
            while !is_over.load(Ordering::SeqCst) {
                let client = Client::connect(address, &ca).expect("somebody takes it");
                assert_eq!(client.get(&format!("/{count}")).status, 200);
                count += 1;
            }
            count
        };
        let all_new = [(); 4].map(|()| scope.spawn(come));
        let lasting = scope.spawn(|| ask_on(address, &ca, &is_over));
        let second = upgrade(&state);
        let _third = upgrade(&state);
        until("the end of the second", || test_kill_process(second.0).is_err());
        origin.go.send(()).expect("it waits");
        let answer = slow.join().expect("no panic").expect("an answer");
        assert_eq!((answer.status, answer.body.len()), (200, 300_000));
        assert_eq!(waiting.raw.end(), "closed 0x100");
        let mut first = served.running.wick;
        until("the end of the first", || first.has_ended());
        assert_eq!(Client::connect(address, &ca).expect("the third").get("/b").status, 200);
        drop(over);
        let new = all_new.map(|new| new.join().expect("none fails"));
        (new.iter().sum::<usize>(), lasting.join().expect("none fails"))
    });
    assert!(new > 4 && lasting <= 3, "{new} connections, {lasting} that lasted");
}
