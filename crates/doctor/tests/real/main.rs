//! Real servers: a MariaDB and a php-fpm, set badly and well, asked as a machine's are.
//!
//! Without their packages a test checks nothing and says so loudly. What is found of each fault is
//! printed, as lines of a table.

#[path = "../../../changes/tests/shared/daemon.rs"]
#[allow(dead_code, reason = "nothing is installed once for all here")]
mod daemon;
mod mariadb;
mod php;
mod postgres;
mod web;

use std::path::{Path, PathBuf};
use std::time::Duration;

use changes::Address;
use doctor::checks::{self, Examination};
use doctor::read::{Options, look};
use doctor::{Budget, Finding, Machine};

/// A machine whose programs and kernel are real, and whose settings lie in a folder.
fn root() -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a folder");
    for name in ["proc", "sys"] {
        std::os::unix::fs::symlink(Path::new("/").join(name), root.path().join(name))
            .expect("a link");
    }
    root
}

fn options(root: PathBuf, mysql: Option<Address>) -> Options {
    // On a machine that does much else servers answer late.
    let patience = Duration::from_secs(60);
    Options { mysql, patience, ..Options::at(root, Duration::from_millis(1)) }
}

async fn examine(options: &Options) -> (Machine, Examination) {
    let machine = look(options).await.expect("a machine");
    let examination = checks::examine(&machine, &Budget::of(&machine));
    (machine, examination)
}

fn find<'a>(examination: &'a Examination, id: &str) -> Option<&'a Finding> {
    examination.findings.iter().find(|finding| finding.id == id)
}

/// Prints what was found of each fault of a server, as a line of the table of `bench/doctor --only
/// faults`, and wants all of them.
fn all_found(server: &str, faults: &[(&str, &str)], examination: &Examination) {
    let is_found = |id: &str| find(examination, id).is_some();
    for (id, made_by) in faults {
        let found = if is_found(id) { "yes" } else { "NO" };
        println!("| `{id}` | {server}: {made_by} | {found} | – |");
    }
    let missed: Vec<_> = faults.iter().filter(|(id, _)| !is_found(id)).collect();
    assert!(missed.is_empty(), "{server}: {missed:?} of {:?}", examination.findings);
}

/// Of a tuned server nothing is found by any of the checks with these numbers, which are about it;
/// what else is wrong with this machine isn't its fault.
fn nothing_found(
    server: &str,
    numbers: &[std::ops::RangeInclusive<u8>],
    examination: &Examination,
) {
    let mut about = checks::all();
    about.retain(|check| numbers.iter().any(|numbers| numbers.contains(&check.number)));
    let found = examination.findings.iter();
    let found: Vec<_> = found.filter(|one| about.iter().any(|check| check.id == one.id)).collect();
    println!("| – | {server}: tuned | – | {} |", found.len());
    assert!(found.is_empty(), "{server}: {found:?}");
}

fn is_fine(examination: &Examination, id: &str) -> bool {
    examination.fine.iter().any(|remark| remark.id == id)
}
