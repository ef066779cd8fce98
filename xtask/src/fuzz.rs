//! `cargo xtask fuzz [--seconds N] [--seed N] [TARGET…]`: the targets of `fuzz/` under libFuzzer.
//!
//! Unless it is told, each tries [`INPUTS`] from [`SEED`] on, much the same on any machine,
//! so that a change is refused for what it breaks and not for what luck finds in somebody
//! else's; only its share of [`SECONDS_IN_ALL`] ends it sooner. Told how long, it hunts from
//! a seed that nobody chose.
//!
//! Our code is instrumented by the stable compiler: the flags below are what libFuzzer
//! needs, and since nothing of ours is `unsafe`, the sanitizers that ask for a nightly
//! compiler would have nothing to find. What we depend on is as the tests have it, and so was
//! built with them: this program itself stands in for the compiler of the workspace's own
//! crates, and adds the flags. What the fuzzer learns is kept in
//! `target/fuzz-found/`, so that the next run starts from there; the corpora that are
//! part of the repository are only read. An input that breaks a target is named, and
//! belongs into its corpus once the fault is mended.
//! Invariant: an input longer than [`INPUT_BYTES_MAX`] or a run longer than
//! [`HANG_SECONDS`] does not occur, respectively is a fault.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread::available_parallelism;

use crate::steps::{execute, root};

/// However many targets there are, a run takes no longer.
const SECONDS_IN_ALL: u32 = 300;
/// One target alone needs no more to see whether something broke.
const SECONDS_MAX: u32 = 30;
const INPUTS: u32 = 60_000;
const INPUT_BYTES_MAX: u32 = 16 << 10;
const HANG_SECONDS: u32 = 10;
const SEED: u32 = 20;
const MEMORY_MEBIBYTES_MAX: u32 = 1024;

/// Has this program stand in for the compiler.
const STANDS_IN: &str = "XTASK_STANDS_IN_FOR_RUSTC";

/// Counters for each edge, and what comparisons compare, so that the fuzzer can aim. Cargo
/// doesn't know of them: after a change what is in the target folder has to be removed.
const INSTRUMENTED: &[&str] = &[
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];

/// Builds the fuzzer and gives each target its time, as many at once as there are cores.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let wish = Wish::read(arguments, &known_targets()?)?;
    let fuzzer = build()?;
    let cores = available_parallelism().map_or(1, usize::from);
    let is_hunt = wish.seconds.is_some();
    let walk = Walk {
        seconds: wish.seconds.unwrap_or_else(|| share(wish.targets.len(), cores)),
        seed: wish.seed.or((!is_hunt).then_some(SEED)),
        inputs: (!is_hunt).then_some(INPUTS),
    };
    let mut faults = Vec::new();
    for group in wish.targets.chunks(cores) {
        let started: Vec<_> =
            group.iter().map(|target| (target, Run::start(&fuzzer, target, walk))).collect();
        for (target, run) in started {
            match run.and_then(Run::finish) {
                Ok(summary) => println!("    {target:<16} {summary}"),
                Err(fault) => faults.push(format!("{target}: {fault}")),
            }
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// Seconds that each of so many targets has.
fn share(targets: usize, cores: usize) -> u32 {
    let groups = u32::try_from(targets.div_ceil(cores)).unwrap_or(u32::MAX).max(1);
    (SECONDS_IN_ALL / groups).clamp(1, SECONDS_MAX)
}

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
struct Wish {
    seconds: Option<u32>,
    seed: Option<u32>,
    targets: Vec<String>,
}

impl Wish {
    fn read(arguments: &[String], known: &[String]) -> Result<Self, String> {
        let mut wish = Self { seconds: None, seed: None, targets: Vec::new() };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            if let Some(place) = match &word[..] {
                "--seconds" => Some(&mut wish.seconds),
                "--seed" => Some(&mut wish.seed),
                _ => None,
            } {
                // Of libFuzzer's seeds, nought is any.
                let number = words.next().and_then(|number| number.parse().ok());
                let number = number.filter(|&number| number > 0);
                *place = Some(number.ok_or_else(|| format!("{word} needs a number"))?);
            } else if known.contains(word) {
                wish.targets.push(word.clone());
            } else {
                return Err(format!("no target is called {word}; there are {}", known.join(", ")));
            }
        }
        if wish.targets.is_empty() {
            wish.targets = known.to_vec();
        }
        Ok(wish)
    }
}

/// A test of the `fuzz` crate sees to it that targets and corpora have the same names.
fn known_targets() -> Result<Vec<String>, String> {
    let folder = root().join("fuzz/corpus");
    let entries = std::fs::read_dir(&folder)
        .map_err(|error| format!("{} can't be read: {error}", folder.display()))?;
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    Ok(names)
}

fn build() -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let ourselves = std::env::current_exe()
        .map_err(|error| format!("where this program lies isn't known: {error}"))?;
    let mut command = Command::new(cargo);
    command
        // All of the workspace, or what we depend on would have other features than the tests'.
        .args(["build", "--locked", "--workspace", "--features", "fuzz/guided", "--bin", "guided"])
        .envs([("CARGO_PROFILE_DEV_OPT_LEVEL", "1"), ("CARGO_INCREMENTAL", "0")])
        .env("RUSTC_WORKSPACE_WRAPPER", &ourselves)
        .env(STANDS_IN, "1");
    execute(&mut command)?;
    // Both are of the same profile.
    Ok(ourselves.with_file_name("guided"))
}

