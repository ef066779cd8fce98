//! Credentials from an app's own settings, so that nobody has to write them twice.
//!
//! In: a site's folder. Out: which app it is and where its database is, as whom.
//! An app that keeps its content in files has folders instead of a database.
//! Where each app keeps them stands in `hints/`, a file an app.
//! Invariants: 1. Nothing of the app is run. 2. Only files that a hint names are
//! opened, and only their beginning is read. 3. No password leaves but as a [`Secret`].

pub(crate) mod dotenv;
mod folders;
pub(crate) mod php;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use folders::Folders;
use serde::Deserialize;

use crate::{Address, Door, Secret, Source};

/// The most of a file that is read.
const FILE_BYTES_MAX: u64 = 512 << 10;
/// Where MariaDB and MySQL listen for `localhost`, by distribution.
const SOCKETS: &[&str] = &[
    "/run/mysqld/mysqld.sock",
    "/var/run/mysqld/mysqld.sock",
    "/var/lib/mysql/mysql.sock",
    "/tmp/mysql.sock",
];

/// Where PostgreSQL listens for those who name no host, on Debian.
const POSTGRES_FOLDER: &str = "/var/run/postgresql";

const HINTS: &[&str] = &[
    include_str!("../../hints/wordpress.toml"),
    include_str!("../../hints/mediawiki.toml"),
    include_str!("../../hints/mybb.toml"),
    include_str!("../../hints/smf.toml"),
    include_str!("../../hints/gnuboard5.toml"),
    include_str!("../../hints/joomla.toml"),
    include_str!("../../hints/drupal.toml"),
    include_str!("../../hints/phpbb.toml"),
    include_str!("../../hints/opencart.toml"),
    include_str!("../../hints/laravel.toml"),
    include_str!("../../hints/dokuwiki.toml"),
    include_str!("../../hints/shaarli.toml"),
    include_str!("../../hints/tt-rss.toml"),
    include_str!("../../hints/tt-rss-debian.toml"),
];

/// What an app's settings say about where its content is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The app's name.
    pub app: String,
    /// The file that says it.
    pub file: PathBuf,
    /// Where its content is.
    pub source: Source,
    /// More folders that hold some of it.
    pub folders: Vec<PathBuf>,
    /// What its tables' names begin with.
    pub prefix: String,
}

impl Found {
    /// Everything that its pages are made of, the file of its settings included.
    #[must_use]
    pub fn sources(&self) -> Vec<Source> {
        let mut sources = vec![self.source.clone()];
        sources.extend(self.folders.iter().cloned().map(Source::Files));
        let holds = |source: &Source| matches!(source, Source::Files(folder) if self.file.starts_with(folder));
        if !sources.iter().any(holds) {
            sources.push(Source::Files(self.file.clone()));
        }
        sources
    }
}

/// The settings of the app in `folder`, if it is one that a hint knows.
#[must_use]
pub fn find_settings(folder: &Path) -> Option<Found> {
    let hints = HINTS.iter().filter_map(|text| toml::from_str::<Hint>(text).ok());
    hints.into_iter().find_map(|hint| hint.find(folder))
}

/// Where one app keeps its settings.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Hint {
    app: String,
    /// Paths from the site's folder that are the app's own, where its settings may lie
    /// elsewhere or be called as others' are.
    #[serde(default)]
    present: Vec<PathBuf>,
    /// Paths from the site's folder; the first that fits counts.
    files: Vec<PathBuf>,
    language: Language,
    /// What has to stand in the file, where others have one of that name.
    mark: Option<String>,
    /// Files beside it that may say otherwise.
    #[serde(default)]
    overrides: Vec<PathBuf>,
    /// Where its database is…
    values: Option<Names>,
    /// …or the folders that hold its content.
    folders: Option<Folders>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Language {
    Php,
    Dotenv,
}

/// Under which names the values stand.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Names {
    /// Without it the app knows MySQL only…
    engine: Option<String>,
    /// …unless this is what it takes where nothing else is said.
    default_engine: Option<String>,
    host: String,
    port: Option<String>,
    socket: Option<String>,
    user: String,
    password: String,
    database: String,
    prefix: Option<String>,
    /// Where SQLite's files lie, if `database` is only a name…
    folder: Option<String>,
    /// …and what is put behind it.
    file_ending: Option<String>,
}

impl Hint {
    fn find(&self, folder: &Path) -> Option<Found> {
        if !self.present.iter().all(|own| folder.join(own).exists()) {
            return None;
        }
        self.files.iter().find_map(|file| {
            let path = folder.join(file);
            let mut text = beginning(&path)?;
            if self.mark.as_ref().is_some_and(|mark| !text.contains(mark)) {
                return None;
            }
            for other in
                self.overrides.iter().filter_map(|own| beginning(&path.with_file_name(own)))
            {
                text.push('\n');
                text.push_str(&other);
            }
            let values = match self.language {
                Language::Php => php::values(&text),
                Language::Dotenv => dotenv::values(&text),
            };
            let prefix = self.values.as_ref().and_then(|names| names.prefix.as_ref());
            let (source, folders) = match (&self.values, &self.folders) {
                (Some(names), _) => (names.source(&values, folder)?, Vec::new()),
                (None, Some(folders)) => folders.sources(&values, folder, &path)?,
                (None, None) => return None,
            };
            Some(Found {
                app: self.app.clone(),
                source,
                folders,
                prefix: prefix.and_then(|name| values.get(name)).cloned().unwrap_or_default(),
                file: path,
            })
        })
    }
}

