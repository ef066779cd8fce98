//! A run with somebody watching: one line on a terminal, and Ctrl-C.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use loadgen::{Live, Outcome, Plan, RunError};

use crate::bench::is_set;
use crate::live_line::LiveLine;

/// How soon a Ctrl-C is seen.
const LOOK: Duration = Duration::from_millis(50);

/// Runs a plan to its end, or until it is interrupted; one that is quiet shows no line.
pub(crate) fn run(
    plan: &Arc<Plan>,
    live: &Live,
    interrupted: &AtomicBool,
    is_quiet: bool,
) -> Result<Outcome, RunError> {
    std::thread::scope(|scope| {
        let load = scope.spawn(|| loadgen::run(plan, live));
        let (begin, mut line, mut before) = (Instant::now(), LiveLine::default(), 0);
        while !load.is_finished() {
            std::thread::sleep(LOOK);
            if is_set(interrupted) {
                live.stop();
            }
            if !is_quiet && line.is_time() {
                before = show(&mut line, plan, live, begin.elapsed(), before);
            }
        }
        line.keep();
        load.join().unwrap_or(Err(RunError::Panicked))
    })
}

/// Writes the line, and tells how many answers it told of.
fn show(line: &mut LiveLine, plan: &Plan, live: &Live, elapsed: Duration, before: u64) -> u64 {
    let glance = live.glance();
    let time = elapsed.as_secs();
    let until = plan.load.time().map_or_else(String::new, |all| format!(" of {}", all.as_secs()));
    let rate = glance.answered - before;
    let millis = |share| glance.latency.value_at_quantile(share) as f64 / 1_000.0;
    line.write(&format!(
        "{time}{until} s  {} answered  {rate}/s  p50 {:.1} ms  p99 {:.1} ms  {} failed",
        glance.answered,
        millis(0.5),
        millis(0.99),
        glance.failed
    ));
    glance.answered
}
