//! What goes wrong on a machine, done to the built binary: small, and without a word about time.
//!
//! `bench/faults` does the same under load, and more. Start at [`shortage`], then [`clock`],
//! [`upgrading`].

#[path = "../tls/authority.rs"]
mod authority;
mod clock;
#[path = "../command_line/origin.rs"]
#[allow(dead_code, reason = "other tests ask more of it")]
mod origin;
#[path = "../command_line/serving.rs"]
#[allow(dead_code, reason = "other tests ask more of it")]
mod serving;
mod shortage;
mod upgrading;
#[path = "../command_line/wick.rs"]
#[allow(dead_code, reason = "other tests ask more of it")]
mod wick;

/// Whoever starts it serves: another user's limits and libraries are not for us to change.
const AS_OURSELVES: [&str; 2] = ["--user", "root"];

/// What is stored and stays fresh.
const PAGE: &str = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
