//! HTTP/3 before the built binary, by a client that others wrote: the crate `h3`; and frame by
//! frame over QUIC, for what no well-made client sends.

mod answers;
mod attacks;
#[path = "../tls/authority.rs"]
#[allow(dead_code, reason = "other tests need more of it")]
mod authority;
mod client;
mod load;
mod origin;
#[path = "../tls/running.rs"]
#[allow(dead_code, reason = "other tests need more of it")]
mod running;
#[path = "../http2/specimen.rs"]
mod specimen;
mod stop;
mod stranger;
#[allow(dead_code, reason = "other tests need more of it")]
#[path = "../command_line/wick.rs"]
mod wick;

use crate::authority::Authority;
use crate::client::Client;
use crate::running::{Ground, Running};

/// What is asked for.
const HOST: &str = "site.test";

/// A served site with HTTPS, and what its visitors trust.
struct Served {
    ground: Ground,
    ca: Authority,
    running: Running,
}

impl Served {
    /// Before this origin; with settings at the top, if any.
    fn new(origin: &str, settings: &str) -> Self {
        Self::with(origin, settings, "")
    }

    /// The same with more settings of the site.
    fn with(origin: &str, settings: &str, more: &str) -> Self {
        let ground = Ground::new();
        let ca = Authority::new(ground.path());
        let pair = ca.pair(ground.path(), "site", &[HOST]);
        let site = format!("[[site]]\nhosts = [\"{HOST}\"]\norigin = \"{origin}\"\n{more}");
        let running = ground.serve_tls(&format!("{settings}{site}{}", pair.settings()));
        Self { ground, ca, running }
    }

    fn client(&self) -> Client {
        Client::connect(self.running.tls, &self.ca.file).expect("HTTP/3 is spoken")
    }
}
