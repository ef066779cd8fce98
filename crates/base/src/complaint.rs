//! What the owner is told on standard error, which may be a file on a disk that is full, or a
//! pipe that nobody reads any more: that is no reason to stop serving.
//!
//! Invariant: a line that can't be written is lost, and nothing else is; `eprintln!` would panic.

use std::fmt::{Arguments, Display};
use std::io::{self, Write};

/// Writes a line that says whose it is.
pub fn complain(what: impl Display) {
    write(format_args!("wick: {what}"));
}

/// Writes a line of somebody else's as it is.
pub fn write(line: Arguments<'_>) {
    // In one call, so that lines of several processes don't mix.
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}
