//! Which php-fpm there is, and how it is set up.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

/// The newest php-fpm on this machine.
pub(crate) fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path)
        .chain(["/usr/sbin", "/usr/local/sbin", "/usr/bin", "/usr/local/bin"].map(PathBuf::from))
        .collect();
    newest(folders.iter().flat_map(|folder| programs_in(folder)))
}

fn programs_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let is_program = |path: &PathBuf| version(path).is_some() && path.is_file();
    entries.flatten().map(|entry| entry.path()).filter(is_program).collect()
}

/// The highest version; one without a version in its name is what the system's
/// owner chose, so it goes first.
fn newest(programs: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    // The first of equals: folders earlier in PATH win.
    programs.fold(None, |best, program| match &best {
        Some(chosen) if version(chosen) >= version(&program) => best,
        _ => Some(program),
    })
}

/// The version in a name like `php-fpm8.2` or `php-fpm82`; the plain name has the highest.
fn version(path: &Path) -> Option<(u32, u32)> {
    let name = path.file_name()?.to_str()?;
    let digits = name.strip_prefix("php-fpm")?;
    if digits.is_empty() {
        return Some((u32::MAX, 0));
    }
    let (major, minor) = match digits.split_once('.') {
        Some(parts) => parts,
        None => digits.split_at_checked(1)?,
    };
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The settings that php.ini gives, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts(HashMap<String, String>);

/// Asks `program` for its settings; none known if it doesn't say.
pub(crate) async fn facts(program: &Path) -> Facts {
    let asked = Command::new(program).arg("-i").stdin(Stdio::null()).kill_on_drop(true).output();
    match tokio::time::timeout(Duration::from_secs(10), asked).await {
        Ok(Ok(output)) => Facts::parse(&String::from_utf8_lossy(&output.stdout)),
        _ => Facts::default(),
    }
}

impl Facts {
    pub(crate) fn parse(text: &str) -> Self {
        let lines = text.lines().filter_map(|line| {
            let (name, values) = line.split_once(" => ")?;
            let (_, master) = values.rsplit_once(" => ")?;
            Some((name.to_owned(), master.to_owned()))
        });
        Self(lines.collect())
    }

    /// Whether the opcode cache is installed.
    pub(crate) fn has_opcache(&self) -> bool {
        self.0.contains_key("opcache.enable")
    }

    /// A setting in bytes, as php.ini writes it: `8M`, `-1` for no limit.
    pub(crate) fn bytes(&self, name: &str) -> Option<u64> {
        let text = self.0.get(name)?;
        if text.starts_with('-') || text == "0" {
            return Some(u64::MAX);
        }
        base::amount::parse_bytes(text).ok()
    }

    /// A setting that is a number.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name)?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_is_chosen_and_a_plain_name_is_the_owners_choice() {
        for (names, chosen) in [
            ("php-fpm7.4 php-fpm8.2 php-fpm8.10", Some("php-fpm8.10")),
            ("php-fpm81 php-fpm74", Some("php-fpm81")),
            ("php-fpm8.2 php-fpm", Some("php-fpm")),
            ("php-fpm8.2.dpkg-old php phpfpm8.2 php-fpmx", None),
            ("/a/php-fpm8.2 /b/php-fpm8.2", Some("/a/php-fpm8.2")),
        ] {
            let programs = names.split(' ').map(PathBuf::from);
            let found = newest(programs.filter(|program| version(program).is_some()));
            assert_eq!(found, chosen.map(PathBuf::from), "{names}");
        }
    }

    #[test]
    fn settings_are_read_from_what_php_says_of_itself() {
        let facts = Facts::parse(
            "phpinfo()\nopcache.enable => On => On\npost_max_size => 1M => 8M\n\
             memory_limit => -1 => -1\nopcache.memory_consumption => 128 => 128\nodd\n",
        );
        assert!(facts.has_opcache());
        assert_eq!(facts.bytes("post_max_size"), Some(8 << 20));
        assert_eq!(facts.bytes("memory_limit"), Some(u64::MAX));
        assert_eq!(facts.number("opcache.memory_consumption"), Some(128));
        assert_eq!(facts.bytes("none"), None);
        assert!(!Facts::default().has_opcache());
    }
}
