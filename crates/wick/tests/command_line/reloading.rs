//! New settings for a running server: nobody loses an answer, and what is stored stays.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::origin::Origin;
use crate::wick::{PATIENCE, Wick, ask, body, has_php, open_folder, processes_with, until};

/// How often the settings change while visitors read.
const RELOADS: usize = 100;
/// Visitors who read meanwhile, each on one connection.
const VISITORS: usize = 4;

/// A server with a settings file, and the folder with both.
struct Bench {
    wick: Wick,
    address: SocketAddr,
    folder: TempDir,
}

impl Bench {
    fn start(settings: &str) -> Self {
        let folder = open_folder();
        let file = folder.path().join("wick.toml");
        fs::write(&file, settings).expect("ours");
        let (state, file) = (folder.path().join("state"), file.display().to_string());
        let state = state.display().to_string();
        let (wick, address) = Wick::serve(&["--config", &file, "--state", &state]);
        Self { wick, address, folder }
    }

    fn write(&self, settings: &str) {
        fs::write(self.folder.path().join("wick.toml"), settings).expect("ours");
    }

    /// `wick reload`: how it ended and what it said.
    fn reload(&self) -> String {
        let state = self.folder.path().join("state").display().to_string();
        let ended = Wick::run(&["reload", "--state", &state]).end();
        format!("{}{}", ended.told(), ended.output)
    }

    fn ask(&self, host: &str, target: &str) -> String {
        ask(self.address, &format!("GET {target}\nHost: {host}"))
    }
}

fn site(host: &str, origin: &str, more: &str) -> String {
    format!("[[site]]\nhosts = [\"{host}\"]\norigin = \"{origin}\"\n{more}\n")
}

fn cacheable(text: &'static str) -> Origin {
    Origin::new(move |_, stream| {
        let length = text.len();
        let _ = write!(
            stream,
            "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: {length}\r\n\r\n{text}"
        );
    })
}

/// Reads answers on one connection, which must never be closed, until told to stop; each must
/// be one of `expected`.
fn keep_reading(address: SocketAddr, host: &str, expected: &[&str], is_over: &AtomicBool) -> usize {
    let stream = TcpStream::connect(address).expect("somebody listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time-out can be set");
    let mut answers = BufReader::new(stream.try_clone().expect("a socket"));
    let mut stream = stream;
    let mut count = 0;
    while !is_over.load(Ordering::Relaxed) {
        count += 1;
        // Every other page is a new one, so that both the store and the origin answer.
        let target = if count % 2 == 0 { "/".to_owned() } else { format!("/{host}/{count}") };
        let request = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("it is open");
        let (mut line, mut length, mut status) = (String::new(), 0, String::new());
        while line != "\r\n" {
            line.clear();
            assert!(answers.read_line(&mut line).expect("a line") > 0, "closed at {count}");
            if status.is_empty() {
                status = line.clone();
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
                length = value.trim().parse().expect("a number");
            }
        }
        let mut bytes = vec![0; length];
        answers.read_exact(&mut bytes).expect("the body comes");
        let text = String::from_utf8_lossy(&bytes).into_owned();
        assert!(status.starts_with("HTTP/1.1 200"), "{target}: {status}{text}");
        assert!(expected.contains(&text.as_str()), "{target}: {text}");
    }
    count
}

