//! Backups: when the last one was made, as far as this machine shows it.
//!
//! In: the folder that the owner names, else places where tools put dumps, what they keep of
//! their last run, timers and jobs. Out: [`Machine::backups`]. Backups may well be made by
//! somebody else, such as the host of a virtual machine: what isn't seen here is no evidence.
//! Invariant: at most [`ENTRIES_MAX`] names of a place are looked at, none behind a link.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::{Root, pairs};
use crate::machine::{Backup, Machine, Unseen};

const ENTRIES_MAX: usize = 20_000;
const DEPTH_MAX: usize = 5;
const DAY_SECONDS: u64 = 86_400;
/// Backups of so many different days are a habit; fewer may be somebody's copy of once.
const HABIT_DAYS: usize = 3;

/// Where dumps of databases lie by custom.
const FOLDERS: &[&str] = &[
    "var/backups",
    "var/lib/automysqlbackup",
    "var/lib/postgresql/backups",
    "var/lib/pgsql/backups",
    "srv/backup",
    "srv/backups",
    "backup",
    "backups",
    "root/backup",
    "root/backups",
];
/// How dumps are called, before the name of a compression. Debian's own copies of its lists of
/// packages in /var/backups aren't.
const DUMPS: &[&str] = &[".sql", ".dump", ".pgdump", ".xb", ".xbstream", ".mbstream"];
const COMPRESSIONS: &[&str] = &[".gz", ".bz2", ".xz", ".zst", ".lz4", ".gpg", ".age", ".enc"];
/// What tools keep of each run.
const TRACES: &[&str] = &["root/.cache/restic", "root/.cache/borg", "var/cache/restic"];
/// Words by which a timer or a job is known to make backups; and what has such a name, but isn't
/// of anybody's site.
const WORDS: &[&str] = &[
    "backup",
    "restic",
    "borg",
    "mysqldump",
    "mariadb-dump",
    "pg_dump",
    "xtrabackup",
    "duplicity",
    "rsnapshot",
    "pgbackrest",
    "barman",
    "kopia",
];
const NOT_MEANT: &[&str] = &["dpkg-db-backup", "/var/backups/dpkg"];
const JOB_FOLDERS: &[&str] =
    &["etc/cron.d", "etc/cron.daily", "etc/cron.weekly", "var/spool/cron/crontabs"];

/// Looks in the folder that was named, or in all the places where one may be seen.
pub(super) fn read(root: &Root, named: Option<&Path>, machine: &mut Machine) {
    if root.is_recorded() {
        machine.backups = recorded(&root.recorded("backups.tsv").unwrap_or_default());
        return;
    }
    if let Some(folder) = named {
        let Some(times) = times(folder, &|_| true) else {
            machine.unseen.push(Unseen {
                what: format!("the backups in {}", folder.display()),
                cure: "the folder can't be read: see its path, and run as root".into(),
            });
            return;
        };
        let age_seconds = times.iter().max().map(age);
        let place = folder.display().to_string();
        machine.backups = vec![Backup { place, age_seconds, is_habit: true, is_told: true }];
        return;
    }
    for folder in FOLDERS {
        machine.backups.extend(seen(folder, &root.at(folder), &is_dump));
    }
    for folder in TRACES {
        machine.backups.extend(seen(folder, &root.at(folder), &|_| true));
    }
    timers(root, machine);
    jobs(root, machine);
}

fn is_dump(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let bare =
        COMPRESSIONS.iter().fold(name.as_str(), |name, end| name.strip_suffix(end).unwrap_or(name));
    DUMPS.iter().any(|end| bare.ends_with(end))
}

/// What lies in a folder, if anything does.
fn seen(place: &str, folder: &Path, is_wanted: &dyn Fn(&str) -> bool) -> Option<Backup> {
    let times = times(folder, is_wanted)?;
    let newest = times.iter().max()?;
    let day = |time: &SystemTime| age(time) / DAY_SECONDS;
    let days: BTreeSet<u64> = times.iter().map(day).collect();
    let is_habit = days.len() >= HABIT_DAYS;
    let (place, age_seconds) = (format!("/{place}"), Some(age(newest)));
    Some(Backup { place, age_seconds, is_habit, is_told: false })
}

/// When each of the wanted files in a folder was written; none if it can't be read.
fn times(folder: &Path, is_wanted: &dyn Fn(&str) -> bool) -> Option<Vec<SystemTime>> {
    let mut times = Vec::new();
    let mut looked_at = 0;
    let mut open: Vec<(PathBuf, usize)> = vec![(folder.to_owned(), 0)];
    std::fs::read_dir(folder).ok()?;
    while let Some((folder, depth)) = open.pop() {
        // A folder within that can't be read hides what is in it, and no more.
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            looked_at += 1;
            let (Ok(kind), name) = (entry.file_type(), entry.file_name()) else { continue };
            if looked_at > ENTRIES_MAX {
                return Some(times);
            }
            if kind.is_dir() && depth < DEPTH_MAX {
                open.push((entry.path(), depth + 1));
            } else if kind.is_file() && is_wanted(&name.to_string_lossy()) {
                times.extend(entry.metadata().and_then(|data| data.modified()));
            }
        }
    }
    Some(times)
}

