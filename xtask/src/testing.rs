//! `cargo xtask tests`: unit and integration tests of the workspace, and `cargo xtask scenes`.
//!
//! One suite waits for nearly all of its time, for what real apps do by the clock. It runs by
//! itself, with many of its tests at once; elsewhere there is one test a core.
//! Invariant: every call is of the whole workspace, and names the tests it is after. Of a part of
//! it other features of what we depend on would be asked for, and all be built once more.

use std::process::Command;

use crate::metadata::{Metadata, Package};
use crate::steps::{execute, root};

/// The suite that mostly waits, and how many of its tests do so at once.
const WAITS: (&str, &str) = ("freshness", "4");
/// The package whose integration tests are a step of their own.
const OF_SCENES: &str = "testkit";
/// What every call has in common.
const ALL: &[&str] = &["test", "--workspace", "--locked", "--no-fail-fast"];

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
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(ALL);
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::Target;
    use crate::metadata::samples::{foreign, graph, ours};

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