#[test]
fn visitors_notice_nothing_of_a_hundred_changes() {
    let (first, second, other) = (cacheable("first"), cacheable("second"), cacheable("other"));
    let settings = |number: usize| {
        let changing = if number.is_multiple_of(2) { &first } else { &second };
        let rules = format!("stale_if_error = \"{number}s\"");
        site("a.test", &changing.url(), "") + &site("b.test", &other.url(), &rules)
    };
    let bench = Bench::start(&settings(0));
    let (is_over, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let readers: Vec<_> = (0..VISITORS)
        .map(|number| {
            let (address, is_over, answered) = (bench.address, is_over.clone(), answered.clone());
            std::thread::spawn(move || {
                let (host, expected) = match number % 2 {
                    0 => ("a.test", &["first", "second"][..]),
                    _ => ("b.test", &["other"][..]),
                };
                answered
                    .fetch_add(keep_reading(address, host, expected, &is_over), Ordering::Relaxed);
            })
        })
        .collect();
    for number in 1..=RELOADS {
        bench.write(&settings(number));
        let told = bench.reload();
        assert!(told.starts_with("0 ") && told.contains("its origin goes on"), "{told}");
        // The store never gives what another origin made.
        let expected = if number.is_multiple_of(2) { "first" } else { "second" };
        assert_eq!(body(&bench.ask("a.test", "/")), expected, "after change {number}");
    }
    is_over.store(true, Ordering::Relaxed);
    for reader in readers {
        reader.join().expect("every answer was right");
    }
    assert!(answered.load(Ordering::Relaxed) > RELOADS, "somebody read meanwhile");
    eprintln!("{} answers during {RELOADS} changes", answered.load(Ordering::Relaxed));
    let front = other.heads().iter().filter(|head| head.starts_with("GET / ")).count();
    assert_eq!(front, 1, "what was stored for a site that stays is kept");
    bench.wick.stop();
}

#[test]
fn limits_and_the_log_are_changed_while_it_serves() {
    let origin = cacheable("page");
    let folder = open_folder();
    let log = |name: &str| folder.path().join(name);
    // Whoever serves may write there.
    ["one.log", "two.log"].iter().for_each(|name| {
        fs::write(log(name), "").expect("ours");
        fs::set_permissions(log(name), fs::Permissions::from_mode(0o666)).expect("ours");
    });
    let settings = |top: &str, limits: &str| {
        format!("{top}\n[limits]\n{limits}\n{}", site("a.test", &origin.url(), ""))
    };
    let told_to = |name: &str| format!("access_log = \"{}\"\n", log(name).display());
    let mut bench = Bench::start(&settings("", "head = \"1K\""));
    let asked = |bench: &Bench, bytes: usize| {
        let target = format!("/{}", "x".repeat(bytes));
        bench.ask("a.test", &target)[..12].to_owned()
    };
    // One who is connected already, and idle.
    let stream = TcpStream::connect(bench.address).expect("somebody listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time-out can be set");
    assert_eq!(asked(&bench, 2000), "HTTP/1.1 431");

    bench.write(&settings(&told_to("one.log"), "head = \"8K\""));
    let told = bench.reload();
    assert!(told.contains("limits  these hold from now on"), "{told}");
    assert!(told.contains("answers are told to") && !told.contains("later"), "{told}");
    assert_eq!(asked(&bench, 2000), "HTTP/1.1 200");

    bench.write(&settings(
        &(told_to("two.log") + "access_log_format = \"json\"\n"),
        "head = \"8K\"",
    ));
    let told = bench.reload();
    assert!(told.contains("two.log") && !told.contains("limits"), "{told}");
    let text = fs::read_to_string(log("one.log")).expect("it is there");
    assert_eq!(text.lines().count(), 1, "what the first log has taken is written: {text}");
    assert_eq!(asked(&bench, 3000), "HTTP/1.1 200");

    bench.write(&settings("access_log = \"/no/such/folder/log\"", "head = \"1K\""));
    let told = bench.reload();
    assert!(told.starts_with("1 wick: the settings stay as they were: can't write the access"));
    assert_eq!(asked(&bench, 3100), "HTTP/1.1 200", "all or nothing");

    bench.write(&settings("memory = \"10M\"", "head = \"1K\""));
    let told = bench.reload();
    assert!(told.contains("answers are told nowhere") && told.contains("memory takes effect"));
    assert_eq!(asked(&bench, 2000), "HTTP/1.1 431");
    let text = fs::read_to_string(log("two.log")).expect("it is there");
    assert_eq!(text.lines().filter(|line| line.starts_with('{')).count(), 2, "{text}");
    let mut stream = stream;
    let long = format!("GET /{} HTTP/1.1\r\nHost: a.test\r\n\r\n", "x".repeat(2000));
    stream.write_all(long.as_bytes()).expect("it is open");
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).expect("an answer");
    assert!(line.starts_with("HTTP/1.1 431"), "{line}");
    bench.wick.signal(Signal::TERM);
    bench.wick.line("Stopped after");
}

