//! The admin listener of the built binary: where it is, who may ask, and what it tells of PHP.

use std::fs;
use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::process::{Command, Stdio};

use crate::origin::Origin;
use crate::wick::{Wick, ask, body, has_php, open_folder, until};

/// A Wick with these settings before `origin`.
fn serve(settings: &str, origin: &str) -> (Wick, SocketAddr, tempfile::TempDir) {
    let folder = open_folder();
    let file = folder.path().join("wick.toml");
    fs::write(&file, settings).expect("the settings are written");
    let (wick, address) = Wick::serve(&["--config", &file.display().to_string(), origin]);
    (wick, address, folder)
}

/// Why a Wick with these settings doesn't start.
fn refusal(settings: &str) -> String {
    let folder = open_folder();
    let file = folder.path().join("wick.toml");
    fs::write(&file, settings).expect("the settings are written");
    let file = file.display().to_string();
    let ended =
        Wick::run(&["serve", "--config", &file, "--listen", "127.0.0.1:0", "http://127.0.0.1:1"]);
    ended.end().told()
}

#[test]
fn what_visitors_did_is_told_to_whoever_is_on_this_machine() {
    let origin = Origin::saying(
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 5\r\n\r\nhello",
    );
    let port = loopback::port();
    let admin: SocketAddr = ([127, 0, 0, 1], port).into();
    let (wick, address, _folder) = serve(&format!("admin = \"{admin}\"\n"), &origin.url());
    for _ in 0..3 {
        assert_eq!(body(&ask(address, "GET /")), "hello");
    }
    until("the look after that", || ask(admin, "GET /api/now").contains("\"answers\":3,"));
    let metrics = ask(admin, "GET /metrics\nAccept: application/openmetrics-text; version=1.0.0");
    assert!(metrics.contains("wick_answers_total{verdict=\"hit\",reason=\"\"} 2\n"), "{metrics}");
    assert!(metrics.contains("application/openmetrics-text"), "{metrics}");
    assert!(metrics.ends_with("# EOF\n"), "{metrics}");
    let metrics = ask(admin, "GET /metrics");
    assert!(metrics.contains("content-type: text/plain; version=0.0.4"), "{metrics}");
    promtool_finds_no_fault(body(&metrics));
    for host in ["evil.test", "localhost.evil.test"] {
        let told = ask(admin, &format!("GET /api/now\nHost: {host}"));
        assert!(told.starts_with("HTTP/1.1 421 "), "{told}");
    }
    let told = ask(admin, "GET /api/now\nSec-Fetch-Site: cross-site\nSec-Fetch-Mode: no-cors");
    assert!(told.starts_with("HTTP/1.1 403 "), "{told}");
    // The sites' own listener knows nothing of it.
    assert_eq!(body(&ask(address, "GET /api/now")), "hello");
    wick.stop();
    assert!(TcpListener::bind(admin).is_ok(), "it is gone");
}

/// Has Prometheus' own tool look at a page of numbers, where it is installed.
fn promtool_finds_no_fault(page: &str) {
    let promtool = std::env::var("PROMTOOL").unwrap_or_else(|_| "promtool".to_owned());
    let started = Command::new(promtool)
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut promtool) = started else {
        eprintln!("SKIPPED: promtool is not installed (apt-get install prometheus)");
        return;
    };
    // It may have gone already, with a reason that is read below.
    let _ = promtool.stdin.take().expect("it is piped").write_all(page.as_bytes());
    let told = promtool.wait_with_output().expect("it ends");
    let faults = String::from_utf8_lossy(&told.stderr);
    assert!(told.status.success(), "{faults}\n{page}");
}

