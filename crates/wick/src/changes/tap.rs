//! The setting `changes = "tap"`: before which database a tap is to stand, and where it stands.
//!
//! PHP that Wick starts is led to the tap where its app says `localhost` and leaves it to PHP
//! which socket that is; nobody else can be.
//! Invariants: 1. PHP is told of a tap only once it stands; without one it goes its own way.
//! 2. none stands before a server that refuses the app's login: PHP means another one then.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use changes::{Address, Door, Lost, Source, Tap};
use tempfile::TempDir;

use super::{ChangesPlan, PATIENCE};
use crate::own_user;
use crate::plan::{self, SitePlan};

/// A Unix socket's path may have no more bytes on Linux, with the NUL behind it.
const SOCKET_PATH_BYTES_MAX: usize = 107;
/// More than an app's settings have.
const SETTINGS_BYTES_MAX: u64 = 512 << 10;

/// Why no tap can stand before a site's database; each message says what to write.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TapError {
    /// No app that is known, or none that is installed.
    #[error(
        "changes = \"tap\" needs to know the app's database, and no app's settings were found \
         that name it: write changes = \"tap:mysql://user:password@localhost/database?socket=/path\" \
         with the app's own login"
    )]
    NoSettings,
    /// Its content is elsewhere.
    #[error(
        "changes = \"tap\" is for MariaDB and MySQL, and {0} names another database: write \
         changes = \"auto\""
    )]
    Other(PathBuf),
    /// The app goes to a port.
    #[error(
        "changes = \"tap\" stands before the socket that PHP takes for localhost, and {0} says {1}: \
         write localhost there, without a port, or changes = \"auto\" here"
    )]
    Port(PathBuf, String),
    /// Nobody knows where `localhost` leads.
    #[error(
        "changes = \"tap\" finds no socket of a MariaDB or MySQL on this machine: start it, or \
         write changes = \"tap:mysql://user:password@localhost/database?socket=/path\" with the \
         socket that it has and the app's own login"
    )]
    NoSocket,
    /// The app goes to a socket that it names.
    #[error(
        "changes = \"tap\" stands before the socket that PHP takes for localhost, and {0} names \
         {1}: write localhost there, without a socket, or changes = \"auto\" here"
    )]
    OwnSocket(PathBuf, PathBuf),
    /// There is no PHP to lead to it.
    #[error("changes = \"tap\" is for PHP, and there is none in {0}: write changes = \"auto\"")]
    NoPhp(PathBuf),
}

/// A tap that stands, in a folder of its own.
pub(crate) struct Standing {
    tap: Arc<Tap>,
    /// It goes after the socket in it.
    _folder: TempDir,
}

impl Standing {
    /// Where PHP finds it.
    pub(crate) fn socket(&self) -> &Path {
        self.tap.socket()
    }

    /// For those who hear it while it stands.
    pub(crate) fn handle(&self) -> Weak<Tap> {
        Arc::downgrade(&self.tap)
    }
}

/// The database that a tap is to stand before, if one is wanted: its socket, and the app's login.
pub(crate) fn address(plan: &SitePlan) -> Result<Option<Address>, TapError> {
    let ChangesPlan::Tap(given) = &plan.changes else { return Ok(None) };
    if let Some(address) = given {
        return Ok(Some(address.clone()));
    }
    let plan::Source::Folder(folder) = &plan.source else { return Err(TapError::NoSettings) };
    let found = changes::find_settings(folder).ok_or(TapError::NoSettings)?;
    let Source::MySql(address) = found.source else { return Err(TapError::Other(found.file)) };
    match &address.door {
        Door::Tcp(host, _) if host == "localhost" => Err(TapError::NoSocket),
        door @ Door::Tcp(..) => Err(TapError::Port(found.file, door.to_string())),
        Door::Socket(socket) if names(&found.file, socket) => {
            Err(TapError::OwnSocket(found.file, socket.clone()))
        }
        Door::Socket(_) => Ok(Some(address)),
    }
}

