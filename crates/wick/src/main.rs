//! The door: reads the command line and hands over.

#![cfg_attr(not(test), warn(clippy::print_stderr, reason = "it panics where nobody reads"))]

mod admin;
mod announce;
mod app;
mod arguments;
mod audit;
mod auditing;
mod bench;
mod certificates;
mod changes;
mod check;
mod cluster;
mod companions;
mod control;
mod demo;
mod descriptors;
mod dictionary;
mod disk;
mod doctor;
mod figures;
mod finishing;
mod import;
mod listening;
mod live_line;
mod log;
#[cfg(test)]
mod manual;
mod markup;
mod memory;
mod notebook;
mod observing;
mod origins;
mod own_user;
mod pages;
mod plan;
mod post;
mod processor;
mod queries;
mod reload;
mod rulings;
mod run;
mod search;
mod service;
mod settings;
mod signals;
mod sites;
mod sphinx;
mod top;
mod traces;
mod tracker;
mod upgrade;

use std::error::Error;
use std::process::ExitCode;

use base::complaint::complain;

use crate::arguments::{Arguments, Command, DictionaryCommand};
use crate::run::RunError;

/// glibc's allocator keeps what many threads freed; this one gives it back, and its
/// size classes are what the store weighs by.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let arguments = match Arguments::read(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(error) => error.exit(),
    };
    match act(&arguments.command) {
        Ok(status) => status,
        Err(problem) => {
            complain(&problem);
            ExitCode::FAILURE
        }
    }
}

fn act(command: &Command) -> Result<ExitCode, Box<dyn Error>> {
    match command {
        Command::Serve(serve) => run::serve(serve)?,
        Command::Demo(demo) => demo::run(demo)?,
        Command::Check(serve) => check::run(serve)?,
        Command::Explain(explain) => control::explain(explain).map_err(RunError::from)?,
        Command::Purge(purge) => control::purge(purge).map_err(RunError::from)?,
        Command::Overrule(wanted) => control::overrule(wanted).map_err(RunError::from)?,
        Command::Reload(reload) => control::reload(reload).map_err(RunError::from)?,
        Command::Upgrade(upgrade) => control::upgrade(upgrade).map_err(RunError::from)?,
        Command::Log(wanted) => observing::log::run(wanted).map_err(RunError::from)?,
        Command::Top(wanted) => top::run(wanted).map_err(RunError::from)?,
        Command::Cluster(wanted) => cluster::ask(wanted).map_err(RunError::from)?,
        Command::Sphinx(wanted) => sphinx::ask(wanted).map_err(RunError::from)?,
        Command::Tracker(wanted) => tracker::ask(wanted).map_err(RunError::from)?,
        Command::Search(wanted) => search::ask(wanted).map_err(RunError::from)?,
        Command::Dict(DictionaryCommand::Add(wanted)) => dictionary::add(wanted)?,
        Command::Completions(completions) => pages::completions(completions),
        Command::Manual(manual) => pages::manual(manual)?,
        Command::Follow(follow) => changes::follow(follow)?,
        Command::Import(import) => import::run(import)?,
        Command::Audit(wanted) => return Ok(audit::run(wanted)),
        Command::Bench(wanted) => return bench::run(wanted),
        // What it found is its status, too.
        Command::Doctor(wanted) => return Ok(doctor::run(wanted)),
        Command::Queries(wanted) => queries::run(wanted)?,
    }
    Ok(ExitCode::SUCCESS)
}
