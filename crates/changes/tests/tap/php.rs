//! A PHP for one test: it runs lines of code, one at a time, and says what they return.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const PROGRAM: &str = "/usr/bin/php";
const DRIVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tap/driver.php");

pub(crate) struct Php {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Php {
    /// One to which `localhost` is the server at `socket`; none, said aloud, where PHP or
    /// its ways to MariaDB aren't installed.
    pub(crate) fn start(socket: &Path) -> Option<Self> {
        Self::start_as(socket, None)
    }

    /// The same as another user of the system.
    pub(crate) fn start_as(socket: &Path, user: Option<&str>) -> Option<Self> {
        let modules = Command::new(PROGRAM).arg("-m").output().ok();
        let modules = modules.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let has = |name| modules.as_ref().is_some_and(|text| text.lines().any(|line| line == name));
        if !has("mysqli") || !has("pdo_mysql") {
            eprintln!("SKIPPED: php-cli or php-mysql is not installed; scripts/setup test does it");
            return None;
        }
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]);
        if let Some(user) = user {
            command.args(["--reuid", user, "--regid", user, "--clear-groups"]);
        }
        command.arg(PROGRAM).args(["-d", "memory_limit=512M", "-d", "mysqli.allow_local_infile=1"]);
        for driver in ["mysqli", "pdo_mysql"] {
            command.arg("-d").arg(format!("{driver}.default_socket={}", socket.display()));
        }
        // The file may lie where that user can't go.
        command.arg("-r").arg(std::fs::read_to_string(DRIVER).ok()?.replace("<?php", ""));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("PHP starts");
        let input = child.stdin.take().expect("an input");
        let output = BufReader::new(child.stdout.take().expect("an output"));
        Some(Self { child, input, output })
    }

    /// Runs one line of code; what it returns, as JSON.
    pub(crate) fn run(&mut self, code: &str) -> String {
        self.begin(code);
        self.end()
    }

    /// Runs one line of code beside a tap that runs on this thread.
    pub(crate) async fn run_beside(mut self, code: &str) -> (Self, String) {
        let code = code.to_owned();
        let work = tokio::task::spawn_blocking(move || {
            let answer = self.run(&code);
            (self, answer)
        });
        work.await.expect("it runs")
    }

    /// Begins to run a line of code.
    pub(crate) fn begin(&mut self, code: &str) {
        writeln!(self.input, "{}", code.replace('\n', " ")).expect("PHP reads");
    }

    /// What it returned.
    pub(crate) fn end(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("PHP answers");
        line.trim_end().to_owned()
    }

    /// Ends it as the system does when memory is short.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("it is ours");
        self.child.wait().expect("it ends");
    }
}

impl Drop for Php {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
