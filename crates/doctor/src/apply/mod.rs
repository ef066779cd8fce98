//! A finding's changes are tried: shown, written down, applied, watched, and taken back.
//!
//! 1. [`Plan::of`] says which files of our own become what, and nobody else's file.
//! 2. [`Plan::apply`] first writes a snapshot, then the files, then has the running programs
//!    take the new values as far as they do so without a restart.
//! 3. [`watch`] looks whether anything got worse; [`roll_back`] puts everything back.
//!
//! Invariants: 1. nothing is changed before its snapshot is on the disk. 2. what trades
//! durability is refused, whoever asks. 3. a step that fails takes back those before it.

mod live;
mod postgres;
mod snapshot;
mod watch;

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::checks::{Examination, Remark};
use crate::finding::{Change, Finding, Place};
use crate::machine::Machine;
use crate::read::{Options, Root};
use crate::settings_file::{Dialect, lines};

pub use snapshot::roll_back;
pub use watch::{Pulse, Visitors, watch};

/// Settings by which a database loses what it confirmed.
const DURABILITY: &[&str] = &[
    "innodb_flush_log_at_trx_commit",
    "sync_binlog",
    "innodb_doublewrite",
    "innodb_flush_method",
    "fsync",
    "synchronous_commit",
    "full_page_writes",
];

/// Folders of my.cnf's, of which the first that is there is used.
const DATABASE_FOLDERS: &[&str] =
    &["etc/mysql/mariadb.conf.d", "etc/mysql/mysql.conf.d", "etc/mysql/conf.d", "etc/my.cnf.d"];

/// Why something wasn't applied; its message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// There is nothing that could be written.
    #[error("{0} is for a person to do: nothing of it can be written for you")]
    ByHand(&'static str),
    /// It would trade durability.
    #[error("{0} decides what a crash may lose: change it yourself if you want that")]
    Durability(String),
    /// Its owner's folder isn't there.
    #[error("there is no folder for {0}: is its package installed?")]
    NoFolder(String),
    /// A file can't be read, written or put back.
    #[error("{0}: {1}; run as root")]
    File(PathBuf, std::io::Error),
    /// A program refused what was written, which was taken back.
    #[error("{0}; it was taken back")]
    Refused(String),
    /// There is no snapshot.
    #[error("nothing was applied from here: there is no snapshot in {0}")]
    NoSnapshot(PathBuf),
    /// Something could not be taken back.
    #[error("not everything could be taken back: {0}")]
    Stuck(String),
}

/// A file of ours before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The path on the machine, from its root.
    pub path: String,
    /// What it holds now; none if it isn't there.
    pub before: Option<String>,
    /// What it will hold.
    pub after: String,
}

/// What would be done for a finding.
#[derive(Clone, Debug)]
pub struct Plan {
    finding: &'static str,
    changes: Vec<Change>,
    edits: Vec<Edit>,
}

impl Plan {
    /// What is to be done for a finding; nothing has been touched yet.
    ///
    /// # Errors
    /// It is for a person to do, or its files have no place here.
    pub fn of(finding: &Finding, root: &Root) -> Result<Self, ApplyError> {
        if finding.fix.changes.is_empty() {
            return Err(ApplyError::ByHand(finding.id));
        }
        let mut edits: Vec<Edit> = Vec::new();
        for change in &finding.fix.changes {
            if DURABILITY.contains(&change.name.as_str()) {
                return Err(ApplyError::Durability(change.name.clone()));
            }
            // It has no file of ours: the server is told, and keeps it.
            if change.place == Place::Postgres {
                continue;
            }
            let (path, section) = home(&change.place, root)?;
            let at = edits.iter().position(|edit| edit.path == path).unwrap_or_else(|| {
                let before = root.text(&path);
                let after = before.clone().unwrap_or_else(|| remark(&change.place).to_owned());
                edits.push(Edit { path: path.clone(), before, after });
                edits.len() - 1
            });
            edits[at].after = set(&edits[at].after, &section, &change.name, &written(change));
        }
        Ok(Self { finding: finding.id, changes: finding.fix.changes.clone(), edits })
    }

