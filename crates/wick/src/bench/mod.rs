//! `wick bench`: what was typed becomes a plan, is watched while it runs, and is reported.
//!
//! The load itself is the `loadgen` crate's. Invariant: standard output has the report alone;
//! who is loaded, and how far it is, goes to standard error.

mod blitz;
mod history;
mod plan;
mod typed;
mod typed_ab;
mod variable;
mod versus;
mod watch;

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use base::complaint::write;
use loadgen::plan::Work;
use loadgen::report::{self, Comparison, Summary};
use loadgen::{Live, Outcome, Plan};

pub(crate) use self::blitz::translate;
use self::plan::PlanError;
pub(crate) use self::typed::Bench;
use self::typed::Format;

/// The run is void.
const VOID: u8 = 3;
/// The second of two is slower.
const SLOWER: u8 = 4;
/// Stopped by Ctrl-C: as a shell tells it of who dies of that signal.
const STOPPED: u8 = 130;

/// Loads, and reports.
pub(crate) fn run(typed: &Bench) -> Result<ExitCode, Box<dyn Error>> {
    let plan = Arc::new(plan::of(typed)?);
    let before = typed.compare.as_deref().map(saved).transpose()?;
    let interrupted = listen()?;
    if !typed.ab.quiet {
        introduce(&plan);
    }
    if let Some(other) = &typed.vs {
        return versus::run(typed, &plan, other, &interrupted);
    }
    let live = Live::new(plan.threads);
    let start = SystemTime::now();
    let outcome = watch::run(&plan, &live, &interrupted, typed.ab.quiet)?;
    let summary = Summary::of(&plan, &outcome);
    let shown = shown(typed, &plan, &outcome, &summary);
    std::io::stdout().write_all(shown.as_bytes())?;
    if let Some(path) = &typed.html {
        keep(path, report::html(&summary).as_bytes())?;
    }
    if let Some(path) = &typed.hdr {
        let mut log = Vec::new();
        report::hdr(&outcome.tally.timeline, start, &mut log)?;
        keep(path, &log)?;
    }
    if let Some(path) = &typed.save {
        keep(path, summary.json().as_bytes())?;
    }
    if let Some(path) = &typed.ab.csv {
        keep(path, report::ab_percentages(&outcome).as_bytes())?;
    }
    let Some(before) = before else { return Ok(status(&outcome)) };
    let comparison = Comparison::of_runs(&before, &summary);
    // JSON has its line of its own to be read by; a second one would end up in it.
    match typed.format {
        Some(Format::Json) => write(format_args!("\n{}", comparison.text())),
        _ => std::io::stdout().write_all(format!("\n{}", comparison.text()).as_bytes())?,
    }
    Ok(if outcome.is_stopped { status(&outcome) } else { verdict(&comparison) })
}

fn introduce(plan: &Plan) {
    let (host, address) = (&plan.target.authority, plan.target.shown());
    write(format_args!("loading {host} at {address}; Ctrl-C ends it with the report so far"));
}

/// A report that was kept.
fn saved(path: &Path) -> Result<Summary, PlanError> {
    let read = serde_json::from_slice::<Summary>(&plan::read(path)?);
    let wrong = || PlanError::Saved { path: path.to_owned() };
    read.ok().filter(|summary| summary.form == report::summary::FORM).ok_or_else(wrong)
}

fn verdict(comparison: &Comparison) -> ExitCode {
    match comparison.deciding() {
        None => ExitCode::from(VOID),
        Some(one) if one.is_one() && one.share > 0.0 => ExitCode::from(SLOWER),
        Some(_) => ExitCode::SUCCESS,
    }
}

fn shown(typed: &Bench, plan: &Plan, outcome: &Outcome, summary: &Summary) -> String {
    let is_ab = typed.requests.is_some() || typed.time_limit.is_some();
    let usual = if is_ab { Format::Ab } else { Format::Text };
    match typed.format.unwrap_or(usual) {
        Format::Text => report::text(summary),
        Format::Json => summary.json(),
        Format::Ab => {
            let ab = &typed.ab;
            let looks = report::AbLooks {
                percentages: !ab.no_percentages,
                deviations: !ab.no_deviations,
                any_length: ab.any_length,
            };
            match &plan.work {
                Work::Requests(mix) => report::ab(plan, outcome, &mix.all()[0], looks),
                // ab knows no scenarios and no logs, so it has no words for them.
                Work::Stories(_) | Work::Recorded(_) => report::text(summary),
            }
        }
    }
}

fn keep(path: &Path, bytes: &[u8]) -> Result<(), PlanError> {
    std::fs::write(path, bytes).map_err(|error| PlanError::File { path: path.to_owned(), error })
}

fn status(outcome: &Outcome) -> ExitCode {
    match (outcome.is_stopped, outcome.void()) {
        (true, _) => ExitCode::from(STOPPED),
        (false, Some(_)) => ExitCode::from(VOID),
        (false, None) => ExitCode::SUCCESS,
    }
}

/// A flag that Ctrl-C sets; a second one ends the process at once.
pub(crate) fn listen() -> std::io::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        let (second, first) = (Arc::clone(&flag), Arc::clone(&flag));
        signal_hook::flag::register_conditional_shutdown(signal, i32::from(STOPPED), second)?;
        signal_hook::flag::register(signal, first)?;
    }
    Ok(flag)
}

pub(crate) fn read_duration(text: &str) -> Result<Duration, String> {
    base::amount::parse_duration(text).map_err(|error| error.to_string())
}

fn is_set(flag: &AtomicBool) -> bool {
    flag.load(Ordering::Relaxed)
}
