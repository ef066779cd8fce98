//! The end in good order, and another Wick in the place of one.

use http::Method;
use rustix::process::{Pid, Signal, kill_process};

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

#[test]
fn another_wick_speaks_it_once_the_first_has_left() {
    let origin = Origin::begin();
    let served = Served::new(&origin.url(), "");
    assert_eq!(served.client().get("/a").status, 200);
    let state = served.ground.path().join("state").display().to_string();
    let ended = Wick::run(&["upgrade", "--state", &state]).end();
    let words: Vec<&str> = ended.output.split_whitespace().collect();
    assert_eq!(words.first(), Some(&"upgraded"), "{} {}", ended.output, ended.errors);
    let next = Pid::from_raw(words[2].parse().expect("a process id")).expect("a process id");
    let mut first = served.running.wick;
    until("the end of the first", || first.has_ended());
    until("an answer of the next one", || {
        let client = Client::connect(served.running.tls, &served.ca.file);
        client.is_ok_and(|client| client.get("/a").status == 200)
    });
    kill_process(next, Signal::TERM).expect("it runs");
}
