//! The machine as it was read: pure data, for checks to judge.
//!
//! What counts is a flat map of numbers, read twice a window apart; what is set is a flat map of
//! texts. Names begin with whose they are: `vmstat.`, `meminfo.` (bytes), `netstat.`, `psi.`,
//! `mysql.`, `postgres.`, `opcache.` and `fpm.POOL.` count; `kernel.`, `mysql.`, `postgres.` and
//! `php.` are set.
//! Invariant: what wasn't read is absent, never zero.

use std::collections::BTreeMap;

use base::amount::parse_bytes;

use crate::traffic::Traffic;

/// Numbers by name.
pub type Counters = BTreeMap<String, f64>;

/// A process that matters: a database's, PHP's, a web server's or Wick's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Process {
    /// Its process id.
    pub pid: u32,
    /// Its parent's.
    pub parent: u32,
    /// The program, without its folder.
    pub name: String,
    /// How it was called, or calls itself (`php-fpm: pool www`).
    pub title: String,
    /// Memory that it shares with nobody; none where that can't be read.
    pub private_bytes: Option<u64>,
    /// Open descriptors, and the most there may be.
    pub descriptors: Option<(u64, u64)>,
    /// The systemd unit that it belongs to.
    pub unit: Option<String>,
    /// What its cgroup, or one above, allows of memory.
    pub allowed_bytes: Option<u64>,
    /// What its own settings let it take: of a Wick its `memory`.
    pub planned_bytes: Option<u64>,
}

/// Who writes a php-fpm's files, where that isn't a package: nothing is changed in those.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeper {
    /// A Wick that serves a site, anew at every start.
    Wick,
    /// Whoever started it with a file of its own.
    Other,
}

/// A pool of php-fpm as its files say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pool {
    /// Of which PHP, as in `8.2`; where somebody keeps its files, the one that it was started with.
    pub version: String,
    /// Its name.
    pub name: String,
    /// By what it is counted, where another pool has its name too.
    pub counted_as: Option<String>,
    /// Who keeps its files; none: they are a package's, and may be added to.
    pub keeper: Option<Keeper>,
    /// The process id of its php-fpm, where that is known.
    pub master: Option<u32>,
    /// What its files set.
    pub settings: BTreeMap<String, String>,
}

impl Pool {
    /// What its counters are called, as in `fpm.www.listen queue`.
    #[must_use]
    pub fn counter(&self, what: &str) -> String {
        format!("fpm.{}.{what}", self.counted_as.as_ref().unwrap_or(&self.name))
    }

    /// The most children.
    #[must_use]
    pub fn children_max(&self) -> Option<u64> {
        self.settings.get("pm.max_children")?.parse().ok().filter(|&most| most > 0)
    }
}

/// A line of a settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directive {
    /// The file.
    pub file: String,
    /// Its line, counted from 1.
    pub line: usize,
    /// The name, as `net.ipv4.tcp_sack` or `query_cache_size`.
    pub name: String,
    /// The value.
    pub value: String,
}

/// A file system.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileSystem {
    /// Where it is mounted.
    pub place: String,
    /// Its kind, as `ext4`.
    pub kind: String,
    /// Its size, and what of it is free for programs.
    pub bytes: (u64, u64),
    /// Its inodes, and what of them is free; both 0 where it has none to count.
    pub inodes: (u64, u64),
}

/// What a disk says of itself (SMART).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disk {
    /// Its name, as `sda`.
    pub name: String,
    /// Whether it thinks itself well.
    pub has_passed: Option<bool>,
    /// Sectors that it replaced or can't read; of NVMe, errors of its medium.
    pub bad_sectors: Option<u64>,
    /// How much of what it may be written is used up; may be above 100.
    pub worn_percent: Option<u64>,
    /// Bits of what NVMe warns of.
    pub warning: Option<u64>,
    /// Why it says nothing.
    pub unseen: Option<String>,
}

impl Disk {
    /// One that says nothing.
    #[must_use]
    pub fn unseen(name: String, why: String) -> Self {
        Self { name, unseen: Some(why), ..Self::default() }
    }
}

/// Where backups lie, or what makes them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Backup {
    /// A folder, a timer, or a file with a job.
    pub place: String,
    /// When the last was made, or begun; none: nobody knows, or there is none.
    pub age_seconds: Option<u64>,
    /// Whether there are those of several days, or somebody said that there are to be.
    pub is_habit: bool,
    /// Whether somebody said so: the owner named the folder, or a timer makes them.
    pub is_told: bool,
}

/// Something that could not be seen.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Unseen {
    /// What.
    pub what: String,
    /// Why, and what would help.
    pub cure: String,
}