#[test]
fn the_default_port_may_be_somebody_elses() {
    // It is, or we have it now.
    let _held = TcpListener::bind("127.0.0.1:9180");
    let origin = Origin::saying("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let (wick, address) = Wick::serve(&[&origin.url()]);
    assert_eq!(body(&ask(address, "GET /")), "ok");
    let told = wick.stop().output;
    assert!(
        told.contains("  admin     none: something listens on 127.0.0.1:9180 already"),
        "{told}"
    );
    let (wick, _, _folder) = serve("admin = \"off\"\n", &origin.url());
    assert!(!wick.stop().output.contains("admin"));
}

#[test]
fn what_must_not_be_open_is_told_before_anything_is_served() {
    let told = refusal("admin = \"0.0.0.0:9180\"\n");
    assert!(
        told.starts_with("1 wick: admin = \"0.0.0.0:9180\" can be reached from other"),
        "{told}"
    );
    let told = refusal("admin_token = \"hush\"\n");
    assert!(told.contains("shorter than 16 characters") && !told.contains("hush"), "{told}");
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("an address");
    for setting in ["admin", "munin"] {
        let told = refusal(&format!("{setting} = \"{address}\"\n"));
        let expected = format!("1 wick: something listens on {address} already: stop it");
        assert!(told.starts_with(&expected) && told.contains(setting), "{told}");
    }
    let told = refusal("admin = \"9180\"\n");
    assert!(told.contains(":1:9: write an address such as"), "{told}");
    let told = refusal("[[site]]\nphp_status = \"status\"\n");
    assert!(told.contains(":2:14: \"status\" is no path: write the pm.status_path"), "{told}");
    let told = refusal("alert_webhook = \"hush.example.org/hush\"\n");
    assert!(told.contains("write https://HOST/PATH") && !told.contains("hush"), "{told}");
    let told = refusal("munin = \"0.0.0.0:4949\"\n");
    assert!(told.contains("munin = \"127.0.0.1:4949\""), "{told}");
}

#[test]
fn with_a_token_it_may_be_open() {
    let origin = Origin::saying("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let port = loopback::port();
    let settings =
        format!("admin = \"0.0.0.0:{port}\"\nadmin_token = \"a-token-of-many-letters\"\n");
    let (wick, _, _folder) = serve(&settings, &origin.url());
    let admin: SocketAddr = ([127, 0, 0, 1], port).into();
    assert!(ask(admin, "GET /metrics").starts_with("HTTP/1.1 401 "));
    let shown = "Authorization: Bearer a-token-of-many-letters";
    assert!(ask(admin, &format!("GET /metrics\n{shown}")).starts_with("HTTP/1.1 200 "));
    assert!(ask(admin, "GET /healthz").ends_with("ok\n"));
    let ended = wick.stop();
    assert!(!format!("{}{}", ended.output, ended.errors).contains("many-letters"));
}

#[test]
fn php_and_its_opcode_cache_are_told_also_after_a_reload() {
    if !has_php() {
        return;
    }
    let folder = open_folder();
    let site = folder.path().join("site");
    fs::create_dir(&site).expect("ours");
    fs::write(site.join("index.php"), "<?php echo 'page';").expect("ours");
    let other = folder.path().join("other");
    fs::create_dir(&other).expect("ours");
    fs::write(other.join("index.php"), "<?php echo 'other';").expect("ours");
    let admin: SocketAddr = loopback::address();
    let file = folder.path().join("wick.toml");
    let state = folder.path().join("state").display().to_string();
    let write = |site: &std::path::Path| {
        let site = site.display();
        let text =
            format!("admin = \"{admin}\"\n[[site]]\norigin = \"{site}\"\nphp_children = 3\n");
        fs::write(&file, text).expect("the settings are written");
    };
    write(&site);
    let config = file.display().to_string();
    let (wick, address) = Wick::serve(&["--config", &config, "--state", &state]);
    assert_eq!(body(&ask(address, "GET /")), "page");
    let told = |site: &std::path::Path, name: &str| {
        let line = format!("{name}{{site=\"{}\"}} ", site.display());
        let metrics = ask(admin, "GET /metrics");
        let number = metrics.lines().find_map(|known| known.strip_prefix(&line));
        number.and_then(|number| number.parse::<u64>().ok())
    };
    until("php-fpm's own word", || told(&site, "wick_php_children") == Some(3));
    until("the opcode cache's", || told(&site, "wick_opcache_used_bytes") > Some(0));
    write(&other);
    let reloaded = Wick::run(&["reload", "--state", &state]).end();
    assert_eq!(reloaded.told(), "0 ", "{}", reloaded.output);
    until("the other php-fpm's word", || told(&other, "wick_php_children") == Some(3));
    assert_eq!(told(&site, "wick_php_children"), None);
    wick.stop();
}
