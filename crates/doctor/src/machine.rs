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
}

/// A pool of php-fpm as its files say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pool {
    /// Of which PHP, as in `8.2`.
    pub version: String,
    /// Its name.
    pub name: String,
    /// What its files set.
    pub settings: BTreeMap<String, String>,
}

impl Pool {
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

    /// What a child of a pool has for itself, at the 95th percentile. RSS would count what all
    /// of them share again and again.
    #[must_use]
    pub fn child_bytes(&self, pool: &str) -> Option<u64> {
        let title = format!("php-fpm: pool {pool}");
        percentile_95(self.processes.iter().filter(|one| one.title.trim() == title))
    }

    /// The same of processes of a name.
    #[must_use]
    pub fn process_bytes(&self, name: &str) -> Option<u64> {
        percentile_95(self.processes.iter().filter(|one| one.name == name))
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
        assert_eq!(machine.child_bytes("www"), Some(19));
        assert_eq!(machine.child_bytes("other"), None);
    }
}
