//! What a cluster of 10, 100 and 1,000 nodes costs, and how long a purge takes to be everywhere.
//!
//! ```text
//! cargo run -p cluster --example scale                 the table, by simulation
//! cargo run -p cluster --example scale -- lag 10       with another lag limit; also seed 2
//! cargo run -p cluster --example scale -- hear 1000    hear so many words among so many nodes
//! cargo run -p cluster --example scale -- memory 1000  memory of a node among so many
//! cargo run -p cluster --example scale -- push 40      processor time of a real nats-server
//! ```
//!
//! `hear` is for `perf stat -e instructions:u`, or `time` where that can't count. Simulated are links, streams and who says what
//! when; what nodes make of it is the real [`Hearing`], in a few of them. docs/internet-scale.md
//! says what follows.

mod push;
mod world;

use std::error::Error;

use cluster::Said;
use cluster::hearing::{Arrival, Hearing};

use world::{Found, Plan, Shape, World};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let count = |at: usize, default: u64| words.get(at).map_or(Ok(default), |word| word.parse());
    match words.first().map(String::as_str) {
        None => table(&Plan::default()),
        Some("seed") => table(&Plan { seed: count(1, 1)?, ..Plan::default() }),
        Some("lag") => {
            let lag_us = count(1, 2)? * 1_000_000;
            table(&Plan { lag_us, run_us: 6 * lag_us, ..Plan::default() });
        }
        Some("hear") => hear(count(1, 1000)?, count(2, 100_000)?),
        Some("memory") => memory(count(1, 1000)?)?,
        Some("push") => push::measure(count(1, 40)?, count(2, 20)?)?,
        Some(other) => {
            return Err(
                format!("{other}? seed N, lag SECONDS, hear, memory, push, or nothing").into()
            );
        }
    }
    Ok(())
}

fn table(plan: &Plan) {
    println!(
        "lag limit {} s, {} purges a second over all nodes, {} s, a word takes a server {} µs \
         and each push {} µs, copies {} ms; seed {}",
        plan.lag_us / 1_000_000,
        plan.edits_a_second,
        plan.run_us / 1_000_000,
        plan.word_us,
        plan.push_us,
        plan.copies_us as f64 / 1e3,
        plan.seed
    );
    println!(
        "| nodes | where | shape | words in/s | pushes out/s | MB out/s | words a node hears/s | \
         KB/s | busiest stream, cores | everywhere p50 ms | p99 ms | in touch |"
    );
    println!("|{}", " --- |".repeat(12));
    for nodes in [10, 100, 1000] {
        for is_wide in [false, true] {
            for shape in Shape::ALL {
                // A region of one place is that place.
                if is_wide || !shape.is_regional() {
                    row(nodes, is_wide, shape, &World::play(plan, nodes, is_wide, shape));
                }
            }
        }
    }
}

fn row(nodes: usize, is_wide: bool, shape: Shape, found: &Found) {
    let place = if is_wide { "five regions" } else { "one place" };
    let shown = |time: Option<u64>| match time {
        Some(time) if found.is_bearable() => format!("{:.1}", time as f64 / 1e3),
        _ => "–".to_owned(),
    };
    let in_touch =
        found.in_touch.map_or("–".to_owned(), |share| format!("{:.0} %", share * 100.0));
    println!(
        "| {nodes} | {place} | {shape} | {:.0} | {:.0} | {:.1} | {:.0} | {:.0} | {:.2} | {} | {} | \
         {in_touch} |",
        found.words,
        found.pushes,
        found.bytes / 1e6,
        found.heard_a_node,
        found.bytes_a_node / 1e3,
        found.busiest,
        shown(found.everywhere(50)),
        shown(found.everywhere(99)),
    );
}

/// A node that has heard this many others once.
fn among(others: u64) -> (Hearing, u64) {
    let mut hearing = Hearing::new("n0", 1, 2000);
    hearing.begin_anew(0);
    for other in 1..=others {
        let said = word(other, 1, 0);
        hearing.take(Arrival { sequence: other, said: Some(said) }, 1);
    }
    (hearing, others)
}

fn word(node: u64, number: u64, told_until: u64) -> Said {
    Said {
        form: 1,
        node: format!("n{node}"),
        instance: node + 1,
        number,
        told_until,
        ..Said::default()
    }
}

/// Hears so many words of so many nodes, each read as it came.
fn hear(nodes: u64, count: u64) {
    let (mut hearing, mut sequence) = among(nodes.saturating_sub(1));
    let mut until = 0;
    for at in 0..count {
        sequence += 1;
        let (node, number) = (at % nodes.max(1), at / nodes.max(1) + 2);
        if node == 0 {
            hearing.note_sent(number, at);
        }
        let said = word(node, number, sequence.saturating_sub(nodes));
        let bytes = serde_json::to_vec(&said).unwrap_or_default();
        hearing.take(Arrival { sequence, said: Said::read(&bytes) }, at);
        until = until.max(hearing.heard_until());
    }
    println!("{count} words of {nodes} nodes heard; in touch until {until}");
}

/// Memory of what a node knows of others: as many nodes as there are, since one is too small to
/// be seen.
fn memory(nodes: u64) -> Outcome<()> {
    let before = resident_bytes()?;
    let all: Vec<_> = (0..nodes)
        .map(|_| {
            let (mut hearing, _) = among(nodes.saturating_sub(1));
            // As much as is ever remembered of one's own words.
            (1..5000).for_each(|number| hearing.note_sent(number, number));
            hearing
        })
        .collect();
    let grown = resident_bytes()?.saturating_sub(before);
    println!("{:.0} KiB a node among {nodes}", grown as f64 / 1024.0 / all.len().max(1) as f64);
    Ok(())
}

fn resident_bytes() -> Outcome<u64> {
    let pages = std::fs::read_to_string("/proc/self/statm")?;
    let resident: u64 = pages.split(' ').nth(1).ok_or("no size in /proc/self/statm")?.parse()?;
    Ok(resident * 4096)
}
