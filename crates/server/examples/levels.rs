//! What each level costs and gains: `cargo run --release -p server --example levels FILE…`
//!
//! For each file a table: bytes in each coding, whole at either effort and as a stream, and the
//! time that it took, as the least of several runs.

use std::time::Instant;

use transform::{Effort, Encoder, compress};
use wire::Coding;

const RUNS: usize = 5;

fn main() -> std::io::Result<()> {
    for path in std::env::args().skip(1) {
        let body = std::fs::read(&path)?;
        println!("{path}: {} bytes", body.len());
        for coding in Coding::ALL {
            let quick = timed(|| compress(coding, Effort::Quick, &body))?;
            let best = timed(|| compress(coding, Effort::Best, &body))?;
            let stream = timed(|| stream(coding, &body))?;
            println!("  {:4}  quick {quick}  best {best}  stream {stream}", coding.as_str());
        }
    }
    Ok(())
}

fn stream(coding: Coding, body: &[u8]) -> std::io::Result<Vec<u8>> {
    let (mut encoder, mut out) = (Encoder::new(coding)?, Vec::new());
    for piece in body.chunks(16 << 10) {
        encoder.write(piece)?;
        out.extend(encoder.take());
    }
    out.extend(encoder.finish()?);
    Ok(out)
}

fn timed(work: impl Fn() -> std::io::Result<Vec<u8>>) -> std::io::Result<String> {
    let (mut least, mut bytes) = (f64::INFINITY, 0);
    for _ in 0..RUNS {
        let begun = Instant::now();
        bytes = work()?.len();
        least = least.min(begun.elapsed().as_secs_f64() * 1e3);
    }
    Ok(format!("{bytes:7} B {least:8.3} ms"))
}
