//! HTTP/2 by programs that others wrote, before the built binary: curl, nghttp, h2load, and
//! h2spec, which tries what the standard says frame by frame.
//!
//! `scripts/setup test` brings them; where one is missing its test says so and checks nothing.

mod attacks;
mod h2spec;
mod hints;
#[allow(dead_code, reason = "other tests need more of it")]
#[path = "../http3/origin.rs"]
mod origin;
mod programs;
mod raw;
mod specimen;
mod stranger;
#[allow(dead_code, reason = "other tests need more of it")]
#[path = "../command_line/wick.rs"]
mod wick;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::wick::{Wick, open_folder};

/// The program's path, if it is here; says so if not.
fn program(name: &str) -> Option<PathBuf> {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools");
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&folders).chain([tools]);
    let found = folders.find_map(|folder| Some(folder.join(name)).filter(|path| path.is_file()));
    if found.is_none() {
        eprintln!("SKIPPED: {name} is not installed (scripts/setup test installs it)");
    }
    found
}

/// Runs a program to its end; its output, and its complaints if it failed.
fn output(program: &Path, arguments: &[&str]) -> String {
    let ended = Command::new(program).args(arguments).output().expect("it can be run");
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    match ended.status.success() {
        true => said,
        false => format!("{}: {said}{}", ended.status, String::from_utf8_lossy(&ended.stderr)),
    }
}

/// A served folder with a page of this text.
fn serve_page(text: &str) -> (Wick, SocketAddr, TempDir) {
    let folder = open_folder();
    std::fs::write(folder.path().join("index.html"), text).expect("a file");
    let (wick, address) = Wick::serve(&[&folder.path().display().to_string()]);
    (wick, address, folder)
}
