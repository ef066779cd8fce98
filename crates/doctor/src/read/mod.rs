//! The machine is read: twice what counts, once what is set.
//!
//! In: a root folder, which is `/` or a recorded tree, and where the databases are. Out: a
//! [`Machine`]. What a recorded tree can't have as a file of its own lies in its `recorded`
//! folder: the answers of databases and of php-fpm, and the sizes of file systems; what counts
//! at the window's end lies in `later`.
//! Invariants: 1. nothing is changed. 2. all who are asked are asked at once, and together take no
//! longer than [`Options::patience`] beside the window. 3. what can't be read is told with what
//! would help, and is no error.

mod backups;
mod disks;
mod health;
mod kernel;
mod mysql;
mod php;
mod postgres;
mod processes;
mod root;
mod settings;
mod wick;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use changes::{Address, Door, Secret};
use tokio::join;
use tokio::time::{Instant, sleep_until};

pub use self::processes::php_seconds;
pub use self::root::Root;
use crate::machine::{Counters, Machine, Unseen};

/// How long all who are asked may take, unless somebody wants to wait longer.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// Where to look.
#[derive(Clone, Debug)]
pub struct Options {
    /// `/`, or a recorded tree.
    pub root: PathBuf,
    /// How long to watch what counts.
    pub window: Duration,
    /// How long all who are asked may take together, beside the window.
    pub patience: Duration,
    /// Where MariaDB or MySQL is, unless it is found by itself.
    pub mysql: Option<Address>,
    /// Where PostgreSQL is; it is not asked without.
    pub postgres: Option<Address>,
    /// Where backups lie; else places where tools put them are looked at.
    pub backups: Option<PathBuf>,
}

impl Options {
    /// The machine at `root`, by what it says itself.
    #[must_use]
    pub fn at(root: PathBuf, window: Duration) -> Self {
        Self { root, window, patience: PATIENCE, mysql: None, postgres: None, backups: None }
    }
}

/// Why nothing could be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LookError {
    /// There is no such machine.
    #[error("there is no /proc to read: the doctor examines Linux, from within it")]
    NoMachine,
}

/// Reads everything; takes the window and little more.
///
/// # Errors
/// There is no machine to be seen at all. Whatever else is missing is in [`Machine::unseen`].
pub async fn look(options: &Options) -> Result<Machine, LookError> {
    let root = Root::new(&options.root);
    let mut machine = Machine::default();
    let mut doors = Doors::find(options, &root, &mut machine);
    // What is asked of tables opens them, and makes temporary ones: before the window, so that
    // nobody takes our own look for load.
    doors.read_settings(&root, &mut machine).await;
    settings::read(&root, &mut machine);
    disks::read(&root, &mut machine);
    backups::read(&root, options.backups.as_deref(), &mut machine);
    // Half of what is left is kept for the window's end.
    machine.before = doors.count(&root, &mut machine, 0.5).await;
    if !machine.before.contains_key("meminfo.MemTotal") {
        return Err(LookError::NoMachine);
    }
    let begun = Instant::now();
    if root.is_recorded() {
        machine.window_seconds = options.window.as_secs_f64();
        machine.now = doors.count(&root.later(), &mut machine, 1.0).await;
    } else {
        sleep_until(begun + options.window).await;
        machine.window_seconds = begun.elapsed().as_secs_f64();
        machine.now = doors.count(&root, &mut machine, 1.0).await;
    }
    // What is hidden at both ends of the window is told once.
    let mut told = BTreeSet::new();
    machine.unseen.retain(|one| told.insert(one.what.clone()));
    Ok(machine)
}

/// Reads once what counts, and nothing that takes a database long: for who looks again and again.
///
/// # Errors
/// As [`look`].
pub async fn glance(options: &Options) -> Result<Machine, LookError> {
    let root = Root::new(&options.root);
    let mut machine = Machine::default();
    let mut doors = Doors::find(options, &root, &mut machine);
    machine.now = doors.count(&root, &mut machine, 1.0).await;
    match machine.now.contains_key("meminfo.MemTotal") {
        true => Ok(machine),
        false => Err(LookError::NoMachine),
    }
}

/// Those who are asked, beside the files.
struct Doors {
    mysql: Option<mysql::Server>,
    postgres: Option<Address>,
    /// What is left of the time that they may take.
    left: Duration,
}

impl Doors {
    fn find(options: &Options, root: &Root, machine: &mut Machine) -> Self {
        processes::read(root, machine);
        php::read_pools(root, machine);
        let mysql = options.mysql.clone().or_else(|| mysql::find(root, machine));
        if options.postgres.is_none()
            && machine.processes.iter().any(|one| one.name == "postgres")
            && !root.is_recorded()
        {
            machine.unseen.push(Unseen {
                what: "PostgreSQL's settings and statistics".into(),
                cure: "it runs here: name it, as in --postgres \
                       'postgres://postgres@localhost/postgres?socket=/run/postgresql'"
                    .into(),
            });
        }
        Self {
            mysql: mysql.map(mysql::Server::new),
            postgres: options.postgres.clone(),
            left: options.patience,
        }
    }

    /// Everything that counts, for which this share of the time that is left may be taken.
    async fn count(&mut self, root: &Root, machine: &mut Machine, share: f64) -> Counters {
        let mut counters = Counters::new();
        kernel::count(root, &mut counters);
        disks::count(root, &mut counters);
        let begun = Instant::now();
        let until = begun + self.left.mul_f64(share);
        let seen = join!(
            php::count(root, machine, until),
            mysql::count(root, self.mysql.as_mut(), until),
            postgres::count(root, self.postgres.as_ref(), until)
        );
        self.left = self.left.saturating_sub(begun.elapsed());
        for mut seen in [seen.0, seen.1, seen.2] {
            counters.append(&mut seen.now);
            machine.take_in(seen);
        }
        counters
    }

    /// What is set, and how disks are; for that half of the time may be taken.
    async fn read_settings(&mut self, root: &Root, machine: &mut Machine) {
        kernel::read(root, machine);
        let begun = Instant::now();
        let until = begun + self.left / 2;
        let seen = join!(
            mysql::read(root, self.mysql.as_mut(), until),
            postgres::read(root, self.postgres.as_ref(), until),
            health::read(root, until)
        );
        self.left = self.left.saturating_sub(begun.elapsed());
        for seen in [seen.0, seen.1, seen.2] {
            machine.take_in(seen);
        }
    }
}

/// Where the database is that was asked.
pub(crate) fn database_address(options: &Options, machine: &Machine) -> Option<Address> {
    let root = Root::new(&options.root);
    options.mysql.clone().or_else(|| mysql::find(&root, &mut machine.clone()))
}

/// The door at which root logs in without a password.
fn root_at(socket: PathBuf) -> Address {
    Address {
        door: Door::Socket(socket),
        user: "root".into(),
        password: Secret::new(""),
        database: String::new(),
    }
}

/// Lines of a name, a tab and a value, as a recorded answer has them.
fn pairs(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| line.split_once('\t'))
}
