//! One target under libFuzzer, which keeps the inputs that reach new code.
//!
//! The target's name comes in `FUZZ_TARGET`; everything else is libFuzzer's own
//! command line. Start it with `cargo xtask fuzz`.

#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;

static BODY: OnceLock<fn(&[u8])> = OnceLock::new();

fuzz_target!(|input: &[u8]| BODY.get_or_init(chosen)(input));

fn chosen() -> fn(&[u8]) {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    let target = fuzz::TARGETS.iter().find(|target| target.name == name);
    target.map(|target| target.body).expect("FUZZ_TARGET names a target")
}