    /// The exact difference, as `diff` shows it.
    #[must_use]
    pub fn difference(&self) -> String {
        let mut out = String::new();
        for change in self.changes.iter().filter(|change| change.place == Place::Postgres) {
            let Change { name, old, new, .. } = change;
            let old = old.iter().map(|old| format!("-{name} = {old}\n"));
            let header = "--- PostgreSQL\n+++ PostgreSQL (ALTER SYSTEM)\n";
            out.push_str(&format!("{header}{}+{name} = {new}\n", old.collect::<String>()));
        }
        for Edit { path, before, after } in &self.edits {
            let before = before.as_deref().unwrap_or_default();
            let from = if before.is_empty() { "/dev/null".into() } else { format!("/{path}") };
            out.push_str(&format!("--- {from}\n+++ /{path}\n"));
            let only = |text: &str, other: &str, sign: char| -> String {
                let lines = text.lines().filter(|line| !other.lines().any(|one| one == *line));
                lines.map(|line| format!("{sign}{line}\n")).collect()
            };
            out.push_str(&only(before, after, '-'));
            out.push_str(&only(after, before, '+'));
        }
        out
    }

    /// Does it; what is still to be done by hand, such as a restart.
    ///
    /// # Errors
    /// What kept it from being done; then all is as it was, unless the error says otherwise.
    pub async fn apply(
        &self,
        options: &Options,
        machine: &Machine,
        state: &Path,
    ) -> Result<Vec<String>, ApplyError> {
        let root = Root::new(&options.root);
        // A setting of PostgreSQL's goes back to what was told before, or to nobody's.
        let mut before = self.clone();
        postgres::recall(&mut before.changes, options).await?;
        snapshot::take(&before, state)?;
        let done = self.write(&root).and_then(|()| live::test(self, &root));
        let done = match done {
            Ok(()) => live::take_over(&self.changes, options, machine).await,
            Err(error) => Err(error),
        };
        match done {
            Ok(notes) => Ok(notes),
            Err(error) => {
                roll_back(options, machine, state).await?;
                Err(error)
            }
        }
    }

    fn write(&self, root: &Root) -> Result<(), ApplyError> {
        self.edits.iter().try_for_each(|edit| write(&root.at(&edit.path), &edit.after))
    }
}

/// Sets aside what is written already and waits for a restart: a second run has nothing to say
/// about it but that.
pub fn set_aside_written(examination: &mut Examination, machine: &Machine, root: &Root) {
    let waits = |change: &Change| {
        change.place != Place::Postgres
            || machine.set(&format!("postgres.pending.{}", change.name)).is_some()
    };
    let is_written = |finding: &Finding| {
        let plan = Plan::of(finding, root);
        plan.is_ok_and(|plan| {
            plan.edits.iter().all(|edit| edit.before.as_ref() == Some(&edit.after))
                && plan.changes.iter().all(waits)
        })
    };
    let (written, open) =
        std::mem::take(&mut examination.findings).into_iter().partition(is_written);
    examination.findings = open;
    let written: Vec<Finding> = written;
    examination.unseen.extend(written.iter().map(|finding| Remark {
        id: finding.id,
        because:
            "its settings are written, and count from the next start of whom they are for".into(),
    }));
}

/// The file of ours in which a place's settings go, and their section.
fn home(place: &Place, root: &Root) -> Result<(String, String), ApplyError> {
    let (folder, file, section) = match place {
        Place::Kernel => ("etc/sysctl.d".to_owned(), "99-wick-doctor.conf", String::new()),
        Place::Php(version) if version.is_empty() => {
            ("etc/php.d".to_owned(), "99-wick-doctor.ini", String::new())
        }
        Place::Php(version) => {
            (format!("etc/php/{version}/fpm/conf.d"), "99-wick-doctor.ini", String::new())
        }
        Place::Pool(version, pool) if version.is_empty() => {
            ("etc/php-fpm.d".to_owned(), "zz-wick-doctor.conf", pool.clone())
        }
        Place::Pool(version, pool) => {
            (format!("etc/php/{version}/fpm/pool.d"), "zz-wick-doctor.conf", pool.clone())
        }
        Place::Database => {
            let there = DATABASE_FOLDERS.iter().find(|folder| root.names(folder).is_some());
            let folder = there.copied().unwrap_or_default().to_owned();
            (folder, "zz-wick-doctor.cnf", "mysqld".to_owned())
        }
        // Whose settings go into no file of ours.
        Place::Postgres => (String::new(), "", String::new()),
        Place::Unit(unit) => {
            let folder = format!("etc/systemd/system/{unit}.d");
            return Ok((format!("{folder}/90-wick-doctor.conf"), "Service".to_owned()));
        }
    };
    if folder.is_empty() || root.names(&folder).is_none() {
        return Err(ApplyError::NoFolder(format!("{place:?}")));
    }
    Ok((format!("{folder}/{file}"), section))
}

