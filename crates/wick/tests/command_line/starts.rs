//! Starts that can't succeed, each told in one sentence with its cure; and `wick check`.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::origin::Origin;
use crate::wick::{Wick, ask, has_php, is_root, names, open_folder};

/// Runs the binary to its end and gives its status with what it complained of.
fn told(arguments: &[&str]) -> String {
    Wick::run(arguments).end().told()
}

fn check(arguments: &[&str], expected: &str) {
    let told = told(arguments);
    assert!(told.starts_with(expected), "{arguments:?}: {told}\nexpected: {expected}");
    assert_eq!(told.lines().count(), 1, "one sentence: {told}");
}

#[test]
fn the_version_and_the_commands_are_told() {
    let version = Wick::run(&["--version"]).end();
    assert_eq!(version.output.trim(), concat!("wick ", env!("CARGO_PKG_VERSION")));
    let help = Wick::run(&["--help"]).end().output;
    for command in ["serve", "demo", "check"] {
        assert!(help.contains(&format!("\n  {command} ")), "{help}");
    }
}

#[test]
fn what_is_no_site_is_told_with_its_cure() {
    let folder = open_folder();
    let at = |name: &str| folder.path().join(name).display().to_string();
    fs::create_dir(at("empty")).expect("a folder");
    fs::write(at("file"), "x").expect("a file");
    let serve = |site: &str, expected: &str| {
        check(&["serve", site, "--listen", "127.0.0.1:0"], &format!("1 wick: {expected}"));
    };
    check(
        &["serve"],
        "1 wick: there is no site to serve: name a folder or an origin, as in \
         \"wick serve /var/www/site\" or \"wick serve http://127.0.0.1:3000\"",
    );
    serve(
        &at("none"),
        &format!("can't serve {}: there is no such folder; is the path", at("none")),
    );
    serve(&at("empty"), &format!("can't serve {}: the folder is empty; put", at("empty")));
    serve(&at("file"), &format!("can't serve {}: it is a file; name the folder", at("file")));
    serve("ftp://a", "\"ftp://a\" is not an origin: write http://HOST:PORT or https://HOST");
    serve("http://a/b", "\"http://a/b\" has a path, a query or a user name: an origin is named");
    check(
        &["serve", "http://127.0.0.1:1", "--php", "tcp:127.0.0.1:9000"],
        "1 wick: php-fpm is for a folder with PHP in it, and http://127.0.0.1:1 is an origin",
    );
}

#[test]
fn an_address_that_cant_be_had_is_told_with_its_cure() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("an address").to_string();
    let (port, site) = (address.rsplit(':').next().unwrap_or_default(), "http://127.0.0.1:1");
    check(
        &["serve", site, "--listen", &address],
        &format!(
            "1 wick: something listens on {address} already: stop it (\"ss -ltnp sport = :{port}\""
        ),
    );
    check(
        &["serve", site, "--listen", "192.0.2.1:8080"],
        "1 wick: 192.0.2.1 is not an address of this machine: choose another with --listen",
    );
}

#[test]
fn a_port_that_another_wick_serves_is_not_shared_with_it() {
    let origin = Origin::saying("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
    let (first, address) = Wick::serve(&[&origin.url()]);
    check(
        &["serve", &origin.url(), "--listen", &address.to_string()],
        &format!("1 wick: something listens on {address} already"),
    );
    first.stop();
}

#[test]
fn settings_that_are_wrong_are_told_with_line_and_column() {
    let folder = open_folder();
    let file = folder.path().join("wick.toml").display().to_string();
    for (text, expected) in [
        ("memry = \"1M\"\n", ":1:1: there is no setting \"memry\" here; did you mean \"memory\"?"),
        (
            "[[site]]\norigin = \"/a\"\n  ignore_qeury = []\n",
            ":3:3: there is no setting \"ignore_qeury\" here; did you mean \"ignore_query\"?",
        ),
        ("memory = \"much\"\n", ":1:10: \"much\" is not a size: write a number with K, M or G"),
    ] {
        fs::write(&file, text).expect("the settings are written");
        check(&["serve", "--config", &file], &format!("1 wick: {file}{expected}"));
        check(&["check", &file], &format!("1 wick: {file}{expected}"));
    }
    let missing = folder.path().join("none.toml").display().to_string();
    check(&["serve", "--config", &missing], &format!("1 wick: can't read {missing}: "));
    let log = folder.path().display().to_string();
    check(
        &["serve", "http://127.0.0.1:1", "--listen", "127.0.0.1:0", "--access-log", &log],
        &format!("1 wick: can't write the access log {log}: "),
    );
}

#[test]
fn a_folder_that_this_user_may_not_read_is_told_with_its_cure() {
    if !is_root() || Command::new("setpriv").arg("--version").output().is_err() {
        eprintln!("SKIPPED: only root with setpriv can become somebody who may not read a folder");
        return;
    }
    let folder = open_folder();
    let (site, program) = (folder.path().join("site"), folder.path().join("wick"));
    fs::create_dir(&site).expect("a folder");
    fs::write(site.join("index.html"), "x").expect("a file");
    fs::set_permissions(&site, fs::Permissions::from_mode(0o700)).expect("it is ours");
    fs::copy(env!("CARGO_BIN_EXE_wick"), &program).expect("the binary can be copied");
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program);
    let site = site.display().to_string();
    let told = Wick::command(command, &["serve", &site, "--listen", "127.0.0.1:0"]).end().told();
    let expected = format!("1 wick: can't serve {site}: Permission denied (os error 13); let this");
    assert!(told.starts_with(&expected), "{told}");
}

