//! What `wick doctor` and `wick queries` say about a WordPress that is visited can be followed, as a
//! person would: the slow log is turned on by what the doctor says, the log is read, and the indexes
//! that are advised can be made and taken back.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::wick::until;

/// A WordPress's own MariaDB, and a machine of which nothing else is seen: whatever is found is about
/// that database, and nothing else of this machine can be changed.
struct Advised {
    socket: PathBuf,
    machine: TempDir,
}

/// Follows all advice about the database that lies somewhere in this folder.
pub(crate) fn follow(folder: &Path) {
    let socket = find(folder, "db").expect("the demo has a database");
    let machine = TempDir::new().expect("a folder");
    fs::create_dir_all(machine.path().join("proc")).expect("a folder");
    fs::create_dir_all(machine.path().join("etc/mysql/mariadb.conf.d")).expect("a folder");
    let meminfo = "MemTotal: 4000000 kB\nMemAvailable: 3000000 kB\n";
    fs::write(machine.path().join("proc/meminfo"), meminfo).expect("a file");
    let advised = Advised { socket, machine };

    advised.turn_on_the_slow_log();
    // As docs/queries.md says, all that is asked for a while, since nothing here takes a second.
    advised.ask("SET GLOBAL long_query_time = 0");
    let log = advised.ask("SELECT @@slow_query_log_file");
    let log = find(folder, &log).expect("the log is there");
    until("a visit in the slow log", || {
        fs::read_to_string(&log).is_ok_and(|text| text.matches("wp_options").count() > 5)
    });
    advised.make_the_indexes(&log);

    let (status, told) = advised.doctor(&["--rollback"]);
    assert_eq!((status, told.as_str()), (Some(0), "Taken back: slow_log.\n"));
    assert_eq!(advised.ask("SELECT @@slow_query_log"), "0");
}

impl Advised {
    fn url(&self, database: &str) -> String {
        format!("mysql://root@localhost/{database}?socket={}", self.socket.display())
    }

    /// What the database answers.
    fn ask(&self, statement: &str) -> String {
        let mut client = Command::new("mariadb");
        client.args(["--no-defaults", "--batch", "--skip-column-names", "--user=root", "--socket"]);
        client.arg(&self.socket).args(["--database=site", "--execute", statement]);
        let output = client.output().expect("the client runs");
        assert!(output.status.success(), "{statement}: {output:?}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn wick(arguments: &[&str]) -> (Option<i32>, String) {
        let mut wick = Command::new(env!("CARGO_BIN_EXE_wick"));
        let output = wick.args(arguments).output().expect("the binary can be run");
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn doctor(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let root = self.machine.path().display().to_string();
        let state = self.machine.path().join("state").display().to_string();
        let url = self.url("");
        let all =
            ["doctor", "--root", &root, "--state", &state, "--mysql", &url, "--window", "100ms"];
        Self::wick(&[&all, arguments].concat())
    }

    /// By number, as the report has it.
    fn turn_on_the_slow_log(&self) {
        assert_eq!(self.ask("SELECT @@slow_query_log"), "0");
        let (status, report) = self.doctor(&["--format", "json"]);
        assert_eq!(status, Some(1), "there is something to do");
        let report: Value = serde_json::from_str(&report).expect("JSON");
        let findings = report["findings"].as_array().expect("findings");
        let at = findings.iter().position(|one| one["id"] == "slow_log").expect("it is off");
        let number = (at + 1).to_string();
        let (status, told) = self.doctor(&["--apply", &number, "--yes", "--watch", "0s"]);
        assert_eq!(status, Some(0), "{told}");
        assert!(told.contains("+slow_query_log = ON\n"), "{told}");
        let set = self.ask("SELECT @@slow_query_log, @@long_query_time, @@log_slow_verbosity");
        assert_eq!(set, "1\t1.000000\tquery_plan,explain");
        let (_, again) = self.doctor(&["--format", "json"]);
        assert!(!again.contains("\"id\": \"slow_log\",\n      \"subject\""), "{again}");
    }

    fn make_the_indexes(&self, log: &Path) {
        let url = self.url("site");
        let log = log.display().to_string();
        let (status, report) =
            Self::wick(&["queries", &log, "--format", "json", "--explain", &url]);
        assert_eq!(status, Some(0), "{report}");
        let report: Value = serde_json::from_str(&report).expect("JSON");
        assert_eq!(report["unread"], 0, "{report}");
        let of_site = |class: &Value| class["databases"].to_string().contains("site");
        let classes = report["top"].as_array().expect("classes");
        assert!(classes.iter().any(of_site), "{report}");
        // Where none is wanted there is no list.
        for advice in report["advice"].as_array().into_iter().flatten() {
            let text = |name: &str| advice[name].as_str().unwrap_or_default().to_owned();
            let (statement, revert) = (text("statement"), text("revert"));
            if statement.starts_with("CREATE INDEX") {
                self.ask(&statement);
                self.ask(&revert);
            }
        }
    }
}

/// The first file of this name in a folder, or below it.
fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    let entries: Vec<PathBuf> =
        fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
    let is_it = |path: &&PathBuf| path.file_name().is_some_and(|it| it == name) && !path.is_dir();
    let here = entries.iter().find(is_it).cloned();
    here.or_else(|| entries.iter().filter(|path| path.is_dir()).find_map(|path| find(path, name)))
}