/// Becomes the compiler, with the flags, if that is what cargo started us as: then the first
/// word names it. Comes back only with what is wrong.
pub(crate) fn stand_in() -> Option<String> {
    std::env::var_os(STANDS_IN)?;
    let mut words = std::env::args_os().skip(1);
    let Some(compiler) = words.next() else {
        return Some(format!("{STANDS_IN} is for the compiler of `cargo xtask fuzz` alone"));
    };
    let error = Command::new(&compiler).args(words).args(INSTRUMENTED).exec();
    Some(format!("{} can't be started: {error}", compiler.display()))
}

/// How far a target goes, and from where.
#[derive(Clone, Copy)]
struct Walk {
    seconds: u32,
    seed: Option<u32>,
    inputs: Option<u32>,
}

/// One target at work.
struct Run {
    child: Child,
    log: PathBuf,
    found: PathBuf,
}

impl Run {
    fn start(fuzzer: &Path, target: &str, walk: Walk) -> Result<Self, String> {
        let found = folder("fuzz-found", target)?;
        let faults = folder("fuzz-faults", target)?;
        let log = root().join("target/fuzz-faults").join(format!("{target}.log"));
        let unwritable = |error| format!("{} can't be written: {error}", log.display());
        let output = std::fs::File::create(&log).map_err(unwritable)?;
        let child = Command::new(fuzzer)
            .env("FUZZ_TARGET", target)
            .arg(&found)
            .arg(root().join("fuzz/corpus").join(target))
            .arg(format!("-artifact_prefix={}/", faults.display()))
            .arg(format!("-max_total_time={}", walk.seconds))
            .args(walk.seed.map(|seed| format!("-seed={seed}")))
            .args(walk.inputs.map(|inputs| format!("-runs={inputs}")))
            .arg(format!("-max_len={INPUT_BYTES_MAX}"))
            .arg(format!("-timeout={HANG_SECONDS}"))
            .arg(format!("-rss_limit_mb={MEMORY_MEBIBYTES_MAX}"))
            .arg("-print_final_stats=1")
            .stdout(output.try_clone().map_err(unwritable)?)
            .stderr(output)
            .spawn()
            .map_err(|error| format!("{} can't be started: {error}", fuzzer.display()))?;
        Ok(Self { child, log, found })
    }