#[test]
fn settings_that_are_wrong_change_nothing_and_are_told() {
    let origin = cacheable("hello");
    let bench = Bench::start(&site("a.test", &origin.url(), ""));
    bench.write(&site("a.test", &origin.url(), "stale_if_eror = \"1s\""));
    let told = bench.reload();
    assert!(told.starts_with("1 wick: the settings stay as they were: "), "{told}");
    assert!(told.contains("stale_if_error") && told.contains("wick.toml:4:1"), "{told}");
    bench.write(&site("a.test", "/no/such/folder", ""));
    assert!(bench.reload().contains("no such folder"));
    assert_eq!(body(&bench.ask("a.test", "/")), "hello");

    bench.write(&format!("memory = \"128M\"\n{}", site("b.test", &origin.url(), "")));
    let told = bench.reload();
    assert!(told.contains("memory takes effect at the next start"), "{told}");
    assert_eq!(body(&bench.ask("b.test", "/")), "hello");
    assert!(bench.ask("a.test", "/").starts_with("HTTP/1.1 421"), "its site is gone");
    bench.wick.stop();
}

#[test]
fn a_signal_reads_the_settings_and_another_opens_the_log_anew() {
    let origin = cacheable("hello");
    let bench = {
        let folder = open_folder();
        let log = folder.path().join("access.log");
        let settings = format!("access_log = \"{}\"\n", log.display());
        let bench = Bench::start(&(settings.clone() + &site("a.test", &origin.url(), "")));
        bench.ask("a.test", "/before");
        fs::rename(&log, folder.path().join("access.log.1")).expect("ours");
        bench.wick.signal(Signal::USR1);
        until("a new log", || log.exists());
        bench.ask("a.test", "/after");
        bench.write(&(settings + &site("b.test", &origin.url(), "")));
        bench.wick.signal(Signal::HUP);
        until("new settings", || bench.ask("b.test", "/").starts_with("HTTP/1.1 200"));
        bench.wick.stop();
        let lines = |path: &Path| fs::read_to_string(path).expect("a log");
        assert!(lines(&folder.path().join("access.log.1")).contains("/before"));
        assert!(!lines(&log).contains("/before") && lines(&log).contains("/after"));
        folder
    };
    drop(bench);
}

#[test]
fn another_php_fpm_takes_over_while_the_first_ends_its_answers() {
    if !has_php() {
        return;
    }
    let folder = open_folder();
    fs::write(
        folder.path().join("index.php"),
        "<?php echo ini_get('pm'), getmypid(); if (isset($_GET['slow'])) { flush(); \
         while (!file_exists(__DIR__ . '/go')) { usleep(1000); } } echo ' done';",
    )
    .expect("ours");
    let origin = folder.path().display().to_string();
    let settings = |children: u32| site("a.test", &origin, &format!("php_children = {children}"));
    let mut bench = Bench::start(&settings(2));
    let address = bench.address;
    let slow = std::thread::spawn(move || ask(address, "GET /?slow=1\nHost: a.test"));
    until("the slow request", || processes_with("pool").len() >= 2);
    let state = bench.folder.path().join("state").display().to_string();
    bench.write(&settings(3));
    let told = bench.reload();
    assert!(told.contains("started") && told.contains("ends with its last answer"), "{told}");
    let answer = bench.ask("a.test", "/?quick");
    assert!(body(&answer).ends_with(" done"), "{answer}");
    fs::write(folder.path().join("go"), "").expect("ours");
    let answer = slow.join().expect("an answer");
    assert!(body(&answer).ends_with(" done"), "{answer}");
    until("the end of the first php-fpm", || processes_with(&state).len() == 1);
    bench.wick.signal(Signal::TERM);
    bench.wick.line("Stopped after");
}