/// Stands before a database, where PHP of any user can reach it. One that is not up yet may
/// come.
pub(crate) async fn stand(address: &Address) -> io::Result<Standing> {
    let asked = tokio::time::timeout(PATIENCE, changes::standing(address)).await;
    if let Ok(Err(lost @ Lost::Refused { .. })) = asked {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, lost.to_string()));
    }
    let run = PathBuf::from("/run");
    let mut failed = io::Error::other("there is no folder that PHP could reach it in");
    for parent in [run, std::env::temp_dir()] {
        match stand_in(&parent, address) {
            Ok(standing) => return Ok(standing),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

fn stand_in(parent: &Path, address: &Address) -> io::Result<Standing> {
    // PHP's user may pass through, and see nothing of what else is there.
    let pass = std::fs::Permissions::from_mode(0o711);
    let folder = tempfile::Builder::new()
        .prefix("wick-tap-")
        .permissions(pass.clone())
        .tempdir_in(parent)?;
    // Whatever the process's mask takes away.
    std::fs::set_permissions(folder.path(), pass)?;
    let socket = folder.path().join("db");
    let bytes = socket.as_os_str().as_bytes();
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/-._+@,".contains(byte);
    if bytes.len() > SOCKET_PATH_BYTES_MAX || !bytes.iter().all(is_plain) {
        let why = format!("{} is no path that php-fpm can use", socket.display());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    if !is_reached_by_php(folder.path()) {
        let why = format!("PHP's user can't pass through {}", parent.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    let tap = Arc::new(Tap::stand(&socket, address.clone())?);
    Ok(Standing { tap, _folder: folder })
}

/// Only root's PHP runs as somebody else.
fn is_reached_by_php(folder: &Path) -> bool {
    let lets_pass = |folder: &Path| {
        std::fs::metadata(folder).is_ok_and(|data| data.permissions().mode() & 0o001 != 0)
    };
    !(rustix::process::geteuid().is_root() || own_user::is_kept())
        || folder.ancestors().all(lets_pass)
}

/// Whether an app's settings name a socket themselves: PHP goes there then, whatever it is told.
fn names(file: &Path, socket: &Path) -> bool {
    use std::io::Read;
    let Ok(file) = std::fs::File::open(file) else { return false };
    let mut text = Vec::new();
    // What can't be read now could be read a moment ago.
    let _ = file.take(SETTINGS_BYTES_MAX).read_to_end(&mut text);
    let socket = socket.as_os_str().as_bytes();
    !socket.is_empty() && text.windows(socket.len()).any(|part| part == socket)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::SiteSettings;

    fn plan(folder: &Path, changes: ChangesPlan) -> SitePlan {
        let settings = SiteSettings { changes: Some(changes), ..SiteSettings::default() };
        SitePlan::of(&folder.display().to_string(), &settings)
    }

    fn told(host: &str) -> Option<TapError> {
        let folder = tempfile::tempdir().expect("a folder");
        let text = format!(
            "<?php\ndefine('DB_NAME', 'blog');\ndefine('DB_USER', 'app');\n\
             define('DB_PASSWORD', 'hush');\ndefine('DB_HOST', '{host}');\n"
        );
        std::fs::write(folder.path().join("wp-config.php"), text).expect("the app's settings");
        address(&plan(folder.path(), ChangesPlan::Tap(None))).err()
    }

    #[test]
    fn a_tap_stands_only_where_the_app_leaves_the_socket_to_php() {
        for (host, expected) in [
            ("127.0.0.1", "says 127.0.0.1:3306: write localhost there"),
            ("db.example:3307", "says db.example:3307: write localhost there"),
            ("localhost:/srv/my.sock", "names /srv/my.sock: write localhost there, without a"),
        ] {
            let error = told(host).expect("no tap can stand").to_string();
            assert!(error.contains(expected), "{host}: {error}");
            assert!(!error.contains("hush"), "{error}");
        }
        // Where MariaDB is installed it has a socket.
        assert!(matches!(told("localhost"), None | Some(TapError::NoSocket)));
        let folder = tempfile::tempdir().expect("a folder");
        let unknown = address(&plan(folder.path(), ChangesPlan::Tap(None)));
        assert_eq!(unknown, Err(TapError::NoSettings));
        assert_eq!(address(&plan(folder.path(), ChangesPlan::Auto)), Ok(None));
    }

    #[tokio::test]
    async fn it_stands_where_anybodys_php_can_reach_it_and_leaves_nothing_behind() {
        let database = "mysql://app@localhost/site?socket=/nowhere/db".parse().expect("an address");
        let parent = tempfile::tempdir().expect("a folder");
        std::fs::set_permissions(parent.path(), PermissionsExt::from_mode(0o711)).expect("ours");
        let standing = stand_in(parent.path(), &database).expect("it stands");
        let (socket, handle) = (standing.socket().to_owned(), standing.handle());
        let folder = socket.parent().expect("its folder").metadata().expect("it is there");
        assert_eq!(folder.permissions().mode() & 0o777, 0o711);
        assert!(socket.exists() && handle.upgrade().is_some());
        drop(standing);
        assert!(handle.upgrade().is_none());
        assert_eq!(parent.path().read_dir().expect("it is there").count(), 0);
        let deep = parent.path().join("x".repeat(100));
        std::fs::create_dir(&deep).expect("ours");
        assert!(stand_in(&deep, &database).is_err());
    }
}
