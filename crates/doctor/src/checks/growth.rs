//! Whether PHP's children grow: only then is there a reason to end them after so many requests.
//!
//! A child grows at its first requests, whatever it runs: it makes room for the largest page that
//! it met. So only those that had answered a hundred before the window are looked at, and of
//! their growth the median: one that met a larger page than ever is no leak.

use base::amount::show_bytes;

use super::pools::change;
use super::{Advice, Check, Verdict, View, advice, fine, unseen};
use crate::finding::{Class, Confidence};
use crate::machine::{Machine, Pool};

/// Requests after which a child has its size.
const WARM_REQUESTS: f64 = 100.0;
/// Requests in the window from which on a child's growth says something.
const REQUESTS_MIN: f64 = 20.0;
/// And of all children of a pool together.
const TOGETHER_MIN: f64 = 100.0;
/// Growth in a hundred requests that is a leak.
const LEAK_BYTES: f64 = (1 << 20) as f64;

pub(super) const CHECKS: &[Check] = &[Check {
    number: 22,
    id: "max_requests",
    class: Class::Latent,
    needs: "pools of php-fpm",
    formula: "the median growth of Private_* of children that had answered 100 requests > 1 MiB in \
              100 requests of the window → as many as double a child; never fewer than 100",
    source: "PHP manual, FPM configuration; kernel smaps_rollup; the thresholds are ours",
    judge: max_requests,
}];

/// How the children of a pool grew.
struct Growth {
    /// The median of bytes in a hundred requests; below zero where they shrank.
    bytes: f64,
    /// Of so many children.
    children: usize,
    /// In so many requests of theirs.
    requests: f64,
}

fn growth(machine: &Machine, pool: &Pool) -> Option<Growth> {
    let name = pool.counter("child.");
    let counters = machine.now.range(name.clone()..);
    let counters = counters.take_while(|(key, _)| key.starts_with(&name));
    let mut each = Vec::new();
    let mut requests = 0.0;
    for child in counters.filter_map(|(key, _)| key.strip_suffix(".requests")) {
        let answered = machine.grown(&format!("{child}.requests")).unwrap_or(0.0);
        let before = machine.before.get(&format!("{child}.requests"));
        let size = format!("{child}.private_bytes");
        let (Some(was), Some(is)) = (machine.before.get(&size), machine.now(&size)) else {
            continue;
        };
        if before.is_some_and(|&before| before >= WARM_REQUESTS) && answered >= REQUESTS_MIN {
            each.push((is - was) / answered * 100.0);
            requests += answered;
        }
    }
    each.sort_by(f64::total_cmp);
    let bytes = *each.get((each.len().checked_sub(1)?) / 2)?;
    (requests >= TOGETHER_MIN).then_some(Growth { bytes, children: each.len(), requests })
}

fn max_requests(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    machine.pools.first()?;
    let (mut found, mut told, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    for pool in &machine.pools {
        let text = pool.settings.get("pm.max_requests");
        let set: u64 = text.and_then(|text| text.parse().ok()).unwrap_or(0);
        let grown = growth(machine, pool);
        match judge(machine, pool, set, grown.as_ref()) {
            Ok(advice) => found.push(advice.about(pool.name.clone())),
            Err(why) if grown.is_some() => told.push(format!("pool {}: {why}", pool.name)),
            Err(why) => unknown.push(format!("pool {}: {why}", pool.name)),
        }
    }
    match (found.is_empty(), unknown.is_empty()) {
        (false, _) => Some(Verdict::Found(found)),
        (true, true) => fine(told.join("; ")),
        (true, false) => unseen(unknown.join("; ")),
    }
}

/// Advice about a pool that sets so many, or why there is none.
fn judge(
    machine: &Machine,
    pool: &Pool,
    set: u64,
    grown: Option<&Growth>,
) -> Result<Advice, String> {
    if (1..100).contains(&set) {
        let advised = grown.and_then(|grown| doubling(machine, pool, grown)).unwrap_or(500);
        return Ok(advice(format!("a child ends after {set} requests, whatever its memory does"))
            .gain("children aren't made anew all the time")
            .fix("leave it out, or so many that a child that grows has doubled")
            .change(change(pool, "pm.max_requests", advised)));
    }
    let Some(grown) = grown else {
        return Err(
            "whether its children grow isn't known: that takes its status page (pm.status_path), \
             root, and a window in which children that had answered 100 requests answer 20 more \
             each, and 100 together"
                .into(),
        );
    };
    let per_hundred = show_bytes(grown.bytes.max(0.0) as u64);
    let evidence = format!(
        "{per_hundred} more in 100 requests, in the median of {} children that answered {}",
        grown.children, grown.requests
    );
    let Some(advised) = doubling(machine, pool, grown) else {
        return Err(match set {
            0 => format!("{evidence}; no reason to end them"),
            _ => format!(
                "{evidence}; pm.max_requests = {set} ends them without a reason, which costs little: \
                 a recipe for leaks that aren't here"
            ),
        });
    };
    // What ends a child before it has grown by half as much again as it should is good enough.
    if set > 0 && set <= advised + advised / 2 {
        return Err(format!("{evidence}, and they end after {set}"));
    }
    let sure = if grown.requests >= 1000.0 { Confidence::Medium } else { Confidence::Low };
    Ok(advice(evidence)
        .gain("children don't grow until something is killed")
        .sure(sure)
        .fix(
            "end a child when it has doubled; what leaks is an extension, or a library that it \
             uses: see what changed last",
        )
        .change(change(pool, "pm.max_requests", advised)))
}

/// The requests in which a child doubles, in hundreds; none where it doesn't grow.
fn doubling(machine: &Machine, pool: &Pool, grown: &Growth) -> Option<u64> {
    if grown.bytes <= LEAK_BYTES {
        return None;
    }
    let child = machine.child_bytes(pool)? as f64;
    Some(((child / grown.bytes).floor() as u64 * 100).clamp(100, 10_000))
}
