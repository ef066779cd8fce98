//! Real servers: a MariaDB and a php-fpm, set badly and well, asked as a machine's are.
//!
//! Without their packages a test checks nothing and says so loudly.

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
    Options { root, window: Duration::from_millis(1), mysql, postgres: None, backups: None }
}

async fn examine(options: &Options) -> (Machine, Examination) {
    let machine = look(options).await.expect("a machine");
    let examination = checks::examine(&machine, &Budget::of(&machine));
    (machine, examination)
}

fn find<'a>(examination: &'a Examination, id: &str) -> Option<&'a Finding> {
    examination.findings.iter().find(|finding| finding.id == id)
}

fn is_fine(examination: &Examination, id: &str) -> bool {
    examination.fine.iter().any(|remark| remark.id == id)
}
