//! Stopping: answers in flight end whole, a second signal ends them, nothing is left.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};

use rustix::process::Signal;

use crate::origin::Origin;
use crate::wick::{
    Wick, ask, body, has_php, keeper_folder, names, open_folder, processes_with, send, until,
};

/// An origin that sends half of a body, and the rest when it is told to.
fn trickling() -> (Origin, mpsc::Sender<()>) {
    let (release, released) = mpsc::channel();
    let released = Arc::new(Mutex::new(released));
    let origin = Origin::new(move |_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfirst");
        // The test that never releases it drops the sender, which ends this wait.
        let _ = released.lock().expect("no test panics here").recv();
        let _ = stream.write_all(b"-last");
    });
    (origin, release)
}

/// Asks for a page and reads until half of its body is there.
fn half_read(address: std::net::SocketAddr) -> BufReader<TcpStream> {
    let mut answer = BufReader::new(send(address, &format!("GET / HTTP/1.1\nHost: {address}\n\n")));
    let mut line = String::new();
    while line != "\r\n" {
        line.clear();
        answer.read_line(&mut line).expect("the head comes");
    }
    let mut half = [0; 5];
    answer.read_exact(&mut half).expect("half of the body comes");
    assert_eq!(&half, b"first");
    answer
}

#[test]
fn a_signal_lets_the_answer_in_flight_end_whole() {
    for signal in [Signal::INT, Signal::TERM] {
        let (origin, release) = trickling();
        let (mut wick, address) = Wick::serve(&[&origin.url()]);
        let mut answer = half_read(address);
        wick.signal(signal);
        wick.line("Stopping: answers in flight may finish");
        until("the end of listening", || TcpStream::connect(address).is_err());
        release.send(()).expect("the origin waits");
        let mut last = String::new();
        answer.read_to_string(&mut last).expect("the rest comes");
        assert_eq!(last, "-last", "{signal:?}");
        let ended = wick.end();
        assert_eq!(ended.told(), "0 ", "{signal:?}");
        assert!(ended.output.contains("Stopped after 1 answers, 1 asked of the origin."));
    }
}

/// Settings for an origin that may take longer than any test waits.
fn patient(folder: &Path, origin: &Origin, limits: &str) -> String {
    let file = folder.join("wick.toml");
    let site = format!("[[site]]\norigin = \"{}\"\norigin_idle_timeout = \"1h\"\n", origin.url());
    fs::write(&file, format!("{limits}\n{site}")).expect("the settings are written");
    file.display().to_string()
}

#[test]
fn the_end_of_the_grace_ends_answers_that_would_take_for_ever() {
    let (origin, _release) = trickling();
    let folder = open_folder();
    let settings = patient(folder.path(), &origin, "[limits]\ngrace = \"100ms\"");
    let (wick, address) = Wick::serve(&["--config", &settings]);
    let mut answer = half_read(address);
    wick.stop();
    let _ = answer.read_to_end(&mut Vec::new());
}

#[test]
fn a_second_signal_ends_answers_that_would_take_for_ever() {
    let (origin, _release) = trickling();
    let folder = open_folder();
    let settings = patient(folder.path(), &origin, "[limits]\ngrace = \"1h\"");
    let (mut wick, address) = Wick::serve(&["--config", &settings]);
    let mut answer = half_read(address);
    wick.signal(Signal::INT);
    wick.line("Stopping");
    wick.signal(Signal::INT);
    assert_eq!(wick.end().told(), "0 ");
    let mut last = Vec::new();
    // A reset is as good an end as a plain one.
    let _ = answer.read_to_end(&mut last);
    assert!(last.is_empty(), "{last:?}");
}