fn remark(place: &Place) -> &'static str {
    match place {
        Place::Php(_) | Place::Pool(..) => {
            "; Written by wick doctor; wick doctor --rollback takes it back.\n"
        }
        _ => "# Written by wick doctor; wick doctor --rollback takes it back.\n",
    }
}

/// A value as its owner's file wants it.
fn written(change: &Change) -> String {
    let is_plain = |text: &str| {
        text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./-,".contains(&byte))
    };
    match change.place {
        Place::Kernel => change.new.clone(),
        _ if is_plain(&change.new) => change.new.clone(),
        _ => format!("\"{}\"", change.new.replace(['"', '\n', '\\'], "")),
    }
}

/// A file's text with one setting in its section, once.
fn set(text: &str, section: &str, name: &str, value: &str) -> String {
    let line = format!("{name} = {value}");
    let line = if section == "Service" { line.replace(" = ", "=") } else { line };
    let known = lines(Dialect::Ini, text);
    let number = known.iter().find(|one| one.section == section && one.name == name);
    let mut all: Vec<&str> = text.lines().collect();
    if let Some(known) = number {
        all[known.number - 1] = &line;
        return all.join("\n") + "\n";
    }
    let header = format!("[{section}]");
    if section.is_empty() {
        all.push(&line);
    } else if let Some(at) = all.iter().position(|one| one.trim() == header) {
        all.insert(at + 1, &line);
    } else {
        all.push(&header);
        all.push(&line);
    }
    all.join("\n") + "\n"
}

/// Replaces a file as a whole, so that nobody reads half of it.
fn write(path: &Path, text: &str) -> Result<(), ApplyError> {
    let wrong = |error| ApplyError::File(path.to_owned(), error);
    let folder = path.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(folder).map_err(wrong)?;
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(wrong)?;
    file.write_all(text.as_bytes()).map_err(wrong)?;
    let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    file.as_file().set_permissions(readable).map_err(wrong)?;
    file.as_file().sync_all().map_err(wrong)?;
    file.persist(path).map_err(|error| wrong(error.error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_stands_once_in_its_section() {
        for (text, section, expected) in [
            ("# r\n", "", "# r\na = 1\n"),
            ("# r\na = 0\n", "", "# r\na = 1\n"),
            ("# r\n", "www", "# r\n[www]\na = 1\n"),
            ("[www]\nb = 2\n", "www", "[www]\na = 1\nb = 2\n"),
            ("[b]\na = 2\n", "www", "[b]\na = 2\n[www]\na = 1\n"),
            ("[www]\na = 0\n[b]\na = 0\n", "b", "[www]\na = 0\n[b]\na = 1\n"),
            ("", "Service", "[Service]\na=1\n"),
        ] {
            assert_eq!(set(text, section, "a", "1"), expected, "{text:?} [{section}]");
        }
    }

    #[test]
    fn what_postgresql_was_told_is_set_aside_when_it_waits_for_a_restart() {
        let change = Change {
            place: Place::Postgres,
            name: "shared_buffers".into(),
            old: Some("134217728".into()),
            new: "512MB".into(),
        };
        let finding = Finding {
            id: "postgres_buffers",
            subject: String::new(),
            evidence: String::new(),
            class: crate::Class::Slow,
            gain: String::new(),
            saved_ms_a_day: None,
            confidence: crate::Confidence::High,
            fix: crate::Fix { words: String::new(), changes: vec![change] },
            revert: String::new(),
            source: "",
        };
        let mut machine = Machine::default();
        for (is_told, left) in [(false, 1), (true, 0)] {
            if is_told {
                machine.settings.insert("postgres.pending.shared_buffers".into(), "16384".into());
            }
            let findings = vec![finding.clone()];
            let mut examination = Examination { findings, ..Examination::default() };
            set_aside_written(&mut examination, &machine, &Root::new(Path::new("/")));
            assert_eq!((examination.findings.len(), examination.unseen.len()), (left, 1 - left));
        }
    }
}
