//! No open files, no disk, nobody who reads what is said: Wick serves on, and recovers.

use std::fs;
use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};

use crate::origin::Origin;
use crate::wick::{PATIENCE, Wick, ask, body, is_root, open_folder, send, until};
use crate::{AS_OURSELVES, PAGE};

/// A Wick by a shell command that ends with `exec wick "$@"`.
fn serve_by(shell: &str, arguments: &[&str]) -> (Wick, SocketAddr) {
    let mut command = Command::new("unshare");
    if is_root() {
        command.args(["--mount", "sh"]);
    } else {
        command = Command::new("sh");
    }
    command.args(["-c", shell, env!("CARGO_BIN_EXE_wick")]);
    let all = [&["serve", "--listen", "127.0.0.1:0", "--threads", "1"], arguments].concat();
    let mut wick = Wick::command(command, &all);
    let line = wick.line("listening http://");
    let address = line.rsplit("http://").next().expect("an address").trim_end_matches('/');
    (wick, address.parse().expect("an address with its port"))
}

/// How many files a process may open from now on; what it was.
fn limit_files(id: u32, current: Option<u64>) -> Rlimit {
    let id = Pid::from_raw(id.cast_signed()).expect("a process id");
    let before = rustix::process::getrlimit(Resource::Nofile);
    prlimit(Some(id), Resource::Nofile, Rlimit { current, maximum: before.maximum })
        .expect("it is ours")
}

#[test]
fn without_open_files_those_who_are_connected_are_served_and_others_after() {
    let origin = Origin::saying(PAGE);
    let folder = open_folder();
    let state = folder.path().join("state").display().to_string();
    let url = origin.url();
    let arguments = [&[&*url, "--state", &state][..], &AS_OURSELVES].concat();
    let (wick, address) = Wick::serve(&arguments);
    assert_eq!(body(&ask(address, "GET /")), "hello");
    let mut kept = send(address, "GET / HTTP/1.1\nHost: a.test\n\n");
    let mut answer = [0; 4096];
    assert!(kept.read(&mut answer).expect("an answer") > 0);
    let open = fs::read_dir(format!("/proc/{}/fd", wick.id())).expect("it runs").count();
    let before = limit_files(wick.id(), Some(open as u64));
    let waiting: Vec<TcpStream> =
        (0..8).map(|_| send(address, "GET / HTTP/1.1\nHost: a.test\n\n")).collect();
    for _ in 0..20 {
        std::io::Write::write_all(&mut kept, b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
            .expect("it is open");
        let bytes = kept.read(&mut answer).expect("an answer");
        assert!(answer[..bytes].starts_with(b"HTTP/1.1 200"), "{bytes}");
    }
    // Without a descriptor there is none to be told by; those who wait stay in the queue.
    waiting[7].set_read_timeout(Some(Duration::from_millis(1))).expect("it can be set");
    assert!((&waiting[7]).read(&mut answer).is_err(), "nobody is answered, nor sent away");
    limit_files(wick.id(), before.current);
    waiting[7].set_read_timeout(Some(PATIENCE)).expect("it can be set");
    for mut stream in waiting {
        let bytes = stream.read(&mut answer).expect("an answer");
        assert!(answer[..bytes].starts_with(b"HTTP/1.1 200"), "{bytes}");
    }
    let output = wick.stop().output;
    assert!(output.contains("connections could not be accepted: raise the limit"), "{output}");
}

#[test]
fn what_nobody_can_be_told_is_no_reason_to_end() {
    let origin = Origin::saying(PAGE);
    let folder = open_folder();
    let (file, state) = (folder.path().join("wick.toml"), folder.path().join("state"));
    let settings = format!("access_log = \"-\"\n[[site]]\norigin = \"{}\"\n", origin.url());
    fs::write(&file, &settings).expect("the settings are written");
    let arguments =
        ["--config", &file.display().to_string(), "--state", &state.display().to_string()];
    // Every write to standard error fails, as on a disk that is full.
    let (wick, address) = serve_by("exec \"$0\" \"$@\" 2> /dev/full", &arguments);
    assert_eq!(body(&ask(address, "GET /")), "hello");
    fs::write(&file, "nonsense").expect("the settings are written");
    let refused = Wick::run(&["reload", "--state", &state.display().to_string()]).end();
    assert!(refused.told().starts_with("1 "), "{}", refused.told());
    wick.signal(Signal::HUP);
    // The signal is heard before what is asked for after it.
    fs::write(&file, &settings).expect("the settings are written");
    let taken = Wick::run(&["reload", "--state", &state.display().to_string()]).end();
    assert_eq!(taken.told(), "0 ");
    assert_eq!(body(&ask(address, "GET /")), "hello");
    let output = wick.stop().output;
    assert!(!output.contains("panicked"), "{output}");
}

#[test]
fn on_a_full_disk_pages_are_served_and_the_log_goes_on_after() {
    if !is_root() {
        eprintln!("SKIPPED: only root can mount a small file system");
        return;
    }
    let origin = Origin::saying(PAGE);
    let folder = open_folder();
    let small = folder.path().join("small");
    fs::create_dir(&small).expect("ours");
    let file = folder.path().join("wick.toml");
    let log = small.join("access.log");
    let settings = format!("access_log = {log:?}\n[[site]]\norigin = \"{}\"\n", origin.url());
    fs::write(&file, settings).expect("the settings are written");
    let state = small.join("state").display().to_string();
    let shell =
        format!("mount -t tmpfs -o size=256k none '{}' && exec \"$0\" \"$@\"", small.display());
    let (wick, address) =
        serve_by(&shell, &["--config", &file.display().to_string(), "--state", &state]);
    let seen = |path: &Path| {
        Path::new(&format!("/proc/{}/root", wick.id()))
            .join(path.strip_prefix("/").expect("a whole path"))
    };
    assert_eq!(body(&ask(address, "GET /")), "hello");
    // As much as fits.
    let filler = seen(&small.join("filler"));
    assert!(fs::write(&filler, vec![0; 1 << 20]).is_err(), "it is small");
    for number in 0..50 {
        assert_eq!(body(&ask(address, &format!("GET /{number}"))), "hello");
        assert_eq!(body(&ask(address, "GET /")), "hello");
    }
    let explained = Wick::run(&[
        "explain",
        &format!("http://{address}/"),
        "--state",
        &seen(&small.join("state")).display().to_string(),
    ]);
    assert_eq!(explained.end().told(), "0 ", "it can still be asked");
    fs::remove_file(&filler).expect("it is ours");
    until("the log to go on", || {
        assert_eq!(body(&ask(address, "GET /after")), "hello");
        fs::read_to_string(seen(&log)).is_ok_and(|text| text.contains("/after"))
    });
    let text = fs::read_to_string(seen(&log)).expect("the log");
    assert!(text.lines().all(|line| line.contains("GET ")), "whole lines only: {text}");
    wick.stop();
}
