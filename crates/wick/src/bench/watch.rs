//! A run with somebody watching: one line on a terminal, and Ctrl-C.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use base::complaint::write;
use loadgen::{Live, Outcome, Plan, RunError};

use crate::bench::is_set;

/// How soon a Ctrl-C is seen.
const LOOK: Duration = Duration::from_millis(50);
/// How often the line is written anew.
const LINE: Duration = Duration::from_secs(1);

/// Runs a plan to its end, or until it is interrupted.
pub(crate) fn run(
    plan: &Arc<Plan>,
    live: &Live,
    interrupted: &AtomicBool,
) -> Result<Outcome, RunError> {
    let shows = std::io::stderr().is_terminal();
    std::thread::scope(|scope| {
        let load = scope.spawn(|| loadgen::run(plan, live));
        let (begin, mut lines, mut before) = (Instant::now(), 0, 0);
        while !load.is_finished() {
            std::thread::sleep(LOOK);
            if is_set(interrupted) {
                live.stop();
            }
            if shows && begin.elapsed() >= LINE * (lines + 1) {
                lines += 1;
                before = show(plan, live, begin.elapsed(), before);
            }
        }
        if shows && lines > 0 {
            write(format_args!(""));
        }
        load.join().unwrap_or(Err(RunError::Panicked))
    })
}

/// Writes the line, and tells how many answers it told of.
fn show(plan: &Plan, live: &Live, elapsed: Duration, before: u64) -> u64 {
    let glance = live.glance();
    let time = elapsed.as_secs();
    let until = plan.load.time().map_or_else(String::new, |all| format!(" of {}", all.as_secs()));
    let rate = glance.answered - before;
    let millis = |share| glance.latency.value_at_quantile(share) as f64 / 1_000.0;
    let line = format!(
        "{time}{until} s  {} answered  {rate}/s  p50 {:.1} ms  p99 {:.1} ms  {} failed",
        glance.answered,
        millis(0.5),
        millis(0.99),
        glance.failed
    );
    // The line before may have been longer: the rest of the row is cleared.
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("\r{line}\x1b[K").as_bytes());
    glance.answered
}
