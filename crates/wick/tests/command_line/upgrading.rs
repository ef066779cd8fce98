//! One Wick in the place of another, while visitors read: no request fails, and none is refused.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::origin::Origin;
use crate::serving::{Serving, end, upgrade};
use crate::wick::{PATIENCE, Wick, ask, body, has_php, names, open_folder, processes_with, until};

/// How often another takes its place.
const UPGRADES: usize = 20;
/// Visitors who read meanwhile.
const VISITORS: usize = 4;

/// Reads answers until told to stop: on each connection until it is said that it will be
/// closed, and then on a new one. Nothing else may end a connection.
fn keep_reading(address: SocketAddr, is_over: &AtomicBool) -> usize {
    let mut count = 0;
    while !is_over.load(Ordering::Relaxed) {
        let mut stream = TcpStream::connect(address).expect("somebody listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time-out can be set");
        let mut answers = BufReader::new(stream.try_clone().expect("a socket"));
        let mut is_open = true;
        while is_open && !is_over.load(Ordering::Relaxed) {
            count += 1;
            let target = if count % 2 == 0 { "/".to_owned() } else { format!("/{count}") };
            let request = format!("GET {target} HTTP/1.1\r\nHost: a.test\r\n\r\n");
            stream.write_all(request.as_bytes()).expect("it is open");
            let (mut head, mut line) = (String::new(), String::new());
            while line != "\r\n" {
                line.clear();
                let bytes = answers.read_line(&mut line).expect("a line");
                assert!(bytes > 0, "closed without a word after {head:?}");
                head.push_str(&line.to_ascii_lowercase());
            }
            assert!(head.starts_with("http/1.1 200"), "{target}: {head}");
            let mut text = [0; 5];
            answers.read_exact(&mut text).expect("the body comes");
            assert_eq!(&text, b"hello");
            is_open = !head.contains("connection: close");
        }
    }
    count
}

#[test]
fn visitors_notice_nothing_of_twenty_upgrades() {
    let origin = Origin::saying(
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 5\r\n\r\nhello",
    );
    let folder = open_folder();
    let state = folder.path().join("state").display().to_string();
    let url = origin.url();
    let (mut wick, address) = Wick::serve(&[&url, "--state", &state, "--threads", "2"]);
    let (is_over, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let readers: Vec<_> = (0..VISITORS)
        .map(|_| {
            let (is_over, answered) = (is_over.clone(), answered.clone());
            std::thread::spawn(move || {
                answered.fetch_add(keep_reading(address, &is_over), Ordering::Relaxed)
            })
        })
        .collect();
    // A connection that rests is answered on once more, whoever listens by then.
    let mut resting = TcpStream::connect(address).expect("somebody listens");
    resting.set_read_timeout(Some(PATIENCE)).expect("a time-out can be set");
    until("the resting connection to be accepted", || {
        resting.write_all(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n").expect("it is open");
        let mut bytes = [0; 1024];
        resting.read(&mut bytes).expect("an answer") > 0
    });
    let mut serving = Serving::of(wick.id());
    for _ in 0..UPGRADES {
        let next = upgrade(&state);
        assert_ne!(next, serving);
        std::mem::forget(std::mem::replace(&mut serving, next));
        // Who asks the running Wick for something finds the next one at once.
        let page = format!("http://{address}/");
        assert_eq!(Wick::run(&["explain", &page, "--state", &state]).end().told(), "0 ");
        assert_eq!(body(&ask(address, "GET /")), "hello");
    }
    resting
        .write_all(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
        .expect("the first one still listens to it");
    let mut last = String::new();
    resting.read_to_string(&mut last).expect("an answer, and the end");
    assert!(last.to_ascii_lowercase().contains("connection: close"), "{last}");
    assert!(last.ends_with("hello"), "{last}");
    // What was purged since would have been told to the others.
    assert!(!last.to_ascii_lowercase().contains("wick; hit"), "{last}");
    is_over.store(true, Ordering::Relaxed);
    for reader in readers {
        reader.join().expect("every answer was right");
    }
    assert!(answered.load(Ordering::Relaxed) > UPGRADES, "somebody read meanwhile");
    eprintln!("{} answers during {UPGRADES} upgrades", answered.load(Ordering::Relaxed));
    until("the end of the first one", || wick.has_ended());
    end(serving);
    let ended = wick.end();
    assert!(ended.status.success(), "{}", ended.errors);
    assert_eq!(names(&folder.path().join("state")), ["history", "learned.sqlite3"]);
}

#[test]
fn php_goes_with_its_wick_and_one_that_cannot_start_changes_nothing() {
    if !has_php() {
        return;
    }
    let folder = open_folder();
    let site = folder.path().join("site");
    fs::create_dir(&site).expect("ours");
    fs::write(site.join("index.php"), "<?php echo 'page';").expect("ours");
    let config = folder.path().join("wick.toml");
    let settings = format!("[[site]]\norigin = \"{}\"\n", site.display());
    fs::write(&config, &settings).expect("ours");
    let (state, config) = (folder.path().join("state"), config.display().to_string());
    let kept = state.display().to_string();
    let (mut wick, address) = Wick::serve(&["--config", &config, "--state", &kept]);
    let masters = || processes_with(&kept).iter().filter(|line| line.contains("master")).count();
    assert_eq!(body(&ask(address, "GET /")), "page");
    // Children that were just made still bear their master's name.
    until("one php-fpm", || masters() == 1);

    fs::write(&config, "[[site]]\norigin = \"/no/such/folder\"\n").expect("ours");
    let failed = Wick::run(&["upgrade", "--state", &kept]).end();
    let told = failed.told();
    assert!(told.starts_with("1 wick: the running one serves on: the new process ended"), "{told}");
    assert_eq!(body(&ask(address, "GET /again")), "page");
    until("one php-fpm", || masters() == 1);

    fs::write(&config, &settings).expect("ours");
    let serving = upgrade(&kept);
    assert_eq!(body(&ask(address, "GET /")), "page");
    until("the end of the first one", || wick.has_ended());
    until("the end of the first php-fpm", || masters() == 1);
    assert!(serving.is_there());
    assert_eq!(body(&ask(address, "GET /")), "page");
    end(serving);
    assert!(wick.end().status.success());
    // Where root stays behind, php-fpm's files are its.
    let left: Vec<_> = names(&state).into_iter().filter(|name| name != "php").collect();
    assert_eq!((masters(), left), (0, vec!["history".to_owned(), "learned.sqlite3".to_owned()]));
}

#[test]
fn the_admin_listener_is_the_new_ones() {
    let origin = Origin::saying("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    let folder = open_folder();
    let state = folder.path().join("state").display().to_string();
    let admin = loopback::address();
    let config = folder.path().join("wick.toml");
    fs::write(&config, format!("admin = \"{admin}\"\n")).expect("ours");
    let config = config.display().to_string();
    let (mut wick, address) = Wick::serve(&["--config", &config, &origin.url(), "--state", &state]);
    assert_eq!(body(&ask(address, "GET /")), "hello");
    until("a look", || ask(admin, "GET /api/now").contains("\"answers\":1,"));
    let serving = upgrade(&state);
    until("the end of the first one", || wick.has_ended());
    until("the new one's word", || TcpStream::connect(admin).is_ok());
    until("a look", || ask(admin, "GET /api/now").contains("\"answers\":0,"));
    end(serving);
    assert!(wick.end().status.success());
}
