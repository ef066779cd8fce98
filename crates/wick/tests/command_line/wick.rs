//! A running Wick, and a visitor who speaks to it in raw bytes.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// How long anything may take that must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A process of the binary; it is ended with the test.
pub(crate) struct Wick {
    child: Child,
    lines: Receiver<String>,
    seen: Vec<String>,
    errors: Option<JoinHandle<String>>,
    /// Its `TMPDIR`.
    pub(crate) folder: TempDir,
    state: Option<TempDir>,
}

/// How a process ended.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) output: String,
    pub(crate) errors: String,
    pub(crate) folder: TempDir,
}

/// A folder that any user may look into, as a site's must be.
pub(crate) fn open_folder() -> TempDir {
    let folder = TempDir::new().expect("a temporary folder");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
    folder
}

impl Wick {
    /// Starts the binary with these arguments.
    pub(crate) fn run(arguments: &[&str]) -> Self {
        Self::command(Command::new(env!("CARGO_BIN_EXE_wick")), arguments)
    }

    /// Starts a command that runs the binary in the end.
    pub(crate) fn command(mut command: Command, arguments: &[&str]) -> Self {
        let folder = open_folder();
        let mut child = command
            .args(arguments)
            .env("TMPDIR", folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary can be run");
        let (output, mut complaints) =
            (child.stdout.take().expect("it is piped"), child.stderr.take().expect("it is piped"));
        let (tell, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                // Nobody hears it if the test is over.
                let _ = tell.send(line);
            }
        });
        let errors = std::thread::spawn(move || {
            let mut text = String::new();
            let _ = complaints.read_to_string(&mut text);
            text
        });
        Self { child, lines, seen: Vec::new(), errors: Some(errors), folder, state: None }
    }

    /// `wick serve` on a free port with these arguments; waits until it listens.
    pub(crate) fn serve(arguments: &[&str]) -> (Self, SocketAddr) {
        let mut all = vec!["serve"];
        if !arguments.contains(&"--listen") {
            all.extend(["--listen", "127.0.0.1:0"]);
        }
        if !arguments.contains(&"--threads") {
            all.extend(["--threads", "1"]);
        }
        let state = TempDir::new().expect("a temporary folder");
        let kept = state.path().display().to_string();
        if !arguments.contains(&"--state") {
            all.extend(["--state", &kept]);
        }
        all.extend(arguments);
        let mut wick = Self::run(&all);
        wick.state = Some(state);
        let line = wick.line("listening http://");
        let address = line.rsplit("http://").next().expect("an address").trim_end_matches('/');
        let address = address.parse().expect("an address with its port");
        wick.line("Ctrl-C stops it.");
        (wick, address)
    }

    /// Waits for a line that holds `text`.
    pub(crate) fn line(&mut self, text: &str) -> String {
        let bound = Instant::now() + PATIENCE;
        loop {
            let left = bound.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left);
            assert!(line.is_ok(), "no line with {text:?} in {}", self.last_words());
            let line = line.expect("it was looked at");
            self.seen.push(line.clone());
            if line.contains(text) {
                return line;
            }
        }
    }

    /// All that was said, for the message of a test that fails.
    fn last_words(&mut self) -> String {
        // Its complaints are whole only when it has ended.
        let _ = self.child.kill();
        let errors = self.errors.take().map(|errors| errors.join());
        format!("{:?}; {errors:?}", self.seen)
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).expect("a process id");
        kill_process(Pid::from_raw(id).expect("a process id"), signal).expect("it runs");
    }

    /// Whether it has ended; others may still write where it wrote.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("it can be waited for").is_some()
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Ended {
        let mut status = None;
        until("the end of wick", || {
            status = self.child.try_wait().expect("it can be waited for");
            status.is_some()
        });
        let errors = self.errors.take().expect("it was not read yet").join();
        let rest = self.lines.iter().collect::<Vec<_>>();
        let seen = std::mem::take(&mut self.seen);
        let output = [seen, rest].concat().join("\n");
        let empty = TempDir::new().expect("a temporary folder");
        Ended {
            status: status.expect("it has ended"),
            output,
            errors: errors.expect("a reader does not panic"),
            folder: std::mem::replace(&mut self.folder, empty),
        }
    }

    /// Asks it to stop, and expects that it does so in good order.
    pub(crate) fn stop(self) -> Ended {
        self.signal(Signal::TERM);
        let ended = self.end();
        assert!(ended.status.success(), "{}: {}", ended.status, ended.errors);
        ended
    }
}

