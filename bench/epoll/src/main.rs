//! The programs that the measurements need and Debian does not carry.
//!
//! `page` is the yardstick: the least a server can do for a page from memory.
//! `origin` serves any number of distinct pages and counts who asked.
//! `crowd` and `walk` are visitors: many at once for one page, few for many pages.
//! All are plain level-triggered epoll loops. Start at [`run`].

mod answer;
mod crowd;
mod listen;
mod origin;
mod page;
mod pages;
mod walk;

use std::io;
use std::process::ExitCode;
use std::time::Duration;

const USAGE: &str = "\
usage: bench-epoll page ADDRESS BODY_BYTES [THREADS [WORK_US]]
       bench-epoll origin ADDRESS [tagged]
       bench-epoll crowd ADDRESS PATH BODY_BYTES VISITORS
       bench-epoll walk ADDRESS FIRST LAST BODY_BYTES|mixed CONNECTIONS";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-epoll: {error}");
            ExitCode::FAILURE
        }
    }
}

/// One program a first word; each ends when it is done or killed.
fn run(words: &[&str]) -> io::Result<()> {
    match *words {
        ["page", address, bytes] => page::serve(parse(address)?, parse(bytes)?, 1, Duration::ZERO),
        ["page", address, bytes, threads] => {
            page::serve(parse(address)?, parse(bytes)?, parse(threads)?, Duration::ZERO)
        }
        ["page", address, bytes, threads, work] => {
            let work = Duration::from_micros(parse(work)?);
            page::serve(parse(address)?, parse(bytes)?, parse(threads)?, work)
        }
        ["origin", address] => origin::serve(parse(address)?, false),
        ["origin", address, "tagged"] => origin::serve(parse(address)?, true),
        ["crowd", address, path, bytes, visitors] => {
            crowd::gather(parse(address)?, path, parse(bytes)?, parse(visitors)?)
        }
        ["walk", address, first, last, bytes, connections] => {
            let sizes = if bytes == "mixed" {
                pages::Sizes::Mixed
            } else {
                pages::Sizes::Same(parse(bytes)?)
            };
            walk::walk(parse(address)?, parse(first)?..=parse(last)?, sizes, parse(connections)?)
        }
        _ => Err(io::Error::other(USAGE)),
    }
}

fn parse<T: std::str::FromStr>(word: &str) -> io::Result<T> {
    word.parse().map_err(|_| io::Error::other(format!("cannot read \"{word}\"\n{USAGE}")))
}
