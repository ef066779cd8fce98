//! Where slow requests are in PHP, told by a php-fpm that Wick started with its slow log.

use std::fs;

use crate::wick::{Wick, ask, body, has_php, open_folder, until};

const SCRIPT: &str = "<?php
function outer($secret) { usleep(1_400_000); return $secret; }
echo isset($_GET['slow']) ? outer('hush') : 'quick';
";

/// Whether a program may look into its own children here.
fn may_trace() -> bool {
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    let may = matches!(scope.trim(), "" | "0" | "1");
    if !may {
        eprintln!("SKIPPED: this machine lets nobody trace (kernel.yama.ptrace_scope)");
    }
    may
}

#[test]
fn where_slow_requests_are_is_told_without_their_arguments() {
    if !has_php() || !may_trace() {
        return;
    }
    let site = open_folder();
    fs::write(site.path().join("index.php"), SCRIPT).expect("a script");
    let admin = loopback::address();
    let settings = open_folder();
    let file = settings.path().join("wick.toml");
    let text = format!("admin = \"{admin}\"\n[[site]]\nphp_slow = \"1s\"\n");
    fs::write(&file, text).expect("the settings are written");
    let (site, file) = (site.path().display().to_string(), file.display().to_string());
    let (wick, address) = Wick::serve(&["--config", &file, &site]);
    assert_eq!(body(&ask(address, "GET /")), "quick");
    assert_eq!(body(&ask(address, "GET /?slow=1")), "hush");
    let mut told = String::new();
    until("a sample", || {
        told = ask(admin, "GET /api/profile");
        told.contains("usleep")
    });
    // Personas ask for the page too, so there may be more than one.
    let place = format!("\"at\":\"{site}/index.php:2\",\"function\":\"usleep()\",\"requests\":");
    let within = format!("\"script\":\"{site}/index.php\",\"within\":\"outer()\"");
    assert!(told.contains(&place) && told.contains(&within), "{told}");
    assert!(told.contains("samples of slow requests alone") && !told.contains("hush"), "{told}");
    // php-fpm tells each with its query.
    let errors = wick.stop().errors;
    assert!(!errors.contains("slow=1") && !errors.contains("too slow"), "{errors}");
}
