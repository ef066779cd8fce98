//! The built binary, serving a folder until the test is over.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// How long anything may take that must happen.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running `wick serve`.
pub(crate) struct Wick {
    child: Child,
    /// `http://ADDRESS`, without a slash at its end.
    pub(crate) base: String,
    state: TempDir,
    has_php: bool,
}

impl Wick {
    /// Serves `site`, a folder or an origin, on a free port and waits until it says where
    /// it listens.
    pub(crate) fn serve(site: &str, caches: bool) -> Self {
        Self::serve_with(site, if caches { "" } else { "[[site]]\ncache = false\n" })
    }

    /// The same with a settings file.
    pub(crate) fn serve_with(site: &str, settings: &str) -> Self {
        let state = TempDir::new().expect("a temporary folder can be made");
        // Started by root, it serves as somebody else.
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(state.path(), open).expect("it is ours");
        let mut command = Command::new(env!("CARGO_BIN_EXE_wick"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--threads", "2", "--state"]);
        command.arg(state.path().join("state"));
        if !settings.is_empty() {
            let file = state.path().join("wick.toml");
            fs::write(&file, settings).expect("a file can be written");
            command.arg("--config").arg(file);
        }
        command.arg(site).stdin(Stdio::null()).stdout(Stdio::piped());
        // Some apps complain at every page; it is shown when a test fails.
        let complaints = fs::File::create(state.path().join(COMPLAINTS));
        command.stderr(complaints.expect("a file can be made"));
        let mut child = command.spawn().expect("the binary can be run");
        let output = child.stdout.take().expect("it is piped");
        let (tell, told) = mpsc::channel();
        // Reads to the end, so that Wick never waits for somebody to read.
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if let Some(url) = line.trim().strip_prefix("listening ") {
                    // Nobody hears it if the test gave up.
                    let _ = tell.send(url.trim_end_matches('/').to_owned());
                }
            }
        });
        let base = told.recv_timeout(PATIENCE).expect("it says where it listens");
        Self { child, base, state, has_php: !site.contains("://") }
    }

    /// What it says about an address: why it is shared with strangers or not.
    pub(crate) fn explain(&self, path: &str) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wick"));
        command.args(["explain", "--state"]).arg(self.state.path().join("state"));
        let output = command.arg(format!("{}{path}", self.base)).output();
        let output = output.expect("the binary can be run");
        let told = [output.stdout, output.stderr].concat();
        String::from_utf8_lossy(&told).into_owned()
    }

    /// Asks it to stop and sees that neither process nor socket is left.
    pub(crate) fn stop(mut self) {
        let php = descendants(self.child.id());
        let are_there = php.len() >= 2 || !self.has_php;
        assert!(are_there, "php-fpm's master and children run while it serves: {php:?}");
        self.ask_to_stop();
        let status = self.child.wait().expect("it can be waited for");
        assert!(status.success(), "it stops in good order: {status}");
        until("the end of php-fpm", || php.iter().all(|&id| !is_alive(id)));
        assert_eq!(sockets(self.state.path()), 0);
    }

    fn ask_to_stop(&self) {
        let asked = Command::new("kill").arg(self.child.id().to_string()).status();
        assert!(asked.expect("kill can be run").success());
    }
}

/// Where standard error goes, beside the state folder.
const COMPLAINTS: &str = "complaints";
/// How much of it is shown when a test fails.
const SHOWN_LINES: usize = 20;

impl Drop for Wick {
    /// For a test that failed: politely first, so that php-fpm goes too.
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.ask_to_stop();
            let _ = self.child.wait();
        }
        if std::thread::panicking() {
            let told = fs::read(self.state.path().join(COMPLAINTS)).unwrap_or_default();
            let told = String::from_utf8_lossy(&told);
            let lines: Vec<&str> = told.lines().collect();
            for line in &lines[lines.len().saturating_sub(SHOWN_LINES)..] {
                eprintln!("wick: {}", line.chars().take(400).collect::<String>());
            }
        }
    }
}

/// Waits for what must come, and fails if it doesn't within a generous bound.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let bound = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < bound, "waited for: {what}");
        std::thread::yield_now();
    }
}

/// The processes that `id` started, and those that they started.
fn descendants(id: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").expect("/proc can be read").flatten();
    let all: Vec<u32> = entries.filter_map(|e| e.file_name().to_str()?.parse().ok()).collect();
    let mut found = vec![id];
    let mut at = 0;
    while at < found.len() {
        let parent = Some(found[at].to_string());
        found.extend(all.iter().filter(|&&other| field(other, 1) == parent));
        at += 1;
    }
    found.remove(0);
    found
}

fn is_alive(id: u32) -> bool {
    field(id, 0).is_some_and(|state| state != "Z")
}

/// A field behind a process's name: 0 its state, 1 its parent.
fn field(id: u32, at: usize) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(at).map(str::to_owned)
}

fn sockets(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).expect("the state folder can be read").flatten();
    let count = |path: &Path| match path.is_dir() {
        true => sockets(path),
        false => usize::from(path.extension().is_some_and(|ending| ending == "sock")),
    };
    entries.map(|entry| count(&entry.path())).sum()
}