#[test]
fn a_machine_without_php_fpm_is_told_what_to_install() {
    let folder = open_folder();
    fs::write(folder.path().join("index.php"), "<?php echo 1;").expect("a file");
    // A view of the file system of its own, in which the folders of programs are empty;
    // the binary is held open, as it may lie in one of them.
    let script = "for folder in /usr/sbin /usr/local/sbin /usr/local/bin; do \
                  mount -t tmpfs none $folder || exit 77; done; exec \"$0\" \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script, env!("CARGO_BIN_EXE_wick")]);
    let site = folder.path().display().to_string();
    if !is_root() || Command::new("unshare").arg("--version").output().is_err() {
        eprintln!("SKIPPED: only root can hide php-fpm from a process");
        return;
    }
    let told = Wick::command(command, &["serve", &site, "--listen", "127.0.0.1:0"]).end().told();
    if told.contains("unshare") || told.starts_with("77 ") {
        eprintln!("SKIPPED: this system lets nobody hide folders from a process: {told}");
        return;
    }
    let expected =
        "1 wick: php-fpm is not installed: install it (apt-get install php-fpm), or name";
    assert!(told.starts_with(expected), "{told}");
}

#[test]
fn check_tells_everything_that_is_wrong_and_not_only_the_first() {
    let folder = open_folder();
    let file = folder.path().join("wick.toml").display().to_string();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let listen = taken.local_addr().expect("an address");
    let nobody = loopback::address();
    let text = format!(
        "listen = \"{listen}\"\nmemory = \"100M\"\nthreads = 3\n\
         [[site]]\nhosts = [\"a.test\", \"b.test\"]\norigin = \"/nowhere\"\n\
         [[site]]\norigin = \"http://{nobody}\"\ncache = false\n"
    );
    fs::write(&file, text).expect("the settings are written");
    let ended = Wick::run(&["check", &file]).end();
    assert_eq!(ended.told(), "1 wick: 3 things are to put right before Wick can serve");
    for part in [
        &format!("listen      {listen} (can't be had)") as &str,
        "memory      100.0 MiB for the cache",
        "threads     3",
        "site        a.test, b.test",
        "site        any host",
        "cache     off",
        &format!("- something listens on {listen} already"),
        "- can't serve /nowhere: there is no such folder",
        &format!(
            "- http://{nobody} does not answer (the origin can't be reached: tcp:{nobody}: \
             Connection refused (os error 111)): start it"
        ),
    ] {
        assert!(ended.output.contains(part), "no {part:?} in:\n{}", ended.output);
    }
}

#[test]
fn check_says_that_all_is_in_order_and_leaves_nothing_behind() {
    let folder = open_folder();
    fs::write(folder.path().join("index.html"), "x").expect("a file");
    let php = has_php();
    if php {
        fs::write(folder.path().join("index.php"), "<?php echo 1;").expect("a file");
    }
    let site = folder.path().display().to_string();
    let state = open_folder();
    let kept = state.path().join("wick").display().to_string();
    let ended = Wick::run(&["check", &site, "--listen", "127.0.0.1:0", "--state", &kept]).end();
    assert_eq!(ended.told(), "0 ", "{}", ended.output);
    let expected = if php { "php-fpm   /" } else { "(no PHP in it)" };
    assert!(ended.output.contains(expected), "{}", ended.output);
    assert!(ended.output.contains(&format!("state       {kept}")), "{}", ended.output);
    assert!(ended.output.ends_with("Everything is in order."), "{}", ended.output);
    assert_eq!((names(state.path()), names(ended.folder.path())), (vec![], vec![]));
}

#[test]
fn what_is_served_without_any_setting_is_told_at_the_start() {
    let folder = open_folder();
    fs::write(folder.path().join("index.html"), "hello").expect("a file");
    let (wick, address) = Wick::serve(&[&folder.path().display().to_string()]);
    assert!(ask(address, "GET /").ends_with("hello"));
    let ended = wick.stop();
    for part in [
        "(no PHP in it)",
        "cache     64.0 MiB of memory, on 1 thread",
        &format!("curl -sD- -o /dev/null http://{address}/") as &str,
        "Only this machine can reach it",
        "Stopped after 1 answers",
    ] {
        assert!(ended.output.contains(part), "no {part:?} in:\n{}", ended.output);
    }
}
