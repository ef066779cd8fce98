//! What a person reads at start and at stop.

use std::net::SocketAddr;

use base::amount::show_bytes;
use server::Server;

use crate::plan::Plan;

/// Says where it listens, what was found, and what to do next.
pub(crate) fn start(plan: &Plan, addresses: &[SocketAddr], found: &[String]) {
    for line in found {
        println!("  {line}");
    }
    println!("  cache     {} of memory, on {} threads", show_bytes(plan.memory_bytes), plan.threads);
    println!("  state     {}", plan.state.display());
    for address in addresses {
        println!("  listening http://{address}/");
    }
    if let Some(address) = addresses.first() {
        println!("\nTry it:  curl -sD- -o /dev/null http://{address}/   (Cache-Status tells why)");
    }
    if addresses.iter().all(|address| address.ip().is_loopback()) {
        println!("Only this machine can reach it; --listen 0.0.0.0:80 opens it to the world.");
    }
    println!("Ctrl-C stops it.");
}

/// Says what was done, so that a short run tells something too.
pub(crate) fn stop(server: &Server, log_lost: u64) {
    let counters = server.counters();
    let answers = counters.answers();
    println!("\nStopped after {answers} answers, {} asked of the origin.", counters.fetches.read());
    let mut verdicts: Vec<_> = counters.verdicts().collect();
    verdicts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    for (verdict, count) in verdicts.iter().take(8) {
        println!("  {:>5.1} %  {verdict}", *count as f64 * 100.0 / answers.max(1) as f64);
    }
    for (count, what) in [
        (counters.panics.read(), "tasks panicked, which is a defect of Wick's: please report it"),
        (counters.connections_refused.read(), "connections were turned away: there were too many"),
        (counters.connections_late.read(), "connections were closed for want of progress"),
        (counters.accept_failures.read(), "connections could not be accepted: raise the limit on open files"),
        (log_lost, "log lines were lost because the disk was too slow"),
    ] {
        if count > 0 {
            println!("  {count} {what}");
        }
    }
}
