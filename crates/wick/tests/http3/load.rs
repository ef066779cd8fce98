//! `wick bench` speaks it: with a client that isn't the server's own reading of HTTP/3. And over
//! TLS the versions before it, as ALPN says.

use std::process::Command;

use serde_json::Value;

use crate::origin::Origin;
use crate::{HOST, Served};

#[test]
fn a_load_is_answered_and_counted_over_each_version_of_http() {
    let origin = Origin::begin();
    // A client that is given an address names no host in its handshake.
    let served = Served::new(&origin.url(), "");
    let address = format!("https://{}/a", served.running.tls);
    for (version, connections) in [("1", 30), ("2", 1), ("3", 1)] {
        let line = ["bench", "-k", "--insecure", "-n", "300", "-c", "30", "--format", "json"];
        let bench = Command::new(env!("CARGO_BIN_EXE_wick"))
            .args(line)
            .args(["--http", version, "--threads", "1"])
            .args(["-H", &format!("Host: {HOST}"), &address])
            .output()
            .expect("it starts");
        let told = String::from_utf8_lossy(&bench.stdout);
        let errors = String::from_utf8_lossy(&bench.stderr);
        let told: Value = serde_json::from_str(&told).unwrap_or_else(|_| panic!("{told}{errors}"));
        assert_eq!(told["statuses"]["200"], 300, "HTTP/{version}: {told:#}");
        assert_eq!(told["connections"], connections, "HTTP/{version}: {told:#}");
    }
    served.running.stop();
}
