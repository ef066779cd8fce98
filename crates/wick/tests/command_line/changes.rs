//! What an owner is told of a site's changes, and `wick follow`, with a real MariaDB.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::database::{Database, PASSWORD};
use crate::wick::{Ended, Wick, has_php, is_root, names, open_folder};

/// A site of WordPress without WordPress, its database and a state folder.
struct Site {
    database: Database,
    folder: TempDir,
    state: TempDir,
}

impl Site {
    fn start(settings: &str) -> Option<Self> {
        // What has a file of PHP in it is served by PHP, and `wick check` tries that too.
        let database = has_php().then(|| Database::start(settings)).flatten()?;
        let site = Self { database, folder: open_folder(), state: open_folder() };
        site.configure(site.folder.path(), "site", PASSWORD);
        Some(site)
    }

    /// Gives a folder the settings of an app.
    fn configure(&self, folder: &Path, database: &str, password: &str) {
        let socket = self.database.socket();
        let text = format!(
            "<?php\ndefine('DB_NAME', '{database}');\ndefine('DB_USER', 'app');\n\
             define('DB_PASSWORD', '{password}');\ndefine('DB_HOST', 'localhost:{}');\n",
            socket.display()
        );
        fs::write(folder.join("wp-config.php"), text).expect("the app's settings are written");
        fs::write(folder.join("index.html"), "a page").expect("a page is written");
    }

    fn path(&self) -> String {
        self.folder.path().display().to_string()
    }

    fn run(&self, command: &str, arguments: &[&str]) -> Ended {
        let state = self.state.path().display().to_string();
        let ended = Wick::run(&[&[command, "--state", &state], arguments].concat()).end();
        for said in [&ended.output, &ended.errors] {
            assert!(!said.contains(PASSWORD), "a password is shown: {said}");
            for kept in self.passwords() {
                assert!(!said.contains(&kept), "our own password is shown: {said}");
            }
        }
        ended
    }

    fn check(&self) -> String {
        self.run("check", &["--listen", "127.0.0.1:0", &self.path()]).output
    }

    fn follow(&self, arguments: &[&str]) -> Ended {
        self.follow_at(&self.path(), arguments)
    }

    fn follow_at(&self, site: &str, arguments: &[&str]) -> Ended {
        let (folder, command) = (self.database.settings_folder(), self.database.restart_command());
        let folder = folder.display().to_string();
        let known = ["--settings-folder", &folder, "--restart-command", &command, site];
        self.run("follow", &[&known, arguments].concat())
    }

