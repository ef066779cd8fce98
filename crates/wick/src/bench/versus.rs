//! `--vs`: two targets in turns, so that what the machine does besides falls on both.
//!
//! Invariant: the order turns round with each round (A B, B A, …), so that neither is always the
//! one who finds the machine as the other left it.

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use base::complaint::complain;
use loadgen::report::{self, Comparison, Summary};
use loadgen::{Live, Plan, RunError};

use crate::bench::plan::PlanError;
use crate::bench::typed::Format;
use crate::bench::{Bench, STOPPED, introduce, is_set, keep, plan, verdict, watch};

/// Loads both, and tells whether the second differs.
pub(crate) fn run(
    typed: &Bench,
    first: &Arc<Plan>,
    other: &str,
    interrupted: &AtomicBool,
) -> Result<ExitCode, Box<dyn Error>> {
    if typed.addresses.len() > 1 {
        return Err(PlanError::SeveralVersus.into());
    }
    let steps = typed.steps.iter().map(|step| step.at(other)).collect();
    let (addresses, region) = (vec![other.to_owned()], None);
    let typed_second = Bench { addresses, region, steps, vs: None, ..typed.clone() };
    // All but the address is the first one's, the time of a round too.
    let second = plan::of(&typed_second)?;
    let second = Arc::new(Plan { load: first.load.clone(), ..second });
    if !typed.ab.quiet {
        introduce(&second);
    }
    let (mut rounds, is_quiet) = (Vec::new(), typed.ab.quiet);
    for number in 0..typed.rounds {
        let measured = if number % 2 == 0 {
            let one = measure(first, interrupted, is_quiet)?;
            (one, measure(&second, interrupted, is_quiet)?)
        } else {
            let two = measure(&second, interrupted, is_quiet)?;
            (measure(first, interrupted, is_quiet)?, two)
        };
        if is_set(interrupted) {
            break;
        }
        let median = |summary: &Summary| summary.latency.p50_us as f64 / 1_000.0;
        complain(format_args!(
            "round {} of {}: medians of {:.3} and {:.3} ms{}",
            number + 1,
            typed.rounds,
            median(&measured.0),
            median(&measured.1),
            if measured.0.void.is_some() || measured.1.void.is_some() { ", void" } else { "" }
        ));
        rounds.push(measured);
    }
    let name = plan::addresses(typed).first().copied().unwrap_or_default();
    let comparison = Comparison::of_rounds(name, other, &rounds);
    let shown = match typed.format {
        Some(Format::Json) => comparison.json(),
        _ => comparison.text(),
    };
    std::io::stdout().write_all(shown.as_bytes())?;
    if let Some(path) = &typed.html {
        keep(path, report::html_of_comparison(&comparison).as_bytes())?;
    }
    if let Some(path) = &typed.save {
        keep(path, comparison.json().as_bytes())?;
    }
    Ok(if is_set(interrupted) { ExitCode::from(STOPPED) } else { verdict(&comparison) })
}

fn measure(
    plan: &Arc<Plan>,
    interrupted: &AtomicBool,
    is_quiet: bool,
) -> Result<Summary, RunError> {
    let live = Live::new(plan.threads);
    let outcome = watch::run(plan, &live, interrupted, is_quiet)?;
    Ok(Summary::of(plan, &outcome))
}
