//! `wick top` on a terminal: what it shows of exactly so many requests, what keys do, and that
//! the terminal is as it was however it ends.

use std::fs::File;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::origin::Origin;
use crate::wick::{Wick, ask, open_folder, until};

const PAGE: &str =
    "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 5\r\n\r\nhello";

/// A terminal with `wick top` on it; that is ended with the test.
struct Terminal {
    child: Child,
    keys: File,
    /// The program's side, which knows how it behaves.
    side: File,
    before: LocalModes,
    screen: Arc<Mutex<vt100::Parser>>,
}

impl Terminal {
    fn run(state: &str) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)
            .expect("a terminal");
        grantpt(&master).expect("it is ours");
        unlockpt(&master).expect("it is ours");
        let name = ptsname(&master, Vec::new()).expect("it has a name");
        let name = name.into_string().expect("a plain name");
        let side = File::options().read(true).write(true).open(name).expect("the other side");
        let before = tcgetattr(&side).expect("it is a terminal").local_modes;
        let twin = || Stdio::from(side.try_clone().expect("a descriptor"));
        tcsetwinsize(&side, size(24, 80)).expect("it has a size");
        let child = Command::new("setsid")
            .args(["--ctty", env!("CARGO_BIN_EXE_wick"), "top", "--state", state])
            .env("TERM", "xterm")
            .stdin(twin())
            .stdout(twin())
            .stderr(twin())
            .spawn()
            .expect("setsid is there");
        let screen = Arc::new(Mutex::new(vt100::Parser::new(24, 80, 0)));
        let keys = File::from(master);
        let (mut shown, seen) = (keys.try_clone().expect("a descriptor"), screen.clone());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = shown.read(&mut bytes) {
                seen.lock().expect("no panic").process(&bytes[..length]);
            }
        });
        Self { child, keys, side, before, screen }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("keys are taken");
    }

    fn text(&self) -> String {
        self.screen.lock().expect("no panic").screen().contents()
    }

    /// The words of the line that begins with this one.
    fn words(&self, first: &str) -> Vec<String> {
        let text = self.text();
        let mut lines = text.lines().map(|line| line.split_whitespace().map(str::to_owned));
        let line = lines.find(|line| line.clone().next().as_deref() == Some(first));
        line.map(Iterator::collect).unwrap_or_default()
    }

    fn await_text(&self, wanted: &str) {
        until(&format!("{wanted} on the screen"), || self.text().contains(wanted));
    }

    fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).expect("a process id");
        kill_process(Pid::from_raw(id).expect("a process id"), signal).expect("it runs");
    }

    /// Waits for the end, which leaves nothing behind.
    fn expect_restored(&mut self) {
        let mut status = None;
        until("the end of wick top", || {
            status = self.child.try_wait().expect("it can be waited for");
            status.is_some()
        });
        assert!(status.is_some_and(|status| status.success()), "{status:?}: {}", self.text());
        until("the screen from before", || {
            let parser = self.screen.lock().expect("no panic");
            !parser.screen().alternate_screen() && !parser.screen().hide_cursor()
        });
        let after = tcgetattr(&self.side).expect("it is a terminal").local_modes;
        assert_eq!(after, self.before, "keys are shown again");
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            // For a test that failed.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn size(rows: u16, columns: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

/// A Wick that has answered 50 requests: of one page 30, of two others 10 each.
fn served() -> (Origin, tempfile::TempDir, Wick, SocketAddr) {
    let origin = Origin::saying(PAGE);
    let state = open_folder();
    let kept = state.path().display().to_string();
    let (wick, address) = Wick::serve(&[&origin.url(), "--state", &kept]);
    for (path, times) in [("/about", 30), ("/thread/1", 10), ("/thread/2", 10)] {
        for _ in 0..times {
            ask(address, &format!("GET {path}"));
        }
    }
    (origin, state, wick, address)
}

#[test]
fn the_numbers_are_those_of_what_was_asked_for_and_keys_sort_and_filter() {
    let (_origin, state, _wick, address) = served();
    let mut terminal = Terminal::run(&state.path().display().to_string());
    terminal.await_text("quit");
    assert!(terminal.screen.lock().expect("no panic").screen().alternate_screen());
    assert!(terminal.text().contains("50, 0 of them 5xx"), "{}", terminal.text());
    let row = terminal.words("/about");
    assert_eq!(
        (row[1].as_str(), &row[3..5], row.last().map(String::as_str)),
        ("30", &["96.6".to_owned(), "%".to_owned()][..], Some("0")),
        "{row:?}"
    );
    let row = terminal.words("/thread/{id}");
    assert_eq!((row[1].as_str(), row[3].as_str()), ("20", "90.0"), "{row:?}");
    assert_eq!(terminal.words("hit")[1], "47", "{}", terminal.text());
    let place = |terminal: &Terminal, name: &str| terminal.text().find(name);
    assert!(place(&terminal, " /about") < place(&terminal, " /thread/{id}"));
    terminal.press("h");
    terminal.await_text("HITS▼");
    // What is drawn comes in pieces, the rows after their headings; so below.
    until("the other order", || {
        let places = (place(&terminal, " /thread/{id}"), place(&terminal, " /about"));
        places.0.is_some() && places.0 < places.1
    });
    terminal.press("/about\r");
    terminal.await_text("1 route /about, ");
    until("the filtered list", || terminal.words("/thread/{id}").is_empty());
    ask(address, "GET /about");
    until("the next look", || terminal.words("/about").get(1).is_some_and(|told| told == "31"));
    terminal.press(" ");
    terminal.await_text(" paused ");
    tcsetwinsize(&terminal.side, size(30, 120)).expect("it has a size");
    terminal.screen.lock().expect("no panic").screen_mut().set_size(30, 120);
    terminal.await_text("P50");
    terminal.press("q");
    terminal.expect_restored();
}

#[test]
fn a_server_that_goes_is_told_and_one_that_comes_is_watched() {
    let (origin, state, wick, _) = served();
    let kept = state.path().display().to_string();
    let mut terminal = Terminal::run(&kept);
    terminal.await_text("quit");
    assert!(terminal.text().contains("50, 0 of them 5xx"), "{}", terminal.text());
    wick.stop();
    terminal.await_text("no Wick is running");
    assert_eq!(terminal.words("/about")[1], "30", "what was told last stays");
    let (_wick, address) = Wick::serve(&[&origin.url(), "--state", &kept]);
    ask(address, "GET /about");
    terminal.await_text("1, 0 of them 5xx");
    assert!(!terminal.text().contains("no Wick is running"), "{}", terminal.text());
    terminal.signal(Signal::TERM);
    terminal.expect_restored();
    let mut terminal = Terminal::run(&kept);
    terminal.await_text("quit");
    terminal.press("\x03");
    terminal.expect_restored();
}

#[test]
fn without_a_terminal_everything_is_shown_once() {
    let (_origin, state, _wick, _) = served();
    let kept = state.path().display().to_string();
    for more in [&[][..], &["--once"]] {
        let ended = Wick::run(&[&["top", "--state", &kept], more].concat()).end();
        assert_eq!(ended.told(), "0 ", "{}", ended.output);
        let has = |text: &str| ended.output.lines().any(|line| line.starts_with(text));
        assert!(has("requests    50 since the start"), "{}", ended.output);
        assert!(has("/about               30   96.6 %"), "{}", ended.output);
        assert!(!ended.output.contains('\x1b'), "{}", ended.output);
    }
    let empty = open_folder();
    let ended = Wick::run(&["top", "--state", &empty.path().display().to_string()]).end();
    assert!(ended.told().starts_with("1 wick: no Wick is running"), "{}", ended.told());
}

#[test]
fn a_terminal_that_is_closed_ends_it() {
    let (_origin, state, _wick, _) = served();
    let kept = state.path().display().to_string();
    // Standard input alone, so that no signal tells of it.
    let (mut child, master) = {
        let mut terminal = Terminal::run(&kept);
        terminal.await_text("quit");
        terminal.press("q");
        terminal.expect_restored();
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)
            .expect("a terminal");
        grantpt(&master).expect("it is ours");
        unlockpt(&master).expect("it is ours");
        let name = ptsname(&master, Vec::new()).expect("it has a name");
        let name = name.into_string().expect("a plain name");
        let side = File::options().read(true).write(true).open(name).expect("the other side");
        let child = Command::new(env!("CARGO_BIN_EXE_wick"))
            .args(["top", "--state", &kept])
            .env("TERM", "xterm")
            .stdin(Stdio::from(side.try_clone().expect("a descriptor")))
            .stdout(Stdio::from(side))
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary can be run");
        (child, File::from(master))
    };
    let mut bytes = [0; 64];
    let seen = (&master).read(&mut bytes).expect("it draws");
    assert!(seen > 0);
    drop(master);
    until("its end", || child.try_wait().expect("it can be waited for").is_some());
}