    /// Waits, and tells how many inputs were tried and how many are worth keeping.
    fn finish(mut self) -> Result<String, String> {
        let status = self.child.wait().map_err(|error| error.to_string())?;
        let log = std::fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        if !status.success() {
            return Err(format!("{}\n    the whole story: {}", fault(&log), self.log.display()));
        }
        let tried = statistic(&log, "stat::number_of_executed_units:");
        let Some(tried) = tried.filter(|&tried| tried > 0) else {
            return Err(format!("not a single input was tried; see {}", self.log.display()));
        };
        let kept = std::fs::read_dir(&self.found).map_or(0, Iterator::count);
        Ok(format!("{tried:>10} inputs tried, {kept:>5} kept"))
    }
}

fn folder(kind: &str, target: &str) -> Result<PathBuf, String> {
    let folder = root().join("target").join(kind).join(target);
    std::fs::create_dir_all(&folder)
        .map_err(|error| format!("{} can't be made: {error}", folder.display()))?;
    Ok(folder)
}

fn statistic(log: &str, name: &str) -> Option<u64> {
    log.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

/// The lines of libFuzzer's output that say what broke and on which input.
fn fault(log: &str) -> String {
    const TELLING: &[&str] = &["panicked at", "ERROR: libFuzzer", "Test unit written to"];
    let lines: Vec<&str> = log.lines().collect();
    let mut telling = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if TELLING.iter().any(|word| line.contains(word)) {
            telling.push(*line);
            // What a panic says stands on the lines after its place.
            if line.contains("panicked at") {
                telling.extend(lines[at + 1..].iter().take(3).take_while(|l| !l.contains("stack")));
            }
        }
    }
    if telling.is_empty() {
        telling.extend(&lines[lines.len().saturating_sub(10)..]);
    }
    telling.join("\n    ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn the_command_line_says_which_targets_and_how_long() {
        let check = |line: &str, expected: Result<(Option<u32>, Option<u32>, &str), &str>| {
            let found = Wish::read(&words(line), &words("range vary"));
            let expected = expected
                .map(|(seconds, seed, targets)| Wish { seconds, seed, targets: words(targets) })
                .map_err(str::to_owned);
            assert_eq!(found, expected, "{line}");
        };
        check("", Ok((None, None, "range vary")));
        check("--seconds 5", Ok((Some(5), None, "range vary")));
        check("vary --seconds 5", Ok((Some(5), None, "vary")));
        check("--seed 7 range", Ok((None, Some(7), "range")));
        check("--seed x", Err("--seed needs a number"));
        check("--seconds", Err("--seconds needs a number"));
        check("--seconds 0", Err("--seconds needs a number"));
        check("rang", Err("no target is called rang; there are range, vary"));
    }

    #[test]
    fn however_many_targets_there_are_the_run_is_as_long() {
        for (targets, cores, seconds) in
            [(1, 2, 30), (28, 2, 21), (49, 2, 12), (56, 2, 10), (9000, 1, 1)]
        {
            assert_eq!(share(targets, cores), seconds, "{targets} on {cores}");
        }
    }

    #[test]
    fn a_fault_is_told_by_its_place_its_words_and_its_input() {
        let log = "INFO: seed 1\nthread 'a' panicked at fuzz/src/x.rs:3:4:\nassertion failed\n\
                   stack backtrace:\n   0: x\n==1== ERROR: libFuzzer: deadly signal\nMS: 2\n\
                   Test unit written to ./crash-1\n";
        let told = fault(log);
        for word in ["x.rs:3:4", "assertion failed", "deadly signal", "crash-1"] {
            assert!(told.contains(word), "{told}");
        }
        assert!(!told.contains("0: x"), "{told}");
        assert!(fault("clang: not found\n").contains("clang"));
    }

    #[test]
    fn statistics_are_read_by_name() {
        let log = "stat::number_of_executed_units: 123\nstat::average_exec_per_sec: 4\n";
        assert_eq!(statistic(log, "stat::number_of_executed_units:"), Some(123));
        assert_eq!(statistic(log, "stat::other:"), None);
    }
}
