//! `wick queries`: logs of real servers, read as files, packed, and from standard input; what is kept
//! for the next time; and how it ends.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::wick::{Wick, open_folder};

fn log(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../queries/tests/logs").join(name)
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

fn json(output: &str) -> Value {
    serde_json::from_str(output).expect("JSON")
}

/// The report of these logs.
fn report(arguments: &[&str]) -> Value {
    let ended = Wick::run(&[&["queries", "--format", "json"], arguments].concat()).end();
    assert_eq!(ended.status.code(), Some(0), "{}", ended.errors);
    json(&ended.output)
}

/// The same with a file as standard input.
fn piped(path: &Path, arguments: &[&str]) -> Output {
    let mut wick = Command::new(env!("CARGO_BIN_EXE_wick"));
    wick.arg("queries").args(arguments).stdin(File::open(path).expect("a log"));
    wick.stderr(Stdio::piped()).output().expect("the binary can be run")
}

const COUNT: &str = "select count(*) from posts where topic_id = ?";

fn class<'a>(report: &'a Value, fingerprint: &str) -> &'a Value {
    let classes = report["top"].as_array().expect("classes");
    classes.iter().find(|class| class["fingerprint"] == fingerprint).expect(fingerprint)
}

#[test]
fn logs_of_each_server_are_read_together_or_alone() {
    for name in [
        "mariadb-10.11.log",
        "mariadb-11-by-hand.log",
        "mysql-8.0-extra.log",
        "postgresql-15-stderr.log",
        "postgresql-15.csv",
        "postgresql-15.json",
        "postgresql-15-yaml-plans.log",
    ] {
        let report = report(&["--top", "100", &text(&log(name))]);
        assert_eq!((&report["version"], &report["unread"]), (&1.into(), &0.into()), "{name}");
        assert_eq!(class(&report, COUNT)["count"], 2, "{name}");
    }
    let both = [text(&log("mariadb-10.11.log")), text(&log("mysql-8.0-extra.log"))];
    let report = report(&["--top", "100", &both[0], &both[1]]);
    assert_eq!(class(&report, COUNT)["count"], 4);
    assert_eq!(report["sources"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_packed_log_and_standard_input_tell_the_same() {
    let folder = open_folder();
    let plain = log("mariadb-10.11.log");
    let expected = class(&report(&["--top", "100", &text(&plain)]), COUNT).clone();
    let packed = folder.path().join("slow.log.gz");
    let gzip = Command::new("gzip").arg("--stdout").arg(&plain).output().expect("gzip runs");
    fs::write(&packed, gzip.stdout).expect("a file");
    assert_eq!(class(&report(&["--top", "100", &text(&packed)]), COUNT), &expected);
    for path in [&plain, &packed] {
        let output = piped(path, &["--format", "json", "--top", "100", "-"]);
        let told = json(&String::from_utf8_lossy(&output.stdout));
        assert_eq!(class(&told, COUNT), &expected);
    }
}

#[test]
fn what_is_new_and_worse_is_told_since_the_last_run() {
    let folder = open_folder();
    let entry = |seconds: u32, statement: &str| {
        format!(
            "# Time: 261123  6:05:33\n# User@Host: app[app] @ localhost []\n\
             # Thread_id: 1  Schema: site  QC_hit: No\n\
             # Query_time: {seconds}.0  Lock_time: 0.0  Rows_sent: 1  Rows_examined: 9\n\
             SET timestamp=1795413933;\n{statement};\n"
        )
    };
    let put = |name: &str, entries: &[(u32, &str)]| {
        let path = folder.path().join(name);
        let all = entries.iter().map(|(seconds, statement)| entry(*seconds, statement).repeat(12));
        fs::write(&path, all.collect::<String>()).expect("a file");
        text(&path)
    };
    let before = put("monday.log", &[(1, "select 'a' from posts"), (1, "select 1 from gone")]);
    let now = put("tuesday.log", &[(3, "select 'b' from posts"), (1, "select 1 from fresh")]);
    let saved = text(&folder.path().join("monday.json"));
    report(&["--save", &saved, &before]);
    assert!(!fs::read_to_string(&saved).expect("it is kept").contains("'a'"), "no literal is kept");

    let page = text(&folder.path().join("report.html"));
    let told = report(&["--since", &saved, "--html", &page, &now]);
    let changes = &told["changes"];
    let first =
        |kind: &str| changes[kind][0]["fingerprint"].as_str().unwrap_or_default().to_owned();
    assert_eq!(first("new"), "select ? from fresh");
    assert_eq!(first("gone"), "select ? from gone");
    assert_eq!(first("worse"), "select ? from posts");
    assert_eq!(changes["worse"][0]["factor"], 3.0);
    let page = fs::read_to_string(page).expect("it is written");
    assert!(page.contains("select ? from posts") && !page.contains("<script"), "{page}");
    assert!(!page.contains("'b'"), "literals are shown unasked");
}

#[test]
fn literals_are_shown_only_where_they_are_asked_for() {
    let path = text(&log("mariadb-10.11.log"));
    let example = |report: &Value| class(report, COUNT)["example"].to_string();
    let (bare, whole) =
        (report(&["--top", "100", &path]), report(&["--top", "100", "--literals", &path]));
    assert!(!example(&bare).contains("topic_id = 7") && !example(&bare).contains("topic_id = 8"));
    let shown = example(&whole);
    assert!(shown.contains("topic_id = 7") || shown.contains("topic_id = 8"), "{shown}");
}

#[test]
fn how_it_ends_tells_whether_there_is_a_report() {
    let folder = open_folder();
    let put = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("a file");
        path.display().to_string()
    };
    let (empty, other) = (put("empty.log", ""), put("other.log", "no log at all\nof anything\n"));
    let none = text(&folder.path().join("none.log"));
    let slow = text(&log("mariadb-10.11.log"));
    for (arguments, status, told) in [
        (&[slow.as_str()][..], 0, ""),
        (&[empty.as_str()], 0, ""),
        (&[none.as_str()], 1, "can't read"),
        (&[other.as_str()], 1, "is no log that is known"),
        (&["--since", &other, &slow], 1, "is no run that --save wrote"),
        (&["--html", "/nowhere/at/all.html", &slow], 1, "can't write"),
        (&[&slow, "mysql://root@localhost/"], 1, "one server, or one or several logs"),
        (&[], 2, "LOG"),
        (&["--format", "poem", &slow], 2, "poem"),
    ] {
        let ended = Wick::run(&[&["queries"], arguments].concat()).end();
        assert_eq!(ended.status.code(), Some(status), "{arguments:?}: {}", ended.errors);
        assert!(ended.errors.contains(told), "{arguments:?}: {}", ended.errors);
    }
}