fn age(time: &SystemTime) -> u64 {
    SystemTime::now().duration_since(*time).unwrap_or_default().as_secs()
}

fn names_a_backup(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    WORDS.iter().any(|word| text.contains(word))
        && !NOT_MEANT.iter().any(|word| text.contains(word))
}

/// systemd notes when a timer that is to make up for missed times went off last.
fn timers(root: &Root, machine: &mut Machine) {
    let enabled = root.names("etc/systemd/system/timers.target.wants").unwrap_or_default();
    for name in enabled.into_iter().filter(|name| names_a_backup(name)) {
        let stamp = root.at(&format!("var/lib/systemd/timers/stamp-{name}"));
        let time = std::fs::metadata(stamp).and_then(|data| data.modified());
        let age_seconds = time.ok().as_ref().map(age);
        let is_told = age_seconds.is_some();
        machine.backups.push(Backup { place: name, age_seconds, is_habit: is_told, is_told });
    }
}

/// Jobs of cron: that they are there is all that can be known.
fn jobs(root: &Root, machine: &mut Machine) {
    let folders = JOB_FOLDERS.iter().flat_map(|folder| root.files(folder, ""));
    for file in folders.chain(["etc/crontab".to_owned()]) {
        let text = root.text(&file).unwrap_or_default();
        let mut lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
        if names_a_backup(&file) && !text.is_empty() || lines.any(names_a_backup) {
            let place = format!("/{file}");
            machine.backups.push(Backup { place, ..Backup::default() });
        }
    }
}

/// `PLACE<tab>SECONDS WHY`, where it is why there are to be more: `told`, `habit` or `once`.
fn recorded(text: &str) -> Vec<Backup> {
    let each = pairs(text).filter_map(|(place, rest)| {
        let (age, why) = rest.split_once(' ')?;
        Some(Backup {
            place: place.into(),
            age_seconds: age.parse().ok(),
            is_habit: why != "once",
            is_told: why == "told",
        })
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn file(root: &Path, path: &str, days: u64) {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(&path, "#!/bin/sh\nmysqldump --all-databases\n").expect("a file");
        let time = SystemTime::now() - Duration::from_secs(days * DAY_SECONDS + 60);
        let file = std::fs::File::options().write(true).open(&path).expect("it is there");
        file.set_modified(time).expect("a time");
    }

    fn look(root: &Path, named: Option<&Path>) -> Vec<(String, Option<u64>, bool)> {
        let mut machine = Machine::default();
        read(&Root::new(root), named, &mut machine);
        let days =
            |one: Backup| (one.place, one.age_seconds.map(|age| age / DAY_SECONDS), one.is_habit);
        machine.backups.into_iter().map(days).collect()
    }

    #[test]
    fn dumps_of_several_days_are_a_habit_and_packages_are_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        for name in ["dpkg.status.0", "dpkg.status.1.gz", "alternatives.tar.0"] {
            file(root, &format!("var/backups/{name}"), 40);
        }
        assert_eq!(look(root, None), []);
        file(root, "var/backups/mysql/old.sql.gz", 400);
        assert_eq!(look(root, None), [("/var/backups".into(), Some(400), false)]);
        for days in 9..12 {
            file(root, &format!("var/backups/mysql/site-{days}.SQL.zst"), days);
        }
        assert_eq!(look(root, None), [("/var/backups".into(), Some(9), true)]);
    }

    #[test]
    fn timers_and_jobs_that_make_backups_are_known_by_their_words() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        for name in ["restic-home.timer", "dpkg-db-backup.timer", "fstrim.timer", "borgmatic.timer"]
        {
            file(root, &format!("etc/systemd/system/timers.target.wants/{name}"), 300);
        }
        file(root, "var/lib/systemd/timers/stamp-restic-home.timer", 2);
        file(root, "etc/cron.d/nightly", 300);
        let expected = [
            ("borgmatic.timer".into(), None, false),
            ("restic-home.timer".into(), Some(2), true),
            ("/etc/cron.d/nightly".into(), None, false),
        ];
        assert_eq!(look(root, None), expected);
    }

    #[test]
    fn the_folder_that_is_named_is_the_only_one_that_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        file(root, "var/backups/site.sql", 1);
        file(root, "mnt/repository/data/00/abc", 12);
        file(root, "mnt/repository/config", 90);
        let named = root.join("mnt/repository");
        let name = named.display().to_string();
        assert_eq!(look(root, Some(&named)), [(name, Some(12), true)]);
        let empty = root.join("empty");
        std::fs::create_dir(&empty).expect("a folder");
        assert_eq!(look(root, Some(&empty)), [(empty.display().to_string(), None, true)]);
        assert_eq!(look(root, Some(&root.join("nowhere"))), []);
    }
}
