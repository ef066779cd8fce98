//! What it costs to tell the ledger of an answer:
//! `cargo run -p observe --release --example cost`.
//!
//! Hits on a few thousand pages of thirty routes, as a connection tells them, in one thread and
//! in several; then what the ledger holds when all its routes are in use. Nothing is asserted.
//! With a number behind `--` so many hits are told and nothing else is done, for who counts
//! instructions (`bench/observe` does).

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use base::Phase;
use observe::{Answer, Ledger};
use policy::{MissReason, Verdict};

const PAGES: usize = 3000;
const ROUNDS: usize = 2000;

fn main() {
    if let Some(count) = std::env::args().nth(1).and_then(|count| count.parse().ok()) {
        return tell_so_many(count);
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!("nanoseconds a hit, {} hits a thread", PAGES * ROUNDS);
    for threads in [1, cores] {
        println!("{threads} threads: {:.1}", hits(threads));
    }
    println!("one page only, {cores} threads: {:.1}", one_page(cores));
    let before = resident_bytes();
    let ledger = full(cores);
    let held = resident_bytes().saturating_sub(before);
    let routes = ledger.counts().len();
    println!("{routes} routes in use by {cores} threads: {:.1} MiB", held as f64 / 1048576.0);
    let began = Instant::now();
    black_box(ledger.totals());
    println!("adding them up, once a second: {:.2} ms", began.elapsed().as_secs_f64() * 1e3);
}

fn tell_so_many(count: usize) {
    let (ledger, began) = (Ledger::default(), Instant::now());
    let paths: Vec<_> = (0..PAGES).map(|page| format!("/thread/{page}")).collect();
    for (at, path) in paths.iter().cycle().take(count).enumerate() {
        tell(&ledger, black_box(path), Verdict::Hit, (at / 1000) as u64, began);
    }
}

fn tell(ledger: &Ledger, path: &str, verdict: Verdict, unix_ms: u64, began: Instant) {
    ledger.note(&Answer {
        unix_ms,
        method: "GET",
        host: "forum.example.org",
        path,
        status: 200,
        verdict,
        unstored: None,
        bytes: 20_000,
        is_html: true,
        phases: [0; Phase::COUNT],
        site: &|| "forum".to_owned(),
        took_us: &|| began.elapsed().as_micros() as u64,
    });
}

/// Nanoseconds a hit.
fn in_threads(threads: usize, pages: usize) -> f64 {
    let ledger = Arc::new(Ledger::default());
    let hands: Vec<_> = (0..threads)
        .map(|_| {
            let ledger = ledger.clone();
            std::thread::spawn(move || {
                let paths: Vec<_> = (0..pages)
                    .map(|page| {
                        format!("/part{}/thread/{page}", (b'a' + (page % 30) as u8) as char)
                    })
                    .collect();
                paths.iter().for_each(|path| tell(&ledger, path, Verdict::Hit, 0, Instant::now()));
                let mut batches: Vec<f64> = (0..ROUNDS)
                    .map(|round| {
                        // A million hits a second, as the clock of that server has it.
                        let unix_ms = (round * PAGES / 1000) as u64;
                        let began = Instant::now();
                        for path in paths.iter().cycle().take(PAGES) {
                            tell(&ledger, black_box(path), Verdict::Hit, unix_ms, began);
                        }
                        began.elapsed().as_nanos() as f64 / PAGES as f64
                    })
                    .collect();
                // Others may run on the same cores: the median batch met none of them.
                batches.sort_by(f64::total_cmp);
                batches[ROUNDS / 2]
            })
        })
        .collect();
    let count = hands.len() as f64;
    hands.into_iter().map(|hand| hand.join().unwrap_or(f64::NAN)).sum::<f64>() / count
}

fn hits(threads: usize) -> f64 {
    in_threads(threads, PAGES)
}

fn one_page(threads: usize) -> f64 {
    in_threads(threads, 1)
}

/// A ledger all of whose routes were asked for, by all threads.
fn full(threads: usize) -> Arc<Ledger> {
    let ledger = Arc::new(Ledger::default());
    let word =
        |at: usize| format!("{}{}", (b'a' + (at % 26) as u8) as char, "x".repeat(at / 26 + 1));
    let hands: Vec<_> = (0..threads.max(4))
        .map(|_| {
            let ledger = ledger.clone();
            std::thread::spawn(move || {
                for route in 0..999 {
                    let path = format!("/{}/{}", word(route / 32), word(route % 32));
                    tell(&ledger, &path, Verdict::Miss(MissReason::UriMiss), 0, Instant::now());
                }
            })
        })
        .collect();
    for hand in hands {
        // One that panicked has said so.
        let _ = hand.join();
    }
    ledger
}

/// The resident set, from Linux; zero elsewhere.
fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or_default() * 4096
}
