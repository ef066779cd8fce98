//! The steps of `cargo xtask ci`, in order: quick ones first.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use crate::metadata::Metadata;
use crate::{fuzz, layers, licences, package, testing, tidy};

/// One thing that must hold before a change lands.
pub(crate) struct Step {
    /// The word after `cargo xtask`.
    pub(crate) name: &'static str,
    /// What it checks, for the heading.
    pub(crate) about: &'static str,
    /// Does it; what follows the word on the command line is handed on.
    pub(crate) run: fn(&[String]) -> Result<(), String>,
}

/// Every step.
pub(crate) const STEPS: &[Step] = &[
    Step { name: "format", about: "cargo fmt leaves every file as it is", run: format },
    Step { name: "tidy", about: "layers, lengths, module notes, names, purity", run: tidy },
    Step { name: "licences", about: "what we depend on, whence, on what terms", run: licences },
    Step { name: "clippy", about: "no warning anywhere", run: testing::clippy },
    Step { name: "tests", about: "unit and integration tests", run: testing::run },
    Step { name: "scenes", about: "HTTP behaviour, one file a scene", run: testing::scenes },
    Step {
        name: "fuzz",
        about: "each target over sixty thousand inputs ([--seconds N] [--seed N] [TARGET…])",
        run: fuzz::run,
    },
];

/// What is not part of `ci`.
pub(crate) const TASKS: &[Step] = &[
    Step { name: "package", about: "a Debian package, in target/package", run: package::debian },
    Step { name: "static", about: "a binary that needs no library", run: package::r#static },
];

/// The folder of the workspace.
pub(crate) fn root() -> &'static Path {
    // The manifest of this crate lies one folder below the workspace's.
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

fn format(_: &[String]) -> Result<(), String> {
    cargo(["fmt", "--all", "--check"], &[])
}

fn licences(_: &[String]) -> Result<(), String> {
    report(licences::check(&Metadata::read(root())?))
}

fn tidy(_: &[String]) -> Result<(), String> {
    let mut findings = layers::check(&Metadata::read(root())?);
    findings.extend(tidy::check(root())?);
    report(findings)
}

fn report(findings: Vec<String>) -> Result<(), String> {
    if findings.is_empty() { Ok(()) } else { Err(findings.join("\n")) }
}

fn cargo<const N: usize>(words: [&str; N], rest: &[String]) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    execute(Command::new(cargo).args(words).args(rest))
}

/// Runs a command in the workspace's folder, its output going where ours goes.
pub(crate) fn execute(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_owned();
    let words: Vec<&OsStr> = command.get_args().collect();
    println!("    {}", [&[name.as_os_str()], &words[..]].concat().join(OsStr::new(" ")).display());
    match command.current_dir(root()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{}: {status}", name.display())),
        Err(error) => Err(format!("{} can't be started: {error}", name.display())),
    }
}
