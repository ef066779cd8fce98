//! The load on a server, and what answering it took.
//!
//! Closed model: each of a few connections asks again as soon as it is answered. Good enough
//! to compare a server with itself; the load is that of `wick bench`.

use std::error::Error;
use std::io::{self, IsTerminal};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use loadgen::plan::{Closed, Load, Protocol, Work};
use loadgen::request::{Mix, Request, Wanted};
use loadgen::target::Target;
use loadgen::{Live, Plan};
use tokio::sync::oneshot;

use crate::announce::say;
use crate::figures::{Measured, Side, grouped};
use crate::processor;
use crate::run::{RunError, Running};
use crate::signals::Signals;

use super::exhibit::Exhibit;

/// Visitors at one time.
pub(super) const VISITORS: usize = 16;
/// Load before the measurement, so that the caches of PHP, of the app and of Wick are
/// filled. At first it is one visitor: an app may stumble when all come to a page that it
/// has never made.
const WARM_UPS: [(usize, Duration); 2] =
    [(1, Duration::from_millis(750)), (VISITORS, Duration::from_millis(750))];

/// No answer may take longer.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Puts load on a server, with a line of progress on a terminal, until it is over or
/// somebody has had enough.
pub(super) async fn measure(
    what: &str,
    running: &Running,
    exhibit: &Exhibit,
    time: Duration,
    signals: &mut Signals,
) -> Result<Side, RunError> {
    let stages: Result<Vec<_>, RunError> = WARM_UPS
        .into_iter()
        .chain([(VISITORS, time)])
        .map(|(visitors, time)| {
            let plan = plan(running.addresses[0], exhibit.paths, visitors, time).map_err(broken)?;
            Ok((Arc::new(plan), Arc::new(Live::new(1))))
        })
        .collect();
    let stages = stages?;
    let lives: Vec<_> = stages.iter().map(|(_, live)| Arc::clone(live)).collect();
    let mut groups = running.php_groups();
    groups.extend(exhibit.database_group());
    let (sender, result) = oneshot::channel();
    let server = running.server.clone();
    let load = std::thread::Builder::new().name("load".into()).spawn(move || {
        let side = run_load(&stages, &groups, || server.counters().fetches.read());
        // Nobody listens any more if the demo was stopped meanwhile.
        let _ = sender.send(side);
    });
    let load = load.map_err(|error| RunError::System("a thread", error))?;
    let side = tokio::select! {
        side = result => side.map_err(|_| broken("it broke off")).flatten(),
        () = progress(what, time, &lives) => Err(RunError::Interrupted),
        () = signals.stop() => Err(RunError::Interrupted),
    };
    lives.iter().for_each(|live| live.stop());
    if load.join().is_err() {
        return Err(broken("it panicked"));
    }
    if io::stdout().is_terminal() {
        say("\r\x1b[K");
    }
    let side = side?;
    let pages = grouped(side.measured.answers as f64);
    say(&format!("  {what:<12} {} {pages:>12} pages\n", bar(1.0)));
    Ok(side)
}

fn broken(why: impl Into<Box<dyn Error + Send + Sync>>) -> RunError {
    RunError::System("the load", io::Error::other(why))
}

/// Visitors who ask for these pages, each page as often as another.
fn plan(
    address: SocketAddr,
    paths: &[&str],
    visitors: usize,
    time: Duration,
) -> Result<Plan, Box<dyn Error + Send + Sync>> {
    let (target, _) = Target::parse(&format!("http://{address}/"))?;
    let mut requests = Vec::new();
    for path in paths {
        requests.push((Request::new(Wanted::get(*path), &target, true)?, 1.0));
    }
    let (requests, rate_max, think) = (Mix::new(requests)?, None, Duration::ZERO);
    Ok(Plan {
        target,
        work: Work::Requests(requests),
        load: Load::Closed(Closed { requests: None, time: Some(time), rate_max, think }),
        connections: visitors,
        keeps: true,
        timeout: TIMEOUT,
        threads: 1,
        visitors: 0,
        protocol: Protocol::Http1,
        verifies: true,
    })
}

/// The warm-ups, and then what is measured.
fn run_load(
    stages: &[(Arc<Plan>, Arc<Live>)],
    groups: &[u32],
    fetches: impl Fn() -> u64,
) -> Result<Side, RunError> {
    let spent = || {
        let others: Duration = groups.iter().map(|&group| processor::of_group(group)).sum();
        processor::of_process() + others
    };
    let mut side = Side::default();
    let mut failures = Vec::new();
    for (plan, live) in stages {
        let start = (spent(), fetches());
        let outcome = loadgen::run(plan, live).map_err(broken)?;
        let processor = spent().saturating_sub(start.0).saturating_sub(outcome.cpu);
        let measured = Measured::of(&outcome);
        failures.extend(measured.failures.clone());
        side = Side { measured, processor, made_by_php: fetches() - start.1 };
    }
    // What fails while warming up fails the measurement too.
    side.measured.failures.clear();
    for (what, count) in failures {
        *side.measured.failures.entry(what).or_default() += count;
    }
    Ok(side)
}

/// Shows how far it is; never ends.
async fn progress(what: &str, time: Duration, lives: &[Arc<Live>]) {
    if !io::stdout().is_terminal() {
        return std::future::pending().await;
    }
    let start = tokio::time::Instant::now();
    let warm_up: Duration = WARM_UPS.iter().map(|(_, time)| *time).sum();
    let mut tick = tokio::time::interval(Duration::from_millis(100));
    loop {
        tick.tick().await;
        // The last is what is measured.
        let answered = lives.last().map_or(0, |live| live.glance().answered);
        let pages = grouped(answered as f64);
        let share = start.elapsed().saturating_sub(warm_up).as_secs_f64() / time.as_secs_f64();
        say(&format!("\r\x1b[K  {what:<12} {} {pages:>12} pages", bar(share.min(1.0))));
    }
}

fn bar(share: f64) -> String {
    format!("[{:<24}]", "#".repeat((share * 24.0) as usize))
}
