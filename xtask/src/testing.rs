//! `cargo xtask tests`: unit and integration tests of the workspace.
//!
//! One suite waits for nearly all of its time, for what real apps do by the clock. It runs by
//! itself, with many of its tests at once; elsewhere there is one test a core.

use std::process::Command;

use crate::metadata::Metadata;
use crate::steps::{execute, root};

/// The suite that mostly waits, and how many of its tests do so at once.
const WAITS: (&str, &str) = ("freshness", "4");
/// What every call has in common. The scenes are a step of their own.
const ALL: &[&str] = &["test", "--workspace", "--exclude", "testkit", "--locked", "--no-fail-fast"];

/// Runs all tests, or those that the words behind the step's name ask of `cargo test` for.
pub(crate) fn run(rest: &[String]) -> Result<(), String> {
    if !rest.is_empty() {
        return execute(cargo().args(rest));
    }
    let (suite, at_once) = WAITS;
    let others = others(&Metadata::read(root())?);
    let calls = [
        execute(cargo().args(["--lib", "--bins"]).args(others)),
        execute(cargo().args(["--test", suite, "--", "--test-threads", at_once])),
        execute(cargo().arg("--doc")),
    ];
    let wrong: Vec<String> = calls.into_iter().filter_map(Result::err).collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// The options that name all other integration tests.
fn others(metadata: &Metadata) -> Vec<String> {
    let targets = metadata.ours().filter(|package| package.name != "testkit");
    let mut names: Vec<&str> = targets
        .flat_map(|package| &package.targets)
        .filter(|target| target.kind.iter().any(|kind| kind == "test") && target.name != WAITS.0)
        .map(|target| target.name.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    names.iter().flat_map(|name| ["--test".to_owned(), (*name).to_owned()]).collect()
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
    fn each_integration_test_of_ours_is_named_once_but_the_one_that_waits() {
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
        let named = others(&graph(vec![wick, tracker, testkit, theirs]));
        assert_eq!(named, ["--test", "books", "--test", "tls"]);
    }
}
