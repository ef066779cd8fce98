//! The load on a server, and what answering it took.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::oneshot;

use crate::announce::say;
use crate::figures::{Side, grouped};
use crate::load::Load;
use crate::processor;
use crate::run::{RunError, Running, single_threaded};
use crate::signals::Signals;

use super::exhibit::Exhibit;

/// Visitors at one time.
pub(super) const VISITORS: usize = 16;
/// Load before the measurement, so that the caches of PHP, of the app and of Wick are
/// filled. At first it is one visitor: an app may stumble when all come to a page that it
/// has never made.
const WARM_UPS: [(usize, Duration); 2] =
    [(1, Duration::from_millis(750)), (VISITORS, Duration::from_millis(750))];

/// Puts load on a server, with a line of progress on a terminal, until it is over or
/// somebody has had enough.
pub(super) async fn measure(
    what: &str,
    running: &Running,
    exhibit: &Exhibit,
    time: Duration,
    signals: &mut Signals,
) -> Result<Side, RunError> {
    let answered = Arc::new(AtomicU64::new(0));
    let (address, paths) = (running.addresses[0], exhibit.paths);
    let mut groups = running.php_groups();
    groups.extend(exhibit.database_group());
    let (sender, result) = oneshot::channel();
    let (runtime, counted, server) = (single_threaded()?, answered.clone(), running.server.clone());
    // The load has a thread of its own, so that its processor time can be told from Wick's.
    let load = std::thread::Builder::new().name("load".into()).spawn(move || {
        runtime.block_on(async {
            let mut sender = sender;
            let fetches = || server.counters().fetches.read();
            tokio::select! {
                side = run_load((address, paths), &groups, time, &counted, fetches) => {
                    // Nobody listens any more if the demo was stopped in the same moment.
                    let _ = sender.send(side);
                }
                () = sender.closed() => {}
            }
        });
    });
    let load = load.map_err(|error| RunError::System("a thread", error))?;
    let side = tokio::select! {
        side = result => side.map_err(|_| RunError::System("the load", io::Error::other("it broke off"))),
        () = progress(what, time, &answered) => Err(RunError::Interrupted),
        () = signals.stop() => Err(RunError::Interrupted),
    };
    if load.join().is_err() {
        return Err(RunError::System("the load", io::Error::other("it panicked")));
    }
    if io::stdout().is_terminal() {
        say("\r\x1b[K");
    }
    let side = side?;
    let pages = grouped(side.answers() as f64);
    say(&format!("  {what:<12} {} {pages:>12} pages\n", bar(1.0)));
    Ok(side)
}

async fn run_load(
    (address, paths): (SocketAddr, &[&str]),
    groups: &[u32],
    time: Duration,
    answered: &AtomicU64,
    fetches: impl Fn() -> u64,
) -> Side {
    let host = address.to_string();
    let load = Load { host: &host, paths, visitors: VISITORS };
    let dial = async || {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    };
    let mut warm_up_failures = BTreeMap::new();
    for (visitors, time) in WARM_UPS {
        let warm_up = Load { visitors, ..load }.run(&dial, time, &AtomicU64::new(0)).await;
        warm_up_failures.extend(warm_up.failures);
    }
    let spent = || {
        let others: Duration = groups.iter().map(|&group| processor::of_group(group)).sum();
        (processor::of_process() + others).saturating_sub(processor::of_thread())
    };
    let start = (spent(), fetches());
    let mut measured = load.run(&dial, time, answered).await;
    let processor = spent().saturating_sub(start.0);
    let made_by_php = fetches() - start.1;
    // What fails while warming up fails the measurement too.
    for (what, count) in warm_up_failures {
        *measured.failures.entry(what).or_default() += count;
    }
    Side { measured, processor, made_by_php }
}

/// Shows how far it is; never ends.
async fn progress(what: &str, time: Duration, answered: &AtomicU64) {
    if !io::stdout().is_terminal() {
        return std::future::pending().await;
    }
    let start = tokio::time::Instant::now();
    let warm_up: Duration = WARM_UPS.iter().map(|(_, time)| *time).sum();
    let mut tick = tokio::time::interval(Duration::from_millis(100));
    loop {
        tick.tick().await;
        let pages = grouped(answered.load(Ordering::Relaxed) as f64);
        let share = start.elapsed().saturating_sub(warm_up).as_secs_f64() / time.as_secs_f64();
        say(&format!("\r\x1b[K  {what:<12} {} {pages:>12} pages", bar(share.min(1.0))));
    }
}

fn bar(share: f64) -> String {
    format!("[{:<24}]", "#".repeat((share * 24.0) as usize))
}
