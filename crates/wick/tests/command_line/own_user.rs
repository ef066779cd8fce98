//! Started as root, and as whom it goes on: what is left of root, and what still works without.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

use crate::origin::Origin;
use crate::wick::{Wick, ask, body, has_php, is_root, names, open_folder, processes_with, until};

/// Only to listen on ports below 1024.
const NET_BIND_SERVICE: u64 = 1 << 10;

/// Whether this can be tried; says so if not.
fn can_become_others() -> bool {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let is_there = is_root() && users.contains("\nwww-data:");
    if !is_there {
        eprintln!("SKIPPED: only root can go on as www-data");
    }
    is_there
}

/// What the system says of each thread of a process, a line each: user, group, whether it can
/// gain rights, and which capabilities it has.
fn threads(id: u32) -> Vec<(u32, u32, bool, u64)> {
    let threads = fs::read_dir(format!("/proc/{id}/task")).expect("it runs").flatten();
    let each = threads.filter_map(|thread| fs::read_to_string(thread.path().join("status")).ok());
    let read = |text: String| {
        let field = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)).expect(name);
            line.split_whitespace().next().expect("a value").to_owned()
        };
        let number = |name: &str| field(name).parse::<u32>().expect("a number");
        let set = |name: &str| u64::from_str_radix(&field(name), 16).expect("a set");
        assert_eq!(set("CapEff:"), set("CapPrm:"), "nothing is put by for later");
        (number("Uid:"), number("Gid:"), number("NoNewPrivs:") == 0, set("CapEff:"))
    };
    each.map(read).collect()
}

fn uid_of(name: &str) -> u32 {
    let users = fs::read_to_string("/etc/passwd").expect("there are users");
    let line = users.lines().find(|line| line.starts_with(&format!("{name}:")));
    line.and_then(|line| line.split(':').nth(2)?.parse().ok()).expect("the user is there")
}

fn owner(path: &Path) -> u32 {
    fs::symlink_metadata(path).expect("it is there").uid()
}

/// The masters of php-fpm that have this folder.
fn masters(kept: &str) -> Vec<i32> {
    let all = fs::read_dir("/proc").expect("/proc can be read").flatten();
    let ours = all.filter_map(|entry| {
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        let text = String::from_utf8_lossy(&line).into_owned();
        let is_master = text.contains("php-fpm: master")
            && processes_with(kept).contains(&text.replace('\0', " "));
        is_master.then(|| entry.file_name().to_string_lossy().parse::<i32>().ok())?
    });
    ours.collect()
}

#[test]
fn no_thread_is_roots_and_php_fpm_is_healed() {
    if !can_become_others() || !has_php() {
        return;
    }
    let site = open_folder();
    let script = "<?php echo exec('id -un'), ' ', file_get_contents('secret.txt');";
    fs::write(site.path().join("index.php"), script).expect("a file");
    let secret = site.path().join("secret.txt");
    fs::write(&secret, "kept").expect("a file");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).expect("ours");
    // Somebody else's site: its PHP runs as them.
    let nobody = uid_of("nobody");
    [site.path(), &secret].iter().for_each(|path| {
        std::os::unix::fs::chown(path, Some(nobody), None).expect("root may");
    });
    let state = open_folder();
    let kept = state.path().join("state").display().to_string();
    let path = site.path().display().to_string();
    let admin = loopback::address();
    let settings = state.path().join("wick.toml").display().to_string();
    fs::write(&settings, format!("admin = \"{admin}\"\n")).expect("ours");
    let serve = [&path, "--config", &settings, "--state", &kept, "--user", "www-data"];
    let (wick, address) = Wick::serve(&serve);
    let own = uid_of("www-data");
    let all = threads(wick.id());
    assert!(all.len() > 1, "{all:?}");
    for thread in all {
        assert_eq!(thread, (own, thread.1, false, NET_BIND_SERVICE));
    }
    assert_eq!(body(&ask(address, "GET /?1")), "nobody kept");
    // A worker that was forked a moment ago still bears its master's name.
    let mut first = Vec::new();
    until("one php-fpm", || {
        first = masters(&kept);
        first.len() == 1
    });
    let master = Pid::from_raw(first[0]).expect("an id");
    kill_process(master, Signal::KILL).expect("it runs");
    until("another php-fpm", || masters(&kept).iter().any(|id| !first.contains(id)));
    assert_eq!(body(&ask(address, "GET /?2")), "nobody kept");
    until("the keeper's count", || {
        let metrics = ask(admin, "GET /metrics");
        metrics
            .lines()
            .any(|line| line.starts_with("wick_php_restarts_total{") && line.ends_with("} 1"))
    });
    for name in ["", "learned.sqlite3", "control.sock"] {
        assert_eq!(owner(&Path::new(&kept).join(name)), own, "{name}");
    }
    wick.stop();
    until("the end of php-fpm", || processes_with(&kept).is_empty());

    // Another start finds what this one has left.
    let (wick, address) = Wick::serve(&[&path, "--state", &kept, "--user", "www-data"]);
    assert_eq!(body(&ask(address, "GET /?3")), "nobody kept");
    // Nobody can ask it to stop in good order.
    wick.signal(Signal::KILL);
    wick.end();
    until("the end of php-fpm", || processes_with(&kept).is_empty());
}

