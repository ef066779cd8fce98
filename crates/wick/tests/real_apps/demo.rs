//! `wick demo` with apps of the field: what it shows, and that nothing is left of it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::advised;
use crate::apps::require;
use crate::wick::until;

/// A demo with a folder of its own for all that it makes.
fn demo(folder: &TempDir, arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wick"));
    command.args(["demo", "--listen", "127.0.0.1:0"]).args(arguments);
    command.env("TMPDIR", folder.path()).stdin(Stdio::null()).stdout(Stdio::piped());
    command.spawn().expect("the binary can be run")
}

/// One that is told to end with the test, should that end before: it ends its database and php-fpm.
struct Asked(Child);

impl Drop for Asked {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            interrupt(&self.0);
            let _ = self.0.wait();
        }
    }
}

/// Whether it could be asked to end, as by Ctrl-C.
fn interrupt(child: &Child) -> bool {
    let asked = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    asked.is_ok_and(|status| status.success())
}

/// Neither files nor processes are left in the folder.
fn assert_clean(folder: &Path) {
    let left = fs::read_dir(folder).expect("it is there").flatten().count();
    assert_eq!(left, 0, "something lies about in {}", folder.display());
    let name = folder.display().to_string();
    let entries = fs::read_dir("/proc").expect("/proc can be read").flatten();
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let mut lines = lines.map(|line| String::from_utf8_lossy(&line).into_owned());
    assert_eq!(lines.find(|line| line.contains(&name)), None, "nothing runs in there");
}

fn folder() -> TempDir {
    use std::os::unix::fs::PermissionsExt;
    // A short name, as sockets have their places in there.
    let folder = tempfile::Builder::new().prefix("w").tempdir().expect("a temporary folder");
    // The database runs as a user of its own.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
    folder
}

fn is_there(package: &'static str, path: &str) -> bool {
    let missing = require(package, path).err();
    if let Some(missing) = &missing {
        eprintln!("\n*** {missing}: THIS TEST CHECKS NOTHING ***\n");
    }
    missing.is_none()
}

#[test]
fn the_demo_shows_dokuwiki_and_logs_in_to_it() {
    if !is_there("dokuwiki", "/usr/share/dokuwiki") {
        return;
    }
    let folder = folder();
    let child = demo(&folder, &["--app", "dokuwiki", "--seconds", "1", "--once"]);
    let output = child.wait_with_output().expect("it ends");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}");
    assert!(told.contains("Logging in through Wick works: the site knows ann."), "{told}");
    assert!(told.contains(" times as many") && told.contains(" times less"), "{told}");
    assert_clean(folder.path());
}

#[test]
fn advice_about_a_demo_of_wordpress_can_be_followed_and_stopped_it_leaves_no_database() {
    if !is_there("wordpress", "/usr/share/wordpress")
        || !is_there("mariadb-server", "/usr/sbin/mariadbd")
    {
        return;
    }
    let folder = folder();
    let mut running = Asked(demo(&folder, &["--app", "wordpress", "--seconds", "600"]));
    let child = &mut running.0;
    let output = BufReader::new(child.stdout.take().expect("it is piped"));
    let mut lines = output.lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("visitors ask for 4 pages in turn")));
    advised::follow(folder.path());
    assert!(interrupt(child));
    until("the end of the demo", || matches!(child.try_wait(), Ok(Some(_))));
    assert_clean(folder.path());
}