/// Everything that was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// Seconds between the two readings.
    pub window_seconds: f64,
    /// What counted at the window's beginning.
    pub before: Counters,
    /// And at its end.
    pub now: Counters,
    /// What is set.
    pub settings: BTreeMap<String, String>,
    /// The processes that matter.
    pub processes: Vec<Process>,
    /// Memory that all other processes have for themselves.
    pub others_bytes: u64,
    /// php-fpm's pools.
    pub pools: Vec<Pool>,
    /// Lines of settings files, for what is in them on purpose.
    pub directives: Vec<Directive>,
    /// What is mounted.
    pub file_systems: Vec<FileSystem>,
    /// Disks that could be asked.
    pub disks: Vec<Disk>,
    /// Why none could be.
    pub disks_unseen: Option<String>,
    /// Backups, as far as they can be seen.
    pub backups: Vec<Backup>,
    /// What could not be seen.
    pub unseen: Vec<Unseen>,
    /// What the visitors waited for of the sites that Wick serves here; none: it serves none.
    pub traffic: Option<Traffic>,
}

impl Machine {
    /// A number at the window's end.
    #[must_use]
    pub fn now(&self, name: &str) -> Option<f64> {
        self.now.get(name).copied()
    }

    /// By how much a number grew in the window; one that began anew in it says nothing.
    #[must_use]
    pub fn grown(&self, name: &str) -> Option<f64> {
        let grown = self.now(name)? - self.before.get(name)?;
        (grown >= 0.0).then_some(grown)
    }

    /// The same a second.
    #[must_use]
    pub fn rate(&self, name: &str) -> Option<f64> {
        (self.window_seconds > 0.0).then_some(self.grown(name)? / self.window_seconds)
    }

    /// A setting.
    #[must_use]
    pub fn set(&self, name: &str) -> Option<&str> {
        self.settings.get(name).map(String::as_str)
    }

    /// A setting that is a number.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<f64> {
        self.set(name)?.trim().parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// A setting that is a size, as `128M` or in bytes; no negative one.
    #[must_use]
    pub fn size(&self, name: &str) -> Option<u64> {
        parse_bytes(self.set(name)?).ok()
    }

    /// Whether a setting is on, as any of their owners writes it.
    #[must_use]
    pub fn is_on(&self, name: &str) -> Option<bool> {
        let value = self.set(name)?.to_ascii_lowercase();
        Some(matches!(value.as_str(), "1" | "on" | "yes" | "true"))
    }

    /// Whether a database of MariaDB or MySQL answered.
    #[must_use]
    pub fn has_database(&self) -> bool {
        self.settings.contains_key("mysql.version")
    }

    /// Whether that is MariaDB.
    #[must_use]
    pub fn is_mariadb(&self) -> bool {
        self.set("mysql.version").is_some_and(|version| version.contains("MariaDB"))
    }

    /// The process of MariaDB or MySQL, where that runs here.
    #[must_use]
    pub fn database_process(&self) -> Option<&Process> {
        self.processes.iter().find(|one| one.name == "mariadbd" || one.name == "mysqld")
    }