#[test]
fn files_that_only_root_may_read_are_read_where_the_settings_name_them() {
    if !can_become_others() {
        return;
    }
    let origin = Origin::saying("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage");
    let folder = open_folder();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let certificate = rcgen::generate_simple_self_signed(vec!["a.test".to_owned()]).expect("one");
    fs::write(path("chain.pem"), certificate.cert.pem()).expect("ours");
    fs::write(path("key.pem"), certificate.signing_key.serialize_pem()).expect("ours");
    let settings = format!(
        "listen_tls = \"127.0.0.1:0\"\naccess_log = {:?}\n[[site]]\nhosts = [\"a.test\"]\norigin = {:?}\n\
         certificate = {:?}\ncertificate_key = {:?}\n",
        path("access.log"),
        origin.url(),
        path("chain.pem"),
        path("key.pem"),
    );
    fs::write(path("wick.toml"), &settings).expect("ours");
    for name in ["wick.toml", "key.pem"] {
        let private = fs::Permissions::from_mode(0o600);
        fs::set_permissions(path(name), private).expect("ours");
    }
    let (state, config) = (path("state"), path("wick.toml"));
    let (wick, _) = Wick::serve(&["--config", &config, "--state", &state]);
    assert!(threads(wick.id()).iter().all(|thread| thread.0 != 0));
    let reloaded = Wick::run(&["reload", "--state", &state]).end();
    assert!(reloaded.status.success(), "{}", reloaded.told());
    assert_eq!(owner(Path::new(&path("access.log"))), owner(Path::new(&state)));
    // What the settings don't name stays unread.
    let other = settings.replace("certificate_key = ", "busy_page = ");
    fs::write(path("wick.toml"), other).expect("ours");
    let reloaded = Wick::run(&["reload", "--state", &state]).end();
    assert!(reloaded.told().contains("Permission denied"), "{}", reloaded.told());
    wick.stop();
}

#[test]
fn root_stays_where_its_owner_wants_it_and_is_told_otherwise() {
    if !can_become_others() {
        return;
    }
    let origin = Origin::saying("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage");
    let folder = open_folder();
    let state = folder.path().join("state").display().to_string();
    let url = origin.url();
    let (wick, address) = Wick::serve(&[&url, "--state", &state, "--user", "root"]);
    assert_eq!(threads(wick.id())[0].0, 0);
    assert_eq!(body(&ask(address, "GET /")), "page");
    let ended = wick.stop();
    assert!(
        ended.errors.contains("it serves as root, as user = \"root\" wants"),
        "{}",
        ended.errors
    );

    let foreign = open_folder();
    fs::write(foreign.path().join("precious"), "x").expect("ours");
    let foreign = foreign.path().display().to_string();
    for (arguments, expected) in [
        (
            ["--user", "no-such-user", "--state", &state],
            "1 wick: there is no user \"no-such-user\"",
        ),
        (["--user", "www-data", "--state", &foreign], "1 wick: the state folder /"),
    ] {
        let all = [&["serve", &url, "--listen", "127.0.0.1:0"], &arguments[..]].concat();
        let told = Wick::run(&all).end().told();
        assert!(told.starts_with(expected), "{told}");
    }
    assert_eq!(
        (owner(Path::new(&foreign)), names(Path::new(&foreign))),
        (0, vec!["precious".to_owned()])
    );
}

#[test]
fn a_check_tells_what_the_user_could_not_reach() {
    if !can_become_others() {
        return;
    }
    let site = open_folder();
    fs::write(site.path().join("index.html"), "page").expect("a file");
    fs::set_permissions(site.path(), fs::Permissions::from_mode(0o700)).expect("ours");
    let state = open_folder();
    let kept = state.path().join("state").display().to_string();
    let path = site.path().display().to_string();
    let check = |user: &[&str]| {
        let all = ["check", &path, "--state", &kept, "--listen", "127.0.0.1:0"];
        Wick::run(&[&all, user].concat()).end()
    };
    let reason = format!("www-data could not come to {path}");
    let named = check(&["--user", "www-data"]);
    assert!(!named.status.success() && named.output.contains(&reason), "{}", named.output);
    if !fs::read_to_string("/etc/passwd").unwrap_or_default().contains("\nwick:") {
        // Nobody named it, so root would stay, and serve.
        let unnamed = check(&[]);
        let expected = format!("user        root would serve: {reason}");
        assert!(unnamed.output.contains(&expected), "{}", unnamed.output);
    }
    fs::set_permissions(site.path(), fs::Permissions::from_mode(0o755)).expect("ours");
    let open = check(&["--user", "www-data"]);
    assert!(open.status.success(), "{}", open.output);
    assert!(open.output.contains("user        www-data would serve"), "{}", open.output);
    assert!(!Path::new(&kept).exists(), "a check gives nothing away");
}