#[test]
fn a_visitor_who_only_keeps_a_connection_holds_nobody_up() {
    let origin = Origin::saying("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
    let (wick, address) = Wick::serve(&[&origin.url()]);
    let silent = TcpStream::connect(address).expect("it listens");
    let mut kept = send(address, &format!("GET / HTTP/1.1\nHost: {address}\n\n"));
    let mut seen = Vec::new();
    let mut byte = [0];
    while !seen.ends_with(b"\r\n\r\nx") {
        kept.read_exact(&mut byte).expect("the answer comes");
        seen.push(byte[0]);
    }
    wick.stop();
    drop((silent, kept));
}

#[test]
fn somebody_who_stops_reading_the_output_is_no_reason_to_stop_serving() {
    let origin = Origin::saying("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
    let mut command = std::process::Command::new("sh");
    let script = "\"$0\" \"$@\" | head -n 1 >&2";
    command.args(["-c", script, env!("CARGO_BIN_EXE_wick")]);
    let address = loopback::address();
    let (origin, listen) = (origin.url(), address.to_string());
    let state = open_folder();
    let kept = state.path().display().to_string();
    let arguments = ["serve", &origin, "--listen", &listen, "--threads", "1", "--state", &kept];
    let wick = Wick::command(command, &arguments);
    until("an answer", || TcpStream::connect(address).is_ok());
    assert_eq!(body(&ask(address, "GET /")), "x");
    let inner = children(wick.id()).into_iter().find(|id| name_of(*id) == "wick");
    let inner = inner.expect("the binary runs below the shell");
    std::process::Command::new("kill").arg(inner.to_string()).status().expect("kill can be run");
    let ended = wick.end();
    assert!(!ended.errors.contains("panicked"), "{}", ended.errors);
    assert_eq!(ended.errors.lines().count(), 1, "only what head let through: {}", ended.errors);
}

fn children(parent: u32) -> Vec<u32> {
    let path = format!("/proc/{parent}/task/{parent}/children");
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().filter_map(|id| id.parse().ok()).collect()
}

fn name_of(id: u32) -> String {
    fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default().trim().to_owned()
}

#[test]
fn php_fpm_goes_with_wick_and_leaves_nothing_behind() {
    if !has_php() {
        return;
    }
    let site = open_folder();
    fs::write(site.path().join("index.php"), "<?php echo 'made by PHP';").expect("a file");
    let state = open_folder();
    let kept = state.path().display().to_string();
    let path = site.path().display().to_string();
    let (wick, address) = Wick::serve(&[&path, "--state", &kept]);
    let running = || processes_with(&kept).len() + processes_with(&pool_name(&kept)).len();
    assert!(running() > 0, "php-fpm names its configuration in {kept}");
    assert_eq!(body(&ask(address, "GET /")), "made by PHP");
    let ended = wick.stop();
    assert_eq!(running(), 0, "{:?}", processes_with("php-fpm"));
    assert_eq!(names(ended.folder.path()), Vec::<String>::new());
    assert_eq!(special_files(state.path()), Vec::<String>::new());
}

/// What php-fpm's children show: the pool's name stands in the configuration.
fn pool_name(state: &str) -> String {
    let parent = keeper_folder(state).unwrap_or_else(|| Path::new(state).join("php"));
    let folders = fs::read_dir(&parent).expect("it can be read").flatten();
    let mut files = folders.map(|folder| folder.path().join("php-fpm.conf"));
    let text = files.find_map(|file| fs::read_to_string(file).ok()).unwrap_or_default();
    let pool = text.lines().find_map(|line| line.strip_prefix("[wick-"));
    format!("pool wick-{}", pool.unwrap_or("unknown").trim_end_matches(']'))
}

/// Sockets and process ids below a folder: signs of something that runs.
fn special_files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for name in names(folder) {
        let path = folder.join(&name);
        if path.is_dir() {
            found.extend(special_files(&path));
        } else if name.ends_with(".sock") || name.ends_with(".pid") {
            found.push(name);
        }
    }
    found
}

#[test]
fn a_signal_in_the_middle_of_the_start_leaves_no_php_fpm() {
    if !has_php() {
        return;
    }
    let site = open_folder();
    fs::write(site.path().join("index.php"), "<?php echo 1;").expect("a file");
    let state = open_folder();
    let (kept, path) = (state.path().display().to_string(), site.path().display().to_string());
    let arguments = ["serve", &path, "--listen", "127.0.0.1:0", "--state", &kept];
    let wick = Wick::run(&arguments);
    let status = format!("/proc/{}/status", wick.id());
    until("the moment from which it hears signals", || {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let mask = text.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        mask.is_some_and(|mask| mask & (1 << 14) != 0)
    });
    wick.signal(Signal::TERM);
    let ended = wick.end();
    assert_eq!(ended.told(), "0 ");
    assert_eq!(processes_with(&kept), Vec::<String>::new());
    assert_eq!(special_files(state.path()), Vec::<String>::new());
}