    /// The database's version, as numbers that compare.
    #[must_use]
    pub fn database_version(&self) -> (u32, u32) {
        let version = self.set("mysql.version").unwrap_or_default();
        let mut parts = version.split(['.', '-']).map(|part| part.parse().unwrap_or(0));
        (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
    }

    /// The most memory there is: the machine's, or what its cgroup allows.
    #[must_use]
    pub fn memory_bytes(&self) -> Option<u64> {
        let all = self.now("meminfo.MemTotal")?;
        let allowed = self.now("cgroup.memory.max").unwrap_or(f64::INFINITY);
        Some(all.min(allowed) as u64)
    }

    /// The children of a pool.
    pub fn children_of<'a>(&'a self, pool: &'a Pool) -> impl Iterator<Item = &'a Process> {
        let is_its = |one: &&Process| {
            let name = one.title.trim().strip_prefix("php-fpm: pool ");
            name == Some(pool.name.as_str())
                && pool.master.is_none_or(|master| one.parent == master)
        };
        self.processes.iter().filter(is_its)
    }

    /// What a child of a pool has for itself, at the 95th percentile. RSS would count what all
    /// of them share again and again.
    #[must_use]
    pub fn child_bytes(&self, pool: &Pool) -> Option<u64> {
        percentile_95(self.children_of(pool))
    }

    /// Every php-fpm that has pools here, by what its pools bear.
    #[must_use]
    pub fn phps(&self) -> Vec<&str> {
        let mut all: Vec<&str> = Vec::new();
        for pool in &self.pools {
            if !all.contains(&pool.version.as_str()) {
                all.push(&pool.version);
            }
        }
        all
    }

    /// The names under which a php-fpm's settings and numbers stand: those of the first are
    /// `php.` and `opcache.`, those of others bear what their pools bear.
    #[must_use]
    pub fn names_of_php(&self, version: &str) -> (String, String) {
        match self.phps().first() {
            Some(first) if *first != version => {
                (format!("php@{version}."), format!("opcache@{version}."))
            }
            _ => ("php.".into(), "opcache.".into()),
        }
    }

    /// The machine as if this were its only php-fpm.
    #[must_use]
    pub fn of_php(&self, version: &str) -> Self {
        let (settings, numbers) = self.names_of_php(version);
        let mut machine = self.clone();
        if settings != "php." {
            rename(&mut machine.settings, &settings, "php.");
            for counters in [&mut machine.before, &mut machine.now] {
                rename(counters, &settings, "php.");
                rename(counters, &numbers, "opcache.");
            }
        }
        machine.pools.retain(|pool| pool.version == version);
        machine
    }

    /// Adds what another reading saw, which counts where both saw the same.
    pub(crate) fn take_in(&mut self, seen: Self) {
        // What a php-fpm says that it has loaded takes the place of what files say.
        for php in seen.settings.keys().filter_map(|name| name.strip_suffix(".asked")) {
            let extensions = format!("{php}.extension.");
            self.settings.retain(|name, _| !name.starts_with(&extensions));
        }
        self.settings.extend(seen.settings);
        self.unseen.extend(seen.unseen);
        self.disks.extend(seen.disks);
        self.disks_unseen = seen.disks_unseen.or(self.disks_unseen.take());
    }

    /// The same of processes of a name.
    #[must_use]
    pub fn process_bytes(&self, name: &str) -> Option<u64> {
        percentile_95(self.processes.iter().filter(|one| one.name == name))
    }
}

/// What stood under one beginning takes the place of what stands under another.
fn rename<T>(all: &mut BTreeMap<String, T>, from: &str, to: &str) {
    all.retain(|name, _| !name.starts_with(to));
    let moved: Vec<String> = all.keys().filter(|name| name.starts_with(from)).cloned().collect();
    for name in moved {
        if let Some(value) = all.remove(&name) {
            all.insert(format!("{to}{}", &name[from.len()..]), value);
        }
    }
}

fn percentile_95<'a>(processes: impl Iterator<Item = &'a Process>) -> Option<u64> {
    let mut each: Vec<u64> = processes.filter_map(|one| one.private_bytes).collect();
    each.sort_unstable();
    let at = (each.len() * 95).div_ceil(100).checked_sub(1)?;
    each.get(at).copied().filter(|&bytes| bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_began_anew_says_nothing() {
        let mut machine = Machine { window_seconds: 2.0, ..Machine::default() };
        machine.before.insert("a".into(), 10.0);
        machine.now.insert("a".into(), 30.0);
        assert_eq!(machine.rate("a"), Some(10.0));
        machine.now.insert("a".into(), 3.0);
        assert_eq!((machine.rate("a"), machine.rate("b")), (None, None));
    }

    #[test]
    fn children_are_weighed_by_what_is_theirs_alone() {
        let child = |private_bytes| Process {
            title: "php-fpm: pool www".into(),
            private_bytes,
            ..Process::default()
        };
        let mut processes: Vec<_> = (1..=20).map(|bytes| child(Some(bytes))).collect();
        processes.push(child(None));
        let machine = Machine { processes, ..Machine::default() };
        let pool = |name: &str, master| Pool { name: name.into(), master, ..Pool::default() };
        assert_eq!(machine.child_bytes(&pool("www", None)), Some(19));
        assert_eq!(machine.child_bytes(&pool("www", Some(7))), None, "another's children");
        assert_eq!(machine.child_bytes(&pool("other", None)), None);
    }

    #[test]
    fn each_php_fpm_is_seen_as_if_it_were_the_only_one() {
        let pool = |version: &str| Pool { version: version.into(), ..Pool::default() };
        let mut machine =
            Machine { pools: vec![pool("8.2"), pool("/a"), pool("8.2")], ..Machine::default() };
        for (name, value) in [("php.a", "1"), ("php.b", "2"), ("php@/a.a", "3"), ("phpx", "4")] {
            machine.settings.insert(name.into(), value.into());
        }
        machine.now.insert("opcache@/a.used".into(), 5.0);
        assert_eq!(machine.phps(), ["8.2", "/a"]);
        let (first, other) = (machine.of_php("8.2"), machine.of_php("/a"));
        assert_eq!((first.set("php.b"), first.pools.len()), (Some("2"), 2));
        assert_eq!((other.set("php.a"), other.set("php.b")), (Some("3"), None));
        assert_eq!((other.now("opcache.used"), other.set("phpx")), (Some(5.0), Some("4")));
    }
}
