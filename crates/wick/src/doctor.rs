//! `wick doctor`: what this machine should change, and trying it with a way back.
//!
//! The advice is the `doctor` crate's; here it is asked for, shown, agreed to and watched.
//! Exit status: 0 nothing to do, 1 findings (or a change that was taken back), 2 it could not
//! look, or do what it was told to.

mod traffic;
mod trial;

use std::error::Error;
use std::io::{self, BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use base::complaint::complain;
use changes::Address;
use doctor::apply::{Plan, Pulse, roll_back, set_aside_written, watch};
use doctor::read::{LookError, Options, PATIENCE, Root, glance, look};
use doctor::report::Report;
use doctor::{Budget, Finding, Machine, checks};

use crate::announce::say;
use crate::arguments::{Doctor, DoctorFormat};
use crate::observing::history_folder;
use crate::plan::default_state;
use crate::run::single_threaded;

/// There was something to do.
const FOUND: u8 = 1;
/// Nothing could be said or done.
const FAILED: u8 = 2;
/// Where databases are named that others shall not see the password of.
const MYSQL: &str = "WICK_DOCTOR_MYSQL";
const POSTGRES: &str = "WICK_DOCTOR_POSTGRES";

/// `wick doctor`.
pub(crate) fn run(wanted: &Doctor) -> ExitCode {
    match act(wanted) {
        Ok(code) => ExitCode::from(code),
        Err(problem) => {
            complain(&problem);
            ExitCode::from(FAILED)
        }
    }
}

fn act(wanted: &Doctor) -> Result<u8, Box<dyn Error>> {
    let options = Options {
        root: wanted.root.clone().unwrap_or_else(|| PathBuf::from("/")),
        window: wanted.window,
        patience: PATIENCE,
        mysql: address(&wanted.mysql, MYSQL)?,
        postgres: address(&wanted.postgres, POSTGRES)?,
        backups: wanted.backups.clone(),
    };
    let state = wanted.state.clone().unwrap_or_else(default_state);
    single_threaded()?.block_on(async {
        if wanted.rollback {
            let machine = glance(&options).await?;
            let finding = roll_back(&options, &machine, &state).await?;
            say(&format!("Taken back: {finding}.\n"));
            return Ok(0);
        }
        let (machine, report) = examine(&options, &history_folder(&state)).await?;
        if wanted.trial.is_some() {
            return trial::run(wanted, (&machine, &report), &options, &state).await;
        }
        match wanted.apply {
            None => {
                show(wanted, &report)?;
                Ok(if report.findings.is_empty() { 0 } else { FOUND })
            }
            Some(number) => {
                let finding = number.checked_sub(1).and_then(|at| report.findings.get(at));
                let finding = finding.ok_or_else(|| {
                    format!(
                        "there is no number {number}: wick doctor tells the {} there are",
                        report.findings.len()
                    )
                })?;
                apply(wanted, finding, &machine, &options, &state).await
            }
        }
    })
}

/// As an argument or a variable: others see the arguments of a program, with a password in them.
fn address(
    argument: &Option<String>,
    variable: &str,
) -> Result<Option<Address>, changes::AddressError> {
    let text = argument.clone().or_else(|| std::env::var(variable).ok());
    text.map(|text| text.parse()).transpose()
}

/// What the running Wick finds on its own machine.
pub(crate) async fn report(history: &Path, window: Duration) -> Result<Report, Box<dyn Error>> {
    let (mysql, postgres) = (address(&None, MYSQL)?, address(&None, POSTGRES)?);
    let options = Options { mysql, postgres, ..Options::at(PathBuf::from("/"), window) };
    Ok(examine(&options, history).await?.1)
}

async fn examine(options: &Options, history: &Path) -> Result<(Machine, Report), LookError> {
    let mut machine = look(options).await?;
    machine.traffic = traffic::traffic(history, options.window);
    let budget = Budget::of(&machine);
    let mut examination = checks::examine(&machine, &budget);
    set_aside_written(&mut examination, &machine, &Root::new(&options.root));
    let report = Report::new(examination, &machine, budget);
    Ok((machine, report))
}

fn show(wanted: &Doctor, report: &Report) -> Result<(), serde_json::Error> {
    match wanted.format {
        DoctorFormat::Text => say(&report.text(wanted.all)),
        DoctorFormat::Json => say(&format!("{}\n", serde_json::to_string_pretty(report)?)),
    }
    Ok(())
}

async fn apply(
    wanted: &Doctor,
    finding: &Finding,
    machine: &Machine,
    options: &Options,
    state: &Path,
) -> Result<u8, Box<dyn Error>> {
    let plan = Plan::of(finding, &Root::new(&options.root))?;
    say(&format!("{}: {}\n\n{}\n", finding.id, finding.fix.words, plan.difference()));
    if !wanted.yes && !agreed()? {
        say("Nothing was changed.\n");
        return Ok(FOUND);
    }
    let history = history_folder(state);
    let visitors = || traffic::visitors(&history);
    let before = Pulse::of(machine, visitors());
    for note in plan.apply(options, machine, state).await? {
        say(&format!("Still to do: {note}\n"));
    }
    say(&format!("Applied. Watching for {} s.\n", wanted.watch.as_secs()));
    if let Some(why) = watch(before, options, wanted.watch, visitors).await {
        roll_back(options, machine, state).await?;
        say(&format!("It was taken back: {why}.\n"));
        return Ok(FOUND);
    }
    say("Nothing got worse. \"wick doctor --rollback\" takes it back.\n");
    Ok(0)
}

fn agreed() -> Result<bool, Box<dyn Error>> {
    if !io::stdin().is_terminal() {
        return Err("nobody can be asked here: say --yes to do it without asking".into());
    }
    say("Do this? [y/N] ");
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}