impl Names {
    fn source(&self, values: &BTreeMap<String, String>, folder: &Path) -> Option<Source> {
        let value = |name: &Option<String>| name.as_ref().and_then(|name| values.get(name));
        let engine = value(&self.engine).or(self.default_engine.as_ref());
        let engine = engine.map_or("mysql", String::as_str);
        // phpBB writes the name of a class: `phpbb\db\driver\mysqli`.
        let engine = engine.rsplit('\\').next().unwrap_or(engine).to_ascii_lowercase();
        let database = values.get(&self.database)?;
        match engine.as_str() {
            "mysql" | "mysqli" | "pdo" | "pdomysql" | "mysql_pdo" | "mariadb" => {}
            _ if engine.contains("sqlite") => {
                let name = self
                    .file_ending
                    .as_ref()
                    .map_or_else(|| database.clone(), |ending| format!("{database}{ending}"));
                let base = value(&self.folder).map_or(folder.to_owned(), |base| folder.join(base));
                return Some(Source::Sqlite(base.join(name)));
            }
            // "pgsql", "postgres", "postgresql", "pdo_pgsql".
            _ if engine.contains("pgsql") || engine.contains("postgres") => {}
            _ => return Some(Source::Other(engine)),
        }
        let is_mysql = engine.contains("my") || engine == "pdo" || engine == "mariadb";
        let present = |path: &Path| path.exists();
        let host = values.get(&self.host).map_or("", String::as_str);
        let port = value(&self.port).map_or("", String::as_str);
        let socket = value(&self.socket).map_or("", String::as_str);
        let address = |door| {
            Some(Address {
                door,
                user: values.get(&self.user)?.clone(),
                password: Secret::new(values.get(&self.password).cloned().unwrap_or_default()),
                database: database.clone(),
            })
        };
        if is_mysql {
            return address(door(host, port, socket, present)).map(Source::MySql);
        }
        address(postgres_door(host, port, present)).map(Source::PostgreSql)
    }
}

/// The way that PHP takes for a host, a port and a socket as apps write them.
fn door(host: &str, port: &str, socket: &str, is_there: impl Fn(&Path) -> bool) -> Door {
    // "p:" asks PHP to keep the connection.
    let host = host.strip_prefix("p:").unwrap_or(host);
    let (name, behind) = match host.rsplit_once(':') {
        // An IPv6 address without brackets has colons of its own.
        Some((name, behind)) if !name.contains(':') || name.ends_with(']') => (name, behind),
        _ => (host, ""),
    };
    let socket = [socket, behind, port].into_iter().find(|one| one.starts_with('/'));
    if let Some(socket) = socket {
        return Door::Socket(socket.into());
    }
    let port = [port, behind].into_iter().find_map(|one| one.parse().ok().filter(|port| *port > 0));
    // PHP means a socket by this name, whatever the port.
    if matches!(name, "localhost" | "")
        && let Some(socket) = SOCKETS.iter().map(Path::new).find(|path| is_there(path))
    {
        return Door::socket(socket);
    }
    let name = name.trim_start_matches('[').trim_end_matches(']');
    let name = if name.is_empty() { "localhost" } else { name };
    Door::Tcp(name.to_owned(), port.unwrap_or(3306))
}

/// The way that PHP takes to a PostgreSQL server: by name it is a port, without one, and
/// by a folder's path, a socket.
fn postgres_door(host: &str, port: &str, is_there: impl Fn(&Path) -> bool) -> Door {
    let (host, behind) = match host.rsplit_once(':') {
        Some((name, behind)) if !name.contains(':') || name.ends_with(']') => (name, behind),
        _ => (host, ""),
    };
    let port = [port, behind].into_iter().find_map(|one| one.parse().ok().filter(|port| *port > 0));
    let port = port.unwrap_or(5432);
    let folder = if host.is_empty() { POSTGRES_FOLDER } else { host };
    let socket = Path::new(folder).join(format!(".s.PGSQL.{port}"));
    if host.starts_with('/') || host.is_empty() && is_there(&socket) {
        return Door::Socket(socket);
    }
    let host = host.trim_start_matches('[').trim_end_matches(']');
    Door::Tcp(if host.is_empty() { "localhost" } else { host }.to_owned(), port)
}

fn beginning(path: &Path) -> Option<String> {
    let file = std::fs::File::open(path).ok()?;
    // A pipe by that name would never end.
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests;
