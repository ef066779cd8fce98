//! What is spoken and what is refused, as those find it who test servers of TLS: OpenSSL asks for
//! one version and one cipher suite after the other, with all its own caution switched off.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::authority::Authority;
use crate::running::{Ground, Running};

/// Suites of TLS 1.2 that are as good as those of 1.3: a key for each connection, and AEAD.
const GOOD: [&str; 3] = [
    "ECDHE-ECDSA-AES128-GCM-SHA256",
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-ECDSA-CHACHA20-POLY1305",
];

fn openssl(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new("openssl");
    let child = child.args(arguments).stdin(Stdio::piped());
    let child = child.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().expect("openssl is there (scripts/setup test installs it)");
    let mut to = child.stdin.take().expect("it is piped");
    // It may have ended by then.
    let _ = std::io::Write::write_all(&mut to, input.as_bytes());
    drop(to);
    child.wait_with_output().expect("it ends")
}

/// What a handshake comes to, in the words of `openssl s_client`.
fn connect(address: SocketAddr, arguments: &[&str]) -> String {
    let address = address.to_string();
    let begin = ["s_client", "-connect", &address, "-servername", "one.test"];
    let output = openssl(&[&begin, arguments].concat(), "");
    let (out, errors) = (output.stdout, output.stderr);
    format!("{}{}", String::from_utf8_lossy(&out), String::from_utf8_lossy(&errors))
}

/// The version and the suite that were agreed on, if any were.
fn agreed(address: SocketAddr, arguments: &[&str]) -> Option<String> {
    let told = connect(address, arguments);
    let line = told.lines().find(|line| line.starts_with("New, "))?;
    (!line.contains("(NONE)")).then(|| line.trim_start_matches("New, ").to_owned())
}

/// Every suite that this OpenSSL knows for a version, the worst included.
fn suites(version: &str) -> Vec<String> {
    let output = openssl(&["ciphers", "-s", version, "ALL:COMPLEMENTOFALL:@SECLEVEL=0"], "");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.trim().split(':').map(str::to_owned).collect()
}

fn serve(ground: &Ground) -> (Running, Authority) {
    let ca = Authority::new(ground.path());
    let pair = ca.pair(ground.path(), "one", &["one.test"]);
    let site = ground.site("one", "page");
    let settings = format!("[[site]]\nhosts = [\"one.test\"]\norigin = {site:?}\n");
    (ground.serve(&format!("{settings}{}", pair.settings())), ca)
}

#[test]
fn old_versions_and_weak_suites_are_refused_and_the_rest_is_as_it_should_be() {
    let ground = Ground::new();
    let (running, _) = serve(&ground);
    let mut table = Vec::new();
    let mut note = |what: &str, found: &str| table.push(format!("{what:<30} {found}"));
    for version in ["-ssl3", "-tls1", "-tls1_1"] {
        // What OpenSSL itself can't speak any more can't be asked for.
        let found = agreed(running.tls, &[version, "-cipher", "ALL:COMPLEMENTOFALL:@SECLEVEL=0"]);
        assert_eq!(found, None, "{version}");
        note(version.trim_start_matches('-'), "refused");
    }
    let all = suites("-tls1_2");
    assert!(all.len() > 30 && all.iter().any(|suite| suite == "AES128-SHA"), "{all:?}");
    let taken = all.iter().filter(|suite| {
        let only = format!("{suite}:@SECLEVEL=0");
        agreed(running.tls, &["-tls1_2", "-cipher", &only]).is_some()
    });
    let mut taken: Vec<_> = taken.map(String::as_str).collect();
    taken.sort_unstable();
    note(&format!("tls1_2, of {} suites", all.len()), &taken.join(" "));
    assert_eq!(taken, GOOD, "nothing without forward secrecy, nothing with CBC, RC4 or no cipher");
    for suite in
        ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"]
    {
        let found = agreed(running.tls, &["-tls1_3", "-ciphersuites", suite]);
        assert!(found.is_some_and(|found| found.contains(suite)), "{suite}");
        note("tls1_3", suite);
    }
    for (offered, expected) in [
        ("h2,http/1.1", "ALPN protocol: h2"),
        ("http/1.1", "ALPN protocol: http/1.1"),
        ("http/1.1,h2", "ALPN protocol: h2"),
    ] {
        let told = connect(running.tls, &["-alpn", offered]);
        assert!(told.contains(expected), "{offered}: {told}");
        note(&format!("ALPN of {offered}"), expected.trim_start_matches("ALPN protocol: "));
    }
    let strange = connect(running.tls, &["-alpn", "spdy/3"]);
    assert!(strange.contains("no application protocol"), "RFC 7301 §3.2: {strange}");
    let told = connect(running.tls, &["-tls1_2", "-comp", "-cipher", "ALL:@SECLEVEL=0"]);
    assert!(told.contains("Compression: NONE"), "{told}");
    note("compression", "none");
    for line in table {
        println!("{line}");
    }
    running.stop();
}

#[test]
fn nobody_negotiates_anew_in_a_connection() {
    let ground = Ground::new();
    let (running, _) = serve(&ground);
    let address = running.tls.to_string();
    let ask = ["s_client", "-connect", &address, "-servername", "one.test", "-tls1_2"];
    // A line with R alone makes it ask for that.
    let told = openssl(&ask, "R\n");
    let told = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(told.contains("RENEGOTIATING") && told.contains("no renegotiation"), "{told}");
    // Who doesn't know of RFC 5746 is served, and can't do it either.
    let told = connect(running.tls, &["-tls1_2", "-legacy_server_connect"]);
    assert!(told.contains("Secure Renegotiation IS supported"), "{told}");
    running.stop();
}

#[test]
fn a_ticket_resumes_a_session_and_is_worth_nothing_to_another_process() {
    let ground = Ground::new();
    let (running, _) = serve(&ground);
    let kept = ground.path().join("session").display().to_string();
    let resumes = |running: &Running, version: &str| {
        let told = connect(running.tls, &[version, "-sess_in", &kept]);
        told.lines().any(|line| line.starts_with("Reused, "))
    };
    for version in ["-tls1_2", "-tls1_3"] {
        let _ = fs::remove_file(&kept);
        // It has to stay until the ticket has come, which in TLS 1.3 is after the handshake.
        let request = "GET / HTTP/1.1\r\nHost: one.test\r\nConnection: close\r\n\r\n";
        let address = running.tls.to_string();
        let all = ["s_client", "-connect", &address, "-servername", "one.test", "-ign_eof"];
        let output = openssl(&[&all[..], &[version, "-sess_out", &kept]].concat(), request);
        assert!(Path::new(&kept).exists(), "{}", String::from_utf8_lossy(&output.stdout));
        assert!(resumes(&running, version), "{version}");
    }
    running.stop();
    // The keys of tickets are nowhere but in memory: they end with the process, and with them
    // what somebody could decrypt later.
    let another = Ground::new();
    let (running, _) = serve(&another);
    assert!(!resumes(&running, "-tls1_3"));
    running.stop();
}
