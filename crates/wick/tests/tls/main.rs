//! TLS as visitors, owners and CAs meet it: the built binary, spoken to by curl and by rustls,
//! with certificates of the test's own ([`own`]) and with such as a real ACME server, pebble,
//! has issued ([`acme`]).
//!
//! Pebble is built from the Go module proxy into `target/tmp` once; where no Go can be had the
//! tests that need it say so and are skipped.

#[path = "../cluster/nats.rs"]
#[allow(dead_code, reason = "the tests of clusters use the rest")]
mod nats;
#[path = "../command_line/origin.rs"]
mod origin;
#[path = "../command_line/wick.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod wick;

mod acme;
mod authority;
mod door;
mod fellows;
mod names;
mod own;
mod pebble;
mod protocols;
mod reload;
mod running;
mod stapling;
mod visitor;
mod wire;