impl Drop for Wick {
    /// For a test that failed: politely first, so that php-fpm goes too.
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.signal(Signal::TERM);
            self.signal(Signal::TERM);
            let _ = self.child.wait();
        }
    }
}

impl Ended {
    /// The status and what was said on standard error, on one line.
    pub(crate) fn told(&self) -> String {
        match self.status.code() {
            Some(code) => format!("{code} {}", self.errors.trim()),
            None => format!("signal {:?}", self.status.signal()),
        }
    }
}

/// Waits for what must come, and fails if it doesn't within a generous bound.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let bound = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < bound, "waited for: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Opens a connection and sends a request's bytes; `\n` is written as CRLF.
pub(crate) fn send(address: SocketAddr, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("somebody listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time-out can be set");
    stream.write_all(request.replace('\n', "\r\n").as_bytes()).expect("the request is taken");
    stream
}

/// Everything that comes until the connection is closed.
pub(crate) fn rest(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("the answer comes");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Asks with a request line and fields of one's own, on a connection of its own.
pub(crate) fn ask(address: SocketAddr, request: &str) -> String {
    let (line, fields) = request.split_once('\n').unwrap_or((request, ""));
    let host = if fields.contains("Host:") { String::new() } else { format!("Host: {address}\n") };
    let fields = if fields.is_empty() { String::new() } else { format!("{}\n", fields.trim_end()) };
    rest(send(address, &format!("{line} HTTP/1.1\n{host}{fields}Connection: close\n\n")))
}

pub(crate) fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").map_or("", |(_, body)| body)
}

/// Where what root does for a Wick has its folder, named after the state folder.
pub(crate) fn keeper_folder(state: &str) -> Option<PathBuf> {
    let end = plain_end(state);
    let folders = fs::read_dir("/run/wick").ok()?.flatten().map(|entry| entry.path());
    let is_its = |path: &PathBuf| path.to_string_lossy().contains(&format!("/{end}-"));
    folders.into_iter().find(is_its)
}

/// What of a path is in such a folder's name.
fn plain_end(path: &str) -> String {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || *c == '.';
    let end: Vec<char> = path.chars().rev().filter(is_plain).take(14).collect();
    end.into_iter().rev().collect()
}

/// The processes of php-fpm that show `text` in their command lines, or where those of this state
/// folder are, zombies not counted.
pub(crate) fn processes_with(text: &str) -> Vec<String> {
    let kept = format!("/run/wick/{}-", plain_end(text));
    let is_its = |line: &String| line.contains(text) || line.contains(&kept);
    let entries = fs::read_dir("/proc").expect("/proc can be read").flatten();
    let lines = entries.filter_map(|entry| {
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&line).replace('\0', " "))
    });
    lines.filter(|line| line.contains("php-fpm") && is_its(line)).collect()
}

/// The names in a folder, sorted.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder can be read").flatten();
    let mut names: Vec<_> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Whether php-fpm is here; says so if not.
pub(crate) fn has_php() -> bool {
    let folders = ["/usr/sbin", "/usr/local/sbin", "/usr/bin", "/usr/local/bin"];
    let folders = folders.iter().filter_map(|folder| fs::read_dir(folder).ok());
    let mut all = folders.flatten().flatten();
    let is_there = all.any(|entry| entry.file_name().to_string_lossy().starts_with("php-fpm"));
    if !is_there {
        eprintln!("SKIPPED: php-fpm is not installed (scripts/setup test installs it)");
    }
    is_there
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
