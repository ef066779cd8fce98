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
use loadgen::report::{Comparison, Summary};
use loadgen::{Live, Plan, RunError};

use crate::bench::typed::Format;
use crate::bench::{Bench, STOPPED, introduce, is_set, plan, verdict, watch};

/// Loads both, and tells whether the second differs.
pub(crate) fn run(
    typed: &Bench,
    first: &Arc<Plan>,
    other: &str,
    interrupted: &AtomicBool,
) -> Result<ExitCode, Box<dyn Error>> {
    let typed_second = Bench { url: Some(other.to_owned()), vs: None, ..typed.clone() };
    // All but the address is the first one's, the time of a round too.
    let second = plan::of(&typed_second)?;
    let second = Arc::new(Plan { load: first.load.clone(), ..second });
    introduce(&second);
    let mut rounds = Vec::new();
    for number in 0..typed.rounds {
        let measured = if number % 2 == 0 {
            let one = measure(first, interrupted)?;
            (one, measure(&second, interrupted)?)
        } else {
            let two = measure(&second, interrupted)?;
            (measure(first, interrupted)?, two)
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
    let name = typed.url.as_deref().unwrap_or_default();
    let comparison = Comparison::of_rounds(name, other, &rounds);
    let shown = match typed.format {
        Some(Format::Json) => comparison.json(),
        _ => comparison.text(),
    };
    std::io::stdout().write_all(shown.as_bytes())?;
    Ok(if is_set(interrupted) { ExitCode::from(STOPPED) } else { verdict(&comparison) })
}

fn measure(plan: &Arc<Plan>, interrupted: &AtomicBool) -> Result<Summary, RunError> {
    let live = Live::new(plan.threads);
    let outcome = watch::run(plan, &live, interrupted)?;
    Ok(Summary::of(plan, &outcome))
}
