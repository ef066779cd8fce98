//! The settings file that `wick follow` gives a database's server.
//!
//! Invariants: 1. A file that somebody else wrote is never changed. 2. What was written once
//! stays until it is taken back as a whole. 3. The server sees the old file or the new one.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// After the packages' own, which have 50 and 60.
const NAME: &str = "70-wick.cnf";
const MARK: &str = "# Made by \"wick follow\"; \"wick follow --undo\" takes it back.";
const SECTION: &str = "[mysqld]";
/// Says what a setting was before, for who takes it back.
const BEFORE: &str = "# before: ";

/// Where packages keep the files that their servers read.
const MARIADB_FOLDERS: &[&str] = &["/etc/mysql/mariadb.conf.d", "/etc/my.cnf.d"];
const MYSQL_FOLDERS: &[&str] = &["/etc/mysql/mysql.conf.d", "/etc/my.cnf.d"];

/// The file: what is in it, or what is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SettingsFile {
    pub(super) path: PathBuf,
    /// Lines of the section `[mysqld]`.
    pub(super) lines: Vec<String>,
    /// Settings as they were before, as in `binlog_format = MIXED`.
    pub(super) before: Vec<String>,
}

/// The folder of settings files that a server's package brings.
pub(super) fn folder_of(is_mariadb: bool) -> Option<PathBuf> {
    let folders = if is_mariadb { MARIADB_FOLDERS } else { MYSQL_FOLDERS };
    folders.iter().map(PathBuf::from).find(|folder| folder.is_dir())
}

impl SettingsFile {
    /// The file in `folder`, without lines if it isn't there.
    pub(super) fn read(folder: &Path) -> io::Result<Self> {
        let path = folder.join(NAME);
        match fs::read_to_string(&path) {
            Ok(text) => Self::parse(path, &text),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Ok(Self { path, lines: Vec::new(), before: Vec::new() })
            }
            Err(error) => Err(error),
        }
    }

    fn parse(path: PathBuf, text: &str) -> io::Result<Self> {
        if text.lines().next() != Some(MARK) {
            return Err(io::Error::new(ErrorKind::AlreadyExists, "somebody else wrote it"));
        }
        let before = text.lines().filter_map(|line| line.strip_prefix(BEFORE));
        let lines = text.lines().map(str::trim);
        let lines =
            lines.filter(|line| !line.is_empty() && !line.starts_with('#') && *line != SECTION);
        Ok(Self {
            path,
            before: before.map(str::to_owned).collect(),
            lines: lines.map(str::to_owned).collect(),
        })
    }

    /// Whether there is, or shall be, such a file.
    pub(super) fn is_there(&self) -> bool {
        !self.lines.is_empty()
    }

    /// Whether it switches the log on.
    pub(super) fn has_log(&self) -> bool {
        self.lines.iter().any(|line| name(line) == "log_bin")
    }

    /// With more lines; of two that set the same the newer counts, and of two that say how
    /// it was before the older.
    pub(super) fn with(&self, lines: &[String], before: &[String]) -> Self {
        let mut all = self.clone();
        all.lines.retain(|line| lines.iter().all(|new| name(new) != name(line)));
        all.lines.extend_from_slice(lines);
        let is_new = |new: &&String| self.before.iter().all(|old| name(old) != name(new));
        all.before.extend(before.iter().filter(is_new).cloned());
        all
    }

    /// Without a line, which is no file at all.
    pub(super) fn emptied(&self) -> Self {
        Self { path: self.path.clone(), lines: Vec::new(), before: Vec::new() }
    }

    /// The whole of it.
    pub(super) fn text(&self) -> String {
        let before = self.before.iter().map(|line| format!("{BEFORE}{line}\n"));
        let lines = self.lines.iter().map(|line| format!("{line}\n"));
        let (before, lines): (String, String) = (before.collect(), lines.collect());
        format!("{MARK}\n{before}{SECTION}\n{lines}")
    }

    /// Makes what is on the disk this.
    pub(super) fn write(&self) -> io::Result<()> {
        if !self.is_there() {
            return match fs::remove_file(&self.path) {
                Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        // Servers read what ends in .cnf, and this doesn't.
        let mut file = tempfile::Builder::new()
            .prefix(".wick-")
            .permissions(Permissions::from_mode(0o644))
            .tempfile_in(folder)?;
        // Whatever mask we were started with, the server has to read it.
        file.as_file().set_permissions(Permissions::from_mode(0o644))?;
        file.write_all(self.text().as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }
}

/// What a line sets.
pub(super) fn name(line: &str) -> &str {
    line.split('=').next().unwrap_or(line).trim()
}

/// The statement by which a server takes a line at once, where it can; the log itself and
/// the server's number come with a restart.
pub(super) fn assignment(line: &str) -> Option<String> {
    let (name, value) = line.split_once('=')?;
    let (name, value) = (name.trim(), value.trim());
    let is_plain = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    (name.starts_with("binlog_row_") || name == "binlog_format")
        .then_some(())
        .filter(|()| is_plain(name) && is_plain(value))
        .map(|()| format!("SET GLOBAL {name} = '{value}';"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|&line| line.to_owned()).collect()
    }

    #[test]
    fn a_file_is_read_as_it_was_written_and_gone_without_lines() {
        let folder = tempfile::tempdir().expect("a folder");
        let none = SettingsFile::read(folder.path()).expect("nothing yet");
        assert!(!none.is_there() && none.write().is_ok(), "what isn't there can be taken back");
        let file = none.with(&lines(&["log_bin", "server_id = 1"]), &lines(&["a = MIXED"]));
        file.write().expect("it is written");
        let read = SettingsFile::read(folder.path()).expect("it is ours");
        assert_eq!(read, file);
        assert!(read.has_log());
        let mode = fs::metadata(&read.path).expect("the file").permissions().mode();
        assert_eq!(mode & 0o777, 0o644);
        none.write().expect("it is removed");
        assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 0);
    }

    #[test]
    fn a_newer_line_counts_and_an_older_before() {
        let file = SettingsFile {
            path: "/x".into(),
            lines: lines(&["a = 1", "b"]),
            before: lines(&["a = 0"]),
        };
        let file = file.with(&lines(&["a = 2"]), &lines(&["a = 1", "c = 3"]));
        assert_eq!(file.lines, ["b", "a = 2"]);
        assert_eq!(file.before, ["a = 0", "c = 3"]);
    }

    #[test]
    fn a_file_of_somebody_else_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join(NAME), "[mysqld]\nlog_bin\n").expect("a file");
        let told = SettingsFile::read(folder.path()).expect_err("not ours").to_string();
        assert_eq!(told, "somebody else wrote it");
    }

    #[test]
    fn what_can_be_set_at_once_is() {
        for (line, statement) in [
            ("binlog_format = ROW", Some("SET GLOBAL binlog_format = 'ROW';")),
            ("binlog_row_image = FULL", Some("SET GLOBAL binlog_row_image = 'FULL';")),
            ("log_bin", None),
            ("server_id = 1", None),
            ("binlog_expire_logs_seconds = 86400", None),
            ("binlog_format = 'x'; DROP", None),
        ] {
            assert_eq!(assignment(line).as_deref(), statement, "{line}");
        }
    }
}
