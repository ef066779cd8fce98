//! `cargo xtask clippy`, `tests` and `scenes`: what is built to be tested, looked through and run.
//!
//! All are built by Clippy's compiler, which is rustc with more to say: what we depend on, most
//! of all work, is compiled once for looking and running, and our own code as well.
//! One suite waits for nearly all of its time, for what real apps do by the clock. It runs by
//! itself, with many of its tests at once; elsewhere there is one test a core.
//! Invariant: every call is of the whole workspace, and names the tests it is after. Of a part of
//! it other features of what we depend on would be asked for, and all be built once more.

use std::path::Path;
use std::process::Command;

use crate::metadata::{Metadata, Package};
use crate::steps::{execute, root};

/// The suite that mostly waits, and how many of its tests do so at once.
const WAITS: (&str, &str) = ("freshness", "4");
/// The package whose integration tests are a step of their own.
const OF_SCENES: &str = "testkit";
/// What `cargo clippy -- --deny warnings` hands on.
const DENYING: (&str, &str) = ("CLIPPY_ARGS", "--deny__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");
/// What every call has in common.
const ALL: &[&str] = &["test", "--workspace", "--locked", "--no-fail-fast"];

/// Builds everything there is, and lets no warning pass.
pub(crate) fn clippy(rest: &[String]) -> Result<(), String> {
    execute(cargo().args(["--no-run", "--all-targets"]).args(rest))
}

/// Runs all tests, or those that the words behind the step's name ask of `cargo test` for.
pub(crate) fn run(rest: &[String]) -> Result<(), String> {
    if !rest.is_empty() {
        return execute(cargo().args(rest));
    }
    let (suite, at_once) = WAITS;
    let others = options(&Metadata::read(root())?, is_other);
    let calls = [
        execute(cargo().args(["--lib", "--bins"]).args(others)),
        execute(cargo().args(["--test", suite, "--", "--test-threads", at_once])),
        execute(cargo().arg("--doc")),
    ];
    let wrong: Vec<String> = calls.into_iter().filter_map(Result::err).collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// Plays the scenes, and what must never happen.
pub(crate) fn scenes(rest: &[String]) -> Result<(), String> {
    let tests = options(&Metadata::read(root())?, is_of_scenes);
    execute(cargo().args(tests).args(rest))
}

fn is_of_scenes(package: &str, _: &str) -> bool {
    package == OF_SCENES
}

/// Whether a test is neither of the scenes nor the one that waits.
fn is_other(package: &str, test: &str) -> bool {
    !is_of_scenes(package, test) && test != WAITS.0
}

/// The options that name the integration tests of ours which are wanted, by package and name.
fn options(metadata: &Metadata, is_wanted: impl Fn(&str, &str) -> bool) -> Vec<String> {
    let named = |package: &Package| {
        let tests = package.targets.iter().filter(|it| it.kind.iter().any(|kind| kind == "test"));
        let names = tests.map(|test| test.name.clone());
        names.filter(|name| is_wanted(&package.name, name)).collect::<Vec<_>>()
    };
    let mut names: Vec<String> = metadata.ours().flat_map(named).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().flat_map(|name| ["--test".to_owned(), name]).collect()
}

fn cargo() -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // They lie beside each other.
    let driver = Path::new(&cargo).with_file_name("clippy-driver");
    let mut command = Command::new(cargo);
    command.args(ALL).env("RUSTC_WORKSPACE_WRAPPER", driver).env(DENYING.0, DENYING.1);
    command
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::Stdio;

    use super::*;
    use crate::metadata::Target;
    use crate::metadata::samples::{foreign, graph, ours};

    /// Whether the compiler that tests are built by takes a text.
    fn is_taken(text: &str) -> bool {
        // To the output: a name would be a file to be replaced, whatever lies there.
        let words = ["rustc", "-", "--crate-type=lib", "--emit=metadata=-"];
        let cargo = cargo();
        let driver = cargo.get_envs().find(|(name, _)| *name == "RUSTC_WORKSPACE_WRAPPER");
        let driver = driver.and_then(|(_, path)| path).expect("it is named");
        let mut started = Command::new(driver)
            .args(words)
            .env(DENYING.0, DENYING.1)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it is installed beside cargo");
        let mut input = started.stdin.take().expect("it is piped");
        input.write_all(text.as_bytes()).expect("it is read");
        drop(input);
        started.wait().expect("it ends").success()
    }

    #[test]
    fn a_warning_of_clippys_stops_what_is_built_to_be_tested() {
        assert!(is_taken("pub fn one() -> u8 { 1 }"));
        assert!(!is_taken("pub fn one() -> u8 { return 1; }"));
    }

    #[test]
    fn each_integration_test_of_ours_is_named_once() {
        let target =
            |name: &str, kind: &str| Target { name: name.to_owned(), kind: vec![kind.to_owned()] };
        let mut wick = ours("wick", &[]);
        wick.targets = vec![target("tls", "test"), target(WAITS.0, "test"), target("wick", "bin")];
        let mut tracker = ours("tracker", &[]);
        tracker.targets = vec![target("books", "test"), target("tls", "test")];
        let mut testkit = ours("testkit", &[]);
        testkit.targets = vec![target("scenes", "test")];
        let mut theirs = foreign("theirs", "1.0.0", None);
        theirs.targets = vec![target("their", "test")];
        let graph = graph(vec![wick, tracker, testkit, theirs]);
        assert_eq!(options(&graph, is_other), ["--test", "books", "--test", "tls"]);
        assert_eq!(options(&graph, is_of_scenes), ["--test", "scenes"]);
    }
}