    /// What a person at a terminal reads who types this at the question.
    fn answer(&self, typed: &str) -> String {
        let line = format!(
            "{} follow --state {} --settings-folder {} --restart-command '{}' {}",
            env!("CARGO_BIN_EXE_wick"),
            self.state.path().display(),
            self.database.settings_folder().display(),
            self.database.restart_command(),
            self.path()
        );
        let mut terminal = Command::new("script")
            .args(["--quiet", "--command", &line, "/dev/null"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("script is part of every Debian");
        let mut input = terminal.stdin.take().expect("it is piped");
        input.write_all(typed.as_bytes()).expect("it listens");
        let output = terminal.wait_with_output().expect("it ends");
        drop(input);
        String::from_utf8_lossy(&output.stdout).replace('\r', "")
    }

    /// The files in the state folder, none of which holds the app's password.
    fn kept(&self) -> Vec<PathBuf> {
        let folder = self.state.path();
        let files: Vec<_> = names(folder).iter().map(|name| folder.join(name)).collect();
        for file in &files {
            let text = fs::read(file).expect("it is ours");
            assert!(!String::from_utf8_lossy(&text).contains(PASSWORD), "{}", file.display());
        }
        files
    }

    /// Wick's own passwords, out of the files that hold them.
    fn passwords(&self) -> Vec<String> {
        let text = |file: &PathBuf| fs::read_to_string(file).unwrap_or_default();
        let all = self.kept().iter().map(text).collect::<Vec<_>>();
        let password =
            |text: &String| Some(text.split_once("://wick:")?.1.split_once('@')?.0.to_owned());
        all.iter().filter_map(password).collect()
    }

    fn settings(&self) -> Vec<String> {
        names(&self.database.settings_folder())
    }

    fn users(&self) -> String {
        self.database.ask("SELECT User FROM mysql.global_priv WHERE User = 'wick'")
    }

    fn has_log(&self) -> String {
        self.database.ask("SELECT @@log_bin")
    }
}

fn assert_has(text: &str, wanted: &[&str]) {
    for line in wanted {
        assert!(text.contains(line), "no {line:?} in:\n{text}");
    }
}

#[test]
fn a_database_without_a_log_is_brought_to_it_and_back() {
    let Some(site) = Site::start("") else { return };
    let before = site.check();
    assert_has(
        &before,
        &[
            "changes   WordPress's MariaDB or MySQL (wp-config.php)",
            "asked again and again which tables changed",
            "    log_bin\n",
            "then a restart",
            "GRANT REPLICATION SLAVE ON *.* TO 'app'@'localhost';\n",
            "password hashes included",
            &format!("wick follow {} --state", site.path()),
            "Everything is in order",
        ],
    );

    let refused = site.follow(&[]);
    assert_eq!(refused.told(), "1 wick: nothing was done: without a terminal to ask at, say --yes");
    assert_has(
        &refused.output,
        &[
            "70-wick.cnf",
            "binlog_row_metadata = FULL",
            "CREATE USER 'wick'@'localhost'",
            "SHUTDOWN",
        ],
    );
    assert!(site.kept().is_empty() && site.settings().is_empty() && site.users().is_empty());

    let declined = site.answer("no\n");
    assert_has(&declined, &["This will be done:", "Do it? [yes/no]", "wick: nothing was done"]);
    assert!(site.kept().is_empty() && site.settings().is_empty() && site.users().is_empty());

    let done = site.follow(&["--yes"]);
    assert_eq!(done.told(), "0 ", "{}", done.output);
    assert_has(
        &done.output,
        &["done  write", "done  restart", "done  make the user wick", "--undo"],
    );
    assert_eq!(site.has_log(), "1");
    assert_eq!(site.settings(), ["70-wick.cnf"]);
    let [login] = &site.kept()[..] else { panic!("one login: {:?}", site.kept()) };
    assert_eq!(fs::metadata(login).expect("the login").permissions().mode() & 0o777, 0o600);
    assert_eq!(site.passwords().len(), 1);
    let grants = site.database.ask("SHOW GRANTS FOR wick@localhost");
    let grants: Vec<_> = grants.lines().map(|line| line.split(" TO ").next()).collect();
    assert_eq!(grants, [Some("GRANT REPLICATION SLAVE ON *.*"), Some("GRANT SELECT ON `site`.*")]);

    let after = site.check();
    assert_has(&after, &["as wick@", "with the login of our own in", "followed by its log"]);
    assert!(!after.contains("it takes"), "{after}");
    let again = site.follow(&["--yes"]);
    assert_has(&again.output, &["It is followed by its log already: there is nothing to do."]);
    assert_eq!(again.told(), "0 ");

    let undone = site.follow(&["--undo", "--yes"]);
    assert_eq!(undone.told(), "0 ", "{}", undone.output);
    assert!(site.kept().is_empty() && site.settings().is_empty() && site.users().is_empty());
    assert_eq!(site.has_log(), "0");
    let again = site.follow(&["--undo", "--yes"]);
    assert_has(&again.output, &["There is nothing to take back."]);
}

#[test]
fn a_log_that_is_on_is_set_at_once_and_shared_by_two_sites() {
    let Some(site) = Site::start("log-bin=log\nserver-id=1\nbinlog-row-image=MINIMAL") else {
        return;
    };
    let second = open_folder();
    site.configure(second.path(), "other", PASSWORD);
    let second = second.path().display().to_string();
    let settings = "SELECT @@global.binlog_format, @@global.binlog_row_image, @@log_bin";
    let started = site.database.ask("SHOW GLOBAL STATUS LIKE 'Uptime'");

    let done = site.follow(&["--yes"]);
    assert_eq!(done.told(), "0 ", "{}", done.output);
    assert_has(&done.output, &["SET GLOBAL binlog_row_image = 'FULL';"]);
    assert!(!done.output.contains("restart"), "{} {started}", done.output);
    assert_eq!(site.database.ask(settings), "ROW\tFULL\t1");

    let done = site.follow_at(&second, &["--yes"]);
    assert_eq!(done.told(), "0 ", "{}", done.output);
    assert_has(&done.output, &["GRANT SELECT ON `other`.*", "done  "]);
    assert!(!done.output.contains("CREATE USER"), "{}", done.output);
    assert_eq!(site.kept().len(), 2);

    let undone = site.follow(&["--undo", "--yes"]);
    assert_eq!(undone.told(), "0 ", "{}", undone.output);
    assert_eq!((site.kept().len(), site.settings().len()), (1, 1), "the other site needs them");
    let again = site.follow_at(&second, &["--yes"]);
    assert_has(&again.output, &["there is nothing to do"]);

    let undone = site.follow_at(&second, &["--undo", "--yes"]);
    assert_eq!(undone.told(), "0 ", "{}", undone.output);
    assert!(site.kept().is_empty() && site.settings().is_empty() && site.users().is_empty());
    assert_eq!(site.database.ask(settings), "MIXED\tMINIMAL\t1", "it is as it was");
}

#[test]
fn a_database_that_does_not_come_back_gets_its_settings_back() {
    // With a log it can't start: the list of its files would be in a folder that isn't there.
    let Some(site) = Site::start("log-bin-index=/nowhere/at/all") else { return };
    let failed = site.follow(&["--yes", "--wait", "3"]);
    let told = failed.told();
    assert_has(
        &told,
        &[
            "1 wick: the database did not come back (no answer within 3 s)",
            "70-wick.cnf was taken back",
            "the database runs again as before",
            "done: write ",
            "Not done: restart the database",
            "make the user wick",
        ],
    );
    assert!(site.kept().is_empty() && site.settings().is_empty() && site.users().is_empty());
    assert_eq!(site.has_log(), "0");

    let folder = site.database.settings_folder().display().to_string();
    let command = "echo not today; exit 1";
    let known = ["--settings-folder", &folder, "--restart-command", command, &site.path()];
    let failed = site.run("follow", &[&["--yes"], &known[..]].concat());
    assert_has(&failed.told(), &["not today; the database runs on as it was", "was taken back"]);
    assert!(site.settings().is_empty() && site.users().is_empty());
}

#[test]
fn what_stands_in_the_way_is_told_with_its_cure() {
    let Some(site) = Site::start("") else { return };
    let (path, folder) = (site.path(), site.folder.path());
    let elsewhere = open_folder();
    let elsewhere = elsewhere.path().display().to_string();
    // A folder that the server doesn't read: it comes back without its log.
    let unread = site.run(
        "follow",
        &[
            "--yes",
            &path,
            "--settings-folder",
            &elsewhere,
            "--restart-command",
            &site.database.restart_command(),
        ],
    );
    assert_has(&unread.told(), &["came back without its log", "--settings-folder"]);
    assert!(names(Path::new(&elsewhere)).is_empty() && site.users().is_empty());

    let other = site.database.settings_folder().join("70-wick.cnf");
    fs::write(&other, "[mysqld]\n# the owner's\n").expect("it is our folder");
    assert_has(&site.follow(&["--yes"]).told(), &["somebody else wrote it", "move it away"]);
    fs::remove_file(&other).expect("it is ours");

    site.database.ask("CREATE USER wick@localhost IDENTIFIED BY 'x'");
    assert_has(&site.follow(&["--yes"]).told(), &["has a user wick@localhost", "--user"]);
    site.database.ask("DROP USER wick@localhost");

    site.configure(folder, "site", "hush-m4rked-p4ss-wrong");
    assert_has(&site.follow(&["--yes"]).told(), &["doesn't let the app in as app@", "1045"]);
    assert_has(&site.check(), &["the database refuses app@", "correct user and password in"]);
    assert!(site.settings().is_empty() && site.kept().is_empty());

    let config = site.state.path().join("wick.toml");
    let gone = format!("mysql://app:{PASSWORD}@localhost/site?socket=/nowhere/db");
    let text = format!("[[site]]\norigin = \"{path}\"\nchanges = \"{gone}\"\n");
    let elsewhere = open_folder();
    let config = config.file_name().map(|name| elsewhere.path().join(name)).expect("a name");
    fs::write(&config, text).expect("the settings are written");
    let config = config.display().to_string();
    let checked = site.run("check", &["--listen", "127.0.0.1:0", "--config", &config]);
    assert_has(&checked.told(), &["1 wick: one thing is to put right"]);
    assert_has(&checked.output, &["the database at /nowhere/db does not answer: start it"]);
    let given = site.run("follow", &["--config", &config]);
    assert_has(&given.told(), &["with a login of yours", "changes = \"auto\""]);

    if is_root() {
        // Nobody but root is the database's root.
        let command = ["--reuid", "nobody", "--clear-groups", env!("CARGO_BIN_EXE_wick"), "follow"];
        site.configure(folder, "site", PASSWORD);
        let mut setpriv = Command::new("setpriv");
        setpriv.args(command).args(["--state", &elsewhere.path().display().to_string()]);
        let told = Wick::command(setpriv, &["--yes", &path]).end().told();
        assert_has(&told, &["the database's root can't log in at", "run this as root"]);
    }
}

#[test]
fn changes_that_are_off_or_unknown_are_told() {
    let (folder, state) = (open_folder(), open_folder());
    fs::write(folder.path().join("index.html"), "a page").expect("a page is written");
    let (path, state) = (folder.path().display().to_string(), state.path().display().to_string());
    let check = |more: &[&str]| {
        let all = [&["check", "--listen", "127.0.0.1:0", "--state", &state], more].concat();
        Wick::run(&all).end().output
    };
    assert_has(&check(&[&path]), &["changes   not followed: no app's settings were found"]);
    let told = Wick::run(&["follow", "--state", &state, &path]).end().told();
    assert_has(&told, &["1 wick: no app's settings are found that name a database"]);
    let config = folder.path().join("wick.toml").display().to_string();
    let site = |changes: &str| {
        let text =
            format!("[[site]]\norigin = \"{path}\"\nhosts = [\"a.test\"]\nchanges = {changes}\n");
        fs::write(&config, text).expect("the settings are written");
    };
    site("\"off\"");
    assert_has(&check(&["--config", &config]), &["changes   not followed: changes = \"off\""]);
    let told = Wick::run(&["follow", "--config", &config, "A.test"]).end().told();
    assert_has(&told, &["changes = \"off\" for this site"]);
    site("[\"files:/nowhere\", \"postgres://u:hush@h/d\"]");
    let said = check(&["--config", &config]);
    assert_has(&said, &["/nowhere can't be followed", "the database at h:5432 does not answer"]);
    assert!(!said.contains("hush"), "{said}");
}
